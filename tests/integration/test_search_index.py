"""The program of docs/how-to/indexes.md on a real OpenSearch: it keeps the newest document of each page."""

import asyncio
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread

import pytest

from dehusk.streams.settings import KafkaSettings, TopicSettings
from dehusk.streams.sources.source import Record
from tests.documents import BARE, FULL
from tests.integration.conftest import write
from tests.integration.opensearch import OpenSearch, running_opensearch

GUIDE = (Path(__file__).parents[2] / "docs/how-to/indexes.md").read_text()
SECONDS = 60
UNREACHABLE = "ClientConnectorError"


def code(section: str, language: str) -> str:
    """Return the code of a section of the guide."""
    found = re.search(rf"^## {section}\n.*?^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def document(number: int, text: str = "") -> Record:
    url = f"http://x.test/{number}"
    return Record(url.encode(), replace(FULL, id=url, url=url, text=text or f"Page {number}").to_json_bytes())


@dataclass(frozen=True)
class Indexing:
    """The program, which is started again whenever it has ended, and what it said then."""

    command: Sequence[str]
    said: list[str] = field(default_factory=list)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    ended: Event = field(default_factory=Event)

    def keep_running(self) -> None:
        while not self.ended.is_set():
            with subprocess.Popen(self.command, stderr=subprocess.PIPE, text=True) as process:
                self.processes.append(process)
                self.said.append(process.communicate()[1])

    def kill(self) -> None:
        for process in self.processes:
            process.kill()


@pytest.fixture(scope="module")
def opensearch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenSearch]:
    with running_opensearch(tmp_path_factory.mktemp("opensearch")) as running:
        yield running


@pytest.fixture
def pages(opensearch: OpenSearch, fresh: str) -> str:
    """The path of an index with the settings of the guide."""
    opensearch.ask(f"/{fresh}", json.loads(code("The index", "json")), "PUT")
    return f"/{fresh}"


@contextmanager
def indexing(
    opensearch: OpenSearch, pages: str, kafka: KafkaSettings, topics: TopicSettings, folder: Path
) -> Iterator[Indexing]:
    """The running program."""
    program = code("The program", "python")
    for name, value in {
        '"cleaned-documents"': repr(topics.output),
        "kafka:9092": kafka.brokers,
        "search-index": topics.group,
        "http://opensearch:9200": opensearch.url,
        "/pages/": f"{pages}/",
    }.items():
        assert name in program
        program = program.replace(name, value)
    (folder / "index.py").write_text(program)
    running = Indexing([sys.executable, str(folder / "index.py")])
    thread = Thread(target=running.keep_running)
    thread.start()
    try:
        yield running
    finally:
        running.ended.set()
        while thread.is_alive():
            running.kill()
            thread.join(0.1)


def indexed(opensearch: OpenSearch, pages: str) -> dict[str, str]:
    """Return the text of each document of the index, by its URL."""
    opensearch.ask(f"{pages}/_refresh", method="POST")
    found = opensearch.ask(f"{pages}/_search", {"size": 10_000})
    hits = found["hits"]["hits"]
    assert all(hit["_id"] == sha256(hit["_source"]["url"].encode()).hexdigest() for hit in hits)
    return {hit["_source"]["url"]: hit["_source"]["text"] for hit in hits}


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something, for a while."""
    for _ in range(4 * SECONDS):
        with suppress(OSError):
            if is_so():
                return
        await asyncio.sleep(0.25)


async def wait_for(opensearch: OpenSearch, pages: str, expected: dict[str, str]) -> None:
    """Wait until the index holds what is expected."""
    await until(lambda: indexed(opensearch, pages) == expected)
    assert indexed(opensearch, pages) == expected


async def test_documents_of_all_kinds_are_found_and_pages_that_are_gone_are_not(
    kafka, topics, opensearch, pages, tmp_path
):
    long = "http://x.test/" + "long/" * 6000
    english = replace(FULL, language="en", headline="Replication", text="Replication slots keep the log.")
    written = [
        replace(BARE, url="http://x.test/bare"),
        replace(FULL, url=long, text="word " * 50_000, content_hash="1" * 32),
        replace(english, url="http://x.test/", content_hash="2" * 32),
        replace(english, url="http://x.test/?copy", content_hash="2" * 32),
        replace(FULL, url="http://x.test/de"),
    ]
    left = replace(BARE, url="http://x.test/gone")
    gone = [Record(left.url.encode(), None), Record(b"http://x.test/never", None)]
    records = [Record(each.url.encode(), each.to_json_bytes()) for each in written]
    await write(kafka, topics.output, Record(left.url.encode(), left.to_json_bytes()), *records, *gone)
    with indexing(opensearch, pages, kafka, topics, tmp_path) as running:
        await wait_for(opensearch, pages, {each.url: each.text for each in written})
    assert len(running.said) == 1  # it was stopped, and had not ended before
    answer = opensearch.ask(f"{pages}/_search", json.loads(code("Searching", "json")))
    (hit,) = answer["hits"]["hits"]
    assert hit["_source"] in [{"url": each.url, "headline": "Replication"} for each in written[2:4]]


async def test_the_newest_document_stays_whatever_ends_the_program_or_the_index(
    kafka, topics, opensearch, pages, tmp_path
):
    chosen = random.Random(1)
    newest: dict[str, str] = {}
    with indexing(opensearch, pages, kafka, topics, tmp_path) as running:
        for version in range(8):
            numbers = chosen.sample(range(60), 30)
            records = [
                Record(f"http://x.test/{number}".encode(), None)
                if chosen.random() < 0.2
                else document(number, f"version {version}")
                for number in numbers
            ]
            if version == 4:
                await asyncio.to_thread(opensearch.service.kill)  # first, so that these records meet it
            await write(kafka, topics.output, *records)
            for record in records:
                if record.value is None:
                    newest.pop(record.key.decode(), None)
                else:
                    newest[record.key.decode()] = f"version {version}"
            await asyncio.sleep(chosen.random())
            if version == 4:
                await until(lambda: any(UNREACHABLE in said for said in running.said))
                await asyncio.to_thread(opensearch.service.start)
            elif version in {1, 6}:
                running.kill()
        await wait_for(opensearch, pages, newest)
    assert any(UNREACHABLE in said for said in running.said)


async def test_what_was_read_before_replaces_no_newer_document(kafka, topics, opensearch, pages, tmp_path):
    await write(kafka, topics.output, document(1, "older"), document(1, "newer"), partition=0)
    place = f"{pages}/_doc/{sha256(b'http://x.test/1').hexdigest()}"
    with indexing(opensearch, pages, kafka, topics, tmp_path):
        await wait_for(opensearch, pages, {"http://x.test/1": "newer"})
        again = f"{place}?version=0&version_type=external_gte"
        with pytest.raises(OSError, match="409"):
            opensearch.ask(again, {"url": "http://x.test/1", "text": "older"}, "PUT")


async def test_a_document_that_the_index_refuses_ends_the_program_which_says_why(
    kafka, topics, opensearch, pages, tmp_path
):
    refused = Record(b"http://x.test/", b'{"url":"http://x.test/","text":"","fetched_at":"yesterday"}')
    await write(kafka, topics.output, refused)
    with indexing(opensearch, pages, kafka, topics, tmp_path) as running:
        await until(lambda: len(running.said) > 1)
    for said in running.said[:2]:
        assert re.search(r"^http://x\.test/: .*failed to parse field \[fetched_at\]", said, re.MULTILINE)
