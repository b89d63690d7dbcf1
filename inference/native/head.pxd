from dehusk.inference.native.lexbor cimport Element, Node


cdef class Head:
    cdef readonly str title
    cdef readonly dict declared
    cdef readonly list json_ld
    cdef readonly str base
    cdef readonly str canonical

    cdef int look_into(self, Node *top) except -1
    cdef bint _record(self, Element *element) except -1
