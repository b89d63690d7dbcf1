# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""A page without elements nested too deep or opened again too often, and with few attributes and names."""

import re

from libc.string cimport memchr

from dehusk.inference.native.ascii cimport is_letter, is_space, lower

from dehusk.inference.elements import VOID

MAX_DEPTH = 512
"""Limit of nested elements; deeper ones are left out, but not their text. Browsers stop here, too."""
MAX_ATTRIBUTES = 1000
"""Limit of attributes of a tag; further ones are left out."""
MAX_FORMATTING = 32
"""Limit of elements of formatting that wait for an end tag; further ones are left out, but not their text."""

cdef enum:
    HARMLESS_TAGS = 20_000  # start tags, or end tags, that take half a second at worst, however they nest
    HARMLESS_ATTRIBUTES = 30_000  # that take half a second at worst, if each has another name
    HARMLESS_ENDS = 100  # end tags with attributes, at each of which a text may be copied
    HARMLESS_REOPENED = 500_000  # elements, opened again, that take half a second and 0.4 GB at worst
    MOST_REOPENED = 1_000_000  # the same, if no end tag of formatting ends what it seems to end
    REACH = 64  # open elements among which an end tag looks for its start tag

cdef Py_ssize_t _MAX_NAMES = 4096  # of tags, and of attributes, whose tables do not grow; others are left out
cdef size_t _MAX_DEPTH = MAX_DEPTH, _MAX_ATTRIBUTES = MAX_ATTRIBUTES
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
cdef frozenset _RAW = frozenset(b"script style textarea title iframe noembed noframes xmp".split())
cdef frozenset _RAW_WITH_SCRIPTING = _RAW | {b"noscript"}
cdef frozenset _CLOSED_BY_OWN = frozenset((b"a", b"nobr", b"button"))
"""Elements that a further one ends, though other elements lie between."""
cdef frozenset _FORMATTING = frozenset(b"b big code em font i s small strike strong tt u".split())
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
cdef frozenset _WITH_HTML = (_FOREIGN[b"svg"] | _FOREIGN[b"math"] | {b"annotation-xml"}) - {b"title"}
cdef frozenset _BREAKS_OUT = frozenset(
    b"""
    b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu
    meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var
    """.split()
)
"""Elements of HTML that end all drawings and formulas around them (HTML Standard, section 13.2.6.5)."""
cdef frozenset _OF_FONT = frozenset((b"color", b"face", b"size"))
"""Attributes with one of which `<font>` does so, too."""
cdef frozenset _END_ENDS = frozenset((b"p", b"br"))
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


cdef struct Token:  # a tag; or a comment or the like, whose name is empty
    size_t start
    size_t name
    size_t name_end
    size_t kept  # the end of its first MAX_ATTRIBUTES attributes
    size_t attributes
    size_t end
    bint is_end


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
        self._raw = _RAW_WITH_SCRIPTING if scripting else _RAW
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
        while _next(self._text, self._size, position, &token):
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
                if token.attributes > _MAX_ATTRIBUTES:
                    pieces.append(self._html[done : token.kept])
                    pieces.append(b"/>" if is_foreign and _is_self_closed(self._text, &token) else b">")
                    done = position
            if tag in self._raw and not token.is_end and not is_foreign:
                position = _end_of_raw_text(self._text, self._size, tag, position)
                if _next(self._text, self._size, position, &token):
                    position = token.end
        pieces.append(self._html[done:])
        return pieces

    cdef size_t _leave_out_names(self, Token *token, size_t done, list pieces) except? 0:
        """Leave out attributes of names beyond _MAX_NAMES; return where the rest of the page begins."""
        cdef size_t begin = _begin_of_attribute(self._text, self._size, token.name_end), end
        cdef bytes name
        while begin < token.kept:
            end = _end_of_attribute(self._text, self._size, begin)
            name = self._text[begin : _end_of_name(self._text, self._size, begin)].lower()
            if len(self._attributes) < _MAX_NAMES:
                self._attributes.add(name)
            elif name not in self._attributes:
                pieces.append(self._html[done:begin])
                done = end
            begin = _begin_of_attribute(self._text, self._size, end)
        return done

    cdef bint _has_surplus(self, Token *token) except -1:
        """Return True for an end tag whose attributes are to be left out."""
        self._ends_with_attributes += token.attributes > 0
        return token.attributes > _MAX_ATTRIBUTES or (
            token.attributes > 0 and self._ends_with_attributes > HARMLESS_ENDS
        )

    cdef bint _is_surplus(self, bytes tag) except -1:
        """Return True for a start tag to leave out, which ends nothing then, wherever it stands."""
        return tag in self._once or (tag in _FORMATTING and self._formatting == _MAX_FORMATTING)

    cdef bint _is_foreign(self, bytes tag, Token *token) except -1:
        """Return True for a tag in a drawing or formula, but for those of HTML that end these first."""
        while self._roots and self._roots[len(self._roots) - 1] is not None:
            if not _ends_foreign(self._text, tag, token):
                return True
            self._close_last()
        return False

    cdef bint _start(self, bytes tag, Token *token, bint is_foreign) except -1:
        """Track a start tag, and return True to keep it."""
        if is_foreign:
            return _is_self_closed(self._text, token) or self._push(tag)
        if tag in _ONCE:
            self._once.add(tag)
            return True
        if tag in _FORMATTING:
            self._formatting += 1
        elif tag in _VOID or tag in _CLOSED_BY_NEXT or tag in self._raw:
            return tag != b"col" or not self._templates  # in one, it would leave unclear what is raw text
        elif tag in _FOREIGN and _is_self_closed(self._text, token):
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
                self._formatting -= tag in _FORMATTING
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


def is_harmless(bytes html not None, *, bint scripting=True) -> bool:
    """Return True if a page has too little of all that makes parsing slow; with scripting as `parse` has it."""
    cdef const unsigned char *text = html
    cdef size_t size = len(html), position = 0, tags = 0, ends = 0, attributes = 0
    cdef size_t ends_with_attributes = 0, formatting = 0, waiting = 0, foreign = 0, end
    cdef bint has_template = False
    cdef bint is_mixed = False  # True once it is unclear what is raw text: behind a frameset, HTML in a drawing …
    cdef frozenset raw = _RAW_WITH_SCRIPTING if scripting else _RAW
    cdef bytes tag, root = b""
    cdef Token token
    while _next(text, size, position, &token):
        position = token.end
        if token.name == token.name_end:
            continue
        attributes += token.attributes
        ends += token.is_end
        ends_with_attributes += token.is_end and token.attributes > 0
        tags += not token.is_end
        if token.attributes > _MAX_ATTRIBUTES and not token.is_end:
            return False
        if not foreign and not _begins_as_few_do(text + token.name):
            continue
        tag = text[token.name : token.name_end].lower()
        if foreign:
            is_mixed = is_mixed or tag in _WITH_HTML
            if _ends_foreign(text, tag, &token):
                foreign = 0
        if tag in _FOREIGN:
            is_mixed = is_mixed or (foreign > 0 and tag != root)  # which may not end what it seems to end
            root = root if foreign else tag
            foreign += not token.is_end and not _is_self_closed(text, &token)
            foreign -= token.is_end and foreign > 0
        elif tag in _FORMATTING:
            formatting += not token.is_end and token.attributes > 0
            waiting += not token.is_end
            waiting -= token.is_end and waiting > 0
        elif token.is_end:
            continue
        elif tag in raw:
            end = _end_of_raw_text(text, size, tag, position)
            if (foreign or is_mixed) and memchr(text + position, c"<", end - position) != NULL:
                return False
            position = end
        elif tag == b"frameset":
            is_mixed = True
        elif tag == b"template":
            has_template = True
        elif tag == b"col" and has_template:
            return False
    return (
        tags <= HARMLESS_TAGS
        and ends <= HARMLESS_TAGS
        and attributes <= HARMLESS_ATTRIBUTES
        and ends_with_attributes <= HARMLESS_ENDS
        and min(formatting, waiting) * tags <= HARMLESS_REOPENED
        and formatting * tags <= MOST_REOPENED
    )


cdef bint _ends_foreign(const unsigned char *text, bytes tag, Token *token) except -1:
    """Return True for a tag of HTML that ends all drawings and formulas around it."""
    if token.is_end:
        return tag in _END_ENDS
    return tag in _BREAKS_OUT or (tag == b"font" and _is_font_of_html(text, token))


cdef bint _is_font_of_html(const unsigned char *text, Token *token) except -1:
    cdef size_t begin = _begin_of_attribute(text, token.end, token.name_end)
    while begin < token.kept:
        if text[begin : _end_of_name(text, token.end, begin)].lower() in _OF_FONT:
            return True
        begin = _begin_of_attribute(text, token.end, _end_of_attribute(text, token.end, begin))
    return False


cdef inline bint _begins_as_few_do(const unsigned char *name) noexcept nogil:
    """Return True for the first letters of _FOREIGN, _RAW, _FORMATTING and frameset, and of few other names."""
    cdef unsigned char first = lower(name[0]), second = lower(name[1])
    if second == c"r":
        return first == c"f"
    return first in b"bceifmnstux" and second in b"acefimotv >/\t\n\f\r"


cdef inline bint _next(const unsigned char *text, size_t size, size_t position, Token *token) noexcept:
    """Find the next tag, comment or the like from a position on, if there is one."""
    cdef const unsigned char *found
    while position < size:
        found = <const unsigned char *> memchr(text + position, c"<", size - position)
        if found == NULL or found + 1 == text + size:
            return False
        position = found - text
        token.start, token.name, token.name_end = position, 0, 0
        if is_letter(text[position + 1]):
            token.is_end = False
            _read_tag(text, size, position + 1, token)
            return True
        if text[position + 1] == c"/" and position + 2 < size and is_letter(text[position + 2]):
            token.is_end = True
            _read_tag(text, size, position + 2, token)
            return True
        if text[position + 1] == c"!" and position + 3 < size and (
            text[position + 2] == c"-" and text[position + 3] == c"-"
        ):
            token.end = _end_of_comment(text, size, position + 4)
            return True
        if text[position + 1] == c"!" or text[position + 1] == c"?" or text[position + 1] == c"/":
            token.end = _find(text, size, position + 2, c">")
            return True
        position += 1
    return False


cdef inline void _read_tag(const unsigned char *text, size_t size, size_t position, Token *token) noexcept:
    """Read a tag from its name on."""
    token.name = position
    while position < size and not _ends_name(text[position]):
        position += 1
    token.name_end = token.kept = position
    token.attributes = 0
    while True:
        position = _begin_of_attribute(text, size, position)
        if position == size or text[position] == c">":
            token.end = min(position + 1, size)
            return
        position = _end_of_attribute(text, size, position)
        token.attributes += 1
        if token.attributes <= _MAX_ATTRIBUTES:
            token.kept = position


cdef inline bint _is_self_closed(const unsigned char *text, Token *token) noexcept nogil:
    return text[token.end - 1] == c">" and text[token.end - 2] == c"/"


cdef inline size_t _begin_of_attribute(const unsigned char *text, size_t size, size_t position) noexcept:
    """Return where the next attribute begins, or the tag ends."""
    while position < size and (is_space(text[position]) or text[position] == c"/"):
        position += 1
    return position


cdef inline size_t _end_of_name(const unsigned char *text, size_t size, size_t position) noexcept:
    """Return the end of an attribute's name that begins at a position."""
    position += 1
    while position < size and not _ends_name(text[position]) and text[position] != c"=":
        position += 1
    return position


cdef inline size_t _end_of_attribute(const unsigned char *text, size_t size, size_t position) noexcept:
    cdef size_t end
    position = _end_of_name(text, size, position)
    end = _skip_space(text, size, position)
    if end == size or text[end] != c"=":
        return position
    position = _skip_space(text, size, end + 1)
    if position < size and (text[position] == c'"' or text[position] == c"'"):
        return min(_find(text, size, position + 1, text[position]) + 1, size)
    while position < size and not is_space(text[position]) and text[position] != c">":
        position += 1
    return position


cdef size_t _end_of_comment(const unsigned char *text, size_t size, size_t position) noexcept:
    """Return the end of a comment whose text begins at a position."""
    if position < size and text[position] == c">":
        return position + 1
    if position + 1 < size and text[position] == c"-" and text[position + 1] == c">":
        return position + 2
    while True:
        position = _find(text, size, position, c"-")
        if position + 2 >= size:
            return size
        if text[position + 1] == c"-":
            if text[position + 2] == c">":
                return position + 3
            if text[position + 2] == c"!" and position + 3 < size and text[position + 3] == c">":
                return position + 4
        position += 1


cdef size_t _end_of_raw_text(
    const unsigned char *text, size_t size, const unsigned char *tag, size_t position
) noexcept:
    """Return the end of the text of a `<script>`, `<style>` …, in which tags are text."""
    cdef size_t letter
    while True:
        position = _find(text, size, position, c"<")
        if position + 2 >= size:
            return size
        if text[position + 1] == c"/":
            letter = 0
            while tag[letter] and position + 2 + letter < size and lower(text[position + 2 + letter]) == tag[letter]:
                letter += 1
            if not tag[letter] and position + 2 + letter < size and _ends_name(text[position + 2 + letter]):
                return position
        position += 1


cdef inline size_t _find(const unsigned char *text, size_t size, size_t position, unsigned char byte) noexcept:
    """Return where a byte is found from a position on, or the size."""
    if position >= size:
        return size
    cdef const unsigned char *found = <const unsigned char *> memchr(text + position, byte, size - position)
    return size if found == NULL else <size_t> (found - text)


cdef inline size_t _skip_space(const unsigned char *text, size_t size, size_t position) noexcept:
    while position < size and is_space(text[position]):
        position += 1
    return position


cdef inline bint _ends_name(unsigned char byte) noexcept nogil:
    return byte <= c">" and (byte == c"/" or byte == c">" or is_space(byte))
