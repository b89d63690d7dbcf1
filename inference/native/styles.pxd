from libc.stdint cimport uint8_t

from dehusk.inference.native.lexbor cimport Element, String

cdef enum:  # properties
    DISPLAY
    VISIBILITY
    CONTENT_VISIBILITY
    FLOAT
    POSITION
    PROPERTIES


cdef enum:  # declared values of properties
    UNDECLARED
    HIDING
    SHOWING
    REFERRING  # to other values
    INHERITING  # that of the element around
    LINE_BOX  # a part of lines, as the boxes that follow a value of `display`
    NO_BOX  # but those of its content
    TABLE_BOX
    TABLE_PART
    COLUMN_BOX  # without content
    BLOCK_BOX  # which may hide its content; of `float` and `position`, a value that makes it one
    ARRANGING_BOX  # whose content is blocks
    MATH_BOX  # such a one in a formula, else a part of lines or a block
    BOX = 15  # the bits of these
    ON_LINES = 16  # of its own, beside such a box


cdef struct Style:
    uint8_t[PROPERTIES] declared
    bint[PROPERTIES] important
    String[PROPERTIES] references  # the values that are REFERRING
    bint has_custom_properties


cdef struct Inherited:  # by the elements in an element
    int scope  # one more than the index of the innermost one with custom properties, 0 for none
    uint8_t box
    bint conceals  # its content, by `content-visibility`, if its box may
    bint arranges  # boxes in it


cdef class Scopes:
    cdef list _elements, _scopes  # of those with custom properties
    cdef dict _numbers  # of these, by their addresses
    cdef object _references

    cdef int enter(self, Element *element, String style, int around) except -1
    cdef int resolve(self, Element *element, Style *style, Inherited *inherited) except -1
    cdef int _resolve(self, Element *element, String value, int name, int scope) except -1
    cdef object _scope(self, int number)


cdef int read_style(String text, Style *style) except -1
cdef int read_attribute(String text, int name, Style *style) except -1
