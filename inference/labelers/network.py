"""The default model without ONNX Runtime: its graph recognised, and its weights read from its file.

Most versions differ in their weights alone. Those whose graph `inference/native/answer.h` has in native code
are run by that, in less than half of the time. All others, also this one with what a fine-tuning adds, need a
runtime.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError

from dehusk.inference.labelers.batching import Window, WindowAnswer
from dehusk.inference.labelers.protobuf import message_class
from dehusk.inference.labelers.signature import SIGNATURE_KEY, STRUCTURE_WITH_LINKS, Signature
from dehusk.inference.native.network import WIDTHS, Network

_DECLARATIONS = """
    name: "dehusk/onnx.proto"  package: "dehusk"  syntax: "proto2"
    message_type {
      name: "Tensor"
      field { name: "dims"  number: 1  label: LABEL_REPEATED  type: TYPE_INT64 }
      field { name: "data_type"  number: 2  type: TYPE_INT32 }
      field { name: "name"  number: 8  type: TYPE_STRING }
      field { name: "raw_data"  number: 9  type: TYPE_BYTES }
    }
    message_type {
      name: "Attribute"
      field { name: "name"  number: 1  type: TYPE_STRING }
      field { name: "f"  number: 2  type: TYPE_FLOAT }
      field { name: "i"  number: 3  type: TYPE_INT64 }
      field { name: "s"  number: 4  type: TYPE_BYTES }
      field { name: "t"  number: 5  type_name: ".dehusk.Tensor" }
      field { name: "floats"  number: 7  label: LABEL_REPEATED  type: TYPE_FLOAT }
      field { name: "ints"  number: 8  label: LABEL_REPEATED  type: TYPE_INT64 }
      field { name: "strings"  number: 9  label: LABEL_REPEATED  type: TYPE_BYTES }
      field { name: "type"  number: 20  type: TYPE_INT32 }
    }
    message_type {
      name: "Node"
      field { name: "input"  number: 1  label: LABEL_REPEATED  type: TYPE_STRING }
      field { name: "output"  number: 2  label: LABEL_REPEATED  type: TYPE_STRING }
      field { name: "op_type"  number: 4  type: TYPE_STRING }
      field { name: "attribute"  number: 5  label: LABEL_REPEATED  type_name: ".dehusk.Attribute" }
      field { name: "domain"  number: 7  type: TYPE_STRING }
    }
    message_type {
      name: "Graph"
      field { name: "node"  number: 1  label: LABEL_REPEATED  type_name: ".dehusk.Node" }
      field { name: "initializer"  number: 5  label: LABEL_REPEATED  type_name: ".dehusk.Tensor" }
    }
    message_type {
      name: "Property"
      field { name: "key"  number: 1  type: TYPE_STRING }
      field { name: "value"  number: 2  type: TYPE_STRING }
    }
    message_type {
      name: "Model"
      field { name: "graph"  number: 7  type_name: ".dehusk.Graph" }
      field { name: "metadata_props"  number: 14  label: LABEL_REPEATED  type_name: ".dehusk.Property" }
    }
"""
_Model = message_class(_DECLARATIONS, "dehusk.Model")

_GRAPH = "533318f37a83d337a456a489f40d2e0e0376cefbc9e4d944fb12c40197bab2c5"
"""SHA-256 of the graph, but for names and what training gives it."""
_WEIGHTS = {
    "words": (61, 0),
    "elements": (98, 0),
    "score_biases": (155, 1),
    "page_factors": (167, 1),
    "page_offsets": (168, 1),
    "page_dense": (170, 1),
    "dense_bias": (170, 2),
    "factors": (172, 1),
    "offsets": (173, 1),
    "dense": (175, 1),
    "inputs": (227, 1),
    "recurrent": (227, 2),
    "gate_biases": (227, 3),
    "output_page": (249, 1),
    "output_bias": (249, 2),
    "output_states": (250, 1),
    "output_dense": (255, 1),
    "kinds": (256, 1),
    "kind_bias": (256, 2),
}
"""Nodes that read the weights of `network.h`, and which of their inputs these are."""
_WORD_WEIGHTS = (296, 0)
_SHARES = {"network_share": (364, 1), "trees_share": (365, 1), "offset": (369, 1)}
_TENSORS = {each.name for each in (*STRUCTURE_WITH_LINKS.model_inputs, *STRUCTURE_WITH_LINKS.answer)}
_TREES = "TreeEnsembleRegressor"
_TYPES = {1: np.float32, 11: np.float64}
"""NumPy's types of weights by ONNX's numbers."""
_LISTS = {6: "floats", 7: "ints", 8: "strings"}
"""Fields of an attribute by ONNX's numbers of its type, where it is a list."""
_LEAVES = 32
"""Most leaves of a tree, of which each is a bit."""
_ALL_LEAVES = (1 << _LEAVES) - 1
_UNFIT = (OSError, DecodeError, LookupError, ValueError, OverflowError, RecursionError)
"""Errors of a file that is no model, or has another one."""
_NODE = np.dtype([("column", np.int32), ("threshold", np.float32), ("leaves", np.uint32)])


@dataclass(frozen=True, slots=True)
class NativeModel:
    """A model in native code; each page is answered alone."""

    network: Network
    signature: ClassVar[Signature] = STRUCTURE_WITH_LINKS

    def answers(self, batch: Iterable[Window]) -> list[WindowAnswer]:
        """Return the answer to each window, in order."""
        return [
            self.network.answer(*(window.tensors[each.name] for each in self.signature.request))
            for window in batch
        ]


def read_native(file: Path) -> NativeModel | None:
    """Return the model of a file, or None if it has another graph, or the processor lacks the vectors."""
    if not WIDTHS:
        return None
    try:
        model = _Model.FromString(file.read_bytes())
        if (
            _properties(model).get(SIGNATURE_KEY) != STRUCTURE_WITH_LINKS.declared
            or _hash(model.graph) != _GRAPH
        ):
            return None
        return NativeModel(_network(model.graph))
    except _UNFIT:  # a runtime says what is wrong with it
        return None


def _properties(model: Any) -> dict[str, str]:  # noqa: ANN401 protobuf's messages have no types
    return {each.key: each.value for each in model.metadata_props}


def _hash(graph: Any) -> str:  # noqa: ANN401 see above
    """Return the hash of a graph but for names that it makes up, and for what training gives it."""
    constants = {each.name: each for each in graph.initializer}
    trained = {_input(graph, place) for place in (*_WEIGHTS.values(), *_SHARES.values())}
    numbers: dict[str, int] = {}
    seen: list[tuple[Any, ...]] = []
    for node in graph.node:
        for name in node.input:
            if name in constants and name not in numbers:
                constant = constants[name]
                seen.append((constant.data_type, [*constant.dims], name not in trained and constant.raw_data))
        values = [
            name if name in _TENSORS else numbers.setdefault(name, len(numbers))
            for name in (*node.input, *node.output)
        ]
        seen.append((node.op_type, node.domain, values, [*_attributes(node)]))
    return sha256(repr(seen).encode()).hexdigest()


def _input(graph: Any, place: tuple[int, int]) -> str:  # noqa: ANN401 see above
    """Return the name of an input of a node."""
    node, number = place
    name: str = graph.node[node].input[number]
    return name


def _attributes(node: Any) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 see above
    for each in node.attribute:
        yield each.name, each.type, each.i
        if node.op_type != _TREES:
            yield each.f, each.s, each.t.raw_data, [*each.floats], [*each.ints], [*each.strings]


def _network(graph: Any) -> Network:  # noqa: ANN401 see above
    """Return the network with the weights of a graph.

    Raises:
        ValueError: it does not fit, as a tree with too many leaves.
    """
    constants = {each.name: each for each in graph.initializer}
    places = _WEIGHTS | _SHARES | {"word_weights": _WORD_WEIGHTS}
    arrays = {name: _array(constants[_input(graph, place)]) for name, place in places.items()}
    shares = {name: float(arrays.pop(name)) for name in _SHARES}
    (trees,) = (node for node in graph.node if node.op_type == _TREES)
    return Network(arrays | _trees(trees), width=WIDTHS[-1], **shares)


def _array(tensor: Any) -> npt.NDArray[Any]:  # noqa: ANN401 see above
    return np.frombuffer(tensor.raw_data, _TYPES[tensor.data_type]).reshape(tensor.dims)


def _trees(node: Any) -> dict[str, npt.NDArray[Any]]:  # noqa: ANN401 see above
    """Return the branches of the trees, how many each has, and their leaves from left to right.

    Nodes are listed as an export does: each before those under it, its left side first.

    Raises:
        ValueError: a tree has too many leaves, nodes of another kind, or is listed otherwise.
    """
    lists = {each.name: getattr(each, _LISTS[each.type]) for each in node.attribute if each.type in _LISTS}
    rows, targets = (
        [*zip(*(lists[f"{kind}_{name}"] for name in names.split()), strict=True)][::-1]
        for kind, names in (
            ("nodes", "treeids nodeids modes featureids values truenodeids falsenodeids"),
            ("target", "treeids nodeids ids weights"),
        )
    )
    nodes: list[tuple[int, float, int]] = []

    def walk(tree: int, number: int, found: list[float]) -> list[float]:
        *place, mode, column, threshold, below, above = rows.pop()
        if place != [tree, number]:
            raise ValueError("nodes in another order")
        if mode == b"LEAF" and len(found) < _LEAVES:
            *target, weight = targets.pop()
            if target != [tree, number, 0]:
                raise ValueError("leaves in another order")
            return [*found, weight]
        if mode != b"BRANCH_LEQ":
            raise ValueError("other trees")
        at = len(nodes)
        nodes.append((0, 0.0, 0))
        upto = walk(tree, below, found)
        ruled_out = (1 << len(upto)) - (1 << len(found))
        nodes[at] = column, threshold, ruled_out ^ _ALL_LEAVES
        return walk(tree, above, upto)

    counts: list[int] = []
    leaves: list[list[float]] = []
    while rows:
        found = walk(len(leaves), 0, [])
        leaves.append(found + [0.0] * (_LEAVES - len(found)))
        counts.append(len(nodes) - sum(counts))
    if targets:
        raise ValueError("leaves of no tree")
    return {
        "nodes": np.array(nodes, _NODE),
        "tree_nodes": np.array(counts, np.int32),
        "leaves": np.array(leaves, np.float32),
    }
