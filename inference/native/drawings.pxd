"""Drawings in SVG, of which only the content of a `<foreignObject>` is text of the page."""

from libc.stdint cimport uint16_t

from dehusk.inference.native cimport lexbor, markup
from dehusk.inference.native.buffer cimport Buffer
from dehusk.inference.native.lexbor cimport Element, Node
from dehusk.inference.native.markup cimport Shown, spells, tag_name
from dehusk.inference.native.styles cimport Inherited, Scopes


cdef struct Around:  # an element of a drawing and those around it, up to the drawing
    uint16_t flags
    Shown shown


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


cdef inline bint shows_html(Node *drawn):
    """Return True if an element of a drawing shows HTML in it, and does not only describe a shape."""
    return markup.tag_of(drawn.name).role == markup.DRAWING or spells(tag_name(drawn.name), b"g") or (
        spells(tag_name(drawn.name), b"a") or spells(tag_name(drawn.name), b"switch")
    )


cdef class Drawings:
    cdef dict _numbers  # of the elements that were read, by their addresses
    cdef Buffer _read

    cdef uint16_t flags_in(
        self, Element *element, markup.Tag *tag, Inherited *inherited, Scopes scopes, Shown *shown
    ) except? 0xFFFF
    cdef Around _around(self, Node *node, Inherited *inherited, Scopes scopes) except *
