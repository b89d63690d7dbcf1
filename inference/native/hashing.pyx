# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Blocks as hashes: of their tags and words, one by one, and of their text as a whole."""

from libc.stdint cimport uint16_t, uint32_t, uint64_t

import numpy as np

from inference.native.buffer cimport Buffer, free, more
from inference.native.tokens cimport Text, crc32, crc32_of, next_word, text_of

cdef extern from "Python.h":
    uint32_t PyUnicode_READ(int kind, void *data, Py_ssize_t place) noexcept nogil
    uint32_t Py_UNICODE_TOLOWER(uint32_t character) noexcept nogil
    bint Py_UNICODE_ISSPACE(uint32_t character) noexcept nogil

MAX_BLOCK_TOKENS = 4096
"""A block's tokens beyond this many are dropped; its words are counted all the same."""

cdef Py_ssize_t _MOST = MAX_BLOCK_TOKENS
cdef uint32_t _TAG = crc32(0, b"t:", 2)
cdef uint32_t _WORD = crc32(0, b"w:", 2)


def hash_tokens(tuple texts not None, tuple paths not None) -> tuple:
    """The tokens of all blocks (ancestors' tags, then words), how many each block has, and its words."""
    cdef Py_ssize_t count = len(texts), block
    cdef Buffer ids = Buffer(NULL, 0, 0)
    lengths, words = np.empty(count, np.uint16), np.empty(count, np.uint32)
    cdef uint16_t[::1] length_column = lengths
    cdef uint32_t[::1] word_column = words
    cdef size_t before
    try:
        for block in range(count):
            before = ids.used
            _add_tags(&ids, paths[block])
            word_column[block] = _add_words(&ids, texts[block], before + _MOST * sizeof(uint32_t))
            length_column[block] = (ids.used - before) // sizeof(uint32_t)
        return np.frombuffer(ids.data[: ids.used], np.uint32).copy(), lengths, words
    finally:
        free(&ids)


cdef int _add_tags(Buffer *ids, str path) except -1:
    cdef Text text = text_of(path)
    cdef Py_ssize_t start = 0, place
    for place in range(text.length + 1):
        if place == text.length or PyUnicode_READ(text.kind, text.data, place) == c"/":
            (<uint32_t *> more(ids, sizeof(uint32_t)))[0] = crc32_of(_TAG, &text, start, place, False)
            start = place + 1
    return 0


cdef Py_ssize_t _add_words(Buffer *ids, str block, size_t most) except -1:
    """Add the words up to so many bytes of tokens; how many words there are."""
    cdef Text text = text_of(block)
    cdef Py_ssize_t start, end = 0, count = 0
    while next_word(&text, &start, &end):
        if ids.used < most:
            (<uint32_t *> more(ids, sizeof(uint32_t)))[0] = crc32_of(_WORD, &text, start, end, True)
        count += 1
    return count


def fingerprints(tuple texts not None) -> object:
    """The 64-bit hash of each text in lower case, without digits and line breaks: a date tells none apart."""
    cdef Py_ssize_t block
    found = np.empty(len(texts), np.uint64)
    cdef uint64_t[::1] column = found
    for block in range(len(texts)):
        column[block] = _fingerprint(texts[block])
    return found


cdef uint64_t _fingerprint(str block) except? 0:
    """FNV-1a over the characters, and MurmurHash3's finalizer, so that every bit depends on all of them."""
    cdef Text text = text_of(block)
    cdef uint64_t state = 0xCBF29CE484222325
    cdef uint32_t character
    cdef bint spaced = False
    cdef Py_ssize_t place
    for place in range(text.length):
        character = PyUnicode_READ(text.kind, text.data, place)
        if Py_UNICODE_ISSPACE(character):
            if spaced:
                continue
            character = c" "
        spaced = character == c" "
        if not c"0" <= character <= c"9":
            state = (state ^ Py_UNICODE_TOLOWER(character)) * <uint64_t> 0x100000001B3
    state = (state ^ state >> 33) * <uint64_t> 0xFF51AFD7ED558CCD
    state = (state ^ state >> 33) * <uint64_t> 0xC4CEB9FE1A85EC53
    return state ^ state >> 33
