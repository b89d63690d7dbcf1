"""Partitions that go to another worker while messages of theirs are in flight."""

import asyncio
import signal
import sys
from itertools import islice
from pathlib import Path

import pytest

from dehusk.streams.kafka.client import Topic, create_topics
from tests.integration.worker.frozen import paused
from tests.integration.worker.test_frozen import newest, of_version, published

LATE_WORKER = (sys.executable, Path(__file__).with_name("late_worker.py"))
PAGES = 40


async def check_the_newest_are_published(bench) -> None:
    assert {key: offsets[-1] for key, offsets in (await published(bench)).items()} == await newest(bench)


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
async def test_a_worker_that_is_stopping_replaces_no_newer_document(bench, site, stack, delivery) -> None:
    options = ("--source", "html", "--delivery", delivery)
    stopping = bench.worker("--labeler", "triton", "--grace-seconds", "70", *options)
    await bench.until(stopping.has_partitions)
    async with paused(stack.services["triton"]):
        await bench.produce(of_version(site, 1)[:PAGES])
        await bench.until(lambda: stopping.report()["in_flight"] > 0)
        await asyncio.sleep(1)
        stopping.process.send_signal(signal.SIGTERM)
        await bench.until(lambda: stopping.says("SIGTERM"))
        other = bench.worker(*options)
        await bench.until(other.has_partitions)
        await bench.produce(of_version(site, 2)[:PAGES])
        await asyncio.sleep(8)
    await asyncio.to_thread(stopping.process.wait)
    await bench.until_done()
    await check_the_newest_are_published(bench)


async def test_a_topic_that_begins_to_match_replaces_no_newer_document(bench, site, stack) -> None:
    """Kafka's client has no partitions then, and Faust would not wait for what is in flight."""
    options = ("--source", "html", "--input", f"^{bench.topics.input}", "--session-seconds", "20")
    first = bench.worker("--labeler", "triton", *options)
    await bench.until(first.has_partitions)
    async with paused(stack.services["triton"]):
        await bench.produce(of_version(site, 1)[:PAGES])
        await bench.until(lambda: first.report()["in_flight"] > 0)
        await asyncio.sleep(1)
        before = first.log.read_text().count("waits for its")
        await create_topics(bench.kafka, [Topic(f"{bench.topics.input}-2", partitions=3, replicas=1)])
        second = bench.worker(*options)
        await bench.until(lambda: first.log.read_text().count("waits for its") > before)
        await bench.until(second.has_partitions)
        await bench.produce(of_version(site, 2)[:PAGES])
        await asyncio.sleep(6)
    await bench.until_done()
    await check_the_newest_are_published(bench)


async def test_offsets_that_come_when_the_next_rebalance_has_begun(bench, endless_site) -> None:
    options = ("--source", "html")
    late = bench.worker(*options, program=LATE_WORKER)
    await bench.until(late.has_partitions)
    async with bench.crawling(endless_site, at_once=4, pause=0.05) as crawled:
        await asyncio.sleep(1)
        bench.worker("--session-seconds", "40", *options)
        await bench.until(lambda: late.says("waits for the next rebalance"))
        bench.worker(*options)
        await bench.until(lambda: late.says("has told the offsets of the rebalance before"))
        more = list(islice(endless_site, 4_000))
        await bench.produce(more)
        await bench.until(lambda: late.says("tells the offsets of this rebalance"))
        await asyncio.sleep(5)
    await bench.until_done()
    assert {message.key for message in await bench.documents()} == {
        record.key for record in [*crawled, *more]
    }
