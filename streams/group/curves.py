"""The points of workers' last hour in arrays, and their sums.

A worker takes 75 kB, whatever it has been through; sums of 256 workers take some 10 ms.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dehusk.streams.worker.counts import STEP_BOUNDS, STEPS
from dehusk.streams.worker.live.history import SLOT_SECONDS, SLOTS, Point, slot_of

_PAGES, _BYTES, _CHARACTERS, _IN_FLIGHT, _LAG, _MEMORY = range(6)
_MOST_BATCHES = np.iinfo(np.uint16).max
"""In a bucket, in a minute; what is more counts as that."""
_NEVER = -1
Floats = npt.NDArray[np.float64]


class Curve:
    """The points of one worker: the last one of each ten seconds of an hour."""

    def __init__(self) -> None:
        self.slots = np.full(SLOTS, _NEVER, np.int64)
        """Which ten seconds each row is of."""
        self.figures = np.full((SLOTS, 6), np.nan)
        """Rates, messages and bytes, NaN where they are not known."""
        self.steps = np.zeros((SLOTS, len(STEPS), len(STEP_BOUNDS)), np.uint16)

    def add(self, point: Point) -> None:
        """Take a point in the place of an older one of the same row."""
        slot = slot_of(point.time)
        row = slot % SLOTS
        if slot < self.slots[row]:
            return
        self.slots[row] = slot
        self.figures[row] = (
            point.pages_per_second,
            point.bytes_per_second,
            (point.kept or 0.0) * point.bytes_per_second,
            point.in_flight,
            np.nan if point.lag is None else point.lag,
            np.nan if point.memory is None else point.memory,
        )
        self.steps[row] = [_counts(point, step) for step in STEPS]


def _counts(point: Point, step: str) -> tuple[int, ...]:
    counts = point.steps.get(step, ())
    if len(counts) != len(STEP_BOUNDS):
        return (0,) * len(STEP_BOUNDS)
    return tuple(min(max(count, 0), _MOST_BATCHES) for count in counts)


def summed_hour(curves: Iterable[Curve], newest: int) -> list[Point]:
    """The sums of the workers' points of each slot of the hour that ends with one; oldest first."""
    rows = np.arange(SLOTS)
    slots = newest - (newest - rows) % SLOTS
    workers = np.zeros(SLOTS, int)
    known, figures = np.zeros((SLOTS, 6), int), np.zeros((SLOTS, 6))
    steps = np.zeros((SLOTS, len(STEPS), len(STEP_BOUNDS)), int)
    for curve in curves:
        there = curve.slots == slots
        values = np.where(there[:, None], curve.figures, np.nan)
        workers += there
        known += ~np.isnan(values)
        figures += np.nan_to_num(values)
        steps += curve.steps * there[:, None, None]
    figures[known == 0] = np.nan
    order = rows[np.argsort(slots)]
    return [_point(int(slots[row]), figures[row], steps[row]) for row in order if workers[row]]


def _point(slot: int, figures: Floats, steps: npt.NDArray[np.int64]) -> Point:
    """A point in the middle of its ten seconds."""
    volume = float(figures[_BYTES])
    return Point(
        (slot + 0.5) * SLOT_SECONDS,
        float(figures[_PAGES]),
        volume,
        float(figures[_CHARACTERS]) / volume if volume else None,
        _known(figures[_LAG]),
        int(figures[_IN_FLIGHT]),
        _known(figures[_MEMORY]),
        {step: tuple(counts.tolist()) for step, counts in zip(STEPS, steps, strict=True) if counts.any()},
    )


def _known(figure: np.float64) -> int | None:
    return None if np.isnan(figure) else int(figure)
