"""Costs of what a worker can do besides: exactly-once delivery, and figures on a topic that a page shows.

Two workers at a time, one with it and one without, so that what else the machine does slows both. First, each
empties a backlog of its own. Then, for delivery, pages come at a steady rate, and a reader of committed
records notes when their documents come; for the figures, there is nothing to do.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from threading import Event, Thread
from urllib.request import urlopen
from uuid import uuid4

from aiokafka import AIOKafkaConsumer

from benchmarks.latency import send_steadily
from benchmarks.pages import Page
from benchmarks.stream import BenchedWorker, cpu, fill, new_topics, processes_on, running, watch
from dehusk.streams.kafka.options import client_options
from dehusk.streams.local.folder import free_ports, temporary_folder
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.settings import Guarantee, KafkaSettings

_PAGES_PER_SECOND = 30
_WARM_PAGES = 100
_TIMED_PAGES = 600
_IDLE_SECONDS = 20.0
_URL = "https://bench.example/"


@dataclass(frozen=True, slots=True)
class Variant:
    """Settings of one of both workers."""

    delivery: Guarantee = Guarantee.AT_LEAST_ONCE
    shows_figures: bool = False
    """True if it shares its figures on a topic, and a page is connected that shows them."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one worker."""

    cpu: float
    """CPU seconds for a page of a backlog, with all processes."""
    seconds: float
    """Seconds for a page of a backlog by the clock."""
    samples: Sequence[float]
    """Measurements after the backlog."""


Pair = tuple[Cost, Cost]
"""Costs without and with it at the same time."""
Sample = Callable[[BenchedWorker, Sequence[Page]], Sequence[float]]
"""Measurement of a worker without a backlog."""


@dataclass(frozen=True, slots=True)
class _Worker(BenchedWorker):
    delivery: Guarantee = Guarantee.AT_LEAST_ONCE

    def command(self) -> Sequence[str]:
        return [*BenchedWorker.command(self), "--delivery", self.delivery.value]


def measure_delivery(pages: Sequence[Page], repeat: int, rounds: int) -> list[Pair]:
    """Run so many pairs, with samples of the seconds from a page to its document at a steady rate."""
    return _measure(pages, repeat, rounds, Variant(delivery=Guarantee.EXACTLY_ONCE), _latencies)


def measure_monitoring(pages: Sequence[Page], repeat: int, rounds: int) -> list[Pair]:
    """Run so many pairs, with a sample of the CPU seconds in a second in which there is nothing to do."""
    return _measure(pages, repeat, rounds, Variant(shows_figures=True), _idle)


def _measure(pages: Sequence[Page], repeat: int, rounds: int, variant: Variant, sample: Sample) -> list[Pair]:
    with temporary_folder() as folder, LocalStack(folder, services=("kafka", "redis")) as stack:
        bench = _Bench(stack, folder, pages, repeat)
        return [bench.pair(variant, sample) for _ in range(rounds)]


@dataclass(frozen=True, slots=True)
class _Bench:
    """A stack on which workers clean the same pages, `repeat` times over."""

    stack: LocalStack
    directory: Path
    pages: Sequence[Page]
    repeat: int

    def pair(self, variant: Variant, sample: Sample) -> Pair:
        """Measure two workers at the same time."""
        variants = (Variant(), variant)
        with ThreadPoolExecutor(2) as pool:
            busy = [*pool.map(self._empty, variants)]
            samples = [*pool.map(partial(self._sampled, sample), variants)]
        without, with_it = (Cost(*spent, later) for spent, later in zip(busy, samples, strict=True))
        return without, with_it

    def _empty(self, variant: Variant) -> tuple[float, float]:
        """Return the CPU seconds and the seconds by the clock that a page of a backlog takes."""
        with self._running(self.pages, variant) as worker:
            expected = len(self.pages) * self.repeat
            emptied = watch(worker, self.stack, "rules", expected, with_sites=True)
        return emptied.cpu / emptied.pages, emptied.seconds / emptied.pages

    def _sampled(self, sample: Sample, variant: Variant) -> Sequence[float]:
        with self._running((), variant) as worker:
            return sample(worker, self.pages)

    @contextmanager
    def _running(self, backlog: Sequence[Page], variant: Variant) -> Iterator[_Worker]:
        addresses, (port,) = self.stack.addresses, free_ports(1)
        topics = new_topics(monitoring=f"bench-{uuid4().hex[:8]}-figures" if variant.shows_figures else None)
        asyncio.run(fill(KafkaSettings(addresses.kafka), topics, backlog, self.repeat))
        worker = _Worker(addresses, topics, "rules", port, with_blocks=False, delivery=variant.delivery)
        figures = f"{worker.monitoring.url}events?of=group"
        with (
            running(worker, self.directory),
            _connected(figures) if variant.shows_figures else nullcontext(),
        ):
            yield worker


@contextmanager
def _connected(url: str) -> Iterator[None]:
    """Connect a page that reads what it is sent."""
    is_over = Event()

    def read() -> None:
        with urlopen(url) as events:
            while not is_over.is_set():
                events.readline()

    reader = Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        is_over.set()
        reader.join()


def _idle(worker: BenchedWorker, _pages: Sequence[Page]) -> list[float]:
    processes = processes_on(worker.port)
    before = sum(cpu(processes))
    time.sleep(_IDLE_SECONDS)
    return [(sum(cpu(processes)) - before) / _IDLE_SECONDS]


def _latencies(worker: BenchedWorker, pages: Sequence[Page]) -> list[float]:
    return asyncio.run(_at_steady_rate(worker, pages))


async def _at_steady_rate(worker: BenchedWorker, pages: Sequence[Page]) -> list[float]:
    """Send pages at a steady rate; return the seconds to each document but the first ones."""
    kafka, topics, count = KafkaSettings(worker.addresses.kafka), worker.topics, _WARM_PAGES + _TIMED_PAGES
    consumer = AIOKafkaConsumer(
        topics.output,
        **client_options(kafka),
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    came: dict[bytes, float] = {}
    sending = send_steadily(kafka, topics.input, pages, rate=_PAGES_PER_SECOND, count=count, url=_URL)
    async with consumer, asyncio.TaskGroup() as tasks:
        sent = tasks.create_task(sending)
        async for record in consumer:
            came[record.key] = time.time()
            if len(came) == count:
                break
    times = [at - sent.result()[url] for url, at in came.items()]
    return times[_WARM_PAGES:]


def report_delivery(pairs: Sequence[Pair]) -> str:
    """Return the medians of the pairs."""
    cpu = [after.cpu / before.cpu for before, after in pairs]
    rates = [before.seconds / after.seconds for before, after in pairs]
    lines = [
        f"Exactly-once compared with at-least-once delivery; medians of {len(pairs)} pairs:",
        f"x {median(cpu):.2f} CPU time a page ({min(cpu):.2f} to {max(cpu):.2f}), "
        f"x {median(rates):.2f} pages a second ({min(rates):.2f} to {max(rates):.2f})",
        f"seconds from page to document at {_PAGES_PER_SECOND} pages a second:",
    ]
    for name, costs in zip(Guarantee, zip(*pairs, strict=True), strict=True):
        latencies = [latency for cost in costs for latency in cost.samples]
        lines.append(
            f"{name.value:14} median {median(latencies):.3f}, p99 {quantiles(latencies, n=100)[98]:.3f}"
        )
    return "\n".join(lines)


def report_monitoring(pairs: Sequence[Pair]) -> str:
    """Return the medians of the pairs."""
    idle = [1000 * (after.samples[0] - before.samples[0]) for before, after in pairs]
    more = [after.cpu / before.cpu - 1 for before, after in pairs]
    slower = [after.seconds / before.seconds - 1 for before, after in pairs]
    idle_alone = median(1000 * before.samples[0] for before, _ in pairs)
    page_alone = median(1000 * before.cpu for before, _ in pairs)
    return "\n".join(
        [
            f"Figures on a topic and a connected page compared with neither; medians of {len(pairs)} pairs:",
            f"without pages: {median(idle):.1f} ms of CPU time a second more "
            f"({min(idle):.1f} to {max(idle):.1f}) than {idle_alone:.1f} ms",
            f"with pages: {median(more):+.1%} CPU time a page ({min(more):+.1%} to {max(more):+.1%}) "
            f"of {page_alone:.2f} ms; "
            f"{median(slower):+.1%} time by the clock ({min(slower):+.1%} to {max(slower):+.1%})",
        ]
    )
