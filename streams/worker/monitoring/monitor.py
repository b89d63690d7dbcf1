"""Monitor of a worker: its state now and points of its history, for its log, its pages and its group."""

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

from dehusk.streams.availability import Dependencies, Dependency
from dehusk.streams.monitoring.outages import OutageLog
from dehusk.streams.monitoring.state import (
    STEP_BOUNDS,
    Counts,
    DependencyState,
    Outage,
    PartitionLag,
    Point,
    State,
    Totals,
    largest_lags,
)
from dehusk.streams.rollout.view import RolloutView
from dehusk.streams.worker.input.lag import STANDSTILL_SECONDS, Backlog
from dehusk.streams.worker.monitoring.drops import DropLog, DropsByReason
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.monitoring.servers import Servers

_VERSION = version("dehusk")
_RATE_SECONDS = 10
_STEP_SECONDS = 60
UNREADY_SECONDS = 10.0
"""Silence of a server after which the worker is not ready; on a starved machine, answers take seconds."""
_PROC = Path("/proc")
_KIB = 1024
_ENDED = (FileNotFoundError, ProcessLookupError)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Footprint:
    """Memory of a process tree."""

    bytes: int
    """Shared memory is counted once."""
    processes: int


def measure_footprint(root: int | None = None) -> Footprint | None:
    """Measure a process, by default this one, and its descendants; None where the system does not tell."""
    process = os.getpid() if root is None else root
    if not Path(_PROC, str(process), "task", str(process), "children").exists():
        return None
    try:
        sizes = list(_sizes(process))
    except PermissionError:  # a descendant of other rights
        return None
    return Footprint(sum(sizes), len(sizes)) if sizes else None


def _sizes(process: int) -> Iterator[int]:
    """Yield the bytes of a process and of each descendant, except those that end meanwhile."""
    folder = _PROC / str(process)
    with suppress(*_ENDED):
        rollup = (folder / "smaps_rollup").read_text().splitlines()[1:]
        fields = dict(line.split(":", 1) for line in rollup)
        yield int(fields["Pss"].split()[0]) * _KIB  # shared memory is split among those that share it
        for thread in (folder / "task").iterdir():
            for child in _children(thread):
                yield from _sizes(child)


def _children(thread: Path) -> list[int]:
    try:
        return [int(child) for child in (thread / "children").read_text().split()]
    except _ENDED:
        return []


@dataclass(frozen=True, slots=True)
class _Sample:
    """Counts at a moment."""

    seconds: float
    totals: Totals
    characters: int
    steps: dict[str, list[int]]
    """As `Metrics.step_counts`."""


@dataclass(slots=True)
class Monitor:
    """Measurements of a worker for its log, pages and history."""

    metrics: Metrics
    dependencies: Dependencies
    drops: DropLog
    in_flight: Callable[[], int]
    backlog: Callable[[], Backlog]
    is_member: Callable[[], bool] = lambda: True
    """Membership in the consumer group, confirmed by Kafka: while it is not, nothing is sent."""
    rollout: Callable[[], RolloutView | None] = lambda: None
    notes: Callable[[], list[str]] = list
    """Notices that keep no page waiting."""
    max_in_flight: int = 0
    servers: Servers = field(default_factory=Servers)
    clock: Callable[[], float] = time.monotonic
    started: float = field(default_factory=time.time)
    footprint: Footprint | None = field(default=None, init=False)
    """Memory of the worker when it was last measured."""
    _outages: OutageLog = field(default_factory=OutageLog, init=False)
    _samples: deque[_Sample] = field(init=False)

    def __post_init__(self) -> None:
        self._samples = deque([self._sample()], maxlen=_STEP_SECONDS + 1)

    def record(self, now: float) -> Point:
        """Take the sample of a second; return the point of a time in seconds since 1970."""
        self._samples.append(self._sample())
        self._outages.note(self._missing(), now)
        return self._point(now, self._samples, self.backlog())

    def state(self, point: Point | None = None) -> State:
        """Return the state of the worker, with a point of its history or, by default, a new one."""
        backlog = self.backlog()
        assigned = backlog.partitions or {}
        lags = [PartitionLag(*partition, lag) for partition, lag in assigned.items() if lag is not None]
        largest = largest_lags(lags)
        return State(
            point or self._point(time.time(), [*self._samples, self._sample()], backlog),
            version=_VERSION,
            model=self._model(),
            started=self.started,
            counts=Counts(
                self.metrics.totals,
                _counts(self.drops.skipped),
                _counts(self.drops.dead_letters),
                self.metrics.degraded,
            ),
            hindrances=tuple(self._hindrances(backlog)),
            most_in_flight=self.max_in_flight,
            processes=self.footprint.processes if self.footprint else None,
            partitions=largest,
            more_partitions=len(assigned) - len(largest),
            dependencies=tuple(map(_state_of, self.dependencies)),
            triton=self.servers.triton,
            redis=self.servers.redis,
            outages=self._outages.of_the_hour(time.time()),
        )

    def _model(self) -> str | None:
        """Return the model that labeled the last document or, if that was a canary, the one that serves."""
        if (model := self.metrics.model) is None:
            return None
        named = self.metrics.serving.get(model, model)
        return f"{named.name} version {named.version}"

    def is_ready(self) -> bool:
        """Return True while the worker surely has and reads its partitions, and misses no dependency."""
        now, backlog = self.clock(), self.backlog()
        silent_since = [each.silent_since for each in self.dependencies if each.silent_since is not None]
        return not (
            backlog.partitions is None
            or backlog.unread_seconds >= STANDSTILL_SECONDS
            or not self.is_member()
            or any(each.unavailable for each in self.dependencies)
            or any(now - since >= UNREADY_SECONDS for since in silent_since)
        )

    def report(self) -> dict[str, object]:
        """Return the content of `/report`."""
        state = self.state()
        return {
            "totals": state.counts.totals,
            "pages_per_second": state.point.pages_per_second,
            "bytes_per_second": state.point.bytes_per_second,
            "in_flight": state.point.in_flight,
            "lag": state.point.lag,
            "unavailable": {each.name: each.reason for each in state.unavailable},
            "skipped": self.drops.skipped,
            "dead_letters": self.drops.dead_letters,
            "notes": self.notes(),
        }

    def describe(self) -> str:
        """Describe the worker in a line."""
        state = self.state()
        point = state.point
        lag = "" if point.lag is None else f", lag {point.lag:,}"
        return (
            f"{point.pages_per_second:.0f} pages/s, {point.bytes_per_second / 1e6:.1f} MB/s; "
            f"{state.counts.totals}; "
            f"{'; '.join([f'{point.in_flight:,} in flight{lag}', *state.hindrances, *self.notes()])}"
        )

    async def log_every(self, seconds: float) -> None:
        """Log the description every so many seconds, until cancelled."""
        while True:
            await asyncio.sleep(seconds)
            _log.info("%s", self.describe())

    def _hindrances(self, backlog: Backlog) -> Iterator[str]:
        if backlog.partitions is None:
            yield "waits for its partitions"
        elif not self.is_member():
            yield "waits for Kafka to confirm its membership in the group"
        elif backlog.unread_seconds >= STANDSTILL_SECONDS:
            yield f"has read nothing for {backlog.unread_seconds:.0f} s, though the brokers hold messages"
        for each in self.dependencies.missing:
            yield f"{each.name} is unavailable: {each.trouble}"

    def _missing(self) -> Iterator[Outage]:
        for each in map(_state_of, self.dependencies):
            if each.unavailable_since is not None:
                yield Outage(each.name, each.unavailable_since, None, each.reason)

    def _sample(self) -> _Sample:
        metrics = self.metrics
        return _Sample(self.clock(), metrics.totals, metrics.characters, metrics.step_counts)

    def _point(self, now: float, samples: Sequence[_Sample], backlog: Backlog) -> Point:
        after, before = samples[-1], samples[max(-len(samples), -1 - _RATE_SECONDS)]
        seconds, volume = after.seconds - before.seconds, after.totals.bytes - before.totals.bytes

        def rate(name: str) -> float:
            return float(getattr(after.totals, name) - getattr(before.totals, name)) / seconds

        return Point(
            now,
            pages_per_second=rate("pages"),
            bytes_per_second=rate("bytes"),
            kept=(after.characters - before.characters) / volume if volume else None,
            lag=backlog.messages,
            in_flight=self.in_flight(),
            memory=self.footprint.bytes if self.footprint else None,
            steps=_steps(samples[0].steps, after.steps),
            lag_seconds=backlog.seconds,
            arriving_per_second=backlog.arriving_per_second,
            done_per_second=rate("messages"),
            skipped_per_second=rate("skipped"),
            dead_letters_per_second=rate("dead_letters"),
        )


def _steps(before: dict[str, list[int]], after: dict[str, list[int]]) -> dict[str, tuple[int, ...]]:
    """Return the batches in each bucket alone, for each step that was done between two samples."""
    none = [0] * len(STEP_BOUNDS)
    steps = {step: _bucket_counts(before.get(step, none), counts) for step, counts in after.items()}
    return {step: counts for step, counts in steps.items() if any(counts)}


def _bucket_counts(before: Sequence[int], after: Sequence[int]) -> tuple[int, ...]:
    """Return the growth of each bucket alone, of counts that include those of the buckets below."""
    growth = [late - early for early, late in zip(before, after, strict=True)]
    return tuple(count - below for below, count in pairwise([0, *growth]))


def _counts(drops: DropsByReason) -> dict[str, int]:
    return {reason: each.count for reason, each in drops.items()}


def _state_of(dependency: Dependency) -> DependencyState:
    since = dependency.missing_since
    return DependencyState(
        dependency.name,
        dependency.consequence,
        None if since is None else round(time.time() - (time.monotonic() - since)),
        dependency.trouble,
    )
