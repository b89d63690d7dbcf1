"""Vectors of words by what stands beside them, trained by `python -m training vectors`."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
import numpy.typing as npt

from dehusk.inference.tokens import OF_TAG
from dehusk.schemas.pages import EncodedPage

VECTORS = Path(__file__).with_name("word_vectors.npz")


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """V words with a vector of D dimensions each, of length 1."""

    tokens: npt.NDArray[np.uint32]
    """Shape [V]: `dehusk.inference.tokens.word_token` of each word, rising."""
    vectors: npt.NDArray[np.int8]
    """Shape [V, D]: in steps of 1/127."""

    @classmethod
    def read(cls, file: Path | BinaryIO) -> Self:
        """Those that `write` wrote."""
        with np.load(file) as arrays:
            return cls(arrays["tokens"], arrays["vectors"])

    def write(self, file: BinaryIO) -> None:
        """Write them as a compressed archive of NumPy."""
        np.savez_compressed(file, tokens=self.tokens, vectors=self.vectors)

    def means(self, page: EncodedPage) -> npt.NDArray[np.float32]:
        """For each block the mean vector of its words that are known, of none 0, shape [T, D]."""
        words = (page.ids & OF_TAG) == 0
        blocks = np.repeat(np.arange(len(page)), page.block_lengths)[words]
        places = np.searchsorted(self.tokens, page.ids[words])
        known = np.append(self.tokens, OF_TAG)[places] == page.ids[words]
        sums = self._sums(blocks[known], places[known], len(page))
        counts = np.bincount(blocks[known], minlength=len(page))
        means: npt.NDArray[np.float32] = sums / (127 * np.maximum(counts, 1))[:, None].astype(np.float32)
        return means

    def _sums(
        self, blocks: npt.NDArray[np.int64], places: npt.NDArray[np.int64], count: int
    ) -> npt.NDArray[np.float32]:
        """Shape [count, D]; `blocks` is rising."""
        sums = np.zeros((count, self.vectors.shape[1]), np.float32)
        first = np.flatnonzero(np.diff(blocks, prepend=-1))
        if len(first):
            sums[blocks[first]] = np.add.reduceat(self.vectors[places].astype(np.float32), first, axis=0)
        return sums


@cache
def word_vectors() -> WordVectors:
    """Those that come with dehusk."""
    return WordVectors.read(VECTORS)
