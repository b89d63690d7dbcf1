"""Topics of a worker: batches of any codec, committed transactions alone, several topics or a pattern."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import islice

import orjson
from aiokafka import AIOKafkaProducer

from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.kafka.options import client_options
from dehusk.streams.kafka.producer import Outgoing, send
from dehusk.streams.sources.source import Record


async def produce(bench, topic: str, records: Sequence[Record], compression="none") -> None:
    async def outgoing():
        for record in records:
            yield Outgoing(topic, record)

    assert all([sent.refusal is None async for sent in send(bench.kafka, outgoing(), compression)])


async def begun(bench, resources: AsyncExitStack, name: str, records: Sequence[Record]) -> AIOKafkaProducer:
    """A producer with an open transaction that holds the records, spread over all partitions."""
    producer = AIOKafkaProducer(
        **client_options(bench.kafka), transactional_id=f"{bench.topics.group}-{name}"
    )
    await resources.enter_async_context(producer)
    await producer.begin_transaction()
    for number, record in enumerate(records):
        await producer.send_and_wait(bench.topics.input, record.value, record.key, number % 4)
    return producer


def pages(worker) -> int:
    return worker.report()["totals"]["pages"]


def lag(worker) -> int | None:
    return worker.report()["lag"]


async def keys(bench) -> list[bytes | None]:
    return sorted(message.key or b"" for message in await bench.documents())


async def topics_of_documents(bench) -> dict[bytes | None, str]:
    """Return the topic that each page came from, by its key."""
    documents = await bench.documents()
    return {document.key: orjson.loads(document.value)["source"]["topic"] for document in documents}


async def test_batches_of_all_codecs_are_read_and_written(bench, site) -> None:
    records = site(50)
    for number, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        await produce(bench, bench.topics.input, records[number * 10 : number * 10 + 10], codec)
    bench.worker("--compression", "zstd")
    await bench.until_done()
    assert await keys(bench) == sorted(record.key for record in records)


async def test_what_was_aborted_is_not_cleaned_and_what_is_open_waits(bench, site) -> None:
    records = site(70)
    worker = bench.worker()
    async with AsyncExitStack() as resources:
        await bench.produce(records[:10])
        committed = await begun(bench, resources, "committed", records[10:20])
        aborted = await begun(bench, resources, "aborted", records[20:30])
        await committed.commit_transaction()
        await aborted.abort_transaction()
        await bench.until(lambda: worker.has_partitions() and pages(worker) == 20)

        held = await begun(bench, resources, "open", records[30:40])
        await bench.produce(records[40:60])
        await asyncio.sleep(3)
        await bench.until(lambda: lag(worker) == 0)
        assert await keys(bench) == sorted(record.key for record in records[:20])
        await held.commit_transaction()
        await bench.until(lambda: pages(worker) == 50)

        last = await begun(bench, resources, "last", records[60:70])
        await last.abort_transaction()
        await asyncio.sleep(3)
        await bench.until(lambda: lag(worker) == 0)
    assert worker.stop() == 0
    assert await keys(bench) == sorted(record.key for record in [*records[:20], *records[30:60]])


async def test_after_a_restart_nothing_that_was_cleaned_comes_again(bench, site) -> None:
    records = site(40)
    worker = bench.worker()
    async with AsyncExitStack() as resources:
        for start in range(0, 40, 10):
            producer = await begun(bench, resources, f"{start}", records[start : start + 10])
            await (producer.abort_transaction() if start % 20 else producer.commit_transaction())
        await bench.until(lambda: worker.has_partitions() and pages(worker) == 20)
    await bench.until(lambda: lag(worker) == 0)
    assert worker.stop() == 0
    again = bench.worker()
    await bench.until(lambda: again.has_partitions() and lag(again) == 0)
    await bench.produce(site(41)[40:])
    await bench.until(lambda: pages(again) == 1)
    assert len(await keys(bench)) == 21


async def test_several_topics_are_read_by_their_names(bench, site, fresh) -> None:
    first, second = f"{fresh}-a", f"{fresh}-b"
    await create_topics(bench.kafka, [Topic(first, 2, 1), Topic(second, 3, 1)])
    records = site(40)
    bench.topics = replace(bench.topics, input=f"{first},{second}")
    worker = bench.worker()
    await produce(bench, first, records[:20])
    await produce(bench, second, records[20:])
    await bench.until(lambda: worker.has_partitions() and pages(worker) == 40)
    assert worker.says(f"reads 5 partitions of {first}, {second}")
    await bench.until(lambda: lag(worker) == 0)
    assert worker.stop() == 0
    assert await topics_of_documents(bench) == {
        record.key: first if number < 20 else second for number, record in enumerate(records)
    }


async def test_topics_that_begin_to_match_a_pattern_are_read_too(bench, endless_site, fresh) -> None:
    first, later = f"{fresh}-crawl-a", f"{fresh}-crawl-b"
    await create_topics(bench.kafka, [Topic(first, 4, 1), Topic(f"my-{fresh}-crawl-", 1, 1)])
    of_later = list(islice(endless_site, 20))
    bench.topics = replace(bench.topics, input=f"^{fresh}-crawl-")
    workers = [bench.worker(), bench.worker()]
    await bench.until(lambda: all(worker.has_partitions() for worker in workers))
    async with bench.crawling(endless_site, at_once=10, pause=0.1, topic=first) as of_first:
        await create_topics(bench.kafka, [Topic(later, 4, 1)])
        await produce(bench, later, of_later)
        await bench.until(lambda: all(worker.says(f" of {first}, {later}") for worker in workers))
    await bench.until(lambda: sum(map(pages, workers)) >= len(of_later) + len(of_first))
    await bench.until(lambda: all(lag(worker) == 0 for worker in workers))
    assert [worker.stop() for worker in workers] == [0, 0]
    assert await topics_of_documents(bench) == {
        **{record.key: later for record in of_later},
        **{record.key: first for record in of_first},
    }


async def test_a_topic_that_is_deleted_while_it_is_read_keeps_no_other_from_being_read(
    bench, site, fresh, admin
) -> None:
    deleted, kept = f"{fresh}-crawl-a", f"{fresh}-crawl-b"
    await create_topics(bench.kafka, [Topic(deleted, 2, 1), Topic(kept, 2, 1)])
    bench.topics = replace(bench.topics, input=f"^{fresh}-crawl-")
    worker = bench.worker()
    await bench.until(worker.has_partitions)
    records = site(3000)
    await produce(bench, deleted, records[100:])
    await bench.until(worker.is_busy)
    await admin.delete_topics([deleted])
    await produce(bench, kept, records[:100])
    await bench.until(lambda: worker.says(f"reads 2 partitions of {kept}"))
    bench.topics = replace(bench.topics, input=kept)
    await bench.until_done()
    assert worker.stop() == 0
    assert await bench.dead_letters() == []
    topics = await topics_of_documents(bench)
    assert {topics.get(record.key) for record in records[:100]} == {kept}, bench.logs()
