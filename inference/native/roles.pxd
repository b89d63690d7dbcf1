"""The roles that elements play for the guard before the parser, as bits."""

from libc.stdint cimport uint64_t

from dehusk.inference.native.ascii cimport lower
from dehusk.inference.native.tags cimport Token

cdef enum Role:
    SVG = 1 << 0
    MATH = 1 << 1
    HTML_IN_SVG = 1 << 2  # elements of drawings that hold HTML again
    HTML_IN_MATH = 1 << 3
    MAY_HOLD_HTML = 1 << 4
    BREAKS_OUT = 1 << 5  # whose start tags end all drawings and formulas around them
    BREAKS_OUT_BY_END = 1 << 6
    FONT = 1 << 7
    FORMATS = 1 << 8
    RAW = 1 << 9
    NOSCRIPT = 1 << 10
    FRAMESET = 1 << 11
    TEMPLATE = 1 << 12
    COL = 1 << 13
    FORM = 1 << 14
    HTML = 1 << 15
    BODY = 1 << 16
    VOID = 1 << 17
    CLOSED_BY_NEXT = 1 << 18
    CLOSED_BY_OWN = 1 << 19
    LIST_ITEM = 1 << 20
    TERM = 1 << 21
    OPTION = 1 << 22
    OPTION_GROUP = 1 << 23
    HEADING = 1 << 24
    SCOPE = 1 << 25
    SPECIAL = 1 << 26
    PLACE = 1 << 27

cdef dict ROLES


cdef inline int raw_roles(bint scripting) noexcept nogil:
    """Return the roles of elements whose content is text."""
    return RAW | NOSCRIPT if scripting else RAW


cdef inline uint64_t packed(const unsigned char *name, size_t length) noexcept nogil:
    """Return a name, in lower case, as a number; 0 if it does not fit."""
    cdef uint64_t number = 0
    cdef size_t letter
    if length > sizeof(number):
        return 0
    for letter in range(length):
        if not 0 < name[letter] < 0x80:
            return 0
        number |= <uint64_t> lower(name[letter]) << 8 * letter
    return number


cdef bint ends_foreign(const unsigned char *text, const Token *token, int roles) noexcept
