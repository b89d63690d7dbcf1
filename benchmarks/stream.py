"""The whole stream, from Kafka to Kafka, on real services: pages per second of a core, and the time by step.

A worker finds a backlog and empties it. What counts is the CPU time that its processes take for it, from the
first finished page to the last, so the figure holds on a machine that does other things as well.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from uuid import uuid4

import click
import psutil

from benchmarks.pages import Page
from dehusk.schemas.errors import UnavailableError
from dehusk.streams.kafka.client import Topic, create_topics, ensure_topics
from dehusk.streams.kafka.producer import create_producer
from dehusk.streams.local.folder import LOOPBACK, free_ports, temporary_folder
from dehusk.streams.local.process import Service
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.local.worker import Worker
from dehusk.streams.monitoring.state import Totals
from dehusk.streams.settings import KafkaSettings, TopicSettings

_PARTITIONS = 4
_ORDER = (True, False, False, True)
"""Presence of the statistics of sites for each worker in turn; the first one of all takes more."""
_LOOK_SECONDS = 0.5
"""Interval of looks at a worker: each takes it some milliseconds."""
_STALL_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class _Look:
    time: float
    totals: Totals


@dataclass(frozen=True, slots=True)
class DrainCost:
    """Cost of emptying the backlog, from the first finished page to the last."""

    labeler: str
    with_sites: bool
    """True if there was a Redis for the statistics of sites."""
    pages: int
    bytes: int
    seconds: float
    worker_cpu: float
    """CPU seconds of the worker's own process: Kafka, Redis, documents, the model where it is in process."""
    preparation_cpu: float
    """CPU seconds of its processes that decode, segment and encode."""
    triton_cpu: float
    """CPU seconds of Triton."""
    steps: dict[str, float]
    """Wall seconds that batches spent in each step, several batches at a time."""

    def __add__(self, other: "DrainCost") -> "DrainCost":
        """Add both, of the same labeler with or without sites."""
        return DrainCost(
            self.labeler,
            self.with_sites,
            self.pages + other.pages,
            self.bytes + other.bytes,
            self.seconds + other.seconds,
            self.worker_cpu + other.worker_cpu,
            self.preparation_cpu + other.preparation_cpu,
            self.triton_cpu + other.triton_cpu,
            {step: seconds + other.steps[step] for step, seconds in self.steps.items()},
        )

    @property
    def cpu(self) -> float:
        """CPU seconds of the worker with all its processes, Triton apart."""
        return self.worker_cpu + self.preparation_cpu

    @property
    def pages_per_core(self) -> float:
        """Pages per CPU second."""
        return self.pages / self.cpu

    @property
    def bytes_per_core(self) -> float:
        """Bytes per CPU second."""
        return self.bytes / self.cpu


class BenchedWorker(Worker):
    """A worker that may do without Redis."""

    def is_ready(self) -> bool:
        """Return True if its monitoring pages answer."""
        try:
            self.monitoring.report()
        except UnavailableError:
            return False
        return True


def measure(pages: Sequence[Page], labelers: Sequence[str], rounds: int) -> list[DrainCost]:
    """Measure a worker with each labeler on the same pages, `rounds` times over under different URLs.

    Each works with and without the statistics of sites, in both orders.
    """
    with temporary_folder() as folder, LocalStack(folder) as stack:
        backlog = Backlog(stack, pages, rounds, folder)
        runs = [
            _measure(backlog, labeler, with_sites=with_sites) for labeler in labelers for with_sites in _ORDER
        ]
    return [
        reduce(add, (run for run in runs if (run.labeler, run.with_sites) == (labeler, with_sites)))
        for labeler in labelers
        for with_sites in (True, False)
    ]


@dataclass(frozen=True, slots=True)
class Backlog:
    """Pages that workers find, each in topics of its own."""

    stack: LocalStack
    pages: Sequence[Page]
    rounds: int
    """Times that each page is there, under different URLs."""
    directory: Path
    """Directory that workers log into."""

    @contextmanager
    def found(self, labeler: str, *, with_sites: bool) -> Iterator[BenchedWorker]:
        """Run a worker that finds the pages."""
        topics = new_topics()
        addresses = self.stack.addresses
        asyncio.run(fill(KafkaSettings(addresses.kafka), topics, self.pages, self.rounds))
        port, nowhere = free_ports(2)
        if not with_sites:
            addresses = replace(addresses, redis=f"redis://{LOOPBACK}:{nowhere}/0")
        worker = BenchedWorker(addresses, topics, labeler, port, with_blocks=False)
        with running(worker, self.directory):
            yield worker

    def watch(self, program: Worker, labeler: str, *, with_sites: bool) -> DrainCost:
        """Measure a worker that empties it."""
        return watch(program, self.stack, labeler, len(self.pages) * self.rounds, with_sites=with_sites)


def _measure(backlog: Backlog, labeler: str, *, with_sites: bool) -> DrainCost:
    with backlog.found(labeler, with_sites=with_sites) as program:
        return backlog.watch(program, labeler, with_sites=with_sites)


@contextmanager
def running(program: Worker, directory: Path) -> Iterator[None]:
    """Run a worker, which logs into the directory."""
    worker = Service(program, directory / f"{program.topics.group}.log")
    try:
        worker.start()
        yield
    finally:
        worker.stop()


def new_topics(prefix: str = "bench", monitoring: str | None = None) -> TopicSettings:
    """Return topics and a group that nobody has used."""
    group = f"{prefix}-{uuid4().hex[:8]}"
    return TopicSettings(f"{group}-raw", f"{group}-cleaned", f"{group}-dead", group, monitoring=monitoring)


async def create_new(kafka: KafkaSettings, topics: TopicSettings) -> None:
    """Create the topics that a worker reads and writes."""
    await create_topics(kafka, [Topic(topics.input, _PARTITIONS, 1)])
    await ensure_topics(kafka, topics)


async def fill(kafka: KafkaSettings, topics: TopicSettings, pages: Sequence[Page], rounds: int) -> None:
    """Create the topics, and send the pages so many times under different URLs."""
    await create_new(kafka, topics)
    async with create_producer(kafka) as producer:
        for number in range(rounds):
            for page in pages:
                await producer.send(topics.input, page.html, f"{page.url}#{number}".encode())
        await producer.flush()


def watch(program: Worker, stack: LocalStack, labeler: str, expected: int, *, with_sites: bool) -> DrainCost:
    """Measure a worker over the expected pages, once it is done with the first.

    Raises:
        UsageError: it was done with all of them by then.
    """
    processes = processes_on(program.port)
    address = stack.addresses.triton_grpc
    triton = processes_on(int(address.rpartition(":")[2])) if address else []
    first = _looks(program, 1)[-1]
    before, triton_before = cpu(processes), sum(cpu(triton))
    looks = _looks(program, expected)
    spent = [end - start for start, end in zip(before, cpu(processes), strict=True)]
    last = looks[-1]
    if last.totals.pages == first.totals.pages:
        raise click.UsageError(
            f"the worker was done with all {expected} pages at once: give more --pages, or --repeat"
        )
    return DrainCost(
        labeler=labeler,
        with_sites=with_sites,
        pages=last.totals.pages - first.totals.pages,
        bytes=last.totals.bytes - first.totals.bytes,
        seconds=_seconds(first, looks),
        worker_cpu=spent[0],
        preparation_cpu=sum(spent[1:]),
        triton_cpu=sum(cpu(triton)) - triton_before,
        steps=program.monitoring.metric("dehusk_step_seconds_sum", "step"),
    )


def _seconds(first: _Look, looks: Sequence[_Look]) -> float:
    """Return the seconds for all pages after the first look, at the rate before the last one.

    The last look comes some time after the last page.
    """
    before = [look for look in looks[:-1] if look.totals.pages > first.totals.pages]
    end = before[-1] if before else looks[-1]
    each = (end.time - first.time) / (end.totals.pages - first.totals.pages)
    return each * (looks[-1].totals.pages - first.totals.pages)


def _looks(program: Worker, pages: int) -> list[_Look]:
    """Look at the worker until it has finished so many pages."""
    looks: list[_Look] = []
    done, since = 0, time.monotonic()
    while time.monotonic() - since < _STALL_SECONDS:
        looks.append(_Look(time.monotonic(), program.monitoring.report().totals))
        finished = looks[-1].totals.pages
        if finished >= pages:
            return looks
        if finished > done:
            done, since = finished, time.monotonic()
        time.sleep(_LOOK_SECONDS)
    raise UnavailableError(f"the worker stands still after {done} of {pages} pages")


def processes_on(port: int) -> list[psutil.Process]:
    """Return the worker that listens on a port, then its children."""
    owner = next(
        connection.pid
        for connection in psutil.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
    )
    worker = psutil.Process(owner)
    return [worker, *worker.children(recursive=True)]


def cpu(processes: Sequence[psutil.Process]) -> list[float]:
    """Return the CPU seconds that each has taken."""
    times = [process.cpu_times() for process in processes]
    return [each.user + each.system for each in times]


def report(results: Sequence[DrainCost], peers: Mapping[str, float]) -> str:
    """Return the results as a table, compared with peers that only extract, in CPU milliseconds per page."""
    size = results[0].bytes / results[0].pages / 1000
    lines = [
        f"Kafka in to Kafka out: {size:.0f} KB a page; per second of one core's time",
        f"{'labeler':18} {'pages/s':>8} {'MB/s':>6} {'ms/page':>8} {'Triton ms':>10} {'wall pages/s':>13}  "
        + "  ".join(f"x {name}" for name in peers),
    ]
    for each in results:
        spent = 1000 * each.cpu / each.pages
        model = 1000 * each.triton_cpu / each.pages
        ratios = (
            f"{milliseconds / (spent + model):{len(name) + 2}.1f}" for name, milliseconds in peers.items()
        )
        lines.append(
            f"{_name(each):18} {each.pages_per_core:8.0f} {each.bytes_per_core / 1e6:6.1f} {spent:8.2f} "
            f"{model:10.2f} {each.pages / each.seconds:13.0f}  " + "  ".join(ratios)
        )
    lines += ["", "Where a page's CPU time goes, and the share of each step in the batches' wall time:"]
    lines += [f"{_name(each):18} {_shares(each)}" for each in results]
    return "\n".join(lines)


def _name(result: DrainCost) -> str:
    return result.labeler if result.with_sites else f"{result.labeler}, no sites"


def _shares(result: DrainCost) -> str:
    wall = sum(result.steps.values())
    steps = ", ".join(f"{step} {seconds / wall:.0%}" for step, seconds in result.steps.items())
    preparation = result.preparation_cpu / result.cpu
    return f"preparation {preparation:.0%}, all else {1 - preparation:.0%}; {steps}"
