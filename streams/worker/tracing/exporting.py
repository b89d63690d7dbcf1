"""The export of spans over OTLP, which holds nothing up: what the collector does not take is dropped."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from threading import Thread

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from dehusk.streams.printable import without_password
from dehusk.streams.worker.tracing.spans import SpanTraces

_PATH = "/v1/traces"
_FLUSH_SECONDS = 3.0
"""How long the last spans may take."""
_CHATTY = ("opentelemetry.exporter", "opentelemetry.sdk._shared_internal")
"""Loggers of each trial and each span that is dropped."""
_log = logging.getLogger(__name__)


@asynccontextmanager
async def exported_traces(endpoint: str, group: str) -> AsyncIterator[SpanTraces]:
    """Traces for a consumer group, whose spans go to a collector in a thread of their own.

    The standard variables of OpenTelemetry (`OTEL_…`) set the sampler, the resource, the headers and the
    bounds of the queue.
    """
    with _first_complaints() as complaints:
        exporter = CollectorWatch(
            OTLPSpanExporter(endpoint=_address(endpoint)), without_password(endpoint), complaints
        )
        provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(exporter))
        try:
            yield SpanTraces(provider.get_tracer("dehusk", version("dehusk")), group)
        finally:
            await _shut_down(provider, exporter)


class Complaints(logging.Handler):
    """Holds the first line that is logged since it was cleared."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.first = ""

    def clear(self) -> None:
        """Forget the line."""
        self.first = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Take note of a line."""
        self.first = self.first or record.getMessage()


class CollectorWatch(SpanExporter):
    """Hands spans to another exporter, and says once when the collector is gone, and when it is back."""

    def __init__(self, exporter: SpanExporter, endpoint: str, complaints: Complaints) -> None:
        self._exporter = exporter
        self._endpoint = endpoint
        self._complaints = complaints
        self._is_unavailable = False
        self._is_shut_down = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Whether the collector took the spans; none is sent after the end."""
        if self._is_shut_down:
            return SpanExportResult.FAILURE
        self._complaints.clear()
        result = self._exporter.export(spans)
        self._note(is_unavailable=result is not SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        """End the trial that goes on, and send no more."""
        if not self._is_shut_down:
            self._is_shut_down = True
            self._exporter.shutdown()

    def _note(self, *, is_unavailable: bool) -> None:
        if is_unavailable and not self._is_unavailable:
            said = self._complaints.first or "no reason given"
            _log.warning(
                "no collector at %s takes spans, which are dropped meanwhile: %s", self._endpoint, said
            )
        elif self._is_unavailable and not is_unavailable:
            _log.info("the collector at %s takes spans again", self._endpoint)
        self._is_unavailable = is_unavailable


@contextmanager
def _first_complaints() -> Iterator[Complaints]:
    """What the exporter logs, kept out of the log."""
    complaints = Complaints()
    loggers = [logging.getLogger(name) for name in _CHATTY]
    for logger in loggers:
        logger.addHandler(complaints)
        logger.propagate = False
    try:
        yield complaints
    finally:
        for logger in loggers:
            logger.removeHandler(complaints)
            logger.propagate = True


async def _shut_down(provider: TracerProvider, exporter: CollectorWatch) -> None:
    """Send the last spans, if the collector takes them soon; a thread that hangs does not hold up the end."""
    flushing = Thread(target=provider.shutdown, daemon=True)
    flushing.start()
    await asyncio.to_thread(flushing.join, _FLUSH_SECONDS)
    if flushing.is_alive():
        _log.warning("the last spans are dropped: they could not be sent within %g s", _FLUSH_SECONDS)
        exporter.shutdown()


def _address(endpoint: str) -> str:
    """Where the spans go, of the address of a collector."""
    base = endpoint.rstrip("/")
    return base if base.endswith(_PATH) else base + _PATH


def _resource() -> Resource:
    """What the spans are of, as far as the environment does not say so."""
    own = {"service.name": "dehusk", "service.version": version("dehusk")}
    return Resource.create(own | dict(OTELResourceDetector().detect().attributes))
