"""What is to be delivered for each message, once its pages are labeled."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from inference.cleaning import PreparedPage
from inference.extraction import extract
from schemas.documents import SCHEMA_VERSION, Origin
from schemas.outcomes import Broken, BrokenReason, Skipped, Tombstone
from schemas.pages import BlockFrequencies, Message, Prediction
from streams.formats import content_type, write
from streams.preparation.preparation import Outcome
from streams.sources.source import Record

_TRACE_HEADERS = ("traceparent", "tracestate")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a message becomes a dead letter."""

    stage: str
    """The step that failed: `prepare`, `label`, `extract` or `deliver`."""
    broken: Broken


@dataclass(frozen=True, slots=True)
class Document(Record):
    """A cleaned document, written for the output topic."""

    is_empty: bool = False
    """Whether its text is empty: no content was found on its page."""


@dataclass(slots=True)
class CleanedMessage:
    """What became of the pages of one message; all its broken ones together are one dead letter."""

    message: Message
    records: list[Record] = field(default_factory=list)
    """Documents and tombstones for the output topic, in the message's order."""
    skipped: list[Skipped] = field(default_factory=list)
    degraded: tuple[str, ...] = ()
    """What the documents had to do without."""
    failure: Failure | None = None

    @property
    def documents(self) -> int:
        """How many of the records are documents; the others are tombstones."""
        return sum(record.value is not None for record in self.records)

    @property
    def empty_documents(self) -> int:
        """How many of the documents have no text."""
        return sum(isinstance(record, Document) and record.is_empty for record in self.records)

    @property
    def pages(self) -> int:
        """The message's outcomes."""
        return len(self.records) + len(self.skipped) + (self.failure is not None)

    def fail(self, stage: str, broken: Broken) -> None:
        """Note a broken page; the dead letter names the first."""
        self.failure = self.failure or Failure(stage, broken)


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What the dependencies said of one prepared page."""

    labels: Prediction | Broken
    frequencies: BlockFrequencies | None
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Assembler:
    """Puts documents together and writes them in one of `streams.formats`."""

    format: str
    with_blocks: bool
    drop_hidden: bool = False

    def assemble(
        self, messages: Sequence[Message], outcomes: Sequence[Sequence[Outcome]], answers: Iterable[Answer]
    ) -> list[CleanedMessage]:
        """What became of each message; `answers` holds one for each of their prepared pages, in order."""
        remaining = iter(answers)
        return [
            self._assemble(CleanedMessage(message), pages, remaining)
            for message, pages in zip(messages, outcomes, strict=True)
        ]

    def _assemble(
        self, cleaned: CleanedMessage, outcomes: Sequence[Outcome], answers: Iterator[Answer]
    ) -> CleanedMessage:
        for outcome in outcomes:
            match outcome:
                case PreparedPage():
                    self._add_document(cleaned, outcome, next(answers))
                case Skipped():
                    cleaned.skipped.append(outcome)
                case Tombstone():
                    cleaned.records.append(Record(outcome.key, None, _trace(cleaned.message)))
                case Broken():
                    cleaned.fail("prepare", outcome)
        return cleaned

    def _add_document(self, cleaned: CleanedMessage, page: PreparedPage, answer: Answer) -> None:
        if isinstance(answer.labels, Broken):
            cleaned.fail("label", answer.labels)
            return
        cleaned.degraded = answer.degraded
        try:
            cleaned.records.append(self._document(cleaned.message, page, answer.labels, answer))
        except Exception as error:  # noqa: BLE001 whatever a page does to a step, it ends this page alone
            detail = f"{type(error).__name__}: {error}"
            cleaned.fail("extract", Broken(BrokenReason.INTERNAL_ERROR, detail, page.identity.url))

    def _document(self, message: Message, page: PreparedPage, labels: Prediction, answer: Answer) -> Document:
        document = extract(
            page,
            labels,
            answer.frequencies,
            origin=Origin(message.topic, message.partition, message.offset),
            degraded=answer.degraded,
            with_blocks=self.with_blocks,
            drop_hidden=self.drop_hidden,
        )
        headers = (
            ("content-type", content_type(self.format).encode()),
            ("schema-version", SCHEMA_VERSION.encode()),
            *_trace(message),
        )
        value = write(document, self.format)
        return Document(document.url.encode(), value, headers, is_empty=not document.text)


def _trace(message: Message) -> tuple[tuple[str, bytes], ...]:
    """The headers by which tracing follows a page through the topics."""
    found = ((name, message.header(name)) for name in _TRACE_HEADERS)
    return tuple((name, value) for name, value in found if value is not None)
