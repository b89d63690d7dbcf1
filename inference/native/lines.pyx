# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The text of a block from the texts in it: one line with its white space folded, or lines that are kept."""

from inference.native cimport utf8
from inference.native.lexbor cimport String, decoded

from textwrap import dedent

cdef str BLANK = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\u200b\u2060\ufeff"


cdef str folded(String text):
    """A text with its white space folded, in place."""
    text.length = utf8.fold(<unsigned char *> text.data, text.length)
    line = decoded(text)
    # Blanks that folding leaves at the ends are not ASCII.
    if text.length and (text.data[0] >= 0x80 or text.data[text.length - 1] >= 0x80):
        return line.strip(BLANK)
    return line


cdef str kept(String text):
    """A preformatted text without what all lines begin with, and empty ones around."""
    lines = decoded(text).replace("\xad", "").replace("\xa0", " ")
    lines = "\n".join([line.rstrip() for line in lines.splitlines()]).strip("\n")
    return (dedent(lines) if lines[:1].isspace() else lines).strip(BLANK)
