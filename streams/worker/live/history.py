"""The last hour of a worker: a point every ten seconds, and never more of them."""

from collections import deque
from dataclasses import dataclass

from dehusk.streams.worker.counts import STEP_BOUNDS
from dehusk.streams.worker.live.quantiles import Quantiles, quantiles

SLOT_SECONDS = 10
HOUR_SECONDS = 3600
SLOTS = HOUR_SECONDS // SLOT_SECONDS


@dataclass(frozen=True, slots=True)
class Point:
    """A worker, or several, at one moment."""

    time: float
    """Seconds since 1970."""
    pages_per_second: float
    """Over the last ten seconds, as `bytes_per_second` and `kept`."""
    bytes_per_second: float
    kept: float | None
    """Characters of text per byte of message; None where nothing was done."""
    lag: int | None
    """None while the worker waits for its partitions."""
    in_flight: int
    memory: int | None
    """Bytes of the worker and its processes; None where the system does not tell."""
    steps: dict[str, tuple[int, ...]]
    """How many batches of the last minute took so long for each step, in each bucket of STEP_BOUNDS alone."""

    def shown(self) -> dict[str, object]:
        """Its fields, with quantiles in place of the counts of steps."""
        found = {step: quantiles(STEP_BOUNDS, counts) for step, counts in self.steps.items()}
        steps: dict[str, Quantiles] = {step: each for step, each in found.items() if each is not None}
        return {name: getattr(self, name) for name in self.__slots__} | {"steps": steps}


class History:
    """The points of the hour, of which the last one stands for its ten seconds until they are over."""

    def __init__(self) -> None:
        self._points: deque[Point] = deque(maxlen=SLOTS)

    def add(self, point: Point) -> None:
        """Add a point in the place of those of its ten seconds, or of later ones: clocks are set back."""
        while self._points and slot_of(self._points[-1].time) >= slot_of(point.time):
            self._points.pop()
        self._points.append(point)

    @property
    def points(self) -> list[Point]:
        """Oldest first."""
        return list(self._points)


def slot_of(time: float) -> int:
    """The number of the ten seconds that a time, in seconds since 1970, is in."""
    return int(time // SLOT_SECONDS)
