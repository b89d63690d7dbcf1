"""Readers of topics, which join no consumer group, commit nothing and see no aborted transactions.

A `Reader` reads what topics hold and follows them, and a `TopicFollower` hands on all of a topic for as long
as a process lives.
"""

import asyncio
import logging
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from itertools import chain
from uuid import UUID

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError, OffsetOutOfRangeError

from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.pages import Message
from dehusk.streams.availability import UNAVAILABLE, Dependency, back_off
from dehusk.streams.kafka.client import METADATA_MS, describe_topics, require_inputs
from dehusk.streams.kafka.consumer import open_consumer
from dehusk.streams.kafka.errors import kafka_errors
from dehusk.streams.kafka.input_topics import InputTopics
from dehusk.streams.kafka.topic_ids import Identities, ask_identities
from dehusk.streams.settings import MIB, KafkaSettings

_FETCH_BYTES = 8 * MIB
_LOOK_SECONDS = 1.0
"""Shortest time between two looks at which topics are there."""
_FOLLOW_MS = 1_000
"""Longest wait for further messages until what was passed without any is told."""
STALL_SECONDS = 60.0
"""Longest wait for the next records that a topic is known to hold."""
REACH_FACTOR = 4
"""Times as far back that is read next if the newest offsets held too few messages."""
_log = logging.getLogger(__name__)
Timed = tuple[Message, int]
"""A message and its time in milliseconds since 1970."""
Fetched = dict[TopicPartition, list[ConsumerRecord]]
"""Records of each partition."""


def record_time(milliseconds: int) -> datetime:
    """Return the time of a record; the last there is for those beyond, as producers may count nanoseconds."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError):
        return datetime.max.replace(tzinfo=UTC)


async def read(
    settings: KafkaSettings, *topics: str, newest: int | None = None
) -> AsyncGenerator[Timed, None]:
    """Yield the messages that topics hold now, in order per partition.

    With `newest`, only so many, the latest of every partition.

    Raises:
        ConfigurationError: a topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    async with open_topics(settings, *topics) as reader:
        async for message in reader.existing() if newest is None else reader.newest(newest):
            yield message


@asynccontextmanager
async def open_topics(settings: KafkaSettings, *names: str) -> AsyncIterator["Reader"]:
    """Open a reader of the topics as they are now.

    Records of a transaction that is still open, and all records after them, are not there yet: Kafka gives
    readers of committed records nothing beyond the last stable offset.

    Raises:
        ConfigurationError: a topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    topics = require_inputs(settings, InputTopics(names), await describe_topics(settings, names))
    partitions = [
        TopicPartition(topic.name, number) for topic in topics for number in range(topic.partitions)
    ]
    async with open_consumer(
        settings,
        MIB,
        _FETCH_BYTES,
        auto_offset_reset="none",
        metadata_max_age_ms=METADATA_MS,
    ) as consumer:
        with kafka_errors(settings):
            identities = Identities()
            identities.note(await ask_identities(consumer, {topic.name for topic in topics}))
            ends = await consumer.end_offsets(partitions)
        yield Reader(settings, consumer, ends, identities)


class Reader:
    """Reader of the messages that topics held when it was opened, and of those that have come since."""

    def __init__(
        self,
        settings: KafkaSettings,
        consumer: AIOKafkaConsumer,
        ends: Mapping[TopicPartition, int],
        identities: Identities,
    ) -> None:
        self._settings = settings
        self._consumer = consumer
        self._ends = ends
        self._identities = identities
        self._looked_at = -math.inf
        """Monotonic time at which the topics were looked at last."""
        self.on_made_again: Callable[[str], None] = _log_made_again
        """Called with a topic that was made again, before it is followed from its beginning."""
        self.on_deleted: Callable[[TopicPartition, int], None] = lambda *_: None
        """Called with a partition and its begin if Kafka has deleted records of it before they were read."""
        self.on_passed: Callable[[TopicPartition, int], None] = lambda *_: None
        """Called with a partition and an offset, once all records before it were taken.

        The last offsets before it may hold none, as of transactions.
        """

    def id_of(self, topic: str) -> UUID | None:
        """Return the id of a topic, when it was last looked at; None where brokers tell none."""
        identity = self._identities.get(topic)
        return None if identity is None else identity.id

    async def existing(
        self, *, newest_of_each: int | None = None, starts: Mapping[int, int] | None = None
    ) -> AsyncGenerator[Timed, None]:
        """Yield the messages from before it was opened, in order per partition.

        With `newest_of_each`, only those of that many offsets of each partition; with `starts`, of a single
        topic, those of each partition from an offset on, which it has.
        """
        if starts is not None:
            counts = {partition: end - starts[partition.partition] for partition, end in self._ends.items()}
        else:
            counts = await self.offsets()
        if newest_of_each is not None:
            counts = {partition: min(count, newest_of_each) for partition, count in counts.items()}
        async for timed in self._before(self._ends, counts):
            yield timed

    async def newest(self, count: int) -> AsyncGenerator[Timed, None]:
        """Yield so many messages from before it was opened, as evenly of the partitions as they hold them.

        If the newest offsets hold fewer, as transactions and compaction leave them, older ones follow.
        """
        ends, left, reach = self._ends, await self.offsets(), count
        while count and any(left.values()):
            shares = _shares(left, reach)
            async for timed in self._before(ends, shares):
                yield timed
                count -= 1
                if not count:
                    return
            ends = {partition: end - shares[partition] for partition, end in ends.items()}
            left = {partition: rest - shares[partition] for partition, rest in left.items()}
            reach *= REACH_FACTOR

    async def _before(
        self, ends: Mapping[TopicPartition, int], counts: Mapping[TopicPartition, int]
    ) -> AsyncIterator[Timed]:
        """Yield the messages of so many offsets before each end."""
        with kafka_errors(self._settings):
            self._assign({partition: ends[partition] - count for partition, count in counts.items() if count})
            wanted = {partition: ends[partition] for partition in self._consumer.assignment()}
            async for record in self._records_until(wanted):
                yield message_of(record), record.timestamp

    async def _records_until(self, ends: dict[TopicPartition, int]) -> AsyncIterator[ConsumerRecord]:
        """Yield the records before the ends; the last offsets may hold none (compaction, transactions)."""
        while ends:
            async with asyncio.timeout(STALL_SECONDS):
                fetched = await self._next_records(ends)
            for partition, records in fetched.items():
                for record in records:
                    if record.offset < ends[partition]:
                        yield record
            for partition in list(ends):
                if await self._consumer.position(partition) >= ends[partition]:
                    self.on_passed(partition, ends.pop(partition))
                    self._consumer.pause(partition)
        async with asyncio.timeout(STALL_SECONDS):
            again = await self._insist_on_look()
        if again:
            raise UnavailableError(f"topic {again[0]} was deleted and created again while it was read")

    async def _next_records(self, ends: Mapping[TopicPartition, int]) -> Fetched:
        """Fetch the next records, or none once a partition's position has moved without any."""
        before = [await self._consumer.position(partition) for partition in ends]
        while True:
            fetched = await self._fetch(*ends, timeout_ms=200, max_records=100)
            if fetched or before != [await self._consumer.position(partition) for partition in ends]:
                return fetched

    async def _fetch(
        self, *partitions: TopicPartition, timeout_ms: int, max_records: int | None = None
    ) -> Fetched:
        """Fetch the next records; none after those at a position were gone, which moves it to the begin."""
        try:
            fetched: Fetched = await self._consumer.getmany(
                *partitions, timeout_ms=timeout_ms, max_records=max_records
            )
        except OffsetOutOfRangeError as error:
            with suppress(KafkaError):  # the error recurs until the position is another
                await self._seek_to_begin(error.args[0])
            return {}
        return fetched

    async def _seek_to_begin(self, lost: Mapping[TopicPartition, int]) -> None:
        """Seek to the begin of partitions, but of one that just a replica of the own rack has lost.

        It may lag behind a position that the leader has, which is asked next.
        """
        begins = await self._consumer.beginning_offsets(list(lost))
        ends = {} if self._settings.rack is None else await self._consumer.end_offsets(list(lost))
        for partition, position in lost.items():
            if begins[partition] <= position <= ends.get(partition, -1):
                continue
            if await self._consumer.position(partition) == position:
                self._consumer.seek(partition, begins[partition])
                if position < begins[partition]:
                    self.on_deleted(partition, begins[partition])
                else:  # the topic was made again, which is looked at before anything of it is handed on
                    self._looked_at = -math.inf

    async def follow(self) -> AsyncGenerator[Timed, None]:
        """Yield the messages from after it was opened, as they come, for ever; of new partitions, all."""
        with kafka_errors(self._settings):
            self._assign(self._ends)
            while True:
                fetched = await self._fetch(timeout_ms=_FOLLOW_MS)
                for record in chain.from_iterable(fetched.values()):
                    yield message_of(record), record.timestamp
                is_due = time.monotonic() > self._looked_at + _LOOK_SECONDS
                if is_due and (again := await self._insist_on_look()):
                    self._follow_from_beginning(again, await self._positions())
                    continue
                for partition in self._consumer.assignment():
                    self.on_passed(partition, await self._consumer.position(partition))
                await self._assign_new_partitions()

    async def _made_again(self) -> list[str]:
        """Return the topics that were made again since they were last looked at."""
        found = await ask_identities(self._consumer, {partition.topic for partition in self._ends})
        self._looked_at = time.monotonic()
        return self._identities.note(found)

    async def _insist_on_look(self) -> list[str]:
        """Look at the topics until a broker answers; while none does, nothing could be read either."""
        while True:
            with suppress(KafkaError):
                return await self._made_again()
            await asyncio.sleep(_LOOK_SECONDS)

    def _follow_from_beginning(
        self, topics: Collection[str], positions: Mapping[TopicPartition, int]
    ) -> None:
        """Assign all partitions that topics have by now, from their beginning on, and others as before."""
        for topic in topics:
            self.on_made_again(topic)
        found = {topic: identity for topic in topics if (identity := self._identities.get(topic))}
        starts = {
            TopicPartition(topic, number): 0
            for topic, identity in found.items()
            for number in range(identity.partitions)
        }
        others = {each: position for each, position in positions.items() if each.topic not in topics}
        self._assign(starts | others)

    async def _positions(self) -> dict[TopicPartition, int]:
        return {each: await self._consumer.position(each) for each in self._consumer.assignment()}

    async def _assign_new_partitions(self) -> None:
        """Assign the partitions that the topics got meanwhile, from their beginning on."""
        known = self._consumer.assignment()
        topics = {partition.topic for partition in known}
        new = {
            TopicPartition(topic, number): 0
            for topic in topics
            for number in self._consumer.partitions_for_topic(topic) or ()
        }
        if new.keys() - known:
            self._assign(new | await self._positions())

    async def offsets(self) -> dict[TopicPartition, int]:
        """Return the number of offsets in each partition; not all of them hold a message."""
        begins = await self._begins()
        return {partition: end - begins[partition] for partition, end in self._ends.items()}

    async def bounds(self) -> dict[int, tuple[int, int]]:
        """Return the first offset of each partition of a single topic, and the one behind its last."""
        begins = await self._begins()
        return {partition.partition: (begins[partition], end) for partition, end in self._ends.items()}

    async def _begins(self) -> dict[TopicPartition, int]:
        with kafka_errors(self._settings):
            begins: dict[TopicPartition, int] = await self._consumer.beginning_offsets(list(self._ends))
        return begins

    def _assign(self, starts: Mapping[TopicPartition, int]) -> None:
        self._consumer.assign(list(starts))
        for partition, start in starts.items():
            self._consumer.seek(partition, start)


def _log_made_again(topic: str) -> None:
    _log.warning("topic %s was deleted and created again: it is read from its beginning", topic)


def _shares(available: Mapping[TopicPartition, int], count: int) -> dict[TopicPartition, int]:
    """Share a number of offsets out to the partitions, as evenly as they have them."""
    shares: dict[TopicPartition, int] = {}
    for rank, partition in enumerate(sorted(available, key=lambda partition: available[partition])):
        fair = -(-(count - sum(shares.values())) // (len(available) - rank))
        shares[partition] = min(available[partition], fair)
    return shares


def message_of(record: ConsumerRecord) -> Message:
    """Return the message of a record."""
    return Message(
        record.key, record.value, tuple(record.headers), record.topic, record.partition, record.offset
    )


Handle = Callable[[Message, int], None]
"""Callback for a message and its time, in milliseconds since 1970."""


class TopicFollower:
    """Follower of a topic of which every reader needs all messages, such as a compacted one.

    After Kafka was unavailable, it hands all of them on again.
    """

    def __init__(self, kafka: KafkaSettings, topic: str, handle: Handle, consequence: str) -> None:
        self._kafka = kafka
        self._topic = topic
        self._handle = handle
        self.dependency = Dependency(f"topic {topic}", consequence)
        self.caught_up = asyncio.Event()
        """Set once every message is handed on that the topic held when it was first read."""

    async def run(self) -> None:
        """Follow the topic, for as long as this runs."""
        trial = 0
        while True:
            try:
                async with open_topics(self._kafka, self._topic) as reader:
                    async for message, milliseconds in reader.existing():
                        self._handle(message, milliseconds)
                        await asyncio.sleep(0)  # a topic may hold many, and others work meanwhile
                    trial = 0
                    self.dependency.answered()
                    self.caught_up.set()
                    async for message, milliseconds in reader.follow():
                        self._handle(message, milliseconds)
            except (*UNAVAILABLE, TimeoutError) as error:
                self.dependency.missed(error)
            await back_off(trial)
            trial += 1
