"""Messages that are read once more from their offsets, or are there no more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import NewPartitions, RecordsToDelete

from dehusk.schemas.documents import Origin
from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.pages import Message
from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.kafka.options import client_options
from dehusk.streams.kafka.raw_messages import RawMessages, open_raw_messages
from dehusk.streams.settings import MIB, KafkaSettings
from tests.integration.worker.conftest import PATIENCE


@pytest.fixture
async def topic(kafka: KafkaSettings, fresh: str) -> str:
    """A topic of two partitions, each with 40 messages of 50 kB, and one of 2 MB after them."""
    await create_topics(kafka, [Topic(fresh, 2, 1, {"max.message.bytes": str(4 * MIB)})])
    async with AIOKafkaProducer(**client_options(kafka), max_request_size=4 * MIB) as producer:
        for partition in (0, 1):
            for number in range(41):
                await producer.send(
                    fresh, *_sent(partition, number), partition, headers=[("h", b"%d" % number)]
                )
    return fresh


def _sent(partition: int, number: int) -> tuple[bytes, bytes]:
    return (b"%d.%d" % (partition, number)) * (10_000 if number < 40 else 400_000), b"key"


@pytest.fixture
async def raw(kafka: KafkaSettings) -> AsyncIterator[RawMessages]:
    async with open_raw_messages(kafka) as opened:
        yield opened


async def test_messages_are_as_they_were_in_any_order(raw: RawMessages, topic: str) -> None:
    for partition, offset in ((0, 0), (1, 40), (0, 39), (0, 1), (1, 17), (1, 17), (0, 40)):
        value, key = _sent(partition, offset)
        expected = Message(key, value, (("h", b"%d" % offset),), topic, partition, offset)
        assert await raw.read(Origin(topic, partition, offset)) == expected


async def test_what_was_deleted_or_never_there_is_gone(raw: RawMessages, topic: str, admin) -> None:
    await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=20)})
    assert await raw.read(Origin(topic, 0, 19)) is None
    assert await raw.read(Origin(topic, 0, 20)) is not None
    assert await raw.read(Origin(topic, 0, 41)) is None
    assert await raw.read(Origin(topic, 0, 1000)) is None
    assert await raw.read(Origin(topic, 2, 0)) is None
    assert await raw.read(Origin(f"{topic}-never-made", 0, 0)) is None
    assert f"{topic}-never-made" not in await admin.list_topics()


async def test_a_topic_may_grow(raw: RawMessages, topic: str, kafka: KafkaSettings, admin) -> None:
    assert await raw.read(Origin(topic, 2, 0)) is None
    await admin.create_partitions({topic: NewPartitions(4)})
    async with AIOKafkaProducer(**client_options(kafka)) as producer:
        await producer.send_and_wait(topic, b"new", partition=3)
    found = await raw.read(Origin(topic, 3, 0))
    assert found is not None
    assert found.value == b"new"
    assert await raw.read(Origin(topic, 4, 0)) is None


async def test_an_offset_without_a_message_is_gone(
    raw: RawMessages, kafka: KafkaSettings, fresh: str
) -> None:
    await create_topics(kafka, [Topic(fresh, 1, 1)])
    async with AIOKafkaProducer(**client_options(kafka), transactional_id=fresh) as producer:
        for value in (b"first", b"second"):
            async with producer.transaction():
                await producer.send_and_wait(fresh, value, partition=0)
    found = [await raw.read(Origin(fresh, 0, offset)) for offset in range(4)]
    assert [each and each.value for each in found] == [b"first", None, b"second", None]


async def test_a_topic_that_is_deleted_is_gone(kafka: KafkaSettings, topic: str, admin) -> None:
    async with open_raw_messages(kafka, timeout=3.0) as raw:
        assert await raw.read(Origin(topic, 0, 3)) is not None
        await admin.delete_topics([topic])
        is_gone = False
        async with asyncio.timeout(PATIENCE):
            while not is_gone:  # brokers delete it a moment later
                with suppress(UnavailableError):
                    is_gone = await raw.read(Origin(topic, 0, 3)) is None
                await asyncio.sleep(0.1)
