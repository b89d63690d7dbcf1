"""The trained network as an ONNX graph that reads ragged pages of hashed tokens.

The graph holds the vocabulary as a hash table, sums the embeddings of each block, runs the LSTM over the
blocks of each page, and gives one probability per block. A page whose lengths contradict its ids gets NaN
and cannot disturb its batch mates.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx

from inference.signature import (
    BLOCK_COUNTS,
    BLOCK_LENGTHS,
    COUNTS,
    ID_COUNTS,
    IDS,
    PROBABILITIES,
    REQUEST,
    SIGNATURE,
    SIGNATURE_KEY,
)
from training.graph import Graph
from training.vocabulary import HashTable, Vocabulary

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class LstmLayer:
    """The weights of one bidirectional layer in ONNX's layout: gates i, o, f, c; forward, then backward."""

    inputs: Floats
    """Shape [2, 4 × hidden, inputs]."""
    recurrent: Floats
    """Shape [2, 4 × hidden, hidden]."""
    biases: Floats
    """Shape [2, 8 × hidden]: of the inputs, then of the recurrence."""

    @property
    def hidden(self) -> int:
        """States per direction."""
        return int(self.recurrent.shape[2])


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


@dataclass(frozen=True, slots=True)
class _Batch:
    """Names of the tensors that say where everything of a batch belongs; all int64, but for `rejected`."""

    blocks: str
    """How many blocks there are, shape [1]."""
    pages: str
    """How many pages there are, shape [1]."""
    longest: str
    """Blocks of the longest page, shape [1]."""
    place: str
    """Row of each block in the padded batch: its place in its page × pages + its page."""
    rejected: str
    """Whether each block is on a page whose lengths contradict its ids."""
    block_of_id: str
    """Block that each id belongs to."""
    row_of_id: str
    """Row of the embeddings of each id."""


def build_model(weights: Weights, vocabulary: Vocabulary) -> onnx.ModelProto:
    """The network as a checked ONNX model that declares its signature."""
    graph = Graph()
    batch = _batch(graph, vocabulary.hash_table())
    padded = _padded(graph, batch, _block_vectors(graph, batch, weights))
    for number, layer in enumerate(weights.layers):
        padded = _lstm(graph, padded, layer, f"lstm_{number}")
    _probabilities(graph, batch, padded, weights)
    return graph.model(
        {tensor.name: tensor.data_type for tensor in (*REQUEST, *COUNTS)},
        {PROBABILITIES.name: PROBABILITIES.data_type},
        {SIGNATURE_KEY: SIGNATURE},
    )


def _batch(graph: Graph, table: HashTable) -> _Batch:
    ids, lengths = graph.integers(IDS.name), graph.integers(BLOCK_LENGTHS.name)
    block_counts = graph.integers(BLOCK_COUNTS.name)
    blocks, pages = graph.add("Shape", lengths), graph.add("Shape", block_counts)
    first_block = _starts(graph, block_counts)
    page_of_block = _owners(graph, first_block, blocks)
    rejected, lengths = _reconciled(graph, lengths, block_counts, first_block, page_of_block)
    numbers = graph.add("Range", graph.constant(0), graph.add("Squeeze", blocks), graph.constant(1))
    place = graph.add("Sub", numbers, graph.add("Gather", first_block, page_of_block))
    return _Batch(
        blocks=blocks,
        pages=pages,
        longest=graph.add("ReduceMax", block_counts, keepdims=1),
        place=graph.add("Add", graph.add("Mul", place, pages), page_of_block),
        rejected=rejected,
        block_of_id=_owners(graph, _starts(graph, lengths), graph.add("Shape", ids)),
        row_of_id=_rows(graph, ids, table),
    )


def _reconciled(
    graph: Graph, lengths: str, block_counts: str, first_block: str, page_of_block: str
) -> tuple[str, str]:
    """Whether each block is on a rejected page, and lengths that sum to the ids of every page.

    All ids of a rejected page go to its first block, so that its batch mates keep theirs.
    """
    id_counts = graph.integers(ID_COUNTS.name)
    total = graph.add("ReduceSum", lengths, keepdims=1)
    ids_before = graph.add("Concat", _starts(graph, lengths), total, axis=0)
    after_page = graph.add("Gather", ids_before, graph.add("Add", first_block, block_counts))
    claimed = graph.add("Sub", after_page, graph.add("Gather", ids_before, first_block))
    page_rejected = graph.add("Not", graph.add("Equal", claimed, id_counts))
    rejected = graph.add("Gather", page_rejected, page_of_block)
    nothing = graph.constant(0)
    kept = graph.add("Where", rejected, nothing, lengths)
    moved = graph.add("Where", page_rejected, id_counts, nothing)
    return rejected, graph.add("ScatterElements", kept, first_block, moved, axis=0, reduction="add")


def _rows(graph: Graph, ids: str, table: HashTable) -> str:
    """Embedding row of each id: its slot's, if the slot holds that very id, else the row of unknown ids."""
    slot = graph.add("Mod", ids, graph.constant([len(table.ids)]))
    known = graph.integers(graph.add("Gather", graph.constant(table.ids, np.uint32), slot))
    row = graph.integers(graph.add("Gather", graph.constant(table.rows, np.uint16), slot))
    return graph.add("Where", graph.add("Equal", known, ids), row, graph.constant(0))


def _starts(graph: Graph, counts: str) -> str:
    """Where each part starts when parts of these counts lie one after the other."""
    return graph.add("CumSum", counts, graph.constant(0), exclusive=1)


def _owners(graph: Graph, starts: str, total: str) -> str:
    """Which part each of `total` positions is in, given where the parts start; the first starts at 0."""
    zeros = graph.filled(graph.add("Add", total, graph.constant([1])), 0)
    ones = graph.filled(graph.add("Shape", starts), 1)
    marks = graph.add("ScatterElements", zeros, starts, ones, axis=0, reduction="add")
    begun = graph.add("CumSum", marks, graph.constant(0))
    inside = graph.add("Slice", begun, graph.constant([0]), total)
    return graph.add("Sub", inside, graph.constant(1))


def _block_vectors(graph: Graph, batch: _Batch, weights: Weights) -> str:
    """The dense layer over the token counts of each block, shape [blocks, dense]."""
    columns = graph.constant([len(weights.embeddings)])
    cell = graph.add("Add", graph.add("Mul", batch.block_of_id, columns), batch.row_of_id)
    ones = graph.filled(graph.add("Shape", cell), 1, np.float32)
    zeros = graph.filled(graph.add("Mul", batch.blocks, columns), 0, np.float32)
    counts = graph.add("ScatterElements", zeros, cell, ones, axis=0, reduction="add")
    shape = graph.add("Concat", graph.constant([-1]), columns, axis=0)
    dense = graph.add(
        "MatMul", graph.add("Reshape", counts, shape), _weight(graph, "embeddings", weights.embeddings)
    )
    return graph.add(
        "Relu", graph.add("Add", dense, _weight(graph, "embedding_bias", weights.embedding_bias))
    )


def _padded(graph: Graph, batch: _Batch, vectors: str) -> str:
    """The vectors of the blocks by place and page, zero where a page is shorter: [longest, pages, dense]."""
    width = graph.add("Slice", graph.add("Shape", vectors), graph.constant([1]), graph.constant([2]))
    places = graph.add("Mul", batch.longest, batch.pages)
    zeros = graph.filled(graph.add("Concat", places, width, axis=0), 0, np.float32)
    rows = graph.add("Unsqueeze", batch.place, graph.constant([1]))
    scattered = graph.add("ScatterND", zeros, rows, vectors)
    shape = graph.add("Concat", batch.longest, batch.pages, width, axis=0)
    return graph.add("Reshape", scattered, shape)


def _lstm(graph: Graph, sequence: str, layer: LstmLayer, name: str) -> str:
    """Both directions of one layer side by side: [longest, pages, 2 × hidden]."""
    states = graph.add(
        "LSTM",
        sequence,
        _weight(graph, f"{name}_inputs", layer.inputs),
        _weight(graph, f"{name}_recurrent", layer.recurrent),
        _weight(graph, f"{name}_biases", layer.biases),
        BLOCK_COUNTS.name,
        direction="bidirectional",
        hidden_size=layer.hidden,
    )
    by_page = graph.add("Transpose", states, perm=[0, 2, 1, 3])
    return graph.add("Reshape", by_page, graph.constant([0, 0, -1]))


def _probabilities(graph: Graph, batch: _Batch, states: str, weights: Weights) -> None:
    """The probability of each block, NaN on rejected pages."""
    logits = graph.add(
        "Add",
        graph.add("MatMul", states, _weight(graph, "output", weights.output)),
        _weight(graph, "output_bias", weights.output_bias),
    )
    flat = graph.add("Reshape", graph.add("Sigmoid", logits), graph.constant([-1]))
    ragged = graph.add("Gather", flat, batch.place)
    not_a_number = graph.constant(np.nan, np.float32)
    graph.add("Where", batch.rejected, not_a_number, ragged, output=PROBABILITIES.name)


def _weight(graph: Graph, name: str, values: Floats) -> str:
    return graph.constant(values, np.float32, name)
