# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""A page without elements nested too deep or opened again too often, and with few attributes and names."""

import re

from dehusk.inference.native.tags cimport (
    MOST_ATTRIBUTES, Token, begin_of_attribute, end_of_attribute, end_of_name, end_of_raw_text, is_self_closed, next_tag
)

from dehusk.inference.elements import VOID

MAX_DEPTH = 512
"""Limit of nested elements; deeper ones are left out, but not their text. Browsers stop here, too."""
MAX_ATTRIBUTES = MOST_ATTRIBUTES
"""Limit of attributes of a tag; further ones are left out."""
MAX_FORMATTING = 32
"""Limit of elements of formatting that wait for an end tag; further ones are left out, but not their text."""

cdef enum:
    REACH = 64  # open elements among which an end tag looks for its start tag

cdef Py_ssize_t _MAX_NAMES = 4096  # of tags, and of attributes, whose tables do not grow; others are left out
cdef size_t _MAX_DEPTH = MAX_DEPTH
cdef int _MAX_FORMATTING = MAX_FORMATTING
cdef frozenset _VOID = frozenset(map(str.encode, VOID))
cdef frozenset _CLOSED_BY_NEXT = frozenset(b"p colgroup tbody thead tfoot tr td th caption head".split())
"""Elements ended by the next of their kind: they do not nest without others that are counted."""
cdef dict _ITEMS = {
    b"li": frozenset((b"li",)), b"dd": frozenset((b"dd", b"dt")), b"dt": frozenset((b"dd", b"dt"))
}
"""Elements ended by one of these, unless elements that are special lie between."""
cdef frozenset _OPTIONS = frozenset((b"option", b"optgroup"))
"""Elements that end an option right around them."""
cdef frozenset _ONCE = frozenset((b"html", b"body"))
"""Elements whose further tags add attributes to the first."""
cdef frozenset RAW_NAMES = frozenset(b"script style textarea title iframe noembed noframes xmp".split())
cdef frozenset RAW_NAMES_WITH_SCRIPTING = RAW_NAMES | {b"noscript"}
cdef frozenset _CLOSED_BY_OWN = frozenset((b"a", b"nobr", b"button"))
"""Elements that a further one ends, though other elements lie between."""
cdef frozenset FORMATTING_NAMES = frozenset(b"b big code em font i s small strike strong tt u".split())
"""Elements that a parser opens again in each block until their end tag (HTML Standard, section 13.2.4.3).

Without those that a further one ends.
"""
cdef object _FRAMESET = re.compile(rb"<frameset(?=[\s/>])", re.IGNORECASE)
cdef frozenset _HEADINGS = frozenset((b"h1", b"h2", b"h3", b"h4", b"h5", b"h6"))
"""Elements that end the heading they would be children of."""
cdef dict _FOREIGN = {
    b"svg": frozenset((b"foreignobject", b"desc", b"title")),
    b"math": frozenset((b"mi", b"mo", b"mn", b"ms", b"mtext")),
}
"""Roots of drawings and formulas, in which nothing ends by itself, with elements in them that hold HTML again."""
cdef frozenset WITH_HTML_NAMES = (_FOREIGN[b"svg"] | _FOREIGN[b"math"] | {b"annotation-xml"}) - {b"title"}
cdef frozenset BREAKING_OUT_NAMES = frozenset(
    b"""
    b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu
    meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var
    """.split()
)
"""Elements of HTML that end all drawings and formulas around them (HTML Standard, section 13.2.6.5)."""
cdef frozenset _OF_FONT = frozenset((b"color", b"face", b"size"))
"""Attributes with one of which `<font>` does so, too."""
cdef frozenset END_ENDING_NAMES = frozenset((b"p", b"br"))
"""Elements whose end tags do so, too."""
cdef frozenset _SCOPES = frozenset(b"applet marquee object select table template button".split())
"""Elements that bound the search of an end tag for its start tag, as do those of drawings that hold HTML."""
cdef frozenset _SPECIAL = _SCOPES | frozenset(
    b"""
    address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 header hgroup html li listing main menu nav noscript ol pre search section
    select summary ul
    """.split()
)
"""Elements not ended by the end tag of an ordinary element."""


cdef class _Reader:
    """Reader of a page's tags in order, which tracks the open elements nearly as a parser does.

    It may take an element for open that is not, but hardly the reverse.
    """

    cdef bytes _html
    cdef const unsigned char *_text
    cdef size_t _size
    cdef list _open
    cdef list _roots  # for each, the drawing or formula that its content is of; None for HTML
    cdef frozenset _raw
    cdef bint _form  # True within a form, in which a parser opens no other
    cdef bint _templates  # True once there was a template, in which it may
    cdef set _once
    cdef dict _names  # of tags, one object for each
    cdef set _attributes  # names
    cdef int _formatting  # elements of formatting that wait for an end tag
    cdef int _ends_with_attributes

    def __cinit__(self, bytes html, bint scripting):
        self._html, self._text, self._size = html, html, len(html)
        self._raw = RAW_NAMES_WITH_SCRIPTING if scripting else RAW_NAMES
        self._open, self._roots, self._once, self._names = [], [], set(), {}
        self._attributes = set()
        self._formatting = self._ends_with_attributes = 0

    cdef list pieces(self):
        """Return the page in pieces, without what makes parsing slow."""
        cdef size_t position = 0, done = 0
        cdef Token token
        cdef bytes tag
        cdef list pieces = []
        cdef bint is_foreign, is_surplus
        while next_tag(self._text, self._size, position, &token):
            position = token.end
            if token.name == token.name_end:
                continue
            tag = self._text[token.name : token.name_end].lower()
            is_surplus = len(self._names) >= _MAX_NAMES and tag not in self._names
            tag = tag if is_surplus else self._names.setdefault(tag, tag)
            is_surplus = is_surplus or (not token.is_end and self._is_surplus(tag))
            is_foreign = not is_surplus and self._is_foreign(tag, &token)
            if is_surplus or not (self._end(tag) if token.is_end else self._start(tag, &token, is_foreign)):
                pieces.append(self._html[done : token.start])
                done = position
            elif token.is_end and self._has_surplus(&token):
                pieces.append(self._html[done : token.name_end])
                pieces.append(b">")
                done = position
            elif token.attributes:
                done = self._leave_out_names(&token, done, pieces)
                if token.attributes > MOST_ATTRIBUTES:
                    pieces.append(self._html[done : token.kept])
                    pieces.append(b"/>" if is_foreign and is_self_closed(self._text, &token) else b">")
                    done = position
            if tag in self._raw and not token.is_end and not is_foreign:
                position = end_of_raw_text(self._text, self._size, tag, position)
                if next_tag(self._text, self._size, position, &token):
                    position = token.end
        pieces.append(self._html[done:])
        return pieces

    cdef size_t _leave_out_names(self, Token *token, size_t done, list pieces) except? 0:
        """Leave out attributes of names beyond _MAX_NAMES; return where the rest of the page begins."""
        cdef size_t begin = begin_of_attribute(self._text, self._size, token.name_end), end
        cdef bytes name
        while begin < token.kept:
            end = end_of_attribute(self._text, self._size, begin)
            name = self._text[begin : end_of_name(self._text, self._size, begin)].lower()
            if len(self._attributes) < _MAX_NAMES:
                self._attributes.add(name)
            elif name not in self._attributes:
                pieces.append(self._html[done:begin])
                done = end
            begin = begin_of_attribute(self._text, self._size, end)
        return done

    cdef bint _has_surplus(self, Token *token) except -1:
        """Return True for an end tag whose attributes are to be left out."""
        self._ends_with_attributes += token.attributes > 0
        return token.attributes > MOST_ATTRIBUTES or (
            token.attributes > 0 and self._ends_with_attributes > HARMLESS_ENDS
        )

    cdef bint _is_surplus(self, bytes tag) except -1:
        """Return True for a start tag to leave out, which ends nothing then, wherever it stands."""
        return tag in self._once or (tag in FORMATTING_NAMES and self._formatting == _MAX_FORMATTING)

    cdef bint _is_foreign(self, bytes tag, Token *token) except -1:
        """Return True for a tag in a drawing or formula, but for those of HTML that end these first."""
        while self._roots and self._roots[len(self._roots) - 1] is not None:
            if not ends_foreign(self._text, tag, token):
                return True
            self._close_last()
        return False

    cdef bint _start(self, bytes tag, Token *token, bint is_foreign) except -1:
        """Track a start tag, and return True to keep it."""
        if is_foreign:
            return is_self_closed(self._text, token) or self._push(tag)
        if tag in _ONCE:
            self._once.add(tag)
            return True
        if tag in FORMATTING_NAMES:
            self._formatting += 1
        elif tag in _VOID or tag in _CLOSED_BY_NEXT or tag in self._raw:
            return tag != b"col" or not self._templates  # in one, it would leave unclear what is raw text
        elif tag in _FOREIGN and is_self_closed(self._text, token):
            return True
        if tag == b"form":
            if self._form and not self._templates:
                return True
            self._form = True
        elif tag == b"template":
            self._templates = True
        elif tag in _CLOSED_BY_OWN:
            self._end(tag)
        elif tag in _ITEMS:
            self._end_item(_ITEMS[tag])
        elif tag in _OPTIONS and self._open and self._open[len(self._open) - 1] == b"option":
            self._close_last()
        elif tag in _HEADINGS and self._open and self._open[len(self._open) - 1] in _HEADINGS:
            self._close_last()
        return self._push(tag)

    cdef bint _push(self, bytes tag) except -1:
        cdef object root = self._roots[len(self._roots) - 1] if self._roots else None
        cdef bint is_kept = len(self._open) < <Py_ssize_t> _MAX_DEPTH
        if is_kept and tag in _FOREIGN:
            root = tag
        elif is_kept and root is not None and tag in _FOREIGN[root]:
            root = None
        self._open.append(tag)
        self._roots.append(root)
        return is_kept

    cdef bint _end(self, bytes tag) except -1:
        """Track an end tag, and return True to keep it."""
        cdef bint special = False, is_alone
        cdef Py_ssize_t top = len(self._open), index, first = max(top - REACH, 0)
        if tag == b"form":
            self._form = False
        for index in range(top - 1, first - 1, -1):
            element = self._open[index]
            if element is tag:
                is_alone = tag == b"form" or (special and tag not in _SPECIAL)
                self._formatting -= tag in FORMATTING_NAMES
                self._close(index, index + 1 if is_alone else top)
                return index < <Py_ssize_t> _MAX_DEPTH
            if element in _SCOPES or self._holds_html(index):
                break
            special = special or element in _SPECIAL
        return True

    cdef bint _holds_html(self, Py_ssize_t index) except -1:
        """Return True for an element of a drawing or formula in which HTML begins again."""
        return index > 0 and self._roots[index] is None and self._roots[index - 1] is not None

    cdef int _end_item(self, frozenset kinds) except -1:
        """Track the end of an item of one of some kinds, by the next one."""
        cdef Py_ssize_t top = len(self._open), index
        for index in range(top - 1, max(top - REACH, 0) - 1, -1):
            element = self._open[index]
            if element in kinds:
                self._close(index, top)
                break
            if element in _SPECIAL and element != b"address" and element != b"div":
                break
        return 0

    cdef int _close_last(self) except -1:
        return self._close(len(self._open) - 1, len(self._open))

    cdef int _close(self, Py_ssize_t first, Py_ssize_t end) except -1:
        del self._open[first:end]
        del self._roots[first:end]
        return 0


def flattened(bytes html not None, *, bint scripting=True) -> bytes:
    """Return a page without what makes parsing slow; with scripting as `parse` has it."""
    cdef _Reader reader = _Reader(_with_few_framesets(html), scripting)
    return b"".join(reader.pieces())


cdef bytes _with_few_framesets(bytes html):
    """Make comments of framesets beyond the limit, also in raw text, which is none in a frameset."""
    cdef list parts = _FRAMESET.split(html)
    if len(parts) <= MAX_DEPTH:
        return html
    return b"<frameset".join([*parts[:MAX_DEPTH], b"<!frameset".join(parts[MAX_DEPTH:])])


cdef bint ends_foreign(const unsigned char *text, bytes tag, Token *token) except -1:
    """Return True for a tag of HTML that ends all drawings and formulas around it."""
    if token.is_end:
        return tag in END_ENDING_NAMES
    return tag in BREAKING_OUT_NAMES or (tag == b"font" and _is_font_of_html(text, token))


cdef bint _is_font_of_html(const unsigned char *text, Token *token) except -1:
    cdef size_t begin = begin_of_attribute(text, token.end, token.name_end)
    while begin < token.kept:
        if text[begin : end_of_name(text, token.end, begin)].lower() in _OF_FONT:
            return True
        begin = begin_of_attribute(text, token.end, end_of_attribute(text, token.end, begin))
    return False
