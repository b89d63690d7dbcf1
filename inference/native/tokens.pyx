# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Words and punctuation, and the hashes that stand for them."""

from libc.stdint cimport uint32_t

from inference.native.buffer cimport Buffer, more

cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    void *PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    bint PyUnicode_IS_ASCII(object text)
    uint32_t PyUnicode_READ(int kind, void *data, Py_ssize_t position) noexcept nogil
    bint Py_UNICODE_ISALNUM(uint32_t character) noexcept nogil
    bint Py_UNICODE_ISSPACE(uint32_t character) noexcept nogil
    uint32_t Py_UNICODE_TOLOWER(uint32_t character) noexcept nogil

cdef enum:
    SPACE
    PUNCTUATION
    LETTER  # words are made of this and what follows
    UNSPACED
    IDEOGRAPH

cdef enum:
    LONGEST_UNSPACED = 4
    WITHOUT_TOP_BIT = 0x7FFFFFFF

cdef uint32_t[256] _crcs
cdef unsigned char[128] _ascii


cdef void _fill_tables() noexcept:
    cdef uint32_t crc, byte
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
        _crcs[byte] = crc
    for byte in range(128):
        _ascii[byte] = LETTER if Py_UNICODE_ISALNUM(byte) or byte == c"_" else _between(byte)


_fill_tables()


def words(str text not None) -> list:
    r"""The words of a text, lower case: runs of `\w`.

    Where a script writes no spaces, a Chinese or Japanese character is a word, and so are four letters of
    Thai, Lao, Khmer or Burmese, about the length of a word there.
    """
    return _found(text, LETTER)


def tokens(str text not None) -> list:
    """The words of a text and its punctuation, in order: each character of no word but white space."""
    return _found(text, PUNCTUATION)


cdef list _found(str text, int least):
    cdef Text read = text_of(text)
    cdef Py_ssize_t start, end = 0
    found = []
    while _next(&read, least, &start, &end):
        found.append(_lower(text, start, end))
    return found


cdef str _lower(str text, Py_ssize_t start, Py_ssize_t end):
    """A part of a text in lower case, each letter on its own: as `add_hashes` hashes it."""
    part = text[start:end]
    if part.isascii():
        return part.lower()
    return "".join([chr(Py_UNICODE_TOLOWER(ord(letter))) for letter in part])


def count_words(str text not None) -> int:
    """How many words a text has."""
    cdef Text read = text_of(text)
    cdef Py_ssize_t start, end = 0, found = 0
    while _next(&read, LETTER, &start, &end):
        found += 1
    return found


def count_words_of_markup(str markup not None) -> int:
    """How many words a text has outside of its tags."""
    cdef Text read = text_of(markup), part
    cdef Py_ssize_t start, end, found = 0, position = 0
    while position < read.length:
        part = read
        part.length = position
        while part.length < read.length and PyUnicode_READ(read.kind, read.data, part.length) != c"<":
            part.length += 1
        end = position
        while _next(&part, LETTER, &start, &end):
            found += 1
        position = _after_tag(&read, part.length)
    return found


cdef Py_ssize_t _after_tag(Text *text, Py_ssize_t start) noexcept:
    """The end of the tag that may start at a position; a `<` that starts none stands for itself."""
    cdef Py_ssize_t position = start + 1
    cdef uint32_t character
    while position < text.length:
        character = PyUnicode_READ(text.kind, text.data, position)
        if character == c">":
            return position + 1
        if character == c"<":
            break
        position += 1
    return start + 1


cdef Text text_of(str text):
    cdef Text read
    read.kind, read.data, read.length = PyUnicode_KIND(text), PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text)
    read.ascii = PyUnicode_IS_ASCII(text)
    return read


cdef int add_hashes(Buffer *words, Buffer *tokens, uint32_t seed, Text *text) except -1:
    """Add the crc32 of each word of a text, lower case, continued from that of the bytes before it.

    `tokens`, where it is not NULL, gets that of each punctuation character as well, all without their top bit.
    """
    cdef Py_ssize_t position = 0, start
    cdef uint32_t character, crc
    cdef int script
    while position < text.length:
        start = position
        character = PyUnicode_READ(text.kind, text.data, position)
        script = _script(character)
        position += 1
        if script == SPACE or script == PUNCTUATION and tokens == NULL:
            continue
        crc = _add_character(~seed, lowered(character))
        while position < text.length:
            character = PyUnicode_READ(text.kind, text.data, position)
            if not _goes_on(script, _script(character), position - start):
                break
            crc = _add_character(crc, lowered(character))
            position += 1
        if script != PUNCTUATION:
            (<uint32_t *> more(words, sizeof(uint32_t)))[0] = ~crc
        if tokens != NULL:
            (<uint32_t *> more(tokens, sizeof(uint32_t)))[0] = ~crc & WITHOUT_TOP_BIT
    return 0


cdef inline bint _goes_on(int word, int script, Py_ssize_t length) noexcept nogil:
    """Whether a word of so many characters goes on with one of a script."""
    return script == word and (script == LETTER or script == UNSPACED and length < LONGEST_UNSPACED)


cdef bint _next(Text *text, int least, Py_ssize_t *start, Py_ssize_t *end) noexcept:
    """Whether there is a word from `end` on, and where; `least` is LETTER, or PUNCTUATION to find that, too."""
    cdef Py_ssize_t position = end[0]
    cdef int script = SPACE
    while position < text.length:
        script = _script(PyUnicode_READ(text.kind, text.data, position))
        if script >= least:
            break
        position += 1
    else:
        return False
    start[0] = position
    position += 1
    while position < text.length and _goes_on(
        script, _script(PyUnicode_READ(text.kind, text.data, position)), position - start[0]
    ):
        position += 1
    end[0] = position
    return True


cdef bint writes_no_spaces(uint32_t character) noexcept nogil:
    """Whether a character is of a script that parts words by no space."""
    cdef int script = _script(character)
    return script == IDEOGRAPH or script == UNSPACED


cdef inline int _script(uint32_t character) noexcept nogil:
    """How a character makes words."""
    if character < 128:
        return _ascii[character]
    if 0x0E00 <= character <= 0x0EFF or 0x1000 <= character <= 0x109F or 0x1780 <= character <= 0x17FF:
        return UNSPACED
    if (
        0x3040 <= character <= 0x30FF
        or 0x31F0 <= character <= 0x31FF
        or 0x3400 <= character <= 0x4DBF
        or 0x4E00 <= character <= 0x9FFF
        or 0xF900 <= character <= 0xFAFF
        or 0x20000 <= character <= 0x3FFFF
    ):
        return IDEOGRAPH
    return LETTER if Py_UNICODE_ISALNUM(character) else _between(character)


cdef inline int _between(uint32_t character) noexcept nogil:
    """What a character of no word is."""
    return SPACE if Py_UNICODE_ISSPACE(character) else PUNCTUATION


cdef uint32_t crc32(uint32_t crc, const unsigned char *data, size_t size) noexcept nogil:
    """The crc32 of bytes, continued from that of the bytes before them."""
    cdef size_t position
    crc = ~crc
    for position in range(size):
        crc = _crcs[(crc ^ data[position]) & 0xFF] ^ crc >> 8
    return ~crc


cdef uint32_t crc32_of(uint32_t crc, Text *text, Py_ssize_t start, Py_ssize_t end) noexcept:
    """The crc32 of a part of a text in UTF-8, continued from that of the bytes before it."""
    cdef Py_ssize_t position
    crc = ~crc
    for position in range(start, end):
        crc = _add_character(crc, PyUnicode_READ(text.kind, text.data, position))
    return ~crc


cdef inline uint32_t _add_character(uint32_t crc, uint32_t character) noexcept nogil:
    if character < 0x80:
        return _add(crc, character)
    if character < 0x800:
        return _add(_add(crc, 0xC0 | character >> 6), _continued(character))
    if character < 0x10000:
        crc = _add(_add(crc, 0xE0 | character >> 12), _continued(character >> 6))
    else:
        crc = _add(_add(crc, 0xF0 | character >> 18), _continued(character >> 12))
        crc = _add(crc, _continued(character >> 6))
    return _add(crc, _continued(character))


cdef inline uint32_t lowered(uint32_t character) noexcept nogil:
    """A letter in lower case, which is one letter here."""
    if character < 0x80:
        return character | 0x20 if c"A" <= character <= c"Z" else character
    return Py_UNICODE_TOLOWER(character)


cdef inline uint32_t _continued(uint32_t bits) noexcept nogil:
    return 0x80 | bits & 0x3F


cdef inline uint32_t _add(uint32_t crc, uint32_t byte) noexcept nogil:
    return _crcs[(crc ^ byte) & 0xFF] ^ crc >> 8
