"""Export of spans over OTLP; it delays nothing: spans that the collector does not take are dropped."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from threading import Thread
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.wording import without_password
from dehusk.streams.worker.tracing.spans import SpanTraces

_PATH = "/v1/traces"
_QUERY = re.compile(r"\?\S+")
"""Query of a URL in a text, whose values may be secrets."""
_FLUSH_SECONDS = 3.0
"""Time for the last spans."""
_EXPORT_LOGGERS = ("opentelemetry.exporter", "opentelemetry.sdk._shared_internal")
"""Loggers that warn of each failed attempt and each dropped span."""
_HEADER_LOGGER = "opentelemetry.util.re"
_HEADERS_ADVICE = "headers have the form name=value,name=value, with %XX for what is no letter or digit"
_SETTING_LOGGERS = ("opentelemetry.sdk.trace", "opentelemetry.sdk.resources", _HEADER_LOGGER)
"""Loggers that, beside those of the exporter, warn of a variable whose value OpenTelemetry ignores."""
_log = logging.getLogger(__name__)


@asynccontextmanager
async def exported_traces(
    endpoint: str, group: str, flush_seconds: float = _FLUSH_SECONDS
) -> AsyncIterator[SpanTraces]:
    """Open traces for a consumer group, whose spans a background thread sends to a collector.

    The standard variables of OpenTelemetry (`OTEL_…`) set the sampler, the resource, the headers and the
    bounds of the queue.

    Raises:
        ConfigurationError: one of them has a value that OpenTelemetry refuses, or would ignore.
    """
    with _captured_warning(_EXPORT_LOGGERS) as first_warning:
        with _captured_warning(_SETTING_LOGGERS) as ignored:
            try:
                exporter = CollectorWatch(
                    OTLPSpanExporter(endpoint=_address(endpoint)), without_password(endpoint), first_warning
                )
                provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
                provider.add_span_processor(BatchSpanProcessor(exporter))
            except ValueError as error:
                raise ConfigurationError(f"OpenTelemetry refuses a variable OTEL_…: {error}") from error
        if warning := ignored.text or first_warning.text:  # nothing is exported yet
            provider.shutdown()
            raise ConfigurationError(f"OpenTelemetry ignores a variable OTEL_…: {warning}")
        try:
            yield SpanTraces(provider.get_tracer("dehusk", version("dehusk")), group)
        finally:
            await _shut_down(provider, exporter, flush_seconds)


class FirstWarning(logging.Handler):
    """Buffer of the first warning since it was cleared."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text = ""

    def clear(self) -> None:
        """Forget the warning."""
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a warning, if it is the first; one of a header would say its value, which may be secret."""
        is_of_header = record.name == _HEADER_LOGGER
        self.text = self.text or (_HEADERS_ADVICE if is_of_header else record.getMessage())


class CollectorWatch(SpanExporter):
    """Exporter that logs once when the collector becomes unavailable, and once when it is back."""

    def __init__(self, exporter: SpanExporter, endpoint: str, first_warning: FirstWarning) -> None:
        self._exporter = exporter
        self._endpoint = endpoint
        self._first_warning = first_warning
        self._is_unavailable = False
        self._is_shut_down = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export spans; after the shutdown, none is sent."""
        if self._is_shut_down:
            return SpanExportResult.FAILURE
        self._first_warning.clear()
        result = self._exporter.export(spans)
        self._log_change(is_unavailable=result is not SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        """Cancel the attempt in progress, and send no more."""
        if not self._is_shut_down:
            self._is_shut_down = True
            self._exporter.shutdown()

    def _log_change(self, *, is_unavailable: bool) -> None:
        if is_unavailable and not self._is_unavailable:
            reason = _QUERY.sub("?***", self._first_warning.text) or "no reason given"
            _log.warning(
                "no collector at %s takes spans, which are dropped meanwhile: %s", self._endpoint, reason
            )
        elif self._is_unavailable and not is_unavailable:
            _log.info("the collector at %s takes spans again", self._endpoint)
        self._is_unavailable = is_unavailable


@contextmanager
def _captured_warning(names: Sequence[str]) -> Iterator[FirstWarning]:
    """Capture what some loggers are given, and keep it out of the log."""
    first_warning = FirstWarning()
    loggers = [logging.getLogger(name) for name in names]
    for logger in loggers:
        logger.addHandler(first_warning)
        logger.propagate = False
    try:
        yield first_warning
    finally:
        for logger in loggers:
            logger.removeHandler(first_warning)
            logger.propagate = True


async def _shut_down(provider: TracerProvider, exporter: CollectorWatch, seconds: float) -> None:
    """Send the last spans within a few seconds; a thread that hangs does not delay the shutdown."""
    flushing = Thread(target=provider.shutdown, daemon=True)
    flushing.start()
    await asyncio.to_thread(flushing.join, seconds)
    if flushing.is_alive():
        _log.warning("the last spans are dropped: they could not be sent within %g s", seconds)
        exporter.shutdown()


def _address(endpoint: str) -> str:
    """Return the URL that takes spans, at the address of a collector."""
    parts = urlsplit(endpoint)
    base = parts.path.rstrip("/")
    return parts._replace(path=base if base.endswith(_PATH) else base + _PATH).geturl()


def _resource() -> Resource:
    """Return the resource of the spans, as far as the environment does not name it."""
    own = {"service.name": "dehusk", "service.version": version("dehusk")}
    return Resource.create(own | dict(OTELResourceDetector().detect().attributes))
