# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Passes over all bytes of a page."""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy

cdef enum:
    SPAN = 64


def count_tags(bytes html not None) -> int:
    """Return the largest number of tags that a page may have: each begins with `<`."""
    cdef const unsigned char *text = html
    cdef size_t size = len(html), position = 0, count = 0
    cdef unsigned char found, byte
    while position + SPAN <= size:  # of a fixed length, for the compiler to count many bytes at once
        found = 0
        for byte in range(SPAN):
            found += text[position + byte] == c"<"
        count += found
        position += SPAN
    while position < size:
        count += text[position] == c"<"
        position += 1
    return count


def is_utf8(bytes data not None) -> bool:
    """Return True if bytes are UTF-8 as RFC 3629 has it: no surrogates, nothing overlong or beyond U+10FFFF."""
    cdef const unsigned char *text = data
    cdef size_t size = len(data), position = 0, length
    while position < size:
        if text[position] < 0x80:
            position += _ascii(text + position, size - position)
        else:
            length = _character(text + position, size - position)
            if not length:
                return False
            position += length
    return True


cdef inline size_t _ascii(const unsigned char *text, size_t size) noexcept nogil:
    """Return the number of leading bytes of ASCII, looked at eight at a time."""
    cdef size_t position = 0
    cdef uint64_t word
    while position + sizeof(word) <= size:
        memcpy(&word, text + position, sizeof(word))
        if word & <uint64_t> 0x8080808080808080:
            break
        position += sizeof(word)
    while position < size and text[position] < 0x80:
        position += 1
    return position


cdef inline size_t _character(const unsigned char *text, size_t size) noexcept nogil:
    """Return the length in bytes of the first character, which is not ASCII; 0 if there is none."""
    cdef unsigned char first = text[0], lowest = 0x80, highest = 0xBF
    cdef size_t length, position
    if 0xC2 <= first <= 0xDF:
        length = 2
    elif 0xE0 <= first <= 0xEF:
        length = 3
        lowest = 0xA0 if first == 0xE0 else lowest
        highest = 0x9F if first == 0xED else highest
    elif 0xF0 <= first <= 0xF4:
        length = 4
        lowest = 0x90 if first == 0xF0 else lowest
        highest = 0x8F if first == 0xF4 else highest
    else:
        return 0
    if size < length or not lowest <= text[1] <= highest:
        return 0
    for position in range(2, length):
        if text[position] & 0xC0 != 0x80:
            return 0
    return length
