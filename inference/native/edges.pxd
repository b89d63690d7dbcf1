"""What stands at the edge of an inline element: two words, or one.

Authors mark up parts of words, and they part words by style alone. Which of both it is, the letters tell.
"""

from libc.stdint cimport uint32_t

from inference.native cimport utf8
from inference.native.lexbor cimport String
from inference.native.tokens cimport writes_no_spaces

cdef extern from "Python.h":
    bint Py_UNICODE_ISALNUM(uint32_t character) noexcept nogil
    bint Py_UNICODE_ISDECIMAL(uint32_t character) noexcept nogil
    bint Py_UNICODE_ISALPHA(uint32_t character) noexcept nogil
    bint Py_UNICODE_ISLOWER(uint32_t character) noexcept nogil
    bint Py_UNICODE_ISUPPER(uint32_t character) noexcept nogil


cdef enum:  # edges of inline elements between two texts; several may meet
    START = 1
    END = 2
    LINK_START = 4


cdef inline bint would_merge(String before, String text, int edges) noexcept:
    """Whether two words, or a sentence and the next, stand together without a space."""
    cdef uint32_t last = utf8.last(before.data, before.length), first
    utf8.read(text.data, text.length, &first)
    if not Py_UNICODE_ISALNUM(last):
        return Py_UNICODE_ISUPPER(first) and (last == c"." or last == c"!" or last == c"?" or last == c":")
    if not Py_UNICODE_ISALNUM(first) or writes_no_spaces(last) or writes_no_spaces(first):
        return False
    if Py_UNICODE_ISDECIMAL(last) and _starts_with_ordinal(text):
        return False
    if not Py_UNICODE_ISALPHA(last) or not Py_UNICODE_ISALPHA(first) or Py_UNICODE_ISUPPER(first):
        return True
    if edges == END or edges == LINK_START or (not edges & END and not Py_UNICODE_ISLOWER(first)):
        return False
    return not (_ends_in_one_letter(before) or _starts_with_one_letter(text))


cdef inline bint digits_meet(String before, String text, bint is_shifted) noexcept:
    """Whether two numbers stand together as if they were one; a shifted one may have a sign."""
    cdef uint32_t first
    cdef size_t length = utf8.read(text.data, text.length, &first)
    if is_shifted and length < text.length and (first == c"-" or first == c"+" or first == 0x2212):
        utf8.read(text.data + length, text.length - length, &first)
    return Py_UNICODE_ISDECIMAL(first) and Py_UNICODE_ISDECIMAL(utf8.last(before.data, before.length))


cdef inline bint _ends_in_one_letter(String text) noexcept:
    """Whether the last letter stands alone, like a drop cap."""
    cdef uint32_t before
    cdef size_t length = text.length - utf8.last_size(text.data, text.length)
    if not length:
        return True
    before = utf8.last(text.data, length)
    return not _is_of_word(before)


cdef inline bint _starts_with_one_letter(String text) noexcept:
    cdef uint32_t character
    cdef size_t length = utf8.read(text.data, text.length, &character)
    if length == text.length:
        return True
    utf8.read(text.data + length, text.length - length, &character)
    return not _is_of_word(character)


cdef inline bint _starts_with_ordinal(String text) noexcept:
    """Whether a text starts with what makes a number an ordinal: 1st, 2nd, 3rd, 4th."""
    cdef uint32_t after
    if text.length < 2 or not _ends_ordinal(text.data[0], text.data[1]):
        return False
    if text.length == 2:
        return True
    utf8.read(text.data + 2, text.length - 2, &after)
    return not _is_of_word(after)


cdef inline bint _ends_ordinal(unsigned char first, unsigned char second) noexcept nogil:
    if second == c"d":
        return first == c"n" or first == c"r"
    return first == c"s" and second == c"t" or first == c"t" and second == c"h"


cdef inline bint _is_of_word(uint32_t character) noexcept:
    return Py_UNICODE_ISALNUM(character) or character == c"'" or character == 0x2019
