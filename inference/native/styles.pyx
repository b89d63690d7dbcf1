# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Style attributes: their declarations that hide or show an element.

Tokens and declarations are those of CSS Syntax Level 3, so that what browsers ignore is ignored. Custom properties are
not resolved: a declaration that refers to one is ignored, too.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcmp, memset

from dehusk.inference.native.buffer cimport Buffer, append, free
from dehusk.inference.native.lexbor cimport String

cdef enum:  # tokens
    END
    SPACE
    WORD  # an identifier
    AT_WORD
    COLON
    SEMICOLON
    EXCLAMATION_MARK
    OPENING  # a bracket, or a function with its own
    CLOSING
    OTHER

cdef enum:
    MAX_WORD = 24  # bytes; no longer one is looked for
    MAX_KEYWORDS = 3  # in a value; of one with more, which is not valid, another one is read
    MAX_ESCAPE = 6  # hexadecimal digits
    NOT_ASCII = 0x80  # stands for any such character of a word

cdef enum:  # keywords, as bits
    HIDES = 1
    SHOWS = 2
    REVERTS = 4  # to the property without the style
    ALONE = 7  # no other keyword may stand beside these
    BLOCK = 8
    INLINE = 16
    FLOW = 32
    INSIDE = 64
    LIST_ITEM = 128

cdef dict _PROPERTIES = {
    b"display": (DISPLAY,),
    b"visibility": (VISIBILITY,),
    b"content-visibility": (CONTENT_VISIBILITY,),
    b"all": (DISPLAY, VISIBILITY, CONTENT_VISIBILITY),
}
cdef dict _FOR_ALL = {  # and of all properties
    **dict.fromkeys((b"initial", b"inherit", b"unset"), SHOWS),
    **dict.fromkeys((b"revert", b"revert-layer"), REVERTS),
}
cdef tuple _KEYWORDS = (
    {
        **_FOR_ALL,
        b"none": HIDES,
        b"block": BLOCK,
        b"inline": INLINE,
        **dict.fromkeys((b"flow", b"flow-root"), FLOW),
        **dict.fromkeys((b"table", b"flex", b"grid", b"ruby", b"math"), INSIDE),
        b"list-item": LIST_ITEM,
        **dict.fromkeys((b"contents", b"inline-block", b"inline-table", b"inline-flex", b"inline-grid"), SHOWS),
        **dict.fromkeys((b"table-row-group", b"table-header-group", b"table-footer-group", b"table-row"), SHOWS),
        **dict.fromkeys((b"table-cell", b"table-column-group", b"table-column", b"table-caption"), SHOWS),
        **dict.fromkeys((b"-webkit-box", b"-webkit-inline-box", b"-webkit-flex", b"-webkit-inline-flex"), SHOWS),
        b"ruby-text": SHOWS,
    },
    {
        **dict.fromkeys(_FOR_ALL, REVERTS),  # to that of the element around
        b"initial": SHOWS,
        b"visible": SHOWS,
        **dict.fromkeys((b"hidden", b"collapse"), HIDES),
    },
    {**_FOR_ALL, **dict.fromkeys((b"visible", b"auto"), SHOWS), b"hidden": HIDES},
)


cdef struct Reader:
    const unsigned char *data
    size_t length
    size_t position  # after the last token
    unsigned char bracket  # the closing one of the last token, or the last token itself
    unsigned char[MAX_WORD] word  # the last one, in lower case
    size_t letters  # of it, also those that had no room
    Buffer brackets  # the closing ones of those open


cdef int read_style(String text, Style *style) except -1:
    """Read the declarations of each property in a style attribute: the last, or the last important one."""
    cdef Reader reader
    cdef int token
    memset(style, 0, sizeof(Style))
    memset(&reader, 0, sizeof(Reader))
    reader.data, reader.length = text.data, text.length
    try:
        token = _next(&reader)
        while token != END:
            if token == WORD:
                _read_declaration(&reader, style)
            elif token == AT_WORD:
                _skip_rule(&reader)
            elif token != SPACE and token != SEMICOLON:
                _skip_declaration(&reader, token)
            token = _next(&reader)
    finally:
        free(&reader.brackets)
    return 0


cdef int _read_declaration(Reader *reader, Style *style) except -1:
    """Read a declaration whose name is the last token."""
    cdef bint is_important = False
    properties = _PROPERTIES.get(_word(reader))
    cdef int token = _next_visible(reader)
    if token != COLON or properties is None:
        return _skip_declaration(reader, token)
    keywords = []
    token = _next_visible(reader)
    while token == WORD:
        if len(keywords) <= MAX_KEYWORDS:
            keywords.append(_word(reader))
        token = _next_visible(reader)
    if token == EXCLAMATION_MARK:
        token = _next_visible(reader)
        is_important = token == WORD and _word(reader) == b"important"
        if not is_important:
            return _skip_declaration(reader, token)
        token = _next_visible(reader)
    if token != END and token != SEMICOLON:
        return _skip_declaration(reader, token)
    if len(properties) > 1 and not _FOR_ALL.keys() >= set(keywords):
        return 0
    for name in properties:
        _declare(style, name, keywords, is_important)
    return 0


cdef int _declare(Style *style, int name, list keywords, bint is_important) except -1:
    """Take over a declaration, unless its value is none of the property, or an earlier one is important."""
    cdef int value = 0, bit
    for keyword in keywords:
        bit = (<dict> _KEYWORDS[name]).get(keyword, 0)
        if not bit or value & (bit | ALONE) or value and bit & ALONE:
            return 0
        value |= bit
    if not value or value & BLOCK and value & INLINE or value & INSIDE and value & (FLOW | LIST_ITEM):
        return 0
    if style.important[name] and not is_important:
        return 0
    style.important[name] = is_important
    if value & REVERTS:
        style.declared[name] = UNDECLARED
    elif value & HIDES:
        style.declared[name] = HIDING
    else:
        style.declared[name] = ON_LINES if value & BLOCK else SHOWING
    return 0


cdef int _skip_declaration(Reader *reader, int token) except -1:
    """Skip a declaration from its last token up to its end, a semicolon outside brackets."""
    while token != END and token != SEMICOLON:
        if token == OPENING:
            _skip_brackets(reader)
        token = _next(reader)
    return 0


cdef int _skip_rule(Reader *reader) except -1:
    """Skip an at-rule, which ends like a declaration, or after its block."""
    cdef int token = _next(reader)
    while token != END and token != SEMICOLON:
        if token == OPENING:
            is_block = reader.bracket == c"}"
            _skip_brackets(reader)
            if is_block:
                break
        token = _next(reader)
    return 0


cdef int _skip_brackets(Reader *reader) except -1:
    """Skip to the end of the bracket that the last token opened."""
    cdef int token = OPENING
    while token != END:
        if token == OPENING:
            append(&reader.brackets, &reader.bracket, 1)
        elif token == CLOSING and <unsigned char> reader.brackets.data[reader.brackets.used - 1] == reader.bracket:
            reader.brackets.used -= 1
            if not reader.brackets.used:
                break
        token = _next(reader)
    return 0


cdef bytes _word(Reader *reader):
    """Return the last word, in lower case; an empty one for a longer one than any that is looked for."""
    return reader.word[: reader.letters] if reader.letters <= MAX_WORD else b""


cdef int _next_visible(Reader *reader) noexcept nogil:
    """Take the next token that is no white space."""
    cdef int token = _next(reader)
    while token == SPACE:
        token = _next(reader)
    return token


cdef int _next(Reader *reader) noexcept nogil:
    """Take the next token, where comments are none."""
    cdef unsigned char first
    while _stands(reader, b"/*", 2):
        _skip_comment(reader)
    if reader.position == reader.length:
        return END
    first = reader.data[reader.position]
    if not _stands(reader, b"-->", 3) and _begins_word(reader, reader.position):
        _read_word(reader)
        return _what_follows_word(reader)
    reader.position += 1
    if _is_space(first):
        while reader.position < reader.length and _is_space(reader.data[reader.position]):
            reader.position += 1
        return SPACE
    if first == c"@" and _begins_word(reader, reader.position):
        _read_word(reader)
        return AT_WORD
    if first == c":":
        return COLON
    if first == c";":
        return SEMICOLON
    if first == c"!":
        return EXCLAMATION_MARK
    if first == c"(" or first == c"[" or first == c"{":
        reader.bracket = c")" if first == c"(" else first + 2
        return OPENING
    if first == c")" or first == c"]" or first == c"}":
        reader.bracket = first
        return CLOSING
    _skip_other(reader, first)
    return OTHER


cdef void _skip_other(Reader *reader, unsigned char first) noexcept nogil:
    """Skip a string, a number with its unit, a hash, or a mark of HTML comments, after its first byte."""
    if first == c'"' or first == c"'":
        _skip_string(reader, first)
    elif c"0" <= first <= c"9":
        while reader.position < reader.length and c"0" <= reader.data[reader.position] <= c"9":
            reader.position += 1
        if _begins_word(reader, reader.position):
            _read_word(reader)
    elif first == c"#":
        _read_word(reader)
    elif first == c"<" and _stands(reader, b"!--", 3):
        reader.position += 3
    elif first == c"-" and _stands(reader, b"->", 2):
        reader.position += 2


cdef int _what_follows_word(Reader *reader) noexcept nogil:
    """Return the token that a word is, or is the name of: a function, or an address, which is skipped."""
    cdef size_t position
    if not _stands(reader, b"(", 1):
        return WORD
    reader.position += 1
    reader.bracket = c")"
    if reader.letters != 3 or memcmp(reader.word, b"url", 3):
        return OPENING
    position = reader.position
    while position < reader.length and _is_space(reader.data[position]):
        position += 1
    if position < reader.length and (reader.data[position] == c'"' or reader.data[position] == c"'"):
        return OPENING
    while reader.position < reader.length:
        reader.position += 1
        if reader.data[reader.position - 1] == c")":
            break
        if reader.data[reader.position - 1] == c"\\" and reader.position < reader.length:
            reader.position += 1
    return OTHER


cdef void _skip_comment(Reader *reader) noexcept nogil:
    reader.position += 2
    while reader.position < reader.length and not _stands(reader, b"*/", 2):
        reader.position += 1
    reader.position = min(reader.position + 2, reader.length)


cdef void _skip_string(Reader *reader, unsigned char quote) noexcept nogil:
    """Skip a string up to its quote, or up to a line break that is not escaped."""
    cdef unsigned char byte
    while reader.position < reader.length:
        byte = reader.data[reader.position]
        if _is_line_break(byte):
            return
        reader.position += 1
        if byte == quote:
            return
        if byte != c"\\" or reader.position == reader.length:
            continue
        if _is_line_break(reader.data[reader.position]):
            reader.position += 2 if _stands(reader, b"\r\n", 2) else 1
        else:
            _escaped(reader)


cdef bint _begins_word(Reader *reader, size_t position) noexcept nogil:
    """Return True if an identifier begins at a position."""
    if position < reader.length and reader.data[position] == c"-":
        position += 1
        if position < reader.length and reader.data[position] == c"-":
            return True
    if position == reader.length:
        return False
    if c"0" <= reader.data[position] <= c"9":
        return False
    return _is_of_word(reader.data[position]) and reader.data[position] != c"-" or _is_escape(reader, position)


cdef void _read_word(Reader *reader) noexcept nogil:
    """Read an identifier, or the rest of one."""
    reader.letters = 0
    while reader.position < reader.length:
        if _is_of_word(reader.data[reader.position]):
            _add(reader, reader.data[reader.position])
            reader.position += 1
        elif _is_escape(reader, reader.position):
            reader.position += 1
            _add(reader, _escaped(reader))
        else:
            return


cdef void _add(Reader *reader, unsigned char letter) noexcept nogil:
    if reader.letters < MAX_WORD:
        reader.word[reader.letters] = letter | 0x20 if c"A" <= letter <= c"Z" else letter
    reader.letters += 1


cdef unsigned char _escaped(Reader *reader) noexcept nogil:
    """Read the escape after a backslash; return the character that it stands for, NOT_ASCII for any other."""
    cdef uint32_t character = 0
    cdef int digits = 0
    while digits < MAX_ESCAPE and reader.position < reader.length and _digit(reader.data[reader.position]) >= 0:
        character = 16 * character + _digit(reader.data[reader.position])
        reader.position += 1
        digits += 1
    if digits:
        if _stands(reader, b"\r\n", 2):
            reader.position += 2
        elif reader.position < reader.length and _is_space(reader.data[reader.position]):
            reader.position += 1
    elif reader.position < reader.length:
        character = reader.data[reader.position]
        reader.position += 1
    return character if 0 < character < NOT_ASCII else NOT_ASCII


cdef inline int _digit(unsigned char letter) noexcept nogil:
    """Return the value of a hexadecimal digit, or -1."""
    if c"0" <= letter <= c"9":
        return letter - c"0"
    letter |= 0x20
    return letter - c"a" + 10 if c"a" <= letter <= c"f" else -1


cdef inline bint _is_escape(Reader *reader, size_t position) noexcept nogil:
    """Return True if a backslash stands at a position, and no line break after it."""
    if reader.data[position] != c"\\":
        return False
    return position + 1 == reader.length or not _is_line_break(reader.data[position + 1])


cdef inline bint _is_of_word(unsigned char letter) noexcept nogil:
    return (
        c"a" <= letter | 0x20 <= c"z" or c"0" <= letter <= c"9" or letter == c"-" or letter == c"_"
        or letter >= NOT_ASCII
    )


cdef inline bint _is_line_break(unsigned char letter) noexcept nogil:
    return letter == c"\n" or letter == c"\r" or letter == c"\f"


cdef inline bint _is_space(unsigned char letter) noexcept nogil:
    return letter == c" " or letter == c"\t" or _is_line_break(letter)


cdef inline bint _stands(Reader *reader, const char *text, size_t length) noexcept nogil:
    """Return True if a text is next."""
    return reader.length - reader.position >= length and not memcmp(reader.data + reader.position, text, length)
