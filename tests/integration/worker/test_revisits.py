"""Pages that are cleaned a second time: once, better, and whatever ends the worker meanwhile."""

import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import orjson
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.structs import OffsetAndMetadata

from schemas.pages import Message
from streams.kafka import Topic, client_options, create_topics
from streams.sources.source import Record

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
    """Starts workers that clean first pages again."""
    given = ("--revisit-after", str(FIRST), "--revisit-topic", topic, "--labeler", "onnx", "--source", "html")
    return partial(bench.worker, *given)


@pytest.fixture
def crawl(fresh: str) -> Callable[..., list[Record]]:
    """Pages of a site that have a notice in common, which looks like content."""

    def pages(count: int, site: str = "www", text: str = "This") -> list[Record]:
        return [_page(f"https://{site}.{fresh}.example/{number}", number, text) for number in range(count)]

    return pages


def _page(url: str, page: int, text: str) -> Record:
    paragraphs = "".join(
        f"<p>{text} is paragraph {number} of page {page}, long enough that rules and models alike take it for "
        "the content of the page, and about nothing in particular.</p>"
        for number in range(5)
    )
    html = (
        f"<html><head><title>Page {page}</title></head><body><nav><a href=/>Home</a></nav><main>"
        f"<h1>Page {page}</h1><div class=notice><p>{NOTICE}</p><p>{MORE}</p></div>{paragraphs}</main></body></html>"
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
