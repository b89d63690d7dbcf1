"""Transactions whose end Kafka leaves out where a partition has no leader, on a real Kafka of three nodes."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.client import AIOKafkaClient, CoordinationType
from aiokafka.errors import KafkaError
from aiokafka.producer.transaction_manager import TransactionResult

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.kafka import hanging
from dehusk.streams.kafka.client import Topic, create_topics, open_client
from dehusk.streams.kafka.hanging import GroupOffsets
from dehusk.streams.kafka.offsets import committed_offset
from dehusk.streams.kafka.producer import create_producer
from dehusk.streams.kafka.reader import read
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.worker.input.membership import Membership, boot_time
from dehusk.streams.worker.steps.transactions import TransactionalDelivery
from tests.integration.conftest import Stack
from tests.integration.test_given_up_transactions import Writer, batch

SECONDS = 60


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """A Kafka of three nodes."""
    with Stack(tmp_path_factory.mktemp("three"), kafka_nodes=3, services=("kafka",)) as running:
        yield running


@pytest.fixture
async def kafka(three: LocalStack) -> KafkaSettings:
    """The one of three nodes, in the place of the stack's, with one copy of the offsets of groups."""
    settings = KafkaSettings(three.addresses.kafka)
    await create_topics(settings, [Topic("__consumer_offsets", 4, 1, {"cleanup.policy": "compact"})])
    return settings


async def coordinator(client: AIOKafkaClient, kind: CoordinationType, name: str) -> int:
    """Return the node of a coordinator, once there is one."""
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                return await client.coordinator_lookup(kind, name)
            except KafkaError:
                await asyncio.sleep(0.2)


@dataclass(frozen=True, slots=True)
class Partition:
    """Partition whose messages are delivered in transactions."""

    kafka: KafkaSettings
    source: TopicPartition
    group: str
    writer: Writer
    """Writer to a topic with a partition on each node."""

    @property
    def name(self) -> str:
        """Name of its producers."""
        return f"{self.group}/{self.source.topic}/0"

    @property
    def offsets(self) -> GroupOffsets:
        return GroupOffsets(self.kafka, self.group, [self.writer.topic])

    def producer(self) -> AIOKafkaProducer:
        return create_producer(self.kafka, "none", self.name)

    async def hanging(self) -> TransactionResult | None:
        return await self.offsets.hanging(self.source, self.name)

    async def committed(self) -> int:
        return await committed_offset(self.kafka, self.group, self.source)

    async def wait_for_end(self) -> None:
        """Wait until the coordinator takes the transaction for ended."""
        async with asyncio.timeout(SECONDS), open_client(self.kafka) as client:
            while True:
                with suppress(KafkaError):
                    if (await hanging._state_of(client, self.name)).startswith("Complete"):
                        return
                await asyncio.sleep(0.2)


@pytest.fixture
async def partition(kafka: KafkaSettings, fresh: str) -> Partition:
    """A partition whose transactions have another coordinator than its group."""
    await create_topics(kafka, [Topic(fresh, 1, 3), Topic(f"{fresh}-out", 3, 1)])
    source, writer = TopicPartition(fresh, 0), Writer(f"{fresh}-out")
    async with open_client(kafka) as client:
        for group in (f"{fresh}-{number}" for number in range(100)):
            found = Partition(kafka, source, group, writer)
            of_group = await coordinator(client, CoordinationType.GROUP, group)
            if of_group != await coordinator(client, CoordinationType.TRANSACTION, found.name):
                return found
    raise AssertionError("all coordinators are one node")


@pytest.fixture
async def delivery(partition: Partition) -> AsyncIterator[TransactionalDelivery]:
    membership = Membership(1e9)
    membership.confirm(boot_time())
    made = TransactionalDelivery(
        partial(create_producer, partition.kafka, "none"),
        partition.group,
        partition.writer,  # type: ignore[arg-type]
        membership,
        partition.offsets,
        partition.kafka,
    )
    yield made
    await made.close()


@pytest.mark.parametrize("result", TransactionResult)
async def test_a_transaction_that_hangs_is_ended_as_it_was_and_its_messages_are_delivered_once(
    three: LocalStack, partition: Partition, delivery: TransactionalDelivery, result: TransactionResult
) -> None:
    topic = partition.writer.topic
    async with partition.producer() as former:
        await former.begin_transaction()
        for number in await former.partitions_for(topic):
            await former.send_and_wait(topic, b"x", b"0", partition=number)
        await former.send_offsets_to_transaction({partition.source: 1}, partition.group)
        of_group = await coordinator(former.client, CoordinationType.GROUP, partition.group)
        node = three.services[f"kafka-{of_group}"]
        await asyncio.to_thread(node.kill)
        await (former.commit_transaction() if result else former.abort_transaction())
        await partition.wait_for_end()
    await asyncio.to_thread(node.start)
    with pytest.raises(UnavailableError, match="UnstableOffset"):
        await partition.committed()
    assert await partition.hanging() is result
    await delivery.deliver([*batch(partition.source.topic, 0), *batch(partition.source.topic, 1)])
    assert await partition.committed() == 2
    assert await partition.hanging() is None
    keys = Counter([message.key async for message, _ in read(partition.kafka, topic)])
    assert keys == {b"0": 3 if result else 1, b"1": 1}


async def test_a_transaction_that_is_open_does_not_hang(partition: Partition) -> None:
    assert await partition.hanging() is None
    async with partition.producer() as producer:
        assert await partition.hanging() is None
        await producer.begin_transaction()
        await producer.send_offsets_to_transaction({partition.source: 1}, partition.group)
        assert await partition.hanging() is None
        await producer.commit_transaction()
    assert (await partition.hanging(), await partition.committed()) == (None, 1)
