"""Topics of several replicas: too few of them in sync, and those of the reader's own rack."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from dehusk.streams.kafka.client import Topic, create_topics, ensure_topics
from dehusk.streams.kafka.options import consumer_options
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.settings import Guarantee, KafkaSettings, TopicSettings
from tests.integration.conftest import Stack
from tests.integration.test_local_stack import send, stored
from tests.integration.worker.conftest import Worker


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """A Kafka of three nodes."""
    with Stack(tmp_path_factory.mktemp("three"), kafka_nodes=3, services=("kafka",)) as running:
        yield running


@pytest.fixture
def kafka(three: LocalStack) -> KafkaSettings:
    """The one of three nodes, in the place of the stack's."""
    return KafkaSettings(three.addresses.kafka)


@pytest.fixture
async def topics(kafka: KafkaSettings, fresh: str) -> TopicSettings:
    """Topics of three replicas, all of which the output asks for, and the others for two."""
    names = TopicSettings(f"{fresh}-raw", f"{fresh}-cleaned", f"{fresh}-dead", fresh)
    await create_topics(kafka, [Topic(names.input, partitions=4, replicas=3), output_of(names)])
    await ensure_topics(kafka, names)
    return names


def output_of(names: TopicSettings) -> Topic:
    """Return the output topic, which asks for all replicas."""
    return Topic(names.output, partitions=4, replicas=3, settings={"min.insync.replicas": "3"})


async def test_too_few_replicas_are_named_and_lose_nothing(bench, site, three, fresh: str) -> None:
    records = site(40)
    once = replace(
        bench.topics, output=f"{fresh}-once", dead_letters=f"{fresh}-once-dead", group=f"{fresh}-once"
    )
    await create_topics(bench.kafka, [output_of(once)])
    await ensure_topics(bench.kafka, once)
    benches = {Guarantee.AT_LEAST_ONCE: bench, Guarantee.EXACTLY_ONCE: replace(bench, topics=once)}
    workers = [
        each.worker("--brokers", each.kafka.brokers, "--delivery", delivery)
        for delivery, each in benches.items()
    ]
    for worker in workers:
        await bench.until(worker.has_partitions)
    await bench.produce(records[:20])
    for each in benches.values():
        await each.until_done()
    await asyncio.to_thread(three.services["kafka-3"].kill)
    await bench.produce(records[20:])
    for worker in workers:
        await bench.until(partial(is_said, worker), patience=240)
        assert not worker.is_ready()
        assert worker.report()["totals"]["documents"] == 20
    await asyncio.to_thread(three.services["kafka-3"].start)
    for each, worker in zip(benches.values(), workers, strict=True):
        await each.until_done()
        await bench.until(worker.is_ready)
        counts = Counter(message.key for message in await each.documents())
        if each.topics == once:
            assert counts == dict.fromkeys((record.key for record in records), 1)
        assert set(counts) == {record.key for record in records}
        assert not worker.says("Traceback")
        assert worker.stop() == 0


def is_said(worker: Worker) -> bool:
    """Tell if a worker names the setting that asks for more replicas."""
    return "min.insync.replicas" in worker.report()["unavailable"].get("kafka", "")


async def test_a_reader_asks_the_replicas_of_its_rack(bench, site) -> None:
    kafka, topic = replace(bench.kafka, rack="rack-2"), bench.topics.input
    records = site(40)
    await bench.produce(records)
    async with AIOKafkaConsumer(**consumer_options(kafka), auto_offset_reset="earliest") as consumer:
        partitions = [TopicPartition(topic, number) for number in range(4)]
        consumer.assign(partitions)
        found: set[bytes] = set()
        while len(found) < len(records):
            fetched = await consumer.getmany(timeout_ms=1000)
            found |= {record.key for batch in fetched.values() for record in batch}
        asked = {each: consumer._fetcher._select_read_replica(each) for each in partitions}
    assert asked == dict.fromkeys(partitions, 2)


async def test_three_nodes_do_without_one(three: LocalStack, kafka: KafkaSettings, fresh: str) -> None:
    await create_topics(kafka, [Topic(fresh, partitions=1, replicas=3)])
    await send(kafka.brokers, fresh, b"all three")
    await asyncio.to_thread(three.services["kafka-1"].kill)
    await send(kafka.brokers, fresh, b"two of three")
    await asyncio.to_thread(three.services["kafka-1"].start)
    assert await stored(kafka.brokers, fresh) == 2
