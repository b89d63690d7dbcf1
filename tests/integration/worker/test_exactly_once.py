"""Exactly-once delivery: readers of committed records see each message's result once, whatever fails."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import orjson
import pytest

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.kafka.client import Topic, create_topics, ensure_topics
from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.local.kafka import KafkaNode, find_java, kafka_jars, kafka_nodes
from dehusk.streams.local.process import Service
from dehusk.streams.local.stack import default_cache
from dehusk.streams.settings import Guarantee, KafkaSettings, TopicSettings
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.preflight import check_topics, check_transactions
from dehusk.streams.worker.steps import transactions
from dehusk.streams.worker_settings import WorkerSettings
from tests.integration.worker.frozen import FROZEN_SECONDS, freeze, thaw

PLAIN = (("content-type", b"text/html"),)
GZIP = (*PLAIN, ("content-encoding", b"gzip"))


async def positions(bench) -> Counter[tuple[int, int]]:
    """Partition and offset of each message that has a document or a dead letter, and how many it has."""
    sources = [orjson.loads(message.value)["source"] for message in await bench.documents()]
    found = Counter((source["partition"], source["offset"]) for source in sources)
    found.update((letter.origin.partition, letter.origin.offset) for letter in await bench.dead_letters())
    return found


async def assert_each_once(bench) -> None:
    messages = await bench.messages(bench.topics.input)
    assert await positions(bench) == {(message.partition, message.offset): 1 for message in messages}


def with_others(pages: Iterator[Record]) -> Iterator[Record]:
    """The pages, some of them broken, and some so large that they are cleaned alone."""
    for number, page in enumerate(pages):
        if number % 50 == 5:
            yield Record(page.key, b"\x1f\x8b\x08 this is no gzip", GZIP)
        elif number % 400 == 20:
            yield Record(page.key, b"<p>" + b"<b>a</b> " * 80_000, PLAIN)
        else:
            yield page


async def test_kills_freezes_and_rebalances_repeat_and_lose_nothing(bench, endless_site, stack) -> None:
    records = with_others(endless_site)
    workers = [bench.worker("--source", "html", "--delivery", "exactly-once") for _ in range(2)]
    await bench.until(lambda: all(worker.has_partitions() for worker in workers))
    await bench.produce(list(islice(records, 400)))
    await bench.until(lambda: any(worker.is_busy() for worker in workers))
    await asyncio.to_thread(stack.services["kafka-1"].kill)
    await asyncio.to_thread(stack.services["kafka-1"].start)
    async with bench.crawling(records, at_once=20, pause=0.5):
        await bench.until(workers[0].is_busy)
        workers[0].kill()
        await bench.until(workers[1].is_busy)
        freeze(workers[1])
        workers[0].start()
        await asyncio.sleep(FROZEN_SECONDS)
        thaw(workers[1])
        await bench.until(workers[0].is_busy)
        workers.append(bench.worker("--source", "html", "--delivery", "exactly-once"))
        await bench.until(workers[2].has_partitions)
        workers[1].kill()
    await bench.until_done()
    await assert_each_once(bench)
    assert [worker.stop() for worker in (workers[0], workers[2])] == [0, 0]


async def test_a_result_that_is_too_large_does_not_end_the_transactions(bench, site, fresh) -> None:
    small = {"max.message.bytes": "100000"}
    bench.topics = replace(bench.topics, output=f"{fresh}-small", dead_letters=f"{fresh}-small-dead")
    names = (bench.topics.output, bench.topics.dead_letters)
    await create_topics(bench.kafka, [Topic(name, 1, 1, small) for name in names])
    quotes = b"<p>" + b'"a" ' * 20_000 + b"</p>"  # JSON writes six bytes for these four
    pages = site(60)
    pages[10] = Record(pages[10].key, quotes, PLAIN)
    pages[20] = Record(pages[20].key, b"\x1f\x8b".ljust(99_800), GZIP)
    bench.worker("--source", "html", "--delivery", "exactly-once")
    await bench.produce(pages)
    await bench.until_done()
    await assert_each_once(bench)
    assert {letter.original.key for letter in await bench.dead_letters()} == {pages[10].key, pages[20].key}


async def test_a_worker_that_is_told_to_stop_leaves_no_transaction_open(bench, site) -> None:
    await bench.produce(site(600))
    worker = bench.worker("--source", "html", "--delivery", "exactly-once")
    await bench.until(lambda: worker.has_partitions() and worker.is_busy())
    assert worker.stop() == 0
    assert len(await bench.documents()) == 600 - await bench.left()


class _Node(KafkaNode):
    """A node that keeps transactions only with two others."""

    def _configuration(self) -> dict[str, object]:
        return KafkaNode._configuration(self) | {"transaction.state.log.replication.factor": 3}


async def test_a_cluster_without_a_coordinator_of_transactions_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(transactions, "START_SECONDS", 5.0)
    port, controller = free_ports(2)
    (plain,) = kafka_nodes([port, controller], tmp_path, find_java(), kafka_jars(default_cache()))
    names = ("name", "number", "port", "voters", "nodes", "cluster", "directory", "java", "jars")
    service = Service(_Node(**{name: getattr(plain, name) for name in names}), tmp_path / "log")
    await asyncio.to_thread(service.start)
    try:
        kafka, topics = KafkaSettings(f"{LOOPBACK}:{port}"), TopicSettings()
        await create_topics(kafka, [Topic(topics.input, 1, 1)])
        await ensure_topics(kafka, topics)
        settings = WorkerSettings(kafka=kafka, topics=topics, delivery=Guarantee.EXACTLY_ONCE)
        with pytest.raises(UnavailableError, match="replication"):
            await check_transactions(settings, await check_topics(settings))
    finally:
        await asyncio.to_thread(service.kill)
