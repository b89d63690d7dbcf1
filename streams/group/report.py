"""What is said of a group at once, for programs and for people."""

from dataclasses import dataclass

from dehusk.streams.group.figures import Counts, State
from dehusk.streams.group.group import Group, Row
from dehusk.streams.worker.live.history import Point


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group at one moment."""

    group: str
    state: State | None
    """The running workers together; None without any."""
    counts: Counts
    """Of all workers of the last hour, since each of them started."""
    workers: tuple[Row, ...]
    """Those that run, and those that were lost a moment ago."""
    points: tuple[Point, ...]
    """The last hour, oldest first."""
    silent_since: float | None
    """Since when no worker was heard, in seconds since 1970."""
    malformed: int
    """Messages of the topic that no worker of this version wrote."""


def report_of(group: Group) -> GroupReport:
    """The group as it is now."""
    return GroupReport(
        group.name,
        group.state,
        group.counts,
        tuple(group.rows),
        tuple(group.points()),
        group.silent_since,
        group.malformed,
    )
