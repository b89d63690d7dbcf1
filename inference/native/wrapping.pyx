# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Words of texts and lines that they are wrapped to, by block: see `dehusk.inference.encoding.boilerpipe`."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

import numpy as np

from dehusk.inference.native.tokens cimport Text, text_of
from dehusk.inference.native.unicode cimport PyUnicode_READ, Py_UNICODE_ISALNUM, Py_UNICODE_ISSPACE

cdef enum:
    ASCII = 128

cdef struct Wrapped:  # a block that is being read
    Py_ssize_t length  # of the open token
    bint has_letter, has_linked_letter
    Py_ssize_t line  # characters
    int64_t lines, before  # that are full, and the tokens in them
    int64_t tokens, words, linked_words

cdef uint8_t[ASCII] _letters
cdef uint8_t[ASCII] _spaces
for _character in range(ASCII):
    _letters[_character] = chr(_character).isalnum()
    _spaces[_character] = chr(_character).isspace()


def visible_lengths(tuple texts not None):
    """Count the characters of each text that are no white space, shape [L]."""
    cdef Py_ssize_t place, position
    cdef int32_t length
    cdef Text text
    lengths = np.empty(len(texts), np.int32)
    cdef int32_t[::1] column = lengths
    for place in range(len(texts)):
        text, length = text_of(texts[place]), 0
        for position in range(text.length):
            length += not _is_space(PyUnicode_READ(text.kind, text.data, position))
        column[place] = length
    return lengths


def are_blank(tuple texts not None):
    """Return the texts that are nothing but white space, shape [L]."""
    cdef Py_ssize_t place, position
    cdef Text text
    blank = np.zeros(len(texts), np.bool_)
    cdef uint8_t[::1] column = blank.view(np.uint8)
    for place in range(len(texts)):
        text, position = text_of(texts[place]), 0
        while position < text.length and _is_space(PyUnicode_READ(text.kind, text.data, position)):
            position += 1
        column[place] = position == text.length
    return blank


def describe_blocks(
    tuple texts not None,
    const int32_t[::1] numbers,
    const uint8_t[::1] linked,
    Py_ssize_t blocks,
    Py_ssize_t width,
):
    """Return the words, linked words and tokens per line of `width` characters of each block, shape [3, blocks].

    `numbers`, of shape [L], has the block that each text is part of, in order; -1 for none. `linked` is
    true for linked texts.
    """
    cdef Wrapped block
    cdef int32_t number = -1
    cdef Py_ssize_t place
    cdef Text text
    columns = np.zeros((3, blocks), np.float64)
    cdef double[:, ::1] written = columns
    for place in range(len(texts)):
        if numbers[place] < 0:
            continue
        if numbers[place] != number:
            if number >= 0:
                _write(&block, written, number, width)
            number, block = numbers[place], Wrapped(0, False, False, 0, 0, 0, 0, 0, 0)
        text = text_of(texts[place])
        _read(&block, &text, linked[place], width)
    if number >= 0:
        _write(&block, written, number, width)
    return columns


cdef void _read(Wrapped *block, Text *text, bint is_linked, Py_ssize_t width) noexcept:
    """Read one more text of a block, which may go on with its last token."""
    cdef Py_ssize_t position
    cdef uint32_t character
    for position in range(text.length):
        character = PyUnicode_READ(text.kind, text.data, position)
        if _is_space(character):
            _end_token(block, width)
            continue
        block.length += 1
        if not block.has_letter or (is_linked and not block.has_linked_letter):
            if _is_letter(character):
                block.has_letter = True
                block.has_linked_letter |= is_linked


cdef void _end_token(Wrapped *block, Py_ssize_t width) noexcept:
    """Put the open token, if there is one, on the line, or on the next one where it does not fit."""
    if not block.length:
        return
    if block.line and block.line + 1 + block.length > width:
        block.lines += 1
        block.before, block.line = block.tokens, block.length
    else:
        block.line += block.length + (block.line > 0)
    block.tokens += 1
    block.words += block.has_letter
    block.linked_words += block.has_linked_letter
    block.length, block.has_letter, block.has_linked_letter = 0, False, False


cdef int _write(Wrapped *block, double[:, ::1] written, Py_ssize_t number, Py_ssize_t width) except -1:
    _end_token(block, width)
    written[0, number], written[1, number] = block.words, block.linked_words
    written[2, number] = <double> block.before / block.lines if block.lines else block.tokens
    return 0


cdef inline bint _is_space(uint32_t character) noexcept:
    return _spaces[character] if character < ASCII else Py_UNICODE_ISSPACE(character)


cdef inline bint _is_letter(uint32_t character) noexcept:
    return _letters[character] if character < ASCII else Py_UNICODE_ISALNUM(character)
