"""The last hour of a worker: a point every ten seconds, and never more of them."""

from collections import deque
from dataclasses import dataclass

from dehusk.streams.worker.live.quantiles import Quantiles

SLOT_SECONDS = 10
HOUR_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Point:
    """A worker at one moment."""

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
    steps: dict[str, Quantiles]
    """Of the last minute, for each step that was done in it."""


class History:
    """The points of the hour, of which the last one stands for its ten seconds until they are over."""

    def __init__(self) -> None:
        self._points: deque[Point] = deque(maxlen=HOUR_SECONDS // SLOT_SECONDS)

    def add(self, point: Point) -> None:
        """Add a point in the place of those of its ten seconds, or of later ones: clocks are set back."""
        while self._points and _slot(self._points[-1]) >= _slot(point):
            self._points.pop()
        self._points.append(point)

    @property
    def points(self) -> list[Point]:
        """Oldest first."""
        return list(self._points)


def _slot(point: Point) -> int:
    return int(point.time // SLOT_SECONDS)
