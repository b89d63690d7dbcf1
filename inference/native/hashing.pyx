# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Blocks as hashes: of their tags, words and punctuation, one by one, and of their text as a whole."""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

import numpy as np

from dehusk.inference.native.buffer cimport Buffer, append, content, free, more
from dehusk.inference.native.tokens cimport Text, add_hashes, crc32, crc32_of, text_of
from dehusk.inference.native.unicode cimport PyUnicode_READ, Py_UNICODE_ISSPACE, Py_UNICODE_TOLOWER

MAX_BLOCK_TOKENS = 4096
"""A block's tokens beyond this many are dropped; its words are counted all the same."""

cdef enum:
    ASCII = 128
    FIRST_WORDS = 18
    LAST_WORDS = 6
    STRUCTURE_LEVELS = 8

cdef Py_ssize_t _MAX_TOKENS = MAX_BLOCK_TOKENS
cdef uint8_t[ASCII] _ascii
for _character in range(ASCII):
    _text = "" if chr(_character).isdigit() else chr(_character).lower()
    _ascii[_character] = ord(" ") if _text.isspace() else ord(_text or "\0")
cdef uint32_t _OF_TAG = 1 << 31
cdef uint32_t _TAG = crc32(0, b"t:", 2)


def hash_words(tuple texts not None) -> tuple:
    """Return the hashed words of some texts, and the number of words of each text."""
    cdef Py_ssize_t count = len(texts), block
    cdef Buffer words = Buffer(NULL, 0, 0)
    cdef Text text
    cdef size_t before
    counts = np.empty(count, np.uint32)
    cdef uint32_t[::1] column = counts
    try:
        for block in range(count):
            text, before = text_of(texts[block]), words.used
            add_hashes(&words, &text, False)
            column[block] = (words.used - before) // sizeof(uint32_t)
        return np.frombuffer(content(&words), np.uint32), counts
    finally:
        free(&words)


def hash_blocks(tuple paths not None, tuple texts not None) -> tuple:
    """Return the tokens of all blocks, and the number in each: its ancestors' tags, then its words and punctuation."""
    cdef Py_ssize_t count = len(texts), block
    cdef dict known = {}
    cdef str path, last = None
    cdef size_t first = 0, end = 0, before
    cdef Buffer ids = Buffer(NULL, 0, 0), tags = Buffer(NULL, 0, 0)
    cdef Text text
    lengths = np.empty(count, np.uint16)
    cdef uint16_t[::1] column = lengths
    try:
        for block in range(count):
            text, before, path = text_of(texts[block]), ids.used, paths[block]
            if path is not last:
                first, last = _tags_of(path, known, &tags, &end), path
            append(&ids, tags.data + first, end - first)
            add_hashes(&ids, &text, True)
            ids.used = min(ids.used, before + _MAX_TOKENS * sizeof(uint32_t))
            column[block] = (ids.used - before) // sizeof(uint32_t)
        return np.frombuffer(content(&ids), np.uint32), lengths
    finally:
        free(&ids)
        free(&tags)


cdef Py_ssize_t _tags_of(str path, dict known, Buffer *tags, size_t *end) except -1:
    """Return the position in `tags` at which the tokens of a path begin; `known` has those of earlier paths."""
    cdef Text text
    cdef Py_ssize_t start = 0, position, first
    span = known.get(path)
    if span is not None:
        first, end[0] = span
        return first
    text, first = text_of(path), tags.used
    for position in range(text.length + 1):
        if position == text.length or PyUnicode_READ(text.kind, text.data, position) == c"/":
            (<uint32_t *> more(tags, sizeof(uint32_t)))[0] = crc32_of(_TAG, &text, start, position) | _OF_TAG
            start = position + 1
    end[0] = tags.used
    known[path] = first, tags.used
    return first


def ends_of_blocks(const uint32_t[::1] words, const uint32_t[::1] counts) -> tuple:
    """Return the first and last words of each block, all of a short one, 0 of an empty one; and their numbers."""
    cdef Buffer kept = Buffer(NULL, 0, 0)
    cdef size_t word = 0
    cdef Py_ssize_t block
    lengths = np.empty(len(counts), np.uint8)
    cdef uint8_t[::1] column = lengths
    try:
        for block in range(len(counts)):
            column[block] = max(min(counts[block], <uint32_t> (FIRST_WORDS + LAST_WORDS)), <uint32_t> 1)
            if counts[block] > FIRST_WORDS + LAST_WORDS:
                append(&kept, &words[word], FIRST_WORDS * sizeof(uint32_t))
                append(&kept, &words[word + counts[block] - LAST_WORDS], LAST_WORDS * sizeof(uint32_t))
            elif counts[block]:
                append(&kept, &words[word], counts[block] * sizeof(uint32_t))
            else:
                (<uint32_t *> more(&kept, sizeof(uint32_t)))[0] = 0
            word += counts[block]
        return np.frombuffer(content(&kept), np.uint32), lengths
    finally:
        free(&kept)


def fingerprints(tuple texts not None) -> object:
    """Return the 64-bit hash of each text in lower case, without digits and line breaks: a date tells none apart."""
    cdef Py_ssize_t block
    found = np.empty(len(texts), np.uint64)
    cdef uint64_t[::1] column = found
    for block in range(len(texts)):
        column[block] = _fingerprint(texts[block])
    return found


cdef uint64_t _fingerprint(str block) except? 0:
    """Return FNV-1a over the characters, finalized as in MurmurHash3, so that every bit depends on all of them."""
    cdef Text text = text_of(block)
    cdef uint64_t state = 0xCBF29CE484222325
    cdef uint32_t character, last = 0
    cdef Py_ssize_t position
    if text.ascii:
        for position in range(text.length):
            character = _ascii[(<const uint8_t *> text.data)[position]]
            state = _with(state, character, last)
            last = character
    else:
        for position in range(text.length):
            character = _normalised(PyUnicode_READ(text.kind, text.data, position))
            state = _with(state, character, last)
            last = character
    return mixed(state)


cdef inline uint64_t _with(uint64_t state, uint32_t character, uint32_t last) noexcept nogil:
    """Return the state after a character; a digit and a further space leave it as it is."""
    if character and not (character == c" " and last == c" "):
        return fnv(state, character)
    return state


cdef inline uint32_t _normalised(uint32_t character) noexcept nogil:
    """Return a letter in lower case, white space as a space, a digit as 0."""
    if character < ASCII:
        return _ascii[character]
    return c" " if Py_UNICODE_ISSPACE(character) else Py_UNICODE_TOLOWER(character)


def structures(
    const int32_t[::1] parents,
    const uint32_t[::1] tokens,
    const uint8_t[::1] token_counts,
    const int32_t[::1] elements,
) -> object:
    """Return the 64-bit hash of each block's context: of the eight innermost elements, the tag and one part.

    The part is the first of class, id, role and microdata. The root and its children, such as `<body>`, count by
    tag alone: their classes tell kinds of pages apart.
    """
    cdef Py_ssize_t block
    cdef uint64_t[::1] own = _own_structures(parents, tokens, token_counts)
    found = np.empty(len(elements), np.uint64)
    cdef uint64_t[::1] column = found
    for block in range(len(elements)):
        column[block] = _structure(parents, own, elements[block])
    return found


cdef object _own_structures(
    const int32_t[::1] parents, const uint32_t[::1] tokens, const uint8_t[::1] token_counts
):
    """Return the tag and the first part of each element."""
    cdef Py_ssize_t element, token = 0
    own = np.empty(len(parents), np.uint64)
    cdef uint64_t[::1] column = own
    for element in range(len(parents)):
        column[element] = tokens[token]
        if token_counts[element] > 1 and parents[element] > 0:
            column[element] |= <uint64_t> tokens[token + 1] << 32
        token += token_counts[element]
    return own


cdef uint64_t _structure(const int32_t[::1] parents, const uint64_t[::1] own, int32_t element) noexcept:
    cdef uint64_t state = 0xCBF29CE484222325
    cdef int level = 0
    while element >= 0 and level < STRUCTURE_LEVELS:
        state = mixed(state ^ own[element])
        element = parents[element]
        level += 1
    return state
