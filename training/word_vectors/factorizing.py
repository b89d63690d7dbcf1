"""Word vectors from counts of neighbours, by singular value decomposition (Levy and Goldberg, 2014)."""

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import svds

_SMOOTHING = 0.75
"""The power of the counts of a neighbour: rare ones are less surprising so."""


def information(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    """The positive pointwise mutual information of words and their neighbours, shape [V, V]."""
    found = counts.tocoo()
    of_words = np.asarray(counts.sum(axis=1)).ravel()
    of_neighbours = np.asarray(counts.sum(axis=0)).ravel() ** _SMOOTHING
    expected = of_words[found.row] * of_neighbours[found.col] / of_neighbours.sum()
    values = np.maximum(np.log(found.data / expected), 0)
    return sparse.csr_matrix((values, (found.row, found.col)), counts.shape)


def vectors(counts: sparse.csr_matrix, dimensions: int) -> npt.NDArray[np.int8]:
    """Vectors of length 1, in steps of 1/127, shape [V, dimensions]; 0 for a word without neighbours."""
    start = np.ones(min(counts.shape)) / np.sqrt(min(counts.shape))
    left, sizes, _ = svds(information(counts), dimensions, v0=start)
    found = left * np.sqrt(sizes)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    quantised: npt.NDArray[np.int8] = np.rint(127 * found / np.maximum(lengths, 1e-9)).astype(np.int8)
    return quantised
