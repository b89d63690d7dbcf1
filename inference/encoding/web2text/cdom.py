"""The collapsed DOM of a page (§3.1): the tree of the elements around its blocks, single children merged.

Its leaves are the blocks of the page. An element that holds one block alone is merged with it, elements that
hold the same blocks are merged with each other, and elements within the line of a block are part of it.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.ancestry import subtree_ends
from dehusk.schemas.markup import DocumentTree

Integers = npt.NDArray[np.int64]

NONE = -1
"""Parent of the root."""


@dataclass(frozen=True, slots=True, eq=False)
class CollapsedDom:
    """The T leaves and M inner nodes of a page, in document order, with the elements merged into them.

    A page of one leaf has a root, which is the document's, but no other node, and the leaf has no parent.
    """

    parents: Integers
    """Shape [T]: innermost node that holds each leaf; `NONE` if the page has one leaf."""
    innermost: Integers
    """Shape [T]: innermost element that holds each leaf as a whole."""
    begins: Integers
    """Shape [T]: position in the source at which the first text of each leaf begins."""
    node_parents: Integers
    """Shape [M]: parent of each node; `NONE` for the root, which is the first."""
    depths: Integers
    """Shape [M]: hops from the root."""
    first: Integers
    """Shape [M]: first leaf of each node."""
    after: Integers
    """Shape [M]: leaf after its last."""
    outermost: Integers
    """Shape [M]: outermost element of each node."""
    ends: Integers
    """Shape [M]: element after the last within each node."""
    of_leaves: tuple[Integers, Integers]
    """Elements, and the leaf that each is merged with."""
    of_nodes: tuple[Integers, Integers]
    """Elements, and the node that each is merged with."""

    @property
    def leaf_depths(self) -> Integers:
        """Hops from each leaf to the root, shape [T]."""
        return self.depths[self.parents] + 1


def collapse(tree: DocumentTree, blocks: int) -> CollapsedDom:
    """Return the collapsed DOM of a document of T blocks, at least one."""
    parents = tree.parents.astype(np.int64)
    after = subtree_ends(tree)
    innermost, begins = _places(tree, parents, after, blocks)
    in_order = np.sort(innermost)
    count = np.searchsorted(in_order, after) - np.searchsorted(in_order, np.arange(len(parents)))
    first = np.searchsorted(begins, tree.begins)
    number, outermost = _numbered(parents, count)
    outside = parents[outermost]
    node_parents = np.where(outside < 0, NONE, number[outside])
    alone, inner = np.flatnonzero(count == 1), np.flatnonzero(count > 1)
    return CollapsedDom(
        parents=number[_innermost_of_several(innermost, parents, count)],
        innermost=innermost,
        begins=begins,
        node_parents=node_parents,
        depths=_depths(node_parents),
        first=first[outermost],
        after=first[outermost] + count[outermost],
        outermost=outermost,
        ends=after[outermost],
        of_leaves=(alone, first[alone]),
        of_nodes=(inner, number[inner]),
    )


def _places(tree: DocumentTree, parents: Integers, after: Integers, blocks: int) -> tuple[Integers, Integers]:
    """Return the innermost element that holds each block as a whole, and the position of its first text.

    A formula may be read as the TeX that it declares: such a block is where its neighbour's text is.
    """
    read = np.flatnonzero(tree.blocks >= 0)
    if not len(read):
        return np.zeros(blocks, np.int64), np.zeros(blocks, np.int64)
    starts = np.minimum(np.searchsorted(tree.blocks[read], np.arange(blocks)), len(read) - 1)
    holders = tree.holders[read].astype(np.int64)
    element, last = np.minimum.reduceat(holders, starts), np.maximum.reduceat(holders, starts)
    while (is_outside := after[element] <= last).any():
        element = np.where(is_outside, parents[element], element)
    return element, tree.text_begins[read[starts]].astype(np.int64)


def _numbered(parents: Integers, count: Integers) -> tuple[Integers, Integers]:
    """Return each element's node, `NONE` for fewer than two leaves, and each node's outermost element."""
    is_inner = count > 1
    is_outermost = is_inner & ((parents < 0) | (count[parents] != count))
    outer = np.where(is_inner & ~is_outermost, parents, np.arange(len(parents)))
    while not np.array_equal(further := outer[outer], outer):
        outer = further
    numbers = np.where(is_outermost, np.cumsum(is_outermost) - 1, NONE)
    return numbers[outer], np.flatnonzero(is_outermost) if is_outermost.any() else np.zeros(1, np.int64)


def _innermost_of_several(innermost: Integers, parents: Integers, count: Integers) -> Integers:
    """Return the innermost element around each leaf that holds others, too; `NONE` where there is none."""
    element = innermost
    while (is_alone := (element >= 0) & (count[element] == 1)).any():
        element = np.where(is_alone, parents[element], element)
    return element


def _depths(parents: Integers) -> Integers:
    """Return the number of nodes around each; each node comes after the one around it."""
    depths: list[int] = []
    for parent in parents.tolist():
        depths.append(0 if parent == NONE else depths[parent] + 1)
    return np.array(depths, np.int64)
