"""The second pass as part of an ONNX graph: the columns of `training.dehusk.second_pass`, and the trees."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np

from dehusk.inference.signature import ALIKE
from dehusk.training.dehusk.second_pass import (
    AROUND,
    LIKELY,
    NEIGHBOUR_COLUMNS,
    NEIGHBOURS,
    OUTSIDE,
    WORDS,
    SecondPass,
)
from dehusk.training.dehusk.token_scores import SCORES
from dehusk.training.dehusk.trainer import INPUTS
from dehusk.training.graph import TREES, Graph
from dehusk.training.ragged import Parts, numbered, summed

_SEEN = len(NEIGHBOUR_COLUMNS) + len(SCORES)
"""How many inputs of a neighbour are seen."""
_GAP = 1 + max(map(abs, (*NEIGHBOURS, *AROUND)))
"""Rows between pages where rows are shifted, more than any distance."""
_SUMS = 6
"""Columns of `_values`."""
_LAST = np.iinfo(np.int64).max
"""Where a slice that takes all the rest ends."""


def second_logits(graph: Graph, blocks: Parts, inputs: str, first: str, second: SecondPass) -> str:
    """The logit of each block, shape [blocks, 1].

    `inputs` are its features as numbers up to 255 and its token scores; `first` are the probabilities of
    the first pass, of content and of comments; both have a row for each block, as every tensor here has.
    """
    both = graph.add("Round", graph.add("Mul", first, graph.constant(255, np.float32)))
    answers, comments = graph.split(both, 1, 1)
    columns = [
        inputs,
        _around(graph, blocks, _seen(graph, inputs), answers),
        *_of_alike(graph, blocks, answers, _words(graph, inputs)),
        comments,
    ]
    whole = graph.add("Concat", *columns, axis=1)
    return graph.add("TreeEnsembleRegressor", whole, domain=TREES, **_trees(second.booster))


def _words(graph: Graph, inputs: str) -> str:
    """About how many words each block has, float64: [blocks, 1]."""
    rounded = graph.add("Reshape", _columns(graph, inputs, 0, 1), graph.constant([-1]))
    return graph.upright(graph.at(graph.constant(WORDS, np.float64), graph.integers(rounded)))


def _seen(graph: Graph, inputs: str) -> str:
    """What is seen of a neighbour, shape [blocks, _SEEN]."""
    places = np.array([*NEIGHBOUR_COLUMNS, *range(INPUTS - len(SCORES), INPUTS)])
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    return graph.add("Concat", *(_columns(graph, inputs, run[0], run[-1] + 1) for run in runs), axis=1)


def _around(graph: Graph, blocks: Parts, seen: str, answers: str) -> str:
    """What is seen of each block's neighbours, its answer, and the answers around it, side by side.

    Pages are laid out one after the other with _GAP rows of OUTSIDE around each.
    """
    row = graph.add("Add", numbered(graph, blocks), graph.add("Mul", blocks.page, graph.constant(_GAP)))
    place = graph.upright(graph.add("Add", row, graph.constant(_GAP)))
    gaps = graph.add("Mul", graph.add("Shape", blocks.counts), graph.constant([_GAP]))
    rows = graph.add("Add", graph.add("Add", blocks.total, gaps), graph.constant([_GAP]))
    shape = graph.add("Concat", rows, graph.constant([_SEEN + 1]), axis=0)
    values = graph.add("Concat", seen, answers, axis=1)
    apart = graph.add("ScatterND", graph.filled(shape, OUTSIDE, np.float32), place, values)
    of_neighbours, of_answers = graph.split(apart, _SEEN, 1)
    shifted = [
        *(_shifted(graph, of_neighbours, distance) for distance in NEIGHBOURS),
        *(_shifted(graph, of_answers, distance) for distance in (0, *AROUND)),
    ]
    return graph.add("Gather", graph.add("Concat", *shifted, axis=1), row)


def _shifted(graph: Graph, rows: str, distance: int) -> str:
    """The rows that stand so far after each but for the first and last _GAP, or before it."""
    return graph.add("Slice", rows, graph.constant([_GAP + distance]), graph.constant([distance - _GAP]))


def _columns(graph: Graph, matrix: str, first: int, after: int) -> str:
    """Columns that stand side by side."""
    return graph.add("Slice", matrix, *(graph.constant([each]) for each in (first, after, 1)))


def _of_alike(graph: Graph, blocks: Parts, answers: str, words: str) -> list[str]:
    """The columns of `second_pass._of_alike`: on the blocks like each, on the page, on its place in it."""
    values = _values(graph, answers, words)
    before = graph.add("CumSum", graph.add("Pad", values, graph.constant([1, 0, 0, 0])), graph.constant(0))
    at_start = graph.add("Gather", before, blocks.first)
    of_page = graph.add("Sub", graph.add("Gather", before, blocks.after), at_start)
    page, expected, all_above = _of_page(graph, blocks, answers, of_page)
    upto_end = graph.add("Slice", before, graph.constant([1]), graph.constant([_LAST]))
    upto = graph.add("Sub", upto_end, graph.add("Gather", at_start, blocks.page))
    _, bytes_upto, above = graph.split(graph.floats(upto), 4, 1, 1)
    of_place = [_ratio(graph, bytes_upto, expected), above, graph.add("Sub", all_above, above)]
    return [_of_group(graph, blocks, answers, values, expected), page, *of_place]


def _values(graph: Graph, answers: str, words: str) -> str:
    """What is summed of each block, shape [blocks, _SUMS]; float64, so that sums are exact.

    In order: the words expected of it, its probability, its words, itself, the expected words in bytes, and
    whether its probability is above one half.
    """
    likely = graph.doubles(answers)
    expected = graph.add("Mul", likely, words)
    one = graph.filled(graph.add("Shape", answers), 1, np.float64)
    in_bytes = graph.add("Mul", expected, graph.constant(255, np.float64))
    above = graph.doubles(graph.add("Greater", answers, graph.constant(LIKELY, np.float32)))
    return graph.add("Concat", expected, likely, words, one, in_bytes, above, axis=1)


def _of_group(graph: Graph, blocks: Parts, answers: str, values: str, all_expected: str) -> str:
    """The columns on the blocks like each; `all_expected` is the sum over its page."""
    alike = _first_alike(graph, blocks)
    sums = graph.floats(summed(graph, values, alike, blocks.total, width=_SUMS, dtype=np.float64))
    tops, bottoms, expected, _ = graph.split(sums, 2, 2, 1, 1)
    words, _ = graph.split(bottoms, 1, 1)
    columns = [
        _ratio(graph, tops, bottoms),
        _largest(graph, answers, alike, blocks.total),
        words,
        _ratio(graph, expected, all_expected),
    ]
    return graph.add("Gather", graph.add("Concat", *columns, axis=1), alike)


def _of_page(graph: Graph, blocks: Parts, answers: str, sums: str) -> list[str]:
    """The columns on each block's page, what is expected of it, at least 1, and its blocks above one half."""
    expected, _ = graph.split(sums, 1, _SUMS - 1)
    tops, bottoms, _, above = graph.split(graph.floats(sums), 2, 2, 1, 1)
    of_words, of_blocks = graph.split(_ratio(graph, tops, bottoms), 1, 1)
    columns = [
        of_words,
        graph.floats(graph.add("Floor", graph.add("Div", expected, graph.constant(255, np.float64)))),
        _largest(graph, answers, blocks.page, graph.add("Shape", blocks.counts)),
        of_blocks,
        graph.floats(graph.add("Max", expected, graph.constant(1, np.float64))),
        above,
    ]
    of_each = graph.add("Gather", graph.add("Concat", *columns, axis=1), blocks.page)
    return graph.split(of_each, 4, 1, 1)


def _largest(graph: Graph, answers: str, group: str, groups: str) -> str:
    """The largest answer of each group, shape [groups, 1]."""
    none = graph.upright(graph.filled(groups, 0, np.float32))
    return graph.add("ScatterElements", none, graph.upright(group), answers, axis=0, reduction="max")


def _first_alike(graph: Graph, blocks: Parts) -> str:
    """The number in the batch of the first block of its page that each is like, shape [blocks]."""
    last = graph.add("Sub", graph.at(blocks.counts, blocks.page), graph.constant(1))
    inside = graph.add("Min", graph.add("Max", graph.integers(ALIKE.name), graph.constant(0)), last)
    return graph.add("Add", inside, graph.at(blocks.first, blocks.page))


def _ratio(graph: Graph, numerator: str, denominator: str) -> str:
    return graph.add("Round", graph.add("Div", numerator, denominator))


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of a tree; a leaf has no children, and its number is a weight."""

    feature: int
    number: float
    true: int
    false: int

    @property
    def is_leaf(self) -> bool:
        return self.true == 0


def _trees(booster: lightgbm.Booster) -> dict[str, Any]:
    """The attributes of `TreeEnsembleRegressor`: all nodes of all trees, and what the leaves add."""
    trees = [_flat(tree["tree_structure"], []) for tree in booster.dump_model()["tree_info"]]
    nodes = [(tree, place, node) for tree, flat in enumerate(trees) for place, node in enumerate(flat)]
    leaves = [(tree, place, node) for tree, place, node in nodes if node.is_leaf]
    return {
        "n_targets": 1,
        "nodes_treeids": [tree for tree, _, _ in nodes],
        "nodes_nodeids": [place for _, place, _ in nodes],
        "nodes_modes": ["LEAF" if node.is_leaf else "BRANCH_LEQ" for _, _, node in nodes],
        "nodes_featureids": [node.feature for _, _, node in nodes],
        "nodes_values": [0.0 if node.is_leaf else node.number for _, _, node in nodes],
        "nodes_truenodeids": [node.true for _, _, node in nodes],
        "nodes_falsenodeids": [node.false for _, _, node in nodes],
        "target_treeids": [tree for tree, _, _ in leaves],
        "target_nodeids": [place for _, place, _ in leaves],
        "target_ids": [0] * len(leaves),
        "target_weights": [node.number for _, _, node in leaves],
    }


def _flat(structure: Mapping[str, Any], nodes: list[_Node]) -> list[_Node]:
    """The nodes of a tree as LightGBM gives it, each before those under it."""
    place = len(nodes)
    if "leaf_value" in structure:
        nodes.append(_Node(feature=0, number=structure["leaf_value"], true=0, false=0))
        return nodes
    nodes.append(_Node(0, 0.0, 0, 0))
    _flat(structure["left_child"], nodes)
    right = len(nodes)
    _flat(structure["right_child"], nodes)
    nodes[place] = _Node(
        structure["split_feature"], _single(structure["threshold"]), true=place + 1, false=right
    )
    return nodes


def _single(threshold: float) -> float:
    """The largest float32 up to a threshold: single numbers are on the same side of both."""
    single = np.float32(threshold)
    return float(single if single <= threshold else np.nextafter(single, np.float32(-np.inf)))
