"""Topics that change while a worker runs: partitions that are added, messages and topics that are removed."""

import asyncio
import signal
from dataclasses import replace

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import NewPartitions
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.admin.records_to_delete import RecordsToDelete

from dehusk.streams.kafka.client import Topic, create_topics
from tests.integration.conftest import topics_of
from tests.integration.worker.frozen import paused


async def keys(bench) -> set[bytes | None]:
    return {message.key for message in await bench.documents()}


async def remove_all_messages(bench, admin) -> None:
    """As retention does."""
    to_the_end = RecordsToDelete(-1)
    await admin.delete_records(
        {TopicPartition(bench.topics.input, number): to_the_end for number in range(4)}
    )


async def test_partitions_that_are_added_are_read(bench, site, admin) -> None:
    worker = bench.worker()
    await bench.until(lambda: worker.says("reads 4 partitions"))
    await admin.create_partitions({bench.topics.input: NewPartitions(total_count=6)})
    records = site(100)
    await bench.produce(records)
    await bench.until(lambda: worker.says("reads 6 partitions"))
    await bench.until_done()
    assert await keys(bench) == {record.key for record in records}


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
async def test_messages_removed_before_a_worker_starts_are_counted(bench, site, admin, delivery: str) -> None:
    records = site(300)
    worker = bench.worker("--delivery", delivery)
    await bench.produce(records[:100])
    await bench.until_done()
    assert worker.stop() == 0
    await bench.produce(records[100:200])
    await remove_all_messages(bench, admin)
    worker.start()
    await bench.until(worker.has_partitions)
    await bench.until(lambda: worker.counter("dehusk_messages_removed_total") == 100)
    await bench.produce(records[200:])
    await bench.until_done()
    assert worker.says("before they were read")
    assert not worker.says("Traceback")
    assert await keys(bench) == {record.key for record in [*records[:100], *records[200:]]}
    worker.stop()
    assert await bench.left() == 0


async def test_messages_removed_while_a_worker_waits_are_counted(bench, site, admin, stack) -> None:
    worker = bench.worker("--labeler", "triton", "--triton-seconds", "2")
    padding = b"<!--%s-->" % (b" " * 24_000)  # more than the worker reads ahead, all together
    records = [replace(record, value=record.value + padding) for record in site(3_000)]
    await bench.produce(records[:100])
    await bench.until_done()
    triton = stack.services["triton"]
    async with paused(triton):
        await bench.produce(records[100:])
        await bench.until(lambda: worker.report()["in_flight"] > 0)
        await asyncio.sleep(5)
        await remove_all_messages(bench, admin)
    await bench.until_done()
    removed = worker.counter("dehusk_messages_removed_total")
    assert removed > 0
    assert len(await bench.documents()) + removed == len(records)


async def test_an_input_topic_that_is_made_again_is_read_from_its_beginning(bench, site, admin) -> None:
    async with asyncio.TaskGroup() as tasks:
        for count, partitions in ((20, 4), (200, 4), (200, 2)):  # fewer messages than before, and more
            for delivery in ("exactly-once", "at-least-once"):
                tasks.create_task(make_again(bench, site(100 + count), admin, delivery, partitions))


async def make_again(bench, records, admin, delivery: str, partitions: int) -> None:
    async with bench.beside(topics_of(f"{bench.topics.group}-{len(records)}-{partitions}-{delivery}")) as own:
        worker = own.worker("--delivery", delivery)
        await own.produce(records[:100])
        await own.until_done()
        await admin.delete_topics([own.topics.input])
        await asyncio.sleep(1)
        await create_topics(own.kafka, [Topic(own.topics.input, partitions, 1)])
        await own.produce(records[100:])
        await own.until(lambda: worker.report()["totals"]["pages"] >= len(records))
        assert await keys(own) == {record.key for record in records}
        assert worker.stop() == 0
        assert await own.left() == 0


async def make_again_while_frozen(bench, worker, records, admin, partitions: int = 4) -> None:
    """Delete and create the input topic, and fill it, while the worker is frozen."""
    worker.process.send_signal(signal.SIGSTOP)
    await admin.delete_topics([bench.topics.input])
    await asyncio.sleep(1)
    await create_topics(bench.kafka, [Topic(bench.topics.input, partitions, 1)])
    await bench.produce(records)


@pytest.mark.parametrize("partitions", [4, 2])
@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
async def test_an_input_topic_that_is_made_again_as_a_worker_stops_is_read_whole(
    bench, site, admin, delivery: str, partitions: int
) -> None:
    worker = bench.worker("--delivery", delivery)
    records = site(1000)
    await bench.until(worker.has_partitions)
    await asyncio.sleep(4)  # until the worker knows which topic it is
    await bench.produce(records[:500])
    await bench.until(lambda: worker.report()["totals"]["pages"] > 50)
    await make_again_while_frozen(bench, worker, records[500:], admin, partitions)
    worker.process.terminate()
    worker.process.send_signal(signal.SIGCONT)
    assert await asyncio.to_thread(worker.process.wait) == 0
    worker.start()
    await bench.until_done()
    assert {record.key for record in records[500:]} <= await keys(bench)
    assert worker.stop() == 0


async def test_an_input_topic_that_is_made_again_while_a_worker_is_frozen_is_read_whole(
    bench, site, admin
) -> None:
    worker = bench.worker()
    records = site(300)
    await bench.produce(records[:50])
    await bench.until_done()
    await asyncio.sleep(4)  # until the worker knows which topic it is
    await make_again_while_frozen(bench, worker, records[50:], admin)
    worker.process.send_signal(signal.SIGCONT)
    await bench.until(lambda: worker.says("was deleted and created again: it is read from its beginning"))
    await bench.until_done()
    assert await keys(bench) == {record.key for record in records}
    assert worker.stop() == 0
    assert await bench.left() == 0


@pytest.mark.parametrize("which", ["output", "dead_letters"])
async def test_a_topic_that_has_gone_is_named_and_found_again(bench, site, admin, which: str) -> None:
    topic = getattr(bench.topics, which)
    worker = bench.worker("--source", "html")
    records = site(60)
    await bench.produce(records[:20])
    await bench.until_done()
    await bench.until(worker.is_ready)
    await admin.delete_topics([topic])
    await bench.until(lambda: not worker.is_ready())
    assert worker.says(f"--create --topic {topic} --partitions 4")
    broken = replace(records[20], value=b"\x1f\x8b no gzip", headers=(("content-encoding", b"gzip"),))
    await bench.produce([*records[21:], broken])
    await asyncio.sleep(2)
    assert not worker.is_ready()
    await create_topics(bench.kafka, [Topic(topic, 4, 1)])
    await bench.until(worker.is_ready)
    await bench.until_done()
    kept = records[21:] if which == "output" else records[:20] + records[21:]
    assert await keys(bench) == {record.key for record in kept}
    assert [letter.original.key for letter in await bench.dead_letters()] == [broken.key]
    assert worker.stop() == 0


async def test_an_output_topic_that_is_made_again_with_fewer_partitions(bench, site, admin) -> None:
    worker = bench.worker("--delivery", "exactly-once")
    records = site(120)
    await bench.produce(records[:60])
    await bench.until_done()
    await admin.delete_topics([bench.topics.output])
    await asyncio.sleep(1)
    await create_topics(bench.kafka, [Topic(bench.topics.output, 1, 1)])
    await bench.produce(records[60:])
    await bench.until(lambda: worker.says(f"topic {bench.topics.output} has no partition"))
    await bench.until_done()
    assert await keys(bench) == {record.key for record in records[60:]}
    assert worker.stop() == 0


async def test_a_dead_letter_topic_that_is_too_small_is_waited_for(bench, site, admin) -> None:
    async def limit(size: int) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, bench.topics.dead_letters)
        resource.configs = {"max.message.bytes": str(size)}
        await admin.alter_configs([resource])

    worker = bench.worker("--source", "html")
    await bench.until(lambda: worker.has_partitions() and worker.is_ready())
    await limit(100)
    (record,) = site(1)
    broken = replace(record, value=b"\x1f\x8b no gzip", headers=(("content-encoding", b"gzip"),))
    await bench.produce([broken])
    await bench.until(lambda: not worker.is_ready())
    assert worker.says(f"topic {bench.topics.dead_letters} takes not even")
    assert worker.is_alive()
    other = bench.worker("--source", "html")
    assert await asyncio.to_thread(other.process.wait) == 1
    assert other.says("raise its max.message.bytes")
    await limit(1_000_000)
    await bench.until_done()
    await bench.until(worker.is_ready)
    assert [letter.original.key for letter in await bench.dead_letters()] == [broken.key]


async def test_an_input_topic_that_is_deleted_while_it_is_read_is_waited_for(bench, site, admin) -> None:
    records = site(1500)
    worker = bench.worker()
    await bench.until(worker.has_partitions)
    await bench.produce(records[:1200])
    await bench.until(lambda: worker.report()["totals"]["pages"] > 300)
    await admin.delete_topics([bench.topics.input])
    await bench.until(lambda: not worker.is_ready())
    await bench.until(lambda: worker.says(f"--create --topic {bench.topics.input}"))
    await create_topics(bench.kafka, [Topic(bench.topics.input, 4, 1)])
    await bench.until(worker.is_ready)
    await bench.produce(records[1200:])
    fresh = {record.key for record in records[1200:]}
    await bench.until(lambda: worker.report()["in_flight"] == 0 and worker.report()["lag"] == 0)
    await bench.until_done()
    assert fresh <= await keys(bench)
    assert worker.stop() == 0
    assert not worker.says("Traceback")
