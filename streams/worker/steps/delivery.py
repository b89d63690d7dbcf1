"""Delivery of the results of a batch, at least once: a message is done once the brokers hold all its results.

With an audit topic, each such message is recorded there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Iterator, Sequence
from typing import Any, Literal, Protocol

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.structs import RecordMetadata

from dehusk.schemas.documents import Origin, origin_of
from dehusk.schemas.errors import ConfigurationError, DehuskError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped
from dehusk.schemas.pages import Message
from dehusk.streams.availability import back_off
from dehusk.streams.kafka.errors import TOO_LARGE
from dehusk.streams.kafka.producer import Outgoing, describe_failure, enqueue
from dehusk.streams.preparation.batch import Failure
from dehusk.streams.preparation.steps import WrittenDocument
from dehusk.streams.settings import UNSURE_BELOW, TopicSettings
from dehusk.streams.sources.source import Record, named_url
from dehusk.streams.topics.audit import AuditedBatch, AuditedPage, AuditRecord, PageOutcome, shorten
from dehusk.streams.topics.dead_letters import PREFIX, dead_letter
from dehusk.streams.wording import encodable
from dehusk.streams.worker.input.membership import Membership
from dehusk.streams.worker.monitoring.drops import DropLog
from dehusk.streams.worker.results import CleanedMessage

_log = logging.getLogger(__name__)


def audit(cleaned: CleanedMessage) -> AuditRecord:
    """Return the audit record of a message whose documents or dead letter are delivered."""
    documents = cleaned.documents
    return AuditRecord(
        source=origin_of(cleaned.message),
        value_bytes=len(cleaned.message.value or b""),
        pages=tuple(_audited_pages(cleaned)),
        model=documents[0].model if documents else None,
        degraded=cleaned.degraded,
        batch=AuditedBatch(cleaned.batch_messages, cleaned.batch_seconds),
    )


def _audited_pages(cleaned: CleanedMessage) -> Iterator[AuditedPage]:
    """Yield a page for each outcome that `CleanedMessage.pages` counts."""
    for record, position in zip(cleaned.records, cleaned.positions, strict=True):
        yield AuditedPage(record.url, outcome_of(record), document=position)
    for skipped in cleaned.skipped:
        yield _without_document(PageOutcome.SKIPPED, skipped, cleaned.message)
    if cleaned.failure is not None:
        failure = cleaned.failure
        yield _without_document(PageOutcome.DEAD_LETTER, failure.broken, cleaned.message, failure.stage)


def outcome_of(record: Record) -> PageOutcome:
    """Return the outcome of a page, given its record for the output topic."""
    if record.value is None:
        return PageOutcome.TOMBSTONE
    is_empty = isinstance(record, WrittenDocument) and record.is_empty
    return PageOutcome.EMPTY_DOCUMENT if is_empty else PageOutcome.DOCUMENT


def _without_document(
    outcome: PageOutcome, drop: Skipped | Broken, message: Message, stage: str | None = None
) -> AuditedPage:
    url = drop.url or named_url(message)
    url = None if url is None else encodable(url)
    return AuditedPage(url, outcome, drop.reason.value, shorten(drop.detail), stage)


def is_unsure(document: WrittenDocument, below: float) -> bool:
    """Return True if the F1 that is expected of a document's text is known and below this."""
    return document.expected_f1 is not None and document.expected_f1 < below


def position_of(written: RecordMetadata) -> Origin:
    """Return the position of a record that the brokers hold."""
    return Origin(written.topic, written.partition, written.offset)


class Sender(Protocol):
    """Interface of what sends records to Kafka."""

    async def send(
        self, topic: str, records: Sequence[Record], names: Sequence[str] = ()
    ) -> list[Origin | None]:
        """Send records in order; return the position of each, None for one that is too large.

        Records that differ from attempt to attempt have names, by which they are known again.
        """
        ...

    async def retry_after(self, error: DehuskError, attempt: int) -> None:
        """Name the reason why a record cannot be delivered, and wait before the next attempt."""
        ...


class ResultWriter:
    """Writer of documents, dead letters and audit records of messages."""

    def __init__(self, topics: TopicSettings, drops: DropLog, unsure_below: float = UNSURE_BELOW) -> None:
        self._topics = topics
        self._drops = drops
        self._unsure_below = unsure_below
        self._refusing: set[str] = set()
        """Topics for further records that have refused one for its size."""

    async def write(self, batch: Sequence[CleanedMessage], sender: Sender) -> None:
        """Send all results; a document that is too large becomes a dead letter."""
        await self._write_records(batch, sender)
        for cleaned in batch:
            if cleaned.failure is not None:
                await self._write_dead_letter(cleaned.message, cleaned.failure, sender)
        if self._topics.audit is not None:
            await self._write_audit(self._topics.audit, batch, sender)

    def note(self, batch: Sequence[CleanedMessage]) -> None:
        """Log what was dropped of messages that are delivered."""
        for cleaned in batch:
            self._drops.note(cleaned)

    async def _write_records(self, batch: Sequence[CleanedMessage], sender: Sender) -> None:
        pairs = [(cleaned, record) for cleaned in batch for record in cleaned.records]
        positions = await sender.send(self._topics.output, [record for _, record in pairs])
        for cleaned in batch:
            cleaned.positions.clear()
        for (cleaned, record), position in zip(pairs, positions, strict=True):
            if position is not None:
                cleaned.positions.append(position)
            else:
                cleaned.records.remove(record)
                cleaned.fail("deliver", _too_large(record))
        if self._topics.unsure is not None:
            await self._write_unsure(self._topics.unsure, batch, sender)

    async def _write_unsure(self, topic: str, batch: Sequence[CleanedMessage], sender: Sender) -> None:
        """Send the documents that the output topic has accepted and whose content is unsure."""
        documents = [document for cleaned in batch for document in cleaned.documents]
        unsure = [each for each in documents if is_unsure(each, self._unsure_below)]
        await self._write_extra(topic, unsure, [f"document of {each.url}" for each in unsure], sender)

    async def _write_audit(self, topic: str, batch: Sequence[CleanedMessage], sender: Sender) -> None:
        audited = [audit(cleaned) for cleaned in batch]
        names = [f"audit record of {each.source}" for each in audited]
        await self._write_extra(topic, [each.record() for each in audited], names, sender)

    async def _write_dead_letter(self, message: Message, failure: Failure, sender: Sender) -> None:
        letter = dead_letter(message, failure.broken, failure.stage)
        attempt = 0
        while not await self._write_first_accepted((letter, _without_value(letter), _bare(letter)), sender):
            await sender.retry_after(
                ConfigurationError(
                    f"topic {self._topics.dead_letters} takes not even a dead letter without its message: "
                    "raise its max.message.bytes"
                ),
                attempt,
            )
            attempt += 1

    async def _write_first_accepted(self, letters: Sequence[Record], sender: Sender) -> bool:
        """Send records until the dead-letter topic accepts one; return False if it accepts none."""
        for letter in letters:
            (position,) = await sender.send(self._topics.dead_letters, [letter])
            if position is not None:
                return True
        return False

    async def _write_extra(
        self, topic: str, records: Sequence[Record], names: Sequence[str], sender: Sender
    ) -> None:
        """Send records that nobody has to have; name the first in a topic that is too large."""
        positions = await sender.send(topic, records, names)
        refused = [name for name, position in zip(names, positions, strict=True) if position is None]
        if refused and topic not in self._refusing:
            self._refusing.add(topic)
            _log.error(
                "topic %s refuses the %s for its size: raise its max.message.bytes;"
                " it is the first since the start, and others are not logged",
                topic,
                refused[0],
            )


class Delivery:
    """Delivery at least once, which retries failures that may pass."""

    def __init__(self, producer: AIOKafkaProducer, writer: ResultWriter, membership: Membership) -> None:
        self._producer = producer
        self._writer = writer
        self._membership = membership
        self.failure: DehuskError | None = None
        """Reason why the brokers reject the current delivery; None while they accept it."""

    async def deliver(self, batch: Sequence[CleanedMessage]) -> None:
        """Return once the brokers hold all results."""
        try:
            await self._writer.write(batch, self)
            self._writer.note(batch)
        finally:
            self.failure = None

    def give_up(self) -> None:
        """Send nothing more of what is being delivered."""
        self._membership.give_up()

    async def renew(self) -> None:
        """Wait until nothing is left of what was given up."""
        await self._producer.flush()
        self._membership.mark_drained()

    def release(self) -> None:
        """Hold nothing of any partition."""

    async def close(self) -> None:
        """Leave the producer to its owner."""

    async def retry_after(self, error: DehuskError, attempt: int) -> None:
        """Name the reason why a record cannot be delivered, and wait before the next attempt."""
        self.failure = error
        await back_off(attempt)

    async def send(
        self,
        topic: str,
        records: Sequence[Record],
        names: Sequence[str] = (),  # noqa: ARG002 of all senders
    ) -> list[Origin | None]:
        """Send records until the brokers accepted each; return their positions, None for a refused size."""
        accepted: list[Origin | None] = []
        attempt = 0
        try:
            while True:
                await self._membership.wait_until_held()
                accepted += await self.try_to_send(topic, records[len(accepted) :])
                if len(accepted) == len(records):
                    return accepted
                await back_off(attempt)
                attempt += 1
        finally:
            self.failure = None  # also of what is given up: nothing is sent any more

    async def try_to_send(self, topic: str, records: Sequence[Record]) -> list[Origin | None]:
        """Send records once, if the membership is confirmed; return the answers before the first failure.

        An answer is a position, or None if the record is too large. Those behind the failure may be sent or
        not.
        """
        if not self._membership.is_held:
            return []
        failed = asyncio.Event()

        def note(answer: asyncio.Future[object]) -> None:
            if _has_failed(answer):
                failed.set()

        sent: list[asyncio.Future[Any]] = []
        for record in records:
            if failed.is_set():  # the others would wait for room one after the other
                break
            sent.append(await enqueue(self._producer, Outgoing(topic, record)))
            sent[-1].add_done_callback(note)
        positions: list[Origin | None] = []
        for answer in [await self._await_acknowledgment(topic, each) for each in sent]:
            if answer == "retry":
                break
            positions.append(answer)
        return positions

    async def _await_acknowledgment(
        self, topic: str, sent: Awaitable[RecordMetadata]
    ) -> Origin | Literal["retry"] | None:
        """Return the position of the record, None if the brokers refuse its size."""
        try:
            written = await sent
        except TOO_LARGE:
            return None
        except KafkaError as error:
            self.failure = UnavailableError(describe_failure(topic, error))
            return "retry"
        self.failure = None
        return position_of(written)


def _has_failed(sent: asyncio.Future[object]) -> bool:
    """Return True if a record was not taken, for another reason than its size."""
    error = sent.exception() if sent.done() and not sent.cancelled() else None
    return error is not None and not isinstance(error, TOO_LARGE)


def _too_large(record: Record) -> Broken:
    size = f"the document has {len(record.value or b''):,} bytes"
    detail = f"{size}, more than the output topic takes: raise its max.message.bytes"
    return Broken(BrokenReason.DOCUMENT_TOO_LARGE, detail, record.url)


def _without_value(letter: Record) -> Record:
    return Record(letter.key, None, letter.headers)


def _bare(letter: Record) -> Record:
    """Reduce a dead letter to the position of its message and the reason."""
    return Record(None, None, tuple(header for header in letter.headers if header[0].startswith(PREFIX)))
