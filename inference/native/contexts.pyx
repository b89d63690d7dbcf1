# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Context of each block: in its page, in its elements, among blocks and elements like it."""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from dehusk.inference.native cimport feature
from dehusk.inference.native.buffer cimport Buffer, free, more
from dehusk.inference.native.scale cimport MAX_LOGARITHM, between, logarithm, share
from dehusk.inference.native.subtrees cimport (
    LEVEL,
    LINK_DENSITY,
    LOG_IMAGES,
    LOG_WORDS,
    PARAGRAPH_SHARE,
    SUBTREE,
    WORDS_SHARE,
    Subtree,
    Subtrees,
)
from dehusk.inference.native.table cimport ABSENT, at, make

from dehusk.inference.encoding import features
from dehusk.schemas.pages import ElementFlag

cdef enum:
    HEADING_WORDS = 25  # so many are no heading
    SIGNATURE_LEVELS = 4
    FIRST_FLAG = feature.IN_ARTICLE
    NEAREST = feature.NEAREST_REPEATED_LOG_COUNT
    MOST_REPEATED = feature.MOST_REPEATED_LOG_COUNT

cdef enum:  # the columns of an element that repeats
    REPEATED_COUNT = feature.NEAREST_REPEATED_LOG_COUNT - NEAREST
    REPEATED_WORDS = feature.NEAREST_REPEATED_LOG_WORDS - NEAREST
    REPEATED_LINK_DENSITY = feature.NEAREST_REPEATED_LINK_DENSITY - NEAREST
    REPEATED_IMAGES = feature.NEAREST_REPEATED_LOG_IMAGES - NEAREST
    REPEATED_PARENT_SHARE = feature.NEAREST_REPEATED_PARENT_WORDS_SHARE - NEAREST

cdef double NONE_BEFORE = 6.0  # the logarithm for a distance to nothing
cdef double MAX_SIGNED = features.SIGNED[1], MAX_DEPTH = features.DEPTH[1]
cdef uint16_t HIDDEN = ElementFlag.HIDDEN


cdef struct Group:  # of blocks whose elements have the same tags and classes
    int32_t first
    double blocks
    double words
    double linked


cdef struct Context:  # the last heading and paragraph so far
    int32_t heading
    int32_t heading_depth
    int32_t paragraph


cdef class BlockContexts(Subtrees):
    """The blocks of a page, in groups of the same signature."""

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
        """Return the tags and classes of the innermost elements from one on."""
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
        """Write the columns of each block; return, per block, 1 + the last heading up to it, or 0."""
        cdef Py_ssize_t block
        cdef Context context
        cdef uint8_t *row
        headings = np.empty(self.blocks, np.int32)
        cdef int32_t[::1] heading_column = headings
        context.heading = context.paragraph = ABSENT
        context.heading_depth = 0
        for block in range(self.blocks):
            row = &columns[block, 0]
            self._describe_position(block, row)
            self._describe_ancestors(self.elements[block], hidden[block], row)
            self._describe_signature(block, row)
            self._describe_parts(self.elements[block], row)
            self._describe_context(block, &context, row)
            row[feature.LOG_RUN_REPEATED_WORDS] = logarithm(repeating[block])
            row[feature.LOG_RUN_TO_REPEAT_WORDS] = logarithm(repeated[block])
            heading_column[block] = context.heading + 1
            self.hidden += hidden[block]
            self.longest = max(self.longest, <double> self.words[block])
            self.repeated += self.words[block] if repeats[block] != ABSENT else 0
        return headings

    def first_alike(self) -> object:
        """Return the first block of each block's group."""
        cdef Py_ssize_t block
        firsts = np.empty(self.blocks, np.int32)
        cdef int32_t[::1] column = firsts
        for block in range(self.blocks):
            column[block] = self._group_with(block).first
        return firsts

    cdef inline Group *_group_with(self, Py_ssize_t block) noexcept:
        return <Group *> self._groups.data + (<int32_t *> self._group_of.data)[block]

    cdef void _describe_position(self, int32_t block, uint8_t *row) noexcept:
        cdef double after = (block - self.first_heading) / 50.0
        row[feature.INDEX_SHARE] = share(<double> block / self.blocks)
        row[feature.WORDS_BEFORE_SHARE] = share(self.before(block).words / self.total)
        row[feature.LOG_INDEX] = logarithm(block)
        row[feature.LOG_BLOCKS_AFTER] = logarithm(self.blocks - 1 - block)
        row[feature.DISTANCE_FROM_H1] = _signed(after if self.first_heading != ABSENT else 0)
        row[feature.AFTER_H1] = 255 if self.first_heading != ABSENT and after >= 0 else 0

    cdef void _describe_ancestors(self, int32_t element, bint hidden, uint8_t *row) noexcept:
        cdef uint16_t flags = self.flags[element]
        cdef int flag
        flags = flags | HIDDEN if hidden else flags & ~HIDDEN
        row[feature.DEPTH] = between(self.depths[element] / 10.0, 0, MAX_DEPTH)
        for flag in range(feature.FLAG_COLUMNS):
            row[FIRST_FLAG + flag] = 255 if flags >> flag & 1 else 0
        row[feature.IN_HEADING] = 255 if self.headings[element] else 0
        row[feature.HEADING_LEVEL] = share(self.headings[element] / 6.0)

    cdef void _describe_signature(self, int32_t block, uint8_t *row) noexcept:
        cdef Group *group = self._group_with(block)
        row[feature.SIGNATURE_LOG_COUNT] = logarithm(group.blocks)
        row[feature.SIGNATURE_COUNT_SHARE] = share(group.blocks / self.blocks)
        row[feature.SIGNATURE_WORDS_SHARE] = share(group.words / self.total)
        row[feature.SIGNATURE_LOG_MEAN_WORDS] = logarithm(group.words / group.blocks)
        row[feature.SIGNATURE_LINK_DENSITY] = share(group.linked / max(group.words, 1))

    cdef void _describe_parts(self, int32_t element, uint8_t *row) noexcept:
        """Write the columns of the elements around a block: ever wider ones, the largest, those that repeat."""
        cdef Subtree *subtree = self.subtree(element)
        cdef Subtree *wider = subtree
        cdef Subtree *largest = self.subtree(subtree.largest)
        cdef int level
        for level in range(feature.SUBTREE_LEVELS):
            wider = self.subtree(wider.wider)
            memcpy(row + LEVEL + level * SUBTREE, wider.subtree, SUBTREE)
        row[feature.LARGEST_PART_WORDS_SHARE] = largest.subtree[WORDS_SHARE]
        row[feature.LARGEST_PART_LINK_DENSITY] = largest.subtree[LINK_DENSITY]
        row[feature.LARGEST_PART_PARAGRAPH_SHARE] = largest.subtree[PARAGRAPH_SHARE]
        self._describe_repetition(subtree.nearest, row + NEAREST)
        self._describe_repetition(subtree.most, row + MOST_REPEATED)

    cdef void _describe_repetition(self, int32_t element, uint8_t *column) noexcept:
        cdef Subtree *subtree
        if element == ABSENT:
            return
        subtree = self.subtree(element)
        column[REPEATED_COUNT] = logarithm(subtree.alike)
        column[REPEATED_WORDS] = subtree.subtree[LOG_WORDS]
        column[REPEATED_LINK_DENSITY] = subtree.subtree[LINK_DENSITY]
        column[REPEATED_IMAGES] = subtree.subtree[LOG_IMAGES]
        column[REPEATED_PARENT_SHARE] = self.subtree(self.parents[element]).subtree[WORDS_SHARE] if element else 255

    cdef void _describe_context(self, int32_t block, Context *context, uint8_t *row) noexcept:
        """Write the distances from the last heading and paragraph, and update `context` by the block."""
        cdef int32_t element = self.elements[block]
        cdef int32_t *siblings = &self.subtree(max(self.parents[element], 0)).blocks_below
        siblings[0] += 1
        if self.headings[element] and self.words[block] < HEADING_WORDS:
            context.heading, context.heading_depth = block, self.depths[element]
        row[feature.LOG_SIBLING_INDEX] = logarithm(siblings[0])
        row[feature.LOG_BLOCKS_SINCE_HEADING] = _distance(block, context.heading)
        row[feature.DEPTH_BELOW_HEADING] = _signed(0)
        if context.heading != ABSENT:
            row[feature.DEPTH_BELOW_HEADING] = _signed((self.depths[element] - context.heading_depth) / 5.0)
        row[feature.LOG_BLOCKS_SINCE_PARAGRAPH] = _distance(block, context.paragraph)
        if self.is_paragraph(block):
            context.paragraph = block


cdef inline uint8_t _distance(int32_t block, int32_t earlier) noexcept:
    return logarithm(block - earlier) if earlier != ABSENT else share(NONE_BEFORE / MAX_LOGARITHM)


cdef inline uint8_t _signed(double value) noexcept:
    return between(value, -MAX_SIGNED, MAX_SIGNED)
