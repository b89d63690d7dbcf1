from dehusk.inference.native.buffer cimport Buffer
from dehusk.inference.native.lexbor cimport Element, Node


cdef class Marked:
    cdef Buffer _elements
    cdef readonly bint bylines

    cdef int look_at(self, Element *element, bint with_content) except -1
    cdef int _look_into(self, Node *top) except -1
