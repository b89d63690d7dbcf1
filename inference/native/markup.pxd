from libc.stdint cimport uint8_t, uint16_t, uint32_t, uintptr_t

from inference.native.lexbor cimport Attribute, Element, String

cdef enum:
    ELEMENT_TOKENS = 8
    DESCRIBED = 256  # slots of an array that is zero at first


cdef struct Tag:  # inference.elements.Traits
    uint8_t kind
    uint8_t start
    uint8_t end
    bint preformatted
    uint16_t flag
    uint8_t heading
    int counted
    uint8_t hides
    uint8_t says
    char[32] letters
    uint8_t length


cdef struct Described:  # what the tag and class of an element gave
    uintptr_t name
    String classes
    uint32_t sign
    int found
    uint32_t[ELEMENT_TOKENS] tokens


cdef Tag *tag_of(uintptr_t name) except NULL
cdef String tag_name(uintptr_t name) noexcept
cdef uint16_t own_flags(Element *element, Tag *tag, Attribute **role) noexcept
cdef int describe(
    Element *element, Attribute *role, Described *described, uint32_t *tokens, uint32_t *sign
) noexcept
cdef bint is_json_ld(Element *element) noexcept
cdef dict declaration(Element *element)
