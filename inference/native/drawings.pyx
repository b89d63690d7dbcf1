# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The flags of HTML in drawings, by all elements of the drawing around it."""

from libc.stdint cimport uint16_t
from libc.string cimport memset

from dehusk.inference.native cimport markup
from dehusk.inference.native.buffer cimport append, free
from dehusk.inference.native.lexbor cimport Element, Node
from dehusk.inference.native.markup cimport Shown
from dehusk.inference.native.styles cimport UNDECLARED, Inherited, Scopes


cdef class Drawings:
    """Elements of drawings, each of which is read once, however much HTML is in it."""

    def __cinit__(self):
        self._numbers = {}

    def __dealloc__(self):
        free(&self._read)

    cdef uint16_t flags_in(
        self, Element *element, markup.Tag *tag, Inherited *inherited, Scopes scopes, Shown *shown
    ) except? 0xFFFF:
        """The flags of an element and of those of the drawing it stands in; how they show it together is set."""
        cdef Around around = self._around(element.node.parent, inherited, scopes)
        cdef uint16_t flags = around.flags | markup.own_flags(element, tag, &around.shown.inherited, scopes, shown)
        shown.removed = shown.removed or around.shown.removed
        if shown.visibility == UNDECLARED:
            shown.visibility = around.shown.visibility
        return flags

    cdef Around _around(self, Node *node, Inherited *inherited, Scopes scopes) except *:
        """Read what has not been read of the elements of a drawing from a node outwards."""
        cdef Around around
        cdef Shown shown
        cdef list unread = []
        memset(&around, 0, sizeof(Around))
        around.shown.inherited = inherited[0]
        while node != NULL and is_drawn(node):
            number = self._numbers.get(<size_t> node)
            if number is not None:
                around = (<Around *> self._read.data)[<size_t> number]
                break
            unread.append(<size_t> node)
            node = node.parent
        for address in reversed(unread):
            node = <Node *> <size_t> address
            around.flags |= markup.own_flags(
                <Element *> node, markup.tag_of(node.name), &around.shown.inherited, scopes, &shown
            )
            around.shown.inherited = shown.inherited
            around.shown.removed = around.shown.removed or shown.removed or not shows_html(node)
            if shown.visibility != UNDECLARED:
                around.shown.visibility = shown.visibility
            self._numbers[address] = len(self._numbers)
            append(&self._read, &around, sizeof(Around))
        return around
