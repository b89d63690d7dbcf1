"""Subgraphs that read ragged pages: which page, block or element everything of a batch belongs to."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.training.graph import Graph

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
    after: str
    """The number after that of each page's last part, shape [pages]."""
    total: str
    """How many parts there are, shape [1]."""
    page: str
    """The page of each part, shape [total]."""


@dataclass(frozen=True, slots=True)
class Places:
    """Names of the int64 tensors that place blocks in a padded batch."""

    block: str
    """The block at each place of each page, its last one beyond its end: [longest, pages]."""
    place: str
    """Row of each block: its place in its page × pages + its page."""


def parts(graph: Graph, counts: str, total: str) -> Parts:
    """The parts of pages that have so many of them; `counts` and `total` are int64."""
    after = graph.add("CumSum", counts, graph.constant(0))
    first = graph.add("Sub", after, counts)
    return Parts(counts, first, after, total, owners(graph, first, total))


def places(graph: Graph, blocks: Parts) -> Places:
    """Where each block lies when pages lie padded side by side."""
    last = graph.add("Sub", blocks.counts, graph.constant(1))
    numbers = graph.upright(graph.numbers(graph.add("ReduceMax", blocks.counts, keepdims=1)))
    inside = graph.add("Min", numbers, last)
    place = graph.add("Sub", numbered(graph, blocks), graph.at(blocks.first, blocks.page))
    rows = graph.add("Mul", place, graph.add("Shape", blocks.counts))
    return Places(block=graph.add("Add", inside, blocks.first), place=graph.add("Add", rows, blocks.page))


def numbered(graph: Graph, owner: Parts) -> str:
    """The number of each part in the batch, shape [total]."""
    return graph.numbers(owner.total)


def reconciled(graph: Graph, lengths: str, owner: Parts, id_counts: str) -> tuple[str, str]:
    """Whether each page's lengths contradict its ids, and lengths that sum to the ids of every page.

    All ids of a contradicting page go to its first part, so that its batch mates keep theirs.
    """
    upto = with_none(graph, graph.add("CumSum", lengths, graph.constant(0)))
    claimed = between(graph, upto, owner.first, owner.after)
    contradicts = graph.add("Not", graph.add("Equal", claimed, id_counts))
    nothing = graph.constant(0)
    kept = graph.add("Where", graph.at(contradicts, owner.page), nothing, lengths)
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
    """The vectors of the blocks by place and page: [longest, pages, width]."""
    return graph.add("Gather", vectors, where.block)


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


def at_places(graph: Graph, where: Places, states: str, width: int) -> str:
    """The rows of a padded batch in the order of the blocks: [blocks, width]."""
    return graph.add("Gather", graph.add("Reshape", states, graph.constant([-1, width])), where.place)


def with_none(graph: Graph, vector: str) -> str:
    """The vector after a 0, which stands for what is not there."""
    return graph.add("Concat", graph.constant([0]), vector, axis=0)


def between(graph: Graph, sums: str, first: str, after: str) -> str:
    """The sums of runs of numbers, given the sums up to each and where the runs start and end."""
    return graph.add("Sub", graph.at(sums, after), graph.at(sums, first))


def summed(graph: Graph, values: str, owner: str, total: str, *, width: int, dtype: npt.DTypeLike) -> str:
    """Rows of `values`, of this type, added up by owner, shape [total, width]."""
    zeros = graph.filled(graph.add("Concat", total, graph.constant([width]), axis=0), 0, dtype)
    return graph.add("ScatterND", zeros, graph.upright(owner), values, reduction="add")


def weight(graph: Graph, name: str, values: Floats) -> str:
    """A float32 constant of a name."""
    return graph.constant(values, np.float32, name)


def pointed_to(graph: Graph, tensor: str, pointed: Parts, pointing: Parts) -> str:
    """1 + the number in the batch of what a page's 1-based number points to; 0 for none."""
    local = graph.integers(tensor)
    inside = graph.add("Min", local, graph.at(pointed.counts, pointing.page))
    number = graph.add("Add", inside, graph.at(pointed.first, pointing.page))
    nothing = graph.constant(0)
    return graph.add("Where", graph.add("Greater", local, nothing), number, nothing)
