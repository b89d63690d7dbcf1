"""Reading topics: without a consumer group, without committing anything, and no aborted transactions."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from dehusk.schemas.pages import Message
from dehusk.streams.input_topics import InputTopics
from dehusk.streams.kafka import client_options, describe_topics, require_inputs
from dehusk.streams.kafka_errors import kafka_errors
from dehusk.streams.settings import MIB, KafkaSettings

_FETCH_BYTES = 8 * MIB
_STALL_SECONDS = 60.0
FARTHER = 4
"""How many times as far back is read where the newest offsets held too few messages."""
Timed = tuple[Message, int]
"""A message and its time in milliseconds."""


async def read(
    settings: KafkaSettings, *topics: str, newest: int | None = None
) -> AsyncGenerator[Timed, None]:
    """The messages that topics hold now, in order per partition.

    It joins no group and commits nothing. With `newest`, only so many, the latest of every partition.

    Raises:
        ConfigurationError: a topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    async with open_topics(settings, *topics) as reader:
        async for message in reader.held() if newest is None else reader.newest(newest):
            yield message


@asynccontextmanager
async def open_topics(settings: KafkaSettings, *names: str) -> AsyncIterator["Reader"]:
    """A reader of the topics as they are now, which joins no group and commits nothing.

    What a transaction has written that is still open is not there yet, nor is anything behind it: Kafka gives
    readers of committed records nothing beyond the last stable offset.

    Raises:
        ConfigurationError: a topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    topics = require_inputs(settings, InputTopics(names), await describe_topics(settings, names))
    consumer = AIOKafkaConsumer(
        **client_options(settings),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        max_partition_fetch_bytes=MIB,
        fetch_max_bytes=_FETCH_BYTES,
    )
    try:
        with kafka_errors(settings):
            await consumer.start()
            ends = await consumer.end_offsets(
                [TopicPartition(topic.name, number) for topic in topics for number in range(topic.partitions)]
            )
        yield Reader(settings, consumer, ends)
    finally:
        with suppress(asyncio.CancelledError):  # it lets that of a fetch out which it cancels
            await consumer.stop()


class Reader:
    """Reads what topics held when they were opened, and what has come since."""

    def __init__(
        self, settings: KafkaSettings, consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, int]
    ) -> None:
        self._settings = settings
        self._consumer = consumer
        self._ends = ends

    async def held(self, *, newest_of_each: int | None = None) -> AsyncGenerator[Timed, None]:
        """The messages from before it was opened, in order per partition.

        With `newest_of_each`, only those of that many offsets of each partition.
        """
        counts = await self.offsets()
        if newest_of_each is not None:
            counts = {partition: min(count, newest_of_each) for partition, count in counts.items()}
        async for timed in self._before(self._ends, counts):
            yield timed

    async def newest(self, count: int) -> AsyncGenerator[Timed, None]:
        """So many of the messages from before it was opened, as evenly of the partitions as they hold them.

        Where the newest offsets hold fewer, as transactions and compaction leave them, older ones follow.
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
            reach *= FARTHER

    async def _before(
        self, ends: Mapping[TopicPartition, int], counts: Mapping[TopicPartition, int]
    ) -> AsyncIterator[Timed]:
        """The messages of so many offsets before each end."""
        with kafka_errors(self._settings):
            self._assign({partition: ends[partition] - count for partition, count in counts.items() if count})
            wanted = {partition: ends[partition] for partition in self._consumer.assignment()}
            async for record in _records_until(self._consumer, wanted):
                yield _message(record), record.timestamp

    async def coming(self) -> AsyncGenerator[Timed, None]:
        """The messages from after it was opened, as they come, for ever."""
        with kafka_errors(self._settings):
            self._assign(self._ends)
            async for record in self._consumer:
                yield _message(record), record.timestamp

    async def offsets(self) -> dict[TopicPartition, int]:
        """How many offsets there are in each partition; not all of them hold a message."""
        with kafka_errors(self._settings):
            starts = await self._consumer.beginning_offsets(list(self._ends))
        return {partition: end - starts[partition] for partition, end in self._ends.items()}

    def _assign(self, starts: Mapping[TopicPartition, int]) -> None:
        self._consumer.assign(list(starts))
        for partition, start in starts.items():
            self._consumer.seek(partition, start)


def _shares(held: Mapping[TopicPartition, int], wanted: int) -> dict[TopicPartition, int]:
    """How many offsets to read of each partition, as evenly as they have them."""
    shares: dict[TopicPartition, int] = {}
    for rank, partition in enumerate(sorted(held, key=lambda partition: held[partition])):
        fair = -(-(wanted - sum(shares.values())) // (len(held) - rank))
        shares[partition] = min(held[partition], fair)
    return shares


async def _records_until(
    consumer: AIOKafkaConsumer, ends: dict[TopicPartition, int]
) -> AsyncIterator[ConsumerRecord]:
    """The records before the ends; a partition's last offsets may hold none (compaction, transactions)."""
    while ends:
        async with asyncio.timeout(_STALL_SECONDS):
            fetched = await _next_records(consumer, ends)
        for partition, records in fetched.items():
            for record in records:
                if record.offset < ends[partition]:
                    yield record
        for partition in list(ends):
            if await consumer.position(partition) >= ends[partition]:
                del ends[partition]
                consumer.pause(partition)


async def _next_records(
    consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, list[ConsumerRecord]]:
    """The next records, or none once a partition's position has moved without any."""
    before = [await consumer.position(partition) for partition in ends]
    while True:
        fetched: dict[TopicPartition, list[ConsumerRecord]] = await consumer.getmany(
            *ends, timeout_ms=200, max_records=100
        )
        if fetched or before != [await consumer.position(partition) for partition in ends]:
            return fetched


def _message(record: ConsumerRecord) -> Message:
    return Message(
        record.key, record.value, tuple(record.headers), record.topic, record.partition, record.offset
    )
