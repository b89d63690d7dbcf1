# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""A page without elements nested too deep or opened again too often, and with few attributes and names."""

import re

from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memmove

from dehusk.inference.native.ascii cimport lower
from dehusk.inference.native.buffer cimport Buffer, append, free, more
from dehusk.inference.native.hashing cimport mixed
from dehusk.inference.native.roles cimport (
    BODY, CLOSED_BY_NEXT, CLOSED_BY_OWN, COL, FORM, FORMATS, HEADING, HTML, HTML_IN_MATH, HTML_IN_SVG, LIST_ITEM,
    MATH, OPTION, OPTION_GROUP, PLACE, ROLES, SCOPE, SPECIAL, SVG, TEMPLATE, TERM, VOID, ends_foreign, packed, raw_roles
)
from dehusk.inference.native.scale cimport SEED
from dehusk.inference.native.table cimport ABSENT, Table, at, make
from dehusk.inference.native.tags cimport (
    HARMLESS_ENDS, MOST_ATTRIBUTES, Token, begin_of_attribute, end_of_attribute, end_of_name, end_of_raw_text,
    next_tag
)

MAX_DEPTH = 512
"""Limit of nested elements; deeper ones are left out, but not their text. Browsers stop here, too."""
MAX_ATTRIBUTES = MOST_ATTRIBUTES
"""Limit of attributes of a tag; further ones are left out."""
MAX_FORMATTING = 32
"""Limit of elements of formatting that wait for an end tag; further ones are left out, but not their text."""

cdef enum:
    REACH = 64  # open elements among which an end tag looks for its start tag
    MAX_NAMES = 4096  # of tags, and of attributes, whose tables do not grow; others are left out
    ONCE = HTML | BODY  # elements whose further tags add attributes to the first

cdef size_t _MAX_DEPTH = MAX_DEPTH
cdef int _MAX_FORMATTING = MAX_FORMATTING
cdef object _FRAMESET = re.compile(rb"<frameset(?=[\s/>])", re.IGNORECASE)


cdef struct Tag:
    uint64_t name
    int roles


cdef struct Open:  # element
    Tag tag
    int root  # SVG or MATH, the drawing or formula that its content is of; 0 for HTML


cdef uint64_t _unforeseeable(const unsigned char *name, size_t length) noexcept nogil:
    """Return a hash of a name in lower case that nobody can foresee."""
    cdef uint64_t state = mixed(SEED[0] ^ length), letters
    cdef size_t done = 0, letter
    while done < length:
        letters = 0
        for letter in range(min(length - done, sizeof(letters))):
            letters |= <uint64_t> lower(name[done + letter]) << 8 * letter
        state = mixed((state ^ letters) * (SEED[1] | 1))
        done += sizeof(letters)
    return state


cdef class _Names:
    """Names that a page has had so far; their number has a limit.

    Short names are numbers that no other has, long ones are hashes that nobody can foresee.
    """

    cdef Table _roles  # of elements; 0 for others
    cdef int _count

    def __cinit__(self):
        make(&self._roles, MAX_NAMES)
        self._count = 0

    def __dealloc__(self):
        free(&self._roles.memory)

    cdef bint read(self, const unsigned char *name, size_t length, Tag *tag) except -1:
        """Read a name and its roles; return False for one beyond the limit, unless it has roles."""
        cdef int32_t *roles
        tag.name = packed(name, length) or _unforeseeable(name, length)
        roles = at(&self._roles, tag.name)
        tag.roles = ROLES.get(name[:length].lower(), 0) if roles[0] == ABSENT else roles[0]
        if roles[0] == ABSENT and (self._count < MAX_NAMES or tag.roles):
            roles[0] = tag.roles
            self._count += 1
        return roles[0] != ABSENT


cdef class _Reader:
    """Reader of a page's tags in order, which tracks the open elements nearly as a parser does.

    It may take an element for open that is not, but hardly the reverse.
    """

    cdef bytes _html
    cdef const unsigned char *_text
    cdef size_t _size
    cdef Buffer _flat  # the page up to _done, without what is left out
    cdef size_t _done
    cdef Buffer _memory
    cdef size_t _depth  # number of open elements
    cdef int _raw
    cdef bint _form  # True within a form, in which a parser opens no other
    cdef bint _templates  # True once there was a template, in which it may
    cdef int _once  # roles of elements of which a further tag is left out
    cdef _Names _tags, _attributes
    cdef int _formatting  # elements of formatting that wait for an end tag
    cdef int _ends_with_attributes

    def __cinit__(self, bytes html, bint scripting):
        self._html, self._text, self._size = html, html, len(html)
        self._raw = raw_roles(scripting)
        self._depth, self._done, self._once = 0, 0, 0
        self._tags, self._attributes = _Names(), _Names()
        self._formatting = self._ends_with_attributes = 0

    def __dealloc__(self):
        free(&self._flat)
        free(&self._memory)

    cdef bytes flat(self):
        """Return the page without what makes parsing slow."""
        cdef size_t position = 0
        cdef Token token
        cdef Tag tag
        cdef bint is_foreign, is_surplus
        while next_tag(self._text, self._size, position, &token):
            position = token.end
            if token.name == token.name_end:
                continue
            is_surplus = not self._tags.read(self._text + token.name, token.name_end - token.name, &tag)
            is_surplus = is_surplus or (not token.is_end and self._is_surplus(tag.roles))
            is_foreign = not is_surplus and self._is_foreign(tag.roles, &token)
            if is_surplus or not (self._end(tag) if token.is_end else self._start(tag, &token, is_foreign)):
                self._leave_out(token.start, position)
            elif token.is_end and self._has_surplus(&token):
                self._leave_out(token.name_end, position)
                append(&self._flat, b">", 1)
            elif token.attributes:
                self._leave_out_names(&token)
                if token.attributes > MOST_ATTRIBUTES:
                    self._leave_out(token.kept, position)
                    if is_foreign and token.is_self_closed:
                        append(&self._flat, b" /", 2)
                    append(&self._flat, b">", 1)
            if tag.roles & self._raw and not token.is_end and not is_foreign:
                name = self._text[token.name : token.name_end].lower()
                position = end_of_raw_text(self._text, self._size, name, position)
                if next_tag(self._text, self._size, position, &token):
                    position = token.end
        if not self._done:
            return self._html
        self._leave_out(self._size, self._size)
        return self._flat.data[: self._flat.used]

    cdef int _leave_out(self, size_t begin, size_t end) except -1:
        """Leave out a part of the page, and keep all before it that is not left out yet."""
        append(&self._flat, self._text + self._done, begin - self._done)
        self._done = end
        return 0

    cdef int _leave_out_names(self, const Token *token) except -1:
        """Leave out attributes of names beyond the limit."""
        cdef size_t begin = begin_of_attribute(self._text, self._size, token.name_end), end
        cdef Tag attribute
        while begin < token.kept:
            end = end_of_name(self._text, self._size, begin)
            is_surplus = not self._attributes.read(self._text + begin, end - begin, &attribute)
            end = end_of_attribute(self._text, self._size, begin)
            if is_surplus:
                self._leave_out(begin, end)
            begin = begin_of_attribute(self._text, self._size, end)
        return 0

    cdef bint _has_surplus(self, const Token *token) noexcept:
        """Return True for an end tag whose attributes are to be left out."""
        self._ends_with_attributes += token.attributes > 0
        return token.attributes > MOST_ATTRIBUTES or (
            token.attributes > 0 and self._ends_with_attributes > HARMLESS_ENDS
        )

    cdef bint _is_surplus(self, int roles) noexcept:
        """Return True for a start tag to leave out, which ends nothing then, wherever it stands."""
        return roles & self._once or (roles & FORMATS and self._formatting == _MAX_FORMATTING)

    cdef bint _is_foreign(self, int roles, const Token *token) noexcept:
        """Return True for a tag in a drawing or formula, but for those of HTML that end these first."""
        while self._depth and self._last().root:
            if not ends_foreign(self._text, token, roles):
                return True
            self._close_last()
        return False

    cdef bint _start(self, Tag tag, const Token *token, bint is_foreign) except -1:
        """Track a start tag, and return True to keep it."""
        if is_foreign:
            return token.is_self_closed or self._push(tag)
        if tag.roles & ONCE:
            self._once |= tag.roles & ONCE
            return True
        if tag.roles & FORMATS:
            self._formatting += 1
        elif tag.roles & (VOID | CLOSED_BY_NEXT | self._raw):
            return not tag.roles & COL or not self._templates  # in one, it would leave unclear what is raw text
        elif tag.roles & (SVG | MATH) and token.is_self_closed:
            return True
        if tag.roles & FORM:
            if self._form and not self._templates:
                return True
            self._form = True
        elif tag.roles & TEMPLATE:
            self._templates = True
        elif tag.roles & CLOSED_BY_OWN:
            self._end(tag)
        elif tag.roles & (LIST_ITEM | TERM):
            self._end_item(tag.roles & (LIST_ITEM | TERM))
        elif tag.roles & (OPTION | OPTION_GROUP) and self._depth and self._last().tag.roles & OPTION:
            self._close_last()
        elif tag.roles & HEADING and self._depth and self._last().tag.roles & HEADING:
            self._close_last()
        return self._push(tag)

    cdef bint _push(self, Tag tag) except -1:
        cdef int root = self._last().root if self._depth else 0
        cdef bint is_kept = self._depth < _MAX_DEPTH
        if is_kept and tag.roles & (SVG | MATH):
            root = tag.roles & (SVG | MATH)
        elif is_kept and tag.roles & (HTML_IN_SVG if root == SVG else HTML_IN_MATH):
            root = 0
        cdef Open *opened = <Open *> more(&self._memory, sizeof(Open))
        opened.tag, opened.root = tag, root
        self._depth += 1
        return is_kept

    cdef bint _end(self, Tag tag) noexcept:
        """Track an end tag, and return True to keep it."""
        cdef bint special = False, is_alone
        cdef size_t index = self._depth, first = index - min(index, <size_t> REACH)
        cdef Open *element
        if tag.roles & FORM:
            self._form = False
        while index > first:
            index -= 1
            element = self._open() + index
            if element.tag.name == tag.name:
                is_alone = tag.roles & FORM or (special and not tag.roles & SPECIAL)
                self._formatting -= tag.roles & FORMATS > 0
                self._close(index, index + 1 if is_alone else self._depth)
                return index < _MAX_DEPTH
            if element.tag.roles & SCOPE or self._holds_html(index):
                break
            special = special or element.tag.roles & SPECIAL
        return True

    cdef bint _holds_html(self, size_t index) noexcept:
        """Return True for an element of a drawing or formula in which HTML begins again."""
        return index > 0 and not self._open()[index].root and self._open()[index - 1].root

    cdef void _end_item(self, int kind) noexcept:
        """Track the end of an item of some kind, by the next one."""
        cdef size_t index = self._depth, first = index - min(index, <size_t> REACH)
        cdef int roles
        while index > first:
            index -= 1
            roles = self._open()[index].tag.roles
            if roles & kind:
                self._close(index, self._depth)
                break
            if roles & SPECIAL and not roles & PLACE:
                break

    cdef Open *_open(self) noexcept:
        return <Open *> self._memory.data

    cdef Open *_last(self) noexcept:
        return self._open() + self._depth - 1

    cdef void _close_last(self) noexcept:
        self._close(self._depth - 1, self._depth)

    cdef void _close(self, size_t first, size_t end) noexcept:
        memmove(self._open() + first, self._open() + end, (self._depth - end) * sizeof(Open))
        self._depth -= end - first
        self._memory.used = self._depth * sizeof(Open)


def flattened(bytes html not None, *, bint scripting=True) -> bytes:
    """Return a page without what makes parsing slow; with scripting as `parse` has it."""
    cdef _Reader reader = _Reader(_with_few_framesets(html), scripting)
    return reader.flat()


cdef bytes _with_few_framesets(bytes html):
    """Make comments of framesets beyond the limit, also in raw text, which is none in a frameset."""
    cdef list parts = _FRAMESET.split(html)
    if len(parts) <= MAX_DEPTH:
        return html
    return b"<frameset".join([*parts[:MAX_DEPTH], b"<!frameset".join(parts[MAX_DEPTH:])])
