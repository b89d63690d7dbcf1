"""Where the state of a worker is found."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version

from faust.types import TP

from dehusk.streams.group.figures import Counts, DependencyState, PartitionLag, State, farthest_behind
from dehusk.streams.worker.availability import Dependency
from dehusk.streams.worker.dependencies import Dependencies
from dehusk.streams.worker.drops import DropsByReason
from dehusk.streams.worker.live.footprint import Footprint
from dehusk.streams.worker.live.history import Point
from dehusk.streams.worker.live.servers import Servers
from dehusk.streams.worker.metrics import Metrics
from dehusk.streams.worker.progress import Report

_VERSION = version("dehusk")
PartitionLags = Callable[[], Mapping[TP, int] | None]


@dataclass(frozen=True, slots=True)
class Watched:
    """Where the state of a worker is found."""

    metrics: Metrics
    dependencies: Dependencies
    report: Callable[[], Report]
    partition_lags: PartitionLags
    most_in_flight: int
    started: float
    servers: Servers = field(default_factory=Servers)

    def state(self, point: Point, footprint: Footprint | None) -> State:
        """The state, with the last point of the history."""
        report, model = self.report(), self.metrics.model
        lags = [PartitionLag(*partition, lag) for partition, lag in (self.partition_lags() or {}).items()]
        partitions = farthest_behind(lags)
        return State(
            point,
            version=_VERSION,
            model=f"{model.name} version {model.version}" if model else None,
            started=self.started,
            counts=Counts(
                report.totals,
                _counts(report.skipped),
                _counts(report.dead_letters),
                self.metrics.degraded,
            ),
            hindrances=tuple(report.hindrances),
            most_in_flight=self.most_in_flight,
            processes=footprint.processes if footprint else None,
            partitions=partitions,
            more_partitions=len(lags) - len(partitions),
            dependencies=tuple(_state_of(dependency) for dependency in self.dependencies),
            triton=self.servers.triton,
            redis=self.servers.redis,
        )


def _counts(drops: DropsByReason) -> dict[str, int]:
    return {reason: each.count for reason, each in drops.items()}


def _state_of(dependency: Dependency) -> DependencyState:
    since = dependency.unavailable_since
    return DependencyState(
        dependency.name,
        dependency.consequence,
        None if since is None else round(time.time() - (time.monotonic() - since)),
        "" if since is None else dependency.reason,
    )
