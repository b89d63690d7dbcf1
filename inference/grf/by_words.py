"""Edges between blocks of similar words, as the paper has them."""

import numpy as np
import numpy.typing as npt

from dehusk.inference.grf.graph import Graph, Vectors, most_similar, undirected
from dehusk.inference.grf.word_vectors import word_vectors
from dehusk.schemas.pages import EncodedPage

NEAREST = 6
"""To how many of the blocks that are most like it each block has edges."""


def mean_vectors_of(page: EncodedPage) -> npt.NDArray[np.float32]:
    """The mean word vector of each block, shape [T, D]."""
    return word_vectors().means(page)


def graph_by_words(means: Vectors) -> Graph:
    """Edges to the most similar blocks, with their inner product as the weight, where it is positive.

    `means` are the means of the word vectors of each block, shape [T, D].
    """
    products = (means @ means.T).astype(np.float32, copy=False)
    starts, ends = most_similar(products.copy(), NEAREST)
    return undirected(len(means), starts, ends, products[starts, ends].astype(np.float64))
