"""dehusk attached to the topic that a crawler has filled."""

import asyncio
import shlex
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from dehusk.streams.demo.summary import read_cleaned, read_crawled, read_dead
from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.local.process import Service
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.local.worker import Monitoring
from dehusk.streams.settings import KafkaSettings, TopicSettings
from tests.commands import DEHUSK
from tests.crawlers.programs import Command, run

_CRAWL_SECONDS = 300.0
_STALL_SECONDS = 60.0


@dataclass(frozen=True)
class Outcome:
    """Output of dehusk for a topic."""

    formats: set[str]
    """As `dehusk probe` recognised them."""
    documents: Mapping[str, int]
    """The URL of every document, and the bytes of the HTML that it was made from."""
    skipped: Mapping[str, int]
    dead_letters: Mapping[str, int]
    undated: int = 0
    """Documents that do not say when their page was fetched."""


@dataclass(frozen=True)
class Attached:
    """dehusk on a topic of one test alone."""

    stack: LocalStack
    topics: TopicSettings
    folder: Path

    @property
    def brokers(self) -> str:
        return self.stack.addresses.kafka

    @property
    def topic(self) -> str:
        return self.topics.input

    def wait_for(self, urls: Collection[str], crawler: Service) -> None:
        """Waits until a crawler that does not end by itself has written the pages of these URLs."""
        deadline = time.monotonic() + _CRAWL_SECONDS
        while missing := set(urls) - self._probed_urls():
            assert crawler.running, crawler.last_words()
            assert time.monotonic() < deadline, f"{missing} are missing; {crawler.last_words()}"

    def clean(self, *options: str) -> Outcome:
        """Clean the topic by the worker that `dehusk probe` suggests."""
        found = self.probe(*options)
        assert len(found["formats"]) == 1
        skipped = self._work(shlex.split(found["worker"])[1:])
        documents, dead_letters = asyncio.run(self._read())
        lengths = {document["url"]: document["raw_length"] for document in documents}
        undated = sum(document["fetched_at"] is None for document in documents)
        return Outcome(set(found["formats"]), lengths, skipped, dead_letters, undated)

    def probe(self, *options: str) -> dict[str, Any]:
        """Return what `dehusk probe` finds on the topic."""
        return orjson.loads(run([DEHUSK, "probe", self.topic, *self._topics(), *options, "--json"]))

    def _probed_urls(self) -> set[str]:
        findings = (finding for message in self.probe()["messages"] for finding in message["findings"])
        return {finding["url"] for finding in findings if finding["verdict"] == "page"}

    def _topics(self) -> list[str]:
        names = ["--output", self.topics.output, "--dead-letters", self.topics.dead_letters]
        return ["--brokers", self.brokers, *names]

    def _work(self, suggested: Sequence[str]) -> dict[str, int]:
        """Runs the worker until it is done with every message, and answers how many it skipped for what."""
        (port,) = free_ports(1)
        monitoring = Monitoring(f"http://{LOOPBACK}:{port}/")
        own = ["--redis", self.stack.addresses.redis, "--labeler", "onnx", "--group", self.topics.group]
        shown = ["--with-blocks", "--monitoring", f"{LOOPBACK}:{port}"]
        program = Command("worker", [DEHUSK, *suggested, *own, *shown], monitoring.is_ready)
        worker = Service(program, self.folder / "worker.log")
        worker.start()
        try:
            _wait_until_done(self._messages(), monitoring)
            return monitoring.skipped()
        finally:
            worker.stop()

    def _messages(self) -> int:
        return asyncio.run(read_crawled(KafkaSettings(self.brokers), self.topic)).messages

    async def _read(self) -> tuple[list[dict[str, Any]], dict[str, int]]:
        kafka, file = KafkaSettings(self.brokers), self.folder / "documents.jsonl"
        await read_cleaned(kafka, self.topics.output, file)
        documents = [orjson.loads(line) for line in file.read_bytes().splitlines()]
        dead = await read_dead(kafka, self.topics.dead_letters, self.folder / "dead-letters.jsonl")
        return documents, dict(dead.reasons)


def _wait_until_done(messages: int, monitoring: Monitoring) -> None:
    done, since = 0, time.monotonic()
    while done < messages:
        assert time.monotonic() - since < _STALL_SECONDS, f"{done} of {messages} messages are done with"
        before, done = done, monitoring.report().totals.messages
        if done > before:
            since = time.monotonic()
        time.sleep(0.2)
