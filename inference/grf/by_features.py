"""Edges between blocks whose features are alike: the better variant of edges."""

import numpy as np
import numpy.typing as npt

from dehusk.inference.grf.graph import Floats, Graph, Indices, Vectors, most_similar, undirected
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import EncodedPage

NEAREST = 3
"""To how many of the blocks that are most like it each block has edges, beside the blocks next to it."""
_LEAST_SCALE = 1e-3
_LEAST_WEIGHT = 1e-4
"""Of an edge between blocks that follow one another, so that every page is connected."""


def features_of(page: EncodedPage) -> npt.NDArray[np.uint8]:
    """The features of each block, shape [T, columns].

    Raises:
        ConfigurationError: only texts and paths of the page are known.
    """
    if page.structure is None:
        raise ConfigurationError("blocks have no features on a page of which only texts and paths are known")
    return page.structure.features


def graph_by_features(features: Vectors) -> Graph:
    """Edges to the most similar blocks and to the next one, each of the weight exp(-d² / 2s²).

    `features` has shape [T, columns]; d is the Euclidean distance between blocks, columns being from 0 to 1,
    and s² the mean of d² between nearest blocks.
    """
    distances = _squared_distances(features)
    starts, ends = most_similar(-distances, NEAREST)
    scale = 2 * max(float(distances[starts, ends].mean()), _LEAST_SCALE) if len(starts) else 1.0
    first = np.arange(max(len(distances) - 1, 0))
    return undirected(
        len(distances),
        np.concatenate([first, starts]),
        np.concatenate([first + 1, ends]),
        np.concatenate(
            [
                np.maximum(_weights(distances, first, first + 1, scale), _LEAST_WEIGHT),
                _weights(distances, starts, ends, scale),
            ]
        ),
    )


def _squared_distances(features: Vectors) -> npt.NDArray[np.float32]:
    vectors = features.astype(np.float32) / 255
    squares = np.einsum("ij,ij->i", vectors, vectors)
    distances = vectors @ vectors.T
    distances *= -2
    distances += squares[:, None]
    distances += squares
    return np.maximum(distances, 0, out=distances)


def _weights(distances: npt.NDArray[np.float32], starts: Indices, ends: Indices, scale: float) -> Floats:
    weights: Floats = np.exp(-distances[starts, ends].astype(np.float64) / scale)
    return weights
