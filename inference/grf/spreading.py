"""From labels of some blocks of a page to the probability of content of all of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.inference.batching import WINDOW_BLOCKS
from dehusk.inference.grf.by_features import features_of, graph_by_features
from dehusk.inference.grf.by_words import graph_by_words, mean_vectors_of
from dehusk.inference.grf.graph import Graph, Vectors
from dehusk.inference.grf.harmonic import Field, solved
from dehusk.schemas.pages import EncodedPage

UNDECIDED = 0.5
TIE = 0.1
"""The weight of a block's edge to its prior, beside edges of at most 1 to other blocks."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """What makes two blocks alike."""

    vectors: Callable[[EncodedPage], Vectors]
    """What describes each block of a page, shape [T, D]."""
    graph: Callable[[Vectors], Graph]
    """The edges between blocks that are described so."""


BY_FEATURES = Similarity(features_of, graph_by_features)
BY_WORDS = Similarity(mean_vectors_of, graph_by_words)


def spread(
    page: EncodedPage,
    labels: npt.NDArray[np.int8],
    prior: npt.NDArray[np.float32] | float = UNDECIDED,
    similarity: Similarity = BY_FEATURES,
) -> npt.NDArray[np.float32]:
    """The probability that each of the T blocks is content, shape [T]; of a labeled one, its label.

    `labels`, shape [T], has 1 for content, 0 for boilerplate and -1 for unknown. The farther a block is from
    all labels, the nearer it is to its prior, shape [T] or one for all: a label says little of what is not
    alike. A page of more than 2,048 blocks is taken in windows; one without labels is answered by the prior.

    Raises:
        ConfigurationError: blocks are compared by features, and only texts and paths of the page are known.
        ValueError: the labels are of other blocks, or none of 1, 0 and -1.
    """
    _check(page, labels)
    vectors = similarity.vectors(page)
    of_blocks = np.broadcast_to(np.asarray(prior, np.float64), (len(page),))
    answer = np.empty(len(page), np.float32)
    for window in _windows(len(page)):
        known = labels[window]
        answer[window] = of_blocks[window]
        if (known >= 0).any():
            field = Field(similarity.graph(vectors[window]), known, of_blocks[window], TIE)
            answer[window] = solved(field)
    return answer


def _windows(blocks: int) -> Iterator[slice]:
    return (slice(first, first + WINDOW_BLOCKS) for first in range(0, blocks, WINDOW_BLOCKS))


def _check(page: EncodedPage, labels: npt.NDArray[np.int8]) -> None:
    if labels.shape != (len(page),):
        raise ValueError(f"labels of shape {labels.shape} for {len(page)} blocks")
    if not np.isin(labels, (-1, 0, 1)).all():
        raise ValueError("a label is 1, 0, or -1 for unknown")
