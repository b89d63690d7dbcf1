"""Content blocks as plain text: lines and paragraphs, items of lists, rows of tables."""

from collections.abc import Sequence
from textwrap import indent

import numpy as np
import numpy.typing as npt

from schemas.pages import BULLET, Boundary, SegmentedPage

# Plain integers: operators of an IntFlag cost more than the rest of the loop.
_CELL, _ROW, _PARAGRAPH = Boundary.CELL.value, Boundary.ROW.value, Boundary.PARAGRAPH.value

_WIDEST_INDENT = 40
"""Deeper items are indented no further: what stands in a thousand lists is not worth a thousand indents."""


def plain_text(segmented: SegmentedPage, content: Sequence[bool]) -> str:
    """The content blocks as they stand on the page.

    Blank lines part paragraphs, tabs the cells of a row. An item is marked by `- ` or its number, and what
    else stands in it is indented, lists in it included.
    """
    of_items, cells = _columns(segmented.places, len(segmented))
    items, row = _Items(segmented), _Row()
    parts: list[str] = []
    passed = 0
    columns = (segmented.texts, segmented.boundaries, of_items, cells, content)
    for text, boundary, item, cell, is_content in zip(*columns, strict=True):
        passed |= boundary
        if boundary & _ROW:
            row = _Row()
        if not is_content:
            row.left_out += cell > 0
            continue
        in_row = bool(parts and passed & _CELL and not passed & (_ROW if cell else _ROW | _PARAGRAPH))
        tabs = row.tabs(cell, in_row=in_row)
        if in_row:
            parts += tabs, items.marked(item, text, margin=False)
        else:
            if parts:
                parts.append("\n\n" if passed & _PARAGRAPH and not items.goes_on(item) else "\n")
            parts.append(items.marked(item, tabs + text))
        passed = 0
    return "".join(parts)


def _columns(two: npt.NDArray[np.int32] | None, length: int) -> tuple[list[int], list[int]]:
    """Two columns, of zeros where they are not known."""
    first, second = two.tolist() if two is not None else ([0] * length, [0] * length)
    return first, second


class _Row:
    """A row of a table as it is written; a cell that is left out leaves no empty column before the others."""

    __slots__ = ("_column", "left_out")

    def __init__(self) -> None:
        self._column = 0
        self.left_out = 0

    def tabs(self, cell: int, *, in_row: bool) -> str:
        """What parts a cell from the one written before, or from the start of the row."""
        if not cell:
            return "\t" if in_row else ""
        before = self._column or 1 + self.left_out
        self._column = cell
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
        return outer + marker + indent(text, inner)[len(inner) :]

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
