"""Counts of texts, and the features made of them (b6-b22): of a block, or of all blocks of a node.

The counts of a node are the sums of those of its blocks.
"""

import re
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.tokens import word_id

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Kinds = npt.NDArray[np.uint8]

STOPWORDS = Path(__file__).with_name("stopwords.txt")
"""File with a line for each language: its code, a colon, its words."""
LEAF_CHARACTERS = 2.5, 5.5
"""Range of a block's logarithm of characters."""
NODE_CHARACTERS = 2.5, 10.0
"""Range of a node's: nearly every one has more than exp(5.5) = 245 characters."""
_WORD_LENGTH = 3.0, 15.0
_PUNCTUATION_RATIO = -4.0, -2.5
_SENTENCE_LENGTH = 2.0, 5.0
_NOTHING = 1e-9
"""Stands for a ratio of 0, whose logarithm would be infinite."""
_KNOWN = 1 << 16
"""First code point without a kind: most from here on are symbols."""
PUNCTUATION = ".,?;:!" + "。、，．？；：！" + "،؛؟۔" + "।"
"""The six marks of the paper, and their counterparts in other scripts."""
SENTENCE_ENDS = ".?!" + "؟۔" + "।"
WIDE_SENTENCE_ENDS = "。．？！"
"""Ends of sentences that no space follows."""


class Kind(IntFlag):
    """Classes of a character."""

    WORD = 1
    """A letter, a digit, or a sign that is written with them."""
    CAPITAL = 2
    DIGIT = 4
    PUNCTUATION = 8
    SENTENCE_END = 16
    WIDE_SENTENCE_END = 32


def _kinds_of(text: str) -> Kinds:
    """Return the kinds of each character of a text, shape [characters]."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds: Kinds = _table()[np.minimum(codes, _KNOWN)]
    return kinds


@cache
def _table() -> Kinds:
    """Return the kinds of each code point up to `_KNOWN`, itself of none."""
    table = np.zeros(_KNOWN + 1, np.uint8)
    characters = [chr(code) for code in range(_KNOWN)]
    for kind, belongs in (
        (Kind.WORD, str.isalnum),
        (Kind.CAPITAL, str.isupper),
        (Kind.CAPITAL, str.istitle),
        (Kind.DIGIT, str.isdecimal),
    ):
        table[:_KNOWN] |= np.fromiter(map(belongs, characters), np.bool_, _KNOWN) * np.uint8(kind)
    for kind, members in (
        (Kind.WORD, "_"),
        (Kind.PUNCTUATION, PUNCTUATION),
        (Kind.SENTENCE_END, SENTENCE_ENDS),
        (Kind.WIDE_SENTENCE_END, WIDE_SENTENCE_ENDS),
    ):
        table[[*map(ord, members)]] |= np.uint8(kind)
    return table


def read_stopwords() -> dict[str, tuple[str, ...]]:
    """Return the stopwords of each language, by its code."""
    lines = STOPWORDS.read_text(encoding="utf-8").splitlines()
    return {code: tuple(words.split()) for code, _, words in (line.partition(":") for line in lines)}


def are_stopwords(words: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Return True for hashed words that are a stopword of any language."""
    table = _hashes()
    found: npt.NDArray[np.bool_] = table[np.minimum(np.searchsorted(table, words), len(table) - 1)] == words
    return found


@cache
def _hashes() -> npt.NDArray[np.uint32]:
    words = {word_id(word) for of_language in read_stopwords().values() for word in of_language}
    return np.array(sorted(words), np.uint32)


class Count(IntEnum):
    """Columns of the counts."""

    CHARACTERS = 0
    LINKED = 1
    """Characters inside links."""
    WORDS = 2
    WORD_CHARACTERS = 3
    STOPWORDS = 4
    CAPITALS = 5
    """Words that start with a capital letter."""
    PUNCTUATION = 6
    DIGITS = 7
    SENTENCES = 8
    """Sentences; at least one for each block."""
    COPYRIGHTS = 9
    """Blocks with a copyright sign; like the next three, 0 or 1 for each block."""
    EMAILS = 10
    URLS = 11
    YEARS = 12
    """Words of four digits."""


_YEAR_DIGITS = 4
_ENDS = Kind.SENTENCE_END | Kind.WIDE_SENTENCE_END
_MARKED = (
    (Count.COPYRIGHTS, "©", re.compile("©")),
    (Count.EMAILS, "@", re.compile(r"\w@\w[\w-]*\.\w")),
    (Count.URLS, "://", re.compile(r"\b(?:https?|ftp)://\w")),
)
"""Columns with a sign and a pattern, which is searched for only if the sign occurs."""


@dataclass(frozen=True, slots=True, eq=False)
class TextCounts:
    """Counts of R texts."""

    counts: Integers
    """Shape [R, Count]."""
    ends_with_punctuation: Bools
    ends_with_question_mark: Bools


def count_texts(
    texts: tuple[str, ...], linked: tuple[int, ...], words: npt.NDArray[np.uint32], counts: Integers
) -> TextCounts:
    """Count the texts of T blocks, given the hashed words of all of them and the number of words of each."""
    joined = "\n".join((*texts, ""))
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    kinds = _kinds_of(joined)
    table = np.zeros((len(texts), len(Count)), np.int64)
    table[:, Count.CHARACTERS] = lengths
    table[:, Count.LINKED] = linked
    table[:, Count.STOPWORDS] = _within(are_stopwords(words), counts)
    _count_characters(kinds, lengths, table)
    _find(joined, lengths, table)
    last = kinds[np.cumsum(lengths + 1) - 2]
    is_question = np.fromiter((text[-1] in "?？؟" for text in texts), np.bool_, len(texts))
    table[:, Count.SENTENCES] += (last & _ENDS) == 0
    return TextCounts(table, (last & Kind.PUNCTUATION) > 0, is_question)


def _within(marks: Bools, counts: Integers) -> Integers:
    """Return the number of marks in each block, given the number of elements of each."""
    sums = np.concatenate([[0], np.cumsum(marks, dtype=np.int64)])
    ends = np.cumsum(counts)
    found: Integers = sums[ends] - sums[ends - counts]
    return found


def _count_characters(kinds: Kinds, lengths: Integers, table: Integers) -> None:
    """Write the counts that depend on the kinds of characters; a line break follows each block."""
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
    """Return the index of each word of four digits."""
    first = np.flatnonzero(begins)
    after = np.flatnonzero(is_word & ~np.append(is_word[1:], False)) + 1
    digits = np.concatenate([[0], np.cumsum((kinds & Kind.DIGIT) > 0)])
    is_year = (after - first == _YEAR_DIGITS) & (digits[after] - digits[first] == _YEAR_DIGITS)
    years: Integers = first[is_year]
    return years


def _find(joined: str, lengths: Integers, table: Integers) -> None:
    """Mark the blocks with a copyright sign, an email address or a URL."""
    ends = np.cumsum(lengths + 1)
    for column, sign, pattern in _MARKED:
        if sign in joined:
            found = [match.start() for match in pattern.finditer(joined)]
            table[np.searchsorted(ends, found, side="right"), column] = 1


def text_columns(texts: TextCounts, characters: tuple[float, float]) -> Floats:
    """Return the columns b6-b22, shape [R, 17]; the logarithm of characters is clipped to a range."""
    counts = texts.counts
    words, length = np.maximum(counts[:, Count.WORDS], 1), np.maximum(counts[:, Count.CHARACTERS], 1)
    capitals = counts[:, Count.CAPITALS] / words
    return np.stack(
        [
            np.clip(counts[:, Count.WORD_CHARACTERS] / words, *_WORD_LENGTH),
            counts[:, Count.STOPWORDS] > 0,
            np.minimum(counts[:, Count.STOPWORDS] / words, 1),
            np.clip(np.log(length), *characters),
            _clipped_logarithm(counts[:, Count.PUNCTUATION] / length, _PUNCTUATION_RATIO),
            counts[:, Count.DIGITS] > 0,
            counts[:, Count.DIGITS] / length,
            _clipped_logarithm(length / counts[:, Count.SENTENCES], _SENTENCE_LENGTH),
            texts.ends_with_punctuation,
            texts.ends_with_question_mark,
            counts[:, Count.COPYRIGHTS] > 0,
            counts[:, Count.EMAILS] > 0,
            counts[:, Count.URLS] > 0,
            counts[:, Count.YEARS] > 0,
            capitals,
            capitals**2,
            capitals**3,
        ],
        axis=1,
        dtype=np.float64,
    )


def _clipped_logarithm(values: Floats, limits: tuple[float, float]) -> Floats:
    clipped: Floats = np.clip(np.log(np.maximum(values, _NOTHING)), *limits)
    return clipped


def sum_runs(texts: TextCounts, first: Integers, after: Integers) -> TextCounts:
    """Return the counts of runs of blocks, each as one text; its end is that of its last block."""
    sums = np.zeros((len(texts.counts) + 1, len(Count)), np.int64)
    np.cumsum(texts.counts, axis=0, out=sums[1:])
    last = after - 1
    return TextCounts(
        sums[after] - sums[first], texts.ends_with_punctuation[last], texts.ends_with_question_mark[last]
    )
