"""The way of spans to a collector, and what happens while there is none."""

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from threading import Event

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import Message
from dehusk.streams.worker.tracing import exporting
from dehusk.streams.worker.tracing.exporting import CollectorWatch, FirstWarning, exported_traces

Received = list[tuple[web.Request, ExportTraceServiceRequest]]
TAKEN, REFUSED = SpanExportResult.SUCCESS, SpanExportResult.FAILURE
LOGGER = logging.getLogger("opentelemetry.exporter.anything")


class Collector:
    """A server that takes spans over OTLP."""

    def __init__(self) -> None:
        self.received: Received = []
        application = web.Application()
        application.router.add_post("/{path:.*}", self._take)
        self.server = TestServer(application)

    async def _take(self, request: web.Request) -> web.Response:
        self.received.append((request, ExportTraceServiceRequest.FromString(await request.read())))
        return web.Response()

    @property
    def resource(self) -> dict[str, str]:
        """The attributes of the first spans' resource."""
        _, spans = self.received[0]
        return {each.key: each.value.string_value for each in spans.resource_spans[0].resource.attributes}


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    made = Collector()
    async with made.server:
        yield made


async def send(endpoint: str, flush_seconds: float = 3.0) -> None:
    """Export the span of one batch."""
    async with exported_traces(endpoint, "news", flush_seconds) as traces:
        traces.begin([Message(None, b"")]).end()


async def test_a_variable_that_opentelemetry_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "256")
    with pytest.raises(ConfigurationError, match="OTEL_…: max_export_batch_size must be"):
        await send("http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("OTEL_BSP_MAX_QUEUE_SIZE", "x", "Unable to parse value for OTEL_BSP_MAX_QUEUE_SIZE as integer"),
        ("OTEL_TRACES_SAMPLER", "some", "Couldn't recognize sampler some"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization Bearer secret", "headers have the form name=value"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "x", "Invalid timeout value 'x'"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "brotli", "Unsupported compression type: brotli"),
        ("OTEL_RESOURCE_ATTRIBUTES", "team", "Invalid key value resource attribute pair team"),
        ("OTEL_SPAN_LINK_COUNT_LIMIT", "x", "OTEL_SPAN_LINK_COUNT_LIMIT must be a non-negative integer"),
    ],
)
async def test_a_variable_that_opentelemetry_would_ignore_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=f"OTEL_…: {said}") as raised:
        await send("http://127.0.0.1:1")
    assert "secret" not in str(raised.value)
    assert not caplog.records


def test_a_limit_that_opentelemetry_refuses_as_it_is_loaded_is_named() -> None:
    program = """
import asyncio
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.worker.run import open_traces

async def main():
    async with open_traces("http://127.0.0.1:1", "news"):
        pass

try:
    asyncio.run(main())
except ConfigurationError as error:
    print(error)
"""
    environment = {**os.environ, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "x"}
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert ended.stdout.startswith("OpenTelemetry refuses a variable OTEL_…: OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT")


async def test_the_last_spans_are_sent_at_the_end(collector: Collector) -> None:
    await send(str(collector.server.make_url("/")))
    ((request, spans),) = collector.received
    assert request.path == "/v1/traces"
    assert [span.name for span in spans.resource_spans[0].scope_spans[0].spans] == ["process "]
    assert collector.resource["service.name"] == "dehusk"
    assert collector.resource["service.version"]


async def test_a_query_is_sent(collector: Collector) -> None:
    await send(str(collector.server.make_url("/otlp/?key=secret")))
    ((request, _),) = collector.received
    assert request.path_qs == "/otlp/v1/traces?key=secret"


async def test_the_environment_says_what_spans_are_of_and_who_sends_them(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "news")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.version=x")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret")
    await send(str(collector.server.make_url("/otlp/v1/traces")))
    ((request, _),) = collector.received
    assert (request.path, request.headers["authorization"]) == ("/otlp/v1/traces", "Bearer secret")
    assert collector.resource["service.name"] == "news"
    assert collector.resource["deployment.environment.name"] == "test"
    assert collector.resource["service.version"] == "x"


@pytest.mark.parametrize(
    ("name", "value"), [("OTEL_TRACES_SAMPLER", "always_off"), ("OTEL_SDK_DISABLED", "true")]
)
async def test_the_environment_says_which_spans_are_sent(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    await send(str(collector.server.make_url("/")))
    assert collector.received == []


class Exporter(SpanExporter):
    """An exporter that answers what the test says, and complains of each failure."""

    def __init__(self, *answers: SpanExportResult) -> None:
        self.answers = list(answers)
        self.shutdowns = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if (answer := self.answers.pop(0)) is TAKEN:
            return answer
        LOGGER.warning("refused: /v1/traces?key=secret (why), trying again")
        LOGGER.error("giving up")
        return answer

    def shutdown(self) -> None:
        self.shutdowns += 1


def test_an_outage_is_logged_once_with_its_cause_and_once_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "dehusk")
    with exporting._captured_warning(exporting._EXPORT_LOGGERS) as first_warning:
        exporter = Exporter(TAKEN, REFUSED, REFUSED, TAKEN, TAKEN, REFUSED)
        watch = CollectorWatch(exporter, "http://collector:4318", first_warning)
        for _ in range(6):
            watch.export([])
    gone = (
        "no collector at http://collector:4318 takes spans, which are dropped meanwhile: "
        "refused: /v1/traces?*** (why), trying again"
    )
    back = "the collector at http://collector:4318 takes spans again"
    assert [record.message for record in caplog.records] == [gone, back, gone]
    LOGGER.warning("from another program's exporter")
    assert "from another program's exporter" in caplog.text


def test_no_spans_are_sent_after_the_end() -> None:
    exporter = Exporter()
    watch = CollectorWatch(exporter, "http://collector:4318", FirstWarning())
    watch.shutdown()
    watch.shutdown()
    assert watch.export([]) is SpanExportResult.FAILURE
    assert exporter.shutdowns == 1


async def test_a_collector_that_hangs_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answer = Event()
    began = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Hanging(Exporter):
        def __init__(self, endpoint: str) -> None:
            super().__init__()

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            loop.call_soon_threadsafe(began.set)
            answer.wait()
            return SpanExportResult.SUCCESS

    monkeypatch.setattr(exporting, "OTLPSpanExporter", Hanging)
    await send("http://collector:4318", flush_seconds=0.01)  # returns although the exporter does not
    await began.wait()
    answer.set()
    assert [record.message for record in caplog.records] == [
        "the last spans are dropped: they could not be sent within 0.01 s"
    ]


async def test_what_the_queue_has_no_room_for_is_dropped_without_a_word(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "8")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
    sent: list[int] = []
    go_on = Event()

    class Slow(Exporter):
        def __init__(self, endpoint: str) -> None:
            super().__init__()

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            go_on.wait()
            sent.append(len(spans))
            return SpanExportResult.SUCCESS

    monkeypatch.setattr(exporting, "OTLPSpanExporter", Slow)
    async with exported_traces("http://collector:4318", "news") as traces:
        for _ in range(100):
            traces.begin([Message(None, b"")]).end()
        go_on.set()
    assert 8 <= sum(sent) <= 12
    assert caplog.records == []
