"""Drawings in SVG, of which only the content of a `<foreignObject>` is text of the page."""

from libc.stdint cimport uint16_t

from dehusk.inference.native cimport lexbor, markup
from dehusk.inference.native.lexbor cimport Element, Node
from dehusk.inference.native.styles cimport UNDECLARED


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


cdef inline uint16_t flags_around(Element *element, markup.Shown *shown) except? 0xFFFF:
    """Return the flags of the elements of the drawing that an element stands in; these may hide it, too."""
    cdef Node *node = element.node.parent
    cdef uint16_t flags = 0
    cdef markup.Shown around
    while node != NULL and is_drawn(node):
        flags |= markup.own_flags(<Element *> node, markup.tag_of(node.name), &around)
        shown.removed = shown.removed or around.removed
        if shown.visibility == UNDECLARED:
            shown.visibility = around.visibility
        node = node.parent
    return flags
