# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Declarations of a style attribute, as CSS Syntax Level 3 parts them, and the components of their values."""

from dehusk.inference.native cimport css, lexbor
from dehusk.inference.native.buffer cimport append, free
from dehusk.inference.native.css cimport Reader, begin_reading, next_token, next_visible, word
from dehusk.inference.native.lexbor cimport String

from dehusk.inference.markup import style_values
from dehusk.inference.markup.style_values import Component

cdef enum:
    MAX_COMPONENTS = 10_000  # of a value

TOO_LONG = [Component(style_values.OTHER, "")]
cdef dict _KINDS = {
    css.COMMA: style_values.COMMA,
    css.COLON: style_values.COLON,
    css.SEMICOLON: style_values.SEMICOLON,
    css.EXCLAMATION_MARK: style_values.EXCLAMATION_MARK,
}

cdef bint next_declaration(Reader *reader) except -1:
    """Go on to the name of the next declaration; return False if there is none."""
    cdef int token = next_token(reader)
    while token != css.END and token != css.WORD:
        if token == css.AT_WORD:
            _skip_rule(reader)
        elif token != css.SPACE and token != css.SEMICOLON:
            skip_declaration(reader, token)
        token = next_token(reader)
    return token == css.WORD


cdef int skip_declaration(Reader *reader, int token) except -1:
    """Skip a declaration from its last token up to its end, a semicolon outside brackets."""
    while token != css.END and token != css.SEMICOLON:
        if token == css.OPENING:
            _skip_brackets(reader)
        token = next_token(reader)
    return 0


cdef int _skip_rule(Reader *reader) except -1:
    """Skip an at-rule, which ends like a declaration, or after its block."""
    cdef int token = next_token(reader)
    while token != css.END and token != css.SEMICOLON:
        if token == css.OPENING:
            is_block = reader.bracket == c"}"
            _skip_brackets(reader)
            if is_block:
                break
        token = next_token(reader)
    return 0


cdef int _skip_brackets(Reader *reader) except -1:
    """Skip to the end of the bracket that the last token opened."""
    cdef int token = css.OPENING
    while token != css.END:
        if token == css.OPENING:
            append(&reader.brackets, &reader.bracket, 1)
        elif token == css.CLOSING and <unsigned char> reader.brackets.data[reader.brackets.used - 1] == reader.bracket:
            reader.brackets.used -= 1
            if not reader.brackets.used:
                break
        token = next_token(reader)
    return 0


cdef list components_of(String value):
    """Return the components of a value that ends with a text, None if it is none."""
    cdef Reader reader
    cdef bint is_important
    begin_reading(&reader, value)
    try:
        found = components(&reader, &is_important)
    finally:
        free(&reader.brackets)
    return found if reader.begin == reader.length and not is_important else None


cdef list components(Reader *reader, bint *is_important):
    """Read the components of a value up to the end of its declaration, if they are not too many.

    It is None if they are no value, and `TOO_LONG` if they are too many.
    """
    cdef size_t begin = reader.position
    cdef int token = next_visible(reader), count = 0
    cdef bint is_valid = True
    found = current = []
    around = []
    is_important[0] = False
    while token != css.END and (token != css.SEMICOLON or around):
        is_valid = is_valid and token != css.BAD and not is_important[0]
        count += 1
        if count > MAX_COMPONENTS:
            reader.position = begin
            skip_declaration(reader, next_token(reader))
            return TOO_LONG
        if token == css.OPENING:
            around.append((current, reader.bracket))
            current.append(_opened(reader))
            current = current[len(current) - 1].inner
        elif token == css.CLOSING:
            if around and around[len(around) - 1][1] == reader.bracket:
                current = around.pop()[0]
            else:
                is_valid = False
        elif token == css.EXCLAMATION_MARK and not around:
            token = next_visible(reader)
            is_important[0] = token == css.WORD and word(reader) == b"important"
            if not is_important[0]:
                is_valid = False
                continue
        elif token == css.WORD:
            current.append(Component(style_values.WORD, text_of(reader)))
        elif token != css.SPACE:
            current.append(Component(_KINDS.get(token, style_values.OTHER), _written(reader)))
        token = next_visible(reader)
    return found if is_valid else None


cdef object _opened(Reader *reader):
    """Return the function or bracket that the last token opened, its content to be added."""
    written = _written(reader)
    if len(written) == 1:
        return Component(style_values.BRACKET, written, [])
    return Component(style_values.FUNCTION, style_values.unescaped(written[: len(written) - 1]), [])


cdef str _written(Reader *reader):
    return lexbor.decoded(String(reader.data + reader.begin, reader.position - reader.begin))


cdef str text_of(Reader *reader):
    """Return the last token without escapes."""
    return style_values.unescaped(_written(reader))
