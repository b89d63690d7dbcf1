"""Results of messages: documents and failures, and the traces of their steps and deliveries."""

from __future__ import annotations  # results and traces refer to each other

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field

from dehusk.schemas.documents import Origin
from dehusk.schemas.outcomes import Broken, Skipped
from dehusk.schemas.pages import Message, ModelVersion
from dehusk.streams.preparation.batch import Failure
from dehusk.streams.preparation.process import Oversized
from dehusk.streams.preparation.steps import Postponed, WrittenDocument
from dehusk.streams.sites.revisits import Visit
from dehusk.streams.sources.source import Record

Headers = tuple[tuple[str, bytes], ...]
_TRACE_HEADERS = ("traceparent", "tracestate")


class Traces:
    """Tracer of micro-batches whose traces have no spans."""

    def begin(self, messages: Sequence[Message], revision: int = 1) -> BatchTrace:  # noqa: ARG002 of those with spans
        """Begin the trace of a batch that gives documents of a revision."""
        return BatchTrace()


class BatchTrace:
    """Trace of a micro-batch; this one has no spans."""

    def step(self, name: str) -> AbstractContextManager[None]:  # noqa: ARG002 of those with spans
        """Measure a step."""
        return nullcontext()

    def message(self, message: Message) -> MessageTrace:  # noqa: ARG002 of those with spans
        """Begin the trace of one of its messages."""
        return MessageTrace(self)

    def end(self) -> None:
        """End the trace; further calls have no effect."""


class MessageTrace:
    """Trace of a message of a micro-batch; this one has no span."""

    def __init__(self, batch: BatchTrace) -> None:
        self.batch = batch

    def headers(self, message: Message) -> Headers:
        """Return the headers of output records, which continue the message's trace."""
        return trace_headers(message)

    def end(self, cleaned: CleanedMessage) -> None:
        """End the trace with the delivered result."""


UNTRACED = Traces()
UNTRACED_MESSAGE = MessageTrace(BatchTrace())


def trace_headers(message: Message) -> Headers:
    """Return the W3C Trace Context headers of a message, unchanged."""
    headers = ((name, message.header(name)) for name in _TRACE_HEADERS)
    return tuple((name, value) for name, value in headers if value is not None)


@contextmanager
def delivering(messages: Sequence[CleanedMessage]) -> Iterator[None]:
    """Trace the delivery of messages in their batches, and end the traces of the messages."""
    with ExitStack() as steps:
        for batch in dict.fromkeys(each.trace.batch for each in messages):
            steps.enter_context(batch.step("deliver"))
        yield
    for each in messages:
        each.trace.end(each)


@dataclass(slots=True)
class CleanedMessage:
    """Results of the pages of one message; all its broken ones together are one dead letter."""

    message: Message
    records: list[Record] = field(default_factory=list)
    """Documents and tombstones for the output topic, in the message's order."""
    positions: list[Origin] = field(default_factory=list)
    """Positions of the records on the output topic, once they are delivered."""
    skipped: list[Skipped] = field(default_factory=list)
    degraded: tuple[str, ...] = ()
    """Names of the dependencies that the documents lack."""
    failure: Failure | None = None
    visits: list[Visit] = field(default_factory=list)
    """Its pages that were observed."""
    batch_messages: int = 1
    """Messages that were cleaned together, itself included."""
    batch_seconds: Mapping[str, float] = field(default_factory=dict)
    """Seconds that they took together for each step."""
    trace: MessageTrace = field(default=UNTRACED_MESSAGE, repr=False, compare=False)

    @property
    def documents(self) -> list[WrittenDocument]:
        """Documents among the records; the others are tombstones."""
        return [record for record in self.records if isinstance(record, WrittenDocument)]

    @property
    def model(self) -> ModelVersion | None:
        """Model that labeled the last of the documents; None without any."""
        documents = self.documents
        return documents[-1].model if documents else None

    @property
    def pages(self) -> int:
        """Number of the message's outcomes."""
        return len(self.records) + len(self.skipped) + (self.failure is not None)

    def fail(self, stage: str, broken: Broken) -> None:
        """Record a broken page, unless there is one already: the dead letter names the first."""
        self.failure = self.failure or Failure(stage, broken)


Result = CleanedMessage | Postponed | Oversized
"""Result of a message, or the reason to clean it again."""


def end_traces(results: Iterable[Result]) -> None:
    """End the traces of the results' batches, delivered or not."""
    traces = (result.trace for result in results if isinstance(result, CleanedMessage))
    for batch in dict.fromkeys(trace.batch for trace in traces):
        batch.end()
