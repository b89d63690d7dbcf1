"""The delivery of what became of a batch: nothing counts as done before the brokers acknowledged it."""

import logging
from collections.abc import Awaitable, Sequence

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from dehusk.schemas.errors import ConfigurationError, DehuskError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message
from dehusk.streams.auditing import AuditRecord
from dehusk.streams.dead_letters import PREFIX, dead_letter
from dehusk.streams.producing import TOO_LARGE, Outgoing, enqueue
from dehusk.streams.settings import TopicSettings
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.assembly import CleanedMessage, Failure
from dehusk.streams.worker.audit import audit
from dehusk.streams.worker.backoff import back_off
from dehusk.streams.worker.drops import DropLog

_log = logging.getLogger(__name__)


class Delivery:
    """Sends documents and dead letters, and tries for ever what may still succeed."""

    def __init__(self, producer: AIOKafkaProducer, topics: TopicSettings, drops: DropLog) -> None:
        self._producer = producer
        self._topics = topics
        self._drops = drops
        self.failure: DehuskError | None = None
        """Why the brokers did not take what is being delivered, so that it is tried again; else None."""

    async def deliver(self, batch: Sequence[CleanedMessage]) -> None:
        """Return once the brokers hold everything; what they refuse for its size becomes a dead letter."""
        try:
            await self._deliver_records(batch)
            for cleaned in batch:
                if cleaned.failure is not None:
                    await self._deliver_dead_letter(cleaned.message, cleaned.failure)
                self._drops.note(cleaned)
            if self._topics.audit is not None:
                await self._deliver_audit(self._topics.audit, [audit(cleaned) for cleaned in batch])
        finally:
            self.failure = None

    async def _deliver_records(self, batch: Sequence[CleanedMessage]) -> None:
        senders = [(cleaned, record) for cleaned in batch for record in cleaned.records]
        taken = await self.send(self._topics.output, [record for _, record in senders])
        for (cleaned, record), was_taken in zip(senders, taken, strict=True):
            if not was_taken:
                cleaned.records.remove(record)
                cleaned.fail("deliver", _too_large(record))

    async def _deliver_dead_letter(self, message: Message, failure: Failure) -> None:
        letter = dead_letter(message, failure.broken, failure.stage)
        trial = 0
        while not await self._is_taken(letter, _without_value(letter), _bare(letter)):
            self.failure = ConfigurationError(
                f"topic {self._topics.dead_letters} takes not even a dead letter without its message: "
                "raise its max.message.bytes"
            )
            await back_off(trial)
            trial += 1

    async def _deliver_audit(self, topic: str, batch: Sequence[AuditRecord]) -> None:
        taken = await self.send(topic, [each.record() for each in batch])
        for each, was_taken in zip(batch, taken, strict=True):
            if not was_taken:
                _log.error(
                    "topic %s refuses the audit record of %s for its size: raise its max.message.bytes",
                    topic,
                    each.source,
                )

    async def _is_taken(self, *letters: Record) -> bool:
        """Whether the dead-letter topic took one of the records, which are tried in order."""
        for letter in letters:
            (taken,) = await self.send(self._topics.dead_letters, [letter])
            if taken:
                return True
        return False

    async def send(self, topic: str, records: Sequence[Record]) -> list[bool]:
        """Whether the brokers took each record or refused it for its size; anything else is tried again."""
        taken: list[bool] = []
        trial = 0
        while True:
            taken += await self._try(topic, records[len(taken) :])
            if len(taken) == len(records):
                return taken
            await back_off(trial)
            trial += 1

    async def _try(self, topic: str, records: Sequence[Record]) -> list[bool]:
        """The answers up to the first failure: what follows is sent again behind it, or it would be older."""
        sent = [await enqueue(self._producer, Outgoing(topic, record)) for record in records]
        taken: list[bool] = []
        for answer in [await self._acknowledged(each) for each in sent]:
            if answer is None:
                break
            taken.append(answer)
        return taken

    async def _acknowledged(self, sent: Awaitable[object]) -> bool | None:
        """True when the brokers hold the record, False when they refuse its size, None for another trial."""
        try:
            await sent
        except TOO_LARGE:
            return False
        except KafkaError as error:
            self.failure = UnavailableError(f"no broker takes what is sent: {error}")
            return None
        self.failure = None
        return True


def _too_large(record: Record) -> Broken:
    size = f"the document has {len(record.value or b''):,} bytes"
    detail = f"{size}, more than the output topic takes: raise its max.message.bytes"
    return Broken(BrokenReason.DOCUMENT_TOO_LARGE, detail, (record.key or b"").decode(errors="replace"))


def _without_value(letter: Record) -> Record:
    return Record(letter.key, None, letter.headers)


def _bare(letter: Record) -> Record:
    """The dead letter reduced to what says where the message lies and what was wrong with it."""
    return Record(None, None, tuple(header for header in letter.headers if header[0].startswith(PREFIX)))
