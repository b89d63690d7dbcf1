"""Reading a topic: without a consumer group, without committing anything."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from schemas.pages import Message
from streams.kafka import client_options, describe_topic
from streams.kafka_errors import kafka_errors
from streams.settings import MIB, KafkaSettings

_FETCH_BYTES = 8 * MIB
_STALL_SECONDS = 60.0
Timed = tuple[Message, int]
"""A message and its time in milliseconds."""


async def read(
    settings: KafkaSettings, topic: str, *, newest: int | None = None
) -> AsyncGenerator[Timed, None]:
    """The messages that a topic holds now, in order per partition.

    It joins no group and commits nothing. With `newest`, only about that many, the latest of every partition.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    async with open_topic(settings, topic) as reader:
        async for message in reader.held(newest=newest):
            yield message


@asynccontextmanager
async def open_topic(settings: KafkaSettings, name: str) -> AsyncIterator["Reader"]:
    """A reader of the topic as it is now, which joins no group and commits nothing.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    topic = await describe_topic(settings, name)
    consumer = AIOKafkaConsumer(
        **client_options(settings),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=MIB,
        fetch_max_bytes=_FETCH_BYTES,
    )
    try:
        with kafka_errors(settings):
            await consumer.start()
            partitions = [TopicPartition(topic.name, number) for number in range(topic.partitions)]
            ends = await consumer.end_offsets(partitions)
        yield Reader(settings, consumer, ends)
    finally:
        with suppress(asyncio.CancelledError):  # it lets that of a fetch out which it cancels
            await consumer.stop()


class Reader:
    """Reads what a topic held when it was opened, and what has come since."""

    def __init__(
        self, settings: KafkaSettings, consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, int]
    ) -> None:
        self._settings = settings
        self._consumer = consumer
        self._ends = ends

    async def held(
        self, *, newest: int | None = None, newest_of_each: int | None = None
    ) -> AsyncGenerator[Timed, None]:
        """The messages from before it was opened, in order per partition.

        With `newest`, only about that many, as evenly of the partitions as they hold them; with
        `newest_of_each`, only those of that many offsets of each partition.
        """
        with kafka_errors(self._settings):
            counts = await self.offsets()
            if newest is not None:
                counts = _shares(counts, newest)
            if newest_of_each is not None:
                counts = {partition: min(count, newest_of_each) for partition, count in counts.items()}
            self._assign({partition: self._ends[partition] - n for partition, n in counts.items() if n})
            wanted = {partition: self._ends[partition] for partition in self._consumer.assignment()}
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
        starts = await self._consumer.beginning_offsets(list(self._ends))
        return {partition: end - starts[partition] for partition, end in self._ends.items()}

    def _assign(self, starts: Mapping[TopicPartition, int]) -> None:
        self._consumer.assign(list(starts))
        for partition, start in starts.items():
            self._consumer.seek(partition, start)


def _shares(held: Mapping[TopicPartition, int], wanted: int) -> dict[TopicPartition, int]:
    """How many messages to take of each partition, as evenly as they hold them."""
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
