"""Edges of inline elements: two words, or one.

Authors mark up parts of words, and they part words by style alone. Which of both it is, the letters tell.
"""

from libc.stdint cimport uint32_t

from dehusk.inference.native cimport utf8
from dehusk.inference.native.ascii cimport is_digit, is_space
from dehusk.inference.native.lexbor cimport TEXT, Node, String, text_of
from dehusk.inference.native.markup cimport spells, tag_name
from dehusk.inference.native.tokens cimport writes_no_spaces
from dehusk.inference.native.unicode cimport (
    Py_UNICODE_ISALNUM, Py_UNICODE_ISALPHA, Py_UNICODE_ISDECIMAL, Py_UNICODE_ISLOWER, Py_UNICODE_ISUPPER,
)


cdef enum:  # edges of inline elements between two texts; several may meet
    START = 1
    END = 2
    LINK_START = 4
    SAME = 8  # an element that begins goes on with the one that ends

cdef enum:
    MIDDLE_DOT = 0xB7
    BULLET = 0x2022
    LEFT_GUILLEMET = 0xAB
    RIGHT_GUILLEMET = 0xBB
    LEFT_QUOTE = 0x201C
    RIGHT_QUOTE = 0x201D
    ELLIPSIS = 0x2026

cdef enum:
    MAX_ENDING = 3  # characters: word(s)
    MIN_LABEL = 4  # bytes
    MAX_HOST = 253  # bytes


cdef inline bint would_merge(String before, String text, int edges) noexcept:
    """Return True if two words, or a sentence and the next, stand together without a space."""
    cdef uint32_t last = utf8.last(before.data, before.length), first
    utf8.read(text.data, text.length, &first)
    if not Py_UNICODE_ISALNUM(last) or not Py_UNICODE_ISALNUM(first):
        return _symbol_separates(before, text, edges)
    if writes_no_spaces(last) or writes_no_spaces(first):
        return False
    if Py_UNICODE_ISDECIMAL(last) and _starts_with_ordinal(text):
        return False
    if not Py_UNICODE_ISALPHA(last) or not Py_UNICODE_ISALPHA(first) or Py_UNICODE_ISUPPER(first):
        return True
    if edges & SAME or edges == END or edges == LINK_START or (not edges & END and not Py_UNICODE_ISLOWER(first)):
        return False
    return not (_ends_in_one_letter(before) or _starts_with_one_letter(text))


cdef inline bint parts_phrases(String before, String text, Node *ended, Node *begun) noexcept:
    """Return True if an element that marks letters, as `<b>` does, is no part of the word that it stands at.

    Such is an element that `ended` or has `begun` there, if it has several words or ends in a colon. Two
    capitals that begin several words go on with the word before them: mac<b>OS devices</b>.
    """
    cdef uint32_t last = utf8.last(before.data, before.length), first, second = 0
    cdef size_t size = utf8.read(text.data, text.length, &first)
    if ended != NULL and last == c":":
        return Py_UNICODE_ISALNUM(first) and Py_UNICODE_ISALPHA(_before_last(before)) and not _is_port(before, first)
    if ended != NULL and Py_UNICODE_ISDECIMAL(first):
        return Py_UNICODE_ISLOWER(last) and _is_label(ended, before)
    if size == text.length or not Py_UNICODE_ISUPPER(first):
        return False
    utf8.read(text.data + size, text.length - size, &second)
    if not Py_UNICODE_ISLOWER(second) and not (Py_UNICODE_ISUPPER(second) and Py_UNICODE_ISLOWER(last)):
        return False
    if not (Py_UNICODE_ISLOWER(last) or Py_UNICODE_ISDECIMAL(last) or _ends_phrase(last)):
        return False
    if Py_UNICODE_ISLOWER(last) and _ends_in_one_letter(before):
        return False
    return _is_phrase(ended) or not _begins_with_two_capitals(text) and _is_phrase(begun)


cdef inline bint _begins_with_two_capitals(String text) noexcept nogil:
    return text.length > 2 and is_space(text.data[2]) and c"A" <= text.data[1] <= c"Z"


cdef inline bint _is_label(Node *element, String before) noexcept:
    """Return True for a word in bold that stands before a number and is no part of a name: <b>Pages</b>256."""
    cdef String name = tag_name(element.name), word = text_of(element.first_child)
    cdef size_t position
    if not (spells(name, b"b") or spells(name, b"strong")) or not MIN_LABEL <= word.length <= before.length:
        return False
    if element.first_child.next != NULL:
        return False
    for position in range(word.length):
        if is_digit(word.data[position]) or is_space(word.data[position]):
            return False
    return word.length == before.length or is_space(before.data[before.length - word.length - 1])


cdef inline bint _is_port(String before, uint32_t first) noexcept:
    """Return True if a number goes on with the address of a host that ends in a colon: <b>localhost:</b>8080.

    A host of no address with a scheme is localhost, or has a dot. Names of hosts are in lower case, unlike
    abbreviations of labels: Art.-Nr:
    """
    cdef size_t end = before.length - 1, start = end
    cdef bint has_dot = False
    if not Py_UNICODE_ISDECIMAL(first):
        return False
    while start and end - start <= MAX_HOST and _is_of_host(before.data[start - 1]):
        start -= 1
        has_dot |= before.data[start] == c"." and start + 1 < end and before.data[start + 1] != c"-"
    if start == end or end - start > MAX_HOST:
        return False
    if start and (before.data[start - 1] >= 0x80 or Py_UNICODE_ISALNUM(before.data[start - 1])):
        return False
    if start > 1 and before.data[start - 1] == c"/" and before.data[start - 2] == c"/":
        return True
    return has_dot or spells(String(before.data + start, end - start), b"localhost")


cdef inline bint _is_of_host(unsigned char character) noexcept nogil:
    return c"a" <= character <= c"z" or is_digit(character) or character == c"." or character == c"-" or (
        character == c"_"
    )


cdef inline bint _ends_phrase(uint32_t character) noexcept:
    if character == c"." or character == c"!" or character == c"?" or character == c")":
        return True
    return _is_currency(character)


cdef inline bint _is_phrase(Node *element) noexcept:
    """Return True if the text that an element begins with has several words, or ends in a colon."""
    cdef Node *node = element
    cdef String text
    cdef size_t position
    while node != NULL and node.type != TEXT:
        node = node.first_child
    text = text_of(node)
    while text.length and is_space(text.data[text.length - 1]) and node.next == NULL:
        text.length -= 1
    if not text.length:
        return False
    for position in range(1, text.length):
        if is_space(text.data[position]):
            return True
    return text.data[text.length - 1] == c":"


cdef inline bint _symbol_separates(String before, String text, int edges) noexcept:
    """Return True if a symbol at the edge ends what stands before it, or begins what follows."""
    cdef uint32_t last = utf8.last(before.data, before.length), first, second = 0
    cdef uint32_t before_last = _before_last(before)
    cdef size_t size = utf8.read(text.data, text.length, &first)
    if size < text.length:
        utf8.read(text.data + size, text.length - size, &second)
    if last == c"." or last == c"!" or last == c"?" or last == c":":
        return Py_UNICODE_ISUPPER(first) or (
            last == c":" and Py_UNICODE_ISALPHA(before_last) and Py_UNICODE_ISALNUM(first)
            and not _is_port(before, first)
        )
    if _is_currency(first) and Py_UNICODE_ISDECIMAL(second) and Py_UNICODE_ISALNUM(last):
        return edges & END or Py_UNICODE_ISDECIMAL(last)
    if first == c"(" and edges & START and Py_UNICODE_ISALPHA(last) and not _ends_in_one_letter(before):
        return Py_UNICODE_ISDECIMAL(second) or text.length > MAX_ENDING
    if not edges & END or edges == END:
        return False
    if Py_UNICODE_ISALNUM(last):
        return _is_separator(first) or _begins_text(first, second) and not _ends_in_one_letter(before)
    return _parts_elements(last, before_last, first, second)


cdef inline bint _parts_elements(uint32_t last, uint32_t before_last, uint32_t first, uint32_t second) noexcept:
    """Return True if a symbol at the end of an element parts it from the next one, which begins there."""
    if last == c"," and Py_UNICODE_ISDECIMAL(before_last) and Py_UNICODE_ISDECIMAL(first):
        return False
    if not Py_UNICODE_ISALNUM(first) and not _begins_text(first, second):
        return False
    return _is_separator(last) or _ends_text(last, before_last)


cdef inline uint32_t _before_last(String text) noexcept:
    """Return the character before the last one and a space before that, or 0."""
    cdef size_t rest = text.length - utf8.last_size(text.data, text.length)
    if rest and text.data[rest - 1] == c" ":
        rest -= 1
    return utf8.last(text.data, rest) if rest else 0


cdef inline bint _is_currency(uint32_t character) noexcept nogil:
    return character == c"$" or 0xA2 <= character <= 0xA5 or 0x20A0 <= character <= 0x20CF or character == 0x0E3F


cdef inline bint _is_separator(uint32_t character) noexcept nogil:
    """Return True if a symbol stands between things in a row: a vertical line, a middle dot, a bullet."""
    return character == c"|" or character == MIDDLE_DOT or character == BULLET


cdef inline bint _begins_text(uint32_t character, uint32_t after) noexcept:
    """Return True if a symbol belongs to what follows it, as brackets do, or a currency before a number."""
    if _is_currency(character):
        return Py_UNICODE_ISDECIMAL(after)
    if character < 0x80:
        return character == c"(" or character == c"[" or character == c"@" or character == c"#"
    return character == LEFT_GUILLEMET or character == LEFT_QUOTE


cdef inline bint _ends_text(uint32_t character, uint32_t before) noexcept:
    """Return True if a symbol belongs to what stands before it, as brackets do, or a currency after a number."""
    if character == c"+" or _is_currency(character):
        return Py_UNICODE_ISDECIMAL(before)
    if character < 0x80:
        return character == c")" or character == c"]" or character == c"%" or character == c";" or character == c","
    return character == RIGHT_GUILLEMET or character == RIGHT_QUOTE or character == ELLIPSIS


cdef inline bint is_price(String before, String cents) noexcept:
    """Return True if a text ends in an amount of money of which two raised digits are the cents."""
    cdef size_t end = before.length
    cdef uint32_t symbol
    if cents.length != 2 or not c"0" <= cents.data[0] <= c"9" or not c"0" <= cents.data[1] <= c"9":
        return False
    while end and (c"0" <= before.data[end - 1] <= c"9" or before.data[end - 1] == c","):
        end -= 1
    while end and before.data[end - 1] == c" ":
        end -= 1
    symbol = utf8.last(before.data, end) if end else 0
    return _is_currency(symbol)


cdef inline bint digits_meet(String before, String text, bint is_shifted) noexcept:
    """Return True if two numbers stand together as if they were one; a shifted one may have a symbol."""
    cdef uint32_t first
    cdef size_t length = utf8.read(text.data, text.length, &first)
    if is_shifted and length < text.length and (first == c"-" or first == c"+" or first == 0x2212):
        utf8.read(text.data + length, text.length - length, &first)
    return Py_UNICODE_ISDECIMAL(first) and Py_UNICODE_ISDECIMAL(utf8.last(before.data, before.length))


cdef inline bint _ends_in_one_letter(String text) noexcept:
    """Return True if the last letter stands alone, like a drop cap."""
    cdef uint32_t before
    cdef size_t length = text.length - utf8.last_size(text.data, text.length)
    if not length:
        return True
    before = utf8.last(text.data, length)
    return not _is_of_word(before)


cdef inline bint _starts_with_one_letter(String text) noexcept:
    cdef uint32_t character
    cdef size_t length = utf8.read(text.data, text.length, &character)
    if length == text.length:
        return True
    utf8.read(text.data + length, text.length - length, &character)
    return not _is_of_word(character)


cdef inline bint _starts_with_ordinal(String text) noexcept:
    """Return True if a text starts with what makes a number an ordinal: 1st, 2nd, 3rd, 4th."""
    cdef uint32_t after
    if text.length < 2 or not _ends_ordinal(text.data[0], text.data[1]):
        return False
    if text.length == 2:
        return True
    utf8.read(text.data + 2, text.length - 2, &after)
    return not _is_of_word(after)


cdef inline bint _ends_ordinal(unsigned char first, unsigned char second) noexcept nogil:
    if second == c"d":
        return first == c"n" or first == c"r"
    return first == c"s" and second == c"t" or first == c"t" and second == c"h"


cdef inline bint _is_of_word(uint32_t character) noexcept:
    return Py_UNICODE_ISALNUM(character) or character == c"'" or character == 0x2019
