"""Which blocks of a page are alike, as a sparse graph with weighted edges."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.uint8] | npt.NDArray[np.float32]
"""What describes each node, a row for each."""


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """N nodes and M directed edges; each edge is there in both directions, with the same weight."""

    nodes: int
    starts: Indices
    """Shape [M]."""
    ends: Indices
    """Shape [M]."""
    weights: Floats
    """Shape [M], positive."""

    def gather(self, values: Floats) -> Floats:
        """For each node the sum of its neighbours' values, each times the weight of the edge, shape [N]."""
        return self._summed(self.weights * values[self.ends])

    @property
    def degrees(self) -> Floats:
        """The sum of the weights of each node's edges, shape [N]."""
        return self._summed(self.weights)

    def _summed(self, of_edges: Floats) -> Floats:
        return np.bincount(self.starts, of_edges, self.nodes).astype(np.float64, copy=False)


def undirected(nodes: int, starts: Indices, ends: Indices, weights: Floats) -> Graph:
    """The graph of edges that are given in one direction or both; loops and weights up to 0 are left out.

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
    """For each node the `count` others that are most similar to it, as edges; overwrites `similarities`.

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
