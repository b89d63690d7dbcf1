"""What a page shows beside its text that is none of it."""

from libc.stdint cimport uint32_t

from inference.native cimport lexbor, utf8
from inference.native.lexbor cimport Element, Node, String
from inference.native.markup cimport Tag, spells

cdef extern from "Python.h":
    bint Py_UNICODE_ISSPACE(uint32_t character) noexcept nogil


cdef enum:
    LONGEST_GUTTER = 20_000  # characters and nodes
    PILCROW = 0xB6
    SECTION = 0xA7
    CHAIN = 0x1F517


cdef inline bint is_permalink(Element *link) noexcept:
    """Whether all that a link shows is a mark, of which readers take the address of a heading."""
    cdef String text = lexbor.text_of(link.node.first_child)
    cdef uint32_t mark
    if not text.length or link.node.first_child.next != NULL:
        return False
    if utf8.read(text.data, text.length, &mark) < text.length:
        return False
    if utf8.FIRST_ICON <= mark <= utf8.LAST_ICON:
        return True
    return mark == c"#" or mark == PILCROW or mark == SECTION or mark == CHAIN


cdef inline bint is_next_line(Element *code, Tag *parent) noexcept:
    """Whether a `<code>` in `<pre>` stands right behind another one: each is a line."""
    return code.node.prev != NULL and code.node.prev.name == code.node.name and parent.preformatted


cdef inline bint is_gutter(Element *element):
    """Whether an element holds nothing but numbers, which its class says to be those of lines of code."""
    cdef String classes = lexbor.value_of(element.classes), part
    cdef size_t place = 0
    while place < classes.length:
        part.data, part.length = classes.data + place, 0
        while place < classes.length and not Py_UNICODE_ISSPACE(classes.data[place]):
            place += 1
            part.length += 1
        if (part.data[0] == c"l" or part.data[0] == c"g") and _names_gutter(part):
            return _holds_numbers(&element.node)
        place += 1
    return False


cdef inline bint _names_gutter(String part):
    for name in (b"linenos", b"lineno", b"linenumber", b"line-number", b"gutter", b"ln", b"lnt", b"lntd"):
        if spells(part, name):
            return True
    return False


cdef inline bint _holds_numbers(Node *top) noexcept:
    cdef Node *node = top
    cdef String text
    cdef size_t place, seen = 0
    while node != NULL:
        text = lexbor.text_of(node)
        seen += 1 + text.length
        if seen > LONGEST_GUTTER:
            return False
        for place in range(text.length):
            if not (c"0" <= text.data[place] <= c"9" or Py_UNICODE_ISSPACE(text.data[place])):
                return False
        node = lexbor.following(node, top)
    return True
