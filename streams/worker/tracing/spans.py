"""Traces as OpenTelemetry's spans: of a batch, of each of its steps, of a message that has a trace already.

As the conventions for messaging have it, the span of a batch begins a trace of its own, with links to the
spans that the messages were produced in. The span of a message is a child of the latter, with a link to the
batch.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from opentelemetry.context import Context
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from dehusk.schemas.documents import Origin
from dehusk.schemas.pages import Message, ModelVersion
from dehusk.streams.worker.assembly import CleanedMessage, origin_of
from dehusk.streams.worker.tracing.attributes import (
    of_batch,
    of_message,
    of_model,
    of_result,
    only_topic,
    place_of,
)
from dehusk.streams.worker.tracing.traces import Headers, trace_headers

_W3C = TraceContextTextMapPropagator()
_ROOT = Context()


class SpanTraces:
    """Begins traces with a tracer, whose sampler says which spans are recorded."""

    def __init__(self, tracer: Tracer, group: str) -> None:
        self._tracer = tracer
        self._group = group

    def begin(self, messages: Sequence[Message], revision: int = 1) -> "BatchSpan":
        """The trace of a batch that gives documents of a revision."""
        begun = time.time_ns()
        found = ((message, producer_of(message)) for message in messages)
        producers = [(message, context) for message, context in found if context is not None]
        span = self._tracer.start_span(
            _name(only_topic(messages)),
            _ROOT,
            SpanKind.CONSUMER,
            of_batch(messages, self._group, revision),
            [Link(context, place_of(message)) for message, context in producers],
            begun,
        )
        known = {origin_of(message): context for message, context in producers}
        return BatchSpan(self._tracer, span, known, begun=begun, group=self._group, revision=revision)


class BatchSpan:
    """The trace of a batch."""

    def __init__(
        self,
        tracer: Tracer,
        span: Span,
        producers: Mapping[Origin, SpanContext],
        *,
        begun: int,
        group: str,
        revision: int,
    ) -> None:
        self._tracer = tracer
        self._group = group
        self._span = span
        self._producers = producers
        self._revision = revision
        self._context = set_span_in_context(span, _ROOT)
        self._begun = begun
        self._counts: Counter[str] = Counter()
        self._model: ModelVersion | None = None

    def step(self, name: str) -> AbstractContextManager[None]:
        """A span for a step, where the batch has one."""
        return self._step(name) if self._span.is_recording() else nullcontext()

    def message(self, message: Message) -> "TracedMessage":
        """The trace of one of its messages, with a span if it comes with a trace that is sampled."""
        producer = self._producers.get(origin_of(message))
        if producer is None:
            return TracedMessage(self, self._span, None)
        span = self._tracer.start_span(
            _name(message.topic),
            set_span_in_context(NonRecordingSpan(producer), _ROOT),
            SpanKind.CONSUMER,
            of_message(message, self._group, self._revision),
            [Link(self._span.get_span_context())] if self._span.is_recording() else (),
            start_time=self._begun,
        )
        return TracedMessage(self, span, span)

    def count(self, cleaned: CleanedMessage) -> None:
        """Add what became of a message to what the span tells."""
        self._counts["dehusk.documents"] += cleaned.documents
        self._counts["dehusk.skipped"] += len(cleaned.skipped)
        self._counts["dehusk.dead_letters"] += cleaned.failure is not None
        self._model = cleaned.model or self._model

    def end(self) -> None:
        """End its span."""
        if self._span.is_recording():
            self._span.set_attributes({**self._counts, **of_model(self._model)})
            self._span.end()

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        span = self._tracer.start_span(name, self._context)
        try:
            yield
        finally:
            span.end()


class TracedMessage:
    """The trace of a message: its own span, or that of its batch."""

    def __init__(self, batch: BatchSpan, onward: Span, own: Span | None) -> None:
        self.batch = batch
        self._onward = onward
        self._own = own

    def headers(self, message: Message) -> Headers:
        """Those of the span that is recorded; where none is, those of the message."""
        if not self._onward.is_recording():
            return trace_headers(message)
        carrier: dict[str, str] = {}
        _W3C.inject(carrier, set_span_in_context(self._onward, _ROOT))
        return tuple((name, value.encode()) for name, value in carrier.items())

    def end(self, cleaned: CleanedMessage) -> None:
        """End its own span, and tell the batch."""
        self.batch.count(cleaned)
        if self._own is not None and self._own.is_recording():
            self._own.set_attributes(of_result(cleaned))
            if cleaned.failure is not None:
                self._own.set_status(Status(StatusCode.ERROR))
            self._own.end()


def producer_of(message: Message) -> SpanContext | None:
    """The span that a message was produced in; None without a valid `traceparent`."""
    carrier = {name: value.decode("latin-1") for name, value in trace_headers(message)}
    context = get_current_span(_W3C.extract(carrier, _ROOT)).get_span_context()
    return context if context.is_valid else None


def _name(topic: str | None) -> str:
    return "process" if topic is None else f"process {topic}"
