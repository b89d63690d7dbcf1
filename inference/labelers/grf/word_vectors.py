"""Word vectors by neighbours in texts, trained by `python -m training vectors`, and graphs made of them."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.tokens import OF_TAG
from dehusk.inference.labelers.grf.graph import Graph, Vectors, most_similar, undirected
from dehusk.schemas.errors import require_encoding
from dehusk.schemas.pages import EncodedPage, Encoding

VECTORS = Path(__file__).with_name("word_vectors.npz")

NEAREST = 6
"""Number of the most similar blocks to which each block has edges."""


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """V words with a vector of D dimensions each, of length 1."""

    tokens: npt.NDArray[np.uint32]
    """Shape [V]: `dehusk.inference.encoding.tokens.word_token` of each word, ascending."""
    vectors: npt.NDArray[np.int8]
    """Shape [V, D]: in steps of 1/127."""

    @classmethod
    def read(cls, file: Path | BinaryIO) -> Self:
        """Return the vectors that `write` wrote."""
        with np.load(file) as arrays:
            return cls(arrays["tokens"], arrays["vectors"])

    def write(self, file: BinaryIO) -> None:
        """Write the vectors as a compressed archive of NumPy."""
        np.savez_compressed(file, tokens=self.tokens, vectors=self.vectors)

    def means(self, page: EncodedPage) -> npt.NDArray[np.float32]:
        """Return for each block the mean vector of its known words, 0 without any, shape [T, D].

        Raises:
            NotEncodedError: the page was prepared without its tokens.
        """
        tokens = require_encoding(page.tokens, Encoding.TOKENS)
        words = tokens.ids & OF_TAG == 0
        ids = tokens.ids[words]
        blocks = np.repeat(np.arange(len(page)), tokens.block_lengths)[words]
        places = np.searchsorted(self.tokens, ids)
        known = np.append(self.tokens, OF_TAG)[places] == ids
        sums = self._sums(blocks[known], places[known], len(page))
        counts = np.maximum(np.bincount(blocks[known], minlength=len(page)), 1).astype(np.float32)
        means: npt.NDArray[np.float32] = sums / (127 * counts)[:, None]
        return means

    def _sums(
        self, blocks: npt.NDArray[np.int64], places: npt.NDArray[np.int64], count: int
    ) -> npt.NDArray[np.float32]:
        """Return the sum of the vectors of each block, shape [count, D]; `blocks` is ascending."""
        sums = np.zeros((count, self.vectors.shape[1]), np.float32)
        first = np.flatnonzero(np.diff(blocks, prepend=-1))
        if len(first):
            sums[blocks[first]] = np.add.reduceat(self.vectors[places].astype(np.float32), first, axis=0)
        return sums


@cache
def word_vectors() -> WordVectors:
    """Return the vectors that come with dehusk."""
    return WordVectors.read(VECTORS)


def mean_vectors_of(page: EncodedPage) -> npt.NDArray[np.float32]:
    """Return the mean word vector of each block, shape [T, D]."""
    return word_vectors().means(page)


def graph_by_words(means: Vectors) -> Graph:
    """Return edges to the most similar blocks, weighted by their inner product where it is positive.

    `means` are the mean word vectors of the blocks, shape [T, D].
    """
    products = (means @ means.T).astype(np.float32, copy=False)
    starts, ends = most_similar(products.copy(), NEAREST)
    return undirected(len(means), starts, ends, products[starts, ends].astype(np.float64))
