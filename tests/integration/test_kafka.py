"""Topics and reading without a group, on the real Kafka."""

import asyncio
import os
from pathlib import Path
from typing import get_args

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import RecordsToDelete

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.kafka.client import Topic, create_topics, describe_topics, ensure_topics, list_topics
from dehusk.streams.kafka.offsets import check_offsets, committed_offset
from dehusk.streams.kafka.options import client_options
from dehusk.streams.kafka.producer import IN_FLIGHT_BYTES, Outgoing, send, send_together
from dehusk.streams.kafka.reader import read
from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.local.kafka import KafkaNode, find_java, kafka_jars, kafka_nodes
from dehusk.streams.local.process import Service
from dehusk.streams.local.stack import default_cache
from dehusk.streams.settings import Compression, KafkaSettings, TopicSettings
from dehusk.streams.sources.source import Record


async def values(kafka, topic, newest=None):
    return [message.value async for message, _ in read(kafka, topic, newest=newest)]


async def send_values(kafka, topic, *values, partition=None, compression="none"):
    async def records():
        for value in values:
            yield Outgoing(topic, Record(None, value), partition)

    return [sent async for sent in send(kafka, records(), compression)]


async def fill(kafka, topic, partitions, counts):
    await create_topics(kafka, [Topic(topic, partitions, 1)])
    for partition, count in enumerate(counts):
        wanted = [b"%d.%d" % (partition, number) for number in range(count)]
        await send_values(kafka, topic, *wanted, partition=partition)


async def test_records_are_written_together_up_to_what_a_topic_takes_by_default(kafka, fresh):
    await create_topics(kafka, [Topic(fresh, 1, 1)])
    large = [Record(b"%d" % number, bytes(100_000)) for number in range(11)]
    with pytest.raises(ConfigurationError, match="larger than 1,048,576 bytes"):
        await send_together(kafka, fresh, large)
    assert await values(kafka, fresh) == []
    await send_together(kafka, fresh, large[:10])
    assert await values(kafka, fresh) == [bytes(100_000)] * 10


async def test_creates_topics_that_are_missing_and_leaves_the_others(kafka, fresh):
    wanted = Topic(fresh, 3, 1, {"cleanup.policy": "compact", "max.message.bytes": "2000000"})
    assert await create_topics(kafka, [wanted]) == (fresh,)
    assert await create_topics(kafka, [wanted]) == ()
    assert await describe_topics(kafka, [fresh, fresh + "-none"]) == {fresh: wanted}
    assert await describe_topics(kafka, [fresh + "-none"]) == {}


async def test_describing_topics_creates_none_where_brokers_create_those_that_are_named(
    tmp_path, monkeypatch, fresh
):
    configuration, changed = KafkaNode._configuration, {"auto.create.topics.enable": "true"}
    monkeypatch.setattr(KafkaNode, "_configuration", lambda node: configuration(node) | changed)
    ports = free_ports(2)
    (node,) = kafka_nodes(ports, tmp_path, find_java(), kafka_jars(default_cache()))
    service = Service(node, tmp_path / "log")
    await asyncio.to_thread(service.start)
    try:
        kafka = KafkaSettings(f"{LOOPBACK}:{ports[0]}")
        await create_topics(kafka, [Topic(fresh, 2, 1)])
        for _ in range(2):
            assert (await describe_topics(kafka, [fresh, f"{fresh}-none"])).keys() == {fresh}
        assert await list_topics(kafka) == [fresh]
    finally:
        await asyncio.to_thread(service.kill)


async def test_says_why_the_cluster_refuses_a_topic(kafka, fresh):
    with pytest.raises(ConfigurationError, match="no/such name"):
        await create_topics(kafka, [Topic("no/such name", 1, 1)])
    with pytest.raises(ConfigurationError, match=fresh):
        await create_topics(kafka, [Topic(fresh, 1, 40)])


async def test_a_worker_gets_topics_like_its_input(kafka, fresh):
    topics = TopicSettings(f"{fresh}-in", f"{fresh}-out", f"{fresh}-dead")
    with pytest.raises(ConfigurationError, match=f"{fresh}-in does not exist"):
        await ensure_topics(kafka, topics)
    await create_topics(kafka, [Topic(topics.input, 5, 1, {"max.message.bytes": "5000000"})])
    assert set(await ensure_topics(kafka, topics)) == {topics.output, topics.dead_letters}
    assert await ensure_topics(kafka, topics) == ()
    made = await describe_topics(kafka, [topics.output, topics.dead_letters])
    assert {topic.partitions for topic in made.values()} == {5}
    assert made[topics.output].settings == {"cleanup.policy": "compact", "max.message.bytes": "5000000"}
    assert made[topics.dead_letters].settings == {"max.message.bytes": str(5_000_000 + 64 * 1024)}


async def test_reads_all_that_a_topic_holds_in_order(kafka, fresh):
    await fill(kafka, fresh, 3, [250, 0, 2])
    read_values = await values(kafka, fresh)
    assert [value for value in read_values if value.startswith(b"0")] == [b"0.%d" % n for n in range(250)]
    assert [value for value in read_values if value.startswith(b"2")] == [b"2.0", b"2.1"]
    assert len(read_values) == 252


async def test_reads_what_is_there_when_it_starts(kafka, fresh):
    await fill(kafka, fresh, 1, [3])
    found = []
    async for message, time in read(kafka, fresh):
        found.append(message)
        assert time > 1_700_000_000_000
        await send_values(kafka, fresh, b"later")
    assert [(one.topic, one.partition, one.offset) for one in found] == [(fresh, 0, n) for n in range(3)]


async def test_the_newest_are_taken_evenly_of_all_partitions(kafka, fresh):
    await fill(kafka, fresh, 3, [100, 1, 100])
    assert set(await values(kafka, fresh, newest=7)) == {
        *(b"0.97", b"0.98", b"0.99"),
        b"1.0",
        *(b"2.97", b"2.98", b"2.99"),
    }
    assert len(await values(kafka, fresh, newest=1000)) == 201
    assert len(await values(kafka, fresh, newest=2)) == 2


async def test_an_empty_topic_has_no_messages(kafka, fresh):
    await create_topics(kafka, [Topic(fresh, 2, 1)])
    assert await values(kafka, fresh) == []
    assert await values(kafka, fresh, newest=5) == []


async def test_deleted_records_and_transaction_marks_at_the_end_are_passed_over(kafka, fresh, admin):
    await fill(kafka, fresh, 1, [10])
    producer = AIOKafkaProducer(bootstrap_servers=kafka.brokers, transactional_id=fresh)
    async with producer, producer.transaction():
        await producer.send(fresh, b"in a transaction")
    await admin.delete_records({TopicPartition(fresh, 0): RecordsToDelete(before_offset=8)})
    assert await values(kafka, fresh) == [b"0.8", b"0.9", b"in a transaction"]
    assert len(await values(kafka, fresh, newest=1)) == 1  # though the newest offset is the mark's


@pytest.mark.parametrize("codec", get_args(Compression))
async def test_batches_compressed_by_a_producer_are_read(kafka, fresh, codec):
    await create_topics(kafka, [Topic(fresh, 1, 1)])
    pages = [b"<p>%d" % number + b" and so on" * 2000 for number in range(30)]
    assert all(sent.refusal is None for sent in await send_values(kafka, fresh, *pages, compression=codec))
    assert await values(kafka, fresh) == pages


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
async def test_batches_compressed_by_the_brokers_are_read(kafka, fresh, codec):
    await create_topics(kafka, [Topic(fresh, 1, 1, {"compression.type": codec})])
    pages = [b"<p>%d" % number + b" and so on" * 2000 for number in range(30)]
    await send_values(kafka, fresh, *pages)
    assert await values(kafka, fresh) == pages


def corrupt(segment):
    """Overwrite the last bytes of a file."""
    with segment.open("r+b") as log:
        log.seek(-3, os.SEEK_END)
        log.write(b"xxx")


async def test_a_corrupt_batch_is_named(kafka, fresh, stack):
    await create_topics(kafka, [Topic(fresh, 1, 1)])
    await send_values(kafka, fresh, b"page")
    corrupt(Path(stack.addresses.directory, "kafka-1", "data", f"{fresh}-0", f"{0:020}.log"))
    with pytest.raises(
        ConfigurationError, match=f"partition 0 of topic {fresh} cannot be read from offset 0 to 0: "
    ):
        await values(kafka, fresh)


async def test_compression_makes_room_for_large_pages(kafka, fresh):
    await create_topics(kafka, [Topic(fresh, 1, 1, {"max.message.bytes": "100000"})])
    page = b"<p>and so on" * 100_000
    (plain,) = await send_values(kafka, fresh, page)
    (compressed,) = await send_values(kafka, fresh, page, compression="zstd")
    assert "more than topic" in plain.refusal
    assert compressed.refusal is None
    assert await values(kafka, fresh) == [page]


async def test_reads_messages_larger_than_a_fetch(kafka, fresh):
    await create_topics(kafka, [Topic(fresh, 1, 1, {"max.message.bytes": str(40 << 20)})])
    large = bytes(20 << 20)
    await send_values(kafka, fresh, large, b"small")
    assert [len(value) for value in await values(kafka, fresh)] == [len(large), 5]


async def test_a_missing_topic_is_not_created_by_reading_it(kafka, fresh):
    with pytest.raises(ConfigurationError, match=f"{fresh} does not exist"):
        await values(kafka, fresh)
    assert await describe_topics(kafka, [fresh]) == {}


async def test_a_cluster_that_is_not_there_is_unavailable(fresh):
    nobody = KafkaSettings(f"{LOOPBACK}:{free_ports(1)[0]}")
    with pytest.raises(UnavailableError, match=nobody.brokers):
        await describe_topics(nobody, [fresh])
    with pytest.raises(UnavailableError):
        await send_values(nobody, fresh, b"value")


async def test_what_the_brokers_refuse_for_its_size_disturbs_nothing_around_it(kafka, fresh):
    await create_topics(kafka, [Topic(fresh, 1, 1, {"max.message.bytes": "100000"})])
    sent = await send_values(kafka, fresh, b"1", bytes(200_000), b"2", bytes(100 << 20), b"3", partition=0)
    assert [one.refusal is None for one in sent] == [True, False, True, False, True]
    assert await values(kafka, fresh) == [b"1", b"2", b"3"]


async def test_asks_for_no_more_records_than_may_be_on_their_way(kafka, fresh):
    await create_topics(kafka, [Topic(fresh, 1, 1)])
    asked, answered, most = 0, 0, 0
    size = 900_000

    async def records():
        nonlocal asked
        for _ in range(100):
            asked += 1
            yield Outgoing(fresh, Record(b"key", bytes(size)))

    async for _ in send(kafka, records()):
        most = max(most, asked - answered)
        answered += 1
    assert answered == 100
    assert most <= IN_FLIGHT_BYTES // size + 2


async def test_keys_and_headers_are_written_and_read_as_they_are(kafka, fresh):
    await create_topics(kafka, [Topic(fresh, 4, 1)])
    headers = (("a", b"1"), ("a", None), ("", b"\xff"))
    written = [Record(b"key", None, headers), Record(b"", b"", ()), Record(None, b"value", ())]

    async def records():
        for record in written:
            yield Outgoing(fresh, record)

    assert all([sent.refusal is None async for sent in send(kafka, records())])
    found = [Record(one.key, one.value, one.headers) async for one, _ in read(kafka, fresh)]
    assert sorted(found, key=repr) == sorted(written, key=repr)


async def test_the_offset_that_a_group_has_committed_counts_once_its_transaction_has_ended(kafka, fresh):
    first, second = TopicPartition(fresh, 0), TopicPartition(fresh, 1)
    await create_topics(kafka, [Topic(fresh, 2, 1)])
    assert await committed_offset(kafka, fresh, first) == -1
    async with AIOKafkaProducer(**client_options(kafka), transactional_id=fresh) as producer:
        for offset in (7, 8):
            await producer.begin_transaction()
            await producer.send_offsets_to_transaction({first: offset}, fresh)
            await producer.commit_transaction()
            assert await committed_offset(kafka, fresh, first) == offset
        assert await committed_offset(kafka, fresh, second) == -1
        await producer.begin_transaction()
        await producer.send_offsets_to_transaction({first: 9}, fresh)
        asked = (ask(kafka, fresh, first) for ask in (committed_offset, check_offsets))
        refused, checked = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(refused, UnavailableError)
        assert checked is None  # a worker may start meanwhile
        await producer.abort_transaction()
        assert await committed_offset(kafka, fresh, first) == 8
