"""Versions of the default model that a roll-out has to bear: good ones, and ones that are not fit.

All but the corrupt one are the default model with a few nodes behind it, which read what it gives for each
block. They are written without the package onnx: of a protobuf message that stands twice in a file, the parts
are merged, so the nodes are a second graph behind the first.
"""

import shutil
from pathlib import Path

import numpy as np

from dehusk.inference.labelers.repository import (
    CONFIG_FILE,
    DEFAULT_REPOSITORY,
    MODEL_FILE,
    find_model,
)
from dehusk.inference.labelers.signature import ELEMENT
from dehusk.inference.labelers.version_policy import with_versions

MODEL = "dehusk"
USUAL, OTHER = "7", "8"
"""Two that are fit: the default model, and one that keeps each block, so its documents are told apart."""
FAILING = "9"
"""It answers a line of text, also beside pages, and blocks further down a page with NaN."""
SLOW = "10"
"""It answers as the default model does, after a loop that takes a sixth of a second or so."""
CORRUPT = "11"
"""Its file ends early: it cannot be loaded."""
SERVED = (USUAL, OTHER, FAILING, SLOW)
KEPT = 0.9
"""The least probability that the version `OTHER` gives a block."""
_SLOW_TRIPS = 120_000
_OF_LINE = 3
"""Number of the element that holds a line of text, by which workers probe a version."""
_FLOAT, _INT32, _INT64, _BOOL = 1, 6, 7, 9
_OUTPUT, _RENAMED = b"\x12\x04prob", b"\x12\x04prio"


def write_repository(directory: Path) -> None:
    """Write a repository of all versions, whose configuration serves those that can be loaded."""
    _, usual = find_model(DEFAULT_REPOSITORY, MODEL)
    content = usual.read_bytes()
    files = {
        USUAL: content,
        OTHER: _with(content, _node("Max", ["prio", "kept"], "prob"), _tensor("kept", np.float32(KEPT))),
        FAILING: _with(content, *_failing()),
        SLOW: _with(content, *_slow()),
        CORRUPT: content[: len(content) // 2],
    }
    for version, file in files.items():
        shutil.copytree(usual.parent, directory / MODEL / version)
        (directory / MODEL / version / MODEL_FILE).write_bytes(file)
    configuration = (DEFAULT_REPOSITORY / MODEL / CONFIG_FILE).read_text()
    (directory / MODEL / CONFIG_FILE).write_text(with_versions(configuration, SERVED))


def _failing() -> tuple[bytes, ...]:
    """Return nodes that look at each block alone: Triton merges requests for a line with those for pages."""
    return (
        _node("Greater", [ELEMENT.name, "line"], "is_further"),
        _node("Where", ["is_further", "nan", "zero"], "more"),
        _node("Add", ["prio", "more"], "prob"),
        _tensor("line", np.int32(_OF_LINE)),
        _tensor("nan", np.float32("nan")),
        _tensor("zero", np.float32(0)),
    )


def _slow() -> tuple[bytes, ...]:
    """Return a loop that adds nothing many times, for more than one block."""
    body = _graph(
        _field(2, "body"),
        _node("Identity", ["on"], "still"),
        _node("Add", ["sum", "zero"], "next"),
        *(_field(11, _value(name, kind)) for name, kind in (("i", _INT64), ("on", _BOOL), ("sum", _FLOAT))),
        *(_field(12, _value(name, kind)) for name, kind in (("still", _BOOL), ("next", _FLOAT))),
    )
    attribute = _field(1, "body") + _field(6, body) + _field(20, 5)
    return (
        _node("Size", ["prio"], "blocks"),
        _node("Greater", ["blocks", "one"], "is_page"),
        _node("Where", ["is_page", "trips", "once"], "times"),
        _node("Loop", ["times", "yes", "zero"], "looped", attribute),
        _node("Add", ["prio", "looped"], "prob"),
        _tensor("trips", np.int64(_SLOW_TRIPS)),
        _tensor("once", np.int64(1)),
        _tensor("one", np.int64(1)),
        _tensor("yes", np.True_),
        _tensor("zero", np.float32(0)),
    )


def _with(content: bytes, *parts: bytes) -> bytes:
    """Return a model with nodes and constants behind it, which read `prio` and give `prob`."""
    if content.count(_OUTPUT) != 1:
        raise ValueError("the default model gives its probabilities otherwise than expected")
    return content.replace(_OUTPUT, _RENAMED) + _field(7, _graph(*parts))


def _graph(*parts: bytes) -> bytes:
    return b"".join(parts)


def _node(kind: str, inputs: list[str], output: str, *attributes: bytes) -> bytes:
    names = b"".join(_field(1, name) for name in inputs) + _field(2, output)
    return _field(1, names + _field(4, kind) + b"".join(_field(5, each) for each in attributes))


def _tensor(name: str, value: np.generic) -> bytes:
    """Return a constant without dimensions."""
    kind = {np.float32: _FLOAT, np.int32: _INT32, np.int64: _INT64, np.bool_: _BOOL}[type(value)]
    return _field(5, _field(2, kind) + _field(8, name) + _field(9, value.tobytes()))


def _value(name: str, kind: int) -> bytes:
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, b"")))


def _field(number: int, value: int | str | bytes) -> bytes:
    """Return a field of a protobuf message."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    high, low = divmod(number, 128)
    return bytes([low | 128]) + _varint(high) if high else bytes([low])
