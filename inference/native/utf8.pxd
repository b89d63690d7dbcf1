"""Characters of UTF-8 that may be malformed: never read beyond its end."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memchr, memcpy, memmove

from dehusk.inference.native.unicode cimport Py_UNICODE_ISSPACE


cdef enum:
    DELETE = 0x7F
    SOFT_HYPHEN = 0xAD
    FIRST_JOINED = 0x590  # Hebrew, and all scripts after it
    FIRST_SPACE = 0x2000  # of those in a row, before marks of punctuation
    ZERO_WIDTH_SPACE = 0x200B
    ZWNJ = 0x200C  # joins no letters
    ZWJ = 0x200D  # joins letters
    RIGHT_TO_LEFT_MARK = 0x200F
    FIRST_EMBEDDING = 0x202A  # of text in another direction
    LAST_EMBEDDING = 0x202E
    WORD_JOINER = 0x2060
    FIRST_ISOLATE = 0x2066
    LAST_ISOLATE = 0x2069  # of text in another direction
    LAST_MARK = 0x206F  # of punctuation
    FIRST_ICON = 0xE000  # characters for private use, which fonts draw as icons
    LAST_ICON = 0xF8FF
    FIRST_FURTHER_ICON = 0xF0000  # all from here on
    FIRST_NONCHARACTER = 0xFDD0
    LAST_NONCHARACTER = 0xFDEF  # of those in a row; the last two of each plane are others
    BYTE_ORDER_MARK = 0xFEFF
    REPLACEMENT = 0xFFFD


cdef inline size_t read(const unsigned char *data, size_t size, uint32_t *character) noexcept nogil:
    """Return the length in bytes of the first character; a byte that begins none is a character of its own."""
    cdef unsigned char first = data[0]
    cdef size_t length = 1, position
    character[0] = first
    if first < 0x80:
        return 1
    if first >= 0xF0:
        length, character[0] = 4, first & 0x07
    elif first >= 0xE0:
        length, character[0] = 3, first & 0x0F
    elif first >= 0xC0:
        length, character[0] = 2, first & 0x1F
    if length == 1 or length > size:
        character[0] = REPLACEMENT
        return 1
    for position in range(1, length):
        if data[position] & 0xC0 != 0x80:
            character[0] = REPLACEMENT
            return 1
        character[0] = character[0] << 6 | data[position] & 0x3F
    return length


cdef inline bint is_icon(uint32_t character) noexcept nogil:
    """Return True if a character is for private use."""
    return FIRST_ICON <= character <= LAST_ICON or character >= FIRST_FURTHER_ICON


cdef inline bint is_invisible(uint32_t character) noexcept nogil:
    """Return True if a character shows nothing, or nothing known without its font, and is no white space.

    Those that join letters or keep them apart are not meant: words are spelled with them. Controls are, and what
    Unicode calls no character.
    """
    if character < ZERO_WIDTH_SPACE:
        return character == SOFT_HYPHEN or is_control(character)
    if character <= RIGHT_TO_LEFT_MARK:
        return character != ZWNJ and character != ZWJ
    if character <= LAST_ISOLATE:
        return (
            FIRST_EMBEDDING <= character <= LAST_EMBEDDING
            or character == WORD_JOINER
            or character >= FIRST_ISOLATE
        )
    return (
        is_icon(character)
        or FIRST_NONCHARACTER <= character <= LAST_NONCHARACTER
        or character == BYTE_ORDER_MARK
        or character & 0xFFFE == 0xFFFE
    )


cdef inline bint is_joiner(uint32_t character) noexcept nogil:
    """Return True if a character joins letters or keeps them apart."""
    return character == ZWNJ or character == ZWJ


cdef inline bint is_idle(uint32_t before, const unsigned char *after, size_t size) noexcept nogil:
    """Return True if a joiner stands between characters that need none.

    Page builders write joiners into paragraphs that are to look empty, and leave them in others. `before` is the
    character before, or 0; `after` is what follows.
    """
    cdef uint32_t following = 0
    if size:
        read(after, size, &following)
    return not _is_joined(before) and not _is_joined(following)


cdef inline bint _is_joined(uint32_t character) noexcept nogil:
    """Return True for letters that joining changes, and for emoji."""
    return (
        character >= FIRST_JOINED
        and not FIRST_SPACE <= character <= LAST_MARK
        and character != REPLACEMENT
        and not is_invisible(character)
        and not Py_UNICODE_ISSPACE(character)
    )


cdef inline bint shows_nothing(const unsigned char *data, size_t size) noexcept nogil:
    """Return True if all characters of a text are invisible."""
    cdef size_t position = 0
    cdef uint32_t character
    while position < size:
        position += read(data + position, size - position, &character)
        if not is_invisible(character):
            return False
    return True


cdef inline bint is_control(uint32_t character) noexcept nogil:
    """Return True if a character controls a device, and is neither white space nor read as one of windows-1252."""
    if character < c" ":
        return not c"\t" <= character <= c"\r"
    return character == DELETE or is_unused(character)


cdef inline bint is_unused(uint32_t character) noexcept nogil:
    """Return True if a control character has a number that windows-1252 gives to none."""
    return character == 0x81 or character == 0x8D or character == 0x8F or character == 0x90 or character == 0x9D


cdef inline bint has_windows(const unsigned char *data, size_t size) noexcept nogil:
    """Return True if there are control characters whose numbers are those of others in windows-1252."""
    cdef size_t position = 0
    cdef const unsigned char *first = <const unsigned char *> memchr(data, 0xC2, size)
    while first != NULL:
        position = first - data + 1
        if position < size and 0x80 <= data[position] <= 0x9F:
            return True
        first = <const unsigned char *> memchr(data + position, 0xC2, size - position)
    return False


cdef inline size_t last_size(const unsigned char *data, size_t size) noexcept nogil:
    """Return the length in bytes of the last character."""
    cdef size_t length = 1
    while length < 4 and length < size and data[size - length] & 0xC0 == 0x80:
        length += 1
    return length


cdef inline uint32_t last(const unsigned char *data, size_t size) noexcept nogil:
    """Return the last character."""
    cdef size_t length = last_size(data, size)
    cdef uint32_t character
    read(data + size - length, length, &character)
    return character


cdef inline size_t leading_space(const unsigned char *data, size_t size) noexcept nogil:
    """Return the number of leading bytes of white space."""
    cdef size_t position = 0, length
    cdef uint32_t character
    while position < size and data[position] < 0x80 and Py_UNICODE_ISSPACE(data[position]):
        position += 1
    while position < size:
        length = read(data + position, size - position, &character)
        if not Py_UNICODE_ISSPACE(character):
            break
        position += length
    return position


cdef inline bint ends_in_space(const unsigned char *data, size_t size) noexcept nogil:
    """Return True if white space comes last."""
    cdef size_t last = size
    cdef uint32_t character
    while last:
        last -= 1
        if data[last] & 0xC0 != 0x80:
            read(data + last, size - last, &character)
            return Py_UNICODE_ISSPACE(character)
    return False


cdef inline size_t characters(const unsigned char *data, size_t size) noexcept nogil:
    """Count the characters that can be seen, up to the last that is no white space."""
    cdef size_t position = 0, count = 0, inked = 0
    cdef uint32_t character
    while position < size:
        position += read(data + position, size - position, &character)
        if is_invisible(character):
            continue
        count += 1
        if not Py_UNICODE_ISSPACE(character):
            inked = count
    return inked


cdef inline size_t first(const unsigned char *data, size_t size, size_t count) noexcept nogil:
    """Return the length in bytes of the first `count` characters."""
    cdef size_t position = 0
    cdef uint32_t character
    while position < size and count:
        position += read(data + position, size - position, &character)
        count -= 1
    return position


cdef inline size_t fold(unsigned char *data, size_t size) noexcept nogil:
    """Fold a text's white space and take out invisible characters, in place; return the number of bytes left."""
    cdef size_t position = 0, written = 0, length
    cdef uint32_t character
    cdef bint parted = False
    while position < size:
        length = read(data + position, size - position, &character)
        if Py_UNICODE_ISSPACE(character):
            parted = written > 0
            position += length
            continue
        if is_invisible(character):
            position += length
            continue
        if is_joiner(character) and is_idle(
            0 if parted or not written else last(data, written), data + position + length, size - position - length
        ):
            position += length
            continue
        if parted:
            data[written] = c" "
            written += 1
            parted = False
        while True:  # what follows is most often ASCII
            if length == 1:
                data[written] = data[position]
            else:
                memmove(data + written, data + position, length)
            written += length
            position += length
            while size - position >= 8:
                length = _fold_eight(data + written, data + position)
                written += length
                position += length
                if length < 7:
                    break
            if position == size or not is_mark(data[position]):
                break
            length = 1
    return written


cdef inline size_t _fold_eight(unsigned char *data, const unsigned char *text) noexcept nogil:
    """Copy what follows a word, if it is eight characters of ASCII, single spaces among them, but not a last one.

    Return their number: 0, 7 or 8.
    """
    cdef uint64_t eight, ones = 0x0101010101010101, spaces
    memcpy(&eight, text, sizeof(eight))
    spaces = ~(eight + 0x5F * ones) & 0x80 * ones
    if (eight | eight + ones | ~(eight + 0x60 * ones)) & 0x80 * ones or spaces & spaces << 8:
        return 0
    memcpy(data, &eight, sizeof(eight))
    return 8 - (spaces >> 63)


cdef inline size_t without_invisible(unsigned char *data, size_t size) noexcept nogil:
    """Take out invisible characters, in place; return the number of bytes left."""
    cdef size_t position = 0, written = 0, length
    cdef uint32_t character
    while position < size:
        length = read(data + position, size - position, &character)
        if is_invisible(character) or is_joiner(character) and is_idle(
            last(data, written) if written else 0, data + position + length, size - position - length
        ):
            position += length
            continue
        memmove(data + written, data + position, length)
        written += length
        position += length
    return written


cdef inline size_t unbroken(unsigned char *data, size_t size) noexcept nogil:
    """Take line breaks, with the white space around, out between wide characters; return the number of bytes left.

    Who writes Chinese or Japanese breaks a line anywhere, and means no space (CSS Text 3, section 4.1.3).
    """
    cdef size_t position = 0, written = 0, before, after
    cdef const unsigned char *line = <const unsigned char *> memchr(data, c"\n", size)
    while line != NULL:
        before = after = line - data
        while before > position and data[before - 1] < 0x80 and Py_UNICODE_ISSPACE(data[before - 1]):
            before -= 1
        after += leading_space(line, size - after)
        if before == position or after == size or not _are_wide(data, before, size, after):
            before = after
        memmove(data + written, data + position, before - position)
        written += before - position
        position = after
        line = <const unsigned char *> memchr(data + position, c"\n", size - position)
    if written < position:
        memmove(data + written, data + position, size - position)
    return written + size - position


cdef inline bint _are_wide(const unsigned char *data, size_t end, size_t size, size_t start) noexcept nogil:
    """Return True if the last character before an end and the one at a start are."""
    cdef uint32_t character
    if not _is_wide(last(data, end)):
        return False
    read(data + start, size - start, &character)
    return _is_wide(character)


cdef inline bint _is_wide(uint32_t character) noexcept nogil:
    """Return True if a character is one of Chinese or Japanese, a mark of punctuation or a wide form included."""
    return (
        0x2E80 <= character <= 0x312F
        or 0x3190 <= character <= 0x9FFF
        or 0xF900 <= character <= 0xFAFF
        or 0xFF01 <= character <= 0xFF60
        or 0x20000 <= character <= 0x3FFFF
    )


cdef inline bint is_mark(unsigned char byte) noexcept nogil:
    """Return True if a byte is a character of ASCII that is printed."""
    return c" " < byte < 0x7F
