"""F1 against CPU time a page, drawn with the characters of a terminal."""

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10
from string import ascii_lowercase

from dehusk.training.comparison.summary import Row, Section

_WIDTH = 72
_HEIGHT = 14
_STEP = 0.05
"""The axis of F1 begins and ends at multiples of it."""
_AXIS = " " * 7


def text_chart(section: Section) -> str:
    """A letter for each labeler, the best first: F1 upwards, the logarithm of the time to the right.

    Below it are their names, marked as in the tables.
    """
    rows = sorted(section.rows, key=lambda row: -row.f1.mean)
    low = floor(min(row.f1.mean for row in rows) / _STEP) * _STEP
    high = max(ceil(max(row.f1.mean for row in rows) / _STEP) * _STEP, low + _STEP)
    first, last = _decades(rows)
    cells = [[" "] * _WIDTH for _ in range(_HEIGHT)]
    for letter, row in zip(_letters(), rows, strict=False):
        column = round((log10(_time(row)) - first) / (last - first) * (_WIDTH - 1))
        line = round((high - row.f1.mean) / (high - low) * (_HEIGHT - 1))
        _put(cells[line], column, letter)
    lines = [f"{section.name}: word F1 by ms/page", *_lines(cells, low, high), *_times(first, last)]
    for letter, row in zip(_letters(), rows, strict=False):
        lines.append(f"{_AXIS}{letter}  {row.f1.mean:.3f}  {row.milliseconds:8.2f} ms  {row.marked_name}")
    return "\n".join(lines)


def _letters() -> Iterator[str]:
    yield from ascii_lowercase
    yield from ascii_lowercase.upper()
    while True:
        yield "+"


def _time(row: Row) -> float:
    return max(row.milliseconds, 1e-3)


def _decades(rows: Sequence[Row]) -> tuple[int, int]:
    """The powers of ten between which all times lie."""
    times = [log10(_time(row)) for row in rows]
    first = floor(min(times))
    return first, max(ceil(max(times)), first + 1)


def _put(line: list[str], column: int, letter: str) -> None:
    """Put a letter at the column, or the next one that is free."""
    free = [place for place, taken in enumerate(line) if taken == " "]
    if free:
        line[min(free, key=lambda place: abs(place - column))] = letter


def _lines(cells: Sequence[Sequence[str]], low: float, high: float) -> Iterator[str]:
    last = len(cells) - 1
    for number, line in enumerate(cells):
        value = high - (high - low) * number / last
        axis = f"{value:6.3f} ┤" if number in (0, last // 2, last) else f"{_AXIS}│"
        yield f"{axis}{''.join(line)}".rstrip()


def _times(first: int, last: int) -> Iterator[str]:
    """The axis of times, and what its marks are."""
    unit = (_WIDTH - 1) / (last - first)
    marks = {round((power - first) * unit): power for power in range(first, last + 1)}
    yield f"{_AXIS}└" + "".join("┴" if place in marks else "─" for place in range(_WIDTH))
    line = [" "] * (_WIDTH + 8)
    for place, power in marks.items():
        line[place : place + 6] = f"{10.0**power:g}".ljust(6)
    yield f"{_AXIS} {''.join(line).rstrip()} ms"
