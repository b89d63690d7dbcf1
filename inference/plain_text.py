"""Content blocks as plain text: lines and paragraphs, items of lists, rows of tables."""

from collections.abc import Sequence
from textwrap import indent

import numpy as np
import numpy.typing as npt

from schemas.pages import BULLET, Boundary, SegmentedPage

# Plain integers: operators of an IntFlag cost more than the rest of the loop.
_CELL, _ROW, _PARAGRAPH = Boundary.CELL.value, Boundary.ROW.value, Boundary.PARAGRAPH.value
_SPACE = Boundary.SPACE.value
_WITHIN_LINE = Boundary.VISIBILITY.value | _SPACE

_INDENTED_TOGETHER = 1 << 16
"""Characters that are cut into lines at once: millions of lines take many times the memory of their text."""
_WIDEST_INDENT = 40
"""Deeper items are indented no further: what stands in a thousand lists is not worth a thousand indents."""


def plain_text(segmented: SegmentedPage, content: Sequence[bool]) -> str:
    """The content blocks as they stand on the page.

    Blank lines part paragraphs, tabs the cells of a row, spaces the blocks in one of these cells. An item is
    marked by `- ` or its number, and what else stands in it is indented, lists in it included. A line goes on
    behind hidden text in it that is left out.
    """
    of_items, cells = _columns(segmented.lists_and_tables, len(segmented))
    parts: list[str] = []
    items, row = _Items(segmented), _Row(parts)
    passed, was_hidden = 0, False
    columns = (segmented.texts, segmented.boundaries, segmented.hidden, of_items, cells, content)
    for text, boundary, is_hidden, item, cell, is_content in zip(*columns, strict=True):
        passed |= boundary
        if boundary & _ROW:
            row = _Row(parts)
        if not is_content:
            if cell:
                row.leave_out(cell)
            continue
        margin = ""
        goes_on = bool(parts and passed) and not passed & ~_WITHIN_LINE and is_hidden == was_hidden
        if cell:
            margin = row.margin(cell)
            parting = row.parting(cell, text)
        elif goes_on:
            parting = " " if passed & _SPACE else ""
        else:
            parting = "\t" if parts and passed & _CELL and not passed & (_ROW | _PARAGRAPH) else ""
        if parting or goes_on:
            parts += parting, items.marked(item, text, margin=False)
        else:
            if parts:
                parts.append("\n\n" if passed & _PARAGRAPH and not items.goes_on(item) else "\n")
            parts.append(items.marked(item, margin + text))
        passed, was_hidden = 0, is_hidden
    return "".join(parts)


def _columns(two: npt.NDArray[np.int32] | None, length: int) -> tuple[list[int], list[int]]:
    """Two columns, of zeros where they are not known."""
    first, second = two.tolist() if two is not None else ([0] * length, [0] * length)
    return first, second


class _Row:
    """A row of a table as it is written.

    A cell that is left out leaves no empty column before the others; one written alone keeps its lines.
    """

    __slots__ = ("_column", "_is_parted", "_last_left_out", "_left_out", "_lines", "_parts")

    def __init__(self, parts: list[str]) -> None:
        self._parts = parts
        self._column = self._left_out = self._last_left_out = 0
        self._is_parted = False
        self._lines: list[tuple[int, str]] = []
        """The further lines of the first cell, and where in the parts each begins."""

    def leave_out(self, cell: int) -> None:
        """Take note of a block that is not written."""
        if cell > self._last_left_out:
            self._left_out += 1
            self._last_left_out = cell

    def margin(self, cell: int) -> str:
        """The empty columns before the first cell that is written."""
        if self._column:
            return ""
        return "\t" * (cell - 1 - self._left_out + (cell == self._last_left_out))

    def parting(self, cell: int, text: str) -> str:
        """What parts a text from the one before; empty where it begins a line."""
        if cell != self._column:
            return self._enter(cell)
        if not self._is_parted:
            self._lines.append((len(self._parts), text))
        return " " if self._is_parted else ""

    def _enter(self, cell: int) -> str:
        before, self._column = self._column, cell
        if not before:
            return ""
        self._is_parted = True
        for index, text in self._lines:
            self._parts[index : index + 2] = " ", text
        self._lines.clear()
        return "\t" * (cell - before)


class _Items:
    """The items of lists as they are written: each is marked where its first text stands."""

    __slots__ = ("_indents", "_last", "_numbers", "_parents")

    def __init__(self, segmented: SegmentedPage) -> None:
        self._parents, self._numbers = _columns(segmented.items, 0)
        self._indents = {0: ""}
        """What stands before the further lines of each item that has begun."""
        self._last = 0

    def goes_on(self, item: int) -> bool:
        """Whether the first item of a list follows the text of the item that the list is in."""
        return item not in self._indents and self._around(item)[-1] == self._last != 0

    def marked(self, item: int, text: str, *, margin: bool = True) -> str:
        """A text with what stands before its lines."""
        self._last = item
        if not item:
            return text
        marker = "" if item in self._indents else self._mark(item)
        inner = self._indents[item]
        outer = inner[: len(inner) - len(marker)] if margin else ""
        return _indented(outer + marker, text, inner)

    def _mark(self, item: int) -> str:
        """The mark of an item; those around it that begin with it have none of their own."""
        *unmarked, around = self._around(item)
        margin = self._indents[around]
        self._indents.update(dict.fromkeys(unmarked, margin))
        number = self._numbers[item - 1]
        marker = "- " if number == BULLET else f"{number}. "
        self._indents[item] = (margin + " " * len(marker))[:_WIDEST_INDENT]
        return marker

    def _around(self, item: int) -> list[int]:
        """The items around one up to the first that has begun."""
        around = [self._parents[item - 1]]
        while around[-1] not in self._indents:
            around.append(self._parents[around[-1] - 1])
        return around


def _indented(mark: str, text: str, margin: str) -> str:
    """The text behind its mark, with the margin before its further lines."""
    if "\n" not in text:
        return mark + text
    pieces = [mark]
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + _INDENTED_TOGETHER) + 1 or len(text)
        pieces.append(indent(text[begin:end], margin)[0 if begin else len(margin) :])
        begin = end
    return "".join(pieces)
