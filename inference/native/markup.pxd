from libc.stdint cimport uint8_t, uint16_t, uintptr_t

from dehusk.inference.native.lexbor cimport Attribute, Element, Node, String
from dehusk.inference.native.styles cimport Inherited, Scopes

cdef enum:  # attributes: one more than the position in ATTRIBUTES
    OTHER
    HIDDEN
    OPEN
    STYLE
    ROLE
    TYPE
    NAME
    PROPERTY
    CONTENT
    START
    REVERSED
    VALUE
    COLSPAN
    ROWSPAN
    ALTTEXT
    ITEMPROP
    ITEMTYPE
    ITEMSCOPE
    REL
    HREF
    SRC
    DATETIME
    PUBDATE
    POPOVER
    ALT
    DISPLAY_VALUE  # of drawings
    VISIBILITY_VALUE


cdef enum:
    SYMBOL_BYTES = 8  # bytes


cdef struct Tag:  # dehusk.inference.markup.elements.Traits
    uint8_t kind
    uint8_t edge
    uint8_t lists
    uint8_t tables
    char parts
    char shift
    char[SYMBOL_BYTES] opening  # up to a null byte
    char[SYMBOL_BYTES] closing
    char[SYMBOL_BYTES] joints
    bint phrasing
    bint preformatted
    uint16_t flag
    uint8_t heading
    int counted
    uint8_t hides
    uint8_t role
    uint8_t box  # as in styles, without one
    uint8_t box_kept  # whatever a style role: KEPT_BOX, WHOLE_BOX or 0
    char[32] letters
    uint8_t length


cdef struct Shown:  # display and visibility of an element, by its own attributes
    bint on_lines  # of its own
    bint removed  # with all in it
    uint8_t visibility  # declared by its style; UNDECLARED for that of the element around
    Inherited inherited  # by what is in it


cdef int SKIPPED_KIND, DRAWING, HOLDS_HTML

cdef Tag *tag_of(uintptr_t name) noexcept
cdef Tag *tag_in(Node *node) noexcept
cdef uintptr_t number_of(bytes tag) except? 0
cdef bint same(String one, String other) noexcept
cdef bint spells(String value, bytes wanted) noexcept
cdef String tag_name(uintptr_t name) noexcept
cdef int name_of(Attribute *attribute) noexcept
cdef uint16_t own_flags(
    Element *element, Tag *tag, Inherited *around, Scopes scopes, Shown *shown
) except? 0xFFFF
cdef bint has(Element *element, int name) noexcept
cdef String value_of(Element *element, int name) noexcept
cdef int integer(Element *element, int name, int default) noexcept
cdef bint is_shadow_root(Element *template) noexcept
cdef bint is_json_ld(Element *element) noexcept
cdef dict declaration(Element *element)
