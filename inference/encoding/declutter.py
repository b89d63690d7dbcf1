"""Simple HTML decluttering (2014), which prunes a document, then shakes it.

Its third step, purify, is the writing of the content: `document/html.py` writes the elements and attributes
of its list, and all text that is kept. The lists below are our own, as the article names only a few of the
original's.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.ancestry import Bools, block_shares, holding, subtree_ends, with_tag, within
from dehusk.inference.native.tokens import count_words
from dehusk.schemas.markup import DocumentTree

# ruff: noqa: SIM905 -- names read better as words than as strings

PRUNED_TAGS = frozenset(
    """
    applet aside button canvas dialog embed footer head iframe input nav noembed noframes noscript object
    option script select style svg template textarea
    """.split()
)
"""Elements that go with all they hold, `<noscript>` unless it is read."""
POISON = "comment promo popup breadcrumb cookie modal recommend related subscribe".split()
"""Parts of classes whose elements go, but for `<html>` and `<body>`, whose classes describe the page.

The first three are the paper's. The others were chosen of 24: they lose on none of WCXB, `sites` and `older`.
Those that also name adjacent content, `sidebar`, `widget` and `menu`, lose up to 5 points.
"""
BLOCK_TAGS = frozenset("article aside div dl footer form header main nav ol section ul".split())
"""Elements that shake decides on. Lists gain up to two points. Cells of tables would gain one on the old
pages of CleanEval, but lose as much or more on `sites`; paragraphs change little."""
BLESSED = "author byline headline".split()
"""Parts of classes whose elements shake keeps; the first two are the paper's."""

_WHOLE = frozenset({"html", "body"})


def declutter_shares(tree: DocumentTree, blocks: int) -> npt.NDArray[np.float32]:
    """Return the share of each block of the page that remains, shape [blocks]."""
    shares: npt.NDArray[np.float32] = block_shares(tree, remaining(tree)[np.newaxis], blocks)[0]
    return shares


def remaining(tree: DocumentTree) -> Bools:
    """Return True for texts that remain, shape [L]."""
    pruned = prune(tree)
    return ~(pruned | shake(tree, pruned))[tree.holders]


def prune(tree: DocumentTree) -> Bools:
    """Return True for elements that go by their own tag or class, or are within such, shape [E]."""
    unread = with_tag(tree, frozenset({"noscript"})) & _holds_blocks(tree)
    poisoned = _named(tree, POISON) & ~with_tag(tree, _WHOLE)
    return within(tree, (with_tag(tree, PRUNED_TAGS) & ~unread) | poisoned)


def shake(tree: DocumentTree, pruned: Bools) -> Bools:
    """Return True for elements that go for the little they hold, or are within such, shape [E].

    Pruned elements count for nothing. An element is kept by a score of 0 or more, by a blessed name, or
    because it holds a kept one. Nothing within a blessed element goes.
    """
    decides = with_tag(tree, BLOCK_TAGS) & ~pruned
    blessed = _named(tree, BLESSED) & ~pruned
    kept = holding(tree, blessed | (decides & (scores(tree, pruned) >= 0)))
    return within(tree, decides & ~kept & ~within(tree, blessed))


def scores(tree: DocumentTree, pruned: Bools) -> npt.NDArray[np.int64]:
    """Return Words - 2 * LinkWords - Tags of each element, shape [E].

    Words are those outside links, Tags all elements of the subtree. Elements that shake deletes count as
    well, so that no decision depends on another.
    """
    links = within(tree, with_tag(tree, frozenset({"a"})))[tree.holders]
    words = _words(tree, ~pruned[tree.holders])
    weights = np.where(links, -2 * words, words)
    own = np.bincount(tree.holders, weights, len(tree.tags)).astype(np.int64) - ~pruned
    before = np.concatenate(([0], np.cumsum(own)))
    totals: npt.NDArray[np.int64] = before[subtree_ends(tree)] - before[:-1]
    return totals


def _words(tree: DocumentTree, counted: Bools) -> npt.NDArray[np.int64]:
    """Return the number of words of each text, shape [L]; 0 for those that are not counted."""
    words = np.zeros(len(tree.texts), np.int64)
    words[counted] = [count_words(tree.texts[text]) for text in np.flatnonzero(counted).tolist()]
    return words


def _holds_blocks(tree: DocumentTree) -> Bools:
    """Return True for elements that hold text of the page's blocks, shape [E]."""
    read = np.zeros(len(tree.tags), np.bool_)
    read[tree.holders[tree.blocks >= 0]] = True
    return holding(tree, read)


def _named(tree: DocumentTree, names: Sequence[str]) -> Bools:
    """Return True for elements with a class that holds one of some lower-case names, shape [E]."""
    clutter = {}
    for classes in set(tree.classes):
        lower = classes.lower()
        clutter[classes] = any(name in lower for name in names)
    return np.fromiter(map(clutter.__getitem__, tree.classes), np.bool_, len(tree.classes))
