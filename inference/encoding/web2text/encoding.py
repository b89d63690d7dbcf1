"""Web2Text's input for a page: raw features of its blocks, and of each pair of consecutive blocks."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.web2text.cdom import NONE, CollapsedDom, Integers, collapse
from dehusk.inference.encoding.web2text.features import (
    ANCESTOR_COLUMNS,
    BLOCK_COLUMNS,
    DISTANCES,
    LEAF_TAGS,
    NODE_TAGS,
)
from dehusk.inference.encoding.web2text.texts import (
    LEAF_CHARACTERS,
    NODE_CHARACTERS,
    Count,
    TextCounts,
    count_texts,
    sum_runs,
    text_columns,
)
from dehusk.schemas.markup import DocumentTree
from dehusk.schemas.pages import Boundary, SegmentedPage, Web2TextTensors

Floats = npt.NDArray[np.float64]

_CONTROLS = ("input", "select", "textarea", "button")
_TAGS = list(dict.fromkeys((*NODE_TAGS, *LEAF_TAGS, *_CONTROLS)))
_NUMBERS = {tag: number for number, tag in enumerate(_TAGS)}
_IS_FORM = np.array([tag in ("form", *_CONTROLS) for tag in (*_TAGS, "")])
_OF_NODES = [_NUMBERS[tag] for tag in NODE_TAGS]
_OF_LEAVES = [_NUMBERS[tag] for tag in LEAF_TAGS]
_LOG_WORDS = 3.5
_PUNCTUATION = 10
"""Limit of punctuation marks that are counted."""
_MANY = 10
_LINE_BREAK = int(Boundary.LINE | Boundary.ROW | Boundary.PARAGRAPH)


@dataclass(frozen=True, slots=True, eq=False)
class _Page:
    """Input of the columns."""

    segmented: SegmentedPage
    tree: DocumentTree
    dom: CollapsedDom
    texts: TextCounts
    tags: Integers
    """Shape [E]: number of each element's tag."""
    nodes: Floats
    """Shape [M, 20]: b29-b48 of each node."""


def encode_web2text(
    segmented: SegmentedPage,
    tree: DocumentTree,
    words: npt.NDArray[np.uint32],
    counts: npt.NDArray[np.uint32],
) -> Web2TextTensors:
    """Return the features of a page's blocks, given their hashed words and the number of words of each."""
    if not segmented.texts:
        return _tensors(np.zeros((0, len(BLOCK_COLUMNS))), np.zeros((0, len(ANCESTOR_COLUMNS))), [])
    dom = collapse(tree, len(segmented))
    texts = count_texts(segmented.texts, segmented.linked, words, counts.astype(np.int64))
    tags = _tag_numbers(tree)
    page = _Page(segmented, tree, dom, texts, tags, _node_columns(tree, dom, texts, tags))
    ancestors = _common_ancestors(dom)
    return _tensors(_block_columns(page), _edge_columns(page, ancestors), _distances(dom, ancestors))


def _tag_numbers(tree: DocumentTree) -> Integers:
    """Return the number of each element's tag, shape [E]; all unknown tags share the last one."""
    other = len(_TAGS)
    return np.fromiter((_NUMBERS.get(tag, other) for tag in tree.tags), np.int64, len(tree.tags))


def _leaf_tags(dom: CollapsedDom, numbers: Integers) -> Floats:
    """Return 1 where a leaf has one of `LEAF_TAGS`, shape [T, 19]."""
    return _has_tags(dom.of_leaves, numbers, len(dom.parents))[:, _OF_LEAVES]


def _node_tags(dom: CollapsedDom, numbers: Integers) -> Floats:
    """Return 1 where a node has one of `NODE_TAGS`, shape [M, 20]."""
    return _has_tags(dom.of_nodes, numbers, len(dom.node_parents))[:, _OF_NODES]


def _has_tags(merged: tuple[Integers, Integers], numbers: Integers, count: int) -> Floats:
    elements, owners = merged
    found = np.zeros((count, len(_TAGS) + 1))
    found[owners, numbers[elements]] = 1
    return found


def _node_columns(tree: DocumentTree, dom: CollapsedDom, texts: TextCounts, numbers: Integers) -> Floats:
    """Return the columns b29-b48 of each node, shape [M, 20]."""
    of_node = sum_runs(texts, dom.first, dom.after)
    length = tree.ends[dom.outermost] - tree.begins[dom.outermost]
    characters = np.maximum(of_node.counts[:, Count.CHARACTERS], 1)
    return np.column_stack(
        [
            length / max(length[0], 1),
            of_node.counts[:, Count.LINKED] / characters,
            text_columns(of_node, NODE_CHARACTERS),
            _has_form(dom, numbers),
        ]
    )


def _has_form(dom: CollapsedDom, numbers: Integers) -> npt.NDArray[np.bool_]:
    """Return True for nodes that are or hold a form or a control."""
    sums = np.concatenate([[0], np.cumsum(_IS_FORM[numbers])])
    has_form: npt.NDArray[np.bool_] = sums[dom.ends] > sums[dom.outermost]
    return has_form


def _tensors(blocks: Floats, edges: Floats, distances: npt.ArrayLike) -> Web2TextTensors:
    return Web2TextTensors(
        blocks.astype(np.float16), edges.astype(np.float16), np.asarray(distances, np.uint8)
    )


def _block_columns(page: _Page) -> Floats:
    """Return the columns b1-b128, shape [T, 128]."""
    dom = page.dom
    grandparents = dom.node_parents[dom.parents]
    return np.column_stack(
        [
            _repetition(page),
            _words(page.texts),
            text_columns(page.texts, LEAF_CHARACTERS),
            _punctuation(page.texts),
            _position(page),
            dom.parents != NONE,
            _of(page.nodes, dom.parents),
            _of(_node_tags(dom, page.tags), dom.parents),
            grandparents != NONE,
            _of(page.nodes, grandparents),
            _of(page.nodes, np.zeros_like(grandparents)),
            _leaf_tags(dom, page.tags),
        ]
    )


def _of(rows: Floats, owners: Integers) -> Floats:
    """Return the row of each owner; zeros for `NONE`."""
    found = rows[owners]
    found[owners == NONE] = 0
    return found


def _repetition(page: _Page) -> Floats:
    """Return the columns b1-b3: blocks with the same text, and the share with the same class path."""
    copies = Counter(page.segmented.texts)
    others = np.array([copies[text] for text in page.segmented.texts]) - 1
    paths = _class_paths(page.tree, page.dom.innermost)
    ratio = np.bincount(paths)[paths] / len(paths)
    return np.column_stack([others > 0, others >= _MANY, ratio])


def _class_paths(tree: DocumentTree, innermost: Integers) -> Integers:
    """Return a number for each leaf, equal where the elements around it have the same tags and classes."""
    numbers: dict[tuple[int, str, str], int] = {}
    paths: list[int] = []
    for parent, tag, classes in zip(tree.parents.tolist(), tree.tags, tree.classes, strict=True):
        above = paths[parent] if parent >= 0 else NONE
        paths.append(numbers.setdefault((above, tag, classes), len(numbers)))
    return np.array(paths, np.int64)[innermost]


def _words(texts: TextCounts) -> Floats:
    """Return the columns b4 and b5."""
    words = texts.counts[:, Count.WORDS]
    return np.column_stack([words > 0, np.minimum(np.log(np.maximum(words, 1)), _LOG_WORDS)])


def _punctuation(texts: TextCounts) -> Floats:
    """Return the columns b23-b25."""
    marks = texts.counts[:, Count.PUNCTUATION]
    sentences = texts.counts[:, Count.SENTENCES] > 1
    return np.column_stack([marks > 0, np.minimum(marks, _PUNCTUATION), sentences])


def _position(page: _Page) -> Floats:
    """Return the columns b26 and b27: the position of each block in the source of the root."""
    root = page.dom.outermost[0]
    begin, end = page.tree.begins[root], page.tree.ends[root]
    position = (page.dom.begins - begin) / max(end - begin, 1)
    return np.column_stack([position, position**2])


def _common_ancestors(dom: CollapsedDom) -> Integers:
    """Return the innermost node that holds each leaf and the one before, shape [T]; `NONE` for the first."""
    ancestors = dom.parents.copy()
    ancestors[0] = NONE
    leaves = np.arange(len(ancestors))
    while (is_within := (ancestors != NONE) & (dom.first[ancestors] == leaves)).any():
        ancestors[is_within] = dom.node_parents[ancestors[is_within]]
    return ancestors


def _distances(dom: CollapsedDom, ancestors: Integers) -> Integers:
    """Return the hops between each leaf and the one before it, shape [T]; all larger distances are equal."""
    hops = np.zeros(len(ancestors), np.int64)
    depths = dom.leaf_depths
    hops[1:] = depths[1:] + depths[:-1] - 2 * dom.depths[ancestors[1:]]
    return np.minimum(hops, DISTANCES[-1] + 1)


def _edge_columns(page: _Page, ancestors: Integers) -> Floats:
    """Return the line break before each block, and the features of `ancestors`; zeros for the first block."""
    columns = np.zeros((len(ancestors), len(ANCESTOR_COLUMNS)))
    columns[1:, 0] = (np.array(page.segmented.boundaries[1:], np.int64) & _LINE_BREAK) > 0
    columns[1:, 1:] = page.nodes[ancestors[1:]]
    return columns
