"""Traces go through a worker: the spans that a collector gets, and the headers of what is written."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from dehusk.schemas.pages import Message
from dehusk.streams.sources.source import Record

STEPS = {"prepare", "label", "observe", "extract", "deliver"}


class Collector:
    """A server that takes spans over OTLP."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.services: set[str] = set()
        application = web.Application()
        application.router.add_post("/v1/traces", self._take)
        self.server = TestServer(application)

    async def _take(self, request: web.Request) -> web.Response:
        for of_resource in ExportTraceServiceRequest.FromString(await request.read()).resource_spans:
            attributes = {each.key: each.value.string_value for each in of_resource.resource.attributes}
            self.services.add(attributes["service.name"])
            self.spans += [span for scope in of_resource.scope_spans for span in scope.spans]
        return web.Response()


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    made = Collector()
    async with made.server:
        yield made


def with_trace(record: Record, number: int, flags: str = "01") -> Record:
    """The record with a trace of its own."""
    parent = f"00-{number:032x}-{number:016x}-{flags}".encode()
    return replace(record, headers=(*record.headers, ("traceparent", parent), ("tracestate", b"crawler=1")))


def told(span: Span) -> dict[str, str | int]:
    """The attributes of a span that are texts or numbers."""
    values = {each.key: each.value for each in span.attributes}
    return {name: value.string_value or value.int_value for name, value in values.items()}


async def test_a_crawlers_trace_goes_on_to_the_document(bench, site, collector: Collector) -> None:
    pages = site(4)
    broken = Record(b"no url", b"<p>Text", (("content-type", b"text/html"),))
    records = [with_trace(pages[0], 1), with_trace(pages[1], 2, "00"), pages[2], with_trace(broken, 4)]
    invalid = replace(pages[3], headers=(*pages[3].headers, ("traceparent", b"00-nothing")))
    await bench.produce([*records, invalid])
    worker = bench.worker("--otlp", str(collector.server.make_url("/")), "--source", "html")
    await bench.until_done()
    assert await asyncio.to_thread(worker.stop) == 0  # it sends the last spans to this process
    assert collector.services == {"dehusk"}

    batches = {span.span_id: span for span in collector.spans if not span.parent_span_id}
    steps = [span for span in collector.spans if span.parent_span_id in batches]
    assert {batch.kind for batch in batches.values()} == {Span.SPAN_KIND_CONSUMER}
    assert {span.parent_span_id for span in steps} == set(batches)
    for batch in batches.values():
        assert {span.name for span in steps if span.parent_span_id == batch.span_id} == STEPS
        assert batch.name == f"process {bench.topics.input}"
    assert sum(told(batch)["messaging.batch.message_count"] for batch in batches.values()) == 5
    assert sum(told(batch)["dehusk.documents"] for batch in batches.values()) == 4

    of_messages = {
        span.parent_span_id: span for span in collector.spans if span.parent_span_id[:7] == bytes(7)
    }
    assert sorted(of_messages) == [number.to_bytes(8) for number in (1, 4)]
    linked = {link.span_id for batch in batches.values() for link in batch.links}
    assert linked == {number.to_bytes(8) for number in (1, 2, 4)}
    first, failed = of_messages[(1).to_bytes(8)], of_messages[(4).to_bytes(8)]
    assert first.trace_id == (1).to_bytes(16)
    assert {link.span_id for span in (first, failed) for link in span.links} <= set(batches)
    assert (told(first)["dehusk.outcome"], told(first)["dehusk.model.name"]) == ("document", "boilerpipe")
    assert (told(failed)["dehusk.outcome"], told(failed)["error.type"]) == ("dead-letter", "missing-url")
    assert failed.status.code == Status.STATUS_CODE_ERROR

    documents = {message.key: message for message in await bench.documents()}
    continued, passed, begun, begun_too = (documents[page.key] for page in pages)
    assert header(continued) == f"00-{1:032x}-{first.span_id.hex()}-01"
    assert continued.header("tracestate") == b"crawler=1"
    assert header(passed) == f"00-{2:032x}-{2:016x}-00"
    for document in (begun, begun_too):
        _, trace_id, span_id, _ = header(document).split("-")
        assert batches[bytes.fromhex(span_id)].trace_id.hex() == trace_id
    (letter,) = await bench.dead_letters()
    assert dict(letter.original.headers)["traceparent"] == f"00-{4:032x}-{4:016x}-01".encode()


async def test_without_a_collector_a_worker_cleans_on_and_stops(bench, site, unused_tcp_port: int) -> None:
    await bench.produce([with_trace(page, number + 1) for number, page in enumerate(site(50))])
    worker = bench.worker("--otlp", f"http://127.0.0.1:{unused_tcp_port}", "--source", "html")
    await bench.until_done()
    assert len(await bench.documents()) == 50
    await bench.until(lambda: worker.says("takes spans, which are dropped meanwhile"))
    assert worker.stop() == 0
    assert worker.log.read_text().count("Connection refused") == 1


def header(message: Message) -> str:
    """Its `traceparent`."""
    return (message.header("traceparent") or b"").decode()
