"""Formulas in MathML: the equal TeX, and elements that show them once more."""

from libc.string cimport memcmp, memset

from dehusk.inference.native cimport lexbor
from dehusk.inference.native.buffer cimport Buffer, append, free, memmem
from dehusk.inference.native.lexbor cimport Attribute, Element, Node, String
from dehusk.inference.native.markup cimport ALTTEXT, spells, tag_name, value_of

cdef enum:
    MAX_TEX = 8_192  # bytes
    MIN_WORD = 3  # letters; fewer may be those of a formula
    MAX_ADDED = 2  # words of a formula's TeX that its elements have not
    MAX_WORDS = 8  # of TeX that stands for a picture
    MAX_SENTENCE = 3  # words of that with nothing but white space between
    LETTERS_OF_WORD = 12  # bytes; a longer one counts as several, as those of scripts without spaces


cdef struct Words:  # of TeX
    size_t count
    size_t added  # those that the formula's elements have not
    size_t sentence  # the longest one


cdef inline String tex_of(Element *formula) except *:
    """The TeX that a formula is annotated with, or has for an alternative text; empty where there is none.

    It is none if it says more than the formula's elements: what nobody sees may be anything.
    """
    cdef String tex = _tex_of(formula)
    if tex.length and _words_of(tex, formula).added > MAX_ADDED:
        tex.length = 0
    return tex


cdef inline bint is_pictured(Element *hidden) except -1:
    """Return True if all that an element holds is a formula, and its picture stands behind, as in MediaWiki.

    Its TeX is to look like TeX, for the elements are not seen.
    """
    cdef Node *node = hidden.node.first_child
    cdef String tex
    cdef Words words
    if not (_is(node, b"math") and node.next == NULL and _is(hidden.node.next, b"img")):
        return False
    tex = tex_of(<Element *> node)
    words = _words_of(tex, NULL)
    return tex.length > 0 and words.count <= MAX_WORDS and words.sentence <= MAX_SENTENCE


cdef inline bint is_unshown(Element *part):
    """Return True if browsers do not show a part of a formula: a phantom, or an alternative to what they show."""
    if spells(tag_name(part.node.name), b"mphantom"):
        return True
    if not (_is(part.node.parent, b"semantics") or _is(part.node.parent, b"maction")):
        return False
    return lexbor.element_up_to(part.node.prev) != NULL


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


cdef inline String _tex_of(Element *formula):
    cdef Node *node = lexbor.element_from(formula.node.first_child)
    node = node.last_child if _is(node, b"semantics") else NULL
    while node != NULL and not (_is(node, b"annotation") and _has_tex(<Element *> node)):
        node = node.prev
    return lexbor.text_of(node.first_child) if node != NULL else value_of(formula, ALTTEXT)


cdef inline Words _words_of(String tex, Element *formula) except *:
    """Count the words of TeX that name no command; without a formula, all of them are added to it."""
    cdef Words words = Words(0, 0, 0)
    cdef size_t position = 0, begin, sentence = 0, number
    cdef bint is_command
    cdef Buffer text
    memset(&text, 0, sizeof(Buffer))
    try:
        if formula != NULL:
            _add_text(&text, &formula.node)
        while position < min(tex.length, <size_t> MAX_TEX):
            if not _is_letter(tex.data[position]):
                if tex.data[position] > c" " and tex.data[position] != c",":
                    sentence = 0
                position += 1
                continue
            begin = position
            while position < tex.length and _is_letter(tex.data[position]):
                position += 1
            is_command = begin > 0 and tex.data[begin - 1] == c"\\"
            if position - begin < MIN_WORD or is_command or _names_environment(tex, begin):
                continue
            number = 1 + (position - begin) // LETTERS_OF_WORD
            sentence += number
            words.count += number
            words.sentence = max(words.sentence, sentence)
            if memmem(text.data, text.used, tex.data + begin, position - begin) == NULL:
                words.added += number
    finally:
        free(&text)
    if tex.length > MAX_TEX:
        words.count = words.added = words.sentence = tex.length
    return words


cdef inline int _add_text(Buffer *text, Node *top) except -1:
    """Add what the elements of a formula show, without white space; none of a long one."""
    cdef Node *node = top
    cdef String shown
    cdef size_t position
    while node != NULL and text.used < MAX_TEX:
        if node.type == lexbor.ELEMENT and _is(node, b"annotation"):
            node = lexbor.after(node, top)
            continue
        shown = lexbor.text_of(node)
        for position in range(min(shown.length, <size_t> MAX_TEX)):
            if shown.data[position] > c" ":
                append(text, shown.data + position, 1)
        node = lexbor.following(node, top)
    return 0


cdef inline bint _is_letter(unsigned char letter) noexcept nogil:
    return c"a" <= letter | 0x20 <= c"z" or letter >= 0x80


cdef inline bint _names_environment(String tex, size_t begin) noexcept nogil:
    """Return True if a word stands in the braces of a command that begins or ends an environment."""
    return (begin >= 7 and not memcmp(tex.data + begin - 7, b"\\begin{", 7)) or (
        begin >= 5 and not memcmp(tex.data + begin - 5, b"\\end{", 5)
    )
