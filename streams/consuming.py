"""Reading a topic as it is now: without a consumer group, without committing anything."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from schemas.pages import Message
from streams.kafka import Topic, client_options, describe_topic, kafka_errors
from streams.settings import MIB, KafkaSettings

_FETCH_BYTES = 8 * MIB
_STALL_SECONDS = 60.0


async def read(
    settings: KafkaSettings, topic: str, *, newest: int | None = None
) -> AsyncGenerator[tuple[Message, int], None]:
    """The messages that a topic holds now, each with its time in milliseconds, in order per partition.

    It joins no group and commits nothing. With `newest`, only about that many, the latest of every partition.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
    """
    found = await describe_topic(settings, topic)
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
            ends = await _assign(consumer, found, newest)
            async for record in _records_until(consumer, ends):
                yield _message(record), record.timestamp
    finally:
        await consumer.stop()


async def _assign(consumer: AIOKafkaConsumer, topic: Topic, newest: int | None) -> dict[TopicPartition, int]:
    """Assigns the partitions that hold something to be read, and answers where each ends now."""
    partitions = [TopicPartition(topic.name, number) for number in range(topic.partitions)]
    starts = await consumer.beginning_offsets(partitions)
    ends = await consumer.end_offsets(partitions)
    held = {partition: ends[partition] - starts[partition] for partition in partitions}
    counts = held if newest is None else _shares(held, newest)
    consumer.assign([partition for partition, count in counts.items() if count])
    for partition in consumer.assignment():
        consumer.seek(partition, ends[partition] - counts[partition])
    return {partition: ends[partition] for partition in consumer.assignment()}


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
