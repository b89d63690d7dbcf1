"""The default model as an ONNX graph: token scores, a dense layer, the LSTM, the page as a whole."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import onnx
from torch import nn

from inference import signature
from inference.batching import ANCESTORS
from inference.features import BLOCK_FEATURES, PAGE_FEATURES
from inference.signature import (
    BLOCK_COUNTS,
    COMMENTS,
    ELEMENT,
    ELEMENT_COUNTS,
    ELEMENT_TOKEN_COUNTS,
    ELEMENT_TOKEN_LENGTHS,
    ELEMENT_TOKENS,
    FEATURES,
    HEADING,
    PARENT,
    PROBABILITIES,
    STRUCTURE_WITH_COMMENTS,
    WORD_COUNTS,
    WORD_LENGTHS,
    WORDS,
)
from training.dehusk.model import DehuskModel
from training.dehusk.network import BEYOND_STATES, LARGEST_INPUT, SCORE_SCALE
from training.dehusk.second_pass_graph import second_logits
from training.dehusk.token_scores import HEADING_WORDS, LARGEST_SCORE, LEVELS, Regression
from training.dehusk.trainer import FirstPass
from training.graph import Graph
from training.lstm import layer_weights
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
    summed,
    weight,
)

Floats = npt.NDArray[np.float32]


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
    of_tokens = model.first.token_scores
    of_words = _word_scores(graph, blocks, lengths, of_tokens.words)
    of_elements = _element_scores(
        graph, blocks, elements, token_lengths, (of_tokens.elements, of_tokens.comments)
    )
    scores = graph.add("Concat", *map(graph.upright, (of_words, *of_elements)), axis=1)
    features = _features(graph, blocks)
    first_logits = _first_logits(graph, blocks, features, scores, model.first)
    first = graph.add("Sigmoid", first_logits)
    inputs = graph.add("Concat", features, scores, axis=1)
    thought_twice = second_logits(graph, blocks, inputs, first, model.second)
    logits, comments = (
        graph.add("Gather", tensor, graph.constant([column]), axis=1)
        for column, tensor in enumerate((first_logits, first))
    )
    mean = graph.add("Mul", graph.add("Add", logits, thought_twice), graph.constant(0.5, np.float32))
    both = graph.add("Add", mean, graph.constant(model.offset, np.float32))
    rejected = graph.add("Gather", graph.add("Or", words_wrong, tokens_wrong), blocks.page)
    for tensor, probabilities in ((PROBABILITIES, graph.add("Sigmoid", both)), (COMMENTS, comments)):
        flat = graph.add("Reshape", probabilities, graph.constant([-1]))
        graph.add("Where", rejected, graph.constant(np.nan, np.float32), flat, output=tensor.name)
    return graph.model("dehusk", STRUCTURE_WITH_COMMENTS)


def _word_scores(graph: Graph, blocks: Parts, lengths: str, regression: Regression) -> str:
    """The score of each block's words and of the first words of its heading, shape [blocks]."""
    first = starts(graph, lengths)
    total = graph.add("Shape", WORDS.name)
    block = owners(graph, first, total)
    rank = graph.add("Sub", graph.numbers(total), graph.add("Gather", first, block))
    weights = _looked_up(graph, WORDS.name, "words", regression.weights)
    own = summed(graph, weights, block, blocks.total)
    read = graph.upright(graph.floats(graph.add("Less", rank, graph.constant(HEADING_WORDS))))
    under = summed(graph, graph.add("Mul", weights, read), block, blocks.total)
    heading, has_heading = _global(graph, HEADING.name, blocks, blocks)
    taken = graph.add("Min", lengths, graph.constant(HEADING_WORDS))
    from_heading = graph.add(
        "Mul", graph.column(graph.add("Gather", under, heading), 1), graph.floats(has_heading)
    )
    count = graph.add("Add", lengths, graph.add("Mul", graph.add("Gather", taken, heading), has_heading))
    return _score(graph, graph.add("Add", graph.column(own, 0), from_heading), count, regression)


def _element_scores(
    graph: Graph,
    blocks: Parts,
    elements: Parts,
    token_lengths: str,
    regressions: Sequence[Regression],
) -> list[str]:
    """By each regression, the score of the tokens of each block's innermost elements, shape [blocks]."""
    element_of_token = owners(graph, starts(graph, token_lengths), graph.add("Shape", ELEMENT_TOKENS.name))
    weights = _looked_up(
        graph, ELEMENT_TOKENS.name, "elements", np.concatenate([each.weights for each in regressions])
    )
    nothing = graph.constant(np.zeros((1, len(regressions) * (1 + LEVELS))), np.float32)
    sums = graph.add("Concat", nothing, summed(graph, weights, element_of_token, elements.total), axis=0)
    counts = graph.add("Concat", graph.constant([0]), token_lengths, axis=0)
    parent = graph.add(
        "Concat", graph.constant([0]), _numbered(graph, PARENT.name, elements, elements), axis=0
    )
    current = _numbered(graph, ELEMENT.name, elements, blocks)
    scores, count = [""] * len(regressions), ""
    for level in range(ANCESTORS):
        found = graph.add("Gather", sums, current)
        here = graph.add("Gather", counts, current)
        for column in [0, 1 + level] if level < LEVELS else [0]:
            for number, score in enumerate(scores):
                value = graph.column(found, number * (1 + LEVELS) + column)
                scores[number] = graph.add("Add", score, value) if score else value
            count = graph.add("Add", count, here) if count else here
        current = graph.add("Gather", parent, current)
    return [_score(graph, score, count, each) for score, each in zip(scores, regressions, strict=True)]


def _features(graph: Graph, blocks: Parts) -> str:
    """The features of each block and those of its page, as numbers up to 255; shape [blocks, features]."""
    of_block = _rows(graph, FEATURES.name, len(BLOCK_FEATURES))
    of_page = graph.add("Gather", _rows(graph, signature.PAGE_FEATURES.name, len(PAGE_FEATURES)), blocks.page)
    return graph.add("Concat", of_block, of_page, axis=1)


def _first_logits(graph: Graph, blocks: Parts, features: str, scores: str, first: FirstPass) -> str:
    """The network's logits of each block, shape [blocks, OUTPUTS]."""
    where = places(graph, blocks)
    shares = graph.add("Div", features, graph.constant(255, np.float32))
    scaled = graph.add("Mul", scores, graph.constant(SCORE_SCALE, np.float32))
    dense = _dense(graph, graph.add("Concat", shares, scaled, axis=1), first)
    states = lstm(
        graph, padded(graph, where, dense), layer_weights(first.network.layer), "lstm", BLOCK_COUNTS.name
    )
    of_page = graph.add("Gather", _pooled(graph, blocks, where, states), blocks.page)
    vectors = graph.add("Concat", at_places(graph, where, states), dense, of_page, axis=1)
    return _linear(graph, vectors, "output", first.network.output)


def _dense(graph: Graph, inputs: str, first: FirstPass) -> str:
    """The dense layer over the standardised inputs, shape [blocks, dense]."""
    centred = graph.add("Sub", inputs, weight(graph, "mean", first.standard.mean))
    standard = graph.add("Div", centred, weight(graph, "deviation", first.standard.deviation))
    limits = (graph.constant(sign * LARGEST_INPUT, np.float32) for sign in (-1, 1))
    return graph.add(
        "Relu", _linear(graph, graph.add("Clip", standard, *limits), "dense", first.network.dense)
    )


def _pooled(graph: Graph, blocks: Parts, where: Places, states: str) -> str:
    """The mean and the largest of each page's states, shape [pages, 4 × hidden]."""
    place = graph.upright(graph.numbers(where.longest))
    outside = graph.floats(graph.add("Not", graph.add("Less", place, blocks.counts)))
    lowered = graph.add(
        "Mul",
        graph.add("Unsqueeze", outside, graph.constant([2])),
        graph.constant(BEYOND_STATES, np.float32),
    )
    largest = graph.add("ReduceMax", graph.add("Sub", states, lowered), graph.constant([0]), keepdims=0)
    count = graph.upright(graph.floats(blocks.counts))
    mean = graph.add("Div", graph.add("ReduceSum", states, graph.constant([0]), keepdims=0), count)
    return graph.add("Concat", mean, largest, axis=1)


def _looked_up(graph: Graph, ids: str, name: str, weights: Floats) -> str:
    """The weights of hashed tokens, which have shape [columns, buckets], as shape [tokens, columns]."""
    table = weight(graph, f"{name}_table", np.ascontiguousarray(weights.T))
    bucket = graph.add("Mod", graph.integers(ids), graph.constant(weights.shape[1]))
    return graph.add("Gather", table, bucket)


def _numbered(graph: Graph, tensor: str, pointed: Parts, pointing: Parts) -> str:
    """1 + the number in the batch of what a page's 1-based number points to; 0 for none."""
    local = graph.integers(tensor)
    offset = graph.add("Gather", pointed.first, pointing.page)
    most = graph.add("Gather", pointed.counts, pointing.page)
    inside = graph.add("Min", graph.add("Max", local, graph.constant(0)), most)
    return graph.add(
        "Mul",
        graph.add("Add", inside, offset),
        graph.integers(graph.add("Greater", inside, graph.constant(0))),
    )


def _global(graph: Graph, tensor: str, pointed: Parts, pointing: Parts) -> tuple[str, str]:
    """The number in the batch of what is pointed to (0 for none), and 1 where there is something."""
    numbered = _numbered(graph, tensor, pointed, pointing)
    there = graph.integers(graph.add("Greater", numbered, graph.constant(0)))
    return graph.add("Sub", numbered, there), there


def _score(graph: Graph, total: str, count: str, regression: Regression) -> str:
    """The regression's clipped score."""
    root = graph.add("Sqrt", graph.floats(graph.add("Max", count, graph.constant(1))))
    score = graph.add("Add", graph.add("Div", total, root), graph.constant(regression.bias, np.float32))
    limits = (graph.constant(sign * LARGEST_SCORE, np.float32) for sign in (-1, 1))
    return graph.add("Clip", score, *limits)


def _linear(graph: Graph, vectors: str, name: str, layer: nn.Linear) -> str:
    weights = layer.weight.detach().numpy().T
    product = graph.add("MatMul", vectors, weight(graph, f"{name}_weights", weights))
    return graph.add("Add", product, weight(graph, f"{name}_bias", layer.bias.detach().numpy()))


def _rows(graph: Graph, tensor: str, columns: int) -> str:
    return graph.add("Reshape", graph.floats(tensor), graph.constant([-1, columns]))
