"""Ancestors and descendants in the tree of a document."""

import numpy as np
import numpy.typing as npt

from dehusk.inference.native.wrapping import visible_lengths
from dehusk.schemas.markup import DocumentTree

Bools = npt.NDArray[np.bool_]


def with_tag(tree: DocumentTree, tags: frozenset[str]) -> Bools:
    """Return True for elements of certain tags, shape [E]."""
    return np.fromiter(map(tags.__contains__, tree.tags), np.bool_, len(tree.tags))


def subtree_ends(tree: DocumentTree) -> npt.NDArray[np.intp]:
    """Return the index one past the last descendant of each element, shape [E].

    The elements within element `e` are `e + 1` up to there.
    """
    return np.searchsorted(tree.begins, tree.ends)


def within(tree: DocumentTree, chosen: Bools) -> Bools:
    """Return True for chosen elements and those within one, shape [E]."""
    roots = np.flatnonzero(chosen)
    edges = np.zeros(len(chosen) + 1, np.int32)
    edges[roots] += 1
    np.subtract.at(edges, subtree_ends(tree)[roots], 1)
    covered: Bools = np.cumsum(edges[:-1]) > 0
    return covered


def holding(tree: DocumentTree, chosen: Bools) -> Bools:
    """Return True for chosen elements and those that hold one, shape [E]."""
    before = np.concatenate(([0], np.cumsum(chosen)))
    return before[subtree_ends(tree)] > before[:-1]


def block_shares(tree: DocumentTree, contents: npt.NDArray[np.bool_], blocks: int) -> npt.NDArray[np.float32]:
    """Return the content's share of each block, shape [K, blocks]; `contents` marks texts, shape [K, L].

    Shares are of characters other than white space, as some scripts have no other sign of where words end. A
    block without any text of the document, such as a formula from an attribute, has share 0.
    """
    read = np.flatnonzero(tree.blocks >= 0)
    of_block = tree.blocks[read]
    lengths = visible_lengths(tuple(map(tree.texts.__getitem__, read.tolist())))
    total = np.maximum(np.bincount(of_block, lengths, blocks), 1)
    shares = [np.bincount(of_block, lengths * content[read], blocks) / total for content in contents]
    return np.array(shares, np.float32)
