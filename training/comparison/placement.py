"""Where labels of points stand in a picture so that they can be read: beside them, where nothing else is."""

from collections.abc import Iterator, Sequence
from itertools import product
from math import hypot
from typing import NamedTuple

_GAP = 8.0
"""Between a point and its label, at least."""
_RADIUS = 4.0
"""Of a point."""
_PAD = 1.0
_CROSSED = 60.0
"""A line that crosses a label is worth so much more distance."""
_COVERED = 1e4
"""So is a label over another one or a point, or beyond the picture."""
_STEPS = 60
"""Most lines of text between a point and its label."""


class Point(NamedTuple):
    """A place, in pixels from the lower left corner."""

    x: float
    y: float


class Box(NamedTuple):
    """A rectangle, in pixels."""

    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: "Box") -> bool:
        """Whether they share some area."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )

    def holds(self, other: "Box") -> bool:
        """Whether the other lies within."""
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.bottom <= other.bottom
            and other.top <= self.top
        )

    def nearest(self, point: Point) -> Point:
        """Its place that is nearest to a point."""
        return Point(min(max(point.x, self.left), self.right), min(max(point.y, self.bottom), self.top))

    def is_crossed(self, line: "Line") -> bool:
        """Whether a line passes through it."""
        start, end, first, last = *line, 0.0, 1.0
        for begin, by, low, high in (
            (start.x, end.x - start.x, self.left, self.right),
            (start.y, end.y - start.y, self.bottom, self.top),
        ):
            if not by:
                if not low < begin < high:
                    return False
                continue
            enters, leaves = sorted(((low - begin) / by, (high - begin) / by))
            first, last = max(first, enters), min(last, leaves)
        return first < last


class Line(NamedTuple):
    """Leads from a point to its label."""

    start: Point
    end: Point


def place_labels(points: Sequence[Point], sizes: Sequence[tuple[float, float]], picture: Box) -> list[Box]:
    """The box of each point's label, given its width and height in pixels.

    Where there is room, labels cover neither each other nor points; they stand near their own.
    """
    dots = [Box(x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS) for x, y in points]
    placed: list[Box] = []
    lines: list[Line] = []
    for point, size in zip(points, sizes, strict=True):
        best = min(_beside(point, size), key=lambda box: _cost(box, point, [*dots, *placed], lines, picture))
        placed.append(best)
        lines.append(Line(point, best.nearest(point)))
    return placed


def _beside(point: Point, size: tuple[float, float]) -> Iterator[Box]:
    """Places of a label on the right and on the left of a point, and above and below these."""
    width, height = size
    lefts = (point.x + _GAP, point.x - _GAP - width, point.x - width / 2)
    for left, step in product(lefts, range(-_STEPS, _STEPS + 1)):
        middle = point.y + step * (height + 2 * _PAD) / 2
        yield Box(left, middle - height / 2, left + width, middle + height / 2)


def _cost(
    box: Box, point: Point, taken: Sequence[Box], lines: Sequence[Line], picture: Box
) -> tuple[float, float]:
    """What speaks against a place: its distance, what it covers and crosses; then to be further left."""
    padded = Box(box.left - _PAD, box.bottom - _PAD, box.right + _PAD, box.top + _PAD)
    end = box.nearest(point)
    covered = sum(map(padded.meets, taken)) + (not picture.holds(padded))
    crossed = sum(map(padded.is_crossed, lines)) + sum(each.is_crossed(Line(point, end)) for each in taken)
    distance = hypot(end.x - point.x, end.y - point.y)
    return distance + _CROSSED * crossed + _COVERED * covered, -box.left
