"""Time from a page on the input topic to its document, at a steady rate, on real services."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import quantiles

from benchmarks.pages import Page
from benchmarks.stream import create_new, new_topics, running
from dehusk.schemas.errors import UnavailableError
from dehusk.streams.kafka.producer import create_producer
from dehusk.streams.kafka.reader import read
from dehusk.streams.local.folder import free_ports, temporary_folder
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.local.worker import Worker
from dehusk.streams.settings import KafkaSettings

_RATE = 30
_PAGES = 2100
_FIRST_PAGES = 300
"""Pages that a worker has its first tasks of, which are not counted."""
_LOOK_SECONDS = 0.5
_STALL_SECONDS = 60.0
_URL = "https://steady.example/"


@dataclass(frozen=True, slots=True)
class Latency:
    """Latency of a worker with a labeler."""

    labeler: str
    seconds: Sequence[float]
    """Seconds from the sending of each page that counts to its document, as Kafka notes its time."""


def measure(pages: Sequence[Page], labelers: Sequence[str]) -> list[Latency]:
    """Measure a worker with each labeler and the statistics of sites."""
    with temporary_folder() as folder, LocalStack(folder) as stack:
        return [asyncio.run(_measure(stack, pages, labeler, folder)) for labeler in labelers]


async def _measure(stack: LocalStack, pages: Sequence[Page], labeler: str, directory: Path) -> Latency:
    kafka, topics = KafkaSettings(stack.addresses.kafka), new_topics()
    await create_new(kafka, topics)
    program = Worker(stack.addresses, topics, labeler, free_ports(1)[0])
    with running(program, directory):
        sent = await send_steadily(kafka, topics.input, pages, rate=_RATE, count=_PAGES, url=_URL)
        until = time.monotonic() + _STALL_SECONDS
        while (done := (await asyncio.to_thread(program.monitoring.report)).totals.pages) < _PAGES:
            if time.monotonic() > until:
                raise UnavailableError(f"the worker has finished {done} of {_PAGES} pages")
            await asyncio.sleep(_LOOK_SECONDS)
    counted = dict(islice(sent.items(), _FIRST_PAGES, None))
    return Latency(labeler, await seconds_to_documents(kafka, topics.output, counted))


async def send_steadily(
    kafka: KafkaSettings, topic: str, pages: Sequence[Page], *, rate: float, count: int, url: str
) -> dict[bytes, float]:
    """Send so many pages, so many a second; return the time at which each was sent, by its URL."""
    sent: dict[bytes, float] = {}
    async with create_producer(kafka) as producer:
        begun = time.monotonic()
        for number, page in enumerate(islice(cycle(pages), count)):
            await asyncio.sleep(begun + number / rate - time.monotonic())
            key = f"{url}{number}".encode()
            sent[key] = time.time()
            await producer.send(topic, page.html, key)
        await producer.flush()
    return sent


async def seconds_to_documents(kafka: KafkaSettings, topic: str, sent: Mapping[bytes, float]) -> list[float]:
    """Return the seconds from the sending of each page to its document."""
    return [
        milliseconds / 1000 - sent[key]
        async for message, milliseconds in read(kafka, topic)
        if (key := message.key or b"") in sent
    ]


def report(results: Sequence[Latency]) -> str:
    """Return the latencies as a table."""
    lines = [
        f"Seconds from a page to its document, at {_RATE} pages a second",
        f"{'labeler':10} {'documents':>10} {'half':>7} {'95 %':>7} {'99 %':>7} {'longest':>8}",
    ]
    for each in results:
        cuts = quantiles(each.seconds, n=100)
        lines.append(
            f"{each.labeler:10} {len(each.seconds):10} {cuts[49]:7.3f} {cuts[94]:7.3f} {cuts[98]:7.3f}"
            f" {max(each.seconds):8.3f}"
        )
    return "\n".join(lines)
