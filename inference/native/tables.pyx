# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The tables of a page: in which cell of a row each block stands, where the row is a line of text.

A row is no line where a cell holds preformatted text or a table, or besides other text a heading or an item of a
list, or where several blocks make up running text: such cells lay out a page. Nor is a row of which one cell
alone holds text, and that in several blocks: it has no columns to keep.
"""

from libc.limits cimport INT_MAX
from libc.string cimport memset

from dehusk.inference.native cimport markup
from dehusk.inference.native.buffer cimport content, free, more
from dehusk.inference.native.markup cimport COLSPAN, ROWSPAN
from dehusk.inference.native.rows cimport NONE, Row

from dehusk.inference.markup import elements

cdef int TABLE = elements.TABLE, ROW = elements.ROW

cdef enum:
    MAX_COLUMNS = 100  # columns of a cell, and those of a table in which cells reach into further lines
    RUNNING_TEXT = 200  # characters; cells of several short blocks are mostly shorter


cdef class Tables:
    """Cells in the order in which they were entered, and the blocks in them."""

    def __dealloc__(self):
        free(&self._grids)
        free(&self._lines)
        free(&self._cells)
        free(&self._ends)
        free(&self._blocks)

    cdef int enter(self, Row *row) except -1:
        """Record a table, a row or a cell."""
        if row.tag.tables == TABLE:
            if row.cell != NONE:
                self._line_of(<Cell *> self._cells.data + row.cell).laid_out = True
            row.table = self._add_grid()
            row.line = row.cell = NONE
        elif row.tag.tables == ROW:
            if row.table != NONE:
                row.line = self._add_line(row)
        elif row.line != NONE:
            row.cell = self._add_cell(row)
        return 0

    cdef int _add_grid(self) except -1:
        cdef Grid *added = <Grid *> more(&self._grids, sizeof(Grid))
        added.lines, added.group, added.ends = 0, NONE, NONE
        return added - <Grid *> self._grids.data

    cdef int _add_line(self, Row *row) except -1:
        """Add a line to the grid; no cell reaches from one group of rows into the next."""
        cdef Line *added = <Line *> more(&self._lines, sizeof(Line))
        cdef Grid *grid = <Grid *> self._grids.data + row.table
        grid.lines += 1
        added.grid, added.number = row.table, grid.lines
        added.columns, added.cells, added.blocks, added.laid_out = 0, 0, 0, False
        if grid.group != row.parent:
            grid.group = row.parent
            if grid.ends != NONE:
                memset(self._ends_of(added), 0, MAX_COLUMNS * sizeof(int))
        return added - <Line *> self._lines.data

    cdef int _add_cell(self, Row *row) except -1:
        cdef Cell *added = <Cell *> more(&self._cells, sizeof(Cell))
        cdef Line *line = <Line *> self._lines.data + row.line
        cdef int width = min(max(markup.integer(row.element, COLSPAN, 1), 1), MAX_COLUMNS)
        cdef int height = markup.integer(row.element, ROWSPAN, 1)
        added.line, added.column, added.item = row.line, self._next_column(line), row.item
        added.blocks, added.characters, added.structured = 0, 0, False
        line.columns = added.column + width - 1
        if height > 1 or height == 0:
            self._reach_down(added, width, height)
        return added - <Cell *> self._cells.data

    cdef int _next_column(self, Line *line) noexcept:
        """Return the first column after the last cell of a line into which none reaches from above."""
        cdef int *ends = self._ends_of(line)
        cdef int columns = line.columns
        while ends != NULL and columns < MAX_COLUMNS and ends[columns] >= line.number:
            columns += 1
        return columns + 1

    cdef int _reach_down(self, Cell *cell, int width, int height) except -1:
        """Take the columns of a cell in the lines below, too: all of its group if its height is 0."""
        cdef Line *line = self._line_of(cell)
        cdef Grid *grid = <Grid *> self._grids.data + line.grid
        cdef int *ends
        cdef int column
        if grid.ends == NONE:
            grid.ends = self._ends.used // sizeof(int)
            memset(more(&self._ends, MAX_COLUMNS * sizeof(int)), 0, MAX_COLUMNS * sizeof(int))
        ends = self._ends_of(line)
        for column in range(cell.column - 1, min(cell.column - 1 + width, MAX_COLUMNS)):
            ends[column] = line.number + height - 1 if height else INT_MAX
        return 0

    cdef int *_ends_of(self, Line *line) noexcept:
        cdef int ends = (<Grid *> self._grids.data)[line.grid].ends
        return NULL if ends == NONE else <int *> self._ends.data + ends

    cdef int add_block(self, Row *row, size_t characters) except -1:
        """Add a block that a row is the innermost to hold."""
        (<int *> more(&self._blocks, sizeof(int)))[0] = row.cell
        if row.cell == NONE:
            return 0
        cdef Cell *cell = <Cell *> self._cells.data + row.cell
        cdef Line *line = self._line_of(cell)
        line.cells += cell.blocks == 0
        line.blocks += 1
        cell.blocks += 1
        cell.characters += characters
        cell.structured = cell.structured or row.heading or row.item != cell.item
        if row.preformatted or cell.blocks > 1 and (cell.structured or cell.characters > RUNNING_TEXT):
            line.laid_out = True
        return 0

    cdef bytearray of_blocks(self):
        """Return the column of each block's cell, from 1 on; 0 for others; call it once."""
        cdef int *blocks = <int *> self._blocks.data
        cdef Cell *cell
        cdef Line *line
        cdef size_t block
        for block in range(self._blocks.used // sizeof(int)):
            if blocks[block] == NONE:
                blocks[block] = 0
                continue
            cell = <Cell *> self._cells.data + blocks[block]
            line = self._line_of(cell)
            blocks[block] = 0 if line.laid_out or line.cells == 1 < line.blocks else cell.column
        return content(&self._blocks)

    cdef int column_of(self, int cell) noexcept:
        """Return the column of a cell, from 1 on; 0 for NONE."""
        return 0 if cell == NONE else (<Cell *> self._cells.data)[cell].column

    cdef Line *_line_of(self, Cell *cell) noexcept:
        return <Line *> self._lines.data + cell.line
