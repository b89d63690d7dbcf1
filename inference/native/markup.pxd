from libc.stdint cimport uint8_t, uint16_t, uintptr_t

from inference.native.lexbor cimport Attribute, Element, String


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


cdef Tag *tag_of(uintptr_t name) except NULL
cdef bint same(String one, String other) noexcept
cdef String tag_name(uintptr_t name) noexcept
cdef uint16_t own_flags(Element *element, Tag *tag, Attribute **role) noexcept
cdef bint is_json_ld(Element *element) noexcept
cdef dict declaration(Element *element)
