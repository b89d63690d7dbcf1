# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Properties of a page that are marked for machines in its tree: the input of `dehusk.inference.metadata.reading`.

A walk comes by the elements that are marked, and their properties are read once it is over.
"""

from libc.stdint cimport uint8_t, uintptr_t
from libc.string cimport memcmp, strlen

from dehusk.inference.native cimport lexbor
from dehusk.inference.native.ascii cimport is_letter
from dehusk.inference.native.buffer cimport Buffer, append, free, memmem
from dehusk.inference.native.drawings cimport is_drawn
from dehusk.inference.native.lexbor cimport Attribute, Element, Node, String, contains
from dehusk.inference.native.markup cimport (
    CONTENT, DATETIME, HREF, ITEMPROP, ITEMSCOPE, ITEMTYPE, NAME, PROPERTY, PUBDATE, REL, SRC,
    has, name_of, number_of, spells, value_of,
)

cdef enum:
    MAX_VALUE = 8_192  # bytes
    MAX_NAME = 256  # bytes
    MAX_TEXT = 512  # bytes
    MAX_NODES = 64  # in which a text is looked for
    MAX_SCOPES = 64  # elements above one that may be its item
    MAX_FOUND = 500  # of each kind
    MAX_BYLINES = 32
    WORD_LENGTH = 6  # bytes of each of the words of bylines
    MAX_LEVELS = 6  # elements around a byline that are looked at, with its own

cdef uintptr_t META = number_of(b"meta"), TIME = number_of(b"time"), BASE = number_of(b"base")
cdef uintptr_t ANCHOR = number_of(b"a"), LINK = number_of(b"link"), H1 = number_of(b"h1")
cdef uintptr_t ARTICLE = number_of(b"article"), BODY = number_of(b"body"), BLOCKQUOTE = number_of(b"blockquote")
cdef const char *_BYLINE = b"byline"
cdef const char *_AUTHOR = b"author"
cdef const char *_COMMENT = b"comment"
cdef const char *_REVIEW = b"review"
cdef uint8_t[256] _steps  # from a byte to where the next one of these words may end
for _byte in range(256):
    _steps[_byte] = WORD_LENGTH
for _word in (b"byline", b"author"):
    for _place, _byte in enumerate(_word[: WORD_LENGTH - 1]):
        _steps[_byte] = WORD_LENGTH - 1 - _place


cdef class Marked:
    """The `<meta>`, `<time>` and `<base>`, and what has `itemprop` or `rel`, or is a byline, if these are to be read."""

    def __init__(self, *, bint bylines):
        self.bylines = bylines

    def __dealloc__(self):
        free(&self._elements)

    cdef int look_at(self, Element *element, bint with_content) except -1:
        """Keep an element if it is marked; with its content, also those in it that are, apart from drawings."""
        if with_content:
            return self._look_into(&element.node)
        if _is_marked(element) or (self.bylines and _speaks_of_author(element)):
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


cdef class Properties:
    """The properties of the elements that a `Walk` found marked, in document order, a limited number of each kind.

    No text is read where `hiding`, of a `Walk` or empty, has it hidden.
    """

    cdef readonly list metas, links, items, times
    cdef readonly list bylines  # texts that readers see, of elements whose classes speak of an author
    cdef readonly str base
    cdef object _document  # kept alive: its tree is read where it lies
    cdef bint _with_bylines
    cdef dict _scopes, _hiding
    cdef Buffer _text

    def __init__(self, document: object, Marked marked not None, dict hiding not None):
        cdef Element **elements = <Element **> marked._elements.data
        cdef size_t each
        self._document, self._with_bylines, self._hiding = document, marked.bylines, hiding
        self.metas, self.links, self.items, self.times = [], [], [], []
        self.bylines = []
        self._scopes = {}
        for each in range(marked._elements.used // sizeof(Element *)):
            self._look_at(elements[each])

    def __dealloc__(self):
        free(&self._text)

    cdef int _look_at(self, Element *element) except -1:
        """Record the properties that an element has by its tag, `itemprop`, `rel` or class."""
        cdef Attribute *attribute = element.first_attribute
        cdef uintptr_t tag = element.node.name
        cdef int name
        if tag == META:
            self._add_meta(element)
        elif tag == TIME:
            self._add_time(element)
        elif tag == BASE and self.base is None:
            self.base = _decoded(value_of(element, HREF), MAX_VALUE)
        while attribute != NULL:
            name = name_of(attribute)
            if name == ITEMPROP:
                self._add_item(element)
            elif name == REL:
                self._add_link(element)
            attribute = attribute.next
        if self._with_bylines and len(self.bylines) < MAX_BYLINES and (
            _speaks_of_author(element) and not _is_of_reader(element)
        ):
            self.bylines.append(self._text_in(&element.node))
        return 0

    cdef int _add_meta(self, Element *element) except -1:
        cdef String key = value_of(element, PROPERTY), content = value_of(element, CONTENT)
        if not key.length:
            key = value_of(element, NAME)
        if key.length and content.length and len(self.metas) < MAX_FOUND:
            self.metas.append((_decoded(key, MAX_NAME).lower(), _decoded(content, MAX_VALUE)))
        return 0

    cdef int _add_link(self, Element *element) except -1:
        """Record a `<link>` or `<a>`, the latter with its text."""
        cdef bint is_anchor = element.node.name == ANCHOR
        if (not is_anchor and element.node.name != LINK) or len(self.links) == MAX_FOUND:
            return 0
        cdef String rel = value_of(element, REL), href
        if not _is_telling(rel, is_anchor):
            return 0
        href = value_of(element, HREF)
        words = _decoded(rel, MAX_NAME).lower()
        text = self._text_in(&element.node) if is_anchor else ""
        self.links.append((words, _url(href), text, is_anchor))
        return 0

    cdef int _add_item(self, Element *element) except -1:
        """Record a property of microdata: names, value, the item's type and number, the type it is a property of."""
        cdef Element *scope
        cdef Element *outer = NULL
        if len(self.items) == MAX_FOUND:
            return 0
        scope = _scope_of(element)
        number = self._scopes.setdefault(<size_t> scope, len(self._scopes))
        of_type = _decoded(value_of(scope, ITEMTYPE), MAX_NAME) if scope != NULL else ""
        if scope != NULL and has(scope, ITEMPROP):
            outer = _scope_of(scope)
        within = _decoded(value_of(outer, ITEMTYPE), MAX_NAME) if outer != NULL else ""
        names = _decoded(value_of(element, ITEMPROP), MAX_NAME)
        self.items.append((names, self._value(element), of_type, number, within))
        return 0

    cdef str _value(self, Element *element):
        """Return the value of a property: an attribute, the `name` of a property that is an item, or the text."""
        cdef int name
        cdef String value
        cdef Element *inner = element
        if has(element, ITEMSCOPE):
            inner = _name_in(element)
        for name in (CONTENT, DATETIME, SRC):
            value = value_of(inner, name)
            if value.length:
                return _url(value) if name == SRC else _decoded(value, MAX_VALUE)
        text = self._text_in(&inner.node)
        return text or _url(value_of(inner, HREF))

    cdef int _add_time(self, Element *element) except -1:
        """Record a `<time>`: the time, its classes, a flag for the time of publication, its text where bylines are read."""
        cdef String when = value_of(element, DATETIME)
        if when.length and len(self.times) < MAX_FOUND:
            classes = _decoded(lexbor.value_of(element.classes), MAX_NAME).lower()
            text = self._text_in(&element.node) if self._with_bylines else ""
            self.times.append((_decoded(when, MAX_NAME), classes, bool(has(element, PUBDATE)), text))
        return 0

    cdef bint _is_hidden(self, Node *node, Node *top) except -1:
        """Return True if an element is hidden, by itself or by one around it that a shown one, the top, holds."""
        while self._hiding and node != top and node != NULL:
            found = self._hiding.get(<size_t> node)
            if found is not None:
                return found
            node = node.parent
        return False

    cdef str _text_in(self, Node *top):
        """Return the first text in an element, white space folded, without hidden text."""
        cdef Node *node = top
        cdef String text
        cdef int seen = 0
        if self._is_hidden(top, NULL):
            return ""
        self._text.used = 0
        while node != NULL and seen < MAX_NODES and self._text.used < MAX_TEXT:
            if node.type == lexbor.TEXT and not self._is_hidden(node.parent, top):
                text = lexbor.text_of(node)
                append(&self._text, text.data, min(text.length, <size_t> MAX_TEXT))
                append(&self._text, b" ", 1)
            seen += 1
            node = lexbor.following(node, top)
        found = _decoded(String(<unsigned char *> self._text.data, self._text.used), MAX_TEXT)
        return " ".join(found.split())


cdef bint _is_marked(Element *element) noexcept:
    cdef uintptr_t tag = element.node.name
    cdef Attribute *attribute = element.first_attribute
    cdef int name
    if tag == META or tag == TIME or tag == BASE:
        return True
    while attribute != NULL:
        name = name_of(attribute)
        if name == ITEMPROP or name == REL:
            return True
        attribute = attribute.next
    return False


cdef bint _is_of_reader(Element *element) noexcept:
    """Return True for what a reader of the page said: in a quotation, or in a review by a customer.

    Such a review is known by classes of elements that do not hold the page's headline.
    """
    cdef Node *node = &element.node
    cdef String classes
    cdef int level
    for level in range(MAX_LEVELS):
        if node == NULL or node.type != lexbor.ELEMENT or node.name == ARTICLE or node.name == BODY:
            return False
        if node.name == BLOCKQUOTE:
            return True
        classes = lexbor.value_of((<Element *> node).classes)
        if _speaks_of_review(classes) or contains(classes, b"testimonial"):
            return not _holds_headline(node)
        node = node.parent
    return False


cdef bint _holds_headline(Node *top) noexcept:
    cdef Node *node = top
    while node != NULL:
        if node.type == lexbor.ELEMENT and node.name == H1:
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


cdef bint _speaks_of_author(Element *element) noexcept:
    """Return True for classes with `byline` or `author` in them, and not `comment`.

    They are found by the search of Boyer, Moore and Horspool.
    """
    cdef String classes = lexbor.value_of(element.classes)
    cdef size_t end = WORD_LENGTH
    cdef const unsigned char *at
    while end <= classes.length:
        at = classes.data + end - WORD_LENGTH
        if not memcmp(at, _BYLINE, WORD_LENGTH) or not memcmp(at, _AUTHOR, WORD_LENGTH):
            return not contains(classes, _COMMENT)
        end += _steps[at[WORD_LENGTH - 1]]
    return False


cdef Element *_scope_of(Element *element) noexcept:
    """Return the item that a property of an element belongs to, or NULL."""
    cdef Node *node = element.node.parent
    cdef int seen = 0
    while node != NULL and seen < MAX_SCOPES:
        if node.type == lexbor.ELEMENT and has(<Element *> node, ITEMSCOPE):
            return <Element *> node
        node = node.parent
        seen += 1
    return NULL


cdef Element *_name_in(Element *item):
    """Return the element that has the name of an item, else the item itself."""
    cdef Node *node = item.node.first_child
    cdef int seen = 0
    while node != NULL and seen < MAX_NODES:
        if node.type == lexbor.ELEMENT and spells(value_of(<Element *> node, ITEMPROP), b"name"):
            return <Element *> node
        seen += 1
        node = lexbor.following(node, &item.node)
    return item


cdef bint _is_telling(String rel, bint is_anchor) noexcept:
    """Return True if the relation of a link may say something about the page."""
    if is_anchor:
        return contains(rel, b"author") or contains(rel, b"license") or contains(rel, b"tag")
    return rel.length > 0 and not (spells(rel, b"stylesheet") or spells(rel, b"preload") or spells(rel, b"icon"))


cdef str _url(String value):
    """Return an address; empty where it is too long to be of use."""
    return "" if value.length > MAX_VALUE else _decoded(value, MAX_VALUE)


cdef str _decoded(String value, size_t most):
    """Return a value, cut after `most` bytes."""
    return value.data[: min(value.length, most)].decode("utf-8", "ignore") if value.length else ""
