"""Messages of the input topics, read once more from where they are."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import OffsetOutOfRangeError

from dehusk.schemas.documents import Origin
from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.pages import Message
from dehusk.streams.kafka import client_options, describe_topics
from dehusk.streams.kafka_errors import kafka_errors, unreadable_batch
from dehusk.streams.settings import KIB, MIB, KafkaSettings

_FETCH_BYTES = 64 * KIB
"""Of a partition; a batch of records that is larger comes whole."""
_WAIT_MS = 100
_SECONDS = 20.0


class RawMessages:
    """Reads single messages, in no group."""

    def __init__(self, consumer: AIOKafkaConsumer, settings: KafkaSettings) -> None:
        self._consumer = consumer
        self._settings = settings
        self._partitions: dict[str, int] = {}
        """How many partitions topics have that were asked for."""

    async def read(self, origin: Origin) -> Message | None:
        """The message at a place; None where Kafka has it no more, or cannot read it.

        Raises:
            UnavailableError: the brokers do not answer.
            ConfigurationError: the topic may not be read.
        """
        try:
            with kafka_errors(self._settings):
                return await self._read(origin) if await self._exists(origin) else None
        except UnavailableError:
            self._partitions.pop(origin.topic, None)  # it may have been deleted
            raise

    async def _exists(self, origin: Origin) -> bool:
        """Whether there is such a partition; aiokafka would wait for one, or brokers create its topic."""
        if origin.topic not in self._partitions:
            found = (await describe_topics(self._settings, [origin.topic])).get(origin.topic)
            if found is None:
                return False
            self._partitions[origin.topic] = found.partitions
        return origin.partition < self._partitions[origin.topic]

    async def _read(self, origin: Origin) -> Message | None:
        partition = TopicPartition(origin.topic, origin.partition)
        self._consumer.assign([partition])
        self._consumer.seek(partition, origin.offset)
        try:
            async with asyncio.timeout(_SECONDS):
                record = await self._next(partition, origin.offset)
        except OffsetOutOfRangeError:
            return None
        except Exception as error:
            if unreadable_batch(error) is None:
                raise
            return None
        finally:
            self._consumer.pause(partition)
        if record is None or record.offset != origin.offset:
            return None
        headers = tuple(record.headers)
        return Message(record.key, record.value, headers, origin.topic, origin.partition, origin.offset)

    async def _next(self, partition: TopicPartition, offset: int) -> ConsumerRecord | None:
        """The first record from an offset on; None where there is none yet."""
        while True:
            fetched = await self._consumer.getmany(partition, timeout_ms=_WAIT_MS, max_records=1)
            for record in fetched.get(partition, ()):
                return record
            ends = await self._consumer.end_offsets([partition])
            if max(offset, await self._consumer.position(partition)) >= ends[partition]:
                return None


@asynccontextmanager
async def open_raw_messages(settings: KafkaSettings) -> AsyncIterator[RawMessages]:
    """Messages of a cluster.

    Raises:
        ConfigurationError: the brokers refuse the user.
        UnavailableError: the brokers do not answer.
    """
    consumer = AIOKafkaConsumer(
        **client_options(settings),
        enable_auto_commit=False,
        auto_offset_reset="none",
        isolation_level="read_committed",
        max_partition_fetch_bytes=_FETCH_BYTES,
        fetch_max_bytes=MIB,
        fetch_max_wait_ms=_WAIT_MS,
    )
    try:
        with kafka_errors(settings):
            await consumer.start()
        yield RawMessages(consumer, settings)
    finally:
        with suppress(asyncio.CancelledError):  # it lets that of a fetch out which it cancels
            await consumer.stop()
