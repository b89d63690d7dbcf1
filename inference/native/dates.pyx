# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Texts in which a date may stand: a filter before `dehusk.inference.metadata.dates`."""

from libc.stdint cimport uint8_t, uint32_t

from dehusk.inference.native.tokens cimport Text, text_of
from dehusk.inference.native.unicode cimport PyUnicode_READ, Py_UNICODE_ISDECIMAL

cdef enum:
    YEAR_SIGN = 0x5E74  # 年
    YEAR_DIGITS = 4
    DAY_DIGITS = 2


def texts_with_dates(object texts not None, Py_ssize_t first, Py_ssize_t end, Py_ssize_t longest) -> list:
    """Return the texts from `first` up to `end`, by their places, that may hold a date; none of the `longest`.

    A date has a year of four digits, in ASCII from 1900 to 2099, and a day or a month of one or two, or the
    Chinese sign of a year.
    """
    cdef list found = []
    cdef Py_ssize_t place
    for place in range(first, min(end, <Py_ssize_t> len(texts))):
        if _may_hold(texts[place], longest):
            found.append(place)
    return found


def any_with_date(object texts not None, Py_ssize_t longest) -> bool:
    """Return True if one of the texts may hold a date, as in `texts_with_dates`."""
    for text in texts:
        if _may_hold(text, longest):
            return True
    return False


cdef bint _may_hold(str block, Py_ssize_t longest) except -1:
    cdef Text text = text_of(block)
    return text.length <= longest and (_may_in_ascii(&text) if text.ascii else _may(&text))


cdef bint _may_in_ascii(Text *text) noexcept:
    cdef const uint8_t *data = <const uint8_t *> text.data
    cdef Py_ssize_t position, digits = 0
    cdef bint has_year = False, has_day = False
    for position in range(text.length + 1):
        if position < text.length and c"0" <= data[position] <= c"9":
            digits += 1
            continue
        if digits == YEAR_DIGITS:
            has_year |= _begins_year(data + position - YEAR_DIGITS)
        elif 0 < digits <= DAY_DIGITS:
            has_day = True
        digits = 0
    return has_year and has_day


cdef bint _begins_year(const uint8_t *digits) noexcept:
    return (digits[0] == c"1" and digits[1] == c"9") or (digits[0] == c"2" and digits[1] == c"0")


cdef bint _may(Text *text) noexcept:
    cdef Py_ssize_t position, digits = 0
    cdef bint has_year = False, has_day = False
    cdef uint32_t character = 0
    for position in range(text.length + 1):
        if position < text.length:
            character = PyUnicode_READ(text.kind, text.data, position)
            if character == YEAR_SIGN:
                return True
            if Py_UNICODE_ISDECIMAL(character):
                digits += 1
                continue
        has_year |= digits == YEAR_DIGITS
        has_day |= 0 < digits <= DAY_DIGITS
        digits = 0
    return has_year and has_day
