# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Declarations of a page about itself, in elements that are not shown."""

from libc.stdint cimport uintptr_t

from dehusk.inference.native cimport lexbor
from dehusk.inference.native.attributes cimport MAX_ADDRESS
from dehusk.inference.native.lexbor cimport Element, Node, String, decoded
from dehusk.inference.native.lines cimport folded
from dehusk.inference.native.markup cimport HREF, REL, declaration, is_json_ld, number_of, spells, tag_of, value_of

from dehusk.inference.markup import elements

cdef int TITLE = elements.TITLE, META = elements.META, SCRIPT = elements.SCRIPT, DRAWING = elements.DRAWING
cdef uintptr_t BASE = number_of(b"base"), LINK = number_of(b"link")

cdef enum:
    MAX_DECLARATION = 200_000  # characters


cdef class Head:
    """The text of the first `<title>`, or None, the declarations of `<meta>`, structured data, and first addresses."""

    def __cinit__(self):
        self.declared, self.json_ld, self.base, self.canonical = {}, [], "", ""

    cdef int look_into(self, Node *top) except -1:
        """Record the declarations of an element that is not shown, and of those in it."""
        cdef Node *node = top
        while node != NULL:
            if node.type == lexbor.ELEMENT and not self._record(<Element *> node):
                node = lexbor.after(node, top)
            else:
                node = lexbor.following(node, top)
        return 0

    cdef bint _record(self, Element *element) except -1:
        """Record an element's declarations; return True if its children may declare, too."""
        cdef int role = tag_of(element.node.name).role
        if role == TITLE and self.title is None:
            self.title = _title(lexbor.text_of(element.node.first_child))
        elif role == META:
            self.declared.update(declaration(element))
        elif role == SCRIPT and is_json_ld(element):
            self.json_ld.append(decoded(lexbor.text_of(element.node.first_child))[:MAX_DECLARATION])
        elif element.node.name == BASE and not self.base:
            self.base = _address_of(element)
        elif element.node.name == LINK and not self.canonical and spells(value_of(element, REL), b"canonical"):
            self.canonical = _address_of(element)
        return role != DRAWING


cdef str _address_of(Element *element):
    return decoded(value_of(element, HREF))[:MAX_ADDRESS]


cdef str _title(String text):
    copy = bytearray(text.data[: text.length])
    return folded(String(copy, text.length))
