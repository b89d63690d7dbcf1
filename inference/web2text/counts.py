"""What is counted in the text of each block: all that the features of blocks and nodes are made of.

Counts of a node are those of its blocks added up, so each is a column of one table.
"""

import re
from enum import IntEnum, auto
from typing import Final

import numpy as np
import numpy.typing as npt

from dehusk.inference.web2text.characters import Kind, Kinds, kinds_of
from dehusk.inference.web2text.stopwords import are_stopwords

Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_EMAIL: Final = re.compile(r"\w@\w[\w-]*\.\w")
_URL: Final = re.compile(r"\b(?:https?|ftp)://\w")
_YEAR_DIGITS = 4
_ENDS = Kind.SENTENCE_END | Kind.WIDE_SENTENCE_END


class Count(IntEnum):
    """The columns of the table."""

    @staticmethod
    def _generate_next_value_(_name: str, _start: int, count: int, _last: list[int]) -> int:
        return count

    CHARACTERS = auto()
    LINKED = auto()
    """Characters within links."""
    WORDS = auto()
    WORD_CHARACTERS = auto()
    STOPWORDS = auto()
    CAPITALS = auto()
    """Words that start with a capital letter."""
    PUNCTUATION = auto()
    DIGITS = auto()
    SENTENCES = auto()
    """At least one for each block."""
    COPYRIGHTS = auto()
    """Blocks that have the sign; as the next three, 0 or 1 for each block."""
    EMAILS = auto()
    URLS = auto()
    YEARS = auto()
    """Words of four digits."""


def count_texts(
    texts: tuple[str, ...], linked: tuple[int, ...], words: npt.NDArray[np.uint32], counts: Integers
) -> tuple[Integers, Bools, Bools]:
    """The counts of each block, shape [T, Count]; whether each ends with punctuation, with a question mark.

    `words` are the hashed words of all blocks, of which each has so many.
    """
    joined = "\n".join((*texts, ""))
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    kinds = kinds_of(joined)
    table = np.zeros((len(texts), len(Count)), np.int64)
    table[:, Count.CHARACTERS] = lengths
    table[:, Count.LINKED] = linked
    table[:, Count.STOPWORDS] = _within(are_stopwords(words), counts)
    _count_characters(kinds, lengths, table)
    _find(joined, lengths, table)
    last = kinds[np.cumsum(lengths + 1) - 2]
    asks = np.fromiter((text[-1] in "?？؟" for text in texts), np.bool_, len(texts))
    table[:, Count.SENTENCES] += (last & _ENDS) == 0
    return table, (last & Kind.PUNCTUATION) > 0, asks


def _within(marks: Bools, counts: Integers) -> Integers:
    """How many of the marks belong to each block, of which each has so many."""
    sums = np.concatenate([[0], np.cumsum(marks, dtype=np.int64)])
    ends = np.cumsum(counts)
    found: Integers = sums[ends] - sums[ends - counts]
    return found


def _count_characters(kinds: Kinds, lengths: Integers, table: Integers) -> None:
    """Write what is known by the kinds of characters; each block is followed by a line break."""
    starts = np.cumsum(lengths + 1) - lengths - 1
    is_word = (kinds & Kind.WORD) > 0
    begins = is_word & ~np.concatenate([[False], is_word[:-1]])
    is_end, is_wide = (kinds & _ENDS) > 0, (kinds & Kind.WIDE_SENTENCE_END) > 0
    is_next = np.append(is_end[1:], False)
    is_inside = np.append(is_word[1:], False) & ~is_wide
    ends_sentence = is_end & ~(is_next | is_inside)
    for column, marks in (
        (Count.WORDS, begins),
        (Count.WORD_CHARACTERS, is_word),
        (Count.CAPITALS, begins & ((kinds & Kind.CAPITAL) > 0)),
        (Count.PUNCTUATION, (kinds & Kind.PUNCTUATION) > 0),
        (Count.DIGITS, (kinds & Kind.DIGIT) > 0),
        (Count.SENTENCES, ends_sentence),
    ):
        table[:, column] = np.add.reduceat(marks, starts, dtype=np.int64)
    years = _years(kinds, is_word, begins)
    table[np.searchsorted(starts, years, side="right") - 1, Count.YEARS] = 1


def _years(kinds: Kinds, is_word: Bools, begins: Bools) -> Integers:
    """Where words of four digits begin."""
    first = np.flatnonzero(begins)
    after = np.flatnonzero(is_word & ~np.append(is_word[1:], False)) + 1
    digits = np.concatenate([[0], np.cumsum((kinds & Kind.DIGIT) > 0)])
    is_year = (after - first == _YEAR_DIGITS) & (digits[after] - digits[first] == _YEAR_DIGITS)
    years: Integers = first[is_year]
    return years


def _find(joined: str, lengths: Integers, table: Integers) -> None:
    """Write which blocks have a copyright sign, an email address, a URL."""
    ends = np.cumsum(lengths + 1)
    for column, found in (
        (Count.COPYRIGHTS, _places(joined, "©")),
        (Count.EMAILS, [match.start() for match in _EMAIL.finditer(joined)] if "@" in joined else []),
        (Count.URLS, [match.start() for match in _URL.finditer(joined)] if "://" in joined else []),
    ):
        if found:
            table[np.searchsorted(ends, found, side="right"), column] = 1


def _places(text: str, wanted: str) -> list[int]:
    """Where a string is found."""
    places: list[int] = []
    place = text.find(wanted)
    while place >= 0:
        places.append(place)
        place = text.find(wanted, place + 1)
    return places
