"""Tokens of CSS Syntax Level 3, as far as values of style attributes need them."""

from libc.stdint cimport uint32_t
from libc.string cimport memcmp, memset

from dehusk.inference.native.ascii cimport hexadecimal, is_digit, is_letter, lower
from dehusk.inference.native.buffer cimport Buffer
from dehusk.inference.native.lexbor cimport String

cdef enum:  # tokens
    END
    SPACE
    WORD  # an identifier
    AT_WORD
    COLON
    SEMICOLON
    COMMA
    EXCLAMATION_MARK
    OPENING  # a bracket, or a function with its own
    CLOSING
    OTHER
    BAD  # a string or an address that does not end rightly

cdef enum:
    MAX_WORD = 24  # bytes; no longer one is looked for
    MAX_ESCAPE = 6  # hexadecimal digits
    NOT_ASCII = 0x80  # stands for any such character of a word


cdef struct Reader:
    const unsigned char *data
    size_t length
    size_t begin  # of the last token
    size_t position  # behind the last token
    unsigned char bracket  # that ends what the last token opened, or is the last token
    unsigned char[MAX_WORD] word  # the last one, in lower case
    size_t letters  # of it, also those that had no room
    Buffer brackets  # that end what is open


cdef inline void begin_reading(Reader *reader, String text) noexcept nogil:
    memset(reader, 0, sizeof(Reader))
    reader.data, reader.length = text.data, text.length


cdef inline bytes word(Reader *reader):
    """Return the last word, in lower case; an empty one for a longer one than any that is looked for."""
    return reader.word[: reader.letters] if reader.letters <= MAX_WORD else b""


cdef inline bint names_custom_property(Reader *reader) noexcept nogil:
    """Return True if the last word names a custom property."""
    return reader.letters > 2 and reader.word[0] == c"-" and reader.word[1] == c"-"


cdef inline int next_visible(Reader *reader) noexcept nogil:
    """Take the next token that is no white space."""
    cdef int token = next_token(reader)
    while token == SPACE:
        token = next_token(reader)
    return token


cdef inline int next_token(Reader *reader) noexcept nogil:
    """Take the next token, where comments are none."""
    cdef unsigned char first
    while _stands(reader, b"/*", 2):
        _skip_comment(reader)
    reader.begin = reader.position
    if reader.position == reader.length:
        return END
    first = reader.data[reader.position]
    if not _stands(reader, b"-->", 3) and _begins_word(reader, reader.position):
        _read_word(reader)
        return _what_follows_word(reader)
    if _begins_number(reader, reader.position):
        return _skip_number(reader)
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
    if first == c",":
        return COMMA
    if first == c"!":
        return EXCLAMATION_MARK
    if first == c"(" or first == c"[" or first == c"{":
        reader.bracket = c")" if first == c"(" else first + 2
        return OPENING
    if first == c")" or first == c"]" or first == c"}":
        reader.bracket = first
        return CLOSING
    return _skip_other(reader, first)


cdef inline int _skip_other(Reader *reader, unsigned char first) noexcept nogil:
    """Skip a string, a hash, or what parts comments of HTML, behind its first byte."""
    if first == c'"' or first == c"'":
        return OTHER if _skip_string(reader, first) else BAD
    if first == c"#":
        _read_word(reader)
    elif first == c"<" and _stands(reader, b"!--", 3):
        reader.position += 3
    elif first == c"-" and _stands(reader, b"->", 2):
        reader.position += 2
    return OTHER


cdef inline bint _begins_number(Reader *reader, size_t position) noexcept nogil:
    if position < reader.length and (reader.data[position] == c"+" or reader.data[position] == c"-"):
        position += 1
    if position < reader.length and reader.data[position] == c".":
        position += 1
    return position < reader.length and c"0" <= reader.data[position] <= c"9"


cdef inline int _skip_number(Reader *reader) noexcept nogil:
    """Skip a number with its unit."""
    if reader.data[reader.position] == c"+" or reader.data[reader.position] == c"-":
        reader.position += 1
    _skip_digits(reader)
    if reader.position + 1 < reader.length and reader.data[reader.position] == c".":
        if c"0" <= reader.data[reader.position + 1] <= c"9":
            reader.position += 1
            _skip_digits(reader)
    if _begins_word(reader, reader.position):
        _read_word(reader)
    elif _stands(reader, b"%", 1):
        reader.position += 1
    return OTHER


cdef inline void _skip_digits(Reader *reader) noexcept nogil:
    while reader.position < reader.length and c"0" <= reader.data[reader.position] <= c"9":
        reader.position += 1


cdef inline int _what_follows_word(Reader *reader) noexcept nogil:
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
    return _skip_address(reader)


cdef inline int _skip_address(Reader *reader) noexcept nogil:
    """Skip an address that is not in quotation marks, also a bad one, up to its bracket."""
    cdef bint is_bad = False, has_ended = False
    cdef unsigned char letter
    while reader.position < reader.length and _is_space(reader.data[reader.position]):
        reader.position += 1
    while reader.position < reader.length:
        letter = reader.data[reader.position]
        reader.position += 1
        if letter == c")":
            break
        if _is_space(letter):
            has_ended = True
            continue
        is_bad = is_bad or has_ended or letter == c'"' or letter == c"'" or letter == c"("
        is_bad = is_bad or letter < c" " or letter == 0x7F
        if letter == c"\\" and reader.position < reader.length:
            is_bad = is_bad or _is_line_break(reader.data[reader.position])
            reader.position += 1
    return BAD if is_bad else OTHER


cdef inline void _skip_comment(Reader *reader) noexcept nogil:
    reader.position += 2
    while reader.position < reader.length and not _stands(reader, b"*/", 2):
        reader.position += 1
    reader.position = min(reader.position + 2, reader.length)


cdef inline bint _skip_string(Reader *reader, unsigned char quote) noexcept nogil:
    """Skip a string up to its quote, or up to a line break that is not escaped: then it is a bad one."""
    cdef unsigned char byte
    while reader.position < reader.length:
        byte = reader.data[reader.position]
        if _is_line_break(byte):
            return False
        reader.position += 1
        if byte == quote:
            return True
        if byte != c"\\" or reader.position == reader.length:
            continue
        if _is_line_break(reader.data[reader.position]):
            reader.position += 2 if _stands(reader, b"\r\n", 2) else 1
        else:
            _escaped(reader)
    return True


cdef inline bint _begins_word(Reader *reader, size_t position) noexcept nogil:
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


cdef inline void _read_word(Reader *reader) noexcept nogil:
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


cdef inline void _add(Reader *reader, unsigned char letter) noexcept nogil:
    if reader.letters < MAX_WORD:
        reader.word[reader.letters] = lower(letter)
    reader.letters += 1


cdef inline unsigned char _escaped(Reader *reader) noexcept nogil:
    """Read the escape after a backslash; return the character that it stands for, NOT_ASCII for any other."""
    cdef uint32_t character = 0
    cdef int digits = 0
    while digits < MAX_ESCAPE and reader.position < reader.length and hexadecimal(reader.data[reader.position]) >= 0:
        character = 16 * character + hexadecimal(reader.data[reader.position])
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


cdef inline bint _is_escape(Reader *reader, size_t position) noexcept nogil:
    """Return True if a backslash stands at a position, and no line break after it."""
    if reader.data[position] != c"\\":
        return False
    return position + 1 == reader.length or not _is_line_break(reader.data[position + 1])


cdef inline bint _is_of_word(unsigned char letter) noexcept nogil:
    return is_letter(letter) or is_digit(letter) or letter == c"-" or letter == c"_" or letter >= NOT_ASCII


cdef inline bint _is_line_break(unsigned char letter) noexcept nogil:
    return letter == c"\n" or letter == c"\r" or letter == c"\f"


cdef inline bint _is_space(unsigned char letter) noexcept nogil:
    return letter == c" " or letter == c"\t" or _is_line_break(letter)


cdef inline bint _stands(Reader *reader, const char *text, size_t length) noexcept nogil:
    """Return True if a text is next."""
    return reader.length - reader.position >= length and not memcmp(reader.data + reader.position, text, length)
