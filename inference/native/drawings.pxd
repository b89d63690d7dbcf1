"""Drawings in SVG, of which only the content of a `<foreignObject>` is text of the page."""

from libc.stdint cimport uint16_t
from libc.string cimport memset

from dehusk.inference.native cimport lexbor, markup
from dehusk.inference.native.buffer cimport Buffer, append, free
from dehusk.inference.native.lexbor cimport Element, Node
from dehusk.inference.native.markup cimport Shown, spells, tag_name
from dehusk.inference.native.styles cimport UNDECLARED, Inherited, Scopes


cdef inline bint is_drawn(Node *node) noexcept:
    """Return True if a node is an element of a drawing, and none that holds HTML again."""
    return (
        node.namespace_ == lexbor.SVG
        and node.type == lexbor.ELEMENT
        and markup.tag_of(node.name).role != markup.HOLDS_HTML
    )


cdef inline bint holds_none(Node *drawn) noexcept:
    """Return True if an element of a drawing only describes it or does something to it."""
    cdef markup.Tag *tag = markup.tag_of(drawn.name)
    return tag.kind == markup.SKIPPED_KIND and tag.role != markup.DRAWING


cdef inline bint _shows_html(Node *drawn):
    """Return True if an element of a drawing shows HTML in it, and does not only describe a shape."""
    return markup.tag_of(drawn.name).role == markup.DRAWING or spells(tag_name(drawn.name), b"g") or (
        spells(tag_name(drawn.name), b"a") or spells(tag_name(drawn.name), b"switch")
    )


cdef inline uint16_t flags_in_drawing(
    Element *element, markup.Tag *tag, Inherited *inherited, Scopes scopes, Shown *shown
) except? 0xFFFF:
    """The flags of an element and of those of the drawing it stands in; how they show it together is set."""
    cdef Shown around
    cdef uint16_t flags = _flags_around(element, inherited, scopes, &around)
    flags |= markup.own_flags(element, tag, &around.inherited, scopes, shown)
    shown.removed = shown.removed or around.removed
    if shown.visibility == UNDECLARED:
        shown.visibility = around.visibility
    return flags


cdef inline uint16_t _flags_around(
    Element *element, Inherited *inherited, Scopes scopes, Shown *around
) except? 0xFFFF:
    """The flags of the elements of the drawing that an element stands in; how they show it together is set."""
    cdef Node *node = element.node.parent
    cdef Buffer drawn
    cdef Shown shown
    cdef uint16_t flags = 0
    memset(&drawn, 0, sizeof(Buffer))
    memset(around, 0, sizeof(Shown))
    around.inherited = inherited[0]
    try:
        while node != NULL and is_drawn(node):
            append(&drawn, &node, sizeof(node))
            node = node.parent
        while drawn.used:
            drawn.used -= sizeof(node)
            node = (<Node **> (drawn.data + drawn.used))[0]
            flags |= markup.own_flags(<Element *> node, markup.tag_of(node.name), &around.inherited, scopes, &shown)
            around.inherited = shown.inherited
            around.removed = around.removed or shown.removed or not _shows_html(node)
            if shown.visibility != UNDECLARED:
                around.visibility = shown.visibility
    finally:
        free(&drawn)
    return flags
