"""The second pass as part of an ONNX graph: the columns of `training.dehusk.second_pass`, and the trees."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import lightgbm
import numpy as np

from dehusk.inference.labelers.signature import ALIKE
from dehusk.training.dehusk.first_pass import INPUTS
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
from dehusk.training.graph import TREES, Graph, Parts, Value

_SEEN = len(NEIGHBOUR_COLUMNS) + len(SCORES)
"""Number of inputs of a neighbour that are seen."""
_GAP = 1 + max(map(abs, (*NEIGHBOURS, *AROUND)))
"""Rows between pages where rows are shifted, more than any distance."""
_SUMS = 6
"""Columns of `_values`."""


@dataclass(frozen=True, slots=True)
class Blocks(Parts):
    """Int64 tensors that locate the blocks of all pages, and those that are like each other."""

    alike: Value
    """Number of the first block of its page that each is like, shape [total]."""

    @classmethod
    def of(cls, graph: Graph, parts: Parts) -> Self:
        """Return the blocks that these parts are, by the tensor `alike` of a request."""
        last = graph.at(parts.counts, parts.page) - 1
        inside = graph.add("Min", graph.add("Max", graph.integers(ALIKE.name), graph.constant(0)), last)
        alike = inside + graph.at(parts.first, parts.page)
        return cls(parts.counts, parts.first, parts.after, parts.total, parts.page, alike)


def second_logits(graph: Graph, blocks: Blocks, inputs: Value, first: Value, second: SecondPass) -> Value:
    """Return the logit of each block, shape [blocks, 1].

    `inputs` are its features as numbers up to 255 and its token scores; `first` are the probabilities of
    the first pass, of content and of comments; both have a row for each block, as every tensor here has.
    """
    both = graph.add("Round", first * graph.constant(255, np.float32))
    answers, comments = graph.split(both, 1, 1)
    columns = [
        inputs,
        _around(graph, blocks, _seen(graph, inputs), answers),
        *_of_alike(graph, blocks, answers, _words(graph, inputs)),
        comments,
    ]
    whole = graph.add("Concat", *columns, axis=1)
    return graph.add("TreeEnsembleRegressor", whole, domain=TREES, **_trees(second.booster))


def _words(graph: Graph, inputs: Value) -> Value:
    """Return about the number of words of each block, float64: [blocks, 1]."""
    rounded = graph.add("Reshape", graph.columns(inputs, 0, 1), graph.constant([-1]))
    return graph.upright(graph.at(graph.constant(WORDS, np.float64), graph.integers(rounded)))


def _seen(graph: Graph, inputs: Value) -> Value:
    """Return the inputs of a neighbour that are seen, shape [blocks, _SEEN]."""
    places = np.array([*NEIGHBOUR_COLUMNS, *range(INPUTS - len(SCORES), INPUTS)])
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    return graph.add("Concat", *(graph.columns(inputs, run[0], run[-1] + 1) for run in runs), axis=1)


def _around(graph: Graph, blocks: Parts, seen: Value, answers: Value) -> Value:
    """Return each block's neighbours, its answer, and the answers around it, side by side.

    Pages are laid out one after the other with _GAP rows of OUTSIDE around each.
    """
    row = graph.numbers(blocks.total) + blocks.page * _GAP
    place = graph.upright(row + _GAP)
    gaps = graph.add("Shape", blocks.counts) * graph.constant([_GAP])
    rows = blocks.total + gaps + graph.constant([_GAP])
    shape = graph.add("Concat", rows, graph.constant([_SEEN + 1]), axis=0)
    values = graph.add("Concat", seen, answers, axis=1)
    apart = graph.add("ScatterND", graph.filled(shape, OUTSIDE, np.float32), place, values)
    of_neighbours, of_answers = graph.split(apart, _SEEN, 1)
    shifted = [
        *(_shifted(graph, of_neighbours, distance) for distance in NEIGHBOURS),
        *(_shifted(graph, of_answers, distance) for distance in (0, *AROUND)),
    ]
    return graph.add("Gather", graph.add("Concat", *shifted, axis=1), row)


def _shifted(graph: Graph, rows: Value, distance: int) -> Value:
    """Return the rows that stand so far after each but for the first and last _GAP, or before it."""
    return graph.part(rows, _GAP + distance, distance - _GAP)


def _of_alike(graph: Graph, blocks: Blocks, answers: Value, words: Value) -> list[Value]:
    """Return the columns of `second_pass._of_alike`: on the blocks like each, on the page, on its place."""
    values = _values(graph, answers, words)
    before = graph.add("CumSum", graph.add("Pad", values, graph.constant([1, 0, 0, 0])), graph.constant(0))
    at_start = graph.add("Gather", before, blocks.first)
    of_page = graph.add("Gather", before, blocks.after) - at_start
    page, expected, all_above = _of_page(graph, blocks, answers, of_page)
    upto_end = graph.part(before, 1)
    upto = upto_end - graph.add("Gather", at_start, blocks.page)
    _, bytes_upto, above = graph.split(graph.floats(upto), 4, 1, 1)
    of_place = [_ratio(graph, bytes_upto, expected), above, all_above - above]
    return [_of_group(graph, blocks, answers, values, expected), page, *of_place]


def _values(graph: Graph, answers: Value, words: Value) -> Value:
    """Return the numbers of each block that are summed, [blocks, _SUMS]; float64, so that sums are exact.

    In order: the words expected of it, its probability, its words, itself, the expected words in bytes, and
    whether its probability is above one half.
    """
    likely = graph.doubles(answers)
    expected = likely * words
    one = graph.filled(graph.add("Shape", answers), 1, np.float64)
    in_bytes = expected * graph.constant(255, np.float64)
    above = graph.doubles(graph.add("Greater", answers, graph.constant(LIKELY, np.float32)))
    return graph.add("Concat", expected, likely, words, one, in_bytes, above, axis=1)


def _of_group(graph: Graph, blocks: Blocks, answers: Value, values: Value, all_expected: Value) -> Value:
    """Return the columns on the blocks like each; `all_expected` is the sum over its page."""
    sums = graph.floats(graph.summed(values, blocks.alike, blocks.total, width=_SUMS, dtype=np.float64))
    tops, bottoms, expected, _ = graph.split(sums, 2, 2, 1, 1)
    words, _ = graph.split(bottoms, 1, 1)
    columns = [
        _ratio(graph, tops, bottoms),
        _largest(graph, answers, blocks.alike, blocks.total),
        words,
        _ratio(graph, expected, all_expected),
    ]
    return graph.add("Gather", graph.add("Concat", *columns, axis=1), blocks.alike)


def _of_page(graph: Graph, blocks: Parts, answers: Value, sums: Value) -> list[Value]:
    """Return the columns on each block's page, its expected words, at least 1, and its likely blocks."""
    expected, _ = graph.split(sums, 1, _SUMS - 1)
    tops, bottoms, _, above = graph.split(graph.floats(sums), 2, 2, 1, 1)
    of_words, of_blocks = graph.split(_ratio(graph, tops, bottoms), 1, 1)
    columns = [
        of_words,
        graph.floats(graph.add("Floor", expected / graph.constant(255, np.float64))),
        _largest(graph, answers, blocks.page, graph.add("Shape", blocks.counts)),
        of_blocks,
        graph.floats(graph.add("Max", expected, graph.constant(1, np.float64))),
        above,
    ]
    of_each = graph.add("Gather", graph.add("Concat", *columns, axis=1), blocks.page)
    return graph.split(of_each, 4, 1, 1)


def _largest(graph: Graph, answers: Value, group: Value, groups: Value) -> Value:
    """Return the largest answer of each group, shape [groups, 1]."""
    none = graph.upright(graph.filled(groups, 0, np.float32))
    return graph.add("ScatterElements", none, graph.upright(group), answers, axis=0, reduction="max")


def _ratio(graph: Graph, numerator: Value, denominator: Value) -> Value:
    return graph.add("Round", numerator / denominator)


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
    """Return the attributes of `TreeEnsembleRegressor`: all nodes of all trees, and what the leaves add."""
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
    """Return the nodes of a tree as LightGBM gives it, each before those under it."""
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
    """Return the largest float32 up to a threshold: single numbers are on the same side of both."""
    single = np.float32(threshold)
    return float(single if single <= threshold else np.nextafter(single, np.float32(-np.inf)))
