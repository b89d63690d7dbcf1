from inference.native.buffer cimport Buffer
from inference.native.rows cimport Row


cdef struct Line:  # a row of a table
    int columns  # up to the last cell entered
    bint laid_out  # by cells that hold more than a line


cdef class Tables:
    cdef Buffer _lines, _cells, _blocks

    cdef int enter(self, Row *row) except -1
    cdef int add_block(self, int cell, bint is_line) except -1
    cdef bytearray of_blocks(self)
    cdef int _add_line(self) except -1
    cdef int _add_cell(self, Row *row) except -1
    cdef Line *_line_of(self, int cell) noexcept
