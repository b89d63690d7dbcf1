"""The tags and words that the network knows, most frequent first, and their hash table."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inference.tokens import tag_id, word_id, words
from schemas.pages import SegmentedPage

UNKNOWN_ROW = 0
"""The embedding row of every tag and word that is not in the vocabulary."""
SMALLEST_TABLE = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class HashTable:
    """A table without collisions: id modulo length is the slot of an id."""

    ids: npt.NDArray[np.uint32]
    """The id that each slot holds; 0 in an empty slot."""
    rows: npt.NDArray[np.uint16]
    """The embedding row of each slot's id; the row of unknown tokens in an empty slot."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens of the network: row 0 is for all others, then the tags, then the words."""

    tags: tuple[str, ...]
    words: tuple[str, ...]

    def __len__(self) -> int:
        return 1 + len(self.tags) + len(self.words)

    def ids(self) -> npt.NDArray[np.uint32]:
        """The hashed tokens in the order of their rows, from row 1 on."""
        return np.array([*map(tag_id, self.tags), *map(word_id, self.words)], np.uint32)

    def rows(self, ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
        """The embedding row of each id."""
        known = self.ids()
        order = np.argsort(known)
        place = np.minimum(np.searchsorted(known, ids, sorter=order), len(known) - 1)
        return np.where(known[order[place]] == ids, order[place] + 1, UNKNOWN_ROW)

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
        table = HashTable(np.zeros(slots, np.uint32), np.full(slots, UNKNOWN_ROW, np.uint16))
        table.ids[ids % slots] = ids
        table.rows[ids % slots] = np.arange(1, len(ids) + 1)
        return table


def most_frequent(pages: Iterable[SegmentedPage], tag_limit: int, word_limit: int) -> Vocabulary:
    """The most frequent tags and words of the pages; ties in alphabetical order."""
    tag_counts: Counter[str] = Counter()
    word_counts: Counter[str] = Counter()
    for page in pages:
        for text, path in zip(page.texts, page.paths, strict=True):
            tag_counts.update(path.split("/"))
            word_counts.update(words(text))
    return Vocabulary(_top(tag_counts, tag_limit), _top(word_counts, word_limit))


def _top(counts: Counter[str], size: int) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda token: (-counts[token], token))[:size])
