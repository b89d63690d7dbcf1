# cython: language_level=3
"""A tree as it is read in memory, to be compared with selectolax's reading of it."""

from dehusk.inference.native cimport lexbor, markup
from dehusk.inference.native.lexbor cimport Attribute, Element, Node, decoded

from dehusk.inference.native.markup import NUMBERED_ATTRIBUTES

SELECTOLAX_VERSION = lexbor.SELECTOLAX_VERSION.decode()
"""The version whose trees can be read."""


def outline(size_t address) -> dict:
    """Return the nodes of an element, itself included, by their addresses in document order.

    Each is its next, previous, parent, first and last node, by address or 0, and its contents: a text; of an
    element the tag, attributes, id and class; None of others.
    """
    cdef Node *top = <Node *> address
    cdef Node *node = top
    seen = {}
    while node != NULL:
        seen[<size_t> node] = _links(node), _contents(node)
        node = lexbor.following(node, top)
    return seen


cdef tuple _links(Node *node):
    return (
        <size_t> node.next,
        <size_t> node.prev,
        <size_t> node.parent,
        <size_t> node.first_child,
        <size_t> node.last_child,
    )


cdef object _contents(Node *node):
    if node.type == lexbor.TEXT:
        return decoded(lexbor.text_of(node))
    return _element(<Element *> node) if node.type == lexbor.ELEMENT else None


cdef tuple _element(Element *element):
    cdef Attribute *attribute = element.first_attribute
    attributes = []
    while attribute != NULL:
        attributes.append((_attribute_name(attribute), decoded(lexbor.value_of(attribute))))
        attribute = attribute.next
    identity, classes = lexbor.value_of(element.id), lexbor.value_of(element.classes)
    return decoded(markup.tag_name(element.node.name)), attributes, decoded(identity), decoded(classes)


cdef str _attribute_name(Attribute *attribute):
    if attribute.node.name < lexbor.NUMBERED_ATTRIBUTES:
        return NUMBERED_ATTRIBUTES[attribute.node.name]
    return decoded(lexbor.name_of(attribute.node.name))
