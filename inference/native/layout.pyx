# cython: language_level=3
"""A tree read through the structures of `lexbor.pxd`: a probe of whether they are the installed Lexbor's."""

from dehusk.inference.native cimport lexbor, markup
from dehusk.inference.native.lexbor cimport Attribute, Element, Node, String


def outline(size_t address) -> list:
    """The texts of an element, and of each element the tag, values of attributes, id and class, in order."""
    cdef Node *top = <Node *> address
    cdef Node *node = top
    seen = []
    while node != NULL:
        if node.type == lexbor.TEXT:
            seen.append(_decoded(lexbor.text_of(node)))
        elif node.type == lexbor.ELEMENT:
            seen.append(_element(<Element *> node))
        node = lexbor.following(node, top)
    return seen


cdef tuple _element(Element *element):
    cdef Attribute *attribute = element.first_attribute
    values = []
    while attribute != NULL:
        values.append(_decoded(lexbor.value_of(attribute)))
        attribute = attribute.next
    identity, classes = lexbor.value_of(element.id), lexbor.value_of(element.classes)
    return _decoded(markup.tag_name(element.node.name)), values, _decoded(identity), _decoded(classes)


cdef str _decoded(String text):
    return text.data[: text.length].decode() if text.length else ""
