"""What workers tell each other, and their pages show."""

from dataclasses import dataclass

from dehusk.streams.worker.counts import Totals
from dehusk.streams.worker.live.history import Point


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
class Counts:
    """What became of pages since the start."""

    totals: Totals
    skipped: dict[str, int]
    """By reason, as `dead_letters`."""
    dead_letters: dict[str, int]
    degraded: dict[str, int]
    """Documents that were made without a dependency, by what they lack."""


@dataclass(frozen=True, slots=True)
class TritonFigures:
    """What a Triton says of a model, whoever asks for it; means are of the last ten seconds."""

    requests_per_second: float
    """A page of many blocks is several requests."""
    batch_size: float | None
    """Requests that are answered at once; None where none was, as `queue_seconds`."""
    queue_seconds: float | None
    """How long a request waits."""
    errors: int
    """Since the server started."""


@dataclass(frozen=True, slots=True)
class RedisFigures:
    """What the servers of a Redis say, whoever uses them."""

    memory: int
    """Bytes."""
    most_memory: int | None
    """None where there is no limit."""
    hits: float | None
    """The share of lookups in the last ten seconds that found something; None without any."""


@dataclass(frozen=True, slots=True)
class State:
    """A worker now, or several of them together."""

    point: Point
    version: str
    """Of dehusk."""
    model: str | None
    """What labeled the last document, with its version; None before the first."""
    started: float
    """Seconds since 1970."""
    counts: Counts
    hindrances: tuple[str, ...]
    """What keeps it from its work, in words."""
    most_in_flight: int
    processes: int | None
    """None where the system does not tell."""
    partitions: tuple[PartitionLag, ...]
    """Those that are the farthest behind, in their order."""
    more_partitions: int
    """How many others there are."""
    dependencies: tuple[DependencyState, ...]
    triton: TritonFigures | None
    """None where there is none, or it does not tell."""
    redis: RedisFigures | None
    """None where it does not tell."""


@dataclass(frozen=True, slots=True)
class SharedState:
    """A worker's state, as others are told of it."""

    host: str
    page: str | None
    """The URL of its own page, as far as it knows; None where it has none."""
    state: State


@dataclass(frozen=True, slots=True)
class SharedPoint:
    """A point of a worker's history, and its counts when it was sent."""

    point: Point
    counts: Counts


MOST_PARTITIONS = 100


def farthest_behind(lags: list[PartitionLag]) -> tuple[PartitionLag, ...]:
    """A hundred of the partitions, in the order of their names."""
    farthest = sorted(lags, key=lambda each: each.lag, reverse=True)[:MOST_PARTITIONS]
    return tuple(sorted(farthest, key=lambda each: (each.topic, each.partition)))
