"""BoilerNet as an ONNX graph that reads ragged pages of hashed tokens.

The graph holds the vocabulary as a hash table, sums the embeddings of each block, runs the LSTM over the
blocks of each page, and gives one probability per block. A page whose lengths contradict its ids gets NaN
and cannot disturb its batch mates.
"""

from collections.abc import Mapping

import numpy as np
import onnx

from dehusk.inference.encoding.tokens import OF_TAG
from dehusk.inference.labelers.signature import (
    BLOCK_COUNTS,
    BLOCK_LENGTHS,
    ID_COUNTS,
    IDS,
    PROBABILITIES,
    TOKENS,
)
from dehusk.training.arrays import Floats
from dehusk.training.boilernet.network import BoilerNet
from dehusk.training.boilernet.vocabulary import UNKNOWN_WORD_ROW, Vocabulary
from dehusk.training.graph import Graph, Parts, Value
from dehusk.training.learning import layer_weights


def build_model(network: BoilerNet, vocabulary: Vocabulary) -> onnx.ModelProto:
    """Build the network as a checked ONNX model that declares its signature."""
    graph = Graph()
    lengths = graph.integers(BLOCK_LENGTHS.name)
    blocks = graph.parts(graph.integers(BLOCK_COUNTS.name), graph.add("Shape", lengths))
    contradicts, lengths = graph.reconciled(lengths, blocks, graph.integers(ID_COUNTS.name))
    where = graph.places(blocks)
    rows = _rows(graph, graph.integers(IDS.name), vocabulary)
    weights = {name: value.detach().cpu().numpy() for name, value in network.state_dict().items()}
    states = graph.padded(where, _block_vectors(graph, lengths, blocks, rows, weights))
    for number, layer in enumerate(network.layers):
        states = graph.lstm(states, layer_weights(layer), f"lstm_{number}", BLOCK_COUNTS.name)
    rejected = graph.add("Gather", contradicts, blocks.page)
    _probabilities(graph, rejected, graph.at_places(where, states, network.output.in_features), weights)
    return graph.model("boilernet", TOKENS)


def _rows(graph: Graph, ids: Value, vocabulary: Vocabulary) -> Value:
    """Return the embedding row of each id: its slot's if that holds the id, else that of its unknown kind."""
    table = vocabulary.hash_table()
    slot = graph.add("Mod", ids, graph.constant([len(table.ids)]))
    known = graph.integers(graph.add("Gather", graph.constant(table.ids, np.uint32), slot))
    row = graph.integers(graph.add("Gather", graph.constant(table.rows, np.uint16), slot))
    is_word = graph.add("Less", ids, graph.constant(OF_TAG))
    unknown_rows = graph.constant(UNKNOWN_WORD_ROW), graph.constant(vocabulary.unknown_tag_row)
    unknown = graph.add("Where", is_word, *unknown_rows)
    return graph.add("Where", graph.add("Equal", known, ids), row, unknown)


def _block_vectors(
    graph: Graph, lengths: Value, blocks: Parts, rows: Value, weights: Mapping[str, Floats]
) -> Value:
    """Add the dense layer over the token counts of each block, shape [blocks, dense]."""
    block_of_id = graph.owners(graph.starts(lengths), graph.add("Shape", rows))
    columns = graph.constant([len(weights["embeddings.weight"])])
    cell = block_of_id * columns + rows
    ones = graph.filled(graph.add("Shape", cell), 1, np.float32)
    zeros = graph.filled(blocks.total * columns, 0, np.float32)
    counts = graph.add("ScatterElements", zeros, cell, ones, axis=0, reduction="add")
    shape = graph.add("Concat", graph.constant([-1]), columns, axis=0)
    dense = graph.add(
        "MatMul",
        graph.add("Reshape", counts, shape),
        graph.weight("embeddings", weights["embeddings.weight"]),
    )
    bias = graph.weight("embedding_bias", weights["bias"])
    return graph.add("Relu", dense + bias)


def _probabilities(graph: Graph, rejected: Value, states: Value, weights: Mapping[str, Floats]) -> None:
    """Add the probability of each block, NaN on rejected pages."""
    product = graph.add("MatMul", states, graph.weight("output", weights["output.weight"].T))
    logits = product + graph.weight("output_bias", weights["output.bias"])
    flat = graph.add("Reshape", graph.add("Sigmoid", logits), graph.constant([-1]))
    graph.add("Where", rejected, graph.constant(np.nan, np.float32), flat, output=PROBABILITIES.name)
