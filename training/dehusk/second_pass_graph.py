"""The second pass as part of an ONNX graph: the columns of `training.dehusk.second_pass`, and the trees."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import lightgbm
import numpy as np

from dehusk.inference.labelers.signature import ALIKE
from dehusk.training.dehusk.first_pass import INPUTS, OF_PAGE
from dehusk.training.dehusk.second_pass import (
    AROUND,
    LIKELY,
    NEIGHBOUR_COLUMNS,
    NEIGHBOURS,
    OUTSIDE,
    SURE,
    WORDS,
    SecondPass,
)
from dehusk.training.dehusk.token_scores import SCORES
from dehusk.training.graph import TREES, Graph, Parts, Value

_SEEN = len(NEIGHBOUR_COLUMNS) + len(SCORES)
"""Number of inputs of a neighbour that are seen."""
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


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs of both passes: features as numbers up to 255, and token scores."""

    block: Value
    """Shape [blocks, INPUTS - OF_PAGE]: features of the block and its link, and its token scores."""
    page: Value
    """Shape [pages, OF_PAGE]."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Int64 tensors of the blocks that the trees are asked about, each of shape [asked]."""

    block: Value
    page: Value
    alike: Value

    @classmethod
    def of(cls, graph: Graph, blocks: Blocks, answers: Value) -> Self:
        """Return the blocks of which the first pass is not sure."""
        low, high = (graph.constant(limit, np.float32) for limit in SURE)
        unsure = graph.add("And", graph.add("Greater", answers, low), graph.add("Less", answers, high))
        flat = graph.add("Reshape", unsure, graph.constant([-1]))
        block = graph.add("Reshape", graph.add("NonZero", flat), graph.constant([-1]))
        return cls(block, graph.at(blocks.page, block), graph.at(blocks.alike, block))


def second_logits(
    graph: Graph, blocks: Blocks, inputs: Inputs, first: Value, second: SecondPass
) -> tuple[Value, Value]:
    """Return the blocks that the trees are asked about, shape [asked], and their logits, [asked, 1].

    `first` are the probabilities of each block by the first pass, of content and of comments: [blocks, 2].
    """
    both = graph.add("Round", first * graph.constant(255, np.float32))
    answers, comments = graph.split(both, 1, 1)
    asked = Asked.of(graph, blocks, answers)
    neighbours, around = _places(graph, blocks, asked)
    columns = [
        graph.add("Gather", inputs.page, asked.page),
        graph.add("Gather", inputs.block, asked.block),
        _at(graph, _seen(graph, inputs.block), _SEEN, neighbours, len(NEIGHBOURS)),
        _at(graph, answers, 1, around, 1 + len(AROUND)),
        *_of_alike(graph, blocks, asked, answers, _words(graph, inputs.block)),
        graph.add("Gather", comments, asked.block),
    ]
    whole = graph.add("Concat", *columns, axis=1)
    return asked.block, graph.add("TreeEnsembleRegressor", whole, domain=TREES, **_trees(second.booster))


def _words(graph: Graph, inputs: Value) -> Value:
    """Return about the number of words of each block, float64: [blocks, 1]."""
    rounded = graph.add("Reshape", graph.columns(inputs, 0, 1), graph.constant([-1]))
    return graph.upright(graph.at(graph.constant(WORDS, np.float64), graph.integers(rounded)))


def _seen(graph: Graph, inputs: Value) -> Value:
    """Return the inputs of a neighbour that are seen, shape [blocks, _SEEN]."""
    of_block = INPUTS - len(OF_PAGE)
    places = np.array([*NEIGHBOUR_COLUMNS, *range(of_block - len(SCORES), of_block)])
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    return graph.add("Concat", *(graph.columns(inputs, run[0], run[-1] + 1) for run in runs), axis=1)


def _places(graph: Graph, blocks: Parts, asked: Asked) -> list[Value]:
    """Return the blocks at NEIGHBOURS of each, and itself and those at AROUND; `total` beyond its page."""
    distances = graph.constant([*NEIGHBOURS, 0, *AROUND])
    place = graph.upright(asked.block) + distances
    first, after = (graph.upright(graph.at(each, asked.page)) for each in (blocks.first, blocks.after))
    inside = graph.add("And", graph.add("GreaterOrEqual", place, first), graph.add("Less", place, after))
    return graph.split(graph.add("Where", inside, place, blocks.total), len(NEIGHBOURS), 1 + len(AROUND))


def _at(graph: Graph, rows: Value, width: int, places: Value, count: int) -> Value:
    """Return rows of a width at so many places side by side; a row of OUTSIDE follows the last one."""
    outside = graph.constant(np.full((1, width), OUTSIDE), np.float32)
    found = graph.add("Gather", graph.add("Concat", rows, outside, axis=0), places)
    return graph.add("Reshape", found, graph.constant([0, count * width]))


def _of_alike(graph: Graph, blocks: Blocks, asked: Asked, answers: Value, words: Value) -> list[Value]:
    """Return the columns of `second_pass._of_alike`: on the blocks like each, on the page, on its place."""
    values = _values(graph, answers, words)
    before = graph.add("CumSum", graph.add("Pad", values, graph.constant([1, 0, 0, 0])), graph.constant(0))
    at_start = graph.add("Gather", before, blocks.first)
    of_page = _of_page(graph, blocks, answers, graph.add("Gather", before, blocks.after) - at_start)
    page, expected, all_above = graph.split(graph.add("Gather", of_page, asked.page), 4, 1, 1)
    upto_it = graph.add("Gather", before, asked.block + 1) - graph.add("Gather", at_start, asked.page)
    _, bytes_upto, above = graph.split(graph.floats(upto_it), 4, 1, 1)
    of_place = [_ratio(graph, bytes_upto, expected), above, all_above - above]
    of_groups = [
        graph.summed(values, blocks.alike, blocks.total, width=_SUMS, dtype=np.float64),
        _largest(graph, answers, blocks.alike, blocks.total),
    ]
    sums, largest = (graph.add("Gather", each, asked.alike) for each in of_groups)
    of_group = _of_group(graph, sums, largest, expected)
    return [*of_group, page, *of_place]


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


def _of_group(graph: Graph, sums: Value, largest: Value, all_expected: Value) -> list[Value]:
    """Return the columns on the blocks like each; `all_expected` is the sum over its page."""
    tops, bottoms, expected, _ = graph.split(graph.floats(sums), 2, 2, 1, 1)
    words, _ = graph.split(bottoms, 1, 1)
    return [_ratio(graph, tops, bottoms), largest, words, _ratio(graph, expected, all_expected)]


def _of_page(graph: Graph, blocks: Parts, answers: Value, sums: Value) -> Value:
    """Return the columns on each page, its expected words, at least 1, and its likely blocks, [pages, 6]."""
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
    return graph.add("Concat", *columns, axis=1)


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
