"""What the live page shows of a worker, as JSON."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version

from faust.types import TP

from dehusk.streams.worker.availability import Dependency
from dehusk.streams.worker.dependencies import Dependencies
from dehusk.streams.worker.live.footprint import Footprint
from dehusk.streams.worker.live.history import Point
from dehusk.streams.worker.metrics import Metrics
from dehusk.streams.worker.progress import Report

_MOST_PARTITIONS = 100
_VERSION = version("dehusk")
PartitionLags = Callable[[], Mapping[TP, int] | None]


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """How far a partition is behind."""

    topic: str
    partition: int
    lag: int
    """Messages."""


@dataclass(frozen=True, slots=True)
class DependencyState:
    """Whether a dependency answers."""

    name: str
    consequence: str
    """What happens while it does not."""
    unavailable_since: float | None
    """Seconds since 1970; None while it answers."""
    reason: str


@dataclass(frozen=True, slots=True)
class State:
    """A worker now."""

    point: Point
    version: str
    """Of dehusk."""
    model: str | None
    """What labeled the last document, with its version; None before the first."""
    started: float
    """Seconds since 1970."""
    report: Report
    hindrances: list[str]
    most_in_flight: int
    processes: int | None
    """None where the system does not tell."""
    partitions: list[PartitionLag]
    """Those that are the farthest behind, in their order."""
    more_partitions: int
    """How many others there are."""
    dependencies: list[DependencyState]


@dataclass(frozen=True, slots=True)
class Watched:
    """Where the state of a worker is found."""

    metrics: Metrics
    dependencies: Dependencies
    report: Callable[[], Report]
    partition_lags: PartitionLags
    most_in_flight: int
    started: float

    def state(self, point: Point, footprint: Footprint | None) -> State:
        """The state, with the last point of the history."""
        report, model = self.report(), self.metrics.model
        lags = self.partition_lags() or {}
        partitions = _farthest_behind(lags)
        return State(
            point,
            version=_VERSION,
            model=f"{model.name} version {model.version}" if model else None,
            started=self.started,
            report=report,
            hindrances=report.hindrances,
            most_in_flight=self.most_in_flight,
            processes=footprint.processes if footprint else None,
            partitions=partitions,
            more_partitions=len(lags) - len(partitions),
            dependencies=[_state_of(dependency) for dependency in self.dependencies],
        )


def _farthest_behind(lags: Mapping[TP, int]) -> list[PartitionLag]:
    farthest = sorted(lags, key=lambda partition: lags[partition], reverse=True)[:_MOST_PARTITIONS]
    return [PartitionLag(each.topic, each.partition, lags[each]) for each in sorted(farthest)]


def _state_of(dependency: Dependency) -> DependencyState:
    since = dependency.unavailable_since
    return DependencyState(
        dependency.name,
        dependency.consequence,
        None if since is None else round(time.time() - (time.monotonic() - since)),
        "" if since is None else dependency.reason,
    )
