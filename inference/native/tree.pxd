from dehusk.inference.native.buffer cimport Buffer
from dehusk.inference.native.lexbor cimport Node


cdef struct BlockText:
    Node *node
    int block


cdef class BlockTexts:
    cdef Buffer _texts

    cdef int add(self, Node *node, int block) except -1
    cdef int drop(self, int count) except -1
