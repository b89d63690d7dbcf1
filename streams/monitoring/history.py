"""Points of the last hour, one for each ten seconds (a slot): of one worker, or summed over many.

A worker's own points are kept as they are; those of others in arrays, 90 kB for each worker. Summing 256
workers takes some 10 ms.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dehusk.streams.monitoring.state import STEP_BOUNDS, STEPS, Point

SLOT_SECONDS = 10
HOUR_SECONDS = 3600
SLOTS = HOUR_SECONDS // SLOT_SECONDS
_SUMMED = (
    "pages_per_second",
    "bytes_per_second",
    "lag",
    "in_flight",
    "memory",
    "arriving_per_second",
    "done_per_second",
    "skipped_per_second",
    "dead_letters_per_second",
)
"""Figures of a point that are those of all workers together."""
_CHARACTERS, _AGE = len(_SUMMED), len(_SUMMED) + 1
"""Columns of the characters of text per second, and of the age of the oldest message."""
_COLUMNS = _AGE + 1
_COUNTS = {"lag", "in_flight", "memory"}
_MAX_BATCHES = np.iinfo(np.uint16).max
"""Largest count of a bucket; more are cut off."""
_NEVER = -1
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Times that batches took for a step, in seconds."""

    batches: int
    p50: float
    p95: float
    p99: float
    seconds: float
    """Seconds of all batches together, estimated by the middles of the buckets."""


def estimate_quantiles(bounds: Sequence[float], counts: Sequence[int]) -> Quantiles | None:
    """Estimate quantiles of durations that were counted in buckets, as Prometheus does; None without any.

    Args:
        bounds: the largest duration of each bucket, in seconds; the last one is infinite.
        counts: the number of durations in each bucket alone.
    """
    batches = sum(counts)
    if not batches:
        return None
    p50, p95, p99 = (_quantile(share * batches, bounds, counts) for share in (0.5, 0.95, 0.99))
    buckets = zip(pairwise([0.0, *bounds[:-1], bounds[-2]]), counts, strict=True)
    seconds = sum(count * (lower + upper) / 2 for (lower, upper), count in buckets)
    return Quantiles(batches, p50, p95, p99, seconds)


def _quantile(rank: float, bounds: Sequence[float], counts: Sequence[int]) -> float:
    """Interpolate the duration at a rank within its bucket; at most the last finite bound."""
    below = 0
    for (lower, upper), count in zip(pairwise([0.0, *bounds[:-1]]), counts, strict=False):
        if count and below + count >= rank:
            return lower + (upper - lower) * (rank - below) / count
        below += count
    return bounds[-2]


def with_quantiles(point: Point) -> dict[str, object]:
    """Return the fields of a point, with quantiles in place of the counts of steps."""
    found = {step: estimate_quantiles(STEP_BOUNDS, counts) for step, counts in point.steps.items()}
    steps = {step: each for step, each in found.items() if each is not None}
    return {field.name: getattr(point, field.name) for field in fields(point)} | {"steps": steps}


def slot_of(time: float) -> int:
    """Return the number of the slot that a time, in seconds since 1970, is in."""
    return int(time // SLOT_SECONDS)


class History:
    """A worker's own points, one per slot; the last one is replaced until its slot is over."""

    def __init__(self) -> None:
        self._points: deque[Point] = deque(maxlen=SLOTS)

    def add(self, point: Point) -> None:
        """Add a point, replacing those of its slot and of later ones, as the clock may be set back."""
        while self._points and slot_of(self._points[-1].time) >= slot_of(point.time):
            self._points.pop()
        self._points.append(point)

    @property
    def points(self) -> list[Point]:
        """The points, oldest first."""
        return list(self._points)


class Curve:
    """Points of another worker in arrays, a row for each slot."""

    def __init__(self) -> None:
        self.slots = np.full(SLOTS, _NEVER, np.int64)
        """Slot of each row."""
        self.figures = np.full((SLOTS, _COLUMNS), np.nan)
        """Figures as _SUMMED names them, and two more; NaN where unknown."""
        self.steps = np.zeros((SLOTS, len(STEPS), len(STEP_BOUNDS)), np.uint16)

    def add(self, point: Point, now: float) -> None:
        """Add a point in place of an older one of its row, or of one from before a clock was set back."""
        slot = slot_of(point.time)
        row = slot % SLOTS
        if slot < self.slots[row] <= slot_of(now):
            return
        self.slots[row] = slot
        self.figures[row] = _figures(point)
        self.steps[row] = [_counts(point, step) for step in STEPS]


def _figures(point: Point) -> list[float]:
    characters = (point.kept or 0.0) * point.bytes_per_second
    figures = (*(getattr(point, name) for name in _SUMMED), characters, point.lag_seconds)
    return [np.nan if figure is None else figure for figure in figures]


def _counts(point: Point, step: str) -> tuple[int, ...]:
    counts = point.steps.get(step, ())
    if len(counts) != len(STEP_BOUNDS):
        return (0,) * len(STEP_BOUNDS)
    return tuple(min(max(count, 0), _MAX_BATCHES) for count in counts)


def sum_points(points: Sequence[Point], time: float) -> Point:
    """Sum points of workers, at least one, at about that time; the kept share is weighted by bytes."""
    rows = np.array([_figures(point) for point in points])
    figures = np.where(np.isnan(rows).all(axis=0), np.nan, np.nansum(rows, axis=0))
    figures[_AGE] = np.fmax.reduce(rows[:, _AGE])
    return _point(
        time, figures, np.sum([[_counts(point, step) for step in STEPS] for point in points], axis=0)
    )


def sum_hour(curves: Iterable[Curve], newest: int) -> list[Point]:
    """Sum the workers' points of each slot of the hour that ends with `newest`; oldest first."""
    rows = np.arange(SLOTS)
    slots = newest - (newest - rows) % SLOTS
    workers = np.zeros(SLOTS, int)
    known, figures = np.zeros((SLOTS, _COLUMNS), int), np.zeros((SLOTS, _COLUMNS))
    oldest = np.full(SLOTS, np.nan)
    steps = np.zeros((SLOTS, len(STEPS), len(STEP_BOUNDS)), int)
    for curve in curves:
        there = curve.slots == slots
        values = np.where(there[:, None], curve.figures, np.nan)
        workers += there
        known += ~np.isnan(values)
        figures += np.nan_to_num(values)
        oldest = np.fmax(oldest, values[:, _AGE])
        steps += curve.steps * there[:, None, None]
    figures[known == 0] = np.nan
    figures[:, _AGE] = oldest
    order = rows[np.argsort(slots)]
    times = (slots + 0.5) * SLOT_SECONDS
    return [_point(float(times[row]), figures[row], steps[row]) for row in order if workers[row]]


def _point(time: float, figures: Floats, steps: npt.NDArray[np.int64]) -> Point:
    known = [None if np.isnan(figure) else float(figure) for figure in figures]
    summed: dict[str, Any] = {
        name: int(figure) if name in _COUNTS and figure is not None else figure
        for name, figure in zip(_SUMMED, known, strict=False)
    }
    volume = summed["bytes_per_second"]
    return Point(
        time=time,
        kept=(known[_CHARACTERS] or 0.0) / volume if volume else None,
        steps={
            step: tuple(counts.tolist()) for step, counts in zip(STEPS, steps, strict=True) if counts.any()
        },
        lag_seconds=known[_AGE],
        **summed,
    )
