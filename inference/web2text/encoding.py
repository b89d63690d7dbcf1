"""A page as Web2Text's model reads it: raw features of its blocks, and of each with the block before."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.inference.web2text.cdom import NONE, CollapsedDom, Integers, collapse
from dehusk.inference.web2text.columns import LEAF_CHARACTERS, Texts, text_columns
from dehusk.inference.web2text.counts import Count, count_texts
from dehusk.inference.web2text.features import ANCESTOR_COLUMNS, BLOCK_COLUMNS, DISTANCES
from dehusk.inference.web2text.nodes import leaf_tags, node_columns, node_tags, tag_numbers
from dehusk.schemas.pages import Boundary, SegmentedPage, Web2TextTensors
from dehusk.schemas.tree import DocumentTree

Floats = npt.NDArray[np.float64]

_LOG_WORDS = 3.5
_PUNCTUATION = 10
"""The largest number of marks that is told."""
_MANY = 10
_LINE_BREAK = int(Boundary.LINE | Boundary.ROW | Boundary.PARAGRAPH)


@dataclass(frozen=True, slots=True, eq=False)
class _Page:
    """What the columns are made of."""

    segmented: SegmentedPage
    tree: DocumentTree
    dom: CollapsedDom
    texts: Texts
    tags: Integers
    """Shape [E]: the number of each element's tag."""
    nodes: Floats
    """Shape [M, 20]: b29-b48 of each node."""


def encode_web2text(
    segmented: SegmentedPage,
    tree: DocumentTree,
    words: npt.NDArray[np.uint32],
    counts: npt.NDArray[np.uint32],
) -> Web2TextTensors:
    """The features of a page's blocks, given their hashed words and how many each has."""
    if not segmented.texts:
        return _tensors(np.zeros((0, len(BLOCK_COLUMNS))), np.zeros((0, len(ANCESTOR_COLUMNS))), [])
    dom = collapse(tree, len(segmented))
    texts = Texts(*count_texts(segmented.texts, segmented.linked, words, counts.astype(np.int64)))
    tags = tag_numbers(tree)
    page = _Page(segmented, tree, dom, texts, tags, node_columns(tree, dom, texts, tags))
    ancestors = common_ancestors(dom)
    return _tensors(_block_columns(page), _edge_columns(page, ancestors), _distances(dom, ancestors))


def _tensors(blocks: Floats, edges: Floats, distances: npt.ArrayLike) -> Web2TextTensors:
    return Web2TextTensors(
        blocks.astype(np.float16), edges.astype(np.float16), np.asarray(distances, np.uint8)
    )


def _block_columns(page: _Page) -> Floats:
    """The columns b1-b128, shape [T, 128]."""
    dom = page.dom
    grandparents = dom.around[dom.parents]
    return np.column_stack(
        [
            _repetition(page),
            _words(page.texts),
            text_columns(page.texts, LEAF_CHARACTERS),
            _punctuation(page.texts),
            _position(page),
            dom.parents != NONE,
            _of(page.nodes, dom.parents),
            _of(node_tags(dom, page.tags), dom.parents),
            grandparents != NONE,
            _of(page.nodes, grandparents),
            _of(page.nodes, np.zeros_like(grandparents)),
            leaf_tags(dom, page.tags),
        ]
    )


def _of(rows: Floats, owners: Integers) -> Floats:
    """The row of each owner; zeros for `NONE`."""
    found = rows[owners]
    found[owners == NONE] = 0
    return found


def _repetition(page: _Page) -> Floats:
    """The columns b1-b3: whether others have its text, and how many its path of tags and classes."""
    copies = Counter(page.segmented.texts)
    others = np.array([copies[text] for text in page.segmented.texts]) - 1
    paths = _class_paths(page.tree, page.dom.innermost)
    ratio = np.bincount(paths)[paths] / len(paths)
    return np.column_stack([others > 0, others >= _MANY, ratio])


def _class_paths(tree: DocumentTree, innermost: Integers) -> Integers:
    """A number for each leaf, equal where the elements around it have the same tags and classes."""
    numbers: dict[tuple[int, str, str], int] = {}
    paths: list[int] = []
    for parent, tag, classes in zip(tree.parents.tolist(), tree.tags, tree.classes, strict=True):
        around = paths[parent] if parent >= 0 else NONE
        paths.append(numbers.setdefault((around, tag, classes), len(numbers)))
    return np.array(paths, np.int64)[innermost]


def _words(texts: Texts) -> Floats:
    """The columns b4 and b5."""
    words = texts.counts[:, Count.WORDS]
    return np.column_stack([words > 0, np.minimum(np.log(np.maximum(words, 1)), _LOG_WORDS)])


def _punctuation(texts: Texts) -> Floats:
    """The columns b23-b25."""
    marks = texts.counts[:, Count.PUNCTUATION]
    sentences = texts.counts[:, Count.SENTENCES] > 1
    return np.column_stack([marks > 0, np.minimum(marks, _PUNCTUATION), sentences])


def _position(page: _Page) -> Floats:
    """The columns b26 and b27: where each block begins in the source of the root."""
    root = page.dom.outermost[0]
    begin, end = page.tree.begins[root], page.tree.ends[root]
    position = (page.dom.begins - begin) / max(end - begin, 1)
    return np.column_stack([position, position**2])


def common_ancestors(dom: CollapsedDom) -> Integers:
    """Shape [T]: the innermost node that holds each leaf and the one before it; `NONE` for the first."""
    ancestors = dom.parents.copy()
    ancestors[0] = NONE
    leaves = np.arange(len(ancestors))
    while (is_within := (ancestors != NONE) & (dom.first[ancestors] == leaves)).any():
        ancestors[is_within] = dom.around[ancestors[is_within]]
    return ancestors


def _distances(dom: CollapsedDom, ancestors: Integers) -> Integers:
    """Shape [T]: the hops between each leaf and the one before it, of many one more than is told apart."""
    hops = np.zeros(len(ancestors), np.int64)
    depths = dom.leaf_depths
    hops[1:] = depths[1:] + depths[:-1] - 2 * dom.depths[ancestors[1:]]
    return np.minimum(hops, DISTANCES[-1] + 1)


def _edge_columns(page: _Page, ancestors: Integers) -> Floats:
    """Whether a line breaks before each block, and the features of `ancestors`; zeros for the first block."""
    columns = np.zeros((len(ancestors), len(ANCESTOR_COLUMNS)))
    columns[1:, 0] = (np.array(page.segmented.boundaries[1:], np.int64) & _LINE_BREAK) > 0
    columns[1:, 1:] = page.nodes[ancestors[1:]]
    return columns
