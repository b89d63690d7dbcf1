"""Single messages of the input topics, read again from where they are."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import OffsetOutOfRangeError

from dehusk.schemas.documents import Origin
from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.pages import Message
from dehusk.streams.kafka.client import describe_topics
from dehusk.streams.kafka.consumer import open_consumer
from dehusk.streams.kafka.errors import kafka_errors, unreadable_batch
from dehusk.streams.kafka.reader import message_of
from dehusk.streams.settings import KIB, MIB, KafkaSettings

_FETCH_BYTES = 64 * KIB
"""Bytes of a partition for a single message; a batch of records that is larger comes whole."""
_MOST_OFFSET = (1 << 63) - 1
_WAIT_MS = 100


class RawMessages:
    """Reader of single messages of the input topics, by their positions."""

    def __init__(self, consumer: AIOKafkaConsumer, settings: KafkaSettings, timeout: float) -> None:
        self._consumer = consumer
        self._settings = settings
        self._timeout = timeout
        self._partitions: dict[str, int] = {}
        """Partition counts of the topics that were asked for, when they were last looked up."""

    async def read(self, origin: Origin) -> Message | None:
        """Return the message at an offset; None if Kafka has it no more, or cannot read it.

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
        """Return True if there is the partition; aiokafka would wait for it, or brokers create its topic."""
        if origin.partition < 0 or not 0 <= origin.offset <= _MOST_OFFSET:
            return False
        if origin.partition >= self._partitions.get(origin.topic, 0):  # the topic may have grown
            found = (await describe_topics(self._settings, [origin.topic])).get(origin.topic)
            self._partitions[origin.topic] = 0 if found is None else found.partitions
        return origin.partition < self._partitions[origin.topic]

    async def _read(self, origin: Origin) -> Message | None:
        partition = TopicPartition(origin.topic, origin.partition)
        self._consumer.assign([partition])
        self._consumer.seek(partition, origin.offset)
        try:
            async with asyncio.timeout(self._timeout):
                record = await self._next(partition, origin.offset)
        except OffsetOutOfRangeError:
            return None
        except Exception as error:
            if unreadable_batch(error) is None:
                raise
            return None
        finally:
            self._consumer.pause(partition)
        return None if record is None or record.offset != origin.offset else message_of(record)

    async def _next(self, partition: TopicPartition, offset: int) -> ConsumerRecord | None:
        """Return the first record from an offset on; None if there is none yet."""
        while True:
            fetched = await self._consumer.getmany(partition, timeout_ms=_WAIT_MS, max_records=1)
            for record in fetched.get(partition, ()):
                return record
            ends = await self._consumer.end_offsets([partition])
            if max(offset, await self._consumer.position(partition)) >= ends[partition]:
                return None


@asynccontextmanager
async def open_raw_messages(settings: KafkaSettings, timeout: float = 20.0) -> AsyncIterator[RawMessages]:  # noqa: ASYNC109 of each read
    """Open a reader of single messages, each of which may take `timeout` seconds.

    Leaders are asked alone: a replica of the own rack may lag behind, and not have a message yet.

    Raises:
        ConfigurationError: the brokers refuse the user.
        UnavailableError: the brokers do not answer.
    """
    async with open_consumer(
        replace(settings, rack=None),
        _FETCH_BYTES,
        MIB,
        auto_offset_reset="none",
        fetch_max_wait_ms=_WAIT_MS,
    ) as consumer:
        yield RawMessages(consumer, settings, timeout)
