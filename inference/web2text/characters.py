"""What kind each character of a text is, by its code point."""

from collections.abc import Iterable
from enum import IntFlag
from functools import cache

import numpy as np
import numpy.typing as npt

Kinds = npt.NDArray[np.uint8]
_KNOWN = 1 << 16
"""Code points from here on are of no kind: most are symbols."""
PUNCTUATION = ".,?;:!" + "。、，．？；：！" + "،؛؟۔" + "।"
"""The six marks of the paper, and those of other scripts that stand for them."""
SENTENCE_ENDS = ".?!" + "؟۔" + "।"
WIDE_SENTENCE_ENDS = "。．？！"
"""No space follows them."""


class Kind(IntFlag):
    """What a character may be."""

    WORD = 1
    """Part of a word: a letter, a digit, or what is written with them."""
    CAPITAL = 2
    DIGIT = 4
    PUNCTUATION = 8
    SENTENCE_END = 16
    WIDE_SENTENCE_END = 32


def kinds_of(text: str) -> Kinds:
    """The kinds of each character of a text, shape [characters]."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds: Kinds = _table()[np.minimum(codes, _KNOWN)]
    return kinds


@cache
def _table() -> Kinds:
    """The kinds of each code point up to `_KNOWN`, itself of none."""
    table = np.zeros(_KNOWN + 1, np.uint8)
    characters = [chr(code) for code in range(_KNOWN)]
    for kind, which in (
        (Kind.WORD, (each.isalnum() or each == "_" for each in characters)),
        (Kind.CAPITAL, (each.isupper() or each.istitle() for each in characters)),
        (Kind.DIGIT, (each.isdecimal() for each in characters)),
        (Kind.PUNCTUATION, (each in PUNCTUATION for each in characters)),
        (Kind.SENTENCE_END, (each in SENTENCE_ENDS for each in characters)),
        (Kind.WIDE_SENTENCE_END, (each in WIDE_SENTENCE_ENDS for each in characters)),
    ):
        _mark(table, kind, which)
    return table


def _mark(table: Kinds, kind: Kind, which: Iterable[bool]) -> None:
    table[:_KNOWN] |= np.fromiter(which, np.bool_, _KNOWN) * np.uint8(kind)
