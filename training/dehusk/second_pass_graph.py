"""The second pass as part of an ONNX graph: the columns of `training.dehusk.second_pass`, and the trees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np

from inference.signature import ALIKE
from training.dehusk.second_pass import (
    AROUND,
    LIKELY,
    NEIGHBOUR_COLUMNS,
    NEIGHBOURS,
    OUTSIDE,
    WORDS,
    SecondPass,
)
from training.dehusk.token_scores import SCORES
from training.graph import TREES, Graph
from training.ragged import Parts, summed


def second_logits(graph: Graph, blocks: Parts, inputs: str, first: str, second: SecondPass) -> str:
    """The logit of each block, shape [blocks, 1].

    `inputs` are its features as numbers up to 255 and its token scores; `first` are the probabilities of
    the first pass, of content and of comments; both have a row for each block, as every tensor here has.
    """
    both = graph.add("Round", graph.add("Mul", first, graph.constant(255, np.float32)))
    answers = _column(graph, both, 0)
    seen = graph.add("Gather", inputs, graph.constant([*NEIGHBOUR_COLUMNS, *range(-len(SCORES), 0)]), axis=1)
    columns = [
        inputs,
        _shifted(graph, blocks, seen, NEIGHBOURS),
        answers,
        _shifted(graph, blocks, answers, AROUND),
        *_of_alike(graph, blocks, graph.integers(answers), _words(graph, inputs)),
        _column(graph, both, 1),
    ]
    whole = graph.add("Concat", *columns, axis=1)
    return graph.add("TreeEnsembleRegressor", whole, domain=TREES, **_trees(second.booster))


def _words(graph: Graph, inputs: str) -> str:
    """About how many words each block has."""
    return graph.add("Gather", graph.constant(WORDS), graph.integers(_column(graph, inputs, 0)))


def _shifted(graph: Graph, blocks: Parts, values: str, distances: Sequence[int]) -> str:
    """The rows of the blocks that stand so far after each block of its page, or before it, side by side."""
    first = graph.upright(graph.add("Gather", blocks.first, blocks.page))
    count = graph.upright(graph.add("Gather", blocks.counts, blocks.page))
    there = graph.add("Add", graph.upright(graph.numbers(blocks.total)), graph.constant([distances]))
    place = graph.add("Sub", there, first)
    inside = graph.add(
        "And", graph.add("GreaterOrEqual", place, graph.constant(0)), graph.add("Less", place, count)
    )
    rows = graph.add("Gather", values, graph.add("Where", inside, there, graph.constant(0)))
    known = graph.add("Unsqueeze", inside, graph.constant([2]))
    shifted = graph.add("Where", known, rows, graph.constant(OUTSIDE, np.float32))
    width = graph.add("Slice", graph.add("Shape", rows), graph.constant([2]), graph.constant([3]))
    columns = graph.add("Mul", width, graph.constant([len(distances)]))
    return graph.add("Reshape", shifted, graph.add("Concat", blocks.total, columns, axis=0))


@dataclass(frozen=True, slots=True)
class _Sums:
    """Names of the int64 tensors that hold sums over groups of blocks, each of shape [groups, 1]."""

    blocks: str
    words: str
    likely: str
    expected: str
    above: str
    largest: str


def _of_alike(graph: Graph, blocks: Parts, likely: str, words: str) -> tuple[str, str, str]:
    """The columns of `second_pass._of_alike`: on the blocks like each, on the page, on its place in it."""
    expected = graph.add("Mul", likely, words)
    above = graph.integers(graph.add("Greater", likely, graph.constant(LIKELY)))
    ones = graph.upright(graph.filled(blocks.total, 1))
    values = (ones, words, likely, expected, above)
    alike = _first_alike(graph, blocks)
    here = _sums(graph, values, alike, blocks.total)
    page = _sums(graph, values, blocks.page, graph.add("Shape", blocks.counts))
    all_expected = graph.add("Gather", graph.add("Max", page.expected, graph.constant(1)), blocks.page)
    of_alike = [
        _ratio(graph, here.expected, here.words),
        _ratio(graph, here.likely, here.blocks),
        graph.floats(here.largest),
        graph.floats(here.words),
        _ratio(graph, _bytes(graph, here.expected), all_expected),
    ]
    of_page = [
        _ratio(graph, page.expected, page.words),
        graph.floats(graph.add("Div", page.expected, graph.constant(255))),
        graph.floats(page.largest),
        _ratio(graph, page.likely, page.blocks),
    ]
    before = _upto(graph, blocks, above)
    after = graph.add("Sub", graph.add("Gather", page.above, blocks.page), before)
    of_place = [
        _ratio(graph, _bytes(graph, _upto(graph, blocks, expected)), all_expected),
        graph.floats(before),
        graph.floats(after),
    ]
    return (
        graph.add("Gather", graph.add("Concat", *of_alike, axis=1), alike),
        graph.add("Gather", graph.add("Concat", *of_page, axis=1), blocks.page),
        graph.add("Concat", *of_place, axis=1),
    )


def _first_alike(graph: Graph, blocks: Parts) -> str:
    """The number in the batch of the first block of its page that each is like, shape [blocks]."""
    last = graph.add("Sub", graph.add("Gather", blocks.counts, blocks.page), graph.constant(1))
    inside = graph.add("Min", graph.add("Max", graph.integers(ALIKE.name), graph.constant(0)), last)
    return graph.add("Add", inside, graph.add("Gather", blocks.first, blocks.page))


def _sums(graph: Graph, values: Sequence[str], group: str, groups: str) -> _Sums:
    """Sums of the values over the blocks of each group, of which `group` has the number."""
    sums = summed(graph, graph.add("Concat", *values, axis=1), group, groups, np.int64)
    _, _, likely, *_ = values
    none = graph.upright(graph.filled(groups, 0))
    largest = graph.add("ScatterElements", none, graph.upright(group), likely, axis=0, reduction="max")
    columns = [_column(graph, sums, column) for column in range(len(values))]
    return _Sums(*[*columns, largest])


def _upto(graph: Graph, blocks: Parts, values: str) -> str:
    """The sum over each page's blocks up to each, itself included."""
    before = graph.add("CumSum", values, graph.constant(0), exclusive=1)
    of_page = graph.add("Gather", graph.add("Gather", before, blocks.first), blocks.page)
    return graph.add("Add", graph.add("Sub", before, of_page), values)


def _bytes(graph: Graph, values: str) -> str:
    return graph.add("Mul", values, graph.constant(255))


def _ratio(graph: Graph, numerator: str, denominator: str) -> str:
    return graph.add("Round", graph.add("Div", graph.floats(numerator), graph.floats(denominator)))


def _column(graph: Graph, matrix: str, column: int) -> str:
    """One column, upright."""
    return graph.add("Gather", matrix, graph.constant([column]), axis=1)


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
