# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""What stands in each element of a page, and how elements compare to those around them."""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from inference.native.buffer cimport free, more
from inference.native.scale cimport logarithm, share
from inference.native.table cimport ABSENT, at, make

cdef enum:
    PARAGRAPH_WORDS = 15
    REPEATED = 2  # elements alike among siblings
    OFTEN = 3

cdef double LINKED_PARAGRAPH = 0.4  # a block with a larger share of links is no paragraph
cdef double NEARLY_ALL = 0.9


cdef class Parts:
    """The elements of a page with the blocks, words and images in each."""

    def __init__(self, const uint32_t[::1] words, const double[::1] density, structure: object):
        self.words, self.density, self.blocks = words, density, len(words)
        self.parents, self.elements, self.depths = structure.parents, structure.elements, structure.depths
        self.signs, self.flags, self.headings = structure.signs, structure.flags, structure.headings
        self._add_up()
        self._take_parts(structure.images)
        self._count_alike()
        self._look_down()

    def __dealloc__(self):
        free(&self._sums)
        free(&self._parts)
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
        """The blocks and images of each element, from those in it."""
        cdef Py_ssize_t element, block
        cdef Part *part
        cdef Part *above
        more(&self._parts, len(self.parents) * sizeof(Part) + 1)
        for element in range(len(self.parents)):
            part = self.part(element)
            part.first, part.end, part.images, part.blocks_below = self.blocks, 0, images[element], 0
        for block in range(self.blocks):
            part = self.part(self.elements[block])
            part.first, part.end = min(part.first, <int32_t> block), block + 1
        for element in range(len(self.parents) - 1, 0, -1):
            part, above = self.part(element), self.part(self.parents[element])
            above.first, above.end = min(above.first, part.first), max(above.end, part.end)
            above.images += part.images
        return 0

    cdef int _count_alike(self) except -1:
        cdef Py_ssize_t element
        cdef int32_t *count
        make(&self._table, len(self.parents))
        for element in range(len(self.parents)):
            count = at(&self._table, self._likeness(element))
            count[0] = 1 if count[0] == ABSENT else count[0] + 1
        for element in range(len(self.parents)):
            self.part(element).alike = at(&self._table, self._likeness(element))[0]
        return 0

    cdef uint64_t _likeness(self, Py_ssize_t element) noexcept:
        return <uint64_t> <uint32_t> self.parents[element] << 32 | self.signs[element]

    cdef void _look_down(self) noexcept:
        """What depends on the elements around one: from the root on."""
        cdef Sum *sums = <Sum *> self._sums.data
        cdef Py_ssize_t element
        cdef Part *part
        cdef Part *above
        for element in range(len(self.parents)):
            part = self.part(element)
            part.words = sums[part.end].words - sums[part.first].words
            part.linked = sums[part.end].linked - sums[part.first].linked
            part.paragraphs = sums[part.end].paragraphs - sums[part.first].paragraphs
            part.wider = part.largest = element
            part.nearest = part.most = ABSENT
            if element:
                above = self.part(self.parents[element])
                self._compare(part, above, self.parents[element])
                part.nearest, part.most = above.nearest, above.most
            if part.end - part.first > 1 and part.alike >= OFTEN:
                part.nearest = element
            if part.end - part.first > 1 and part.alike >= REPEATED:
                if part.most == ABSENT or part.alike > self.part(part.most).alike:
                    part.most = element
            self._describe_subtree(part)

    cdef void _compare(self, Part *part, Part *above, int32_t parent) noexcept:
        part.wider = parent
        if part.first == above.first and part.end == above.end and parent:
            part.wider = above.wider
        if above.words < NEARLY_ALL * self.total:
            part.largest = above.largest

    cdef void _describe_subtree(self, Part *part) noexcept:
        cdef uint8_t *column = part.subtree
        column[0] = logarithm(part.words)
        column[1] = share(part.linked / max(part.words, 1))
        column[2] = logarithm(part.end - part.first)
        column[3] = share(part.words / self.total)
        column[4] = share(<double> part.paragraphs / max(part.end - part.first, 1))
        column[5] = logarithm(part.images)

    def longest_of(self, uint32_t tag, const uint32_t[::1] tokens, const uint8_t[::1] token_counts) -> float:
        """The words of the longest element of a tag, which is the first of its tokens; 0 if there is none."""
        cdef Py_ssize_t element, token = 0
        cdef double words = 0
        for element in range(len(self.parents)):
            if tokens[token] == tag:
                words = max(words, self.part(element).words)
            token += token_counts[element]
        return words
