"""From labels of some blocks of a page to the probability of content of all of them."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dehusk.inference.batching import WINDOW_BLOCKS
from dehusk.inference.grf.by_features import graph_by_features
from dehusk.inference.grf.harmonic import Field, solved
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import EncodedPage

TIE = 0.5
"""The weight of a block's edge to its prior, beside edges of at most 1 to other blocks."""
UNDECIDED = 0.5


def spread(
    page: EncodedPage,
    labels: npt.NDArray[np.int8],
    prior: npt.NDArray[np.float32] | float = UNDECIDED,
) -> npt.NDArray[np.float32]:
    """The probability that each of the T blocks is content, shape [T]; of a labeled one, its label.

    `labels`, shape [T], has 1 for content, 0 for boilerplate and -1 for unknown. The farther a block is from
    all labels, the nearer it is to its prior, shape [T] or one for all: a label says little of what is not
    alike. A page of more than 2,048 blocks is taken in windows; one without labels is answered by the prior.

    Raises:
        ConfigurationError: nothing is known of the page but texts and paths.
        ValueError: the labels are of other blocks, or none of 1, 0 and -1.
    """
    _check(page, labels)
    if page.structure is None:
        raise ConfigurationError("labels do not spread on a page of which only texts and paths are known")
    known = np.broadcast_to(np.asarray(prior, np.float64), (len(page),))
    answer = np.empty(len(page), np.float32)
    for window in _windows(len(page)):
        answer[window] = _spread_window(page.structure.features[window], labels[window], known[window])
    return answer


def _spread_window(
    features: npt.NDArray[np.uint8], labels: npt.NDArray[np.int8], prior: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    if (labels < 0).all():
        return prior
    return solved(Field(graph_by_features(features), labels, prior, TIE))


def _windows(blocks: int) -> Iterator[slice]:
    return (slice(first, first + WINDOW_BLOCKS) for first in range(0, blocks, WINDOW_BLOCKS))


def _check(page: EncodedPage, labels: npt.NDArray[np.int8]) -> None:
    if labels.shape != (len(page),):
        raise ValueError(f"labels of shape {labels.shape} for {len(page)} blocks")
    if not np.isin(labels, (-1, 0, 1)).all():
        raise ValueError("a label is 1, 0, or -1 for unknown")
