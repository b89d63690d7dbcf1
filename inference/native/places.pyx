# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Where each block stands: in its page, in its elements, among blocks and elements like it."""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from inference.native.buffer cimport Buffer, free, more
from inference.native.scale cimport between, logarithm, share
from inference.native.table cimport ABSENT, Table, at, make

from inference import features
from schemas.pages import ElementFlag

cdef enum:
    PARAGRAPH_WORDS = 15
    HEADING_WORDS = 25  # so many are no heading
    LEVELS = 5
    SUBTREE = 6  # columns of a level
    REPETITION = 5  # columns of an element that repeats
    REPEATED = 2  # elements alike among siblings
    OFTEN = 3
    SIGNATURE_LEVELS = 4
    FLAGS = 13

cdef enum:  # the first column of each group
    PLACE = 24
    ANCESTORS = 30
    SIGNATURE = 51
    SUBTREES = 56
    CONTEXT = 99

cdef double LINKED_PARAGRAPH = 0.4  # a block with a larger share of links is no paragraph
cdef double NEARLY_ALL = 0.9
cdef double NONE_BEFORE = 6.0  # the logarithm for a distance to nothing
cdef double MOST_SIGNED = features.SIGNED[1], MOST_DEPTH = features.DEPTH[1], MOST_LOGARITHM = features.LOGARITHM[1]
cdef uint16_t HIDDEN = ElementFlag.HIDDEN


cdef struct Sum:  # over the blocks before one
    double words
    double linked
    int32_t paragraphs


cdef struct Part:  # of a page: an element
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


cdef struct Group:  # of blocks whose elements have the same tags and classes
    double blocks
    double words
    double linked


cdef struct Context:  # what was met so far
    int32_t heading
    int32_t heading_depth
    int32_t paragraph


cdef class Places:
    """The elements of a page with what stands in each, and its blocks in groups of the same signature."""

    cdef const uint32_t[::1] words
    cdef const double[::1] density
    cdef const int32_t[::1] parents, elements, depths
    cdef const uint32_t[::1] signs
    cdef const uint16_t[::1] flags
    cdef const uint8_t[::1] headings
    cdef Py_ssize_t blocks
    cdef readonly double total, linked
    """The words of the page, at least 1, and how many of them are linked."""
    cdef readonly int paragraphs, groups, first_heading, hidden
    cdef readonly double longest, repeated
    """The words of the longest block, and of those in runs that repeat earlier ones."""
    cdef Buffer _sums, _parts, _groups, _group_of
    cdef Table _table

    def __init__(
        self,
        const uint32_t[::1] words,
        const double[::1] density,
        structure: object,
    ):
        self.words, self.density, self.blocks = words, density, len(words)
        self.parents, self.elements, self.depths = structure.parents, structure.elements, structure.depths
        self.signs, self.flags, self.headings = structure.signs, structure.flags, structure.headings
        self._add_up()
        self._take_parts(structure.images)
        self._count_alike()
        self._look_down()
        self._group()

    def __dealloc__(self):
        free(&self._sums)
        free(&self._parts)
        free(&self._groups)
        free(&self._group_of)
        free(&self._table.memory)

    cdef int _add_up(self) except -1:
        cdef Sum *sums = <Sum *> more(&self._sums, (self.blocks + 1) * sizeof(Sum))
        cdef Py_ssize_t block
        self.first_heading = ABSENT
        sums[0].words = sums[0].linked = sums[0].paragraphs = 0
        for block in range(self.blocks):
            sums[block + 1].words = sums[block].words + self.words[block]
            sums[block + 1].linked = sums[block].linked + self.words[block] * self.density[block]
            sums[block + 1].paragraphs = sums[block].paragraphs + self._is_paragraph(block)
            if self.first_heading == ABSENT and self.headings[self.elements[block]] == 1:
                self.first_heading = block
        self.total, self.linked = max(sums[self.blocks].words, 1), sums[self.blocks].linked
        self.paragraphs = sums[self.blocks].paragraphs
        return 0

    cdef inline bint _is_paragraph(self, Py_ssize_t block) noexcept:
        return self.words[block] >= PARAGRAPH_WORDS and self.density[block] < LINKED_PARAGRAPH

    cdef inline Part *_part(self, int32_t element) noexcept:
        return <Part *> self._parts.data + element

    cdef int _take_parts(self, const int32_t[::1] images) except -1:
        """The blocks and images of each element, from those in it."""
        cdef Py_ssize_t element, block
        cdef Part *part
        cdef Part *above
        more(&self._parts, len(self.parents) * sizeof(Part) + 1)
        for element in range(len(self.parents)):
            part = self._part(element)
            part.first, part.end, part.images, part.blocks_below = self.blocks, 0, images[element], 0
        for block in range(self.blocks):
            part = self._part(self.elements[block])
            part.first, part.end = min(part.first, <int32_t> block), block + 1
        for element in range(len(self.parents) - 1, 0, -1):
            part, above = self._part(element), self._part(self.parents[element])
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
            self._part(element).alike = at(&self._table, self._likeness(element))[0]
        return 0

    cdef inline uint64_t _likeness(self, Py_ssize_t element) noexcept:
        return <uint64_t> <uint32_t> self.parents[element] << 32 | self.signs[element]

    cdef void _look_down(self) noexcept:
        """What depends on the elements around one: from the root on."""
        cdef Sum *sums = <Sum *> self._sums.data
        cdef Py_ssize_t element
        cdef Part *part
        cdef Part *above
        for element in range(len(self.parents)):
            part = self._part(element)
            part.words = sums[part.end].words - sums[part.first].words
            part.linked = sums[part.end].linked - sums[part.first].linked
            part.paragraphs = sums[part.end].paragraphs - sums[part.first].paragraphs
            part.wider = part.largest = element
            part.nearest = part.most = ABSENT
            if element:
                above = self._part(self.parents[element])
                self._compare(part, above, self.parents[element])
                part.nearest, part.most = above.nearest, above.most
            if part.end - part.first > 1 and part.alike >= OFTEN:
                part.nearest = element
            if part.end - part.first > 1 and part.alike >= REPEATED:
                if part.most == ABSENT or part.alike > self._part(part.most).alike:
                    part.most = element
            self._describe_subtree(part, part.subtree)

    cdef void _compare(self, Part *part, Part *above, int32_t parent) noexcept:
        part.wider = parent
        if part.first == above.first and part.end == above.end and parent:
            part.wider = above.wider
        if above.words < NEARLY_ALL * self.total:
            part.largest = above.largest

    cdef void _describe_subtree(self, Part *part, uint8_t *column) noexcept:
        column[0] = logarithm(part.words)
        column[1] = share(part.linked / max(part.words, 1))
        column[2] = logarithm(part.end - part.first)
        column[3] = share(part.words / self.total)
        column[4] = share(<double> part.paragraphs / max(part.end - part.first, 1))
        column[5] = logarithm(part.images)

    cdef int _group(self) except -1:
        cdef int32_t *group_of = <int32_t *> more(&self._group_of, self.blocks * sizeof(int32_t) + 1)
        cdef int32_t *found
        cdef Group *group
        cdef Py_ssize_t block
        make(&self._table, self.blocks)
        for block in range(self.blocks):
            found = at(&self._table, self._signature(self.elements[block]))
            if found[0] == ABSENT:
                found[0] = self.groups
                self.groups += 1
                group = <Group *> more(&self._groups, sizeof(Group))
                group.blocks = group.words = group.linked = 0
            group_of[block] = found[0]
            group = <Group *> self._groups.data + found[0]
            group.blocks += 1
            group.words += self.words[block]
            group.linked += self.words[block] * self.density[block]
        return 0

    cdef uint64_t _signature(self, int32_t element) noexcept:
        """What the innermost elements from one on have for tags and classes."""
        cdef uint64_t signature = 0
        cdef int level = 0
        while element != ABSENT and level < SIGNATURE_LEVELS:
            signature = signature * 1000003 + self.signs[element]
            element = self.parents[element]
            level += 1
        return signature

    def longest_of(self, uint32_t tag, const uint32_t[::1] tokens, const uint8_t[::1] token_counts) -> float:
        """The words of the longest element of a tag, which is the first of its tokens; 0 if there is none."""
        cdef Py_ssize_t element, token = 0
        cdef double words = 0
        for element in range(len(self.parents)):
            if tokens[token] == tag:
                words = max(words, self._part(element).words)
            token += token_counts[element]
        return words

    def describe(
        self,
        const uint8_t[::1] hidden,
        const uint32_t[::1] repeating,
        const uint32_t[::1] repeated,
        const int32_t[::1] repeats,
        uint8_t[:, ::1] columns,
    ) -> object:
        """Write the columns of each block; of each block, 1 + the last heading up to it, or 0."""
        cdef Py_ssize_t block
        cdef Context context
        headings = np.empty(self.blocks, np.int32)
        cdef int32_t[::1] heading_column = headings
        context.heading = context.paragraph = ABSENT
        context.heading_depth = 0
        for block in range(self.blocks):
            self._describe_place(block, &columns[block, PLACE])
            self._describe_ancestors(self.elements[block], hidden[block], &columns[block, ANCESTORS])
            self._describe_signature(block, &columns[block, SIGNATURE])
            self._describe_parts(self.elements[block], &columns[block, SUBTREES])
            self._describe_context(block, &context, &columns[block, CONTEXT])
            columns[block, CONTEXT + 4] = logarithm(repeating[block])
            columns[block, CONTEXT + 5] = logarithm(repeated[block])
            heading_column[block] = context.heading + 1
            self.hidden += hidden[block]
            self.longest = max(self.longest, <double> self.words[block])
            self.repeated += self.words[block] if repeats[block] != ABSENT else 0
        return headings

    cdef void _describe_place(self, int32_t block, uint8_t *column) noexcept:
        cdef double after = (block - self.first_heading) / 50.0
        column[0] = share(<double> block / self.blocks)
        column[1] = share((<Sum *> self._sums.data)[block].words / self.total)
        column[2] = logarithm(block)
        column[3] = logarithm(self.blocks - 1 - block)
        column[4] = _signed(after if self.first_heading != ABSENT else 0)
        column[5] = 255 if self.first_heading != ABSENT and after >= 0 else 0

    cdef void _describe_ancestors(self, int32_t element, bint hidden, uint8_t *column) noexcept:
        cdef uint16_t flags = self.flags[element]
        cdef int flag
        flags = flags | HIDDEN if hidden else flags & ~HIDDEN
        column[0] = between(self.depths[element] / 10.0, 0, MOST_DEPTH)
        for flag in range(FLAGS):
            column[1 + flag] = 255 if flags >> flag & 1 else 0
        column[1 + FLAGS] = 255 if self.headings[element] else 0
        column[2 + FLAGS] = share(self.headings[element] / 6.0)

    cdef void _describe_signature(self, int32_t block, uint8_t *column) noexcept:
        cdef Group *group = <Group *> self._groups.data + (<int32_t *> self._group_of.data)[block]
        column[0] = logarithm(group.blocks)
        column[1] = share(group.blocks / self.blocks)
        column[2] = share(group.words / self.total)
        column[3] = logarithm(group.words / group.blocks)
        column[4] = share(group.linked / max(group.words, 1))

    cdef void _describe_parts(self, int32_t element, uint8_t *column) noexcept:
        """Write the columns of the elements around a block: ever wider ones, the largest, and those that repeat."""
        cdef Part *part = self._part(element)
        cdef Part *wider = part
        cdef Part *largest = self._part(part.largest)
        cdef int level
        for level in range(LEVELS):
            wider = self._part(wider.wider)
            memcpy(column + level * SUBTREE, wider.subtree, SUBTREE)
        column += LEVELS * SUBTREE
        column[0], column[1], column[2] = largest.subtree[3], largest.subtree[1], largest.subtree[4]
        self._describe_repetition(part.nearest, column + 3)
        self._describe_repetition(part.most, column + 3 + REPETITION)

    cdef void _describe_repetition(self, int32_t element, uint8_t *column) noexcept:
        cdef Part *part
        if element == ABSENT:
            return
        part = self._part(element)
        column[0] = logarithm(part.alike)
        column[1], column[2], column[3] = part.subtree[0], part.subtree[1], part.subtree[5]
        column[4] = self._part(self.parents[element]).subtree[3] if element else 255

    cdef void _describe_context(self, int32_t block, Context *context, uint8_t *column) noexcept:
        """Write how far back the last heading and paragraph are, and take the block for one if it is."""
        cdef int32_t element = self.elements[block]
        cdef int32_t *siblings = &self._part(max(self.parents[element], 0)).blocks_below
        siblings[0] += 1
        if self.headings[element] and self.words[block] < HEADING_WORDS:
            context.heading, context.heading_depth = block, self.depths[element]
        column[0] = logarithm(siblings[0])
        column[1] = _distance(block, context.heading)
        column[2] = _signed((self.depths[element] - context.heading_depth) / 5.0 if context.heading != ABSENT else 0)
        column[3] = _distance(block, context.paragraph)
        if self._is_paragraph(block):
            context.paragraph = block


cdef inline uint8_t _distance(int32_t block, int32_t earlier) noexcept:
    return logarithm(block - earlier) if earlier != ABSENT else share(NONE_BEFORE / MOST_LOGARITHM)


cdef inline uint8_t _signed(double value) noexcept:
    return between(value, -MOST_SIGNED, MOST_SIGNED)
