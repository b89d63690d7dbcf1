from dehusk.inference.native.buffer cimport Buffer
from dehusk.inference.native.rows cimport Row


cdef struct Grid:  # a table
    int lines
    int group  # of rows: the element around the last line
    int ends  # of the cells that reach into further lines, for each column; NONE before the first


cdef struct Line:  # a row of a table
    int grid
    int number  # among the lines of its grid, from 1 on
    int columns  # up to the last cell entered
    int cells  # that hold blocks
    int blocks
    bint laid_out  # by cells that are more than a line


cdef struct Cell:
    int line
    int column  # from 1 on
    int item  # of a list, that the cell stands in
    int blocks
    size_t characters
    bint structured  # by headings or items


cdef class Tables:
    cdef Buffer _grids, _lines, _cells, _ends, _blocks

    cdef int enter(self, Row *row) except -1
    cdef int add_block(self, Row *row, size_t characters) except -1
    cdef bytearray of_blocks(self)
    cdef int column_of(self, int cell) noexcept
    cdef int _add_grid(self) except -1
    cdef int _add_line(self, Row *row) except -1
    cdef int _add_cell(self, Row *row) except -1
    cdef int _next_column(self, Line *line) noexcept
    cdef int _reach_down(self, Cell *cell, int width, int height) except -1
    cdef int *_ends_of(self, Line *line) noexcept
    cdef Line *_line_of(self, Cell *cell) noexcept
