"""Tags and words that the network knows, most frequent first, and their hash table."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.tokens import OF_TAG, tag_token, word_token
from dehusk.inference.native.tokens import tokens, words
from dehusk.schemas.pages import SegmentedPage
from dehusk.training.arrays import Integers

UNKNOWN_WORD_ROW = 0
"""Embedding row of every word and punctuation character that is not in the vocabulary."""
UNKNOWN_TAG_ROW = 1
"""Embedding row of every tag that is not in the vocabulary."""
_UNKNOWN_ROWS = 2
MIN_SLOTS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class HashTable:
    """A table without collisions: token modulo length is the slot of a token."""

    ids: npt.NDArray[np.uint32]
    """Token that each slot holds; 0 in an empty slot."""
    rows: npt.NDArray[np.uint16]
    """Embedding row of each slot's token; the row of unknown words in an empty slot."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Known tags and words: the first two rows are for all others, then come tags, then words."""

    tags: tuple[str, ...]
    words: tuple[str, ...]
    """Words and punctuation."""
    ignored: tuple[str, ...] = ()
    """Punctuation that is not read: it shares the last row, whose weights are zero."""
    separate_unknown: bool = True
    """True if unknown tags have a row of their own, and not that of unknown words."""

    def __len__(self) -> int:
        return _UNKNOWN_ROWS + len(self.tags) + len(self.words) + bool(self.ignored)

    @property
    def ignored_row(self) -> int | None:
        """Row of what is not read, if there is such."""
        return len(self) - 1 if self.ignored else None

    @property
    def unknown_tag_row(self) -> int:
        """Row of every tag that is not known."""
        return UNKNOWN_TAG_ROW if self.separate_unknown else UNKNOWN_WORD_ROW

    def ids(self) -> npt.NDArray[np.uint32]:
        """Return the tokens in the order of their rows, those of unknown ones left out."""
        of_words = map(word_token, (*self.words, *self.ignored))
        return np.array([*map(tag_token, self.tags), *of_words], np.uint32)

    def rows(self, ids: npt.NDArray[np.uint32]) -> Integers:
        """Return the embedding row of each token."""
        known = self.ids()
        order = np.argsort(known)
        place = np.minimum(np.searchsorted(known, ids, sorter=order), len(known) - 1)
        unknown = np.where(ids < OF_TAG, UNKNOWN_WORD_ROW, self.unknown_tag_row)
        return np.where(known[order[place]] == ids, self._known_rows()[order[place]], unknown)

    def _known_rows(self) -> Integers:
        count = len(self.tags) + len(self.words) + len(self.ignored)
        return np.minimum(np.arange(_UNKNOWN_ROWS, _UNKNOWN_ROWS + count), len(self) - 1)

    def hash_table(self) -> HashTable:
        """Return the smallest table of at least MIN_SLOTS slots in which no two tokens meet.

        Raises:
            ValueError: two tokens have the same id, so that no table keeps them apart.
        """
        ids = self.ids()
        if len(np.unique(ids)) < len(ids):
            raise ValueError("two tokens of the vocabulary have the same hash")
        slots = MIN_SLOTS
        while len(np.unique(ids % slots)) < len(ids):
            slots += 1
        table = HashTable(np.zeros(slots, np.uint32), np.full(slots, UNKNOWN_WORD_ROW, np.uint16))
        table.ids[ids % slots] = ids
        table.rows[ids % slots] = self._known_rows()
        return table


def most_frequent(
    pages: Iterable[SegmentedPage],
    tag_limit: int,
    word_limit: int,
    *,
    punctuation: bool = True,
    separate_unknown: bool = True,
) -> Vocabulary:
    """Return the most frequent tags and words of the pages; ties in alphabetical order.

    Without punctuation, all that is on the pages is ignored; what is on none of them is an unknown word.
    """
    tag_counts: Counter[str] = Counter()
    word_counts: Counter[str] = Counter()
    ignored: set[str] = set()
    for page in pages:
        for text, path in zip(page.texts, page.paths, strict=True):
            tag_counts.update(path.split("/"))
            word_counts.update(tokens(text) if punctuation else words(text))
            if not punctuation:
                ignored.update(set(tokens(text)).difference(words(text)))
    top = _top(tag_counts, tag_limit), _top(word_counts, word_limit)
    return Vocabulary(*top, tuple(sorted(ignored)), separate_unknown)


def _top(counts: Counter[str], size: int) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda token: (-counts[token], token))[:size])
