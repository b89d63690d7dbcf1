"""A builder of ONNX graphs, and subgraphs that read ragged pages."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from dehusk.inference.labelers.signature import SIGNATURE_KEY, Signature, Tensor
from dehusk.training.arrays import Floats

TREES = "ai.onnx.ml"
"""Domain of ONNX's operators on trees."""
OPSETS = {"": 18, TREES: 3}
IR_VERSION = 10
"""Version that is read by ONNX Runtime 1.18 and newer, and so by Triton's containers since 24.08."""

_LAST = np.iinfo(np.int64).max
"""End of a slice that takes all the rest."""
_TYPES = {
    "UINT32": TensorProto.UINT32,
    "UINT16": TensorProto.UINT16,
    "UINT8": TensorProto.UINT8,
    "INT32": TensorProto.INT32,
    "FP16": TensorProto.FLOAT16,
    "FP32": TensorProto.FLOAT,
}
"""Triton's names of element types."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a graph, to which arithmetic adds nodes; integers become constants of int64."""

    graph: "Graph"
    name: str

    def __str__(self) -> str:
        return self.name

    def __add__(self, other: "Value | int") -> "Value":
        return self._with("Add", other)

    def __sub__(self, other: "Value | int") -> "Value":
        return self._with("Sub", other)

    def __mul__(self, other: "Value | int") -> "Value":
        return self._with("Mul", other)

    def __truediv__(self, other: "Value | int") -> "Value":
        return self._with("Div", other)

    def _with(self, operator: str, other: "Value | int") -> "Value":
        return self.graph.add(operator, self, self.graph.constant(other) if isinstance(other, int) else other)


@dataclass(frozen=True, slots=True)
class LstmLayer:
    """Weights of one bidirectional layer in ONNX's layout: gates i, o, f, c; forward, then backward."""

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
    """Int64 tensors that locate the parts (blocks, elements) of all pages."""

    counts: Value
    """Number of parts of each page, shape [pages]."""
    first: Value
    """Number of each page's first part, shape [pages]."""
    after: Value
    """Number after that of each page's last part, shape [pages]."""
    total: Value
    """Number of all parts, shape [1]."""
    page: Value
    """Page of each part, shape [total]."""


@dataclass(frozen=True, slots=True)
class Places:
    """Int64 tensors that place blocks in a padded batch."""

    block: Value
    """Block at each place of each page, its last one beyond its end: [longest, pages]."""
    place: Value
    """Row of each block: its place in its page × pages + its page."""


class Graph:
    """An ONNX graph under construction; a value that is not made here is referred to by its name."""

    def __init__(self, prefix: str = "") -> None:
        """Begin a graph; made-up names begin with `prefix`, so that it can extend another one."""
        self._prefix = prefix
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def add(self, operator: str, *inputs: Value | str, output: str = "", **attributes: object) -> Value:
        """Add a node, and return its output."""
        output = output or f"{self._prefix}{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(map(str, inputs)), [output], **attributes))
        return Value(self, output)

    def constant(self, value: npt.ArrayLike, dtype: npt.DTypeLike = np.int64, name: str = "") -> Value:
        """Add a constant."""
        name = f"{self._prefix}{name or f'constant_{len(self._constants)}'}"
        self._constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return Value(self, name)

    def integers(self, tensor: Value | str) -> Value:
        """Cast to int64, in which every index is computed."""
        return self.add("Cast", tensor, to=TensorProto.INT64)

    def floats(self, tensor: Value | str) -> Value:
        """Cast to float32."""
        return self.add("Cast", tensor, to=TensorProto.FLOAT)

    def doubles(self, tensor: Value | str) -> Value:
        """Cast to float64, in which long sums are computed."""
        return self.add("Cast", tensor, to=TensorProto.DOUBLE)

    def at(self, vector: Value, indices: Value) -> Value:
        """Gather elements of a vector, several times as fast as rows are gathered."""
        return self.add("GatherElements", vector, indices)

    def part(self, rows: Value, first: int, after: int = _LAST) -> Value:
        """Return the rows from `first` up to that before `after`; a negative one counts from the end."""
        return self.add("Slice", rows, self.constant([first]), self.constant([after]))

    def columns(self, matrix: Value, first: int, after: int) -> Value:
        """Return the columns from `first` up to that before `after`."""
        return self.add("Slice", matrix, *(self.constant([each]) for each in (first, after, 1)))

    def split(self, matrix: Value, *widths: int, axis: int = 1) -> list[Value]:
        """Split a matrix by its columns, or its rows, into parts of these widths."""
        parts = [f"{matrix}_{len(self._nodes)}_{number}" for number in range(len(widths))]
        inputs = [str(matrix), str(self.constant(widths))]
        self._nodes.append(helper.make_node("Split", inputs, parts, axis=axis))
        return [Value(self, part) for part in parts]

    def numbers(self, total: Value) -> Value:
        """Count from 0 to total - 1, where `total` has shape [1]."""
        return self.add("Range", self.constant(0), self.add("Squeeze", total), self.constant(1))

    def clipped(self, tensor: Value, low: float, high: float) -> Value:
        """Clip a tensor of float32."""
        return self.add("Clip", tensor, *(self.constant(limit, np.float32) for limit in (low, high)))

    def rows(self, tensor: str, width: int) -> Value:
        """Read a ragged tensor as rows of float32."""
        return self.add("Reshape", self.floats(tensor), self.constant([-1, width]))

    def upright(self, vector: Value) -> Value:
        """Make a vector a matrix of one column."""
        return self.add("Unsqueeze", vector, self.constant([1]))

    def filled(self, shape: Value, value: float, dtype: npt.DTypeLike = np.int64) -> Value:
        """Fill a tensor of a shape with one value."""
        tensor = numpy_helper.from_array(np.array([value], dtype))
        return self.add("ConstantOfShape", shape, value=tensor)

    def extend(self, model: onnx.ModelProto) -> None:
        """Append the nodes to those of a model; they read its tensors by their names."""
        model.graph.node.extend(self._nodes)
        model.graph.initializer.extend(self._constants)

    def model(self, name: str, signature: Signature) -> onnx.ModelProto:
        """Return the checked model, which reads and gives the tensors of the signature and declares it."""
        inputs = (*signature.request, *(count.tensor for count in signature.counts))
        graph = helper.make_graph(
            self._nodes, name, _declared(inputs), _declared(signature.answer), self._constants
        )
        domains = sorted({node.domain for node in self._nodes})
        opsets = [helper.make_opsetid(domain, OPSETS[domain]) for domain in domains]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="dehusk")
        helper.set_model_props(model, {SIGNATURE_KEY: signature.declared})
        onnx.checker.check_model(model, full_check=True)
        return model

    def parts(self, counts: Value, total: Value) -> Parts:
        """Locate the parts of pages, given the number of each page and of all; both are int64."""
        after = self.add("CumSum", counts, self.constant(0))
        first = after - counts
        return Parts(counts, first, after, total, self.owners(first, total))

    def places(self, blocks: Parts) -> Places:
        """Place each block in a batch of pages that lie padded side by side."""
        last = blocks.counts - 1
        numbers = self.upright(self.numbers(self.add("ReduceMax", blocks.counts, keepdims=1)))
        inside = self.add("Min", numbers, last)
        place = self.numbers(blocks.total) - self.at(blocks.first, blocks.page)
        rows = place * self.add("Shape", blocks.counts)
        return Places(block=inside + blocks.first, place=rows + blocks.page)

    def reconciled(self, lengths: Value, owner: Parts, id_counts: Value) -> tuple[Value, Value]:
        """Return where a page's lengths contradict its ids, and lengths that sum to the ids of every page.

        All ids of a contradicting page go to its first part, so that its batch mates keep theirs.
        """
        upto = self.with_none(self.add("CumSum", lengths, self.constant(0)))
        claimed = self.between(upto, owner.first, owner.after)
        contradicts = self.add("Not", self.add("Equal", claimed, id_counts))
        nothing = self.constant(0)
        kept = self.add("Where", self.at(contradicts, owner.page), nothing, lengths)
        moved = self.add("Where", contradicts, id_counts, nothing)
        return contradicts, self.add("ScatterElements", kept, owner.first, moved, axis=0, reduction="add")

    def starts(self, counts: Value) -> Value:
        """Return the start of each part when parts of these counts lie one after the other."""
        return self.add("CumSum", counts, self.constant(0), exclusive=1)

    def owners(self, first: Value, total: Value) -> Value:
        """Return the part of each of `total` positions, given the starts of parts; the first is at 0."""
        zeros = self.filled(total + self.constant([1]), 0)
        ones = self.filled(self.add("Shape", first), 1)
        marks = self.add("ScatterElements", zeros, first, ones, axis=0, reduction="add")
        begun = self.add("CumSum", marks, self.constant(0))
        inside = self.add("Slice", begun, self.constant([0]), total)
        return inside - 1

    def padded(self, where: Places, vectors: Value) -> Value:
        """Lay out the vectors of the blocks by place and page: [longest, pages, width]."""
        return self.add("Gather", vectors, where.block)

    def lstm(self, sequence: Value, layer: LstmLayer, name: str, lengths: Value | str) -> Value:
        """Add both directions of one layer, zero beyond a page's length: [longest, pages, 2 × hidden]."""
        states = self.add(
            "LSTM",
            sequence,
            self.weight(f"{name}_inputs", layer.inputs),
            self.weight(f"{name}_recurrent", layer.recurrent),
            self.weight(f"{name}_biases", layer.biases),
            lengths,
            direction="bidirectional",
            hidden_size=layer.hidden,
        )
        by_page = self.add("Transpose", states, perm=[0, 2, 1, 3])
        return self.add("Reshape", by_page, self.constant([0, 0, -1]))

    def at_places(self, where: Places, states: Value, width: int) -> Value:
        """Return the rows of a padded batch in the order of the blocks: [blocks, width]."""
        return self.add("Gather", self.add("Reshape", states, self.constant([-1, width])), where.place)

    def with_none(self, vector: Value) -> Value:
        """Put a 0, which stands for what is not there, before a vector."""
        return self.add("Concat", self.constant([0]), vector, axis=0)

    def between(self, sums: Value, first: Value, after: Value) -> Value:
        """Return the sums of runs of numbers, given the sums up to each and where the runs start and end."""
        return self.at(sums, after) - self.at(sums, first)

    def summed(self, values: Value, owner: Value, total: Value, *, width: int, dtype: npt.DTypeLike) -> Value:
        """Add up rows of `values`, of this type, by owner: shape [total, width].

        `ScatterND` is the faster one, but on a GPU, ONNX Runtime adds no float64 by it.
        """
        zeros = self.filled(self.add("Concat", total, self.constant([width]), axis=0), 0, dtype)
        rows = self.upright(owner)
        if dtype != np.float64:
            return self.add("ScatterND", zeros, rows, values, reduction="add")
        places = self.add("Expand", rows, self.add("Shape", values))
        return self.add("ScatterElements", zeros, places, values, axis=0, reduction="add")

    def weight(self, name: str, values: Floats) -> Value:
        """Add a float32 constant of a name."""
        return self.constant(values, np.float32, name)

    def pointed_to(self, tensor: Value | str, pointed: Parts, pointing: Parts) -> Value:
        """Return 1 + the number in the batch that a page's 1-based number points to; 0 for none."""
        local = self.integers(tensor)
        inside = self.add("Min", local, self.at(pointed.counts, pointing.page))
        number = inside + self.at(pointed.first, pointing.page)
        nothing = self.constant(0)
        return self.add("Where", self.add("Greater", local, nothing), number, nothing)


def _shape(tensor: Tensor) -> list[str | int]:
    return ["pages", len(tensor.columns)] if tensor.columns else [f"{tensor.name}_length"]


def _declared(tensors: Iterable[Tensor]) -> list[onnx.ValueInfoProto]:
    return [
        helper.make_tensor_value_info(tensor.name, _TYPES[tensor.data_type], _shape(tensor))
        for tensor in tensors
    ]
