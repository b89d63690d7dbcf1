# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The simhash of a text: 64 bits of which few differ between texts that share most of their words."""

from libc.stdint cimport uint32_t, uint64_t

from dehusk.inference.native.tokens cimport Text, text_of, writes_no_spaces

cdef extern from "Python.h":
    uint32_t PyUnicode_READ(int kind, void *data, Py_ssize_t position) noexcept nogil
    bint Py_UNICODE_ISALNUM(uint32_t character) noexcept nogil
    bint Py_UNICODE_ISSPACE(uint32_t character) noexcept nogil
    uint32_t Py_UNICODE_TOLOWER(uint32_t character) noexcept nogil

cdef enum:
    BITS = 64
    PLANES = 32
    SHINGLE = 3  # words

cdef uint64_t _START = 0xCBF29CE484222325


cdef struct Counts:  # of shingles by the bits of their hashes: plane k has the k-th binary digit of all 64
    uint64_t[PLANES] planes
    uint64_t[SHINGLE] words  # the last ones, hashed
    uint64_t seen  # words


def simhash(str text not None) -> int | None:
    """Return the majority, bit by bit, of the hashes of all runs of three words in a text; None without a word.

    Words are runs of letters, digits and marks in lower case. In scripts without spaces, each character is a word.
    A text of fewer than three words is one run.
    """
    cdef Counts counts
    cdef Text read = text_of(text)
    for position in range(PLANES):
        counts.planes[position] = 0
    counts.seen = 0
    with nogil:
        _count(&read, &counts)
    if not counts.seen:
        return None
    return _majority(&counts)


cdef void _count(Text *text, Counts *counts) noexcept nogil:
    cdef uint64_t word = _START
    cdef uint32_t character
    cdef Py_ssize_t position
    for position in range(text.length):
        character = PyUnicode_READ(text.kind, text.data, position)
        if _parts(character):
            if word != _START:
                _add_word(counts, word)
                word = _START
        elif writes_no_spaces(character):
            if word != _START:
                _add_word(counts, word)
                word = _START
            _add_word(counts, _with(_START, character))
        else:
            word = _with(word, Py_UNICODE_TOLOWER(character))
    if word != _START:
        _add_word(counts, word)
    if 0 < counts.seen < SHINGLE:
        _add(counts, _mixed(counts.words[0] ^ (counts.words[1] if counts.seen > 1 else 0)))


cdef inline bint _parts(uint32_t character) noexcept nogil:
    """Return True if a character parts words: no letter or digit, and no mark on one."""
    if character < 128:
        return not (
            c"a" <= character <= c"z" or c"A" <= character <= c"Z" or c"0" <= character <= c"9"
        )
    if Py_UNICODE_ISALNUM(character):
        return False
    return (
        character < 0x300
        or 0x2000 <= character < 0x2C00
        or 0x3000 <= character < 0x3040
        or 0xFE10 <= character
        or Py_UNICODE_ISSPACE(character)
    )


cdef inline void _add_word(Counts *counts, uint64_t word) noexcept nogil:
    """Take a word, and the run that it ends."""
    cdef uint64_t hashed = _mixed(word)
    if counts.seen >= SHINGLE - 1:
        _add(counts, _mixed(
            counts.words[(counts.seen - 2) % SHINGLE] * <uint64_t> 0x9E3779B97F4A7C15
            + counts.words[(counts.seen - 1) % SHINGLE] * <uint64_t> 0xC2B2AE3D27D4EB4F
            + hashed
        ))
    counts.words[counts.seen % SHINGLE] = hashed
    counts.seen += 1


cdef inline void _add(Counts *counts, uint64_t shingle) noexcept nogil:
    """Count a run under each bit of its hash: one addition of 64 numbers at once, digit by digit."""
    cdef uint64_t carried
    cdef int plane = 0
    while shingle and plane < PLANES:
        carried = counts.planes[plane] & shingle
        counts.planes[plane] ^= shingle
        shingle = carried
        plane += 1


cdef uint64_t _majority(Counts *counts) noexcept nogil:
    """Return the bits that more than half of all runs have."""
    cdef uint64_t runs = counts.seen - SHINGLE + 1 if counts.seen >= SHINGLE else 1
    cdef uint64_t found = 0, count
    cdef int bit, plane
    for bit in range(BITS):
        count = 0
        for plane in range(PLANES):
            count |= (counts.planes[plane] >> bit & 1) << plane
        if 2 * count > runs:
            found |= <uint64_t> 1 << bit
    return found


cdef inline uint64_t _with(uint64_t state, uint32_t character) noexcept nogil:
    """Return the state of FNV-1a after a character."""
    return (state ^ character) * <uint64_t> 0x100000001B3


cdef inline uint64_t _mixed(uint64_t state) noexcept nogil:
    """Apply MurmurHash3's finalizer: every bit depends on all of them."""
    state = (state ^ state >> 33) * <uint64_t> 0xFF51AFD7ED558CCD
    state = (state ^ state >> 33) * <uint64_t> 0xC4CEB9FE1A85EC53
    return state ^ state >> 33
