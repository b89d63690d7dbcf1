"""Delivery exactly once: the results of messages, and the offset after them, are one transaction.

Each input partition has a producer, whose `transactional.id` is of the group and the partition. The next
owner of the partition fences it by starting its own: nothing that a former one still sends is committed
(KIP-98).

aiokafka waits without limit for a coordinator, and for replicas in sync. So starts and transactions have time
limits, after which a new producer is started.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import (
    IllegalOperation,
    KafkaError,
    ProducerFenced,
    TransactionalIdAuthorizationFailed,
    UnknownError,
)
from aiokafka.producer.transaction_manager import TransactionResult, TransactionState
from aiokafka.structs import RecordMetadata

from dehusk.schemas.documents import Origin
from dehusk.schemas.errors import DehuskError, UnavailableError
from dehusk.streams.availability import back_off
from dehusk.streams.cancellation import TaskGroup, cancel
from dehusk.streams.kafka.errors import TOO_LARGE
from dehusk.streams.kafka.hanging import GroupOffsets, send_end
from dehusk.streams.kafka.producer import UNNAMED, Outgoing, enqueue
from dehusk.streams.kafka.rights import Operation, Right, refusal, transactional_prefix
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.source import Record
from dehusk.streams.wording import pluralize
from dehusk.streams.worker.input.membership import Membership, NotAMemberError
from dehusk.streams.worker.results import CleanedMessage
from dehusk.streams.worker.steps.delivery import ResultWriter, position_of

_log = logging.getLogger(__name__)
_Names = set[tuple[str, str | Record]]
"""Topics, each with a record or the name of one."""
CreateProducer = Callable[[str], AIOKafkaProducer]
"""Creates a producer, not yet started, with a `transactional.id`."""
START_SECONDS = 30.0
"""Time limit of the start of a producer, which ends the transaction that was open."""
COMMIT_SECONDS = 60.0
"""Time limit of a transaction, after which brokers abort it, too: aiokafka's `transaction_timeout_ms`."""
_ABORT_SECONDS = 2.0
_CLOSE_SECONDS = 5.0
_OPEN = frozenset(
    {
        TransactionState.IN_TRANSACTION,
        TransactionState.COMMITTING_TRANSACTION,
        TransactionState.ABORTABLE_ERROR,
    }
)
"""States of a producer in which the brokers may hold a transaction open."""
_LOOK_SECONDS = 1.0
"""Time without an answer after which the partitions are looked at: records of those that have gone fail."""


class _Refused(Exception):  # noqa: N818 no failure: the rest is sent without it
    """Records too large for their topics, whose transaction cannot be committed."""


@dataclass(slots=True, eq=False)
class TransactionalDelivery:
    """Delivery of the messages of each partition in transactions.

    A producer is started for the first messages of a partition, and after a failure. That ends what was sent
    before, and fences other owners; so messages are delivered already where the group's offset then says so.
    """

    _create: CreateProducer
    _group: str
    _writer: ResultWriter
    _membership: Membership
    _offsets: GroupOffsets
    _kafka: KafkaSettings
    _producers: dict[TopicPartition, AIOKafkaProducer] = field(default_factory=dict, init=False)
    _closing: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    """Ends of producers that are given back."""
    failure: DehuskError | None = field(default=None, init=False)
    """Reason why a transaction is not committed; None while they are."""

    async def close(self) -> None:
        """Close all producers."""
        self.release()
        await self._close_released()

    async def deliver(self, batch: Sequence[CleanedMessage]) -> None:
        """Return once the results of all messages, and the offsets after them, are committed."""
        by_partition: defaultdict[TopicPartition, list[CleanedMessage]] = defaultdict(list)
        for cleaned in batch:
            by_partition[TopicPartition(cleaned.message.topic, cleaned.message.partition)].append(cleaned)
        try:
            async with TaskGroup() as committing:
                for partition, messages in by_partition.items():
                    committing.create_task(self._deliver(partition, messages))
        finally:
            self.failure = None
        self._writer.note(batch)

    def give_up(self) -> None:
        """Send nothing more of what is being delivered."""
        self._membership.give_up()
        self.release()

    async def renew(self) -> None:
        """Wait until nothing is left of what was given up."""
        await self._close_released()
        self._membership.mark_drained()

    def release(self) -> None:
        """Give back all partitions; what is being delivered of them is repeated."""
        for partition in list(self._producers):
            self._release(partition)

    async def _deliver(self, partition: TopicPartition, batch: Sequence[CleanedMessage]) -> None:
        refused: _Names = set()
        attempt = 0
        while True:
            try:
                await self._membership.wait_until_held()
                if (producer := self._producers.get(partition)) is None:
                    await self._close_released()
                    producer = await self._start(partition)
                    batch = await self._uncommitted(partition, batch)
                if batch:
                    await self._commit_in_time(partition, producer, batch, refused)
            except _Refused:
                attempt = 0
            except (KafkaError, DehuskError) as error:
                self.failure = self._translate(error, partition.topic)
                if not attempt:
                    _log.warning("the transaction of %s-%d is repeated: %s", *partition, self.failure)
                await back_off(attempt)
                attempt += 1
            else:
                return
            self._release(partition)

    def _translate(self, error: KafkaError | DehuskError, topic: str) -> DehuskError:
        match error:
            case DehuskError():
                return error
            case TransactionalIdAuthorizationFailed():
                prefix = transactional_prefix(self._group, topic)
                return refusal(self._kafka, [Right(Operation.WRITE, prefix, "transactional-id")])
            case UnknownError():
                return UnavailableError(f"a transaction failed: {UNNAMED}")
        return UnavailableError(f"a transaction failed: {error!r}")

    async def _uncommitted(
        self, partition: TopicPartition, batch: Sequence[CleanedMessage]
    ) -> Sequence[CleanedMessage]:
        """Return the messages of a batch that no former producer has delivered."""
        committed = await self._offsets.committed(partition)
        left = [cleaned for cleaned in batch if cleaned.message.offset >= committed]
        if count := len(batch) - len(left):
            messages = pluralize(count, "message")
            _log.info(
                "passed over %s of %s-%d, delivered up to offset %d", messages, *partition, committed - 1
            )
        return left

    async def _commit_in_time(
        self,
        partition: TopicPartition,
        producer: AIOKafkaProducer,
        batch: Sequence[CleanedMessage],
        refused: _Names,
    ) -> None:
        try:
            async with asyncio.timeout(COMMIT_SECONDS):
                await self._commit(partition, producer, batch, refused)
        except TimeoutError as error:
            raise UnavailableError(
                f"a transaction was not committed in {COMMIT_SECONDS:g} s; check that the topics have "
                "min.insync.replicas, and that there is a coordinator of transactions"
            ) from error

    async def _commit(
        self,
        partition: TopicPartition,
        producer: AIOKafkaProducer,
        batch: Sequence[CleanedMessage],
        refused: _Names,
    ) -> None:
        end = batch[-1].message.offset + 1
        self._require_owned(partition, producer)
        try:
            _require_alive(producer)
            await producer.begin_transaction()
            await self._writer.write(batch, _Transaction(producer, refused))
            await producer.send_offsets_to_transaction({partition: end}, self._group)
            _require_alive(producer)
            await producer.commit_transaction()
        except (IllegalOperation, AssertionError) as error:
            if producer._txn_manager.is_in_transaction():  # noqa: SLF001 there is no getter
                raise
            raise KafkaError(f"the transaction has failed in the meantime: {error}") from error

    def _require_owned(self, partition: TopicPartition, producer: AIOKafkaProducer) -> None:
        """Raise if the partition was given back meanwhile."""
        if self._producers.get(partition) is not producer:
            raise NotAMemberError(f"{partition.topic}-{partition.partition} was given back")

    async def _start(self, partition: TopicPartition) -> AIOKafkaProducer:
        name = f"{transactional_prefix(self._group, partition.topic)}{partition.partition}"
        producer = self._producers[partition] = self._create(name)
        self._membership.guard(producer)
        hanging = await self._offsets.hanging(partition, name)
        self._require_owned(partition, producer)
        await start_in_time(producer)
        if hanging is not None:
            _log.warning("%s-%d: ends the last transaction again, as brokers have lost its end", *partition)
            await self._offsets.end_again(producer, hanging)
        return producer

    def _release(self, partition: TopicPartition) -> None:
        if (producer := self._producers.pop(partition, None)) is not None:
            self._closing.add(asyncio.create_task(close_at_once(producer)))

    async def _close_released(self) -> None:
        while self._closing:
            closed, _ = await asyncio.wait(self._closing)
            self._closing -= closed
            for each in closed:
                each.result()


async def start_in_time(producer: AIOKafkaProducer) -> None:
    """Start a producer of transactions.

    Raises:
        UnavailableError: it does not start in time: there is no coordinator, or it cannot end the transaction
            that was open, as a topic has too few replicas in sync.
        KafkaError: the brokers refuse the user, or do not answer.
    """
    try:
        async with asyncio.timeout(START_SECONDS):
            await producer.start()
    except TimeoutError as error:
        raise UnavailableError(
            f"no transaction could be begun in {START_SECONDS:g} s; check that the topics have "
            "min.insync.replicas, which the end of the one before waits for, and that there are as many "
            "brokers as transaction.state.log.replication.factor and transaction.state.log.min.isr need"
        ) from error


def _require_alive(producer: AIOKafkaProducer) -> None:
    """Raise if the producer has failed for good, where aiokafka would raise an AssertionError."""
    if producer._txn_manager.is_fatal_error():  # noqa: SLF001 there is no getter
        raise ProducerFenced


async def close_at_once(producer: AIOKafkaProducer) -> None:
    """Close a producer without sending what it still has, and abort its transaction.

    What sends has ended before aiokafka waits for it: that would cancel it once more, and let the
    cancellation out.
    """
    if (sending := producer._sender.sender_task) is not None:  # noqa: SLF001 aiokafka would flush it first
        sending.cancel()
    for future in _futures_of_errors(producer):
        if future.done():
            future.exception()  # asyncio would complain where an earlier error leaves this one unread
    if sending is not None:
        with suppress(TimeoutError, KafkaError):  # the brokers abort it by themselves later
            async with asyncio.timeout(_ABORT_SECONDS):
                await asyncio.wait([sending])
                await _abort(producer)
    with suppress(TimeoutError, KafkaError):
        async with asyncio.timeout(_CLOSE_SECONDS):
            await producer.client.close()
            if sending is not None:
                await cancel([sending])
            await producer.stop()


async def _abort(producer: AIOKafkaProducer) -> None:
    """Ask the coordinator to abort the open transaction: readers of committed records wait for its end.

    aiokafka would send first what the transaction still lacks, such as an offset of a partition that has
    gone, which it retries without end. A transaction is left to the brokers if records of it are not
    acknowledged: those that come after its end would open another one, in older brokers, that never ends.
    """
    transactions = producer._txn_manager  # noqa: SLF001 there is no getter
    has_records = any(producer._message_accumulator._batches.values())  # noqa: SLF001 there is no getter
    if not has_records and transactions.state in _OPEN:
        await send_end(producer, TransactionResult.ABORT)


def _futures_of_errors(producer: AIOKafkaProducer) -> Iterator[asyncio.Future[object]]:
    """Yield what fails in aiokafka with a transaction, and is not awaited there."""
    if (ending := producer._txn_manager.wait_for_transaction_end()) is not None:  # noqa: SLF001 there is no getter
        yield ending
    for batches in producer._message_accumulator._batches.values():  # noqa: SLF001 there is no getter
        for batch in batches:
            yield batch._drain_waiter  # noqa: SLF001 there is no getter


def _read_error(answer: asyncio.Future[object]) -> None:
    """Read the error of a record: nobody else does if a later one cannot be enqueued."""
    if not answer.cancelled():
        answer.exception()


class _Transaction:
    """Sender of records in the open transaction of a producer."""

    def __init__(self, producer: AIOKafkaProducer, refused: _Names) -> None:
        self._producer = producer
        self._refused = refused

    async def send(
        self, topic: str, records: Sequence[Record], names: Sequence[str] = ()
    ) -> list[Origin | None]:
        """Send records; return the position of each, None for those that are known to be too large.

        An audit record has other offsets in each transaction, so it is known by its name.

        Raises:
            _Refused: some are too large, which is known from now on.
            KafkaError: the transaction cannot be committed.
        """
        known = [(topic, each) for each in (names or records)]
        sent = [
            (name, await self._enqueue(Outgoing(topic, record)))
            for name, record in zip(known, records, strict=True)
            if name not in self._refused
        ]
        answers = [answer for _, answer in sent]
        while answers and (await asyncio.wait(answers, timeout=_LOOK_SECONDS))[1]:
            self._producer.client.force_metadata_update()
        results = await asyncio.gather(*answers, return_exceptions=True)
        too_large = {
            name for (name, _), error in zip(sent, results, strict=True) if isinstance(error, TOO_LARGE)
        }
        if too_large:  # whatever else failed then, by a gap in the sequence of batches
            self._refused |= too_large
            raise _Refused
        for error in results:
            if isinstance(error, BaseException):
                raise error
        written = iter(cast("list[RecordMetadata]", results))
        return [None if name in self._refused else position_of(next(written)) for name in known]

    async def _enqueue(self, outgoing: Outgoing) -> asyncio.Future[object]:
        answer = await enqueue(self._producer, outgoing)
        answer.add_done_callback(_read_error)
        return answer

    async def retry_after(self, error: DehuskError, attempt: int) -> None:  # noqa: ARG002 of all senders
        """Raise the error: the transaction is repeated later, since it must not stay open."""
        raise error
