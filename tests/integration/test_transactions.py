"""Reading what transactional producers write, on the real Kafka: only what was committed is there."""

from contextlib import aclosing, asynccontextmanager

import pytest
from aiokafka import AIOKafkaProducer

from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.kafka.options import client_options
from dehusk.streams.kafka.reader import read
from dehusk.streams.topics.documents import read_documents


@pytest.fixture
async def begin(kafka, fresh):
    """Begins a transaction that writes values to the topic `fresh`, one after the other to each partition."""
    await create_topics(kafka, [Topic(fresh, 2, 1)])
    begun = []

    async def transaction(*values):
        producer = AIOKafkaProducer(**client_options(kafka), transactional_id=f"{fresh}-{len(begun)}")
        begun.append(producer)
        await producer.start()
        await producer.begin_transaction()
        for number, value in enumerate(values):
            await producer.send_and_wait(fresh, value, partition=number % 2)
        return producer

    yield transaction
    for producer in begun:
        await producer.stop()


@asynccontextmanager
async def documents(kafka, topic):
    async with aclosing(read_documents(kafka, topic, newest=None, follow=True)) as found:
        yield (message.value async for message in found)


async def held(kafka, topic, newest=None):
    return {message.value async for message, _ in read(kafka, topic, newest=newest)}


async def test_what_was_aborted_is_not_there(begin, kafka, fresh):
    first, second = await begin(b"1", b"2", b"3"), await begin(b"aborted", b"aborted", b"aborted")
    third = await begin(b"4", b"5")
    await second.abort_transaction()
    await third.commit_transaction()
    await first.commit_transaction()
    await (await begin()).commit_transaction()
    await (await begin(b"aborted", b"aborted")).abort_transaction()
    assert await held(kafka, fresh) == {b"1", b"2", b"3", b"4", b"5"}


async def test_what_stands_behind_an_open_transaction_is_not_there_yet(begin, kafka, fresh):
    await (await begin(b"1", b"2")).commit_transaction()
    waiting = await begin(b"3")
    await (await begin(b"4", b"5")).commit_transaction()
    assert await held(kafka, fresh) == {b"1", b"2", b"5"}  # partition 0 is held up
    assert await held(kafka, fresh, newest=1) < {b"1", b"2", b"5"}
    await waiting.abort_transaction()
    assert await held(kafka, fresh) == {b"1", b"2", b"4", b"5"}


async def test_the_newest_messages_are_found_in_front_of_offsets_that_hold_none(begin, kafka, fresh):
    await (await begin(b"1", b"2", b"3", b"4")).commit_transaction()
    await (await begin(*[b"aborted"] * 40)).abort_transaction()
    assert await held(kafka, fresh, newest=4) == {b"1", b"2", b"3", b"4"}
    assert len(await held(kafka, fresh, newest=3)) == 3


async def test_documents_come_once_their_transaction_is_committed(begin, kafka, fresh):
    waiting = await begin(b"1", b"2")
    await (await begin(b"aborted", b"aborted")).abort_transaction()
    async with documents(kafka, fresh) as found:
        await waiting.commit_transaction()
        assert {await anext(found), await anext(found)} == {b"1", b"2"}
