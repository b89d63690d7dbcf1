from libc.stdint cimport uint32_t, uintptr_t

from dehusk.inference.native.lexbor cimport Element, String

cdef enum:
    ELEMENT_TOKENS = 8
    DESCRIBED = 256  # slots of an array that is zero at first


cdef struct Described:  # tokens of the tag and class of an element
    uintptr_t name
    String classes
    uint32_t class_hash
    int found
    uint32_t[ELEMENT_TOKENS] tokens


cdef int describe(
    Element *element, Described *described, uint32_t *tokens, uint32_t *class_hash
) noexcept
