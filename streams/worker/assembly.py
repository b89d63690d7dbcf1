"""What is to be delivered for each message, once its pages are labeled."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from dehusk.schemas.documents import SCHEMA_VERSION, Origin
from dehusk.schemas.outcomes import Broken, Skipped, Tombstone
from dehusk.schemas.pages import Message, ModelVersion
from dehusk.streams.formats import content_type
from dehusk.streams.preparation.extraction import WrittenDocument
from dehusk.streams.preparation.preparation import Outcome, PackedPage
from dehusk.streams.sites.revisits import Visit
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.tracing.traces import UNTRACED_BATCH, UNTRACED_MESSAGE, BatchTrace, MessageTrace


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
    blocks_dropped: int = 0
    """As in `dehusk.schemas.documents.Template`."""
    blocks_saved: int = 0
    model: ModelVersion | None = None
    """What labeled its page."""
    characters: int = 0
    """Of its text."""


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
    visits: list[Visit] = field(default_factory=list)
    """Its pages that were observed."""
    batch_messages: int = 1
    """How many messages were cleaned together with it, itself included."""
    batch_seconds: Mapping[str, float] = field(default_factory=dict)
    """How long all of these took for each step."""
    trace: MessageTrace = field(default=UNTRACED_MESSAGE, repr=False, compare=False)

    @property
    def documents(self) -> int:
        """How many of the records are documents; the others are tombstones."""
        return sum(record.value is not None for record in self.records)

    @property
    def empty_documents(self) -> int:
        """How many of the documents have no text."""
        return sum(record.is_empty for record in self._documents())

    @property
    def characters(self) -> int:
        """How many characters their texts have."""
        return sum(record.characters for record in self._documents())

    @property
    def model(self) -> ModelVersion | None:
        """What labeled the last of the documents; None without any."""
        return next((record.model for record in reversed([*self._documents()])), None)

    @property
    def documents_by_model(self) -> Counter[ModelVersion]:
        """How many of the documents each version has labeled."""
        return Counter(record.model for record in self._documents() if record.model is not None)

    @property
    def blocks_dropped(self) -> int:
        """How many blocks their texts lack because of what is known of their sites."""
        return sum(record.blocks_dropped for record in self._documents())

    @property
    def blocks_saved(self) -> int:
        """How many blocks their texts have because of it."""
        return sum(record.blocks_saved for record in self._documents())

    @property
    def pages(self) -> int:
        """The message's outcomes."""
        return len(self.records) + len(self.skipped) + (self.failure is not None)

    def fail(self, stage: str, broken: Broken) -> None:
        """Note a broken page; the dead letter names the first."""
        self.failure = self.failure or Failure(stage, broken)

    def _documents(self) -> Iterator[Document]:
        return (record for record in self.records if isinstance(record, Document))


Fate = WrittenDocument | Failure
"""What became of a page that was prepared."""


@dataclass(frozen=True, slots=True)
class Assembler:
    """Puts together what is delivered for messages, their documents in one of `dehusk.streams.formats`."""

    format: str

    def assemble(
        self,
        messages: Sequence[Message],
        outcomes: Sequence[Sequence[Outcome]],
        fates: Iterable[Fate],
        degraded: tuple[str, ...] = (),
        trace: BatchTrace = UNTRACED_BATCH,
    ) -> list[CleanedMessage]:
        """What became of the first messages, as far as the fates of their prepared pages are known."""
        remaining = iter(fates)
        cleaned: list[CleanedMessage] = []
        for message, pages in zip(messages, outcomes, strict=True):
            prepared = sum(isinstance(page, PackedPage) for page in pages)
            known = list(islice(remaining, prepared))
            if len(known) < prepared:
                break
            cleaned.append(
                self._assemble(
                    CleanedMessage(message, trace=trace.message(message)), pages, iter(known), degraded
                )
            )
        return cleaned

    def _assemble(
        self,
        cleaned: CleanedMessage,
        outcomes: Sequence[Outcome],
        fates: Iterator[Fate],
        degraded: tuple[str, ...],
    ) -> CleanedMessage:
        for outcome in outcomes:
            match outcome:
                case PackedPage():
                    self._add(cleaned, outcome.identity.url, next(fates), degraded)
                case Skipped():
                    cleaned.skipped.append(outcome)
                case Tombstone():
                    cleaned.records.append(Record(outcome.key, None, cleaned.trace.headers(cleaned.message)))
                case Broken():
                    cleaned.fail("prepare", outcome)
        return cleaned

    def _add(self, cleaned: CleanedMessage, url: str, fate: Fate, degraded: tuple[str, ...]) -> None:
        if isinstance(fate, Failure):
            cleaned.fail(fate.stage, fate.broken)
            return
        cleaned.degraded = degraded
        headers = (
            ("content-type", content_type(self.format).encode()),
            ("schema-version", SCHEMA_VERSION.encode()),
            *cleaned.trace.headers(cleaned.message),
        )
        document = Document(
            url.encode(),
            fate.value,
            headers,
            is_empty=fate.is_empty,
            blocks_dropped=fate.blocks_dropped,
            blocks_saved=fate.blocks_saved,
            model=fate.model,
            characters=fate.characters,
        )
        cleaned.records.append(document)


def origin_of(message: Message) -> Origin:
    """Where a message is."""
    return Origin(message.topic, message.partition, message.offset)
