# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Content of each element of a page, and its comparison with the elements around it."""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from dehusk.inference.native.buffer cimport free, more
from dehusk.inference.native.scale cimport logarithm, share
from dehusk.inference.native.table cimport ABSENT, at, make

cdef enum:
    PARAGRAPH_WORDS = 15
    REPEATED = 2  # elements alike among siblings
    OFTEN = 3

cdef double LINKED_PARAGRAPH = 0.4  # a block with a larger share of links is no paragraph
cdef double NEARLY_ALL = 0.9


cdef class Subtrees:
    """The elements of a page with the blocks, words and images in each."""

    def __init__(self, const uint32_t[::1] words, const double[::1] density, structure: object):
        self.words, self.density, self.blocks = words, density, len(words)
        self.parents, self.elements, self.depths = structure.parents, structure.elements, structure.depths
        self.class_hashes, self.flags, self.headings = structure.class_hashes, structure.flags, structure.headings
        self._add_up()
        self._take_parts(structure.images)
        self._count_alike()
        self._look_down()

    def __dealloc__(self):
        free(&self._sums)
        free(&self._subtrees)
        free(&self._table.memory)

    cdef bint is_paragraph(self, Py_ssize_t block) noexcept:
        return self.words[block] >= PARAGRAPH_WORDS and self.density[block] < LINKED_PARAGRAPH

    cdef int _add_up(self) except -1:
        cdef Sum *sums = <Sum *> more(&self._sums, (self.blocks + 1) * sizeof(Sum))
        cdef Py_ssize_t block
        self.first_heading = ABSENT
        sums[0].words = sums[0].linked = sums[0].paragraphs = 0
        for block in range(self.blocks):
            sums[block + 1].words = sums[block].words + self.words[block]
            sums[block + 1].linked = sums[block].linked + self.words[block] * self.density[block]
            sums[block + 1].paragraphs = sums[block].paragraphs + self.is_paragraph(block)
            if self.first_heading == ABSENT and self.headings[self.elements[block]] == 1:
                self.first_heading = block
        self.total, self.linked = max(sums[self.blocks].words, 1), sums[self.blocks].linked
        self.paragraphs = sums[self.blocks].paragraphs
        return 0

    cdef int _take_parts(self, const int32_t[::1] images) except -1:
        """Count the blocks and images of each element, from those in it."""
        cdef Py_ssize_t element, block
        cdef Subtree *subtree
        cdef Subtree *above
        more(&self._subtrees, len(self.parents) * sizeof(Subtree) + 1)
        for element in range(len(self.parents)):
            subtree = self.subtree(element)
            subtree.first, subtree.end, subtree.images, subtree.blocks_below = self.blocks, 0, images[element], 0
        for block in range(self.blocks):
            subtree = self.subtree(self.elements[block])
            subtree.first, subtree.end = min(subtree.first, <int32_t> block), block + 1
        for element in range(len(self.parents) - 1, 0, -1):
            subtree, above = self.subtree(element), self.subtree(self.parents[element])
            above.first, above.end = min(above.first, subtree.first), max(above.end, subtree.end)
            above.images += subtree.images
        return 0

    cdef int _count_alike(self) except -1:
        cdef Py_ssize_t element
        cdef int32_t *count
        make(&self._table, len(self.parents))
        for element in range(len(self.parents)):
            count = at(&self._table, self._likeness(element))
            count[0] = 1 if count[0] == ABSENT else count[0] + 1
        for element in range(len(self.parents)):
            self.subtree(element).alike = at(&self._table, self._likeness(element))[0]
        return 0

    cdef uint64_t _likeness(self, Py_ssize_t element) noexcept:
        return <uint64_t> <uint32_t> self.parents[element] << 32 | self.class_hashes[element]

    cdef void _look_down(self) noexcept:
        """Compute the columns that depend on the elements around one, from the root on."""
        cdef Sum *sums = <Sum *> self._sums.data
        cdef Py_ssize_t element
        cdef Subtree *subtree
        cdef Subtree *above
        for element in range(len(self.parents)):
            subtree = self.subtree(element)
            subtree.words = sums[subtree.end].words - sums[subtree.first].words
            subtree.linked = sums[subtree.end].linked - sums[subtree.first].linked
            subtree.paragraphs = sums[subtree.end].paragraphs - sums[subtree.first].paragraphs
            subtree.wider = subtree.largest = element
            subtree.nearest = subtree.most = ABSENT
            if element:
                above = self.subtree(self.parents[element])
                self._compare(subtree, above, self.parents[element])
                subtree.nearest, subtree.most = above.nearest, above.most
            if subtree.end - subtree.first > 1 and subtree.alike >= OFTEN:
                subtree.nearest = element
            if subtree.end - subtree.first > 1 and subtree.alike >= REPEATED:
                if subtree.most == ABSENT or subtree.alike > self.subtree(subtree.most).alike:
                    subtree.most = element
            self._describe_subtree(subtree)

    cdef void _compare(self, Subtree *subtree, Subtree *above, int32_t parent) noexcept:
        subtree.wider = parent
        if subtree.first == above.first and subtree.end == above.end and parent:
            subtree.wider = above.wider
        if above.words < NEARLY_ALL * self.total:
            subtree.largest = above.largest

    cdef void _describe_subtree(self, Subtree *subtree) noexcept:
        cdef uint8_t *column = subtree.subtree
        column[LOG_WORDS] = logarithm(subtree.words)
        column[LINK_DENSITY] = share(subtree.linked / max(subtree.words, 1))
        column[LOG_BLOCKS] = logarithm(subtree.end - subtree.first)
        column[WORDS_SHARE] = share(subtree.words / self.total)
        column[PARAGRAPH_SHARE] = share(<double> subtree.paragraphs / max(subtree.end - subtree.first, 1))
        column[LOG_IMAGES] = logarithm(subtree.images)

    def longest_of(self, uint32_t tag, const uint32_t[::1] tokens, const uint8_t[::1] token_counts) -> float:
        """Return the words of the longest element of a tag, which is the first of its tokens; 0 if there is none."""
        cdef Py_ssize_t element, token = 0
        cdef double words = 0
        for element in range(len(self.parents)):
            if tokens[token] == tag:
                words = max(words, self.subtree(element).words)
            token += token_counts[element]
        return words
