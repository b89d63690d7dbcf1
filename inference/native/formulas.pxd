"""Formulas in MathML: the equal TeX, and elements that show them once more."""

from dehusk.inference.native cimport lexbor
from dehusk.inference.native.lexbor cimport Attribute, Element, Node, String
from dehusk.inference.native.markup cimport ALTTEXT, spells, tag_name, value_of


cdef inline String tex_of(Element *formula):
    """Return the TeX that a formula is annotated with, or has for an alternative text; empty where there is none."""
    cdef Node *node = formula.node.first_child
    while node != NULL and node.type != lexbor.ELEMENT:
        node = node.next
    node = node.last_child if _is(node, b"semantics") else NULL
    while node != NULL and not (_is(node, b"annotation") and _has_tex(<Element *> node)):
        node = node.prev
    return lexbor.text_of(node.first_child) if node != NULL else value_of(formula, ALTTEXT)


cdef inline bint is_pictured(Element *hidden):
    """Return True if all that an element holds is a formula, and its picture comes next, as in MediaWiki."""
    cdef Node *node = hidden.node.first_child
    return _is(node, b"math") and node.next == NULL and _is(hidden.node.next, b"img")


cdef inline bint is_drawing(Element *element):
    """Return True if an element draws the formula that stands before it, as in KaTeX."""
    return spells(lexbor.value_of(element.classes), b"katex-html")


cdef inline bint _is(Node *node, bytes tag):
    return node != NULL and node.type == lexbor.ELEMENT and spells(tag_name(node.name), tag)


cdef inline bint _has_tex(Element *annotation):
    cdef Attribute *attribute = annotation.first_attribute
    while attribute != NULL and not spells(lexbor.value_of(attribute), b"application/x-tex"):
        attribute = attribute.next
    return attribute != NULL
