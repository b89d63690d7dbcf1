# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Elements that are marked for machines, which a walk comes by; `Properties` reads them once the walk is over."""

from libc.stdint cimport uint8_t, uintptr_t
from libc.string cimport memcmp, strlen

from dehusk.inference.native cimport lexbor
from dehusk.inference.native.ascii cimport is_letter
from dehusk.inference.native.buffer cimport append, free, memmem
from dehusk.inference.native.drawings cimport is_drawn
from dehusk.inference.native.lexbor cimport Attribute, Element, Node, String, contains
from dehusk.inference.native.markup cimport ITEMPROP, REL, name_of, number_of

cdef enum:
    LENGTH = 6  # bytes of each of the words of bylines
    MAX_LEVELS = 6  # elements around a byline that are looked at, with its own

cdef const char *_BYLINE = b"byline"
cdef const char *_AUTHOR = b"author"
cdef const char *_COMMENT = b"comment"
cdef const char *_REVIEW = b"review"
cdef uint8_t[256] _steps  # from a byte to where the next one of these words may end
for _byte in range(256):
    _steps[_byte] = LENGTH
for _word in (b"byline", b"author"):
    for _place, _byte in enumerate(_word[: LENGTH - 1]):
        _steps[_byte] = LENGTH - 1 - _place
# Lexbor's numbers of these tags, 0 until they are known
cdef uintptr_t _meta = 0, _time, _base, _article, _body, _blockquote, _h1


cdef int _learn() except -1:
    global _meta, _time, _base, _article, _body, _blockquote, _h1
    if not _meta:
        _h1 = number_of(b"h1")
        _article, _body, _blockquote = number_of(b"article"), number_of(b"body"), number_of(b"blockquote")
        _time, _base, _meta = number_of(b"time"), number_of(b"base"), number_of(b"meta")
    return 0


cdef class Marked:
    """The `<meta>`, `<time>` and `<base>`, and what has `itemprop` or `rel`, or is a byline, if these are to be read."""

    def __init__(self, *, bint bylines):
        self.bylines = bylines
        _learn()

    def __dealloc__(self):
        free(&self._elements)

    cdef Element **elements(self) noexcept:
        return <Element **> self._elements.data

    cdef size_t count(self) noexcept:
        return self._elements.used // sizeof(Element *)

    cdef int look_at(self, Element *element, bint with_content) except -1:
        """Keep an element if it is marked; with its content, also those in it that are, apart from drawings."""
        if with_content:
            return self._look_into(&element.node)
        if _is_marked(element) or (self.bylines and speaks_of_author(element)):
            append(&self._elements, &element, sizeof(element))
        return 0

    cdef int _look_into(self, Node *top) except -1:
        cdef Node *node = top
        while node != NULL:
            if node.type == lexbor.ELEMENT:
                if is_drawn(node):
                    node = lexbor.after(node, top)
                    continue
                self.look_at(<Element *> node, False)
            node = lexbor.following(node, top)
        return 0


cdef bint _is_marked(Element *element) noexcept:
    cdef uintptr_t tag = element.node.name
    cdef Attribute *attribute = element.first_attribute
    cdef int name
    if tag == _meta or tag == _time or tag == _base:
        return True
    while attribute != NULL:
        name = name_of(attribute)
        if name == ITEMPROP or name == REL:
            return True
        attribute = attribute.next
    return False


cdef bint is_of_reader(Element *element) noexcept:
    """Return True for what a reader of the page said: in a quotation, or in a review by a customer.

    Such a review is known by classes of elements that do not hold the page's headline.
    """
    cdef Node *node = &element.node
    cdef String classes
    cdef int level
    for level in range(MAX_LEVELS):
        if node == NULL or node.type != lexbor.ELEMENT or node.name == _article or node.name == _body:
            return False
        if node.name == _blockquote:
            return True
        classes = lexbor.value_of((<Element *> node).classes)
        if _speaks_of_review(classes) or contains(classes, b"testimonial"):
            return not _holds_headline(node)
        node = node.parent
    return False


cdef bint _holds_headline(Node *top) noexcept:
    cdef Node *node = top
    while node != NULL:
        if node.type == lexbor.ELEMENT and node.name == _h1:
            return True
        node = lexbor.following(node, top)
    return False


cdef bint _speaks_of_review(String classes) noexcept:
    """Return True for classes with `review` in them, not for a `preview`, or of one who `reviewed` an article."""
    cdef size_t length = strlen(_REVIEW)
    cdef const unsigned char *at = <const unsigned char *> memmem(classes.data, classes.length, _REVIEW, length)
    cdef const unsigned char *end = classes.data + classes.length
    cdef bint is_word
    while at != NULL:
        is_word = at == classes.data or not is_letter(at[-1])
        at += length
        if is_word and (at == end or at[0] != c"e"):
            return True
        at = <const unsigned char *> memmem(at, end - at, _REVIEW, length)
    return False


cdef bint speaks_of_author(Element *element) noexcept:
    """Return True for classes with `byline` or `author` in them, and not `comment`.

    They are found by the search of Boyer, Moore and Horspool.
    """
    cdef String classes = lexbor.value_of(element.classes)
    cdef size_t end = LENGTH
    cdef const unsigned char *at
    while end <= classes.length:
        at = classes.data + end - LENGTH
        if not memcmp(at, _BYLINE, LENGTH) or not memcmp(at, _AUTHOR, LENGTH):
            return not contains(classes, _COMMENT)
        end += _steps[at[LENGTH - 1]]
    return False
