# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Properties of a page that are marked for machines in its tree: the input of `dehusk.inference.metadata.reading`."""

from libc.stdint cimport uintptr_t

from dehusk.inference.native cimport lexbor
from dehusk.inference.native.buffer cimport Buffer, append, free
from dehusk.inference.native.lexbor cimport Element, Node, String, contains
from dehusk.inference.native.markup cimport (
    CONTENT, DATETIME, HREF, ITEMPROP, ITEMSCOPE, ITEMTYPE, NAME, OTHER, PROPERTY, PUBDATE, REL, SRC,
    has, name_of, number_of, spells, value_of,
)
from dehusk.inference.native.marked cimport Marked, is_of_reader, speaks_of_author

cdef enum:
    MAX_VALUE = 8_192  # bytes
    MAX_NAME = 256  # bytes
    MAX_TEXT = 512  # bytes
    MAX_NODES = 64  # in which a text is looked for
    MAX_SCOPES = 64  # elements above one that may be its item
    MAX_FOUND = 500  # of each kind
    MAX_BYLINES = 32


cdef uintptr_t _meta = 0, _time, _base, _anchor, _link  # Lexbor's numbers of these tags, 0 until they are known


cdef int _learn() except -1:
    global _meta, _time, _base, _anchor, _link
    if not _meta:
        _time, _base = number_of(b"time"), number_of(b"base")
        _anchor, _link, _meta = number_of(b"a"), number_of(b"link"), number_of(b"meta")
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
        cdef size_t each
        self._document, self._with_bylines, self._hiding = document, marked.bylines, hiding
        self.metas, self.links, self.items, self.times = [], [], [], []
        self.bylines = []
        self._scopes = {}
        _learn()
        for each in range(marked.count()):
            self._look_at(marked.elements()[each])

    def __dealloc__(self):
        free(&self._text)

    cdef int _look_at(self, Element *element) except -1:
        """Record the properties that an element has by its tag, `itemprop`, `rel` or class."""
        cdef lexbor.Attribute *attribute = element.first_attribute
        cdef uintptr_t tag = element.node.name
        cdef int name
        if tag == _meta:
            self._add_meta(element)
        elif tag == _time:
            self._add_time(element)
        elif tag == _base and self.base is None:
            self.base = _decoded(value_of(element, HREF), MAX_VALUE)
        while attribute != NULL:
            name = name_of(attribute)
            if name == ITEMPROP:
                self._add_item(element)
            elif name == REL:
                self._add_link(element)
            attribute = attribute.next
        if self._with_bylines and len(self.bylines) < MAX_BYLINES and (
            speaks_of_author(element) and not is_of_reader(element)
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
        cdef bint is_anchor = element.node.name == _anchor
        if (not is_anchor and element.node.name != _link) or len(self.links) == MAX_FOUND:
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
