# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The text of a block from the texts in it: one line with its white space folded, or lines that are kept."""

from libc.stdint cimport uint32_t

from dehusk.inference.native.lexbor cimport String, decoded
from dehusk.inference.native.unicode cimport Py_UNICODE_ISSPACE
from dehusk.inference.native.utf8 cimport fold, has_windows, read, without_invisible

from textwrap import dedent

cdef enum:
    NO_BREAK_SPACE = 0xA0

cdef dict WINDOWS = {number: bytes([number]).decode("cp1252", "ignore") for number in range(0x80, 0xA0)}
"""Characters that browsers take for control characters with numbers of windows-1252."""


cdef str folded(String text):
    """Return a text with its white space folded and without invisible characters; it is changed in place."""
    text.length = fold(<unsigned char *> text.data, text.length)
    return _readable(text)


cdef str kept(String text, int *indent):
    """Return a preformatted text without invisible characters, indentation, and empty lines around it.

    The indentation is that of all lines, and what the first one has beyond it, whose length is added to `indent`.
    """
    text.length = without_invisible(<unsigned char *> text.data, text.length)
    lines = _readable(text).replace("\xa0", " ")
    lines = "\n".join([line.rstrip() for line in lines.splitlines()]).strip("\n")
    if lines[:1].isspace():
        lines = dedent(lines)
        indent[0] += len(lines) - len(lines.lstrip())
    return lines.strip()


cdef int hard_spaces(String text) noexcept:
    """Return the width of the spaces before a text that are shown: those that do not break, and one after each."""
    cdef size_t position = 0, length
    cdef uint32_t character
    cdef int width = 0
    cdef bint is_hard = False
    while position < text.length:
        length = read(text.data + position, text.length - position, &character)
        if not Py_UNICODE_ISSPACE(character):
            break
        width += character == NO_BREAK_SPACE or is_hard
        is_hard = character == NO_BREAK_SPACE
        position += length
    return width


cdef int kept_spaces(String text, int width) noexcept:
    """Return the width of the spaces before a preformatted text, by those before and a white space; 0 with tabs."""
    cdef size_t position = 0
    cdef uint32_t character
    while position < text.length:
        position += read(text.data + position, text.length - position, &character)
        if character == c"\n" or character == c"\r":
            width = 0
        elif character == c" " or character == NO_BREAK_SPACE:
            width += 1
        else:
            return 0
    return width


cdef str _readable(String text):
    """Return a text with control characters replaced by those that they stand for."""
    characters = decoded(text)
    return characters.translate(WINDOWS) if has_windows(text.data, text.length) else characters
