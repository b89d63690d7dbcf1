"""The tags and words that the network knows, most frequent first, and their hash table."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.inference.tokens import OF_TAG, tag_token, tokens, word_token
from dehusk.schemas.pages import SegmentedPage

UNKNOWN_WORD_ROW = 0
"""The embedding row of every word and punctuation character that is not in the vocabulary."""
UNKNOWN_TAG_ROW = 1
"""The embedding row of every tag that is not in the vocabulary."""
_UNKNOWN_ROWS = 2
SMALLEST_TABLE = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class HashTable:
    """A table without collisions: token modulo length is the slot of a token."""

    ids: npt.NDArray[np.uint32]
    """The token that each slot holds; 0 in an empty slot."""
    rows: npt.NDArray[np.uint16]
    """The embedding row of each slot's token; the row of unknown words in an empty slot."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the network knows: the first two rows are for all other words and tags, then tags, then words."""

    tags: tuple[str, ...]
    words: tuple[str, ...]
    """Words and punctuation."""

    def __len__(self) -> int:
        return _UNKNOWN_ROWS + len(self.tags) + len(self.words)

    def ids(self) -> npt.NDArray[np.uint32]:
        """The tokens in the order of their rows, those of unknown ones left out."""
        return np.array([*map(tag_token, self.tags), *map(word_token, self.words)], np.uint32)

    def rows(self, ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
        """The embedding row of each token."""
        known = self.ids()
        order = np.argsort(known)
        place = np.minimum(np.searchsorted(known, ids, sorter=order), len(known) - 1)
        unknown = np.where(ids < OF_TAG, UNKNOWN_WORD_ROW, UNKNOWN_TAG_ROW)
        return np.where(known[order[place]] == ids, order[place] + _UNKNOWN_ROWS, unknown)

    def hash_table(self) -> HashTable:
        """The smallest table of at least SMALLEST_TABLE slots in which no two tokens meet.

        Raises:
            ValueError: two tokens have the same id, so that no table keeps them apart.
        """
        ids = self.ids()
        if len(np.unique(ids)) < len(ids):
            raise ValueError("two tokens of the vocabulary have the same hash")
        slots = SMALLEST_TABLE
        while len(np.unique(ids % slots)) < len(ids):
            slots += 1
        table = HashTable(np.zeros(slots, np.uint32), np.full(slots, UNKNOWN_WORD_ROW, np.uint16))
        table.ids[ids % slots] = ids
        table.rows[ids % slots] = np.arange(_UNKNOWN_ROWS, len(self))
        return table


def most_frequent(pages: Iterable[SegmentedPage], tag_limit: int, word_limit: int) -> Vocabulary:
    """The most frequent tags and words of the pages; ties in alphabetical order."""
    tag_counts: Counter[str] = Counter()
    word_counts: Counter[str] = Counter()
    for page in pages:
        for text, path in zip(page.texts, page.paths, strict=True):
            tag_counts.update(path.split("/"))
            word_counts.update(tokens(text))
    return Vocabulary(_top(tag_counts, tag_limit), _top(word_counts, word_limit))


def _top(counts: Counter[str], size: int) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda token: (-counts[token], token))[:size])
