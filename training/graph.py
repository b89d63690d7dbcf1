"""A thin builder of ONNX graphs: nodes in order, constants by value, tensors by name."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from dehusk.inference.signature import SIGNATURE_KEY, Signature, Tensor

TREES = "ai.onnx.ml"
"""The domain of ONNX's operators on trees."""
OPSETS = {"": 18, TREES: 3}
IR_VERSION = 10
"""Read by ONNX Runtime 1.18 and newer, and so by Triton's containers since 24.08."""

_TYPES = {
    "UINT32": TensorProto.UINT32,
    "UINT16": TensorProto.UINT16,
    "UINT8": TensorProto.UINT8,
    "INT32": TensorProto.INT32,
    "FP16": TensorProto.FLOAT16,
    "FP32": TensorProto.FLOAT,
}
"""Triton's names of element types."""


class Graph:
    """An ONNX graph under construction; tensors are referred to by their names."""

    def __init__(self, prefix: str = "") -> None:
        """`prefix` begins the names that are made up here, so that the graph can extend another one."""
        self._prefix = prefix
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: object) -> str:
        """The name of the output of one more node."""
        output = output or f"{self._prefix}{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def constant(self, value: npt.ArrayLike, dtype: npt.DTypeLike = np.int64, name: str = "") -> str:
        """The name of a constant."""
        name = f"{self._prefix}{name or f'constant_{len(self._constants)}'}"
        self._constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def integers(self, tensor: str) -> str:
        """The tensor as int64, in which every index is computed."""
        return self.add("Cast", tensor, to=TensorProto.INT64)

    def floats(self, tensor: str) -> str:
        """The tensor as float32."""
        return self.add("Cast", tensor, to=TensorProto.FLOAT)

    def doubles(self, tensor: str) -> str:
        """The tensor as float64, in which long sums are computed."""
        return self.add("Cast", tensor, to=TensorProto.DOUBLE)

    def at(self, vector: str, indices: str) -> str:
        """The elements of a vector at these indices, several times as fast as rows are gathered."""
        return self.add("GatherElements", vector, indices)

    def split(self, matrix: str, *widths: int, axis: int = 1) -> list[str]:
        """The columns of a matrix, or its rows, in parts of these widths."""
        parts = [f"{matrix}_{len(self._nodes)}_{number}" for number in range(len(widths))]
        self._nodes.append(helper.make_node("Split", [matrix, self.constant(widths)], parts, axis=axis))
        return parts

    def numbers(self, total: str) -> str:
        """0 … total - 1, where `total` has shape [1]."""
        return self.add("Range", self.constant(0), self.add("Squeeze", total), self.constant(1))

    def upright(self, vector: str) -> str:
        """A vector as a matrix of one column."""
        return self.add("Unsqueeze", vector, self.constant([1]))

    def filled(self, shape: str, value: float, dtype: npt.DTypeLike = np.int64) -> str:
        """A tensor of a shape, all of one value."""
        tensor = numpy_helper.from_array(np.array([value], dtype))
        return self.add("ConstantOfShape", shape, value=tensor)

    def extend(self, model: onnx.ModelProto) -> None:
        """Put the nodes behind those of a model; they read its tensors by their names."""
        model.graph.node.extend(self._nodes)
        model.graph.initializer.extend(self._constants)

    def model(self, name: str, signature: Signature) -> onnx.ModelProto:
        """The checked model, which reads and gives the tensors of the signature and declares it."""
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


def _declared(tensors: Iterable[Tensor]) -> list[onnx.ValueInfoProto]:
    return [
        helper.make_tensor_value_info(tensor.name, _TYPES[tensor.data_type], [f"{tensor.name}_length"])
        for tensor in tensors
    ]
