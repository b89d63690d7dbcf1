"""Boilerpipe (Kohlschütter, Fankhauser, Nejdl, WSDM 2010): its blocks, their statistics and both trees.

A block is the text between two tags, of which `<a>` is none: it only tells which words are linked. So it is
in the paper; boilerpipe's own library lets `<b>`, `<i>`, `<em>`, `<strong>`, `<span>`, `<font>` and some more
pass, too.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.inference.ancestry import Bools, with_tag, within
from dehusk.inference.native.wrapping import are_blank, describe_blocks
from dehusk.inference.projection import block_shares
from dehusk.schemas.tree import DocumentTree

Numbers = npt.NDArray[np.float64]

LINE_WIDTH = 80
"""Characters of a line, white space at its ends left out."""
IGNORED = frozenset(
    "applet embed head iframe noembed noframes object option script style template".split()  # noqa: SIM905
)
"""What stands in them is no text of the page; nor is `<noscript>` where it is not read."""
_LINKS = frozenset({"a"})


@dataclass(frozen=True, slots=True, eq=False)
class BlockStatistics:
    """What the trees read of the B blocks of a document; all of shape [B]."""

    words: Numbers
    """Runs between white space that have a letter or digit."""
    link_density: Numbers
    """The share of the words that are linked, be it in part; 0 without words."""
    text_density: Numbers
    """The tokens a line of the text, wrapped at 80 characters; a longer token has a line of its own.

    Of several lines the last is left out, as in the definition (Kohlschütter and Nejdl, CIKM 2008) and in
    boilerpipe, for it may be short whatever the text. The slides of WSDM 2010 print a short form: all tokens
    divided by all lines. Tokens are the runs between white space, also those without a letter; the library
    counts only those with one.
    """


def boilerpipe_shares(tree: DocumentTree, blocks: int) -> npt.NDArray[np.float32]:
    """Of each block of the page the share in blocks of the paper that are content, shape [2, blocks].

    First by the tree of the number of words, then by that of text density.
    """
    numbers = block_numbers(tree)
    content = np.array(classify(describe(tree, numbers)))
    of_texts = np.zeros((2, len(numbers)), np.bool_)
    of_texts[:, numbers >= 0] = content[:, numbers[numbers >= 0]]
    return block_shares(tree, of_texts, blocks)


def block_numbers(tree: DocumentTree) -> npt.NDArray[np.int32]:
    """The block of the paper that each text is part of, shape [L]; -1 for those that are ignored.

    Two texts are of the same one where no tag but `<a>` stands between: then the same other element holds
    both, and none begins between them. A comment is no tag. White space alone is no block.
    """
    links = with_tag(tree, _LINKS)
    boundaries = np.stack([_outside_links(tree, links)[tree.holders], _begun(tree, links)])
    changes = np.any(boundaries[:, 1:] != boundaries[:, :-1], axis=0)
    runs = np.concatenate(([0], np.cumsum(changes)))[: len(tree.texts)]
    return _numbered(runs, ~_ignored(tree), ~are_blank(tree.texts))


def describe(tree: DocumentTree, numbers: npt.NDArray[np.int32]) -> BlockStatistics:
    """The statistics of the blocks that texts are part of, `numbers` as of `block_numbers`."""
    linked = within(tree, with_tag(tree, _LINKS))[tree.holders].view(np.uint8)
    blocks = int(numbers.max(initial=-1)) + 1
    words, linked_words, density = describe_blocks(tree.texts, numbers, linked, blocks, LINE_WIDTH)
    return BlockStatistics(words, linked_words / np.maximum(words, 1), density)


def classify(blocks: BlockStatistics) -> tuple[Bools, Bools]:
    """Which blocks are content by the number of words, and which by text density, both of shape [B].

    A neighbour that is not there has no words and no links.
    """
    few_links = blocks.link_density <= 0.333333
    after_text = _previous(blocks.link_density) <= 0.555556
    return (
        few_links & np.where(after_text, *_by_words(blocks.words)),
        few_links & np.where(after_text, *_by_density(blocks.text_density)),
    )


def _by_words(words: Numbers) -> tuple[Bools, Bools]:
    """Which blocks are content after a block of few links, and which after one of many."""
    return (
        (words > 16) | (_next(words) > 15) | (_previous(words) > 4),
        (words > 40) | (_next(words) > 17),
    )


def _by_density(density: Numbers) -> tuple[Bools, Bools]:
    """Which blocks are content after a block of few links, and which after one of many."""
    following = _next(density)
    return (
        np.where(density <= 9, (following > 10) | (_previous(density) > 4), following > 0),
        following > 11,
    )


def _outside_links(tree: DocumentTree, links: Bools) -> npt.NDArray[np.int32]:
    """The innermost element that is no link and is or holds each element, shape [E]."""
    found = np.arange(len(tree.tags), dtype=np.int32)
    for link in np.flatnonzero(links).tolist():
        parent = tree.parents[link]
        found[link] = found[parent] if parent >= 0 else -1
    return found


def _begun(tree: DocumentTree, links: Bools) -> npt.NDArray[np.intp]:
    """How many elements that are no links began before each text, shape [L]."""
    return np.searchsorted(tree.begins[~links], tree.text_begins)


def _ignored(tree: DocumentTree) -> Bools:
    """Which texts are none of the page, shape [L]."""
    unread = within(tree, with_tag(tree, frozenset({"noscript"})))[tree.holders] & (tree.blocks < 0)
    return unread | within(tree, with_tag(tree, IGNORED))[tree.holders]


def _numbered(runs: npt.NDArray[np.intp], read: Bools, says: Bools) -> npt.NDArray[np.int32]:
    """Number the runs of texts that are read and more than white space, shape [L]; -1 for the others."""
    speaking = np.zeros(int(runs.max(initial=-1)) + 1, np.bool_)
    speaking[runs[read & says]] = True
    numbers = np.where(speaking, np.cumsum(speaking) - 1, -1).astype(np.int32)
    return np.where(read, numbers[runs], np.int32(-1))


def _previous(values: Numbers) -> Numbers:
    return np.concatenate(([0.0], values))[: len(values)]


def _next(values: Numbers) -> Numbers:
    return np.concatenate((values[1:], [0.0]))[: len(values)]
