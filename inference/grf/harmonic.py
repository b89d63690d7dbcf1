"""The harmonic function of a graph: each unlabeled node is the mean of its neighbours (Zhu et al., 2003).

Every unlabeled node is also tied to a prior, which is the answer where nothing is connected to a label.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.inference.grf.graph import Floats, Graph

_TOLERANCE = 1e-7
"""How large the residual may be, beside the right side of the equations."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A graph of N nodes with what is known of them."""

    graph: Graph
    labels: npt.NDArray[np.int8]
    """Shape [N]: 1, 0, or -1 where nothing is known."""
    prior: Floats
    """Shape [N]: what unlabeled nodes are drawn to, 0 to 1."""
    tie: float
    """The weight of the edge to the prior, above 0."""

    @property
    def unknown(self) -> npt.NDArray[np.bool_]:
        """Shape [N]: which nodes have no label."""
        return self.labels < 0

    def sources(self) -> Floats:
        """What labels and prior give to each unlabeled node, 0 for others, shape [N]."""
        given = self.graph.gather(np.where(self.unknown, 0.0, self.labels))
        return np.where(self.unknown, given + self.tie * self.prior, 0.0)


def solved(field: Field) -> Floats:
    """The harmonic function, shape [N], by conjugate gradients with a diagonal preconditioner."""
    unknown = field.unknown.astype(np.float64)
    diagonal = field.graph.degrees + field.tie
    values = field.prior * unknown
    residual = field.sources() - _applied(field.graph, diagonal, unknown, values)
    least = _TOLERANCE * max(float(np.linalg.norm(field.sources())), field.tie)
    direction = np.zeros_like(values)
    previous = 1.0
    while np.linalg.norm(residual) > least:
        scaled = residual / diagonal
        product = float(residual @ scaled)
        direction = scaled + (product / previous) * direction
        applied = _applied(field.graph, diagonal, unknown, direction)
        step = product / (direction @ applied)
        values = values + step * direction
        residual = residual - step * applied
        previous = product
    return _with_labels(field, values)


def iterated(field: Field, most_change: float = 1e-6) -> Floats:
    """The same by the paper's iteration: each node becomes the mean of its neighbours, until none changes."""
    diagonal = field.graph.degrees + field.tie
    values = _with_labels(field, field.prior)
    change = np.inf
    while change > most_change:
        means = (field.graph.gather(values) + field.tie * field.prior) / diagonal
        following = _with_labels(field, means)
        change = float(np.abs(following - values).max(initial=0))
        values = following
    return values


def _applied(graph: Graph, diagonal: Floats, unknown: Floats, values: Floats) -> Floats:
    """The left side of the equations, of values that are 0 at labeled nodes."""
    return diagonal * values - unknown * graph.gather(values)


def _with_labels(field: Field, values: Floats) -> Floats:
    return np.where(field.unknown, np.clip(values, 0.0, 1.0), field.labels)
