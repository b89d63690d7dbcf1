"""`dehusk label --unsure`: pages of unsure documents, from the real Kafka."""

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import RecordsToDelete

from dehusk.schemas.pages import RawPage
from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.kafka.options import client_options
from dehusk.streams.settings import KafkaSettings, TopicSettings
from dehusk.streams.sources.registry import SourceSettings, open_crawler_format
from tests.commands import DEHUSK

COMMAND = [DEHUSK, "label", "--labeler", "rules"]


class Crawl:
    """A crawl's raw pages, on one partition, and what workers say of them on an unsure topic."""

    def __init__(self, kafka: KafkaSettings, producer: AIOKafkaProducer, topic: str, unsure: str) -> None:
        self.kafka, self.producer, self.topic, self.unsure = kafka, producer, topic, unsure

    async def page(self, name: str, expected_f1: float | None, crawler: str = "html") -> None:
        """Write a page, and its document if this is expected of it."""
        page = RawPage(f"http://x.test/{name}", f"<title>{name}</title><p>Text of {name}.".encode())
        record = open_crawler_format(crawler, SourceSettings()).encode(page)
        headers = list(record.headers)
        at = await self.producer.send_and_wait(
            self.topic, record.value, record.key, partition=0, headers=headers
        )
        if expected_f1 is not None:
            await self.document(name, expected_f1, at.offset)

    async def document(self, name: str, expected_f1: float, offset: int) -> None:
        """Write a document of a page, read from an offset."""
        source = {"topic": self.topic, "partition": 0, "offset": offset}
        document = {"url": f"http://x.test/{name}", "text": "x", "expected_f1": expected_f1, "source": source}
        value = json.dumps(document).encode()
        await self.producer.send_and_wait(self.unsure, value, f"http://x.test/{name}".encode())

    def command(self, *words: str) -> list[str]:
        """The command that labels what is unsure."""
        return [*COMMAND, "--unsure", "--unsure-topic", self.unsure, "--brokers", self.kafka.brokers, *words]


@pytest.fixture
async def crawl(kafka: KafkaSettings, topics: TopicSettings, fresh: str) -> AsyncIterator[Crawl]:
    unsure = f"{fresh}-unsure"
    await create_topics(kafka, [Topic(unsure, partitions=2, replicas=1)])
    async with AIOKafkaProducer(**client_options(kafka)) as producer:
        yield Crawl(kafka, producer, topics.input, unsure)


@asynccontextmanager
async def labeling(
    crawl: Crawl, labels: Path, *words: str, told: str = ""
) -> AsyncIterator[tuple[list[dict[str, Any]], aiohttp.ClientSession]]:
    """The pages that the tool offers, and a client of it; it ends by Ctrl-C, and has told no more."""
    process = await asyncio.create_subprocess_exec(
        *crawl.command("--labels", str(labels), *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        address = (await process.stdout.readline()).decode().split(" ", 1)[0]
        async with aiohttp.ClientSession(address) as client:
            async with client.get("/") as answer:
                embedded = re.search(r'<script[^>]*id="overview"[^>]*>(.*?)</script>', await answer.text())
            assert embedded is not None
            yield json.loads(embedded[1])["pages"], client
        process.send_signal(signal.SIGINT)
        _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert (process.returncode, said.decode()) == (0, told)


def names(pages: Sequence[dict[str, Any]]) -> list[str]:
    return [page["title"] for page in pages]


async def test_the_least_sure_pages_come_first_and_are_labeled(crawl: Crawl, tmp_path: Path) -> None:
    for name, expected in (("a", 0.6), ("b", 0.2), ("sure", None), ("c", 0.4), ("d", 0.5)):
        await crawl.page(name, expected)
    await crawl.page("b", 0.55)  # its newest document counts
    await crawl.page("e", 0.1, "scrapy-cluster")
    labels = tmp_path / "labels.jsonl"
    async with labeling(crawl, labels) as (pages, client):
        assert names(pages) == ["e", "c", "d", "b", "a"]
        async with client.get("/pages/1") as answer:
            page = await answer.json()
        assert [block["text"] for block in page["blocks"]] == ["Text of c."]
        sent = {"labels": [1], "revision": page["revision"]}
        async with client.post("/pages/1/labels", json=sent) as answer:
            assert (await answer.json())["state"] == "labeled"
    assert json.loads(labels.read_text())["id"] == "http://x.test/c"
    async with labeling(crawl, labels, "--limit", "2") as (pages, _):
        assert [(page["title"], page["state"]) for page in pages] == [("e", "todo"), ("c", "labeled")]


async def test_pages_that_kafka_holds_no_more_are_left_out(crawl: Crawl, tmp_path: Path, admin) -> None:
    await crawl.page("gone", 0.1)
    await crawl.page("kept", 0.3)
    await crawl.document("another", 0.2, 1)  # as of a topic that was deleted and created again
    await admin.delete_records({TopicPartition(crawl.topic, 0): RecordsToDelete(before_offset=1)})
    told = f"dehusk: 2 pages of {crawl.unsure} left out: Kafka holds no such message\n"
    async with labeling(crawl, tmp_path / "labels.jsonl", told=told) as (pages, _):
        assert names(pages) == ["kept"]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, "{topic} has no pages to label"),
        (b'{"text":"x"}', "{topic}/0/0 does not say where its page is, or how sure its content: "),
    ],
)
async def test_a_topic_without_such_documents_is_an_error(
    crawl: Crawl, tmp_path: Path, value: bytes | None, error: str
) -> None:
    await crawl.producer.send_and_wait(crawl.unsure, value, b"http://x.test/", partition=0)
    process = await asyncio.create_subprocess_exec(
        *crawl.command("--labels", str(tmp_path / "labels.jsonl")), stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    assert process.returncode == 1
    assert said.decode().startswith("dehusk: " + error.format(topic=crawl.unsure))
