# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Pages that have too little of all that makes parsing slow."""

from libc.stdint cimport uint64_t
from libc.string cimport memchr

from dehusk.inference.native.ascii cimport lower
from dehusk.inference.native.flattening cimport (
    BREAKING_OUT_NAMES, END_ENDING_NAMES, FORMATTING_NAMES, HARMLESS_ENDS, RAW_NAMES, RAW_NAMES_WITH_SCRIPTING,
    WITH_HTML_NAMES, ends_foreign
)
from dehusk.inference.native.tags cimport MOST_ATTRIBUTES, Token, end_of_raw_text, is_self_closed, next_tag

cdef enum:
    HARMLESS_TAGS = 20_000  # start tags, or end tags, that take half a second at worst, however they nest
    HARMLESS_ATTRIBUTES = 30_000  # that take half a second at worst, if each has another name
    HARMLESS_REOPENED = 500_000  # elements, opened again, that take half a second and 0.4 GB at worst
    MOST_REOPENED = 1_000_000  # the same, if no end tag of formatting ends what it seems to end

cdef enum Role:  # of elements for `is_harmless`, as bits
    SVG = 1
    MATH = 2
    FORMATS = 4
    RAW = 8
    RAW_WITH_SCRIPTING = 16
    FRAMESET = 32
    TEMPLATE = 64
    COL = 128
    WITH_HTML = 256
    MAY_BREAK_OUT = 512

cdef enum:
    SLOTS = 256  # of the table of names, over twice as many as names
    PACKED = 8  # letters of the longest name in it

cdef uint64_t[SLOTS] _slot_names
cdef int[SLOTS] _slot_roles
cdef dict _LONG_ROLES = {}
"""Roles of elements whose names have more letters."""


cdef inline size_t _slot(uint64_t name) noexcept nogil:
    """Return the slot at which to look for a name first."""
    return name * <uint64_t> 0x9E3779B97F4A7C15 >> 56


cdef int _give_role(bytes tag, int role) except -1:
    cdef uint64_t name
    cdef size_t slot
    if len(tag) > PACKED:
        _LONG_ROLES[tag] = _LONG_ROLES.get(tag, 0) | role
        return 0
    name = int.from_bytes(tag, "little")
    slot = _slot(name)
    while _slot_names[slot] and _slot_names[slot] != name:
        slot = (slot + 1) % SLOTS
    _slot_names[slot] = name
    _slot_roles[slot] |= role
    return 0


for _role, _tags in (
    (SVG, (b"svg",)),
    (MATH, (b"math",)),
    (FORMATS, FORMATTING_NAMES),
    (RAW, RAW_NAMES),
    (RAW_WITH_SCRIPTING, RAW_NAMES_WITH_SCRIPTING),
    (FRAMESET, (b"frameset",)),
    (TEMPLATE, (b"template",)),
    (COL, (b"col",)),
    (WITH_HTML, WITH_HTML_NAMES),
    (MAY_BREAK_OUT, BREAKING_OUT_NAMES | END_ENDING_NAMES | {b"font"}),
):
    for _tag in _tags:
        _give_role(_tag, _role)


def is_harmless(bytes html not None, *, bint scripting=True) -> bool:
    """Return True if a page has too little of all that makes parsing slow; with scripting as `parse` has it."""
    cdef const unsigned char *text = html
    cdef size_t size = len(html), position = 0, tags = 0, ends = 0, attributes = 0
    cdef size_t ends_with_attributes = 0, formatting = 0, waiting = 0, foreign = 0, end
    cdef bint has_template = False
    cdef bint is_mixed = False  # True once it is unclear what is raw text: behind a frameset, HTML in a drawing …
    cdef int role, root = 0, raw = RAW_WITH_SCRIPTING if scripting else RAW
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
            is_mixed = is_mixed or role & WITH_HTML
            if role & MAY_BREAK_OUT and ends_foreign(text, text[token.name : token.name_end].lower(), &token):
                foreign = 0
        if role & (SVG | MATH):
            is_mixed = is_mixed or (foreign > 0 and not role & root)  # which may not end what it seems to end
            root = root if foreign else role
            foreign += not token.is_end and not is_self_closed(text, &token)
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


cdef inline int _role_of(const unsigned char *text, Token *token) except -1:
    """Return the roles of a tag's element, 0 for most."""
    cdef size_t length = token.name_end - token.name, letter, slot
    cdef uint64_t name = 0
    if length > PACKED:
        return _LONG_ROLES.get(text[token.name : token.name_end].lower(), 0)
    for letter in range(length):
        if not text[token.name + letter]:
            return 0
        name |= <uint64_t> lower(text[token.name + letter]) << 8 * letter
    slot = _slot(name)
    while _slot_names[slot] and _slot_names[slot] != name:
        slot = (slot + 1) % SLOTS
    return _slot_roles[slot]
