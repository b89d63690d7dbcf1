from libc.stdint cimport uint8_t

from dehusk.inference.native.buffer cimport Buffer
from dehusk.inference.native.lexbor cimport Element, String
from dehusk.inference.native.lists cimport Lists
from dehusk.inference.native.rows cimport Row, Rows
from dehusk.inference.native.tables cimport Tables

cdef enum:
    KINDS = 16  # of marks


cdef struct Span:  # a mark in the open block: in bytes of its text as it came, then in characters
    int row  # whose element it is
    int kind
    int string
    size_t start
    size_t end


cdef struct Event:  # the start or the end of a span, or an image, in the open block
    size_t offset
    int span  # or image
    uint8_t kind


cdef struct Image:
    int block
    int character
    int row
    int address
    int text


cdef class Recording:
    cdef Buffer _spans, _events, _images, _marks
    cdef int[KINDS] _stack  # of open spans
    cdef int _depth
    cdef list _strings
    cdef str _base
    cdef dict _known

    cdef int note(self, Element *hidden) except -1
    cdef int enter(self, Row *row, int index, size_t offset) except -1
    cdef int leave(self, int index, size_t offset) except -1
    cdef int begin(self, int kind, int index, size_t offset, Element *element) except -1
    cdef int add_image(self, Element *element, int row, int block, size_t offset) except -1
    cdef int place(self, String text) except -1
    cdef int end_block(self, int block, int length) except -1
    cdef int _add_event(self, int kind, int span, size_t offset) except -1
    cdef int _mark(self, int block, int length) except -1
    cdef int _string(self, String value, size_t most) except -2
    cdef dict columns(self, Rows rows, Lists lists, Tables tables, object holders)
