"""Web2Text as an ONNX graph that reads ragged pages of raw features, and decodes the labels of each jointly.

Pages lie one after the other. Where a convolution would see a block of another page, it sees zeros, as beyond
the end of a page alone. Decoding takes no step for each block: what a run of blocks makes likely is put
together from two runs of half its length, so that eleven steps suffice for the longest window.
"""

from dataclasses import dataclass

import numpy as np
import onnx

from dehusk.inference.encoding.web2text import features
from dehusk.inference.labelers.batching import WINDOW_BLOCKS
from dehusk.inference.labelers.signature import (
    BLOCK_COUNTS,
    BLOCK_FEATURES,
    DISTANCES,
    EDGE_FEATURES,
    PROBABILITIES,
    WEB2TEXT,
)
from dehusk.training.graph import Graph, Value
from dehusk.training.web2text.model import Potentials, Standard, Web2TextModel


@dataclass(frozen=True, slots=True)
class _Places:
    """Names of the tensors that locate blocks in their pages."""

    from_first: Value
    """Number of the blocks of its page before each, shape [blocks], int64."""
    from_last: Value
    """Number of those after each."""
    is_first: Value
    """True for the first block of a page, shape [blocks, 1]."""
    is_last: Value


def build_web2text(model: Web2TextModel) -> onnx.ModelProto:
    """Build the model as a checked ONNX model that declares its signature."""
    graph = Graph()
    places = _places(graph)
    unary = _unary(graph, places, model)
    pairwise = _pairwise(graph, places, model)
    logits = _decoded(graph, places, unary, pairwise)
    graph.add("Sigmoid", logits, output=PROBABILITIES.name)
    return graph.model("web2text", WEB2TEXT)


def _places(graph: Graph) -> _Places:
    blocks = graph.parts(graph.integers(BLOCK_COUNTS.name), graph.add("Shape", DISTANCES.name))
    number = graph.numbers(blocks.total)
    from_first = number - graph.at(blocks.first, blocks.page)
    behind = graph.at(blocks.after, blocks.page) - number
    from_last = behind - 1
    is_first, is_last = (
        graph.upright(graph.add("Equal", each, graph.constant(0))) for each in (from_first, from_last)
    )
    return _Places(from_first, from_last, is_first, is_last)


def _unary(graph: Graph, places: _Places, model: Web2TextModel) -> Value:
    """Add the logarithms of the unary potentials, shape [blocks, 2]."""
    rows = graph.rows(BLOCK_FEATURES.name, len(features.BLOCK_COLUMNS))
    return _potentials(graph, places, _standardised(graph, rows, model.of_blocks), model.unary, "unary")


def _pairwise(graph: Graph, places: _Places, model: Web2TextModel) -> Value:
    """Add the weighted logarithms of the pairwise potentials of each block with the one before, [blocks, 4].

    The first block of a page has none: its row is zeros for the convolutions, and parts the pages.
    """
    told_apart = [*features.DISTANCES, features.DISTANCES[-1] + 1]
    hops = graph.upright(graph.integers(DISTANCES.name))
    distance = graph.floats(graph.add("Equal", hops, graph.constant(told_apart)))
    ancestor = graph.rows(EDGE_FEATURES.name, len(features.ANCESTOR_COLUMNS))
    inputs = _standardised(graph, graph.add("Concat", distance, ancestor, axis=1), model.of_edges)
    logarithms = _potentials(graph, places, inputs, model.pairwise, "pairwise")
    return logarithms * graph.constant(model.coupling, np.float32)


def _standardised(graph: Graph, rows: Value, standard: Standard) -> Value:
    centred = rows - graph.constant(standard.mean, np.float32)
    return centred / graph.constant(standard.deviation, np.float32)


def _potentials(graph: Graph, places: _Places, inputs: Value, network: Potentials, name: str) -> Value:
    states = inputs
    of_pairs = name == "pairwise"
    last = len(network.layers) - 1
    for number, layer in enumerate(network.layers):
        kernel = layer.weight.detach().cpu().numpy()  # [outputs, inputs, width]
        if kernel.shape[2] > 1:
            states = _neighbours(graph, places, states, of_pairs=of_pairs)
        weights = graph.weight(f"{name}_{number}", kernel.transpose(2, 1, 0).reshape(-1, len(kernel)))
        bias = graph.weight(f"{name}_{number}_bias", layer.bias.detach().cpu().numpy())
        states = graph.add("Gemm", states, weights, bias)
        if number < last:
            states = graph.add("Relu", states)
    return graph.add("LogSoftmax", states, axis=1)


def _neighbours(graph: Graph, places: _Places, states: Value, *, of_pairs: bool) -> Value:
    """Return the states of the row before each, of itself, and of the row after it, side by side.

    Beyond the page, they are zeros; of pairs, the first row of a page is beyond it.
    """
    zero = graph.constant(0, np.float32)
    own = graph.add("Where", places.is_first, zero, states) if of_pairs else states
    before, after = _shifted(graph, own, 1), _shifted(graph, own, -1)
    if not of_pairs:
        before = graph.add("Where", places.is_first, zero, before)
        after = graph.add("Where", places.is_last, zero, after)
    return graph.add("Concat", before, own, after, axis=1)


def _shifted(graph: Graph, rows: Value, by: int, axis: int = 0) -> Value:
    """Move each row so many places on along an axis of two; zeros where none comes from."""
    pads, starts = np.zeros(4, np.int64), max(-by, 0)
    pads[axis if by > 0 else 2 + axis] = abs(by)
    padded = graph.add("Pad", rows, graph.constant(pads))
    end = np.iinfo(np.int64).max if by < 0 else -by
    return graph.add("Slice", padded, *(graph.constant([each]) for each in (starts, end, axis)))


def _decoded(graph: Graph, places: _Places, unary: Value, pairwise: Value) -> Value:
    """Return the logit of content of each block: how much likelier the best labeling with it as content is.

    A step from the block before, whose label is i, to a label j is entry 2i + j of a column of four; at the
    first block of a page, i does not matter.
    """
    none = graph.constant(0, np.float32)
    between = graph.add("Where", places.is_first, none, pairwise)
    twice = graph.add("Concat", unary, unary, axis=1)
    steps = graph.add("Transpose", between + twice, perm=[1, 0])
    last = graph.add("Transpose", places.is_last, perm=[1, 0])
    onward = graph.add("Where", last, none, _shifted(graph, steps, -1, axis=1))
    ahead = _run_together(graph, steps, places.from_first, forwards=True)
    behind = _run_together(graph, onward, places.from_last, forwards=False)
    of_other, of_content, _ = graph.split(ahead, 1, 1, 2, axis=0)
    other_other, other_content, content_other, content_content = graph.split(behind, 1, 1, 1, 1, axis=0)
    content = of_content + graph.add("Max", content_other, content_content)
    other = of_other + graph.add("Max", other_other, other_content)
    return graph.add("Reshape", content - other, graph.constant([-1]))


def _run_together(graph: Graph, steps: Value, within: Value, *, forwards: bool) -> Value:
    """Return the best of all ways from a page's first block to each, or from each to its last, [4, blocks].

    `within` says how many blocks of the page are on that side of each.
    """
    length = 1
    while length < WINDOW_BLOCKS:
        others = _shifted(graph, steps, length if forwards else -length, axis=1)
        first, second = (others, steps) if forwards else (steps, others)
        longer = _one_after_other(graph, first, second)
        is_whole = graph.add("Less", within, graph.constant(length))
        steps = graph.add("Where", is_whole, steps, longer)
        length *= 2
    return steps


def _one_after_other(graph: Graph, first: Value, second: Value) -> Value:
    """Return the best ways through both, less the best of all, so that numbers stay small."""
    come = graph.add("Gather", first, graph.constant([0, 0, 2, 2, 1, 1, 3, 3]), axis=0)
    go = graph.add("Gather", second, graph.constant([0, 1, 0, 1, 2, 3, 2, 3]), axis=0)
    ways = graph.add("Max", *graph.split(come + go, 4, 4, axis=0))
    return ways - graph.add("ReduceMax", ways, graph.constant([0]), keepdims=1)
