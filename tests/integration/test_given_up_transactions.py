"""Transactions that are given up while Kafka takes no offsets of theirs, on the real Kafka."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.client import CoordinationType
from aiokafka.producer.sender import TxnOffsetCommitHandler

from dehusk.schemas.pages import Message
from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.kafka.hanging import GroupOffsets
from dehusk.streams.kafka.offsets import committed_offset
from dehusk.streams.kafka.producer import create_producer
from dehusk.streams.kafka.reader import read
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.input.membership import Membership, boot_time
from dehusk.streams.worker.results import CleanedMessage
from dehusk.streams.worker.steps import transactions
from dehusk.streams.worker.steps.transactions import TransactionalDelivery


class Coordinator:
    """The group's coordinator, which takes no offsets while the topic of these has too few replicas."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_away = False
        self.asked = asyncio.Event()
        take = TxnOffsetCommitHandler.handle_response

        def handle_response(handler: Any, response: object) -> object:
            if not self.is_away:
                return take(handler, response)
            self.asked.set()
            handler._sender._coordinator_dead(CoordinationType.GROUP)
            return handler._default_backoff

        monkeypatch.setattr(TxnOffsetCommitHandler, "handle_response", handle_response)


class Writer:
    """Writer of a record for each message, which notes what was delivered."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.noted: list[int] = []

    async def write(self, batch: Sequence[CleanedMessage], sender: Any) -> None:
        await sender.send(self.topic, [record for cleaned in batch for record in cleaned.records])

    def note(self, batch: Sequence[CleanedMessage]) -> None:
        self.noted += [cleaned.message.offset for cleaned in batch]


@pytest.fixture
async def writer(kafka: KafkaSettings, fresh: str) -> Writer:
    await create_topics(kafka, [Topic(fresh, 1, 1), Topic(f"{fresh}-out", 1, 1)])
    return Writer(f"{fresh}-out")


@pytest.fixture
async def delivery(
    kafka: KafkaSettings, fresh: str, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[TransactionalDelivery]:
    monkeypatch.setattr(transactions, "COMMIT_SECONDS", 1.0)
    membership = Membership(1e9)
    membership.confirm(boot_time())
    made = TransactionalDelivery(
        partial(create_producer, kafka, "none"),
        fresh,
        writer,  # type: ignore[arg-type]
        membership,
        GroupOffsets(kafka, fresh, [writer.topic]),
        kafka,
    )
    yield made
    await made.close()


def batch(topic: str, offset: int) -> list[CleanedMessage]:
    message = Message(b"k", b"v", (), topic, 0, offset)
    return [CleanedMessage(message, records=[Record(b"%d" % offset, b"x")])]


async def test_what_was_given_up_while_its_offsets_were_not_taken_is_delivered_again(
    kafka: KafkaSettings,
    fresh: str,
    delivery: TransactionalDelivery,
    writer: Writer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    coordinator = Coordinator(monkeypatch)
    await delivery.deliver(batch(fresh, 0))
    coordinator.is_away = True
    delivering = asyncio.create_task(delivery.deliver(batch(fresh, 1)))
    for _ in range(2):  # it is given up, and begun again
        await asyncio.wait_for(coordinator.asked.wait(), 60)
        before = delivery.failure
        while delivery.failure is before:  # noqa: ASYNC110 a delivery sets no event
            await asyncio.sleep(0.05)
        coordinator.asked.clear()
    assert not delivering.done()
    assert writer.noted == [0]
    coordinator.is_away = False
    await asyncio.wait_for(delivering, 60)
    await delivery.deliver(batch(fresh, 2))
    assert (writer.noted, delivery.failure) == ([0, 1, 2], None)
    assert await committed_offset(kafka, fresh, TopicPartition(fresh, 0)) == 3
    assert [message.key async for message, _ in read(kafka, writer.topic)] == [b"0", b"1", b"2"]
