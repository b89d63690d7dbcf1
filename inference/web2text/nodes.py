"""The features b29-b48 of the nodes of a page, and the tags of nodes and leaves."""

import numpy as np
import numpy.typing as npt

from dehusk.inference.web2text.cdom import CollapsedDom, Integers
from dehusk.inference.web2text.columns import NODE_CHARACTERS, Texts, added_up, text_columns
from dehusk.inference.web2text.counts import Count
from dehusk.inference.web2text.features import LEAF_TAGS, NODE_TAGS
from dehusk.schemas.tree import DocumentTree

Floats = npt.NDArray[np.float64]

_CONTROLS = ("input", "select", "textarea", "button")
_TAGS = list(dict.fromkeys((*NODE_TAGS, *LEAF_TAGS, *_CONTROLS)))
_NUMBERS = {tag: number for number, tag in enumerate(_TAGS)}
_IS_FORM = np.array([tag in ("form", *_CONTROLS) for tag in (*_TAGS, "")])
_OF_NODES = [_NUMBERS[tag] for tag in NODE_TAGS]
_OF_LEAVES = [_NUMBERS[tag] for tag in LEAF_TAGS]


def tag_numbers(tree: DocumentTree) -> Integers:
    """Shape [E]: the number of each element's tag, that after the last of any other."""
    other = len(_TAGS)
    return np.fromiter((_NUMBERS.get(tag, other) for tag in tree.tags), np.int64, len(tree.tags))


def leaf_tags(dom: CollapsedDom, numbers: Integers) -> Floats:
    """Whether each leaf has each of `LEAF_TAGS`, shape [T, 19]."""
    return _has_tags(dom.of_leaves, numbers, len(dom.parents))[:, _OF_LEAVES]


def node_tags(dom: CollapsedDom, numbers: Integers) -> Floats:
    """Whether each node has each of `NODE_TAGS`, shape [M, 20]."""
    return _has_tags(dom.of_nodes, numbers, len(dom.around))[:, _OF_NODES]


def _has_tags(merged: tuple[Integers, Integers], numbers: Integers, count: int) -> Floats:
    elements, owners = merged
    found = np.zeros((count, len(_TAGS) + 1))
    found[owners, numbers[elements]] = 1
    return found


def node_columns(tree: DocumentTree, dom: CollapsedDom, texts: Texts, numbers: Integers) -> Floats:
    """The columns b29-b48 of each node, shape [M, 20]."""
    of_node = added_up(texts, dom.first, dom.after)
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
    """Whether each node is, or holds, a form or a control of one."""
    sums = np.concatenate([[0], np.cumsum(_IS_FORM[numbers])])
    has_form: npt.NDArray[np.bool_] = sums[dom.ends] > sums[dom.outermost]
    return has_form
