# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Style attributes: their declarations that hide or show an element.

What browsers ignore is ignored. References, e.g. to custom properties, are resolved as far as style attributes tell
them (`dehusk.inference.markup.style_references`).
"""

from libc.stdint cimport uintptr_t
from libc.string cimport memset

from dehusk.inference.native cimport css, lexbor
from dehusk.inference.native.buffer cimport free
from dehusk.inference.native.css cimport Reader, begin_reading, next_visible, word
from dehusk.inference.native.declarations cimport (
    TOO_LONG, components, components_of, next_declaration, skip_declaration, text_of,
)
from dehusk.inference.native.lexbor cimport Attribute, Element, String

from dehusk.inference.markup import style_values
from dehusk.inference.markup.style_references import References, Scope, TooManyReferencesError, keywords

cdef enum:
    MAX_KEYWORDS = 3  # in a value; of one with more, which is not valid, another one is read
    INVALID = 255  # as no declared value is

cdef enum:  # keywords, as bits
    HIDES = 1
    SHOWS = 2
    REVERTS = 4  # to the property without the style
    INHERITS = 8
    ALONE = 15  # no other keyword may stand beside these
    BLOCK = 16
    INLINE = 32
    FLOW = 64
    ROOT = 128  # of a flow
    TABLE = 256
    ARRANGES = 512
    RUBY = 1024
    MATH = 2048
    INSIDE = 4032  # one of these may stand
    LIST_ITEM = 4096
    LINES = 5056  # without INLINE, one of these makes what stands on lines of its own

cdef dict _PROPERTIES = {
    b"display": (DISPLAY,),
    b"visibility": (VISIBILITY,),
    b"content-visibility": (CONTENT_VISIBILITY,),
    b"float": (FLOAT,),
    b"position": (POSITION,),
    b"all": (DISPLAY, VISIBILITY, CONTENT_VISIBILITY, FLOAT, POSITION),
}
cdef dict _FOR_ALL = {  # and of all properties
    **dict.fromkeys((b"initial", b"unset"), SHOWS),
    **dict.fromkeys((b"revert", b"revert-layer"), REVERTS),
    b"inherit": INHERITS,
}
cdef dict _BOXES = {  # of keywords of `display` that stand alone
    **dict.fromkeys(_FOR_ALL, LINE_BOX),
    b"contents": NO_BOX,
    **dict.fromkeys((b"inline-block", b"table-cell", b"-webkit-inline-box"), BLOCK_BOX),
    **dict.fromkeys((b"inline-flex", b"inline-grid", b"-webkit-inline-flex"), ARRANGING_BOX),
    b"-webkit-box": BLOCK_BOX | ON_LINES,
    b"-webkit-flex": ARRANGING_BOX | ON_LINES,
    b"inline-table": TABLE_BOX,
    **dict.fromkeys((b"table-row-group", b"table-header-group", b"table-footer-group"), TABLE_PART),
    **dict.fromkeys((b"table-row", b"table-caption"), TABLE_PART),
    **dict.fromkeys((b"table-column-group", b"table-column"), COLUMN_BOX),
    b"ruby-text": LINE_BOX,
}
cdef tuple _KEYWORDS = (
    {
        **dict.fromkeys(_BOXES, SHOWS),
        **_FOR_ALL,
        b"none": HIDES,
        b"block": BLOCK,
        b"inline": INLINE,
        b"flow": FLOW,
        b"flow-root": ROOT,
        b"table": TABLE,
        **dict.fromkeys((b"flex", b"grid"), ARRANGES),
        b"ruby": RUBY,
        b"math": MATH,
        b"list-item": LIST_ITEM,
    },
    {
        **dict.fromkeys(_FOR_ALL, REVERTS),  # to that of the element around
        b"initial": SHOWS,
        b"visible": SHOWS,
        **dict.fromkeys((b"hidden", b"collapse"), HIDES),
    },
    {**_FOR_ALL, **dict.fromkeys((b"visible", b"auto"), SHOWS), b"hidden": HIDES},
    {
        **dict.fromkeys(_FOR_ALL, SHOWS),
        b"none": SHOWS,
        **dict.fromkeys((b"left", b"right", b"inline-start", b"inline-end"), BLOCK),
    },
    {
        **dict.fromkeys(_FOR_ALL, SHOWS),
        **dict.fromkeys((b"static", b"relative", b"sticky"), SHOWS),
        **dict.fromkeys((b"absolute", b"fixed"), BLOCK),
    },
)
cdef int[PROPERTIES] _UNSET = [LINE_BOX, UNDECLARED, SHOWING, SHOWING, SHOWING]


cdef int read_style(String text, Style *style) except -1:
    """Read the declarations of a style attribute: of each property the last, or the last important one."""
    cdef Reader reader
    memset(style, 0, sizeof(Style))
    begin_reading(&reader, text)
    try:
        while next_declaration(&reader):
            _read_declaration(&reader, style)
    finally:
        free(&reader.brackets)
    return 0


cdef int read_attribute(String text, int name, Style *style) except -1:
    """Read an attribute of a drawing that has a property's value, unless the style declares the property."""
    cdef Reader reader
    if style.declared[name] == UNDECLARED:
        begin_reading(&reader, text)
        try:
            _read_value(&reader, style, (name,), True)
        finally:
            free(&reader.brackets)
    return 0


cdef int _read_declaration(Reader *reader, Style *style) except -1:
    """Read a declaration whose name is the last token."""
    cdef bint is_custom = css.names_custom_property(reader)
    properties = None if is_custom else _PROPERTIES.get(word(reader))
    cdef int token = next_visible(reader)
    if token == css.COLON and properties is not None:
        return _read_value(reader, style, properties, False)
    if token == css.COLON and is_custom:
        style.has_custom_properties = True
    return skip_declaration(reader, token)


cdef int _read_value(Reader *reader, Style *style, tuple properties, bint is_attribute) except -1:
    """Read the value of properties, up to its end; an attribute is nothing but a value."""
    cdef size_t begin = reader.position
    cdef bint is_important = False
    cdef int token = next_visible(reader), name, declared
    keywords = []
    while token == css.WORD:
        if len(keywords) <= MAX_KEYWORDS:
            keywords.append(word(reader))
        token = next_visible(reader)
    if token == css.EXCLAMATION_MARK and not is_attribute:
        token = next_visible(reader)
        is_important = token == css.WORD and word(reader) == b"important"
        if not is_important:
            return skip_declaration(reader, token)
        token = next_visible(reader)
    if token != css.END and (token != css.SEMICOLON or is_attribute):
        reader.position = begin
        return _read_references(reader, style, properties, is_attribute)
    if len(properties) > 1 and not _FOR_ALL.keys() >= set(keywords):
        return 0
    for name in properties:
        declared = _declared(name, keywords)
        if declared != INVALID:
            _declare(style, name, declared, is_important)
    return 0


cdef int _read_references(Reader *reader, Style *style, tuple properties, bint is_attribute) except -1:
    """Read a value that is none but by references in it."""
    cdef size_t begin = reader.position
    cdef bint is_important = False
    cdef int name
    value = components(reader, &is_important)
    if value is TOO_LONG:
        for name in properties:
            _declare(style, name, _hidden(name), True)
        return 0
    if value is None or not style_values.is_reference(value) or (is_attribute and reader.position < reader.length):
        return 0
    for name in properties:
        if _declare(style, name, REFERRING, is_important):
            style.references[name] = String(reader.data + begin, reader.begin - begin)
    return 0


cdef int _declared(int name, list keywords) except -1:
    """Return the value that keywords declare; UNDECLARED for that without the style, or INVALID."""
    cdef int value = 0, bit
    for keyword in keywords:
        bit = (<dict> _KEYWORDS[name]).get(keyword, 0)
        if not bit or value & (bit | ALONE) or value and bit & ALONE:
            return INVALID
        value |= bit
    if not value or value & BLOCK and value & INLINE or _bits(value & INSIDE) > 1:
        return INVALID
    if value & LIST_ITEM and value & INSIDE & ~(FLOW | ROOT):
        return INVALID
    if value & REVERTS:
        return UNDECLARED
    if value & INHERITS:
        return INHERITING
    if value & HIDES:
        return HIDING
    if name != DISPLAY:
        return BLOCK_BOX if value & BLOCK else SHOWING
    return _BOXES[keywords[0]] if value & SHOWS else _box(value)


cdef inline int _hidden(int name) noexcept:
    """Return the declared value of a property that hides."""
    return HIDING if name <= CONTENT_VISIBILITY else SHOWING


cdef int _box(int value) noexcept:
    """Return the box that keywords of `display` make of an element."""
    cdef int box = BLOCK_BOX
    if value & ARRANGES:
        box = ARRANGING_BOX
    elif value & TABLE:
        box = TABLE_BOX
    elif value & MATH:
        box = MATH_BOX
    elif value & INLINE and not value & ROOT or value & RUBY and not value & BLOCK:
        box = LINE_BOX
    return box | ON_LINES if value & BLOCK or value & LINES and not value & INLINE else box


cdef int _bits(int value) noexcept:
    cdef int count = 0
    while value:
        value &= value - 1
        count += 1
    return count


cdef bint _declare(Style *style, int name, int declared, bint is_important) except -1:
    """Take over a declaration, unless an earlier one is important."""
    if style.important[name] and not is_important:
        return False
    style.important[name] = is_important
    style.declared[name] = declared
    return True


cdef class Scopes:
    """Custom properties that the style attributes of a page declare, and the references to them."""

    def __cinit__(self):
        self._elements, self._scopes, self._numbers, self._references = [], [], {}, References()

    cdef int enter(self, Element *element, String style, int around) except -1:
        """Return the scope of an element whose style declares custom properties, in the one around it."""
        known = self._numbers.get(<uintptr_t> element)
        if known is None:
            self._elements.append((around, style.data[: style.length]))
            self._scopes.append(None)
            known = self._numbers[<uintptr_t> element] = len(self._scopes)
        return known

    cdef int resolve(self, Element *element, Style *style, Inherited *inherited) except -1:
        """Replace references in a style by what they stand for, and values that are those of the element around."""
        cdef int name
        for name in range(PROPERTIES):
            if style.declared[name] == REFERRING:
                style.declared[name] = self._resolve(element, style.references[name], name, inherited.scope)
        if style.declared[DISPLAY] == INHERITING:
            style.declared[DISPLAY] = inherited.box
        if style.declared[CONTENT_VISIBILITY] == INHERITING:
            style.declared[CONTENT_VISIBILITY] = HIDING if inherited.conceals else SHOWING
        return 0

    cdef int _resolve(self, Element *element, String value, int name, int scope) except -1:
        cdef int declared = INVALID
        cdef bint is_important
        cdef Reader reader
        cdef _Attributes attributes = _Attributes()
        attributes.element = element
        begin_reading(&reader, value)
        try:
            found = self._references.resolve(components(&reader, &is_important), self._scope(scope), attributes)
        except TooManyReferencesError:
            return _hidden(name)  # no page that is to be read needs as many
        if found is not None:
            declared = _declared(name, keywords(found))
        return declared if declared != INVALID else _UNSET[name]

    cdef object _scope(self, int number):
        """Return a scope by its number; those around it are made first."""
        waiting = []
        while number and self._scopes[number - 1] is None:
            waiting.append(number)
            number = self._elements[number - 1][0]
        found = self._scopes[number - 1] if number else None
        for number in reversed(waiting):
            found = self._scopes[number - 1] = Scope(found, _custom_properties(self._elements[number - 1][1]))
        return found


cdef class _Attributes:
    """The attributes of an element as values of CSS."""

    cdef Element *element

    def __call__(self, str name):
        """Return the value of an attribute; None if there is none or it is no value."""
        cdef Attribute *attribute = self.element.first_attribute
        while attribute != NULL and _attribute_name(attribute) != name:
            attribute = attribute.next
        return components_of(lexbor.value_of(attribute)) if attribute != NULL else None


cdef str _attribute_name(Attribute *attribute):
    if attribute.node.name < lexbor.NUMBERED_ATTRIBUTES:
        return lexbor.ATTRIBUTES[attribute.node.name].decode()
    return lexbor.decoded(lexbor.name_of(attribute.node.name))


cdef dict _custom_properties(bytes style):
    """Return the values of the custom properties that a style attribute declares."""
    cdef Reader reader
    cdef bint is_custom, is_important
    cdef int token
    found, important = {}, set()
    begin_reading(&reader, String(style, len(style)))
    try:
        while next_declaration(&reader):
            is_custom = css.names_custom_property(&reader)
            name = text_of(&reader) if is_custom else None
            token = next_visible(&reader)
            if not is_custom or token != css.COLON:
                skip_declaration(&reader, token)
                continue
            value = components(&reader, &is_important)
            if value is not None and style_values.is_custom_value(value):
                if is_important or name not in important:
                    found[name] = value
                if is_important:
                    important.add(name)
    finally:
        free(&reader.brackets)
    return found
