"""BoilerNet as an ONNX graph that reads ragged pages of hashed tokens.

The graph holds the vocabulary as a hash table, sums the embeddings of each block, runs the LSTM over the
blocks of each page, and gives one probability per block. A page whose lengths contradict its ids gets NaN
and cannot disturb its batch mates.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx

from dehusk.inference.signature import BLOCK_COUNTS, BLOCK_LENGTHS, ID_COUNTS, IDS, PROBABILITIES, TOKENS
from dehusk.inference.tokens import OF_TAG
from dehusk.training.boilernet.vocabulary import UNKNOWN_WORD_ROW, Vocabulary
from dehusk.training.graph import Graph
from dehusk.training.ragged import (
    LstmLayer,
    Parts,
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

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a network, free of the framework that trained it."""

    embeddings: Floats
    """Shape [vocabulary, dense]."""
    embedding_bias: Floats
    layers: tuple[LstmLayer, ...]
    output: Floats
    """Shape [2 × hidden, 1]."""
    output_bias: Floats


def build_model(weights: Weights, vocabulary: Vocabulary) -> onnx.ModelProto:
    """The network as a checked ONNX model that declares its signature."""
    graph = Graph()
    lengths = graph.integers(BLOCK_LENGTHS.name)
    blocks = parts(graph, graph.integers(BLOCK_COUNTS.name), graph.add("Shape", lengths))
    contradicts, lengths = reconciled(graph, lengths, blocks, graph.integers(ID_COUNTS.name))
    where = places(graph, blocks)
    rows = _rows(graph, graph.integers(IDS.name), vocabulary)
    states = padded(graph, where, _block_vectors(graph, lengths, blocks, rows, weights))
    for number, layer in enumerate(weights.layers):
        states = lstm(graph, states, layer, f"lstm_{number}", BLOCK_COUNTS.name)
    rejected = graph.add("Gather", contradicts, blocks.page)
    _probabilities(graph, rejected, at_places(graph, where, states, len(weights.output)), weights)
    return graph.model("boilernet", TOKENS)


def _rows(graph: Graph, ids: str, vocabulary: Vocabulary) -> str:
    """Embedding row of each id: its slot's, if the slot holds that very id, else that of its unknown kind."""
    table = vocabulary.hash_table()
    slot = graph.add("Mod", ids, graph.constant([len(table.ids)]))
    known = graph.integers(graph.add("Gather", graph.constant(table.ids, np.uint32), slot))
    row = graph.integers(graph.add("Gather", graph.constant(table.rows, np.uint16), slot))
    is_word = graph.add("Less", ids, graph.constant(OF_TAG))
    unknown_rows = graph.constant(UNKNOWN_WORD_ROW), graph.constant(vocabulary.unknown_tag_row)
    unknown = graph.add("Where", is_word, *unknown_rows)
    return graph.add("Where", graph.add("Equal", known, ids), row, unknown)


def _block_vectors(graph: Graph, lengths: str, blocks: Parts, rows: str, weights: Weights) -> str:
    """The dense layer over the token counts of each block, shape [blocks, dense]."""
    block_of_id = owners(graph, starts(graph, lengths), graph.add("Shape", rows))
    columns = graph.constant([len(weights.embeddings)])
    cell = graph.add("Add", graph.add("Mul", block_of_id, columns), rows)
    ones = graph.filled(graph.add("Shape", cell), 1, np.float32)
    zeros = graph.filled(graph.add("Mul", blocks.total, columns), 0, np.float32)
    counts = graph.add("ScatterElements", zeros, cell, ones, axis=0, reduction="add")
    shape = graph.add("Concat", graph.constant([-1]), columns, axis=0)
    dense = graph.add(
        "MatMul", graph.add("Reshape", counts, shape), weight(graph, "embeddings", weights.embeddings)
    )
    bias = weight(graph, "embedding_bias", weights.embedding_bias)
    return graph.add("Relu", graph.add("Add", dense, bias))


def _probabilities(graph: Graph, rejected: str, states: str, weights: Weights) -> None:
    """The probability of each block, NaN on rejected pages."""
    product = graph.add("MatMul", states, weight(graph, "output", weights.output))
    logits = graph.add("Add", product, weight(graph, "output_bias", weights.output_bias))
    flat = graph.add("Reshape", graph.add("Sigmoid", logits), graph.constant([-1]))
    graph.add("Where", rejected, graph.constant(np.nan, np.float32), flat, output=PROBABILITIES.name)
