"""What the steps tell of a micro-batch and its messages, for spans that may or may not be exported."""

from __future__ import annotations  # results know their traces, and traces know results

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

from dehusk.schemas.pages import Message

if TYPE_CHECKING:
    from dehusk.streams.worker.assembly import CleanedMessage

Headers = tuple[tuple[str, bytes], ...]
_TRACE_HEADERS = ("traceparent", "tracestate")


class Traces(Protocol):
    """Where the traces of micro-batches begin."""

    def begin(self, messages: Sequence[Message], revision: int = 1) -> BatchTrace:
        """The trace of a batch that gives documents of a revision."""
        ...


class BatchTrace(Protocol):
    """The trace of a micro-batch."""

    def step(self, name: str) -> AbstractContextManager[None]:
        """The duration of a step."""
        ...

    def message(self, message: Message) -> MessageTrace:
        """The trace of one of its messages."""
        ...

    def end(self) -> None:
        """Take note that the batch is done with; again is allowed."""
        ...


class MessageTrace(Protocol):
    """The trace of a message of a micro-batch."""

    @property
    def batch(self) -> BatchTrace:
        """The trace of its batch."""
        ...

    def headers(self, message: Message) -> Headers:
        """Those by which the records that are made of the message continue its trace."""
        ...

    def end(self, cleaned: CleanedMessage) -> None:
        """Take note of what was delivered for the message."""
        ...


class Untraced:
    """Begins no traces."""

    def begin(self, messages: Sequence[Message], revision: int = 1) -> BatchTrace:  # noqa: ARG002 the protocol's
        """The trace of any batch."""
        return UNTRACED_BATCH


class UntracedBatch:
    """The trace of a batch that has no spans."""

    def step(self, name: str) -> AbstractContextManager[None]:  # noqa: ARG002 the protocol's
        """Nothing."""
        return nullcontext()

    def message(self, message: Message) -> MessageTrace:  # noqa: ARG002 the protocol's
        """The trace of any message."""
        return UNTRACED_MESSAGE

    def end(self) -> None:
        """Nothing."""


class UntracedMessage:
    """The trace of a message that has no span."""

    @property
    def batch(self) -> BatchTrace:
        """The trace of a batch that has no spans."""
        return UNTRACED_BATCH

    def headers(self, message: Message) -> Headers:
        """Those of the message itself."""
        return trace_headers(message)

    def end(self, cleaned: CleanedMessage) -> None:
        """Nothing."""


UNTRACED = Untraced()
UNTRACED_BATCH = UntracedBatch()
UNTRACED_MESSAGE = UntracedMessage()


def trace_headers(message: Message) -> Headers:
    """The headers of W3C Trace Context that a message has, as they are."""
    found = ((name, message.header(name)) for name in _TRACE_HEADERS)
    return tuple((name, value) for name, value in found if value is not None)


@contextmanager
def delivering(messages: Sequence[CleanedMessage]) -> Iterator[None]:
    """The step that delivers messages, in the traces of their batches; it ends those of the messages."""
    with ExitStack() as steps:
        for batch in dict.fromkeys(each.trace.batch for each in messages):
            steps.enter_context(batch.step("deliver"))
        yield
    for each in messages:
        each.trace.end(each)
