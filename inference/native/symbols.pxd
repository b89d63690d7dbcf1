"""Symbols for what an element shows without letters: quotation marks, brackets, a fraction's line."""

from libc.string cimport strcat, strlen

from dehusk.inference.native cimport lexbor
from dehusk.inference.native.lexbor cimport Element, Node
from dehusk.inference.native.markup cimport Tag, spells, tag_name


cdef enum:
    MAX_LEVELS = 20  # of elements between a quotation and the one around it


cdef struct Symbols:  # each up to a null byte
    char[16] opening
    char[16] closing


cdef inline Symbols symbols_of(Element *element, Tag *tag, Tag *above):
    """Return the symbols before and after an element's text."""
    cdef Symbols symbols
    cdef char joint = _joint(element, above.joints)
    cdef bint grouped = above.joints[0] and _is_row_of_several(&element.node)
    symbols.opening[0], symbols.opening[1], symbols.closing[0] = joint, 0, 0
    if grouped:
        strcat(symbols.opening, b"(")
    if _is_inner_quotation(&element.node):
        strcat(symbols.opening, b"\xe2\x80\x98")  # ‘
        strcat(symbols.closing, b"\xe2\x80\x99")  # ’
    else:
        strcat(symbols.opening, tag.opening)
        strcat(symbols.closing, tag.closing)
    if grouped:
        strcat(symbols.closing, b")")
    return symbols


cdef inline bint _is_inner_quotation(Node *quotation) noexcept:
    """Return True for a `<q>` in another one."""
    cdef Node *node = quotation.parent
    cdef int level
    if not spells(tag_name(quotation.name), b"q"):
        return False
    for level in range(MAX_LEVELS):
        if node == NULL or node.name == quotation.name:
            return node != NULL
        node = node.parent
    return False


cdef inline char _joint(Element *element, const char *joints) noexcept:
    """Return the symbol between an element and the one before it, or a null byte."""
    cdef Node *node = element.node.prev
    cdef size_t position = 0
    while node != NULL and position < strlen(joints):
        position += node.type == lexbor.ELEMENT
        node = node.prev
    return joints[position - 1] if position else 0


cdef inline bint _is_row_of_several(Node *row):
    """Return True if a row in a formula holds several elements, and no bracket first."""
    cdef Node *first
    cdef Node *node
    if not spells(tag_name(row.name), b"mrow"):
        return False
    first = lexbor.element_from(row.first_child)
    node = lexbor.element_from(first.next) if first != NULL else NULL
    return node != NULL and not spells(lexbor.text_of(first.first_child), b"(")
