from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from dehusk.inference.native cimport feature
from dehusk.inference.native.buffer cimport Buffer
from dehusk.inference.native.table cimport Table

cdef enum:
    LEVEL = feature.LEVEL_1_LOG_WORDS
    SUBTREE = feature.LEVEL_2_LOG_WORDS - LEVEL  # columns of an element

cdef enum:  # the columns of an element
    LOG_WORDS = feature.LEVEL_1_LOG_WORDS - LEVEL
    LINK_DENSITY = feature.LEVEL_1_LINK_DENSITY - LEVEL
    LOG_BLOCKS = feature.LEVEL_1_LOG_BLOCKS - LEVEL
    WORDS_SHARE = feature.LEVEL_1_WORDS_SHARE - LEVEL
    PARAGRAPH_SHARE = feature.LEVEL_1_PARAGRAPH_SHARE - LEVEL
    LOG_IMAGES = feature.LEVEL_1_LOG_IMAGES - LEVEL


cdef struct Sum:  # over the blocks before one
    double words
    double linked
    int32_t paragraphs


cdef struct Subtree:  # of a page: an element
    int32_t first  # of its blocks
    int32_t end
    double words
    double linked
    int32_t paragraphs
    int32_t images
    int32_t alike  # siblings with the same tag and class, itself included
    int32_t wider  # the innermost element around it with more blocks
    int32_t largest  # the outermost around it that does not have nearly all words
    int32_t nearest  # the innermost around it, itself included, that is one of many alike
    int32_t most  # the one around it, itself included, that has the most alike
    int32_t blocks_below  # met so far in the elements in it
    uint8_t[SUBTREE] subtree


cdef class Subtrees:
    cdef const uint32_t[::1] words
    cdef const double[::1] density
    cdef const int32_t[::1] parents, elements, depths
    cdef const uint32_t[::1] class_hashes
    cdef const uint16_t[::1] flags
    cdef const uint8_t[::1] headings
    cdef Py_ssize_t blocks
    # numbers of the page's words, at least 1, and of the linked ones
    cdef readonly double total, linked
    cdef readonly int paragraphs, first_heading
    cdef Buffer _sums, _subtrees
    cdef Table _table

    cdef inline Subtree *subtree(self, int32_t element) noexcept:
        return <Subtree *> self._subtrees.data + element

    cdef inline Sum *before(self, int32_t block) noexcept:
        return <Sum *> self._sums.data + block

    cdef bint is_paragraph(self, Py_ssize_t block) noexcept
    cdef int _add_up(self) except -1
    cdef int _take_parts(self, const int32_t[::1] images) except -1
    cdef int _count_alike(self) except -1
    cdef uint64_t _likeness(self, Py_ssize_t element) noexcept
    cdef void _look_down(self) noexcept
    cdef void _compare(self, Subtree *subtree, Subtree *above, int32_t parent) noexcept
    cdef void _describe_subtree(self, Subtree *subtree) noexcept
