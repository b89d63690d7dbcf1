"""A group of workers that share their figures on a topic."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

import aiohttp
import orjson
import pytest

from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.source import Record

from .conftest import Bench, Worker


@pytest.fixture
async def figures(kafka: KafkaSettings, fresh: str) -> str:
    """The topic of the figures."""
    name = f"{fresh}-figures"
    await create_topics(kafka, [Topic(name, 1, 1, {"cleanup.policy": "compact,delete"})])
    return name


async def events(worker: Worker, of: str) -> AsyncIterator[dict[str, Any]]:
    """Return the events that its page is told: a history, then states."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{worker.monitoring}events?of={quote(of)}") as answer,
    ):
        while True:
            text = await answer.content.readuntil(b"\n\n")
            yield orjson.loads(text.partition(b"\ndata: ")[2])


async def points(worker: Worker, of: str) -> list[dict[str, Any]]:
    """The history, told a second ago."""
    async with aclosing(events(worker, of)) as told:
        history = await anext(told)
        for _ in range(2):
            await anext(told)
        return history["points"]


async def shown(worker: Worker, workers: int, documents: int, of: str = "group") -> dict[str, Any]:
    """The state, once so many workers and documents are shown."""
    async with aclosing(events(worker, of)) as told:
        await anext(told)
        async for state in told:
            running = [row for row in state["group"]["workers"] if row["gone_since"] is None]
            done = state["state"]["counts"]["totals"]["documents"]
            if (state["of"], len(running), done) == (of, workers, documents):
                return state
    raise AssertionError


async def examples(worker: Worker, of: str = "group") -> list[tuple[str, str, int]]:
    """Return the name, and the URL and offset of each example of a page that is no HTML, once shown."""
    async with aclosing(events(worker, of)) as told:
        async for state in told:
            found = state.get("skipped", {}).get("not-html")
            if state["of"] == of and found and found["latest"]:
                return [(state["of"], each["url"], each["source"]["offset"]) for each in found["latest"]]
    raise AssertionError


def own(state: dict[str, Any]) -> str:
    return str(state["own"])


async def test_each_page_shows_the_group_and_a_restart_loses_nothing(bench: Bench, site, figures) -> None:
    one, other = (bench.worker("--monitoring-topic", figures) for _ in range(2))
    await bench.until(lambda: one.has_partitions() and other.has_partitions())
    await bench.produce(site(300))
    await bench.until_done()
    documents = len(await bench.documents())
    for worker in (one, other):
        state = await shown(worker, 2, documents)
        assert sum(row["partitions"] for row in state["group"]["workers"]) == 4
        assert len(state["state"]["partitions"]) == 4
    name = own(state)
    alone = await shown(one, 2, other.report()["totals"]["documents"], name)
    assert alone["skipped"] == {}
    assert other.stop() == 0
    await shown(one, 1, documents)
    assert one.stop() == 0
    restarted = bench.worker("--monitoring-topic", figures)
    await bench.until(restarted.has_partitions)
    state = await shown(restarted, 1, documents)
    before: list[dict[str, Any]] = []
    while not before:  # until the ten seconds in which the others worked are over
        before = [point for point in await points(restarted, "group") if point["steps"]]
    assert not any(point["steps"] for point in await points(restarted, own(state)))
    assert restarted.report()["totals"]["documents"] == 0


async def test_killed_workers_are_gone_and_what_they_did_stays(
    bench: Bench, site, fresh: str, figures
) -> None:
    url = f"https://{fresh}.example/pdf"
    one = bench.worker("--monitoring-topic", figures)
    pdf = Record(url.encode(), b"%PDF-1.4\n%\xe2", (("content-type", b"text/html"),))
    await bench.produce([pdf, *site(5)])
    await bench.until_done()
    name = own(await shown(one, 1, 5))
    other = bench.worker("--monitoring-topic", figures)
    await bench.until(other.has_partitions)
    for of in ("group", name):
        assert await examples(other, of) == [(of, url, 0)]
    assert other.report()["skipped"] == {}
    for worker in (one, other):
        worker.kill()
    restarted = bench.worker("--monitoring-topic", figures)
    await bench.until(restarted.has_partitions)
    state = await shown(restarted, 1, 5)
    gone = {row["worker"]: row["gone_since"] for row in state["group"]["workers"] if row["gone_since"]}
    assert len(gone) == 2
    assert name in gone
    assert own(state) not in gone
    assert max(gone.values()) < state["point"]["time"]
    assert await examples(restarted) == [("group", url, 0)]
    assert restarted.report()["skipped"] == {}
    await bench.produce([Record(url.encode(), b"%PDF-1.5\n%\xe2", (("content-type", b"text/html"),))])
    await bench.until_done()
    late = bench.worker("--monitoring-topic", figures)
    await bench.until(late.has_partitions)
    while len(found := await examples(late)) < 2:
        pass
    pdfs = [each.offset for each in await bench.messages(bench.topics.input) if each.key == url.encode()]
    assert [offset for _, _, offset in found] == pdfs


async def test_what_others_write_on_the_topic_is_left_out(bench: Bench, site, figures) -> None:
    strangers = [Record(b"key", b"value"), Record(b'["g"]', b"{}"), Record(b'["other","w"]', None)]
    worker = bench.worker("--monitoring-topic", figures)
    await bench.until(worker.has_partitions)
    await bench.produce_to(figures, strangers)
    await shown(worker, 1, 0)
    await bench.until(lambda: worker.says("that are no figures of workers"))
    await bench.produce(site(5))
    await shown(worker, 1, 5)
    assert worker.log.read_text().count("that are no figures of workers") == 1


async def test_without_kafka_the_page_shows_the_worker_alone(bench: Bench, figures) -> None:
    worker = bench.worker("--monitoring-topic", figures)
    await bench.until(worker.has_partitions)
    before = await shown(worker, 1, 0)
    kafka = bench.stack.services["kafka-1"]
    kafka.kill()
    try:
        async with aclosing(events(worker, "group")) as told:
            async for event in told:
                if event.get("group") and event["group"]["silent_since"]:
                    break
        assert event["of"] == own(before)
    finally:
        kafka.start()
    after = await shown(worker, 1, 0)
    assert after["group"]["silent_since"] is None
