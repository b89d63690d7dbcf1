"""Boilerpipe (Kohlschütter, Fankhauser, Nejdl, WSDM 2010): its blocks, their statistics and both trees.

A block is the text between two tags. `<a>` does not count as one: it only marks linked words. This follows
the paper; boilerpipe's own library ignores `<b>`, `<i>`, `<em>`, `<strong>`, `<span>`, `<font>` and some
more, too.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.ancestry import Bools, block_shares, with_tag, within
from dehusk.inference.native.wrapping import are_blank, describe_blocks
from dehusk.schemas.markup import DocumentTree

Numbers = npt.NDArray[np.float64]

LINE_WIDTH = 80
"""Characters of a line, without white space at its ends."""
IGNORED = frozenset(
    "applet embed head iframe noembed noframes object option script style template".split()  # noqa: SIM905
)
"""Elements whose text is none of the page; `<noscript>` is one, too, unless it is read."""
_LINKS = frozenset({"a"})


@dataclass(frozen=True, slots=True, eq=False)
class BlockStatistics:
    """Input of the trees for the B blocks of a document; all of shape [B]."""

    words: Numbers
    """Runs between white space that have a letter or digit."""
    link_density: Numbers
    """Share of the words that are linked, even in part; 0 without words."""
    text_density: Numbers
    """Tokens per line of the text, wrapped at 80 characters; a longer token has a line of its own.

    The last of several lines is left out, as in the definition (Kohlschütter and Nejdl, CIKM 2008) and in
    boilerpipe, for it may be short whatever the text. The slides of WSDM 2010 print a short form: all tokens
    divided by all lines. Tokens are the runs between white space, also those without a letter; the library
    counts only those with one.
    """


def boilerpipe_shares(tree: DocumentTree, blocks: int) -> npt.NDArray[np.float32]:
    """Return the share of each block of the page in content blocks of the paper, shape [2, blocks].

    The first row is by number of words, the second by text density.
    """
    numbers = block_numbers(tree)
    content = np.array(classify(describe(tree, numbers)))
    of_texts = np.zeros((2, len(numbers)), np.bool_)
    of_texts[:, numbers >= 0] = content[:, numbers[numbers >= 0]]
    return block_shares(tree, of_texts, blocks)


def block_numbers(tree: DocumentTree) -> npt.NDArray[np.int32]:
    """Return the block of the paper that each text is part of, shape [L]; -1 for those that are ignored.

    Two texts are of the same block where no tag but `<a>` stands between them: then the same other element
    holds both, and none begins between them. A comment is no tag. White space alone is no block.
    """
    links = with_tag(tree, _LINKS)
    boundaries = np.stack([_outside_links(tree, links)[tree.holders], _elements_before(tree, links)])
    changes = np.any(boundaries[:, 1:] != boundaries[:, :-1], axis=0)
    runs = np.concatenate(([0], np.cumsum(changes)))[: len(tree.texts)]
    return _numbered(runs, ~_ignored(tree), ~are_blank(tree.texts))


def describe(tree: DocumentTree, numbers: npt.NDArray[np.int32]) -> BlockStatistics:
    """Return the statistics of the blocks that texts are part of, given `block_numbers`."""
    linked = within(tree, with_tag(tree, _LINKS))[tree.holders].view(np.uint8)
    blocks = int(numbers.max(initial=-1)) + 1
    words, linked_words, density = describe_blocks(tree.texts, numbers, linked, blocks, LINE_WIDTH)
    return BlockStatistics(words, linked_words / np.maximum(words, 1), density)


def classify(blocks: BlockStatistics) -> tuple[Bools, Bools]:
    """Return True for content by the number of words, and by text density, both of shape [B].

    A neighbour that is not there has no words and no links.
    """
    return (
        classify_by_words(blocks.words, blocks.link_density),
        _classify_by_density(blocks.text_density, blocks.link_density),
    )


def classify_by_words(words: Numbers, link_density: Numbers) -> Bools:
    """Return True for content by the tree "number of words and link density" (algorithm 2), shape [B]."""
    after_text = (words > 16) | (_next(words) > 15) | (_previous(words) > 4)
    after_links = (words > 40) | (_next(words) > 17)
    return _with_few_links(link_density, after_text, after_links)


def _classify_by_density(density: Numbers, link_density: Numbers) -> Bools:
    following = _next(density)
    after_text = np.where(density <= 9, (following > 10) | (_previous(density) > 4), following > 0)
    return _with_few_links(link_density, after_text, following > 11)


def _with_few_links(link_density: Numbers, after_text: Bools, after_links: Bools) -> Bools:
    """Choose between two answers by the links of the block before; no block of many links is content."""
    content: Bools = np.where(_previous(link_density) <= 0.555556, after_text, after_links)
    return content & (link_density <= 0.333333)


def _outside_links(tree: DocumentTree, links: Bools) -> npt.NDArray[np.int32]:
    """Return the innermost element that is no link and is or holds each element, shape [E]."""
    found = np.arange(len(tree.tags), dtype=np.int32)
    for link in np.flatnonzero(links).tolist():
        parent = tree.parents[link]
        found[link] = found[parent] if parent >= 0 else -1
    return found


def _elements_before(tree: DocumentTree, links: Bools) -> npt.NDArray[np.intp]:
    """Return the number of elements other than links that began before each text, shape [L]."""
    return np.searchsorted(tree.begins[~links], tree.text_begins)


def _ignored(tree: DocumentTree) -> Bools:
    """Return True for texts that are none of the page, shape [L]."""
    unread = within(tree, with_tag(tree, frozenset({"noscript"})))[tree.holders] & (tree.blocks < 0)
    return unread | within(tree, with_tag(tree, IGNORED))[tree.holders]


def _numbered(runs: npt.NDArray[np.intp], read: Bools, has_text: Bools) -> npt.NDArray[np.int32]:
    """Enumerate the runs of read texts that are more than white space, shape [L]; -1 for the others."""
    counted = np.zeros(int(runs.max(initial=-1)) + 1, np.bool_)
    counted[runs[read & has_text]] = True
    numbers = np.where(counted, np.cumsum(counted) - 1, -1).astype(np.int32)
    return np.where(read, numbers[runs], np.int32(-1))


def _previous(values: Numbers) -> Numbers:
    return np.concatenate(([0.0], values))[: len(values)]


def _next(values: Numbers) -> Numbers:
    return np.concatenate((values[1:], [0.0]))[: len(values)]
