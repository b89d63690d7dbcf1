# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The tables of a page: in which cell of a row each block stands, where the row is a line of text."""

from inference.native cimport markup
from inference.native.buffer cimport content, free, more
from inference.native.markup cimport COLSPAN
from inference.native.rows cimport NONE, Row

from inference import elements

cdef int TABLE = elements.TABLE, ROW = elements.ROW

cdef enum:
    WIDEST = 100  # columns of a cell


cdef struct Cell:
    int line
    int column  # from 1 on
    bint holds  # a block


cdef class Tables:
    """Cells in the order in which they were entered, and the blocks in them."""

    def __dealloc__(self):
        free(&self._lines)
        free(&self._cells)
        free(&self._blocks)

    cdef int enter(self, Row *row) except -1:
        """Take note of a table, a row or a cell."""
        if row.tag.tables == TABLE:
            if row.cell != NONE:
                self._line_of(row.cell).laid_out = True
            row.line = row.cell = NONE
        elif row.tag.tables == ROW:
            row.line = self._add_line()
        elif row.line != NONE:
            row.cell = self._add_cell(row)
        return 0

    cdef int _add_line(self) except -1:
        cdef Line *added = <Line *> more(&self._lines, sizeof(Line))
        added.columns, added.laid_out = 0, False
        return added - <Line *> self._lines.data

    cdef int _add_cell(self, Row *row) except -1:
        cdef Cell *added = <Cell *> more(&self._cells, sizeof(Cell))
        cdef Line *line = <Line *> self._lines.data + row.line
        added.line, added.column, added.holds = row.line, line.columns + 1, False
        line.columns += min(max(markup.integer(row.element, COLSPAN, 1), 1), WIDEST)
        return added - <Cell *> self._cells.data

    cdef int add_block(self, int cell, bint is_line) except -1:
        """Add a block that a cell, or NONE, is the innermost to hold."""
        (<int *> more(&self._blocks, sizeof(int)))[0] = cell
        cdef Cell *holder = <Cell *> self._cells.data + cell
        if cell != NONE:
            if holder.holds or not is_line:
                self._line_of(cell).laid_out = True
            holder.holds = True
        return 0

    cdef bytearray of_blocks(self):
        """The column of each block's cell, from 1 on; 0 for others; to be asked for once."""
        cdef Cell *cells = <Cell *> self._cells.data
        cdef int *blocks = <int *> self._blocks.data
        cdef size_t block
        for block in range(self._blocks.used // sizeof(int)):
            if blocks[block] == NONE or self._line_of(blocks[block]).laid_out:
                blocks[block] = 0
            else:
                blocks[block] = cells[blocks[block]].column
        return content(&self._blocks)

    cdef Line *_line_of(self, int cell) noexcept:
        return <Line *> self._lines.data + (<Cell *> self._cells.data)[cell].line
