# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""What an element's class, id and role say of it, as hashes."""

from libc.stdint cimport uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy

from inference.native cimport lexbor
from inference.native.lexbor cimport Attribute, Element, String
from inference.native.markup cimport same, tag_name
from inference.native.tokens cimport crc32

cdef enum:
    CLASS_BYTES = 160
    ID_BYTES = 40


cdef int describe(
    Element *element, Attribute *role, Described *described, uint32_t *tokens, uint32_t *sign
) noexcept:
    """Write an element's tag, then the parts of its class, id and role: at most ELEMENT_TOKENS in all.

    Returns how many they are; `sign` becomes the hash of tag and class, each number in it the same. Elements
    repeat: what the last ones of many tags and classes gave is kept in `described`.
    """
    cdef String classes = lexbor.value_of(element.classes)
    cdef Described *known = &described[_slot(element.node.name, classes)]
    cdef int found
    if known.name != element.node.name or not same(known.classes, classes):
        known.name, known.classes = element.node.name, classes
        known.sign = _sign(tag_name(element.node.name), classes)
        known.tokens[0] = _token(b"t:", tag_name(element.node.name))
        known.found = _add_parts(classes, CLASS_BYTES, known.tokens, 1)
    sign[0] = known.sign
    memcpy(tokens, known.tokens, known.found * sizeof(uint32_t))
    found = _add_parts(lexbor.value_of(element.id), ID_BYTES, tokens, known.found)
    return _add_parts(lexbor.value_of(role), ID_BYTES, tokens, found)


cdef size_t _slot(uintptr_t name, String classes) noexcept:
    """Where in `described` an element may be found."""
    cdef uint64_t mixed = name * 31 + classes.length, ends = 0
    if classes.length >= sizeof(ends):
        memcpy(&ends, classes.data, sizeof(ends))
        mixed ^= ends
        memcpy(&ends, classes.data + classes.length - sizeof(ends), sizeof(ends))
    return (mixed * 31 + ends) * <uint64_t> 0x9E3779B97F4A7C15 >> 56


cdef int _add_parts(String value, size_t longest, uint32_t *tokens, int found) noexcept:
    """Add the parts of a value, split like `fooBar-baz2`, that are longer than a letter and new."""
    cdef unsigned char[CLASS_BYTES] part
    cdef size_t place = 0, length
    cdef uint32_t token
    cdef int other
    longest = min(longest, value.length)
    while place < longest and found < ELEMENT_TOKENS:
        length = 0
        while place < longest and _is_letter(value.data[place]):
            if length and _is_upper(value.data[place]) and not _is_upper(value.data[place - 1]):
                break
            part[length] = value.data[place] | 0x20
            length += 1
            place += 1
        if not length:
            place += 1
        if length > 1:
            token = _token(b"c:", lexbor.String(&part[0], length))
            for other in range(1, found):
                if tokens[other] == token:
                    break
            else:
                tokens[found] = token
                found += 1
    return found


cdef uint32_t _sign(String name, String classes) noexcept:
    cdef uint32_t sign = crc32(crc32(0, name.data, name.length), b".", 1)
    cdef size_t place = 0, start
    while place < classes.length:
        start = place
        while place < classes.length and not _is_digit(classes.data[place]):
            place += 1
        sign = crc32(sign, classes.data + start, place - start)
        if place < classes.length:
            sign = crc32(sign, b"0", 1)
        while place < classes.length and _is_digit(classes.data[place]):
            place += 1
    return sign


cdef uint32_t _token(bytes kind, String name) noexcept:
    return crc32(crc32(0, kind, len(kind)), name.data, name.length)


cdef inline bint _is_upper(unsigned char letter) noexcept nogil:
    return c"A" <= letter <= c"Z"


cdef inline bint _is_letter(unsigned char letter) noexcept nogil:
    return c"a" <= (letter | 0x20) <= c"z"


cdef inline bint _is_digit(unsigned char letter) noexcept nogil:
    return c"0" <= letter <= c"9"
