# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Texts of the document that make up each block, in document order."""

from dehusk.inference.native.buffer cimport append, free
from dehusk.inference.native.lexbor cimport Node


cdef class BlockTexts:
    """The texts that a walk reads; valid as long as the document."""

    def __dealloc__(self):
        free(&self._texts)

    cdef int add(self, Node *node, int block) except -1:
        """Add a text of a block; `node` is NULL for a text that the document has elsewhere, as TeX in an attribute."""
        cdef BlockText text
        text.node, text.block = node, block
        return append(&self._texts, &text, sizeof(text))

    cdef int drop(self, int count) except -1:
        """Remove the last texts, which made no block."""
        self._texts.used -= count * sizeof(BlockText)
        return 0

    cdef int count(self) noexcept:
        return self._texts.used // sizeof(BlockText)

    cdef BlockText *at(self, int index) noexcept:
        return <BlockText *> self._texts.data + index
