"""The default model without ONNX Runtime: its graph recognised, and its weights read from its file.

Most versions differ in their weights alone. Those whose graph `inference/native/network.h` has in native code
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
from dehusk.inference.native.network import IS_SUPPORTED, Network

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

_GRAPH = "3b68772faf0ca48e148be2a28c484e6ea8dc158ab69105379591d4b66bd899c6"
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
_TYPES = {1: np.float32, 7: np.int64, 9: np.bool_, 11: np.float64, 12: np.uint32}
"""NumPy's types by ONNX's numbers."""
_LEAVES = 32
"""Most leaves of a tree, of which each is a bit."""
_ALL_LEAVES = (1 << _LEAVES) - 1
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
    if not IS_SUPPORTED:
        return None
    try:
        model = _Model.FromString(file.read_bytes())
        if (
            _properties(model).get(SIGNATURE_KEY) != STRUCTURE_WITH_LINKS.declared
            or _hash(model.graph) != _GRAPH
        ):
            return None
        return NativeModel(_network(model.graph))
    except (OSError, DecodeError, LookupError, ValueError, RecursionError):  # a runtime says what is wrong
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
        if node.op_type == _TREES:
            yield (each.name,)
        else:
            yield (
                each.name,
                each.f,
                each.i,
                each.s,
                each.t.raw_data,
                [*each.floats],
                [*each.ints],
                [*each.strings],
            )


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
    return Network(arrays | _trees(trees), **shares)


def _array(tensor: Any) -> npt.NDArray[Any]:  # noqa: ANN401 see above
    return np.frombuffer(tensor.raw_data, _TYPES[tensor.data_type]).reshape(tensor.dims)


def _trees(node: Any) -> dict[str, npt.NDArray[Any]]:  # noqa: ANN401 see above
    """Return the nodes of the trees, how many each has, and their leaves from left to right.

    Raises:
        ValueError: a tree has too many leaves, or nodes of another kind.
    """
    lists = {each.name: each.ints or each.floats or each.strings for each in node.attribute}
    columns, thresholds, modes, below, above = (
        lists[f"nodes_{name}"] for name in ("featureids", "values", "modes", "truenodeids", "falsenodeids")
    )
    of_nodes = zip(lists["nodes_treeids"], lists["nodes_nodeids"], strict=True)
    places = {each: place for place, each in enumerate(of_nodes)}
    of_leaves = zip(lists["target_treeids"], lists["target_nodeids"], strict=True)
    weights = dict(zip(of_leaves, lists["target_weights"], strict=True))
    nodes: list[tuple[int, float, int]] = []

    def walk(tree: int, number: int, found: list[float]) -> list[float]:
        place = places[tree, number]
        if modes[place] == b"LEAF" and len(found) < _LEAVES:
            return [*found, weights[tree, number]]
        if modes[place] != b"BRANCH_LEQ":
            raise ValueError("other trees")
        at = len(nodes)
        nodes.append((0, 0.0, 0))
        upto = walk(tree, below[place], found)
        ruled_out = (1 << len(upto)) - (1 << len(found))
        nodes[at] = columns[place], thresholds[place], ruled_out ^ _ALL_LEAVES
        return walk(tree, above[place], upto)

    counts: list[int] = []
    leaves = np.zeros((len({tree for tree, _ in places}), _LEAVES), np.float32)
    for tree, of_tree in enumerate(leaves):
        found = walk(tree, 0, [])
        of_tree[: len(found)] = found
        counts.append(len(nodes) - sum(counts))
    return {"nodes": np.array(nodes, _NODE), "tree_nodes": np.array(counts, np.int32), "leaves": leaves}
