# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Pages that have too little of all that makes parsing slow."""

from libc.stdint cimport uint64_t
from libc.string cimport memchr

from dehusk.inference.native.roles cimport (
    BREAKS_OUT, BREAKS_OUT_BY_END, COL, FONT, FORMATS, FRAMESET, HTML_IN_MATH, HTML_IN_SVG, MATH, MAY_HOLD_HTML,
    NOSCRIPT, RAW, ROLES, SVG, TEMPLATE, ends_foreign, packed, raw_roles
)
from dehusk.inference.native.tags cimport HARMLESS_ENDS, MOST_ATTRIBUTES, Token, end_of_raw_text, next_tag

cdef enum:
    HARMLESS_TAGS = 20_000  # start tags, or end tags, that take half a second at worst, however they nest
    HARMLESS_ATTRIBUTES = 30_000  # that take half a second at worst, if each has another name
    HARMLESS_REOPENED = 500_000  # elements, opened again, that take half a second and 0.4 GB at worst
    MOST_REOPENED = 1_000_000  # the same, if no end tag of formatting ends what it seems to end
    WITH_HTML = HTML_IN_SVG | HTML_IN_MATH | MAY_HOLD_HTML
    MAY_BREAK_OUT = BREAKS_OUT | BREAKS_OUT_BY_END | FONT
    SLOTS = 512  # of the table of names, over twice as many as names

cdef uint64_t[SLOTS] _slot_names
cdef int[SLOTS] _slot_roles
cdef dict _LONG_ROLES = {}
"""Roles of elements whose names do not fit in a number."""


cdef inline size_t _slot_of(uint64_t name) noexcept nogil:
    """Return the slot of a name, or the one where it is to be put."""
    cdef size_t slot = name * <uint64_t> 0x9E3779B97F4A7C15 >> 55
    while _slot_names[slot] and _slot_names[slot] != name:
        slot = (slot + 1) % SLOTS
    return slot


cdef int _fill_table() except -1:
    cdef bytes tag
    cdef int roles
    cdef uint64_t name
    cdef size_t slot
    for tag, roles in ROLES.items():
        roles &= SVG | MATH | WITH_HTML | MAY_BREAK_OUT | FORMATS | RAW | NOSCRIPT | FRAMESET | TEMPLATE | COL
        name = packed(tag, len(tag))
        if not name:
            _LONG_ROLES[tag] = roles
        elif roles:
            slot = _slot_of(name)
            _slot_names[slot], _slot_roles[slot] = name, roles
    return 0


_fill_table()


def is_harmless(bytes html not None, *, bint scripting=True) -> bool:
    """Return True if a page has too little of all that makes parsing slow; with scripting as `parse` has it."""
    cdef const unsigned char *text = html
    cdef size_t size = len(html), position = 0, tags = 0, ends = 0, attributes = 0
    cdef size_t ends_with_attributes = 0, formatting = 0, waiting = 0, foreign = 0, end
    cdef bint has_template = False
    cdef bint is_mixed = False  # True once it is unclear what is raw text: behind a frameset, HTML in a drawing …
    cdef int role, root = 0, raw = raw_roles(scripting)
    cdef Token token
    while next_tag(text, size, position, &token):
        position = token.end
        if token.name == token.name_end:
            continue
        attributes += token.attributes
        ends += token.is_end
        ends_with_attributes += token.is_end and token.attributes > 0
        tags += not token.is_end
        if token.attributes > MOST_ATTRIBUTES and not token.is_end:
            return False
        role = _role_of(text, &token)
        if not role:
            continue
        if foreign:
            is_mixed = is_mixed or (role & WITH_HTML and not role & RAW)
            if ends_foreign(text, &token, role):
                foreign = 0
        if role & (SVG | MATH):
            is_mixed = is_mixed or (foreign > 0 and not role & root)  # which may not end what it seems to end
            root = root if foreign else role
            foreign += not token.is_end and not token.is_self_closed
            foreign -= token.is_end and foreign > 0
        elif role & FORMATS:
            formatting += not token.is_end and token.attributes > 0
            waiting += not token.is_end
            waiting -= token.is_end and waiting > 0
        elif token.is_end:
            continue
        elif role & raw:
            end = end_of_raw_text(text, size, text[token.name : token.name_end].lower(), position)
            if (foreign or is_mixed) and memchr(text + position, c"<", end - position) != NULL:
                return False
            position = end
        elif role & FRAMESET:
            is_mixed = True
        elif role & TEMPLATE:
            has_template = True
        elif role & COL and has_template:
            return False
    return (
        tags <= HARMLESS_TAGS
        and ends <= HARMLESS_TAGS
        and attributes <= HARMLESS_ATTRIBUTES
        and ends_with_attributes <= HARMLESS_ENDS
        and min(formatting, waiting) * tags <= HARMLESS_REOPENED
        and formatting * tags <= MOST_REOPENED
    )


cdef inline int _role_of(const unsigned char *text, const Token *token) except -1:
    """Return the roles of a tag's element, 0 for most."""
    cdef size_t length = token.name_end - token.name
    cdef uint64_t name = packed(text + token.name, length)
    if name:
        return _slot_roles[_slot_of(name)]
    return _LONG_ROLES.get(text[token.name : token.name_end].lower(), 0)
