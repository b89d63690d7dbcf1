from libc.stdint cimport uint8_t

from dehusk.inference.native.lexbor cimport String

cdef enum:  # properties
    DISPLAY
    VISIBILITY
    CONTENT_VISIBILITY
    PROPERTIES


cdef enum:  # declared values of a property
    UNDECLARED
    HIDING
    SHOWING
    ON_LINES  # showing an element on lines of its own


cdef struct Style:
    uint8_t[PROPERTIES] declared
    bint[PROPERTIES] important


cdef int read_style(String text, Style *style) except -1
