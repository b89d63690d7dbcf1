"""Properties, inputs and outputs that an ONNX file declares, read without loading it.

ONNX Runtime shows them only after loading the model; the package `onnx` copies all weights and is not
installed with a worker. So the few necessary fields of `onnx.proto` are parsed here, without a copy.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from dehusk.inference.labelers.signature import (
    SIGNATURE_KEY,
    Signature,
    Tensor,
    names_of,
    signature_of,
    unknown_signature,
)
from dehusk.streams.models.names import Fault, FaultError

_MAX_FIELDS = 100_000
"""Fields of a file beyond which it is read no further; models of dehusk have less than a thousand."""
_GRAPH, _PROPERTIES = 7, 14
_INPUT, _OUTPUT = 11, 12
_TYPES = {
    1: "FP32",
    2: "UINT8",
    3: "INT8",
    4: "UINT16",
    5: "INT16",
    6: "INT32",
    7: "INT64",
    10: "FP16",
    12: "UINT32",
}
"""Triton's names of `TensorProto.DataType`, without those that no model of dehusk has."""


@dataclass(frozen=True, slots=True)
class OnnxHeader:
    """The properties and tensors that an ONNX file declares."""

    properties: dict[str, str]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


def read_header(content: bytes) -> OnnxHeader:
    """Return what a file declares.

    Raises:
        FaultError: it is no ONNX file.
    """
    counted = count(1)
    try:
        fields = list(_fields(memoryview(content), counted))
        pairs = [_strings(value, counted) for number, value in fields if number == _PROPERTIES]
        graphs = [_view(value) for number, value in fields if number == _GRAPH]
        graph = [field for each in graphs for field in _fields(each, counted)]
        header = OnnxHeader(
            {pair.get(1, ""): pair.get(2, "") for pair in pairs},
            tuple(_tensor(value, counted) for number, value in graph if number == _INPUT),
            tuple(_tensor(value, counted) for number, value in graph if number == _OUTPUT),
        )
    except (ValueError, IndexError, KeyError) as error:
        raise FaultError(Fault.NOT_ONNX, f"the model file cannot be read as ONNX: {error}") from error
    if not header.outputs:
        raise FaultError(Fault.NOT_ONNX, "the model file has no graph with outputs, so it is no ONNX model")
    return header


def signature_in(header: OnnxHeader) -> Signature:
    """Return the signature that a file declares, and check its tensors.

    Raises:
        FaultError: workers do not support it, or the tensors do not match it.
    """
    declared = header.properties.get(SIGNATURE_KEY, "none")
    signature = signature_of(declared)
    if signature is None:
        raise FaultError(Fault.UNKNOWN_SIGNATURE, unknown_signature("the model", declared))
    _compare("reads", signature.model_inputs, {*header.inputs})
    _compare("answers", {*signature.answer}, {*header.outputs})
    return signature


def _compare(does: str, expected: set[Tensor], found: set[Tensor]) -> None:
    if expected != found:
        raise FaultError(
            Fault.OTHER_TENSORS,
            f"the model {does} {names_of(found)}; its signature says {names_of(expected)}",
        )


def _tensor(value: int | memoryview, counted: Iterator[int]) -> Tensor:
    """Return name and element type of a `ValueInfoProto`."""
    name, kind = "", ""
    for number, inner in _fields(_view(value), counted):
        if number == 1:
            name = str(_view(inner), "utf-8")
        elif number == 2:
            kind = _element_type(_view(inner), counted)
    return Tensor(name, kind)


def _element_type(type_proto: memoryview, counted: Iterator[int]) -> str:
    for number, tensor in _fields(type_proto, counted):
        if number == 1:
            for field, element in _fields(_view(tensor), counted):
                if field == 1 and isinstance(element, int):
                    return _TYPES.get(element, f"type {element}")
    return "no tensor"


def _strings(value: int | memoryview, counted: Iterator[int]) -> dict[int, str]:
    return {number: str(_view(inner), "utf-8") for number, inner in _fields(_view(value), counted)}


def _view(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise ValueError("a number where a message is expected")  # noqa: TRY004 what is wrong is the file
    return value


def _fields(message: memoryview, counted: Iterator[int]) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the fields of a protobuf message: number, and a number or bytes; those of a file are counted."""
    offset = 0
    while offset < len(message):
        key, offset = _varint(message, offset)
        value: int | memoryview
        match key & 7:
            case 0:
                value, offset = _varint(message, offset)
            case 1 | 5 as kind:
                value, offset = 0, offset + (8 if kind == 1 else 4)
            case 2:
                size, offset = _varint(message, offset)
                value, offset = message[offset : offset + size], offset + size
            case kind:
                raise ValueError(f"a field of the unknown kind {kind}")
        if offset > len(message):
            raise ValueError("it ends within a field")
        if next(counted) > _MAX_FIELDS:
            raise ValueError(f"it has over {_MAX_FIELDS:,} fields")
        yield key >> 3, value


def _varint(message: memoryview, offset: int) -> tuple[int, int]:
    """Return a number of at most ten bytes, and the offset after it."""
    number = 0
    for shift in range(0, 70, 7):
        byte = message[offset]
        offset += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, offset
    raise ValueError("a number without end")
