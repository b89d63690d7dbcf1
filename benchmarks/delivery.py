"""Cost of exactly-once delivery, beside at-least-once: CPU time, throughput and latency.

Two workers at a time, one with each, so that what else the machine does slows both. First, each empties a
backlog of its own; then pages come at a steady rate, and a reader of committed records notes when their
documents come.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median, quantiles

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.pages import Page
from benchmarks.stream import BenchedWorker, fill, new_topics, running, watch
from dehusk.streams.kafka.client import client_options
from dehusk.streams.kafka.producer import create_producer
from dehusk.streams.local.folder import free_ports, temporary_folder
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.settings import Guarantee, KafkaSettings, TopicSettings

_PAGES_PER_SECOND = 30
_WARM_PAGES = 100
_TIMED_PAGES = 600
_GUARANTEES = (Guarantee.AT_LEAST_ONCE, Guarantee.EXACTLY_ONCE)


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one way of delivery."""

    cpu: float
    """CPU seconds for a page of a backlog, with all processes."""
    pages_per_second: float
    """Pages of a backlog per second by the clock."""
    latencies: Sequence[float]
    """Seconds from a page to its document, at a steady rate."""


Pair = tuple[Cost, Cost]
"""Costs of at-least-once and of exactly-once delivery at the same time."""


@dataclass(frozen=True, slots=True)
class _Worker(BenchedWorker):
    delivery: Guarantee = Guarantee.AT_LEAST_ONCE

    def command(self) -> Sequence[str]:
        return [*BenchedWorker.command(self), "--delivery", self.delivery.value]


def measure(pages: Sequence[Page], repeat: int, rounds: int) -> list[Pair]:
    """Run so many pairs, each on the same pages, `repeat` times over."""
    with temporary_folder() as folder, LocalStack(folder, services=("kafka", "redis")) as stack:
        return [_pair(stack, pages, repeat, folder) for _ in range(rounds)]


def _pair(stack: LocalStack, pages: Sequence[Page], repeat: int, directory: Path) -> Pair:
    with ThreadPoolExecutor(2) as pool:
        busy = [*pool.map(partial(_empty, stack, pages, repeat, directory), _GUARANTEES)]
        latencies = [*pool.map(partial(_trickle, stack, pages, directory), _GUARANTEES)]
    at_least_once, exactly_once = (
        Cost(cpu, rate, late) for (cpu, rate), late in zip(busy, latencies, strict=True)
    )
    return at_least_once, exactly_once


def _empty(
    stack: LocalStack, pages: Sequence[Page], repeat: int, directory: Path, delivery: Guarantee
) -> tuple[float, float]:
    with _running(stack, pages, repeat, directory, delivery) as program:
        emptied = watch(program, stack, "rules", len(pages) * repeat, with_sites=True)
    return emptied.cpu / emptied.pages, emptied.pages / emptied.seconds


def _trickle(stack: LocalStack, pages: Sequence[Page], directory: Path, delivery: Guarantee) -> list[float]:
    with _running(stack, [], 0, directory, delivery) as program:
        return asyncio.run(_latencies(KafkaSettings(stack.addresses.kafka), program.topics, pages))


@contextmanager
def _running(
    stack: LocalStack, pages: Sequence[Page], repeat: int, directory: Path, delivery: Guarantee
) -> Iterator[_Worker]:
    topics = new_topics()
    asyncio.run(fill(KafkaSettings(stack.addresses.kafka), topics, pages, repeat))
    (port,) = free_ports(1)
    worker = _Worker(stack.addresses, topics, "rules", port, with_blocks=False, delivery=delivery)
    with running(worker, directory):
        yield worker


async def _latencies(kafka: KafkaSettings, topics: TopicSettings, pages: Sequence[Page]) -> list[float]:
    """Send pages at a steady rate; return the seconds to each document but the first ones."""
    count = _WARM_PAGES + _TIMED_PAGES
    options = client_options(kafka)
    consumer = AIOKafkaConsumer(
        topics.output, **options, auto_offset_reset="earliest", isolation_level="read_committed"
    )
    sent: dict[bytes, float] = {}
    latencies = {}
    async with create_producer(kafka) as producer, consumer:
        sending = asyncio.create_task(_send(producer, topics.input, pages, count, sent))
        async for record in consumer:
            latencies[record.key] = time.monotonic() - sent[record.key]
            if len(latencies) == count:
                break
        await sending
    return list(latencies.values())[_WARM_PAGES:]


async def _send(
    producer: AIOKafkaProducer, topic: str, pages: Sequence[Page], count: int, sent: dict[bytes, float]
) -> None:
    begun = time.monotonic()
    for number in range(count):
        await asyncio.sleep(begun + number / _PAGES_PER_SECOND - time.monotonic())
        page = pages[number % len(pages)]
        key = f"https://bench.example/{number}".encode()
        sent[key] = time.monotonic()
        await producer.send(topic, page.html, key)


def report(pairs: Sequence[Pair]) -> str:
    """Return the medians of the pairs."""
    cpu = [after.cpu / before.cpu for before, after in pairs]
    rates = [after.pages_per_second / before.pages_per_second for before, after in pairs]
    lines = [
        f"Exactly-once beside at-least-once delivery; medians of {len(pairs)} pairs:",
        f"x {median(cpu):.2f} CPU time a page ({min(cpu):.2f} to {max(cpu):.2f}), "
        f"x {median(rates):.2f} pages a second ({min(rates):.2f} to {max(rates):.2f})",
        f"seconds from page to document at {_PAGES_PER_SECOND} pages a second:",
    ]
    for name, costs in zip(_GUARANTEES, zip(*pairs, strict=True), strict=True):
        latencies = [latency for cost in costs for latency in cost.latencies]
        lines.append(
            f"{name.value:14} median {median(latencies):.3f}, p99 {quantiles(latencies, n=100)[98]:.3f}"
        )
    return "\n".join(lines)
