from dehusk.inference.native.buffer cimport Buffer
from dehusk.inference.native.rows cimport Row


cdef struct Item:
    int parent
    int held  # its index among the items that hold blocks, from 1 on
    int number


cdef class Lists:
    cdef Buffer _lists, _items, _blocks

    cdef int enter(self, Row *row, bint directly) except -1
    cdef int add_block(self, int item) except -1
    cdef bytearray of_items(self)
    cdef bytearray of_blocks(self)
    cdef int _held(self, int item) noexcept
    cdef int _add_list(self, Row *row) except -1
    cdef int _add_item(self, Row *row) except -1
