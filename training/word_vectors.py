"""Word vectors of pages: positive pointwise mutual information of neighbours, in a few dimensions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import ArpackError, svds

from dehusk.inference.encoding.tokens import OF_TAG
from dehusk.inference.labelers.grf.word_vectors import WordVectors
from dehusk.inference.native.hashing import fingerprints, hash_words
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken
from dehusk.training.arrays import Integers
from dehusk.training.pages.gold import GoldPage, each_labeled, read_gold
from dehusk.training.runs import report_broken, written_whole

_SMOOTHING = 0.75
"""Power of the counts of a neighbour: rare ones are less surprising so."""
Tokens = npt.NDArray[np.uint32]
_PAGES_AT_ONCE = 256
"""Pages that are counted before their counts are added: adding takes time, and remembering takes memory."""
WINDOW = 5
"""Largest distance of neighbours, in words."""


def information(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return the positive pointwise mutual information of words and their neighbours, shape [V, V]."""
    found = counts.tocoo()
    of_words = np.asarray(counts.sum(axis=1)).ravel()
    of_neighbours = np.asarray(counts.sum(axis=0)).ravel() ** _SMOOTHING
    expected = of_words[found.row] * of_neighbours[found.col] / of_neighbours.sum()
    values = np.maximum(np.log(found.data / expected), 0)
    return sparse.csr_matrix((values, (found.row, found.col)), counts.shape)


def vectors(counts: sparse.csr_matrix, dimensions: int) -> npt.NDArray[np.int8]:
    """Return vectors of length 1 in steps of 1/127, [V, dimensions]; 0 for a word without neighbours.

    Raises:
        ConfigurationError: the words are too few, or have too few neighbours.
    """
    start = np.ones(min(counts.shape)) / np.sqrt(min(counts.shape))
    try:
        left, sizes, _ = svds(information(counts), dimensions, v0=start)
    except (ArpackError, ValueError) as error:
        raise ConfigurationError(
            f"no vectors of {dimensions} numbers can be made from the neighbours of {len(start)} words: name "
            "files with more text, more --words or fewer --dimensions"
        ) from error
    found = left * np.sqrt(sizes)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    quantised: npt.NDArray[np.int8] = np.rint(127 * found / np.maximum(lengths, 1e-9)).astype(np.int8)
    return quantised


@dataclass(frozen=True, slots=True, eq=False)
class PageWords:
    """The W words of a page of T blocks, one block after the other."""

    site: str
    tokens: Tokens
    """Shape [W]."""
    blocks: Integers
    """Shape [W]: the block of each word, rising."""
    texts: npt.NDArray[np.uint64]
    """Shape [T]: the fingerprint of each block's text."""

    def without(self, seen: set[int]) -> "PageWords":
        """Return the words of blocks whose texts were not seen before, and mark these as seen."""
        texts, first = np.unique(self.texts, return_index=True)
        is_new = np.zeros(len(self.texts), np.bool_)
        is_new[first] = [text not in seen for text in texts.tolist()]
        seen.update(texts.tolist())
        kept = is_new[self.blocks]
        return PageWords(self.site, self.tokens[kept], self.blocks[kept], self.texts)


def words_of(page: GoldPage) -> PageWords:
    """Return the words of a page."""
    texts = segment(page.utf8).texts
    words, counts = hash_words(texts)
    return PageWords(
        page.site, words & ~np.uint32(OF_TAG), np.repeat(np.arange(len(texts)), counts), fingerprints(texts)
    )


def each_text_once(pages: Iterable[PageWords]) -> list[PageWords]:
    """Drop from each page what was on an earlier page of the same site, such as its menu."""
    seen: dict[str, set[int]] = {}
    return [page.without(seen.setdefault(page.site, set())) for page in pages]


def vocabulary(pages: Sequence[PageWords], size: int) -> Tokens:
    """Return the tokens of the words that stand on most pages, rising."""
    of_pages = [np.empty(0, np.uint32), *(np.unique(page.tokens) for page in pages)]
    tokens, counts = np.unique(np.concatenate(of_pages), return_counts=True)
    return np.sort(tokens[np.argsort(-counts, kind="stable")[:size]])


def cooccurrences(pages: Sequence[PageWords], tokens: Tokens, window: int) -> sparse.csr_matrix:
    """Count the pairs of words in one block at most `window` words apart, shape [V, V], symmetric."""
    shape = (len(tokens), len(tokens))
    found = sparse.csr_matrix(shape)
    for first in range(0, len(pages), _PAGES_AT_ONCE):
        parts = [_neighbours(page, tokens, window) for page in pages[first : first + _PAGES_AT_ONCE]]
        pairs = np.concatenate(parts, axis=1)
        found += sparse.csr_matrix((np.ones(pairs.shape[1]), (pairs[0], pairs[1])), shape)
    return found + found.T


def _neighbours(page: PageWords, tokens: Tokens, window: int) -> Integers:
    """Return the places among `tokens` of each two known words that stand so near, shape [2, pairs]."""
    places = np.searchsorted(tokens, page.tokens)
    places[places == len(tokens)] = 0
    known = tokens[places] == page.tokens
    pairs = []
    for distance in range(1, window + 1):
        near = (page.blocks[:-distance] == page.blocks[distance:]) & known[:-distance] & known[distance:]
        pairs.append([places[:-distance][near], places[distance:][near]])
    return np.concatenate(pairs, axis=1)


def make(files: Sequence[Path], output: Path, *, words: int, dimensions: int, processes: int) -> None:
    """Write the vectors of the words that stand on most pages of the files."""
    broken: list[Broken] = []
    pages = each_text_once(each_labeled(read_gold(files), words_of, processes, broken))
    report_broken(broken)
    tokens = vocabulary(pages, words)
    found = WordVectors(tokens, vectors(cooccurrences(pages, tokens, WINDOW), dimensions))
    with written_whole(output) as target:
        found.write(target)
    click.echo(f"{output}: {len(tokens)} words of {len(pages)} pages, {output.stat().st_size:,} bytes")
