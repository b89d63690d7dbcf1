"""Sparse graphs of similar blocks with weighted edges, and harmonic functions on them (Zhu et al., 2003).

Each unlabeled node of a harmonic function is the mean of its neighbours. It is also tied to a prior, which is
the answer where nothing is connected to a label.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import EncodedPage

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.uint8] | npt.NDArray[np.float32]
"""Vectors that describe nodes, a row for each."""

_TOLERANCE = 1e-7
"""Largest residual, relative to the right side of the equations."""
NEAREST = 3
"""Number of the most similar blocks to which each block has edges, beside its neighbours."""
_MIN_SCALE = 1e-3
_MIN_WEIGHT = 1e-4
"""Least weight of an edge between consecutive blocks, so that every page is connected."""


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """N nodes and M directed edges; each edge exists in both directions, with the same weight."""

    nodes: int
    starts: Indices
    """Shape [M]."""
    ends: Indices
    """Shape [M]."""
    weights: Floats
    """Shape [M], positive."""

    def gather(self, values: Floats) -> Floats:
        """Return for each node the weighted sum of its neighbours' values, shape [N]."""
        return self._summed(self.weights * values[self.ends])

    @property
    def degrees(self) -> Floats:
        """Sum of the weights of each node's edges, shape [N]."""
        return self._summed(self.weights)

    def _summed(self, of_edges: Floats) -> Floats:
        return np.bincount(self.starts, of_edges, self.nodes).astype(np.float64, copy=False)


def undirected(nodes: int, starts: Indices, ends: Indices, weights: Floats) -> Graph:
    """Return the graph of edges given in one direction or both; loops and weights up to 0 are left out.

    Of an edge that is given twice, the first weight counts.
    """
    used = (starts != ends) & (weights > 0)
    lower, upper = np.minimum(starts, ends)[used], np.maximum(starts, ends)[used]
    pairs, first = np.unique(lower * nodes + upper, return_index=True)
    lower, upper, kept = pairs // nodes, pairs % nodes, weights[used][first]
    return Graph(
        nodes,
        np.concatenate([lower, upper]),
        np.concatenate([upper, lower]),
        np.concatenate([kept, kept]),
    )


def most_similar(similarities: npt.NDArray[np.float32], count: int) -> tuple[Indices, Indices]:
    """Return edges from each node to the `count` most similar others; overwrites `similarities`.

    `similarities` has shape [N, N]. Repeated `argmax` is several times as fast as a partial sort.
    """
    nodes = len(similarities)
    every = np.arange(nodes)
    np.fill_diagonal(similarities, -np.inf)
    ends = np.empty((max(min(count, nodes - 1), 0), nodes), np.int64)
    for nearest in ends:
        nearest[:] = similarities.argmax(axis=1)
        similarities[every, nearest] = -np.inf
    return np.tile(every, len(ends)), ends.ravel()


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A graph of N nodes with the labels known."""

    graph: Graph
    labels: npt.NDArray[np.int8]
    """Shape [N]: 1, 0, or -1 for unknown."""
    prior: Floats
    """Shape [N]: attractor of unlabeled nodes, from 0 to 1."""
    tie: float
    """The weight of the edge to the prior, above 0."""

    @property
    def unknown(self) -> npt.NDArray[np.bool_]:
        """True for nodes without a label, shape [N]."""
        return self.labels < 0

    def sources(self) -> Floats:
        """Return the contributions of labels and prior to each unlabeled node, 0 for others, shape [N]."""
        given = self.graph.gather(np.where(self.unknown, 0.0, self.labels))
        return np.where(self.unknown, given + self.tie * self.prior, 0.0)


def solve(field: Field) -> Floats:
    """Return the harmonic function, shape [N], by conjugate gradients with a diagonal preconditioner."""
    unknown = field.unknown.astype(np.float64)
    diagonal = field.graph.degrees + field.tie
    values = field.prior * unknown
    residual = field.sources() - _applied(field.graph, diagonal, unknown, values)
    tolerance = _TOLERANCE * max(float(np.linalg.norm(field.sources())), field.tie)
    direction = np.zeros_like(values)
    previous = 1.0
    while np.linalg.norm(residual) > tolerance:
        scaled = residual / diagonal
        product = float(residual @ scaled)
        direction = scaled + (product / previous) * direction
        applied = _applied(field.graph, diagonal, unknown, direction)
        step = product / (direction @ applied)
        values = values + step * direction
        residual = residual - step * applied
        previous = product
    return _with_labels(field, values)


def _applied(graph: Graph, diagonal: Floats, unknown: Floats, values: Floats) -> Floats:
    """Return the left side of the equations, for values that are 0 at labeled nodes."""
    return diagonal * values - unknown * graph.gather(values)


def _with_labels(field: Field, values: Floats) -> Floats:
    return np.where(field.unknown, np.clip(values, 0.0, 1.0), field.labels)


def features_of(page: EncodedPage) -> npt.NDArray[np.uint8]:
    """Return the features of each block, shape [T, columns].

    Raises:
        ConfigurationError: only texts and paths of the page are known.
    """
    if page.structure is None:
        raise ConfigurationError("blocks have no features on a page of which only texts and paths are known")
    return page.structure.features


def graph_by_features(features: Vectors) -> Graph:
    """Return edges to the most similar blocks and to the next one, each of the weight exp(-d² / 2s²).

    `features` has shape [T, columns]; d is the Euclidean distance between blocks, columns being from 0 to 1,
    and s² the mean of d² between nearest blocks.
    """
    distances = _squared_distances(features)
    starts, ends = most_similar(-distances, NEAREST)
    scale = 2 * max(float(distances[starts, ends].mean()), _MIN_SCALE) if len(starts) else 1.0
    first = np.arange(max(len(distances) - 1, 0))
    return undirected(
        len(distances),
        np.concatenate([first, starts]),
        np.concatenate([first + 1, ends]),
        np.concatenate(
            [
                np.maximum(_weights(distances, first, first + 1, scale), _MIN_WEIGHT),
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
