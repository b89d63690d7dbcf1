"""Web2Text as an ONNX graph that reads ragged pages of raw features, and decodes the labels of each jointly.

Pages lie one after the other. Where a convolution would see a block of another page, it sees zeros, as beyond
the end of a page alone. Decoding takes no step for each block: what a run of blocks makes likely is put
together from two runs of half its length, so that eleven steps suffice for the longest window.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx

from dehusk.inference.batching import WINDOW_BLOCKS
from dehusk.inference.signature import (
    BLOCK_COUNTS,
    BLOCK_FEATURES,
    DISTANCES,
    EDGE_FEATURES,
    PROBABILITIES,
    WEB2TEXT,
)
from dehusk.inference.web2text import features
from dehusk.training.graph import Graph
from dehusk.training.ragged import numbered, parts, weight
from dehusk.training.web2text.model import Web2TextModel
from dehusk.training.web2text.network import Potentials
from dehusk.training.web2text.standard import Standard

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Places:
    """Names of the tensors that say where the pages of a batch begin and end."""

    from_first: str
    """How many blocks of its page come before each, shape [blocks], int64."""
    from_last: str
    """How many come after each."""
    is_first: str
    """Whether each is its page's first, shape [blocks, 1]."""
    is_last: str


def build_web2text(model: Web2TextModel) -> onnx.ModelProto:
    """The model as a checked ONNX model that declares its signature."""
    graph = Graph()
    places = _places(graph)
    unary = _unary(graph, places, model)
    pairwise = _pairwise(graph, places, model)
    logits = _decoded(graph, places, unary, pairwise)
    graph.add("Sigmoid", logits, output=PROBABILITIES.name)
    return graph.model("web2text", WEB2TEXT)


def _places(graph: Graph) -> _Places:
    blocks = parts(graph, graph.integers(BLOCK_COUNTS.name), graph.add("Shape", DISTANCES.name))
    number = numbered(graph, blocks)
    from_first = graph.add("Sub", number, graph.at(blocks.first, blocks.page))
    behind = graph.add("Sub", graph.at(blocks.after, blocks.page), number)
    from_last = graph.add("Sub", behind, graph.constant(1))
    is_first, is_last = (
        graph.upright(graph.add("Equal", each, graph.constant(0))) for each in (from_first, from_last)
    )
    return _Places(from_first, from_last, is_first, is_last)


def _unary(graph: Graph, places: _Places, model: Web2TextModel) -> str:
    """The logarithms of the unary potentials, shape [blocks, 2]."""
    inputs = _standardised(graph, _rows(graph, BLOCK_FEATURES.name, features.BLOCK_COLUMNS), model.of_blocks)
    return _potentials(graph, places, inputs, model.unary, "unary")


def _pairwise(graph: Graph, places: _Places, model: Web2TextModel) -> str:
    """The logarithms of the pairwise potentials, weighted, of each block with the one before, [blocks, 4].

    The first block of a page has none: its row is zeros for the convolutions, and parts the pages.
    """
    told_apart = [*features.DISTANCES, features.DISTANCES[-1] + 1]
    hops = graph.upright(graph.integers(DISTANCES.name))
    distance = graph.floats(graph.add("Equal", hops, graph.constant(told_apart)))
    ancestor = _rows(graph, EDGE_FEATURES.name, features.ANCESTOR_COLUMNS)
    inputs = _standardised(graph, graph.add("Concat", distance, ancestor, axis=1), model.of_edges)
    logarithms = _potentials(graph, places, inputs, model.pairwise, "pairwise")
    return graph.add("Mul", logarithms, graph.constant(model.coupling, np.float32))


def _rows(graph: Graph, tensor: str, columns: tuple[features.Column, ...]) -> str:
    return graph.add("Reshape", graph.floats(tensor), graph.constant([-1, len(columns)]))


def _standardised(graph: Graph, rows: str, standard: Standard) -> str:
    centred = graph.add("Sub", rows, graph.constant(standard.mean, np.float32))
    return graph.add("Div", centred, graph.constant(standard.deviation, np.float32))


def _potentials(graph: Graph, places: _Places, inputs: str, network: Potentials, name: str) -> str:
    states = inputs
    of_pairs = name == "pairwise"
    last = len(network.layers) - 1
    for number, layer in enumerate(network.layers):
        kernel = layer.weight.detach().cpu().numpy()  # [outputs, inputs, width]
        if kernel.shape[2] > 1:
            states = _neighbours(graph, places, states, of_pairs=of_pairs)
        weights = weight(graph, f"{name}_{number}", kernel.transpose(2, 1, 0).reshape(-1, len(kernel)))
        bias = weight(graph, f"{name}_{number}_bias", layer.bias.detach().cpu().numpy())
        states = graph.add("Gemm", states, weights, bias)
        if number < last:
            states = graph.add("Relu", states)
    return graph.add("LogSoftmax", states, axis=1)


def _neighbours(graph: Graph, places: _Places, states: str, *, of_pairs: bool) -> str:
    """The states of the row before each, of itself, and of the row after it, side by side.

    Beyond the page, they are zeros; of pairs, the first row of a page is beyond it.
    """
    zero = graph.constant(0, np.float32)
    own = graph.add("Where", places.is_first, zero, states) if of_pairs else states
    before, after = _shifted(graph, own, 1), _shifted(graph, own, -1)
    if not of_pairs:
        before = graph.add("Where", places.is_first, zero, before)
        after = graph.add("Where", places.is_last, zero, after)
    return graph.add("Concat", before, own, after, axis=1)


def _shifted(graph: Graph, rows: str, by: int, axis: int = 0) -> str:
    """Each row moved so many places on along an axis of two; zeros where none comes from."""
    pads, starts = np.zeros(4, np.int64), max(-by, 0)
    pads[axis if by > 0 else 2 + axis] = abs(by)
    padded = graph.add("Pad", rows, graph.constant(pads))
    end = np.iinfo(np.int64).max if by < 0 else -by
    return graph.add("Slice", padded, *(graph.constant([each]) for each in (starts, end, axis)))


def _decoded(graph: Graph, places: _Places, unary: str, pairwise: str) -> str:
    """The logit of content of each block: how much likelier the best labeling is that has it as content.

    A step from the block before, whose label is i, to a label j is entry 2i + j of a column of four; at the
    first block of a page, i does not matter.
    """
    none = graph.constant(0, np.float32)
    between = graph.add("Where", places.is_first, none, pairwise)
    twice = graph.add("Concat", unary, unary, axis=1)
    steps = graph.add("Transpose", graph.add("Add", between, twice), perm=[1, 0])
    last = graph.add("Transpose", places.is_last, perm=[1, 0])
    onward = graph.add("Where", last, none, _shifted(graph, steps, -1, axis=1))
    ahead = _run_together(graph, steps, places.from_first, forwards=True)
    behind = _run_together(graph, onward, places.from_last, forwards=False)
    of_other, of_content, _ = graph.split(ahead, 1, 1, 2, axis=0)
    other_other, other_content, content_other, content_content = graph.split(behind, 1, 1, 1, 1, axis=0)
    content = graph.add("Add", of_content, graph.add("Max", content_other, content_content))
    other = graph.add("Add", of_other, graph.add("Max", other_other, other_content))
    return graph.add("Reshape", graph.add("Sub", content, other), graph.constant([-1]))


def _run_together(graph: Graph, steps: str, within: str, *, forwards: bool) -> str:
    """The best of all ways from a page's first block to each, or from each to its last, shape [4, blocks].

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


def _one_after_other(graph: Graph, first: str, second: str) -> str:
    """The best ways through both, less the best of all, so that numbers stay small."""
    come = graph.add("Gather", first, graph.constant([0, 0, 2, 2, 1, 1, 3, 3]), axis=0)
    go = graph.add("Gather", second, graph.constant([0, 1, 0, 1, 2, 3, 2, 3]), axis=0)
    ways = graph.add("Max", *graph.split(graph.add("Add", come, go), 4, 4, axis=0))
    return graph.add("Sub", ways, graph.add("ReduceMax", ways, graph.constant([0]), keepdims=1))
