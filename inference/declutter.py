"""Simple HTML decluttering (2014): prune, then shake; which texts of a document are left.

Its third step, purify, is how the content is written: `dehusk.inference.html` writes the elements and
attributes of its list, and all text of what is kept. The lists below are our own, as the text names but a few
of the original's.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dehusk.inference.ancestry import Bools, around, subtree_ends, with_tag, within
from dehusk.inference.projection import block_shares
from dehusk.inference.tokens import count_words
from dehusk.schemas.tree import DocumentTree

# ruff: noqa: SIM905 -- names read better as words than as strings

PRUNED_TAGS = frozenset(
    """
    applet aside button canvas dialog embed footer head iframe input nav noembed noframes noscript object
    option script select style svg template textarea
    """.split()
)
"""What goes with all that it holds, `<noscript>` unless it is read."""
POISON = "comment promo popup breadcrumb cookie modal recommend related subscribe".split()
"""What goes where its class holds one of these, but for `<html>` and `<body>`, whose classes tell what stands
on a page.

The first three are the paper's. The others were chosen of 24: they lose on none of WCXB, `sites` and `older`.
Those that also name what stands beside them, `sidebar`, `widget` and `menu`, lose up to 5 points.
"""
BLOCK_TAGS = frozenset("article aside div dl footer form header main nav ol section ul".split())
"""Where shake decides. Lists gain up to two points. Cells of tables would gain one on the old pages of
CleanEval, but lose as much or more on `sites`; paragraphs change little."""
BLESSED = "author byline headline".split()
"""What shake keeps where its class holds one of these; the first two are the paper's."""

_WHOLE = frozenset({"html", "body"})


def declutter_shares(tree: DocumentTree, blocks: int) -> npt.NDArray[np.float32]:
    """Of each block of the page the share that is left, shape [blocks]."""
    shares: npt.NDArray[np.float32] = block_shares(tree, left(tree)[np.newaxis], blocks)[0]
    return shares


def left(tree: DocumentTree) -> Bools:
    """Which texts are left, shape [L]."""
    pruned = prune(tree)
    return ~(pruned | shake(tree, pruned))[tree.holders]


def prune(tree: DocumentTree) -> Bools:
    """Which elements go for what they themselves are, or stand in such, shape [E]."""
    unread = with_tag(tree, frozenset({"noscript"})) & _holds_blocks(tree)
    poisoned = _named(tree, POISON) & ~with_tag(tree, _WHOLE)
    return within(tree, (with_tag(tree, PRUNED_TAGS) & ~unread) | poisoned)


def shake(tree: DocumentTree, pruned: Bools) -> Bools:
    """Which elements go for how little they hold, or stand in such, shape [E].

    What is pruned counts for nothing. An element is kept by a score of 0 or more, by a blessed name, or
    because something in it is kept. What stands in a blessed element never goes.
    """
    decides = with_tag(tree, BLOCK_TAGS) & ~pruned
    blessed = _named(tree, BLESSED) & ~pruned
    kept = around(tree, blessed | (decides & (scores(tree, pruned) >= 0)))
    return within(tree, decides & ~kept & ~within(tree, blessed))


def scores(tree: DocumentTree, pruned: Bools) -> npt.NDArray[np.int64]:
    """Words - 2 * LinkWords - Tags of each element, shape [E].

    Words are those that are not linked, Tags all elements of the subtree. What shake deletes counts as well,
    so that no decision depends on another.
    """
    links = within(tree, with_tag(tree, frozenset({"a"})))[tree.holders]
    words = _words(tree, ~pruned[tree.holders])
    weights = np.where(links, -2 * words, words)
    own = np.bincount(tree.holders, weights, len(tree.tags)).astype(np.int64) - ~pruned
    before = np.concatenate(([0], np.cumsum(own)))
    totals: npt.NDArray[np.int64] = before[subtree_ends(tree)] - before[:-1]
    return totals


def _words(tree: DocumentTree, counted: Bools) -> npt.NDArray[np.int64]:
    """The words of each text, shape [L]; of those that are not counted 0."""
    words = np.zeros(len(tree.texts), np.int64)
    words[counted] = [count_words(tree.texts[text]) for text in np.flatnonzero(counted).tolist()]
    return words


def _holds_blocks(tree: DocumentTree) -> Bools:
    """Which elements hold text of the page's blocks, shape [E]."""
    read = np.zeros(len(tree.tags), np.bool_)
    read[tree.holders[tree.blocks >= 0]] = True
    return around(tree, read)


def _named(tree: DocumentTree, names: Sequence[str]) -> Bools:
    """Which elements have a class that holds one of some names, in lower case, shape [E]."""
    known = {}
    for classes in set(tree.classes):
        lower = classes.lower()
        known[classes] = any(name in lower for name in names)
    return np.fromiter(map(known.__getitem__, tree.classes), np.bool_, len(tree.classes))
