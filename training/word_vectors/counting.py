"""How often words stand beside each other in the blocks of pages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dehusk.inference.native.hashing import fingerprints, hash_words
from dehusk.inference.segmentation import segment
from dehusk.inference.tokens import OF_TAG
from dehusk.training.pages import GoldPage

Tokens = npt.NDArray[np.uint32]

_PAGES_AT_ONCE = 256
"""So many are counted before their counts are added: adding takes time, and remembering takes memory."""


@dataclass(frozen=True, slots=True, eq=False)
class PageWords:
    """The W words of a page of T blocks, one block after the other."""

    site: str
    tokens: Tokens
    """Shape [W]."""
    blocks: npt.NDArray[np.int64]
    """Shape [W]: the block of each word, rising."""
    texts: npt.NDArray[np.uint64]
    """Shape [T]: the fingerprint of each block's text."""

    def without(self, seen: set[int]) -> "PageWords":
        """The words of blocks whose texts were not seen before; these are then seen, too."""
        texts, first = np.unique(self.texts, return_index=True)
        is_new = np.zeros(len(self.texts), np.bool_)
        is_new[first] = [text not in seen for text in texts.tolist()]
        seen.update(texts.tolist())
        kept = is_new[self.blocks]
        return PageWords(self.site, self.tokens[kept], self.blocks[kept], self.texts)


def words_of(page: GoldPage) -> PageWords:
    """The words of a page.

    Raises:
        PageError: the page cannot be segmented.
    """
    texts = segment(page.html.encode("utf-8", "replace")).texts
    words, counts = hash_words(texts)
    return PageWords(
        page.site, words & ~np.uint32(OF_TAG), np.repeat(np.arange(len(texts)), counts), fingerprints(texts)
    )


def each_text_once(pages: Iterable[PageWords]) -> list[PageWords]:
    """The pages without what was on an earlier page of the same site, such as its menu."""
    seen: dict[str, set[int]] = {}
    return [page.without(seen.setdefault(page.site, set())) for page in pages]


def vocabulary(pages: Sequence[PageWords], size: int) -> Tokens:
    """The tokens of the words that stand on most pages, rising."""
    tokens, counts = np.unique(np.concatenate([np.unique(page.tokens) for page in pages]), return_counts=True)
    return np.sort(tokens[np.argsort(-counts, kind="stable")[:size]])


def cooccurrences(pages: Sequence[PageWords], tokens: Tokens, window: int) -> sparse.csr_matrix:
    """How often each two words stand in one block at most `window` words apart, shape [V, V], symmetric."""
    shape = (len(tokens), len(tokens))
    found = sparse.csr_matrix(shape)
    for first in range(0, len(pages), _PAGES_AT_ONCE):
        parts = [_neighbours(page, tokens, window) for page in pages[first : first + _PAGES_AT_ONCE]]
        pairs = np.concatenate(parts, axis=1)
        found += sparse.csr_matrix((np.ones(pairs.shape[1]), (pairs[0], pairs[1])), shape)
    return found + found.T


def _neighbours(page: PageWords, tokens: Tokens, window: int) -> npt.NDArray[np.int64]:
    """The places among `tokens` of each two known words that stand so near, shape [2, pairs]."""
    places = np.searchsorted(tokens, page.tokens)
    places[places == len(tokens)] = 0
    known = tokens[places] == page.tokens
    pairs = []
    for distance in range(1, window + 1):
        beside = (page.blocks[:-distance] == page.blocks[distance:]) & known[:-distance] & known[distance:]
        pairs.append([places[:-distance][beside], places[distance:][beside]])
    return np.concatenate(pairs, axis=1)
