# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Words and punctuation, and the hashes that stand for them."""

from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from dehusk.inference.native.buffer cimport Buffer, more
from dehusk.inference.native.unicode cimport PyUnicode_READ, Py_UNICODE_ISALNUM, Py_UNICODE_ISSPACE, Py_UNICODE_TOLOWER

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object text)

cdef extern from *:
    int _lowest "__builtin_ctzll"(uint64_t bits) noexcept nogil
    int _number "__builtin_popcountll"(uint64_t bits) noexcept nogil
    const uint64_t ONES "0x0101010101010101ULL"  # in each of eight bytes

cdef enum:
    SPACE
    PUNCTUATION
    LETTER  # words are made of this and the next ones
    UNSPACED
    IDEOGRAPH

cdef enum:
    MAX_UNSPACED = 4
    WITHOUT_TOP_BIT = 0x7FFFFFFF
    SPAN = 64  # characters of ASCII of which all tokens are found before they are hashed

cdef uint32_t[8][256] _crcs  # of a byte with so many zero bytes after it
cdef unsigned char[128] _ascii
cdef uint32_t _word  # the crc of the prefix of a word, without its last step
cdef uint32_t[9] _words  # that with so many zero bytes after it


cdef void _fill_tables() noexcept:
    cdef uint32_t crc, byte, zeros
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
        _crcs[0][byte] = crc
    for zeros in range(1, 8):
        for byte in range(256):
            _crcs[zeros][byte] = _add(_crcs[zeros - 1][byte], 0)
    for byte in range(128):
        _ascii[byte] = LETTER if Py_UNICODE_ISALNUM(byte) or byte == c"_" else _between(byte)


_fill_tables()
_word = ~crc32(0, b"w:", 2)
_words[0] = _word
for _zeros in range(8):
    _words[_zeros + 1] = _add(_words[_zeros], 0)


def words(str text not None) -> list:
    r"""The words of a text, lower case: runs of `\w`.

    Where a script writes no spaces, a Chinese or Japanese character is a word, and so are four letters of
    Thai, Lao, Khmer or Burmese, about the length of a word there.
    """
    return _found(text, LETTER)


def tokens(str text not None) -> list:
    """Return the words and punctuation of a text, in order: each character outside words but white space."""
    return _found(text, PUNCTUATION)


cdef list _found(str text, int least):
    cdef Text read = text_of(text)
    cdef Py_ssize_t start, end = 0
    found = []
    while _next(&read, least, &start, &end):
        found.append(_lower(text, start, end))
    return found


cdef str _lower(str text, Py_ssize_t start, Py_ssize_t end):
    """Return a part of a text in lower case, each letter on its own, as `add_hashes` hashes it."""
    part = text[start:end]
    if part.isascii():
        return part.lower()
    return "".join([chr(Py_UNICODE_TOLOWER(ord(letter))) for letter in part])


def count_words(str text not None) -> int:
    """Count the words of a text."""
    cdef Text read = text_of(text)
    cdef Py_ssize_t start, end = 0, found = 0
    while _next(&read, LETTER, &start, &end):
        found += 1
    return found


def count_words_of_markup(str markup not None) -> int:
    """Count the words of a text outside of its tags."""
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
    """Return the end of the tag that may start at a position; a `<` that starts none stands for itself."""
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
    read.ascii = PyUnicode_IS_COMPACT_ASCII(text)
    return read


cdef int add_hashes(Buffer *hashes, Text *text, bint as_tokens) except -1:
    """Add the crc32 of `w:` and each word of a text, lower case.

    As tokens, they are of each punctuation character, too, and without their top bit.
    """
    cdef uint32_t mask = WITHOUT_TOP_BIT if as_tokens else 0xFFFFFFFF
    if text.ascii:
        return _add_hashes_of_ascii(hashes, text, as_tokens, mask)
    cdef Py_ssize_t position = 0, start
    cdef uint32_t character, crc
    cdef int script
    while position < text.length:
        start = position
        character = PyUnicode_READ(text.kind, text.data, position)
        script = _script(character)
        position += 1
        if script == SPACE or script == PUNCTUATION and not as_tokens:
            continue
        crc = _add_character(_word, lowered(character))
        while position < text.length:
            character = PyUnicode_READ(text.kind, text.data, position)
            if not _goes_on(script, _script(character), position - start):
                break
            crc = _add_character(crc, lowered(character))
            position += 1
        (<uint32_t *> more(hashes, sizeof(uint32_t)))[0] = ~crc & mask
    return 0


cdef int _add_hashes_of_ascii(Buffer *hashes, Text *text, bint as_tokens, uint32_t mask) except -1:
    """Do as `add_hashes` for a text in ASCII, without branches on every character."""
    cdef const unsigned char *data = <const unsigned char *> text.data
    cdef uint64_t letters, others, starts, before = 0
    cdef Py_ssize_t position = 0, span = SPAN
    while position < text.length:
        _find_letters(data + position, min(text.length - position, span), &letters, &others)
        starts = letters & ~(letters << 1 | before)
        before = letters >> SPAN - 1
        if as_tokens:
            starts |= others
        _add_of_span(hashes, text, position, starts, letters, mask)
        position += SPAN
    return 0


cdef int _add_of_span(
    Buffer *hashes, Text *text, Py_ssize_t first, uint64_t starts, uint64_t letters, uint32_t mask
) except -1:
    """Add the hashes of a span of ASCII; bits say where words and others start, and where letters of words are."""
    cdef const unsigned char *data = <const unsigned char *> text.data + first
    cdef int start
    cdef uint32_t *hash = <uint32_t *> more(hashes, _number(starts) * sizeof(uint32_t))
    cdef Py_ssize_t length
    while starts:
        start = _lowest(starts)
        starts &= starts - 1
        length = max(_lowest(~(letters >> start)), 1) if start or ~letters else SPAN
        if start + length == SPAN and letters >> SPAN - 1:
            while first + start + length < text.length and _ascii[data[start + length]] == LETTER:
                length += 1
        hash[0] = ~_crc_of_word(data + start, length) & mask
        hash += 1
    return 0


cdef inline void _find_letters(
    const unsigned char *data, int length, uint64_t *letters, uint64_t *others
) noexcept nogil:
    """Set a bit for each character of a span that is a letter of a word, and for each other but white space.

    Fewer bytes than eight are read with others before them, like those of a word.
    """
    cdef uint64_t eight, lower, found, space
    cdef int position
    letters[0] = others[0] = 0
    for position in range(0, length, 8):
        if length - position >= 8:
            eight = _eight(data + position)
        else:  # and white space after them
            eight = _eight(data + length - 8) >> 8 * (8 - length + position)
            eight |= <uint64_t> 0x2020202020202020 << 8 * (length - position)
        lower = eight | 0x20 * ONES
        found = _between_marks(lower, c"a", c"z") | _between_marks(eight, c"0", c"9") | _between_marks(eight, c"_", c"_")
        space = _between_marks(eight, c"\t", c"\r") | _between_marks(eight, 0x1C, c" ")
        letters[0] |= _bits(found) << position
        others[0] |= _bits(~(found | space)) << position


cdef inline uint64_t _between_marks(uint64_t eight, uint64_t low, uint64_t high) noexcept nogil:
    """Return the top bit of each of eight bytes of ASCII that is in a range."""
    return (eight + (0x80 - low) * ONES) & ~(eight + (0x7F - high) * ONES)


cdef inline uint64_t _bits(uint64_t eight) noexcept nogil:
    """Return the top bits of eight bytes, as a byte."""
    return (eight >> 7 & ONES) * <uint64_t> 0x0102040810204080 >> 56


cdef inline uint32_t _crc_of_word(const unsigned char *data, int length) noexcept nogil:
    """Return the crc, without its last step, of a token in lower case: first of the odd bytes, then by eight.

    Fewer bytes than eight are read with others before them: in the header of the string, if at its start.
    """
    cdef int first = (length - 1 & 7) + 1, unread = 8 * (8 - first), position
    cdef uint32_t crc = _words[first] ^ _crc_of_eight(_eight_lowered(data + first - 8) >> unread << unread)
    for position in range(first, length, 8):
        crc = _crc_of_eight(_eight_lowered(data + position) ^ crc)
    return crc


cdef inline uint64_t _eight_lowered(const unsigned char *data) noexcept nogil:
    """Return eight characters of ASCII in lower case, the first in the lowest byte."""
    cdef uint64_t eight = _eight(data)
    return eight | (_between_marks(eight & 0x7F * ONES, c"A", c"Z") & 0x80 * ONES) >> 2


cdef inline uint64_t _eight(const unsigned char *data) noexcept nogil:
    cdef uint64_t eight
    memcpy(&eight, data, sizeof(eight))
    return eight


cdef inline uint32_t _crc_of_eight(uint64_t eight) noexcept nogil:
    """Return the crc of eight bytes, to the first four of which the crc before them was added."""
    return (
        _crcs[7][eight & 0xFF] ^ _crcs[6][eight >> 8 & 0xFF] ^ _crcs[5][eight >> 16 & 0xFF]
        ^ _crcs[4][eight >> 24 & 0xFF] ^ _crcs[3][eight >> 32 & 0xFF] ^ _crcs[2][eight >> 40 & 0xFF]
        ^ _crcs[1][eight >> 48 & 0xFF] ^ _crcs[0][eight >> 56]
    )


cdef inline bint _goes_on(int word, int script, Py_ssize_t length) noexcept nogil:
    """Return True if a word of so many characters goes on with one of a script."""
    return script == word and (script == LETTER or script == UNSPACED and length < MAX_UNSPACED)


cdef bint _next(Text *text, int least, Py_ssize_t *start, Py_ssize_t *end) noexcept:
    """Find the next word from `end` on, if there is one; `least` is LETTER, or PUNCTUATION to find that, too."""
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
    """Return True if a character is of a script that parts words by no space."""
    cdef int script = _script(character)
    return script == IDEOGRAPH or script == UNSPACED


cdef inline int _script(uint32_t character) noexcept nogil:
    """Return the part that a character has in words."""
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
    """Return the kind of a character that is in no word."""
    return SPACE if Py_UNICODE_ISSPACE(character) else PUNCTUATION


cdef uint32_t crc32(uint32_t crc, const unsigned char *data, size_t size) noexcept nogil:
    """Return the crc32 of bytes, continued from that of the bytes before them."""
    cdef size_t position = 0
    cdef uint32_t four
    crc = ~crc
    while size - position >= 8:
        crc = _crc_of_eight(_eight(data + position) ^ crc)
        position += 8
    if size - position >= 4:
        memcpy(&four, data + position, sizeof(four))
        four ^= crc
        crc = _crcs[3][four & 0xFF] ^ _crcs[2][four >> 8 & 0xFF] ^ _crcs[1][four >> 16 & 0xFF] ^ _crcs[0][four >> 24]
        position += 4
    for position in range(position, size):
        crc = _add(crc, data[position])
    return ~crc


cdef uint32_t crc32_of(uint32_t crc, Text *text, Py_ssize_t start, Py_ssize_t end) noexcept:
    """Return the crc32 of a part of a text in UTF-8, continued from that of the bytes before it."""
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
    """Return a letter in lower case, which is one letter here."""
    if character < 0x80:
        return character | 0x20 if c"A" <= character <= c"Z" else character
    return Py_UNICODE_TOLOWER(character)


cdef inline uint32_t _continued(uint32_t bits) noexcept nogil:
    return 0x80 | bits & 0x3F


cdef inline uint32_t _add(uint32_t crc, uint32_t byte) noexcept nogil:
    return _crcs[0][(crc ^ byte) & 0xFF] ^ crc >> 8
