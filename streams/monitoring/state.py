"""State of a worker now, and a point of its history; both are shared as JSON, so their fields are bounded.

`msgspec.convert` checks the bounds where a state is read. A state of several workers has the same form.
"""

import math
from dataclasses import dataclass
from typing import Annotated, TypeVar

from msgspec import Meta

from dehusk.streams.wording import pluralize

STEP_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, math.inf)
"""Seconds: the buckets in which the times of steps are counted."""
STEPS = ("prepare", "label", "observe", "extract", "deliver")
"""Steps of a batch."""
MAX_PARTITIONS = 100
"""Partitions of a state that are listed with their lag."""
_MAX_LENGTH = 500
_MAX_INTEGER = 10**15
"""JavaScript knows sums of such numbers exactly."""
_MAX_NUMBER = 1e12
"""More seconds than this are no time of a calendar."""

_Item = TypeVar("_Item")
Text = Annotated[str, Meta(max_length=_MAX_LENGTH)]
Integer = Annotated[int, Meta(ge=-_MAX_INTEGER, le=_MAX_INTEGER)]
Number = Annotated[float, Meta(ge=-_MAX_NUMBER, le=_MAX_NUMBER)]
Items = Annotated[tuple[_Item, ...], Meta(max_length=_MAX_LENGTH)]
ByName = Annotated[dict[Text, _Item], Meta(max_length=_MAX_LENGTH)]


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts since the worker started; pages = documents + tombstones + skipped + dead letters."""

    messages: Integer
    bytes: Integer
    pages: Integer
    documents: Integer
    empty_documents: Integer
    """Documents without text."""
    tombstones: Integer
    skipped: Integer
    dead_letters: Integer

    def __str__(self) -> str:
        return (
            f"{pluralize(self.pages, 'page')} = {pluralize(self.documents, 'document')} "
            f"({self.empty_documents:,} empty) + {pluralize(self.tombstones, 'tombstone')} "
            f"+ {self.skipped:,} skipped + {pluralize(self.dead_letters, 'dead letter')}"
        )


@dataclass(frozen=True, slots=True)
class Counts:
    """Totals and their reasons."""

    totals: Totals
    skipped: ByName[Integer]
    """By reason, as `dead_letters`."""
    dead_letters: ByName[Integer]
    degraded: ByName[Integer]
    """Documents that were made without a dependency, by what they lack."""


@dataclass(frozen=True, slots=True)
class Point:
    """A worker, or several, at one moment."""

    time: Number
    """Seconds since 1970."""
    pages_per_second: Number
    """Over the last ten seconds, as `bytes_per_second` and `kept`."""
    bytes_per_second: Number
    kept: Number | None
    """Text per byte: characters of documents per byte of message; None where nothing was done."""
    lag: Integer | None
    """Messages not done with; None while it is not known, or the worker waits for its partitions."""
    in_flight: Integer
    memory: Integer | None
    """Bytes of the worker and its processes; None where the system does not tell."""
    steps: ByName[Items[Integer]]
    """Batches of the last minute, by step and by the bucket of STEP_BOUNDS that their time is in."""
    lag_seconds: Number | None = None
    """Age of the oldest message of the lag; 0 without a lag, None where it is not known."""
    arriving_per_second: Number | None = None
    """Messages that come to the partitions, over the last twelve seconds; None where it is not known."""
    done_per_second: Number | None = None
    """Messages that are done with, over the last ten seconds, as the following are."""
    skipped_per_second: Number | None = None
    dead_letters_per_second: Number | None = None

    @property
    def catch_up_seconds(self) -> float | None:
        """Time until there is no lag, at the rates of now; infinite if it grows, None if it is not known."""
        if self.lag is None or self.arriving_per_second is None or self.done_per_second is None:
            return None
        if not self.lag:
            return 0.0
        progress = self.done_per_second - self.arriving_per_second
        return self.lag / progress if progress > 0 else math.inf


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """Lag of a partition, in messages."""

    topic: Text
    partition: Integer
    lag: Integer
    worker: Text | None = None
    """Worker that reads it, where several are shown."""


@dataclass(frozen=True, slots=True)
class DependencyState:
    """Availability of a dependency."""

    name: Text
    consequence: Text
    """Effect on the worker while it does not answer."""
    unavailable_since: Number | None
    """Seconds since 1970; None while it answers."""
    reason: Text


@dataclass(frozen=True, slots=True)
class Outage:
    """Time in which something was missing: a dependency, or a worker of the group."""

    name: Text
    since: Number
    """Seconds since 1970, as `until`."""
    until: Number | None
    """None while it lasts."""
    reason: Text


@dataclass(frozen=True, slots=True)
class TritonMetrics:
    """Use of a model by all clients of a Triton; means are of the last ten seconds."""

    requests_per_second: Number
    """A page of many blocks is several requests."""
    batch_size: Number | None
    """Requests that are answered at once; None without any, as `queue_seconds`."""
    queue_seconds: Number | None
    """Mean time that a request waits."""
    errors: Integer
    """Since the server started."""


@dataclass(frozen=True, slots=True)
class RedisMetrics:
    """Use of the servers of a Redis by all clients."""

    memory: Integer
    """Bytes."""
    most_memory: Integer | None
    """None where there is no limit."""
    hits: Number | None
    """Share of lookups in the last ten seconds that found something; None without any."""


@dataclass(frozen=True, slots=True)
class State:
    """A worker now, or several together."""

    point: Point
    version: Text
    """Of dehusk."""
    model: Text | None
    """Model and version that labeled the last document, but no canary; None before the first."""
    started: Number
    """Seconds since 1970."""
    counts: Counts
    hindrances: Items[Text]
    """Reasons why no page is cleaned now."""
    most_in_flight: Integer
    processes: Integer | None
    """None where the system does not tell."""
    partitions: Items[PartitionLag]
    """The partitions of the largest lag that is known, in the order of their names."""
    more_partitions: Integer
    """Number of the others."""
    dependencies: Items[DependencyState]
    triton: TritonMetrics | None
    """None where there is none, or it does not tell."""
    redis: RedisMetrics | None
    """None where it does not tell."""
    outages: Items[Outage] = ()
    """The latest of the last hour, oldest first."""

    @property
    def partition_count(self) -> int:
        """Number of all partitions."""
        return len(self.partitions) + self.more_partitions

    @property
    def unavailable(self) -> list[DependencyState]:
        """Dependencies that do not answer."""
        return [each for each in self.dependencies if each.unavailable_since is not None]


def largest_lags(lags: list[PartitionLag]) -> tuple[PartitionLag, ...]:
    """Return the MAX_PARTITIONS partitions of the largest lag, in the order of their names."""
    largest = sorted(lags, key=lambda each: each.lag, reverse=True)[:MAX_PARTITIONS]
    return tuple(sorted(largest, key=lambda each: (each.topic, each.partition)))
