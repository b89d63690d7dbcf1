# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Meanings of tags and attributes: tables by the numbers that Lexbor has for their names."""

from libc.stdint cimport uint8_t, uint16_t, uintptr_t
from libc.string cimport memcmp, memcpy, memset

from dehusk.inference.native cimport lexbor
from dehusk.inference.native.ascii cimport is_space, lower
from dehusk.inference.native.lexbor cimport Attribute, Element, Node, String
from dehusk.inference.native.styles cimport (
    ARRANGING_BOX, BLOCK_BOX, BOX, COLUMN_BOX, CONTENT_VISIBILITY, DISPLAY, FLOAT, HIDING, LINE_BOX, MATH_BOX, NO_BOX,
    ON_LINES, POSITION, TABLE_BOX, TABLE_PART, UNDECLARED, VISIBILITY, Inherited, Scopes, Style, read_attribute, read_style,
)

from dehusk.inference.markup import elements

ATTRIBUTES = (
    *("hidden", "open", "style", "role", "type", "name", "property", "content"),
    *("start", "reversed", "value", "colspan", "rowspan", "alttext", "itemprop", "itemtype"),
    *("itemscope", "rel", "href", "src", "datetime", "pubdate", "popover", "alt"),
    *("display", "visibility"),
)
"""The attributes that are read, but for `class` and `id`, which an element points to."""

cdef enum:
    MAX_ATTRIBUTE = 10
    MAX_NUMBER = 9  # digits
    MAX_UNNUMBERED = 32

cdef uint8_t NEVER = elements.NEVER
cdef uint8_t UNLESS_OPEN = elements.UNLESS_OPEN
cdef int _NOTE = elements.NOTE
cdef bytes _JSON_LD = b"application/ld+json"
cdef int SKIPPED_KIND = elements.SKIPPED, DRAWING = elements.DRAWING, HOLDS_HTML = elements.HOLDS_HTML
cdef int KEPT_BOX = elements.KEPT_BOX, WHOLE_BOX = elements.WHOLE_BOX
cdef dict _boxes = {
    elements.LINE_BOX: LINE_BOX,
    elements.NO_BOX: NO_BOX,
    elements.TABLE_BOX: TABLE_BOX,
    elements.TABLE_PART: TABLE_PART,
    **dict.fromkeys((elements.BLOCK_BOX, elements.KEPT_BOX, elements.WHOLE_BOX), BLOCK_BOX),
}
cdef list _roles = [(role.encode(), flag) for role, flag in elements.ROLES.items()]
cdef list _attribute_names = [name.encode() for name in ATTRIBUTES]  # keeps alive the bytes that _attributes points to
cdef String[VISIBILITY_VALUE] _attributes
for _position in range(VISIBILITY_VALUE):
    _attributes[_position] = String(<bytes> _attribute_names[_position], len(_attribute_names[_position]))
cdef tuple _DECLARATIONS = (b"og:title", b"og:description", b"description", b"og:type", b"og:site_name", b"og:url")

cdef Tag[lexbor.NUMBERED_TAGS] _tags
cdef Tag[MAX_UNNUMBERED] _unnumbered
cdef int _unnumbered_count = 0
cdef Tag _unknown
cdef uint8_t[lexbor.NUMBERED_ATTRIBUTES] _attribute_numbers


NUMBERED_TAGS = tuple(lexbor.TAGS[number].decode() for number in range(lexbor.NUMBERED_TAGS))
"""The names in whose place Lexbor has numbers, by these; the first are not of elements."""
NUMBERED_ATTRIBUTES = tuple(lexbor.ATTRIBUTES[number].decode() for number in range(lexbor.NUMBERED_ATTRIBUTES))


cdef int _fill_tables() except -1:
    global _unnumbered_count
    cdef int number
    unnumbered = [tag for tag in elements.TAGS if tag not in NUMBERED_TAGS]
    if len(unnumbered) > MAX_UNNUMBERED:
        raise ValueError(f"{len(unnumbered)} tags have no number; raise MAX_UNNUMBERED")
    _unnumbered_count = len(unnumbered)
    _fill(&_unknown, "")
    for number in range(_unnumbered_count):
        _fill(&_unnumbered[number], unnumbered[number])
    for number in range(lexbor.NUMBERED_TAGS):
        _fill(&_tags[number], NUMBERED_TAGS[number])
    for number in range(lexbor.NUMBERED_ATTRIBUTES):
        if NUMBERED_ATTRIBUTES[number] in ATTRIBUTES:
            _attribute_numbers[number] = ATTRIBUTES.index(NUMBERED_ATTRIBUTES[number]) + 1
    return 0


cdef int _fill(Tag *tag, str name) except -1:
    traits = elements.traits(name)
    letters = name.encode()
    _copy(tag.opening, traits.opening)
    _copy(tag.closing, traits.closing)
    _copy(tag.joints, traits.joints)
    tag.kind, tag.edge, tag.lists, tag.tables = traits.kind, traits.edge, traits.lists, traits.tables
    tag.parts, tag.shift = ord(traits.parts), ord(traits.shift)
    tag.phrasing, tag.preformatted = traits.phrasing, traits.preformatted
    tag.heading, tag.hides = traits.heading, traits.hides
    tag.flag, tag.counted, tag.role = traits.flag, traits.counted, traits.role
    tag.box, tag.box_kept = _boxes[traits.box], traits.box if traits.box >= elements.KEPT_BOX else 0
    tag.length = len(letters)
    memcpy(tag.letters, <const char *> letters, tag.length)
    return 0


cdef int _copy(char *symbols, str text) except -1:
    encoded = text.encode()
    memcpy(symbols, <const char *> encoded, len(encoded) + 1)
    return 0


_fill_tables()


cdef Tag *tag_of(uintptr_t name) noexcept:
    """Return the traits of a tag by the id of its name."""
    cdef int position
    if name < lexbor.NUMBERED_TAGS:
        return &_tags[name]
    for position in range(_unnumbered_count):
        if same(lexbor.name_of(name), _spelled(&_unnumbered[position])):
            return &_unnumbered[position]
    return &_unknown


cdef Tag *tag_in(Node *node) noexcept:
    """Return the traits of an element's tag in its namespace."""
    cdef Tag *tag = tag_of(node.name)
    return &_unknown if tag.role == _NOTE and node.namespace_ == lexbor.HTML else tag


cdef uintptr_t number_of(bytes tag) except? 0:
    """Return the number that Lexbor has for a tag of HTML, 0 where it has none."""
    cdef uintptr_t number
    for number in range(lexbor.NUMBERED_TAGS):
        if spells(_spelled(&_tags[number]), tag):
            return number
    return 0


cdef String tag_name(uintptr_t name) noexcept:
    """Return the full name of a tag."""
    return _spelled(&_tags[name]) if name < lexbor.NUMBERED_TAGS else lexbor.name_of(name)


cdef String _spelled(Tag *tag) noexcept:
    return lexbor.String(<const unsigned char *> &tag.letters[0], tag.length)


cdef uint16_t own_flags(
    Element *element, Tag *tag, Inherited *around, Scopes scopes, Shown *shown
) except? 0xFFFF:
    """The flags that an element has of itself; how it is shown by itself is set."""
    cdef uint16_t flags = tag.flag
    cdef bint is_html = element.node.namespace_ == lexbor.HTML, styled = False
    cdef bint hidden = False, findable = False, open_ = False, popover = False
    cdef Attribute *attribute = element.first_attribute
    cdef Attribute *display = NULL
    cdef Attribute *visibility = NULL
    cdef Style style
    cdef String value
    cdef int name
    shown.inherited = around[0]
    while attribute != NULL:
        name = name_of(attribute)
        if name != OTHER:
            value = lexbor.value_of(attribute)
            if name == HIDDEN:
                findable = _is_any_case(value, b"until-found")
                hidden = not findable
            elif name == STYLE:
                read_style(value, &style)
                styled = True
                if style.has_custom_properties:
                    shown.inherited.scope = scopes.enter(element, value, around.scope)
            elif name == ROLE:
                flags |= _role(value)
            elif name == OPEN:
                open_ = True
            elif name == POPOVER:
                popover = True
            elif name == DISPLAY_VALUE:
                display = attribute
            elif name == VISIBILITY_VALUE:
                visibility = attribute
        attribute = attribute.next
    if tag.hides == UNLESS_OPEN:
        hidden = hidden or not open_
    if not styled:
        memset(&style, 0, sizeof(Style))
    if element.node.namespace_ == lexbor.SVG and (display != NULL or visibility != NULL):
        read_attribute(lexbor.value_of(display), DISPLAY, &style)
        read_attribute(lexbor.value_of(visibility), VISIBILITY, &style)
        styled = True
    if styled:
        scopes.resolve(element, &style, &shown.inherited)
    if is_html and (popover or tag.hides == UNLESS_OPEN) and style.declared[POSITION] == UNDECLARED:
        style.declared[POSITION] = BLOCK_BOX
    hidden = hidden or popover and not (open_ and tag.hides == UNLESS_OPEN)
    _show(element, tag, &style, is_html and hidden, is_html and findable, shown)
    return flags


cdef void _show(
    Element *element, Tag *tag, Style *style, bint hidden, bint findable, Shown *shown
) noexcept:
    """Set how an element is shown, by its style and attributes."""
    cdef uint8_t box = _box(element, tag, style, hidden, &shown.inherited)
    cdef uint8_t content = style.declared[CONTENT_VISIBILITY]
    shown.on_lines = style.declared[DISPLAY] & ON_LINES != 0
    shown.visibility = style.declared[VISIBILITY]
    shown.inherited.conceals = content == HIDING or content == UNDECLARED and findable
    shown.removed = box == HIDING or box == COLUMN_BOX
    if shown.inherited.conceals and (box == BLOCK_BOX or box == ARRANGING_BOX):
        shown.removed = True
    if box != NO_BOX:
        shown.inherited.arranges = box == ARRANGING_BOX
    shown.inherited.box = box
    if tag.hides == NEVER:
        shown.removed, shown.visibility = False, UNDECLARED


cdef uint8_t _box(Element *element, Tag *tag, Style *style, bint hidden, Inherited *around) noexcept:
    """Return the box of an element, or HIDING where it has none and nothing in it is displayed."""
    cdef uint8_t box = style.declared[DISPLAY] & BOX
    cdef uintptr_t language = element.node.namespace_
    if box == UNDECLARED:
        if hidden:
            return HIDING
        box = tag.box if language == lexbor.HTML else MATH_BOX if language == lexbor.MATH else BLOCK_BOX
    if box == MATH_BOX:
        box = BLOCK_BOX if style.declared[DISPLAY] & ON_LINES else LINE_BOX
        if language == lexbor.MATH:
            return ARRANGING_BOX
    if language == lexbor.SVG and box != NO_BOX and box != HIDING and box != ARRANGING_BOX:
        return BLOCK_BOX  # whatever its style says
    if box == LINE_BOX and tag.box_kept and language == lexbor.HTML:
        return BLOCK_BOX
    if box == NO_BOX and (language != lexbor.HTML and _needs_box(element) or tag.box_kept == WHOLE_BOX):
        return HIDING
    if around.arranges or style.declared[FLOAT] == BLOCK_BOX or style.declared[POSITION] == BLOCK_BOX:
        if box == LINE_BOX or box == TABLE_PART or box == COLUMN_BOX:
            return BLOCK_BOX
    return box


cdef bint _needs_box(Element *element) noexcept:
    """Return True if an element of a formula or a drawing is not displayed without a box."""
    cdef lexbor.Node *node = &element.node
    return node.namespace_ == lexbor.MATH or tag_of(node.name).role == HOLDS_HTML or (
        tag_of(node.name).role == DRAWING and node.parent.namespace_ != lexbor.SVG
    )


cdef uint16_t _role(String value) noexcept:
    for role, flag in _roles:
        if spells(value, role):
            return flag
    return 0


cdef int name_of(Attribute *attribute) noexcept:
    """Return one more than the position of an attribute in `ATTRIBUTES`, or OTHER."""
    cdef String name
    cdef int position
    if attribute.node.name < lexbor.NUMBERED_ATTRIBUTES:
        return _attribute_numbers[attribute.node.name]
    name = lexbor.name_of(attribute.node.name)
    if name.length <= MAX_ATTRIBUTE:
        for position in range(VISIBILITY_VALUE):
            if same(name, _attributes[position]):
                return position + 1
    return OTHER


cdef bint has(Element *element, int name) noexcept:
    """Return True if an element has an attribute."""
    return _find(element, name) != NULL


cdef int integer(Element *element, int name, int default) noexcept:
    """Return the whole number that an attribute begins with, or the default."""
    cdef String value = value_of(element, name)
    cdef size_t position = _skip_space(value, 0), first
    cdef int number = 0
    cdef bint negative = position < value.length and value.data[position] == c"-"
    position += negative
    first = position
    while position < value.length and c"0" <= value.data[position] <= c"9" and position < first + MAX_NUMBER:
        number = 10 * number + value.data[position] - c"0"
        position += 1
    if position == first:
        return default
    return -number if negative else number


cdef bint is_shadow_root(Element *template) noexcept:
    """Return True if the content of a `<template>` is shown in its place."""
    cdef Attribute *attribute = template.first_attribute
    cdef String mode
    while attribute != NULL:
        if attribute.node.name >= lexbor.NUMBERED_ATTRIBUTES and spells(
            lexbor.name_of(attribute.node.name), b"shadowrootmode"
        ):
            mode = lexbor.value_of(attribute)
            return _is_any_case(mode, b"open") or _is_any_case(mode, b"closed")
        attribute = attribute.next
    return False


cdef bint is_json_ld(Element *element) noexcept:
    """Return True if a `<script>` holds JSON-LD, whatever the parameters of its type."""
    cdef String of_type = value_of(element, TYPE)
    cdef size_t position = _skip_space(of_type, 0)
    if not _starts(of_type, position, _JSON_LD):
        return False
    position = _skip_space(of_type, position + <size_t> len(_JSON_LD))
    return position == of_type.length or of_type.data[position] == c";"


cdef dict declaration(Element *element):
    """Return the declaration that a `<meta>` makes, if it is one of `_DECLARATIONS`."""
    cdef String key = value_of(element, PROPERTY), content = value_of(element, CONTENT)
    if not key.length:
        key = value_of(element, NAME)
    for name in _DECLARATIONS:
        if content.length and _is_any_case(key, name):
            return {name.decode(): content.data[: content.length].decode("utf-8", "replace")}
    return {}


cdef String value_of(Element *element, int name) noexcept:
    """Return the value of an attribute, empty where there is none."""
    return lexbor.value_of(_find(element, name))


cdef Attribute *_find(Element *element, int name) noexcept:
    cdef Attribute *attribute = element.first_attribute
    while attribute != NULL and name_of(attribute) != name:
        attribute = attribute.next
    return attribute


cdef bint spells(String value, bytes wanted) noexcept:
    """Return True if a text equals some letters."""
    return same(value, lexbor.String(wanted, len(wanted)))


cdef bint same(String one, String other) noexcept:
    return one.length == other.length and not memcmp(one.data, other.data, one.length)


cdef bint _is_any_case(String value, bytes wanted) noexcept:
    return value.length == <size_t> len(wanted) and _starts(value, 0, wanted)


cdef bint _starts(String value, size_t position, bytes wanted) noexcept:
    """Return True if a value has a lower-case text at a position, in either case."""
    cdef const unsigned char *letters = wanted
    cdef size_t length = len(wanted), letter
    if value.length - position < length:
        return False
    for letter in range(length):
        if lower(value.data[position + letter]) != letters[letter]:
            return False
    return True


cdef size_t _skip_space(String value, size_t position) noexcept:
    while position < value.length and is_space(value.data[position]):
        position += 1
    return position
