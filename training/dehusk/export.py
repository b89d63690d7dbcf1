"""The default model as an ONNX graph: token scores, a dense layer, the LSTM, the page as a whole."""

import numpy as np
import onnx
from torch import nn

from inference import signature
from inference.batching import ANCESTORS
from inference.features import BLOCK_FEATURES, PAGE_FEATURES
from inference.signature import (
    BLOCK_COUNTS,
    ELEMENT,
    ELEMENT_COUNTS,
    ELEMENT_TOKEN_COUNTS,
    ELEMENT_TOKEN_LENGTHS,
    ELEMENT_TOKENS,
    FEATURES,
    HEADING,
    PARENT,
    PROBABILITIES,
    STRUCTURE,
    WORD_COUNTS,
    WORD_LENGTHS,
    WORDS,
)
from training.dehusk.network import BEYOND_STATES, LARGEST_INPUT, SCORE_SCALE
from training.dehusk.token_scores import HEADING_WORDS, LARGEST_SCORE, LEVELS, Regression
from training.dehusk.trainer import DehuskModel
from training.graph import Graph
from training.network import layer_weights
from training.ragged import (
    Parts,
    Places,
    at_places,
    lstm,
    owners,
    padded,
    parts,
    places,
    reconciled,
    starts,
    weight,
)


def build_dehusk(model: DehuskModel) -> onnx.ModelProto:
    """The model as a checked ONNX model that declares its signature."""
    graph = Graph()
    lengths, token_lengths = graph.integers(WORD_LENGTHS.name), graph.integers(ELEMENT_TOKEN_LENGTHS.name)
    blocks = parts(graph, graph.integers(BLOCK_COUNTS.name), graph.add("Shape", lengths))
    elements = parts(graph, graph.integers(ELEMENT_COUNTS.name), graph.add("Shape", token_lengths))
    words_wrong, lengths = reconciled(graph, lengths, blocks, graph.integers(WORD_COUNTS.name))
    tokens_wrong, token_lengths = reconciled(
        graph, token_lengths, elements, graph.integers(ELEMENT_TOKEN_COUNTS.name)
    )
    scores = [
        _word_scores(graph, blocks, lengths, model.token_scores.words),
        _element_scores(graph, blocks, elements, token_lengths, model.token_scores.elements),
    ]
    where = places(graph, blocks)
    dense = _dense(graph, _inputs(graph, blocks, scores), model)
    states = lstm(
        graph, padded(graph, where, dense), layer_weights(model.network.layer), "lstm", BLOCK_COUNTS.name
    )
    of_page = graph.add("Gather", _pooled(graph, blocks, where, states), blocks.page)
    vectors = graph.add("Concat", at_places(graph, where, states), dense, of_page, axis=1)
    logits = _linear(graph, vectors, "output", model.network.output)
    probabilities = graph.add("Reshape", graph.add("Sigmoid", logits), graph.constant([-1]))
    rejected = graph.add("Gather", graph.add("Or", words_wrong, tokens_wrong), blocks.page)
    graph.add("Where", rejected, graph.constant(np.nan, np.float32), probabilities, output=PROBABILITIES.name)
    return graph.model("dehusk", STRUCTURE)


def _word_scores(graph: Graph, blocks: Parts, lengths: str, regression: Regression) -> str:
    """The score of each block's words and of the first words of its heading, shape [blocks]."""
    first = starts(graph, lengths)
    total = graph.add("Shape", WORDS.name)
    block = owners(graph, first, total)
    rank = graph.add("Sub", _numbers(graph, total), graph.add("Gather", first, block))
    weights = _looked_up(graph, WORDS.name, "words", regression)
    own = _summed(graph, weights, block, blocks.total)
    read = graph.add(
        "Cast", graph.add("Less", rank, graph.constant(HEADING_WORDS)), to=onnx.TensorProto.FLOAT
    )
    read = graph.add("Unsqueeze", read, graph.constant([1]))
    under = _summed(graph, graph.add("Mul", weights, read), block, blocks.total)
    heading, has_heading = _global(graph, HEADING.name, blocks, blocks)
    taken = graph.add("Min", lengths, graph.constant(HEADING_WORDS))
    from_heading = graph.add(
        "Mul", _column(graph, graph.add("Gather", under, heading), 1), _float(graph, has_heading)
    )
    count = graph.add("Add", lengths, graph.add("Mul", graph.add("Gather", taken, heading), has_heading))
    return _score(graph, graph.add("Add", _column(graph, own, 0), from_heading), count, regression)


def _element_scores(
    graph: Graph, blocks: Parts, elements: Parts, token_lengths: str, regression: Regression
) -> str:
    """The score of the tokens of each block's innermost elements, shape [blocks]."""
    element_of_token = owners(graph, starts(graph, token_lengths), graph.add("Shape", ELEMENT_TOKENS.name))
    weights = _looked_up(graph, ELEMENT_TOKENS.name, "elements", regression)
    nothing = graph.constant(np.zeros((1, 1 + LEVELS)), np.float32)
    sums = graph.add("Concat", nothing, _summed(graph, weights, element_of_token, elements.total), axis=0)
    counts = graph.add("Concat", graph.constant([0]), token_lengths, axis=0)
    parent = graph.add(
        "Concat", graph.constant([0]), _numbered(graph, PARENT.name, elements, elements), axis=0
    )
    current = _numbered(graph, ELEMENT.name, elements, blocks)
    score, count = "", ""
    for level in range(ANCESTORS):
        found = graph.add("Gather", sums, current)
        here = graph.add("Gather", counts, current)
        columns = [0, 1 + level] if level < LEVELS else [0]
        for column in columns:
            value = _column(graph, found, column)
            score = graph.add("Add", score, value) if score else value
            count = graph.add("Add", count, here) if count else here
        current = graph.add("Gather", parent, current)
    return _score(graph, score, count, regression)


def _inputs(graph: Graph, blocks: Parts, scores: list[str]) -> str:
    """What the network reads of each block before it is standardised, shape [blocks, inputs]."""
    of_block = _rows(graph, FEATURES.name, len(BLOCK_FEATURES))
    of_page = graph.add("Gather", _rows(graph, signature.PAGE_FEATURES.name, len(PAGE_FEATURES)), blocks.page)
    features = graph.add("Concat", of_block, of_page, axis=1)
    features = graph.add("Div", features, graph.constant(255, np.float32))
    columns = [graph.add("Unsqueeze", score, graph.constant([1])) for score in scores]
    both = graph.add("Mul", graph.add("Concat", *columns, axis=1), graph.constant(SCORE_SCALE, np.float32))
    return graph.add("Concat", features, both, axis=1)


def _dense(graph: Graph, inputs: str, model: DehuskModel) -> str:
    """The dense layer over the standardised inputs, shape [blocks, dense]."""
    centred = graph.add("Sub", inputs, weight(graph, "mean", model.standard.mean))
    standard = graph.add("Div", centred, weight(graph, "deviation", model.standard.deviation))
    limits = (graph.constant(sign * LARGEST_INPUT, np.float32) for sign in (-1, 1))
    return graph.add(
        "Relu", _linear(graph, graph.add("Clip", standard, *limits), "dense", model.network.dense)
    )


def _pooled(graph: Graph, blocks: Parts, where: Places, states: str) -> str:
    """The mean and the largest of each page's states, shape [pages, 4 × hidden]."""
    place = graph.add("Unsqueeze", _numbers(graph, where.longest), graph.constant([1]))
    outside = _float(graph, graph.add("Not", graph.add("Less", place, blocks.counts)))
    lowered = graph.add(
        "Mul",
        graph.add("Unsqueeze", outside, graph.constant([2])),
        graph.constant(BEYOND_STATES, np.float32),
    )
    largest = graph.add("ReduceMax", graph.add("Sub", states, lowered), graph.constant([0]), keepdims=0)
    count = graph.add("Unsqueeze", _float(graph, blocks.counts), graph.constant([1]))
    mean = graph.add("Div", graph.add("ReduceSum", states, graph.constant([0]), keepdims=0), count)
    return graph.add("Concat", mean, largest, axis=1)


def _looked_up(graph: Graph, ids: str, name: str, regression: Regression) -> str:
    """The weights of hashed tokens, shape [tokens, columns]."""
    table = weight(graph, f"{name}_table", np.ascontiguousarray(regression.weights.T))
    bucket = graph.add("Mod", graph.integers(ids), graph.constant(regression.weights.shape[1]))
    return graph.add("Gather", table, bucket)


def _summed(graph: Graph, values: str, owner: str, total: str) -> str:
    """Rows of `values` added up by owner, shape [total, columns]."""
    width = graph.add("Slice", graph.add("Shape", values), graph.constant([1]), graph.constant([2]))
    zeros = graph.filled(graph.add("Concat", total, width, axis=0), 0, np.float32)
    rows = graph.add("Unsqueeze", owner, graph.constant([1]))
    return graph.add("ScatterND", zeros, rows, values, reduction="add")


def _numbered(graph: Graph, tensor: str, pointed: Parts, pointing: Parts) -> str:
    """1 + the number in the batch of what a page's 1-based number points to; 0 for none."""
    local = graph.integers(tensor)
    offset = graph.add("Gather", pointed.first, pointing.page)
    most = graph.add("Gather", pointed.counts, pointing.page)
    inside = graph.add("Min", graph.add("Max", local, graph.constant(0)), most)
    return graph.add(
        "Mul",
        graph.add("Add", inside, offset),
        _integer(graph, graph.add("Greater", inside, graph.constant(0))),
    )


def _global(graph: Graph, tensor: str, pointed: Parts, pointing: Parts) -> tuple[str, str]:
    """The number in the batch of what is pointed to (0 for none), and 1 where there is something."""
    numbered = _numbered(graph, tensor, pointed, pointing)
    there = _integer(graph, graph.add("Greater", numbered, graph.constant(0)))
    return graph.add("Sub", numbered, there), there


def _score(graph: Graph, total: str, count: str, regression: Regression) -> str:
    """The regression's clipped score."""
    root = graph.add("Sqrt", _float(graph, graph.add("Max", count, graph.constant(1))))
    score = graph.add("Add", graph.add("Div", total, root), graph.constant(regression.bias, np.float32))
    limits = (graph.constant(sign * LARGEST_SCORE, np.float32) for sign in (-1, 1))
    return graph.add("Clip", score, *limits)


def _linear(graph: Graph, vectors: str, name: str, layer: nn.Linear) -> str:
    weights = layer.weight.detach().numpy().T
    product = graph.add("MatMul", vectors, weight(graph, f"{name}_weights", weights))
    return graph.add("Add", product, weight(graph, f"{name}_bias", layer.bias.detach().numpy()))


def _rows(graph: Graph, tensor: str, columns: int) -> str:
    return graph.add("Reshape", _float(graph, tensor), graph.constant([-1, columns]))


def _column(graph: Graph, matrix: str, column: int) -> str:
    return graph.add("Gather", matrix, graph.constant(column), axis=1)


def _numbers(graph: Graph, total: str) -> str:
    return graph.add("Range", graph.constant(0), graph.add("Squeeze", total), graph.constant(1))


def _float(graph: Graph, tensor: str) -> str:
    return graph.add("Cast", tensor, to=onnx.TensorProto.FLOAT)


def _integer(graph: Graph, tensor: str) -> str:
    return graph.add("Cast", tensor, to=onnx.TensorProto.INT64)
