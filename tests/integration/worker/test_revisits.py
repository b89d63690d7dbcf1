"""Pages that are cleaned a second time: once, better, and whatever ends the worker meanwhile."""

import asyncio
import os
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import orjson
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import NewPartitions, RecordsToDelete
from redis.asyncio import Redis

from dehusk.inference.sites import site_of
from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.kafka.options import client_options
from dehusk.streams.sites.revisits import url_key
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.revisits.requests import Request, write_request
from tests.integration.worker.conftest import in_letters
from tests.integration.worker.frozen import FROZEN_SECONDS, freeze, paused, thaw

FIRST = 12
"""Pages of a site that are cleaned again, once so many are known."""
NOTICE = "Subscribe to our weekly letter and never miss a word of what we write about the world."
MORE = "It is sent on each Friday, costs nothing, and you may cancel it whenever you like to do so."
DYING = (sys.executable, Path(__file__).with_name("dying_worker.py"))


@pytest.fixture
async def topic(bench, fresh: str) -> str:
    """The topic of requests of this test alone."""
    name = f"{fresh}-revisits"
    await create_topics(bench.kafka, [Topic(name, partitions=2, replicas=1)])
    return name


@pytest.fixture
def start(bench, topic: str) -> Callable:
    """Starts workers that clean first pages again; one dies at the moment that is told."""
    given = ("--revisit-after", str(FIRST), "--revisit-topic", topic, "--labeler", "onnx", "--source", "html")

    def started(*options: str, dies: str = ""):
        if not dies:
            return bench.worker(*given, *options)
        os.environ["DIES"] = dies
        return bench.worker(*given, *options, program=DYING)

    return started


@pytest.fixture
def crawl(fresh: str) -> Callable[..., list[Record]]:
    """Pages of a site that have a notice in common, which looks like content."""

    def pages(count: int, site: str = "www", text: str = "This") -> list[Record]:
        return [_page(f"https://{site}.{fresh}.example/{number}", number, text) for number in range(count)]

    return pages


def _page(url: str, page: int, text: str) -> Record:
    paragraphs = "".join(
        f"<p>{text} is paragraph {number} of page {page} ({in_letters(page)}), long enough that rules and "
        "models alike take it for the content of the page, and about nothing in particular.</p>"
        for number in range(5)
    )
    html = (
        f"<html><head><title>Page {page}</title></head><body><nav><a href=/>Home</a>"
        f"<a href=/x>{in_letters(page)}</a></nav><main>"
        f"<h1>Page {page}</h1><div class=notice><p>{NOTICE}</p><p>{MORE}</p></div>{paragraphs}</main></body>"
    )
    return Record(url.encode(), html.encode(), (("content-type", b"text/html; charset=utf-8"),))


async def histories(bench) -> dict[bytes, list[dict]]:
    """The documents of each page, from the first to the last."""
    found = defaultdict(list)
    for message in await bench.documents():
        found[message.key].append(None if message.value is None else orjson.loads(message.value))
    return found


def revisited(*workers) -> int:
    """The pages that were cleaned again."""
    return sum(each.metric("dehusk_revisits_total", "outcome").get("published", 0) for each in workers)


def revisions(documents: Sequence[dict]) -> list[int]:
    return [document["revision"] for document in documents]


async def test_the_first_pages_of_a_site_are_cleaned_again_when_it_is_known(bench, start, crawl) -> None:
    worker = start()
    records = crawl(FIRST + 8)
    await bench.produce(records)
    await bench.until_done()
    await bench.until(lambda: revisited(worker) == FIRST)
    await asyncio.sleep(2)
    found = await histories(bench)
    again = [key for key, documents in found.items() if revisions(documents) == [1, 2]]
    assert (len(again), revisited(worker)) == (FIRST, FIRST)
    assert all(revisions(documents) in ([1], [1, 2]) for documents in found.values())
    assert set(found) == {record.key for record in records}
    assert any(NOTICE in found[key][0]["text"] for key in again)
    for key in again:
        first, second = found[key]
        assert NOTICE not in second["text"]
        assert "paragraph 4" in second["text"]
        assert (first["source"], first["degraded"], second["degraded"]) == (second["source"], [], [])
        assert second["template"]["pages_seen"] >= FIRST
    totals = worker.report()["totals"]
    assert (totals["pages"], totals["documents"]) == (len(records), len(records))
    assert not await bench.dead_letters()
    assert worker.stop() == 0


async def requests(bench, topic: str) -> list[bytes | None]:
    """The sites that were asked for."""
    return [message.key for message in await bench.messages(topic)]


async def test_two_workers_clean_each_first_page_again_once(bench, start, crawl, topic) -> None:
    workers = [start(), start()]
    await bench.until(lambda: all(worker.has_partitions() for worker in workers))
    late = 2 * FIRST  # pages from which on first ones are not waited for, as one of the workers may be slow
    sites = [crawl(late - 1, f"site-{number}") for number in range(10)]
    for pages in zip(*sites, strict=True):
        await bench.produce(pages)
    await bench.until_done()
    await bench.until(lambda: revisited(*workers) == len(sites) * FIRST)
    await asyncio.sleep(2)
    found = await histories(bench)
    for records in sites:
        of_site = [revisions(found[record.key]) for record in records]
        assert sorted(of_site) == [[1]] * (FIRST - 1) + [[1, 2]] * FIRST
    assert len(await requests(bench, topic)) == len(set(await requests(bench, topic))) == len(sites)
    assert [worker.stop() for worker in workers] == [0, 0]


@pytest.mark.parametrize(
    "dies",
    [
        "before remember",
        "after remember",
        "before schedule",
        "after take",
        "before settle",
        "after settle",
    ],
)
async def test_a_kill_at_the_worst_moment_costs_no_second_cleaning(bench, start, crawl, topic, dies) -> None:
    records = crawl(FIRST + 8)
    dying = start(dies=dies)
    await bench.until(dying.has_partitions)
    for record in records:
        await bench.produce([record])
    await bench.until(lambda: not dying.is_alive())
    assert dying.process.wait() == -signal.SIGKILL
    other = start()
    await bench.until(other.has_partitions)
    await bench.until_done()

    async def last() -> list[dict]:
        found = await histories(bench)
        return [found[record.key][-1] for record in records]

    await until(bench, last, lambda documents: not any(NOTICE in each["text"] for each in documents))
    await asyncio.sleep(2)
    found = await histories(bench)
    assert set(found) == {record.key for record in records}
    again = [revisions(documents).count(2) for documents in found.values()]
    if dies != "before remember":
        assert sum(count > 0 for count in again) == FIRST
    assert max(again) <= (2 if dies == "before settle" else 1)
    assert not any(NOTICE in document["text"] for document in await last())
    assert len(await requests(bench, topic)) <= 2
    assert other.stop() == 0


async def until(bench, ask: Callable, condition: Callable) -> None:
    """Wait until what is asked for meets a condition."""
    for _ in range(300):
        if condition(await ask()):
            return
        await asyncio.sleep(0.2)
    pytest.fail(f"still waiting\n{bench.logs()}")


async def test_what_the_topic_has_no_more_is_counted_and_keeps_its_document(
    bench, start, crawl, admin
) -> None:
    records, gone = crawl(2 * FIRST), FIRST - 1
    worker = start()
    await bench.produce(records[:gone])
    await bench.until_done()
    await delete_all(bench, admin)
    await bench.produce(records[gone:])
    await bench.until_done()
    await bench.until(lambda: revisited(worker) == FIRST - gone)
    assert +Counter(worker.metric("dehusk_revisits_total", "outcome")) == {
        "published": FIRST - gone,
        "expired": gone,
    }
    found = await histories(bench)
    assert [revisions(found[record.key]) for record in records[:gone]] == [[1]] * gone
    assert not await bench.dead_letters()


async def delete_all(bench, admin) -> None:
    """Delete all messages of the input topic, as its retention would."""
    async with AIOKafkaConsumer(**client_options(bench.kafka)) as consumer:
        ends = await consumer.end_offsets([TopicPartition(bench.topics.input, number) for number in range(4)])
    await admin.delete_records({each: RecordsToDelete(before_offset=end) for each, end in ends.items()})


async def test_newer_versions_and_tombstones_are_never_covered_by_older_documents(
    bench, start, crawl
) -> None:
    records, newer = crawl(FIRST), crawl(3, text="That")
    dying = start(dies="after take")
    await bench.produce(records[:-1])
    await bench.until_done()
    await bench.produce(newer[:1])
    await bench.until_done()
    await bench.produce(records[-1:])
    await bench.until(lambda: not dying.is_alive())
    await bench.produce([newer[1], Record(records[2].key, None)])
    worker = start()
    await bench.until_done()
    await bench.until(lambda: revisited(worker) >= FIRST)
    await asyncio.sleep(2)
    found = await histories(bench)
    last = [found[record.key][-1] for record in records]
    assert last[2] is None
    assert ["That is" in each["text"] for each in (*last[:2], *last[3:])] == [True, True] + [False] * 9
    assert last[0]["revision"] == 2


async def test_newer_versions_that_redis_was_not_told_of_are_covered_by_no_older_documents(
    bench, start, crawl, stack
) -> None:
    records, newer, redis = crawl(FIRST), crawl(2, text="That"), stack.services["redis"]
    worker = start("--redis-seconds", "0.5")
    await bench.produce(records[:-1])
    await bench.until_done()
    async with paused(redis):
        await bench.until(lambda: "redis" in worker.report()["unavailable"])
        await bench.produce([*newer, Record(records[2].key, None)])
        await bench.until_done()
    await bench.until(lambda: not worker.report()["unavailable"])
    await bench.produce(records[-1:])
    await bench.until_done()
    await bench.until(lambda: revisited(worker) >= FIRST)
    await asyncio.sleep(2)
    found = await histories(bench)
    last = [found[record.key][-1] for record in records]
    assert last[2] is None
    assert ["That is" in each["text"] for each in (*last[:2], *last[3:])] == [True, True] + [False] * 9


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
async def test_a_worker_that_wakes_in_second_cleanings_replaces_no_newer_document(
    bench, start, crawl, delivery
) -> None:
    sites = range(20)
    older = [record for number in sites for record in crawl(2 * FIRST, f"site-{number}")]
    newer = [record for number in sites for record in crawl(2 * FIRST, f"site-{number}", text="That")]
    newer[::7] = [Record(record.key, None) for record in newer[::7]]
    frozen = start("--delivery", delivery)
    await bench.until(frozen.has_partitions)
    await bench.produce(older)
    await bench.until(lambda: revisited(frozen) > 0)
    freeze(frozen)
    await bench.produce(newer)
    other = start("--delivery", delivery)
    await asyncio.sleep(FROZEN_SECONDS)
    await bench.until_done()
    thaw(frozen)
    await bench.until(lambda: frozen.log.read_text().count("waits for its partitions") > 1)
    await bench.until(frozen.is_ready)
    await bench.produce([_page("https://last.example/", 1, "This")])
    await bench.until_done()
    messages = await bench.messages(bench.topics.input)
    newest = {message.key: (message.offset, message.value) for message in messages}

    async def outdated() -> list[bytes]:
        found = await histories(bench)
        return [
            key
            for key, (offset, value) in newest.items()
            if (last := found[key][-1]) is not None and (value is None or last["source"]["offset"] != offset)
        ]

    await until(bench, outdated, lambda keys: not keys)
    await asyncio.sleep(5)
    assert await outdated() == []
    assert revisited(frozen, other) >= len(sites)


async def test_requests_in_partitions_that_the_topic_has_grown_by_are_read(
    bench, start, crawl, topic, admin
) -> None:
    worker, records = start(), crawl(FIRST - 1)
    await bench.produce(records)
    await bench.until_done()
    await admin.create_partitions({topic: NewPartitions(4)})
    asked = write_request(Request(site_of((records[0].key or b"").decode())), bench.topics.group)
    async with AIOKafkaProducer(**client_options(bench.kafka)) as producer:
        await producer.send_and_wait(topic, asked.value, asked.key, partition=3)
    await bench.until(lambda: revisited(worker) == FIRST - 1)


async def test_pages_that_redis_did_not_count_are_not_cleaned_again(bench, start, crawl, stack) -> None:
    records, redis = crawl(3 * FIRST), stack.services["redis"]
    worker = start()
    await bench.until(worker.has_partitions)
    await asyncio.to_thread(redis.stop)
    try:
        await bench.produce(records[:FIRST])
        await bench.until_done()
    finally:
        await asyncio.to_thread(redis.start)
    await bench.until(lambda: not worker.report()["unavailable"])
    await bench.produce(records[FIRST:])
    await bench.until_done()
    await bench.until(lambda: revisited(worker) == FIRST)
    found = await histories(bench)
    assert [revisions(found[record.key]) for record in records[:FIRST]] == [[1]] * FIRST
    assert not any(each[-1]["degraded"] for each in found.values() if each[-1]["revision"] == 2)


async def test_second_cleanings_wait_for_redis(bench, start, crawl, stack) -> None:
    records, redis = crawl(FIRST), stack.services["redis"]
    dying = start(dies="after take")
    await bench.until(dying.has_partitions)
    await bench.produce(records)
    await bench.until(lambda: not dying.is_alive())
    async with paused(redis):
        worker = start("--redis-seconds", "0.5")
        await bench.until_done()
        await asyncio.sleep(3)
        assert {document["revision"] for each in (await histories(bench)).values() for document in each} == {
            1
        }
    await bench.until(lambda: revisited(worker) == FIRST)
    seconds = [documents[-1] for documents in (await histories(bench)).values()]
    assert [(document["revision"], document["degraded"]) for document in seconds] == [(2, [])] * FIRST


async def test_without_the_option_nothing_is_kept(bench, crawl, stack, topic) -> None:
    bench.worker("--labeler", "onnx", "--source", "html")
    records = crawl(2 * FIRST)
    await bench.produce(records)
    await bench.until_done()
    assert [revisions(documents) for documents in (await histories(bench)).values()] == [[1]] * len(records)
    async with Redis.from_url(stack.addresses.redis) as redis:
        assert not await redis.keys(f"dehusk:revisits:*:{url_key(bench.topics.group).hex()}")


async def test_a_topic_of_requests_that_is_missing_is_said(bench, fresh) -> None:
    worker = bench.worker("--revisit-after", "5", "--revisit-topic", f"{fresh}-absent")
    assert await asyncio.to_thread(worker.process.wait) == 1
    assert worker.says(f"--create --topic {fresh}-absent --partitions 4")


async def test_a_topic_of_requests_that_is_deleted_holds_no_commit_up(
    bench, start, topic, admin, stack
) -> None:
    worker = start()
    await bench.until(worker.has_partitions)
    async with paused(stack.services["redis"]):
        await bench.produce_to(topic, [write_request(Request("a.example"), bench.topics.group)])
        await asyncio.sleep(4)  # it is handled, and waits for Redis
        await admin.delete_topics([topic])
    await bench.until(lambda: worker.says("could not be committed: their partitions have gone"))
    assert worker.stop() == 0
