"""Subgraphs that read ragged pages: which page, block or element everything of a batch belongs to."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from training.graph import Graph

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
class Parts:
    """Names of the int64 tensors that say how the parts (blocks, elements) of all pages lie."""

    counts: str
    """How many parts each page has, shape [pages]."""
    first: str
    """The number of each page's first part, shape [pages]."""
    total: str
    """How many parts there are, shape [1]."""
    page: str
    """The page of each part, shape [total]."""


@dataclass(frozen=True, slots=True)
class Places:
    """Names of the int64 tensors that place blocks in a padded batch."""

    pages: str
    """How many pages there are, shape [1]."""
    longest: str
    """Blocks of the longest page, shape [1]."""
    place: str
    """Row of each block: its place in its page × pages + its page."""


def parts(graph: Graph, counts: str, total: str) -> Parts:
    """The parts of pages that have so many of them; `counts` and `total` are int64."""
    first = starts(graph, counts)
    return Parts(counts, first, total, owners(graph, first, total))


def places(graph: Graph, blocks: Parts) -> Places:
    """Where each block lies when pages lie padded side by side."""
    pages = graph.add("Shape", blocks.counts)
    place = graph.add("Sub", graph.numbers(blocks.total), graph.add("Gather", blocks.first, blocks.page))
    return Places(
        pages=pages,
        longest=graph.add("ReduceMax", blocks.counts, keepdims=1),
        place=graph.add("Add", graph.add("Mul", place, pages), blocks.page),
    )


def reconciled(graph: Graph, lengths: str, owner: Parts, id_counts: str) -> tuple[str, str]:
    """Whether each page's lengths contradict its ids, and lengths that sum to the ids of every page.

    All ids of a contradicting page go to its first part, so that its batch mates keep theirs.
    """
    total = graph.add("ReduceSum", lengths, keepdims=1)
    ids_before = graph.add("Concat", starts(graph, lengths), total, axis=0)
    after_page = graph.add("Gather", ids_before, graph.add("Add", owner.first, owner.counts))
    claimed = graph.add("Sub", after_page, graph.add("Gather", ids_before, owner.first))
    contradicts = graph.add("Not", graph.add("Equal", claimed, id_counts))
    nothing = graph.constant(0)
    kept = graph.add("Where", graph.add("Gather", contradicts, owner.page), nothing, lengths)
    moved = graph.add("Where", contradicts, id_counts, nothing)
    return contradicts, graph.add("ScatterElements", kept, owner.first, moved, axis=0, reduction="add")


def starts(graph: Graph, counts: str) -> str:
    """Where each part starts when parts of these counts lie one after the other."""
    return graph.add("CumSum", counts, graph.constant(0), exclusive=1)


def owners(graph: Graph, first: str, total: str) -> str:
    """Which part each of `total` positions is in, given where the parts start; the first starts at 0."""
    zeros = graph.filled(graph.add("Add", total, graph.constant([1])), 0)
    ones = graph.filled(graph.add("Shape", first), 1)
    marks = graph.add("ScatterElements", zeros, first, ones, axis=0, reduction="add")
    begun = graph.add("CumSum", marks, graph.constant(0))
    inside = graph.add("Slice", begun, graph.constant([0]), total)
    return graph.add("Sub", inside, graph.constant(1))


def padded(graph: Graph, where: Places, vectors: str) -> str:
    """The vectors of the blocks by place and page, zero where a page is shorter: [longest, pages, width]."""
    width = graph.add("Slice", graph.add("Shape", vectors), graph.constant([1]), graph.constant([2]))
    rows = graph.add("Mul", where.longest, where.pages)
    zeros = graph.filled(graph.add("Concat", rows, width, axis=0), 0, np.float32)
    scattered = graph.add("ScatterND", zeros, graph.upright(where.place), vectors)
    return graph.add("Reshape", scattered, graph.add("Concat", where.longest, where.pages, width, axis=0))


def lstm(graph: Graph, sequence: str, layer: LstmLayer, name: str, lengths: str) -> str:
    """Both directions of one layer, zero beyond a page's length: [longest, pages, 2 × hidden]."""
    states = graph.add(
        "LSTM",
        sequence,
        weight(graph, f"{name}_inputs", layer.inputs),
        weight(graph, f"{name}_recurrent", layer.recurrent),
        weight(graph, f"{name}_biases", layer.biases),
        lengths,
        direction="bidirectional",
        hidden_size=layer.hidden,
    )
    by_page = graph.add("Transpose", states, perm=[0, 2, 1, 3])
    return graph.add("Reshape", by_page, graph.constant([0, 0, -1]))


def at_places(graph: Graph, where: Places, states: str) -> str:
    """The rows of a padded batch in the order of the blocks: [blocks, width]."""
    width = graph.add("Slice", graph.add("Shape", states), graph.constant([2]), graph.constant([3]))
    flat = graph.add("Reshape", states, graph.add("Concat", graph.constant([-1]), width, axis=0))
    return graph.add("Gather", flat, where.place)


def summed(graph: Graph, values: str, owner: str, total: str, dtype: npt.DTypeLike = np.float32) -> str:
    """Rows of `values`, of this type, added up by owner, shape [total, columns]."""
    width = graph.add("Slice", graph.add("Shape", values), graph.constant([1]), graph.constant([2]))
    zeros = graph.filled(graph.add("Concat", total, width, axis=0), 0, dtype)
    rows = graph.upright(owner)
    return graph.add("ScatterND", zeros, rows, values, reduction="add")


def weight(graph: Graph, name: str, values: Floats) -> str:
    """A float32 constant of a name."""
    return graph.constant(values, np.float32, name)
