"""Memory of a worker and its processes while hostile pages come in, on real services.

Ordinary pages come at a steady rate, and amid them hostile pages all at once. Documents have Markdown, all
metadata and all blocks. Counted is the proportional set size (PSS) of all processes of the worker, so that
what they share counts once.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from urllib.parse import quote

import psutil

from benchmarks.hostile import HOSTILE, MID_SIZE, HostilePage
from benchmarks.latency import seconds_to_documents, send_steadily
from benchmarks.pages import Page
from benchmarks.stream import create_new, new_topics, processes_on, running
from dehusk.schemas.errors import UnavailableError
from dehusk.streams.kafka.producer import create_producer
from dehusk.streams.kafka.reader import read
from dehusk.streams.local.folder import free_ports, temporary_folder
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.local.worker import Worker
from dehusk.streams.settings import KafkaSettings, TopicSettings
from dehusk.streams.topics.dead_letters import read_dead_letter

_PAGES: Mapping[str, HostilePage] = {**HOSTILE, **MID_SIZE}
_PROCESSES = 4
_RATE = 10
"""Ordinary pages a second."""
_ORDINARY_PAGES = 600
_QUIET_PAGES = 100
"""Ordinary pages before the hostile ones."""
_LOOK_SECONDS = 0.1
_STALL_SECONDS = 300.0
_ORDINARY, _HOSTILE = "https://ordinary.example/", "https://hostile.example/"


@dataclass(slots=True)
class WorkerUsage:
    """Measurements of a worker."""

    labeler: str
    peak: int = 0
    """Most bytes that its processes held at once."""
    own_peak: int = 0
    """Most bytes that its own process held."""
    slowest_answer: float = 0.0
    """Longest time that its monitoring pages took to answer, in seconds."""
    seconds: list[float] = field(default_factory=list)
    """Seconds from the sending of each ordinary page to its document."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Number of hostile pages by their result."""


@dataclass(frozen=True, slots=True)
class _Worker(Worker):
    """A worker with so many processes, whatever the machine has, whose documents have all fields."""

    def environment(self) -> Mapping[str, str]:
        return {
            **Worker.environment(self),
            "DEHUSK_WORKER_PROCESSES": str(_PROCESSES),
            "DEHUSK_WORKER_WITH_MARKDOWN": "true",
            "DEHUSK_WORKER_METADATA": "full",
        }


def measure(pages: Sequence[Page], labelers: Sequence[str], rounds: int) -> list[WorkerUsage]:
    """Measure a worker with each labeler on the same pages, the hostile ones so many times over."""
    with temporary_folder() as folder, LocalStack(folder) as stack:
        return [asyncio.run(_measure(stack, pages, labeler, rounds, folder)) for labeler in labelers]


async def _measure(
    stack: LocalStack, pages: Sequence[Page], labeler: str, rounds: int, directory: Path
) -> WorkerUsage:
    kafka, topics = KafkaSettings(stack.addresses.kafka), new_topics()
    await create_new(kafka, topics)
    program = _Worker(stack.addresses, topics, labeler, free_ports(1)[0], with_blocks=True)
    usage = WorkerUsage(labeler)
    with running(program, directory):
        sending = asyncio.create_task(_send(kafka, topics.input, pages, rounds))
        await asyncio.to_thread(_watch, program, usage, _ORDINARY_PAGES + rounds * len(_PAGES))
        sent = await sending
    await _compare(kafka, topics, sent, usage)
    return usage


async def _send(kafka: KafkaSettings, topic: str, pages: Sequence[Page], rounds: int) -> dict[bytes, float]:
    """Send the pages; return the time at which each ordinary one was sent, by its URL."""
    ordinary = send_steadily(kafka, topic, pages, rate=_RATE, count=_ORDINARY_PAGES, url=_ORDINARY)
    sent, _ = await asyncio.gather(ordinary, _send_hostile(kafka, topic, rounds))
    return sent


async def _send_hostile(kafka: KafkaSettings, topic: str, rounds: int) -> None:
    await asyncio.sleep(_QUIET_PAGES / _RATE)
    async with create_producer(kafka) as producer:
        for number in range(rounds):
            for name, page in _PAGES.items():
                key = f"{_HOSTILE}{number}/{quote(name)}".encode()
                await producer.send(topic, page.value, key, headers=list(page.headers))
        await producer.flush()


def _watch(program: Worker, usage: WorkerUsage, expected: int) -> None:
    """Watch the worker until it has finished so many pages."""
    done, since = 0, time.monotonic()
    while done < expected:
        time.sleep(_LOOK_SECONDS)
        own, *others = map(_memory, processes_on(program.port))
        usage.peak = max(usage.peak, own + sum(others))
        usage.own_peak = max(usage.own_peak, own)
        asked = time.monotonic()
        pages = program.monitoring.report().totals.pages
        usage.slowest_answer = max(usage.slowest_answer, time.monotonic() - asked)
        if pages > done:
            done, since = pages, asked
        if asked - since > _STALL_SECONDS:
            raise UnavailableError(f"the worker stands still after {done} of {expected} pages")


def _memory(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return 0


async def _compare(
    kafka: KafkaSettings, topics: TopicSettings, sent: Mapping[bytes, float], usage: WorkerUsage
) -> None:
    """Note the duration of the ordinary pages, and the results of the hostile ones."""
    usage.seconds = await seconds_to_documents(kafka, topics.output, sent)
    async for message, _ in read(kafka, topics.output):
        usage.outcomes["document"] += message.key not in sent
    async for message, _ in read(kafka, topics.dead_letters):
        if letter := read_dead_letter(message):
            usage.outcomes[letter.reason] += 1


def report(results: Sequence[WorkerUsage]) -> str:
    """Return the measurements as a table, and the results of the hostile pages."""
    lines = [
        f"{len(_PAGES)} kinds of hostile pages amid {_RATE} ordinary pages a second; {_PROCESSES} processes",
        f"{'labeler':10} {'peak MB':>8} {'own process':>12} {'slowest /report':>16}"
        f" {'ordinary: median s':>19} {'95 % s':>7} {'longest s':>10}",
    ]
    for each in results:
        *_, near_worst = percentiles = quantiles(each.seconds, n=20)
        lines.append(
            f"{each.labeler:10} {each.peak / 1e6:8.0f} {each.own_peak / 1e6:12.0f}"
            f" {each.slowest_answer:16.2f} {percentiles[9]:19.2f} {near_worst:7.2f} {max(each.seconds):10.2f}"
        )
    lines += [f"{each.labeler:10} {_outcomes(each)}" for each in results]
    return "\n".join(lines)


def _outcomes(usage: WorkerUsage) -> str:
    hostile = ", ".join(f"{count} {outcome}" for outcome, count in usage.outcomes.most_common())
    return (
        f"{len(usage.seconds)} of {_ORDINARY_PAGES} ordinary pages have a document; hostile ones: {hostile}"
    )
