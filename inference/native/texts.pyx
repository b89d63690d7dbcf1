# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Features of the characters of each block: the group `text` of `dehusk.inference.encoding.features`."""

from libc.math cimport rint
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memset

import numpy as np

from dehusk.inference.native cimport feature
from dehusk.inference.native.scale cimport between, flag, logarithm, share
from dehusk.inference.native.tokens cimport Text, text_of
from dehusk.inference.native.unicode cimport (
    PyUnicode_READ, Py_UNICODE_ISALNUM, Py_UNICODE_ISDECIMAL, Py_UNICODE_ISDIGIT, Py_UNICODE_ISLOWER,
    Py_UNICODE_ISUPPER,
)

from dehusk.inference.encoding import features

cdef enum:
    OTHER
    SPACE
    LOWER
    UPPER
    DECIMAL
    DIGIT
    ALNUM
    COMMA
    SENTENCE_END
    QUESTION
    COLON
    CURRENCY
    AT_SIGN
    SEPARATOR
    KINDS

cdef enum:
    ASCII = 128
    MAX_SYMBOLS = 32  # that are not ASCII
    MAX_PRICE = 60  # characters
    PARAGRAPH_WORDS = 15

cdef double HIGHEST_RATIO = features.RATIO[1]

cdef dict _symbols = {
    ord(symbol): kind
    for symbols, kind in (
        (".!。！؟।…", SENTENCE_END),
        ("?？", QUESTION),
        (",、，;；", COMMA),
        (":：", COLON),
        ("$€£¥₹₽₩₺฿", CURRENCY),
        ("|»›•·/", SEPARATOR),
        (" ", SPACE),
        ("@", AT_SIGN),
    )
    for symbol in symbols
}
cdef uint8_t[ASCII] _ascii
cdef uint32_t[MAX_SYMBOLS] _other_symbols
cdef uint8_t[MAX_SYMBOLS] _other_kinds
cdef int _other_count = 0
for _symbol, _kind_of_symbol in _symbols.items():
    if _symbol >= ASCII:
        _other_symbols[_other_count], _other_kinds[_other_count] = _symbol, _kind_of_symbol
        _other_count += 1
for _symbol in range(ASCII):
    _ascii[_symbol] = _symbols.get(_symbol, _kind_of_letter(_symbol))


cdef uint8_t _kind_of_letter(uint32_t character) noexcept:
    if Py_UNICODE_ISLOWER(character):
        return LOWER
    if Py_UNICODE_ISUPPER(character):
        return UPPER
    if not Py_UNICODE_ISALNUM(character):
        return OTHER
    if not Py_UNICODE_ISDIGIT(character):
        return ALNUM
    return DECIMAL if Py_UNICODE_ISDECIMAL(character) else DIGIT


cdef inline uint8_t _kind(uint32_t character) noexcept:
    cdef int position
    cdef uint8_t kind
    if character < ASCII:
        return _ascii[character]
    kind = _kind_of_letter(character)
    if kind == OTHER:
        for position in range(_other_count):
            if _other_symbols[position] == character:
                return _other_kinds[position]
    return kind


def link_densities(tuple texts not None, tuple linked not None, const uint32_t[::1] words) -> tuple:
    """Return the share of each block's characters that are linked, and the same share of its words, rounded."""
    cdef Py_ssize_t block, characters, in_links
    density, linked_words = np.empty(len(texts), np.float64), np.empty(len(texts), np.uint32)
    cdef double[::1] density_column = density
    cdef uint32_t[::1] word_column = linked_words
    for block in range(len(texts)):
        characters, in_links = max(len(<str> texts[block]), 1), linked[block]
        density_column[block] = <double> in_links / characters
        word_column[block] = <uint32_t> rint(<double> words[block] * in_links / characters)
    return density, linked_words


def describe_texts(
    tuple texts not None,
    const uint32_t[::1] words,
    const double[::1] density,
    const int32_t[::1] copies,
    const uint16_t[::1] leaves,
    uint8_t[:, ::1] columns,
) -> tuple:
    """Write the columns of each block; return the numbers of blocks that are prices, and of those that ask."""
    cdef Py_ssize_t block
    cdef Text text
    cdef uint32_t[KINDS] kinds
    cdef Py_ssize_t prices = 0, questions = 0
    for block in range(len(texts)):
        text = text_of(texts[block])
        _count(&text, kinds)
        _describe(&text, kinds, words[block], density[block], &columns[block, 0])
        columns[block, feature.LOG_LEAVES] = logarithm(leaves[block])
        columns[block, feature.REPEATED] = flag(copies[block] > 1)
        columns[block, feature.LOG_REPEATS] = logarithm(copies[block] - 1)
        columns[block, feature.HAS_YEAR] = flag(_has_year(&text, kinds))
        prices += text.length < MAX_PRICE and kinds[CURRENCY] and kinds[DECIMAL] + kinds[DIGIT] > 0
        questions += kinds[QUESTION] > 0
    return prices, questions


cdef void _count(Text *text, uint32_t *kinds) noexcept:
    """Count the characters of each kind in a text."""
    cdef Py_ssize_t position
    cdef int kind
    cdef uint32_t[KINDS] others  # every second character's: the next one need not wait for what was added to
    memset(kinds, 0, KINDS * sizeof(uint32_t))
    if not text.ascii:
        for position in range(text.length):
            kinds[_kind(PyUnicode_READ(text.kind, text.data, position))] += 1
        return
    memset(others, 0, KINDS * sizeof(uint32_t))
    for position in range(0, text.length - 1, 2):
        kinds[_ascii[(<const uint8_t *> text.data)[position]]] += 1
        others[_ascii[(<const uint8_t *> text.data)[position + 1]]] += 1
    if text.length & 1:
        kinds[_ascii[(<const uint8_t *> text.data)[text.length - 1]]] += 1
    for kind in range(KINDS):
        kinds[kind] += others[kind]


cdef void _describe(Text *text, uint32_t *kinds, uint32_t words, double density, uint8_t *row) noexcept:
    """Write the columns that the characters alone give."""
    cdef double length = max(text.length, 1)
    cdef uint32_t digits = kinds[DECIMAL] + kinds[DIGIT]
    cdef uint32_t letters = digits + kinds[LOWER] + kinds[UPPER] + kinds[ALNUM]
    cdef uint32_t ends = kinds[SENTENCE_END] + kinds[QUESTION]
    cdef uint8_t first = OTHER, last = OTHER
    if text.length:
        first = _kind(PyUnicode_READ(text.kind, text.data, 0))
        last = _kind(PyUnicode_READ(text.kind, text.data, text.length - 1))
    row[feature.LOG_WORDS] = logarithm(words)
    row[feature.LOG_CHARACTERS] = logarithm(text.length)
    row[feature.WORDS_FROM_15] = flag(words >= PARAGRAPH_WORDS)
    row[feature.WORDS_BELOW_3] = flag(words < 3)
    row[feature.LINK_DENSITY] = share(density)
    row[feature.HAS_LINK] = flag(density > 0)
    row[feature.TENTHS_OF_CHARACTERS_PER_WORD] = between(length / max(words, <uint32_t> 1) / 10, 0, HIGHEST_RATIO)
    row[feature.PUNCTUATION_SHARE] = share((text.length - letters - kinds[SPACE]) / length)
    row[feature.DIGIT_SHARE] = share(digits / length)
    row[feature.UPPER_SHARE] = share(kinds[UPPER] / length)
    row[feature.LOG_COMMAS] = logarithm(kinds[COMMA])
    row[feature.LOG_SENTENCE_ENDS] = logarithm(ends)
    row[feature.ENDS_SENTENCE] = flag(last == SENTENCE_END or last == QUESTION)
    row[feature.ENDS_WITH_COLON] = flag(last == COLON)
    row[feature.STARTS_UPPER] = flag(first == UPPER)
    row[feature.ALL_UPPER] = flag(kinds[UPPER] and not kinds[LOWER])
    row[feature.STARTS_LOWER] = flag(first == LOWER)
    row[feature.HAS_PRICE] = flag(kinds[CURRENCY] and digits)
    row[feature.HAS_AT_SIGN] = flag(kinds[AT_SIGN])
    row[feature.HAS_SEPARATOR] = flag(kinds[SEPARATOR])


cdef bint _has_year(Text *text, uint32_t *kinds) noexcept:
    """Return True if the first four digits in a row are those of a year from 1900 to 2099."""
    cdef Py_ssize_t position = 0
    cdef uint32_t century
    cdef int row = 0
    if kinds[DECIMAL] < 4:
        return False
    while position < text.length and row < 4:
        row = row + 1 if _kind(PyUnicode_READ(text.kind, text.data, position)) == DECIMAL else 0
        position += 1
    if row < 4:
        return False
    century = PyUnicode_READ(text.kind, text.data, position - 4) << 8
    century |= PyUnicode_READ(text.kind, text.data, position - 3)
    return century == (c"1" << 8 | c"9") or century == (c"2" << 8 | c"0")
