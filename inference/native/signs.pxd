"""Signs that stand for what an element shows without letters: quotation marks, brackets, a fraction's line."""

from libc.string cimport strcat, strlen

from inference.native cimport lexbor
from inference.native.lexbor cimport Element, Node, String
from inference.native.markup cimport Tag, spells, tag_name


cdef struct Signs:  # each up to a null byte
    char[16] opening
    char[16] closing


cdef inline Signs signs_of(Element *element, Tag *tag, Tag *above):
    """What stands before an element's text and behind it."""
    cdef Signs signs
    cdef char joint = _joint(element, above.joints)
    cdef bint grouped = above.joints[0] and _is_row_of_several(&element.node)
    signs.opening[0], signs.opening[1], signs.closing[0] = joint, 0, 0
    if grouped:
        strcat(signs.opening, b"(")
    strcat(signs.opening, tag.opening)
    strcat(signs.closing, tag.closing)
    if grouped:
        strcat(signs.closing, b")")
    return signs


cdef inline char _joint(Element *element, const char *joints) noexcept:
    """The sign between an element and the one before it, or a null byte."""
    cdef Node *node = element.node.prev
    cdef size_t place = 0
    while node != NULL and place < strlen(joints):
        place += node.type == lexbor.ELEMENT
        node = node.prev
    return joints[place - 1] if place else 0


cdef inline bint _is_row_of_several(Node *row):
    """Whether a row in a formula holds several elements, and no bracket first."""
    cdef Node *first = row.first_child
    cdef Node *node
    if not spells(tag_name(row.name), b"mrow"):
        return False
    while first != NULL and first.type != lexbor.ELEMENT:
        first = first.next
    node = first.next if first != NULL else NULL
    while node != NULL and node.type != lexbor.ELEMENT:
        node = node.next
    return node != NULL and not spells(lexbor.text_of(first.first_child), b"(")
