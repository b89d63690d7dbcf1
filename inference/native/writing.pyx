# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Content blocks written one after the other: the loop of `dehusk.inference.document.text`."""

from libc.stdint cimport int32_t, uint8_t

from textwrap import indent

from dehusk.schemas.pages import BULLET, Boundary

cdef int CELL = Boundary.CELL.value, ROW = Boundary.ROW.value, PARAGRAPH = Boundary.PARAGRAPH.value
cdef int SPACE = Boundary.SPACE.value, WITHIN_LINE = Boundary.VISIBILITY.value | Boundary.SPACE.value
cdef int32_t UNNUMBERED = BULLET

cdef enum:
    INDENTED_TOGETHER = 1 << 16  # characters: millions of lines take many times the memory of their text
    MAX_INDENT = 40  # an item in a thousand lists is not worth a thousand indents


def written(
    tuple texts not None,
    tuple boundaries not None,
    tuple hidden not None,
    const int32_t[:, ::1] lists_and_tables,
    const int32_t[:, ::1] items,
    const uint8_t[::1] content,
) -> str:
    """Return the content blocks, laid out as on the page; `lists_and_tables` and `items` are None where unknown.

    Raises:
        ValueError: `content` is not of these blocks.
    """
    cdef list parts = []
    cdef Items marks = Items(items)
    cdef Row row = Row(parts)
    cdef Py_ssize_t block
    cdef bint has_layout = lists_and_tables is not None, is_hidden, was_hidden = False, goes_on
    cdef int passed = 0, boundary, item = 0, cell = 0
    cdef str text, parting
    if len(content) != len(texts):
        raise ValueError(f"a mismatch: content is told of {len(content)} blocks of {len(texts)}")
    for block in range(len(texts)):
        boundary = boundaries[block]
        passed |= boundary
        if boundary & ROW:
            row = Row(parts)
        if has_layout:
            item, cell = lists_and_tables[0, block], lists_and_tables[1, block]
        if not content[block]:
            if cell:
                row.leave_out(cell)
            continue
        text, is_hidden = texts[block], hidden[block]
        goes_on = parts and passed and not passed & ~WITHIN_LINE and is_hidden == was_hidden
        margin = ""
        if cell:
            margin = row.margin(cell)
            parting = row.parting(cell, text)
        elif goes_on:
            parting = " " if passed & SPACE else ""
        else:
            parting = "\t" if parts and passed & CELL and not passed & (ROW | PARAGRAPH) else ""
        if parting or goes_on:
            parts.append(parting)
            parts.append(marks.marked(item, text, margin=False))
        else:
            if parts:
                parts.append("\n\n" if passed & PARAGRAPH and not marks.goes_on(item) else "\n")
            parts.append(marks.marked(item, margin + text if margin else text, margin=True))
        passed, was_hidden = 0, is_hidden
    return "".join(parts)


cdef class Row:
    """A row of a table as it is written.

    A cell that is left out leaves no empty column before the others; one written alone keeps its lines.
    """

    cdef list _parts
    cdef int _column, _left_out, _last_left_out
    cdef bint _is_parted
    cdef list _lines  # the further lines of the first cell, each with its position in the parts

    def __init__(self, list parts not None):
        self._parts, self._lines = parts, []

    cdef void leave_out(self, int cell) noexcept:
        """Record a block that is not written."""
        if cell > self._last_left_out:
            self._left_out += 1
            self._last_left_out = cell

    cdef str margin(self, int cell):
        """Return the empty columns before the first cell that is written."""
        if self._column:
            return ""
        return "\t" * (cell - 1 - self._left_out + (cell == self._last_left_out))

    cdef str parting(self, int cell, str text):
        """Return the separator between a text and the one before; empty where it begins a line."""
        if cell != self._column:
            return self._enter(cell)
        if not self._is_parted:
            self._lines.append((len(self._parts), text))
        return " " if self._is_parted else ""

    cdef str _enter(self, int cell):
        cdef int before = self._column
        self._column = cell
        if not before:
            return ""
        self._is_parted = True
        for index, text in self._lines:
            self._parts[index : index + 2] = " ", text
        self._lines.clear()
        return "\t" * (cell - before)


cdef class Items:
    """The items of lists as they are written: each is marked where its first text stands."""

    cdef const int32_t[:, ::1] _items
    cdef dict _indents  # text before the further lines of each item that has begun
    cdef int _last

    def __init__(self, const int32_t[:, ::1] items):
        self._items, self._indents = items, {0: ""}

    cdef bint goes_on(self, int item) except -1:
        """Return True if the first item of a list follows the text of the item that the list is in."""
        if item in self._indents or not self._last:
            return False
        *_, begun = self._around(item)
        return begun == self._last

    cdef str marked(self, int item, str text, bint margin):
        """Return a text with its mark and the indents of its lines."""
        cdef str marker, inner
        self._last = item
        if not item:
            return text
        marker = "" if item in self._indents else self._mark(item)
        inner = self._indents[item]
        return _indented((inner[: len(inner) - len(marker)] if margin else "") + marker, text, inner)

    cdef str _mark(self, int item):
        """Return the mark of an item; those around it that begin with it have none of their own."""
        cdef int32_t number = self._items[1, item - 1]
        *unmarked, around = self._around(item)
        margin = self._indents[around]
        self._indents.update(dict.fromkeys(unmarked, margin))
        marker = "- " if number == UNNUMBERED else f"{number}. "
        self._indents[item] = (margin + " " * len(marker))[:MAX_INDENT]
        return marker

    cdef list _around(self, int item):
        """Return the items around one up to the first that has begun."""
        cdef list around = []
        while not around or item not in self._indents:
            item = self._items[0, item - 1]
            around.append(item)
        return around


cdef str _indented(str mark, str text, str margin):
    """Return the text after its mark, with the margin before its further lines."""
    cdef Py_ssize_t begin = 0, end
    if "\n" not in text:
        return mark + text
    pieces = [mark]
    while begin < len(text):
        end = text.find("\n", begin + INDENTED_TOGETHER) + 1 or len(text)
        pieces.append(indent(text[begin:end], margin)[0 if begin else len(margin) :])
        begin = end
    return "".join(pieces)
