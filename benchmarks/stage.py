"""Stage of swaps under load: a local stack, its workers, and what is produced, published and done there."""

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchmarks.stream import new_topics
from benchmarks.versions import MODEL, USUAL
from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.rollout import Rollout
from dehusk.streams.local.folder import free_ports
from dehusk.streams.local.process import Service
from dehusk.streams.local.stack import Addresses
from dehusk.streams.local.worker import Worker
from dehusk.streams.settings import KafkaSettings

_DEHUSK = Path(sys.executable).with_name("dehusk")
_WORKERS = 2
_TRITON_SECONDS = 10
_SESSION_SECONDS = 6
_PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Size:
    """Size of the benchmark."""

    swaps: int
    """Swaps back and forth: one while Triton restarts, one while a worker is killed, the last at random."""
    rate: float
    """Pages a second."""
    steady_seconds: float
    """Seconds before the first swap."""
    pause_seconds: float
    """Largest pause after each step."""
    blocks: int
    """Blocks of content in a page."""
    at_once: int
    """Number of pairs of commands that come at once."""


@dataclass(frozen=True, slots=True)
class Document:
    """Version and times of a document."""

    key: bytes
    at: int
    """Time of its record, in milliseconds since 1970."""
    version: str
    least: float
    """Least probability of its blocks."""
    degraded: bool
    partition: int


@dataclass(slots=True)
class Step:
    """A step, with its times in milliseconds since 1970."""

    kind: str
    before: str
    """Version that served."""
    after: str
    """Version that is to serve at the end."""
    began: int = 0
    ended: int = 0


@dataclass(slots=True)
class Outcome:
    """Contents of the topics at the end."""

    expected: str
    """Version that the last good command had serve."""
    produced: dict[bytes, int] = field(default_factory=dict)
    """Time at which each page was produced, by its key, in milliseconds since 1970."""
    documents: list[Document] = field(default_factory=list)
    dead_letters: int = 0
    states: list[tuple[Rollout, int]] = field(default_factory=list)
    """All states of the roll-out, each with the time of its record."""
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Worker(Worker):
    """A worker that follows a control topic."""

    control: str = ""

    def command(self) -> Sequence[str]:
        return [
            *Worker.command(self),
            *("--control-topic", self.control, "--triton-seconds", str(_TRITON_SECONDS)),
            *("--session-seconds", str(_SESSION_SECONDS), "--processes", "1"),
        ]


class Stage:
    """Two workers, a producer that goes on, and what they leave on the topics so far."""

    def __init__(
        self, addresses: Addresses, triton: Service, repository: Path, folder: Path, size: Size
    ) -> None:
        self.kafka = KafkaSettings(addresses.kafka)
        self.topics = new_topics("swaps")
        name = self.topics.group
        self.control = f"{name}-control"
        self.triton, self.repository, self.addresses, self.size = triton, repository, addresses, size
        self.random = Random(1)
        self.workers = [
            Service(
                _Worker(addresses, self.topics, "triton", port, name=f"{name}-{port}", control=self.control),
                folder / f"{name}-{port}.log",
            )
            for port in free_ports(_WORKERS)
        ]
        self.sent: list[bytes] = []
        self.documents: list[Document] = []
        self.states: list[tuple[Rollout, int]] = []
        self.steps: list[Step] = []
        self.serving = USUAL

    @property
    def state(self) -> Rollout:
        """Current state."""
        return self.states[-1][0]

    @property
    def waiting(self) -> int:
        """Pages that were sent, and have no document yet."""
        return len(self.sent) - len({each.key for each in self.documents})

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition.

        Raises:
            UnavailableError: it does not come.
        """
        deadline = time.monotonic() + _PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                words = "\n".join(worker.last_words() for worker in self.workers)
                raise UnavailableError(f"still waiting after {_PATIENCE:.0f} s: {what}\n{words}")
            await asyncio.sleep(0.05)

    async def command(self, name: str, version: str = "", *options: str) -> str:
        """Run a command; return its standard error, empty where it succeeded.

        Raises:
            UnavailableError: it ended otherwise than by a refusal.
        """
        where = ("--brokers", self.kafka.brokers, "--group", self.topics.group)
        running = await asyncio.create_subprocess_exec(
            *(str(_DEHUSK), "model", *_named(name, version), *options, *where),
            *("--control-topic", self.control, "--yes"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        _, errors = await running.communicate()
        if running.returncode not in (0, 1) or b"Traceback" in errors:
            raise UnavailableError(f"{name} {version} ended with {running.returncode}: {errors.decode()}")
        return errors.decode() if running.returncode else ""

    async def must(self, name: str, version: str = "", *options: str) -> None:
        """Run a command that has to succeed."""
        if errors := await self.command(name, version, *options):
            raise UnavailableError(f"{name} {version}: {errors}")


def _named(name: str, version: str) -> tuple[str, ...]:
    """Return the words that name what a command is about; workers see whether a version is served."""
    return (name, f"{MODEL}/{version}", "--without-triton") if version else (name, MODEL)
