"""CPU time that a worker takes to share its figures on a topic while a page shows them.

Two workers at a time, one with the topic and a page that is connected and one with neither, so that what
else the machine does slows both: first they have nothing to do, then each empties a backlog of its own.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from threading import Event, Thread
from urllib.request import urlopen
from uuid import uuid4

from benchmarks.pages import Page
from benchmarks.stream import BenchedWorker, cpu, fill, new_topics, processes_on, running, watch
from dehusk.streams.local.folder import free_ports, temporary_folder
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.settings import KafkaSettings

_IDLE_SECONDS = 20.0
_BOTH = (True, False)


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU time of a worker."""

    idle: float
    """CPU seconds in a second in which there is nothing to do."""
    page: float
    """CPU seconds for a page, with all processes."""
    seconds: float
    """Seconds that all pages take by the clock."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two workers at the same time."""

    shared: Cost
    alone: Cost


def measure(pages: Sequence[Page], repeat: int, rounds: int) -> list[Pair]:
    """Run so many pairs, each on the same pages, `repeat` times over."""
    with temporary_folder() as folder, LocalStack(folder, services=("kafka", "redis")) as stack:
        return [_pair(stack, pages, repeat, folder) for _ in range(rounds)]


def _pair(stack: LocalStack, pages: Sequence[Page], repeat: int, directory: Path) -> Pair:
    with ThreadPoolExecutor(2) as pool:
        idle = [*pool.map(partial(_idle, stack, directory), _BOTH)]
        done = [*pool.map(partial(_busy, stack, pages, repeat, directory), _BOTH)]
    return Pair(*(Cost(each, *busy) for each, busy in zip(idle, done, strict=True)))


def _idle(stack: LocalStack, directory: Path, shares: bool) -> float:  # noqa: FBT001 of a map
    with _running(stack, directory, (), 0, shares=shares) as program:
        processes = processes_on(program.port)
        before = sum(cpu(processes))
        time.sleep(_IDLE_SECONDS)
        return (sum(cpu(processes)) - before) / _IDLE_SECONDS


def _busy(
    stack: LocalStack,
    pages: Sequence[Page],
    repeat: int,
    directory: Path,
    shares: bool,  # noqa: FBT001 of a map
) -> tuple[float, float]:
    with _running(stack, directory, pages, repeat, shares=shares) as program:
        emptied = watch(program, stack, "rules", len(pages) * repeat, with_sites=True)
    return emptied.cpu / emptied.pages, emptied.seconds


@contextmanager
def _running(
    stack: LocalStack, directory: Path, pages: Sequence[Page], repeat: int, *, shares: bool
) -> Iterator[BenchedWorker]:
    """Run a worker on topics that hold the pages, with a connected page where it shares its figures."""
    topics = new_topics(monitoring=f"bench-{uuid4().hex[:8]}-figures" if shares else None)
    asyncio.run(fill(KafkaSettings(stack.addresses.kafka), topics, pages, repeat))
    program = BenchedWorker(stack.addresses, topics, "rules", free_ports(1)[0], with_blocks=False)
    with (
        running(program, directory),
        _connected(f"{program.monitoring.url}events?of=group") if shares else nullcontext(),
    ):
        yield program


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


def report(pairs: Sequence[Pair]) -> str:
    """Return the medians of the pairs."""
    idle = [1000 * (each.shared.idle - each.alone.idle) for each in pairs]
    more = [each.shared.page / each.alone.page - 1 for each in pairs]
    slower = [each.shared.seconds / each.alone.seconds - 1 for each in pairs]
    return "\n".join(
        [
            f"Figures on a topic, and a connected page, beside neither; medians of {len(pairs)} pairs:",
            f"without pages: {median(idle):.1f} ms of CPU time a second more "
            f"({min(idle):.1f} to {max(idle):.1f}), "
            f"beside {1000 * median(each.alone.idle for each in pairs):.1f} ms",
            f"with pages: {median(more):+.1%} CPU time a page ({min(more):+.1%} to {max(more):+.1%}), beside "
            f"{1000 * median(each.alone.page for each in pairs):.2f} ms; "
            f"{median(slower):+.1%} time by the clock ({min(slower):+.1%} to {max(slower):+.1%})",
        ]
    )
