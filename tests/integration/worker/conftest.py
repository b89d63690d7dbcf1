"""Workers as their users start them, on the real services, and what they leave on the topics."""

import asyncio
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import grpc
import numpy as np
import orjson
import psutil
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.grpc.aio import InferenceServerClient

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.pages import Message
from dehusk.streams.kafka.client import Topic, create_topics, describe_topics, ensure_topics
from dehusk.streams.kafka.options import client_options
from dehusk.streams.kafka.producer import Outgoing, create_producer, enqueue
from dehusk.streams.kafka.reader import read
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.settings import KafkaSettings, TopicSettings
from dehusk.streams.sources.source import Record
from dehusk.streams.topics.dead_letters import DeadLetter, read_dead_letter
from tests.commands import DEHUSK
from tests.integration.conftest import ANSWER_SECONDS, Stack
from tests.published import validated_message

PATIENCE = 90.0


@dataclass
class Worker:
    """A worker process."""

    command: list[str]
    environment: dict[str, str]
    folder: Path
    starts: int = 0
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def log(self) -> Path:
        return self.folder / f"log-{self.starts}.txt"

    def start(self) -> None:
        self.starts += 1
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self.command, stderr=log, stdout=log, env=os.environ | self.environment
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def says(self, text: str) -> bool:
        return text in self.log.read_text(errors="replace")

    def has_partitions(self) -> bool:
        """Tell if it has its partitions, be they none."""
        return re.search(r"reads \d+ partition", self.log.read_text(errors="replace")) is not None

    @property
    def monitoring(self) -> str:
        """The address of the monitoring pages, as the log names it."""
        lines = self.log.read_text().splitlines()
        return next(line.rpartition(" ")[2] for line in reversed(lines) if "monitoring pages at" in line)

    def page(self, path: str) -> str:
        """The content of one of the monitoring pages, which a worker on a busy machine may answer late."""
        with urlopen(self.monitoring + path, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def report(self) -> dict[str, object]:
        return orjson.loads(self.page("report"))

    def _samples(self, name: str) -> list[Sample]:
        families = text_string_to_metric_families(self.page("metrics"))
        return [sample for family in families for sample in family.samples if sample.name == name]

    def metric(self, name: str, label: str) -> dict[str, int]:
        """The values of a metric by one of its labels."""
        return {sample.labels[label]: int(sample.value) for sample in self._samples(name)}

    def counter(self, name: str) -> int:
        """The value of a metric without labels."""
        (sample,) = self._samples(name)
        return int(sample.value)

    def is_ready(self) -> bool:
        """Tell if it has partitions and misses no service."""
        try:
            self.page("readyz")
        except HTTPError as error:
            error.close()
            return False
        return True

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def is_busy(self) -> bool:
        return self.has_partitions() and self.report()["in_flight"] > 0

    def processes(self) -> list[psutil.Process]:
        """The worker and all its preparation processes."""
        try:
            worker = psutil.Process(self.process.pid)
            return [worker, *worker.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def memory(self) -> int:
        """Bytes that the worker and its processes hold, what they share counted once."""
        total = 0
        for process in self.processes():
            try:
                total += process.memory_full_info().pss
            except psutil.NoSuchProcess:
                continue
        return total


@dataclass
class Bench:
    """The topics of one test, and the workers on them."""

    stack: LocalStack
    kafka: KafkaSettings
    topics: TopicSettings
    folder: Path
    workers: list[Worker] = field(default_factory=list)

    @asynccontextmanager
    async def beside(self, topics: TopicSettings, partitions: int = 4) -> AsyncIterator["Bench"]:
        """Topics and workers for a part of a test that waits beside others, which share the services."""
        folder = self.folder / topics.input
        folder.mkdir()
        await create_topics(self.kafka, [Topic(topics.input, partitions, replicas=1)])
        await ensure_topics(self.kafka, topics)
        other = replace(self, topics=topics, folder=folder, workers=[])
        try:
            yield other
        finally:
            other.kill()

    def worker(self, *options: str, program: Sequence[str | Path] = (DEHUSK, "worker")) -> Worker:
        """A worker that runs; options given win over those of the stack."""
        addresses = self.stack.addresses
        given = [
            *("--brokers", addresses.kafka, "--redis", addresses.redis),
            *("--input", self.topics.input, "--output", self.topics.output, "--group", self.topics.group),
            *("--dead-letters", self.topics.dead_letters, "--monitoring", "127.0.0.1:0"),
            *("--session-seconds", "6", "--processes", "1", "--labeler", "rules"),
            *("--redis-seconds", f"{ANSWER_SECONDS:g}"),
        ]
        folder = self.folder / f"worker-{len(self.workers)}"
        folder.mkdir()
        environment = {"DEHUSK_WORKER_TRITON": addresses.triton_grpc}  # ignored by other labelers
        worker = Worker([*map(str, program), *given, *options], environment, folder)
        self.workers.append(worker)
        worker.start()
        return worker

    async def produce(self, records: Sequence[Record]) -> None:
        await self.produce_to(self.topics.input, records)

    async def produce_to(self, topic: str, records: Sequence[Record]) -> None:
        producer = create_producer(self.kafka)
        await producer.start()
        for record in records:
            await enqueue(producer, Outgoing(topic, record))
        await producer.stop()

    @asynccontextmanager
    async def crawling(
        self, records: Iterator[Record], at_once: int, pause: float, topic: str | None = None
    ) -> AsyncIterator[list[Record]]:
        """Produce records while the body runs, some between pauses; yield the list of those produced."""
        produced: list[Record] = []
        ended = asyncio.Event()

        async def crawl() -> None:
            async with create_producer(self.kafka) as producer:
                while not ended.is_set():
                    chunk = list(islice(records, at_once))
                    await _deliver(producer, [Outgoing(topic or self.topics.input, each) for each in chunk])
                    produced.extend(chunk)
                    await asyncio.sleep(pause)

        crawler = asyncio.create_task(crawl())
        try:
            yield produced
        finally:
            ended.set()
            await crawler

    async def until(self, condition: Callable[[], object], patience: float = PATIENCE) -> None:
        """Wait for a condition; fail, with the workers' logs, when it does not come."""
        begun = time.monotonic()
        while not condition():
            waited = time.monotonic() - begun
            if waited > patience:
                pytest.fail(f"still waiting after {patience} s\n{self.logs()}")
            await asyncio.sleep(min(max(0.05, waited / 20), 0.25))  # asked often, it slows what is waited for

    async def until_done(self, patience: float = PATIENCE) -> None:
        """Wait until the group has committed everything that was produced; fail if it commits no more."""
        since, least, left = time.monotonic(), math.inf, -1
        while left:
            with suppress(UnavailableError, KafkaError):  # it was started again a moment ago
                async with self._open_positions() as count_left:
                    while left := await count_left():
                        if left < least:
                            since, least = time.monotonic(), left
                        self._fail_if_late(since + patience, left)
                        await asyncio.sleep(0.2)
            if left:
                self._fail_if_late(since + patience, left)
                await asyncio.sleep(0.2)

    def _fail_if_late(self, deadline: float, left: int) -> None:
        if time.monotonic() > deadline or not any(worker.is_alive() for worker in self.workers):
            pytest.fail(f"{left} messages left\n{self.logs()}")

    async def left(self) -> int:
        """Messages of the input topic that the group has not committed."""
        async with self._open_positions() as count_left:
            return await count_left()

    @asynccontextmanager
    async def _open_positions(self) -> AsyncIterator[Callable[[], Awaitable[int]]]:
        """Have a client count what is left as often as it is asked."""
        count = (await describe_topics(self.kafka, [self.topics.input]))[self.topics.input].partitions
        partitions = [TopicPartition(self.topics.input, number) for number in range(count)]
        consumer = AIOKafkaConsumer(
            **client_options(self.kafka), group_id=self.topics.group, enable_auto_commit=False
        )
        await consumer.start()

        async def count_left() -> int:
            ends = await consumer.end_offsets(partitions)
            return sum([end - (await consumer.committed(each) or 0) for each, end in ends.items()])

        try:
            yield count_left
        finally:
            await consumer.stop()

    async def messages(self, topic: str) -> list[Message]:
        """The messages of a topic, each as published."""
        return [validated_message(message) async for message, _ in read(self.kafka, topic)]

    async def documents(self) -> list[Message]:
        return await self.messages(self.topics.output)

    async def dead_letters(self) -> list[DeadLetter]:
        letters = [read_dead_letter(message) for message in await self.messages(self.topics.dead_letters)]
        assert None not in letters
        return [letter for letter in letters if letter is not None]

    def kill(self) -> None:
        """End all workers, and what they have started."""
        for worker in self.workers:
            for process in worker.processes():
                process.kill()
            worker.process.wait()

    def logs(self) -> str:
        return "\n".join(f"{worker.log}:\n{worker.log.read_text()[-6000:]}" for worker in self.workers)


async def _deliver(producer: AIOKafkaProducer, records: list[Outgoing]) -> None:
    """Produce records, and those again that Kafka does not acknowledge in time, as a crawler does."""
    while records:
        acknowledgements = [await enqueue(producer, record) for record in records]
        missing = []
        for record, acknowledgement in zip(records, acknowledgements, strict=True):
            try:
                await acknowledgement
            except KafkaError:
                missing.append(record)
        records = missing


@pytest.fixture
def bench(stack: LocalStack, kafka: KafkaSettings, topics: TopicSettings, tmp_path: Path) -> Iterator[Bench]:
    """The services and topics of this test; its workers are killed at the end, and their logs printed."""
    running = Bench(stack, kafka, topics, tmp_path)
    yield running
    running.kill()
    sys.stdout.write(running.logs())  # shown if the test failed


Spoil = Callable[[service_pb2.ModelInferRequest], str | None]
"""Faults of a request: `late`, `refused`, `nan` or nothing."""


@dataclass
class Proxy(service_pb2_grpc.GRPCInferenceServiceServicer):
    """Passes requests on to Triton, and its answers back, unless they are to be spoiled."""

    triton: service_pb2_grpc.GRPCInferenceServiceStub
    spoil: Spoil = lambda _: None
    address: str = ""

    async def ModelMetadata(self, request, context):  # noqa: N802 the protocol's name
        return await self.triton.ModelMetadata(request)

    async def ModelConfig(self, request, context):  # noqa: N802 the protocol's name
        return await self.triton.ModelConfig(request)

    async def ModelStatistics(self, request, context):  # noqa: N802 the protocol's name
        return await self.triton.ModelStatistics(request)

    async def RepositoryIndex(self, request, context):  # noqa: N802 the protocol's name
        return await self.triton.RepositoryIndex(request)

    async def ModelInfer(self, request, context):  # noqa: N802 the protocol's name
        fault = self.spoil(request)
        if fault == "late":
            await asyncio.sleep(600)
        if fault == "refused":
            await context.abort(grpc.StatusCode.INTERNAL, "out of memory")
        answer = await self.triton.ModelInfer(request)
        if fault == "nan":
            answer.raw_output_contents[0] = bytes(np.full(blocks(request), np.nan, np.float32))
        return answer


def blocks(request: service_pb2.ModelInferRequest) -> int:
    """Blocks of the page that is asked about."""
    return next(each.shape[1] for each in request.inputs if each.name == "word_len")


@asynccontextmanager
async def _proxy(triton: str) -> AsyncIterator[Proxy]:
    async with grpc.aio.insecure_channel(triton) as channel:
        servicer = Proxy(service_pb2_grpc.GRPCInferenceServiceStub(channel))
        server = grpc.aio.server()
        service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(servicer, server)
        servicer.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        yield servicer
        await server.stop(None)


@pytest.fixture
def open_proxy() -> Callable[[str], AbstractAsyncContextManager[Proxy]]:
    """Opens a proxy in front of a Triton."""
    return _proxy


_SERVED = {name: find_model(DEFAULT_REPOSITORY, name)[1].parent for name in ("dehusk", "web2text")}


class Swapping:
    """A Triton whose model `dehusk` is one of several."""

    def __init__(self, stack: LocalStack, model: Path) -> None:
        self.stack = stack
        self._model = model

    def put(self, kind: str, version: str) -> None:
        """Have the repository hold a model of that kind as a version."""
        shutil.copytree(_SERVED[kind], self._model / version)
        config = (DEFAULT_REPOSITORY / kind / "config.pbtxt").read_text()
        (self._model / "config.pbtxt").write_text(config.replace(f'name: "{kind}"', 'name: "dehusk"', 1))

    async def swap(self, kind: str, version: str) -> None:
        """Have Triton serve a model of that kind as a version."""
        self.put(kind, version)
        client = InferenceServerClient(self.stack.addresses.triton_grpc)
        await client.load_model("dehusk")
        await client.close()


@pytest.fixture
def own_triton(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Swapping]:
    """A Triton of this test alone, which serves a model as version 1 of `dehusk`."""
    model = tmp_path / "models" / "dehusk"
    model.mkdir(parents=True)
    (tmp_path / "triton").mkdir()
    made = Swapping(Stack(tmp_path / "triton", repository=model.parent, services=("triton",)), model)
    made.put(getattr(request, "param", "dehusk"), "1")
    with made.stack:
        yield made


PARAGRAPH = (
    "This is paragraph {number} of page {page}, long enough that rules and models alike take it for the "
    "content of the page, and about nothing in particular."
)


@pytest.fixture
def endless_site(fresh: str) -> Iterator[Record]:
    """Pages of one site that share their navigation and footer, as records of the source `html`."""
    return _site(fresh)


@pytest.fixture
def site(fresh: str) -> Callable[[int], list[Record]]:
    """The first pages of such a site, the same ones each time."""
    return lambda number: list(islice(_site(fresh), number))


@pytest.fixture
def page_at() -> Callable[[str, int], Record]:
    """A page at a URL, as a record of the source `html`."""
    return _page


def in_letters(number: int) -> str:
    """A number without digits, which would not tell texts apart."""
    return str(number).translate(str.maketrans("0123456789", "abcdefghij"))


def _site(name: str) -> Iterator[Record]:
    return (_page(f"https://{name}.example/{number}", number) for number in count())


def _page(url: str, page: int) -> Record:
    name = f"{page} ({in_letters(page)})"
    paragraphs = "".join(f"<p>{PARAGRAPH.format(number=number, page=name)}</p>" for number in range(5))
    html = (
        f"<html><head><title>Page {page}</title></head><body><nav><a href=/>Home</a><a href=/x>More</a>"
        f"<a href=/y>{in_letters(page)}</a></nav>"
        f"<main><h1>Page {page}</h1>{paragraphs}</main><footer>All rights reserved</footer></body></html>"
    )
    return Record(url.encode(), html.encode(), (("content-type", b"text/html; charset=utf-8"),))
