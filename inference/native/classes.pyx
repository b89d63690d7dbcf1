# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Class, id, role and microdata of an element, as hashes."""

from libc.stdint cimport uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy

from dehusk.inference.native cimport lexbor
from dehusk.inference.native.ascii cimport is_digit, is_letter, is_upper
from dehusk.inference.native.lexbor cimport Attribute, Element, String
from dehusk.inference.native.markup cimport ITEMPROP, ITEMTYPE, ROLE, name_of, same, tag_name
from dehusk.inference.native.tokens cimport crc32

cdef enum:
    CLASS_BYTES = 160
    ID_BYTES = 40


cdef uint32_t _TAG = crc32(0, b"t:", 2), _PART = crc32(0, b"c:", 2)


cdef int describe(
    Element *element, Described *described, uint32_t *tokens, uint32_t *class_hash
) noexcept:
    """Write an element's tag, then the parts of its class, id, role, `itemprop` and the
    name of its `itemtype`: at most ELEMENT_TOKENS in all.

    Return their number; `class_hash` becomes the hash of tag and class, each number in it the same. As elements
    repeat, the results of the last ones of many tags and classes are kept in `described`.
    """
    cdef String classes = lexbor.value_of(element.classes)
    cdef Described *known = &described[_slot(element.node.name, classes)]
    cdef int found
    if known.name != element.node.name or not same(known.classes, classes):
        known.name, known.classes = element.node.name, classes
        known.class_hash = _class_hash(tag_name(element.node.name), classes)
        known.tokens[0] = _token(_TAG, tag_name(element.node.name))
        known.found = _add_parts(classes, CLASS_BYTES, known.tokens, 1)
    class_hash[0] = known.class_hash
    memcpy(tokens, known.tokens, known.found * sizeof(uint32_t))
    found = _add_parts(lexbor.value_of(element.id), ID_BYTES, tokens, known.found)
    return _add_attributes(element, tokens, found)


cdef int _add_attributes(Element *element, uint32_t *tokens, int found) noexcept:
    """Add the parts of role, `itemprop` and the name of `itemtype`."""
    cdef Attribute *attribute = element.first_attribute
    cdef int name
    while attribute != NULL:
        name = name_of(attribute)
        if name == ROLE or name == ITEMPROP:
            found = _add_parts(lexbor.value_of(attribute), ID_BYTES, tokens, found)
        elif name == ITEMTYPE:
            found = _add_parts(_last_segment(lexbor.value_of(attribute)), ID_BYTES, tokens, found)
        attribute = attribute.next
    return found


cdef String _last_segment(String url) noexcept:
    """Return the text after the last slash: `Article` of `https://schema.org/Article`."""
    cdef size_t start = url.length
    while start and url.data[start - 1] != c"/":
        start -= 1
    return lexbor.String(url.data + start, url.length - start)


cdef size_t _slot(uintptr_t name, String classes) noexcept:
    """Return the slot of an element in `described`."""
    cdef uint64_t mixed = name * 31 + classes.length, ends = 0
    if classes.length >= sizeof(ends):
        memcpy(&ends, classes.data, sizeof(ends))
        mixed ^= ends
        memcpy(&ends, classes.data + classes.length - sizeof(ends), sizeof(ends))
    return (mixed * 31 + ends) * <uint64_t> 0x9E3779B97F4A7C15 >> 56


cdef int _add_parts(String value, size_t longest, uint32_t *tokens, int found) noexcept:
    """Add the parts of a value, split like `fooBar-baz2`, that are longer than a letter and new."""
    cdef unsigned char[CLASS_BYTES] part
    cdef size_t position = 0, length
    cdef uint32_t token
    cdef int other
    longest = min(longest, value.length)
    while position < longest and found < ELEMENT_TOKENS:
        length = 0
        while position < longest and is_letter(value.data[position]):
            if length and is_upper(value.data[position]) and not is_upper(value.data[position - 1]):
                break
            part[length] = value.data[position] | 0x20
            length += 1
            position += 1
        if not length:
            position += 1
        if length > 1:
            token = _token(_PART, lexbor.String(&part[0], length))
            for other in range(1, found):
                if tokens[other] == token:
                    break
            else:
                tokens[found] = token
                found += 1
    return found


cdef uint32_t _class_hash(String name, String classes) noexcept:
    cdef uint32_t class_hash = crc32(crc32(0, name.data, name.length), b".", 1)
    cdef size_t position = 0, start
    while position < classes.length:
        start = position
        while position < classes.length and not is_digit(classes.data[position]):
            position += 1
        class_hash = crc32(class_hash, classes.data + start, position - start)
        if position < classes.length:
            class_hash = crc32(class_hash, b"0", 1)
        while position < classes.length and is_digit(classes.data[position]):
            position += 1
    return class_hash


cdef inline uint32_t _token(uint32_t kind, String name) noexcept:
    return crc32(kind, name.data, name.length)
