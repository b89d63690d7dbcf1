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

from dehusk.schemas.documents import Origin, origin_of
from dehusk.schemas.pages import Message, ModelVersion
from dehusk.streams.topics.audit import PageOutcome
from dehusk.streams.worker.results import (
    BatchTrace,
    CleanedMessage,
    Headers,
    MessageTrace,
    Traces,
    trace_headers,
)
from dehusk.streams.worker.steps.delivery import outcome_of

Attributes = dict[str, str | int | bool | Sequence[str]]
_W3C = TraceContextTextMapPropagator()
_ROOT = Context()
_PROCESSING: Attributes = {
    "messaging.system": "kafka",
    "messaging.operation.name": "process",
    "messaging.operation.type": "process",
}


def batch_attributes(messages: Sequence[Message], group: str, revision: int) -> Attributes:
    """Return the attributes of a batch of messages, with its topic and partition where there is one alone."""
    attributes = _PROCESSING | {
        "messaging.consumer.group.name": group,
        "messaging.batch.message_count": len(messages),
        "dehusk.revision": revision,
    }
    partitions = {(message.topic, message.partition) for message in messages}
    if (topic := only_topic(messages)) is not None:
        attributes["messaging.destination.name"] = topic
    if len(partitions) == 1:
        attributes["messaging.destination.partition.id"] = str(messages[0].partition)
    return attributes


def message_attributes(message: Message, group: str, revision: int) -> Attributes:
    """Return the attributes of a message by itself."""
    return (
        _PROCESSING
        | position_attributes(message)
        | {
            "messaging.consumer.group.name": group,
            "messaging.message.body.size": len(message.value or b""),
            "messaging.kafka.message.tombstone": message.value is None,
            "dehusk.revision": revision,
        }
    )


def position_attributes(message: Message) -> Attributes:
    """Return the attributes of a message's position."""
    return {
        "messaging.destination.name": message.topic,
        "messaging.destination.partition.id": str(message.partition),
        "messaging.kafka.offset": message.offset,
    }


def only_topic(messages: Sequence[Message]) -> str | None:
    """Return the topic of messages; None where there are several."""
    topics = {message.topic for message in messages}
    return topics.pop() if len(topics) == 1 else None


def result_attributes(cleaned: CleanedMessage) -> Attributes:
    """Return the attributes of a message's result."""
    attributes: Attributes = {
        "dehusk.outcome": _outcome(cleaned).value,
        "dehusk.documents": len(cleaned.documents),
    }
    if cleaned.failure is not None:
        reason = cleaned.failure.broken.reason.value
        attributes |= {"dehusk.reason": reason, "dehusk.stage": cleaned.failure.stage, "error.type": reason}
    elif cleaned.skipped:
        attributes["dehusk.reason"] = cleaned.skipped[0].reason.value
    if cleaned.degraded:
        attributes["dehusk.degraded"] = cleaned.degraded
    return attributes | model_attributes(cleaned.model)


def model_attributes(model: ModelVersion | None) -> Attributes:
    """Return the attributes of the model that labeled documents."""
    return {} if model is None else {"dehusk.model.name": model.name, "dehusk.model.version": model.version}


def _outcome(cleaned: CleanedMessage) -> PageOutcome:
    """Return the outcome of a message: its failure if any, else that of its first record, else skipped."""
    if cleaned.failure is not None:
        return PageOutcome.DEAD_LETTER
    return outcome_of(cleaned.records[0]) if cleaned.records else PageOutcome.SKIPPED


class SpanTraces(Traces):
    """Traces by a tracer, whose sampler selects the spans that are recorded."""

    def __init__(self, tracer: Tracer, group: str) -> None:
        self._tracer = tracer
        self._group = group

    def begin(self, messages: Sequence[Message], revision: int = 1) -> "BatchSpan":
        """Begin the trace of a batch that gives documents of a revision."""
        begun = time.time_ns()
        producers = [
            (message, context) for message in messages if (context := producer_of(message)) is not None
        ]
        span = self._tracer.start_span(
            _name(only_topic(messages)),
            _ROOT,
            SpanKind.CONSUMER,
            batch_attributes(messages, self._group, revision),
            [Link(context, position_attributes(message)) for message, context in producers],
            begun,
        )
        by_origin = {origin_of(message): context for message, context in producers}
        return BatchSpan(self._tracer, span, by_origin, begun=begun, group=self._group, revision=revision)


class BatchSpan(BatchTrace):
    """Trace of a batch."""

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
        """Open a span for a step, where the batch has one."""
        return self._step(name) if self._span.is_recording() else nullcontext()

    def message(self, message: Message) -> "TracedMessage":
        """Begin the trace of one of its messages, with a span if it comes with a trace that is sampled."""
        producer = self._producers.get(origin_of(message))
        if producer is None:
            return TracedMessage(self, self._span, None)
        span = self._tracer.start_span(
            _name(message.topic),
            set_span_in_context(NonRecordingSpan(producer), _ROOT),
            SpanKind.CONSUMER,
            message_attributes(message, self._group, self._revision),
            [Link(self._span.get_span_context())] if self._span.is_recording() else (),
            start_time=self._begun,
        )
        return TracedMessage(self, span, span)

    def count(self, cleaned: CleanedMessage) -> None:
        """Add the result of a message to the attributes of the span."""
        self._counts["dehusk.documents"] += len(cleaned.documents)
        self._counts["dehusk.skipped"] += len(cleaned.skipped)
        self._counts["dehusk.dead_letters"] += cleaned.failure is not None
        self._model = cleaned.model or self._model

    def end(self) -> None:
        """End its span."""
        if self._span.is_recording():
            self._span.set_attributes({**self._counts, **model_attributes(self._model)})
            self._span.end()

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        span = self._tracer.start_span(name, self._context)
        try:
            yield
        finally:
            span.end()


class TracedMessage(MessageTrace):
    """Trace of a message: its own span, or that of its batch."""

    batch: BatchSpan

    def __init__(self, batch: BatchSpan, onward: Span, own: Span | None) -> None:
        super().__init__(batch)
        self._onward = onward
        self._own = own

    def headers(self, message: Message) -> Headers:
        """Return the trace headers of the span that is recorded; where none is, those of the message."""
        if not self._onward.is_recording():
            return super().headers(message)
        carrier: dict[str, str] = {}
        _W3C.inject(carrier, set_span_in_context(self._onward, _ROOT))
        return tuple((name, value.encode()) for name, value in carrier.items())

    def end(self, cleaned: CleanedMessage) -> None:
        """End its own span, and count the result in the batch's."""
        self.batch.count(cleaned)
        if self._own is not None and self._own.is_recording():
            self._own.set_attributes(result_attributes(cleaned))
            if cleaned.failure is not None:
                self._own.set_status(Status(StatusCode.ERROR))
            self._own.end()


def producer_of(message: Message) -> SpanContext | None:
    """Return the span that a message was produced in; None without a valid `traceparent`."""
    carrier = {name: value.decode("latin-1") for name, value in trace_headers(message)}
    context = get_current_span(_W3C.extract(carrier, _ROOT)).get_span_context()
    return context if context.is_valid else None


def _name(topic: str | None) -> str:
    return "process" if topic is None else f"process {topic}"
