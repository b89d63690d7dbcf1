# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Words, and the hashes that stand for them."""

from libc.stdint cimport uint32_t

cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    void *PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    uint32_t PyUnicode_READ(int kind, void *data, Py_ssize_t place) noexcept nogil
    bint Py_UNICODE_ISALNUM(uint32_t character) noexcept nogil
    uint32_t Py_UNICODE_TOLOWER(uint32_t character) noexcept nogil

cdef enum:
    SEPARATOR
    LETTER
    UNSPACED
    IDEOGRAPH

cdef enum:
    LONGEST_UNSPACED = 4

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
        _ascii[byte] = LETTER if Py_UNICODE_ISALNUM(byte) or byte == c"_" else SEPARATOR


_fill_tables()


def words(str text not None) -> list:
    r"""The words of a text, lower case: runs of `\w`.

    Where a script writes no spaces, a Chinese or Japanese character is a word, and so are four letters of
    Thai, Lao, Khmer or Burmese, about the length of a word there.
    """
    cdef Text read = text_of(text)
    cdef Py_ssize_t start, end = 0
    found = []
    while next_word(&read, &start, &end):
        found.append(_lower(text, start, end))
    return found


cdef str _lower(str text, Py_ssize_t start, Py_ssize_t end):
    """A part of a text in lower case, each letter on its own: as `crc32_of` hashes it."""
    part = text[start:end]
    return part.lower() if part.isascii() else "".join([chr(Py_UNICODE_TOLOWER(ord(letter))) for letter in part])


def count_words(str text not None) -> int:
    """How many words a text has."""
    cdef Text read = text_of(text)
    cdef Py_ssize_t start, end = 0, found = 0
    while next_word(&read, &start, &end):
        found += 1
    return found


def count_words_of_markup(str markup not None) -> int:
    """How many words a text has outside of its tags."""
    cdef Text read = text_of(markup), part
    cdef Py_ssize_t start, end, found = 0, place = 0
    while place < read.length:
        part = read
        part.length = place
        while part.length < read.length and PyUnicode_READ(read.kind, read.data, part.length) != c"<":
            part.length += 1
        end = place
        while next_word(&part, &start, &end):
            found += 1
        place = _after_tag(&read, part.length)
    return found


cdef Py_ssize_t _after_tag(Text *text, Py_ssize_t start) noexcept:
    """The end of the tag that may start at a place; a `<` that starts none stands for itself."""
    cdef Py_ssize_t place = start + 1
    cdef uint32_t character
    while place < text.length:
        character = PyUnicode_READ(text.kind, text.data, place)
        if character == c">":
            return place + 1
        if character == c"<":
            break
        place += 1
    return start + 1


cdef Text text_of(str text):
    cdef Text read
    read.kind, read.data, read.length = PyUnicode_KIND(text), PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text)
    return read


cdef bint next_word(Text *text, Py_ssize_t *start, Py_ssize_t *end) noexcept:
    """Whether there is a word from `end` on, and where."""
    cdef Py_ssize_t place = end[0]
    cdef int script = SEPARATOR
    while place < text.length:
        script = _script(PyUnicode_READ(text.kind, text.data, place))
        if script != SEPARATOR:
            break
        place += 1
    else:
        return False
    start[0] = place
    place += 1
    cdef Py_ssize_t longest = text.length
    if script == IDEOGRAPH:
        longest = place
    elif script == UNSPACED:
        longest = min(longest, start[0] + LONGEST_UNSPACED)
    while place < longest and _script(PyUnicode_READ(text.kind, text.data, place)) == script:
        place += 1
    end[0] = place
    return True


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
    return LETTER if Py_UNICODE_ISALNUM(character) else SEPARATOR


cdef uint32_t crc32(uint32_t crc, const unsigned char *data, size_t size) noexcept nogil:
    """The crc32 of bytes, continued from that of the bytes before them."""
    cdef size_t place
    crc = ~crc
    for place in range(size):
        crc = _crcs[(crc ^ data[place]) & 0xFF] ^ crc >> 8
    return ~crc


cdef uint32_t crc32_of(uint32_t crc, Text *text, Py_ssize_t start, Py_ssize_t end, bint lower) noexcept:
    """The crc32 of a part of a text in UTF-8, in lower case or as it is, continued from that of the bytes before it."""
    cdef uint32_t character
    cdef Py_ssize_t place
    crc = ~crc
    for place in range(start, end):
        character = PyUnicode_READ(text.kind, text.data, place)
        if lower:
            character = Py_UNICODE_TOLOWER(character)
        if character < 0x80:
            crc = _add(crc, character)
        elif character < 0x800:
            crc = _add(_add(crc, 0xC0 | character >> 6), _continued(character))
        elif character < 0x10000:
            crc = _add(_add(crc, 0xE0 | character >> 12), _continued(character >> 6))
            crc = _add(crc, _continued(character))
        else:
            crc = _add(_add(crc, 0xF0 | character >> 18), _continued(character >> 12))
            crc = _add(_add(crc, _continued(character >> 6)), _continued(character))
    return ~crc


cdef inline uint32_t _continued(uint32_t bits) noexcept nogil:
    return 0x80 | bits & 0x3F


cdef inline uint32_t _add(uint32_t crc, uint32_t byte) noexcept nogil:
    return _crcs[(crc ^ byte) & 0xFF] ^ crc >> 8
