"""What stands in what in the tree of a document."""

import numpy as np
import numpy.typing as npt

from dehusk.schemas.tree import DocumentTree

Bools = npt.NDArray[np.bool_]


def with_tag(tree: DocumentTree, tags: frozenset[str]) -> Bools:
    """Which elements have one of some tags, shape [E]."""
    return np.fromiter(map(tags.__contains__, tree.tags), np.bool_, len(tree.tags))


def subtree_ends(tree: DocumentTree) -> npt.NDArray[np.intp]:
    """Behind the last element within each, shape [E]: those in element `e` are `e + 1` up to there."""
    return np.searchsorted(tree.begins, tree.ends)


def within(tree: DocumentTree, chosen: Bools) -> Bools:
    """Which elements are chosen or stand in a chosen one, shape [E]."""
    roots = np.flatnonzero(chosen)
    edges = np.zeros(len(chosen) + 1, np.int32)
    edges[roots] += 1
    np.subtract.at(edges, subtree_ends(tree)[roots], 1)
    covered: Bools = np.cumsum(edges[:-1]) > 0
    return covered


def around(tree: DocumentTree, chosen: Bools) -> Bools:
    """Which elements are chosen or hold a chosen one, shape [E]."""
    before = np.concatenate(([0], np.cumsum(chosen)))
    return before[subtree_ends(tree)] > before[:-1]
