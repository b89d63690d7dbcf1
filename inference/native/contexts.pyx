# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Where each block stands: in its page, in its elements, among blocks and elements like it."""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from dehusk.inference.native.buffer cimport Buffer, free, more
from dehusk.inference.native.subtrees cimport SUBTREE, Subtree, Subtrees
from dehusk.inference.native.scale cimport between, logarithm, share
from dehusk.inference.native.table cimport ABSENT, at, make

from dehusk.inference import features
from dehusk.schemas.pages import ElementFlag

cdef enum:
    HEADING_WORDS = 25  # so many are no heading
    LEVELS = 5
    REPETITION = 5  # columns of an element that repeats
    SIGNATURE_LEVELS = 4
    FLAGS = 13

cdef enum:  # the first column of each group
    POSITION = 24
    ANCESTORS = 30
    SIGNATURE = 51
    SUBTREES = 56
    CONTEXT = 99

cdef double NONE_BEFORE = 6.0  # the logarithm for a distance to nothing
cdef double MOST_SIGNED = features.SIGNED[1], MOST_DEPTH = features.DEPTH[1]
cdef double MOST_LOGARITHM = features.LOGARITHM[1]
cdef uint16_t HIDDEN = ElementFlag.HIDDEN


cdef struct Group:  # of blocks whose elements have the same tags and classes
    int32_t first
    double blocks
    double words
    double linked


cdef struct Context:  # what was met so far
    int32_t heading
    int32_t heading_depth
    int32_t paragraph


cdef class BlockContexts(Subtrees):
    """The blocks of a page in groups of the same signature, and what is told of each."""

    cdef readonly int groups, hidden
    # the words of the longest block, and of those in runs that repeat earlier ones
    cdef readonly double longest, repeated
    cdef Buffer _groups, _group_of

    def __init__(self, const uint32_t[::1] words, const double[::1] density, structure: object):
        super().__init__(words, density, structure)
        self._group()

    def __dealloc__(self):
        free(&self._groups)
        free(&self._group_of)

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
                group.first = block
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
            signature = signature * 1000003 + self.class_hashes[element]
            element = self.parents[element]
            level += 1
        return signature

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
            self._describe_position(block, &columns[block, POSITION])
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

    def first_alike(self) -> object:
        """The first block of each block's group."""
        cdef Py_ssize_t block
        firsts = np.empty(self.blocks, np.int32)
        cdef int32_t[::1] column = firsts
        for block in range(self.blocks):
            column[block] = self._group_with(block).first
        return firsts

    cdef inline Group *_group_with(self, Py_ssize_t block) noexcept:
        return <Group *> self._groups.data + (<int32_t *> self._group_of.data)[block]

    cdef void _describe_position(self, int32_t block, uint8_t *column) noexcept:
        cdef double after = (block - self.first_heading) / 50.0
        column[0] = share(<double> block / self.blocks)
        column[1] = share(self.before(block).words / self.total)
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
        cdef Group *group = self._group_with(block)
        column[0] = logarithm(group.blocks)
        column[1] = share(group.blocks / self.blocks)
        column[2] = share(group.words / self.total)
        column[3] = logarithm(group.words / group.blocks)
        column[4] = share(group.linked / max(group.words, 1))

    cdef void _describe_parts(self, int32_t element, uint8_t *column) noexcept:
        """Write the columns of the elements around a block: ever wider ones, the largest, those that repeat."""
        cdef Subtree *subtree = self.subtree(element)
        cdef Subtree *wider = subtree
        cdef Subtree *largest = self.subtree(subtree.largest)
        cdef int level
        for level in range(LEVELS):
            wider = self.subtree(wider.wider)
            memcpy(column + level * SUBTREE, wider.subtree, SUBTREE)
        column += LEVELS * SUBTREE
        column[0], column[1], column[2] = largest.subtree[3], largest.subtree[1], largest.subtree[4]
        self._describe_repetition(subtree.nearest, column + 3)
        self._describe_repetition(subtree.most, column + 3 + REPETITION)

    cdef void _describe_repetition(self, int32_t element, uint8_t *column) noexcept:
        cdef Subtree *subtree
        if element == ABSENT:
            return
        subtree = self.subtree(element)
        column[0] = logarithm(subtree.alike)
        column[1], column[2], column[3] = subtree.subtree[0], subtree.subtree[1], subtree.subtree[5]
        column[4] = self.subtree(self.parents[element]).subtree[3] if element else 255

    cdef void _describe_context(self, int32_t block, Context *context, uint8_t *column) noexcept:
        """Write how far back the last heading and paragraph are, and take the block for one if it is."""
        cdef int32_t element = self.elements[block]
        cdef int32_t *siblings = &self.subtree(max(self.parents[element], 0)).blocks_below
        siblings[0] += 1
        if self.headings[element] and self.words[block] < HEADING_WORDS:
            context.heading, context.heading_depth = block, self.depths[element]
        column[0] = logarithm(siblings[0])
        column[1] = _distance(block, context.heading)
        column[2] = _signed(0)
        if context.heading != ABSENT:
            column[2] = _signed((self.depths[element] - context.heading_depth) / 5.0)
        column[3] = _distance(block, context.paragraph)
        if self.is_paragraph(block):
            context.paragraph = block


cdef inline uint8_t _distance(int32_t block, int32_t earlier) noexcept:
    return logarithm(block - earlier) if earlier != ABSENT else share(NONE_BEFORE / MOST_LOGARITHM)


cdef inline uint8_t _signed(double value) noexcept:
    return between(value, -MOST_SIGNED, MOST_SIGNED)
