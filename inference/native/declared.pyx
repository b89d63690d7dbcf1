# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Share of a page's declarations in each block: the group `declared` of `dehusk.inference.encoding.features`."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dehusk.inference.native.buffer cimport Buffer, free, more
from dehusk.inference.native cimport feature
from dehusk.inference.native.scale cimport share
from dehusk.inference.native.table cimport ABSENT, Table, at, make

cdef enum:
    TITLE
    OG_TITLE
    OG_DESCRIPTION
    DESCRIPTION
    JSON_LD
    DECLARED

cdef enum:
    IN_DESCRIPTION = 1  # of a pair
    IN_JSON_LD = 2


cdef struct Word:
    bint[2] declared  # in the title, in og:title
    int32_t block  # the last one that has it


cdef class Lookup:
    """The words of a page and its titles, and the pairs of words of its descriptions and JSON-LD."""

    cdef Table _numbers, _pairs
    cdef Buffer _words
    cdef int[2] _title_sizes

    def __dealloc__(self):
        free(&self._numbers.memory)
        free(&self._pairs.memory)
        free(&self._words)

    cdef int add(self, const uint32_t *words, const uint32_t[::1] counts, size_t most) except -1:
        """Add declared words; at most `most` others will be looked up."""
        cdef size_t word = 0, end = 0
        cdef int text
        make(&self._numbers, most + counts[TITLE] + counts[OG_TITLE])
        make(&self._pairs, counts[OG_DESCRIPTION] + counts[DESCRIPTION] + counts[JSON_LD])
        for text in range(DECLARED):
            end += counts[text]
            for word in range(word, end):
                if text <= OG_TITLE:
                    self._add_title_word(text, words[word])
                elif word + 1 < end:
                    self._add_pair(_pair(&words[word]), IN_JSON_LD if text == JSON_LD else IN_DESCRIPTION)
            word = end
        return 0

    cdef int _add_title_word(self, int title, uint32_t hashed) except -1:
        cdef Word *word = self._word(hashed)
        self._title_sizes[title] += not word.declared[title]
        word.declared[title] = True
        return 0

    cdef void _add_pair(self, uint64_t pair, int32_t where) noexcept:
        cdef int32_t *found = at(&self._pairs, pair)
        found[0] = where if found[0] == ABSENT else found[0] | where

    cdef Word *_word(self, uint32_t hashed) except NULL:
        cdef int32_t *number = at(&self._numbers, hashed)
        cdef Word *word
        if number[0] == ABSENT:
            number[0] = self._words.used // sizeof(Word)
            word = <Word *> more(&self._words, sizeof(Word))
            word.declared[TITLE] = word.declared[OG_TITLE] = False
            word.block = ABSENT
        return <Word *> self._words.data + number[0]

    cdef int describe_titles(
        self, int32_t block, const uint32_t *words, uint32_t count, uint8_t *row
    ) except -1:
        """Write the share of a block's words that the title has, and their overlap with both titles."""
        cdef double different = 0, either
        cdef double[2] common
        cdef Word *word
        cdef uint32_t position
        common[TITLE] = common[OG_TITLE] = 0
        for position in range(count):
            word = self._word(words[position])
            if word.block != block:
                word.block = block
                different += 1
                common[TITLE] += word.declared[TITLE]
                common[OG_TITLE] += word.declared[OG_TITLE]
        row[feature.WORDS_IN_TITLE_SHARE] = share(common[TITLE] / max(different, 1))
        either = different + self._title_sizes[TITLE] - common[TITLE]
        row[feature.TITLE_OVERLAP] = share(common[TITLE] / max(either, 1))
        either = different + self._title_sizes[OG_TITLE] - common[OG_TITLE]
        row[feature.OG_TITLE_OVERLAP] = share(common[OG_TITLE] / max(either, 1))
        return 0

    cdef void describe_pairs(self, const uint32_t *words, uint32_t count, uint8_t *row) noexcept:
        """Write the shares of a block's pairs of words that the descriptions and JSON-LD have."""
        cdef double described = 0, structured = 0, pairs = max(<int64_t> count - 1, 1)
        cdef uint32_t position
        cdef int32_t found
        for position in range(1, count):
            found = at(&self._pairs, _pair(&words[position - 1]))[0]
            if found != ABSENT:
                described += found & IN_DESCRIPTION
                structured += (found & IN_JSON_LD) != 0
        row[feature.DESCRIPTION_BIGRAMS_SHARE] = share(described / pairs)
        row[feature.JSON_LD_BIGRAMS_SHARE] = share(structured / pairs)


def describe_declared(
    const uint32_t[::1] words,
    const uint32_t[::1] counts,
    const uint32_t[::1] declared_words,
    const uint32_t[::1] declared_counts,
    uint8_t[:, ::1] columns,
) -> None:
    """Write the columns; declared are title, og:title, the two descriptions and JSON-LD, in this order."""
    cdef Lookup lookup = Lookup()
    cdef bint titles = declared_counts[TITLE] + declared_counts[OG_TITLE] > 0
    cdef bint pairs = len(declared_words) > declared_counts[TITLE] + declared_counts[OG_TITLE]
    cdef size_t word = 0
    cdef Py_ssize_t block
    if not len(declared_words) or not len(words):
        return
    lookup.add(&declared_words[0], declared_counts, len(words) if titles else 0)
    for block in range(len(counts)):
        if counts[block]:
            if titles:
                lookup.describe_titles(block, &words[word], counts[block], &columns[block, 0])
            if pairs:
                lookup.describe_pairs(&words[word], counts[block], &columns[block, 0])
        word += counts[block]


cdef inline uint64_t _pair(const uint32_t *words) noexcept nogil:
    return <uint64_t> words[0] << 32 | words[1]
