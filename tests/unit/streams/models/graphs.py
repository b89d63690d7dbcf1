"""Small ONNX models, good and bad, most of the signature `TOKENS`, written without the package onnx."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
from google.protobuf import text_format

from dehusk.inference.labelers.golden import GOLDEN_PAGES, golden_page
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.inference.labelers.signature import (
    PAGE_KIND,
    STRUCTURE_WITH_COMMENTS,
    STRUCTURE_WITH_PAGE_KIND,
    TOKENS,
    Signature,
)
from dehusk.schemas.pages import PAGE_KINDS
from dehusk.streams.models.model_config import config_of

FLOAT, INT64, BOOL = 1, 7, 9
TYPES = {"FP32": FLOAT, "UINT8": 2, "UINT16": 4, "INT32": 6, "UINT32": 12}
KINDS = len(PAGE_KINDS)
LIKELY, UNLIKELY = 0.76, 0.04
"""Probabilities of the kind that `with_kinds` tells, and of each other one."""


def varint(number: int) -> bytes:
    high, low = divmod(number, 128)
    return bytes([low | 128]) + varint(high) if high else bytes([low])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def value_info(name: str, kind: int, *, scalar: bool = False, columns: int = 0) -> bytes:
    shape = b"" if scalar else field(1, field(2, f"of {name}"))
    shape += field(1, field(1, columns)) if columns else b""
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def node(kind: str, inputs: list[str], output: str, *attributes: bytes) -> bytes:
    more = [*(field(1, each) for each in inputs), *(field(2, each) for each in output.split())]
    return b"".join([*more, field(4, kind), *(field(5, each) for each in attributes)])


def tensor(name: str, values: object, kind: int = FLOAT) -> bytes:
    array = np.array(values, {FLOAT: np.float32, INT64: np.int64, BOOL: np.bool_}[kind])
    dims = b"".join(field(1, each) for each in array.shape)
    return dims + field(2, kind) + field(8, name) + field(9, array.tobytes())


def cast(source: str, target: str, kind: int = FLOAT) -> bytes:
    return node("Cast", [source], target, field(1, "to") + field(3, kind) + field(20, 2))


def graph(nodes: list[bytes], constants: list[bytes], inputs: list[bytes], outputs: list[bytes]) -> bytes:
    parts = ((1, nodes), (2, [b"graph"]), (5, constants), (11, inputs), (12, outputs))
    return b"".join(field(number, each) for number, all_ in parts for each in all_)


def model(
    nodes: list[bytes],
    constants: list[bytes],
    *,
    signature: Signature = TOKENS,
    declared: str = "",
    less: int = 0,
) -> bytes:
    """A model file whose nodes make `prob` of `zeros`, 0 for each block; `less` inputs are left out."""
    read = [*signature.request, *(count.tensor for count in signature.counts)]
    whole = graph(
        [cast(signature.per_block.name, "lengths"), node("Mul", ["lengths", "nothing"], "zeros"), *nodes],
        [tensor("nothing", [0.0]), *constants],
        [value_info(each.name, TYPES[each.data_type]) for each in read[: len(read) - less]],
        [value_info(each.name, FLOAT, columns=len(each.columns)) for each in signature.answer],
    )
    opset = field(1, "") + field(2, 17)
    return (
        field(1, 8)
        + field(7, whole)
        + field(8, opset)
        + field(14, field(1, "signature") + field(2, declared or signature.declared))
    )


def always(value: float, **how: object) -> bytes:
    """A model that gives each block the same number."""
    return model([node("Add", ["zeros", "value"], "prob")], [tensor("value", [value])], **how)  # type: ignore[arg-type]


def with_kinds(*nodes: bytes, likely: float = LIKELY) -> bytes:
    """A model that tells of a page of n blocks the kind n modulo their number, unless `nodes` do otherwise.

    These make `page_kind` of `told`, a row for each page.
    """
    of_blocks = [
        node("Add", ["zeros", "half"], "prob"),
        node("Add", ["zeros", "tenth"], "comment"),
        cast("n_blocks", "blocks", INT64),
        node("Mod", ["blocks", "kinds"], "numbers"),
        node("OneHot", ["numbers", "kinds", "chances"], "told"),
    ]
    constants = [
        tensor("half", [0.5]),
        tensor("tenth", [0.1]),
        tensor("kinds", [KINDS], INT64),
        tensor("chances", [UNLIKELY, likely]),
    ]
    made = nodes or (node("Identity", ["told"], PAGE_KIND.name),)
    return model([*of_blocks, *made], constants, signature=STRUCTURE_WITH_PAGE_KIND)


def without_kinds() -> bytes:
    """A model that says the same of blocks as `with_kinds`, and nothing of pages."""
    nodes = [node("Add", ["zeros", "half"], "prob"), node("Add", ["zeros", "tenth"], "comment")]
    return model(nodes, [tensor("half", [0.5]), tensor("tenth", [0.1])], signature=STRUCTURE_WITH_COMMENTS)


def kinds_of(blocks: int) -> list[float]:
    """The row that `with_kinds` gives of a page."""
    return [LIKELY if kind == blocks % KINDS else UNLIKELY for kind in range(KINDS)]


def one_number() -> bytes:
    return model([node("Identity", ["value"], "prob")], [tensor("value", [0.5])])


def batch_dependent() -> bytes:
    """A model whose answer is a half, divided by the pages of the batch."""
    nodes = [
        node("Size", ["n_blocks"], "pages"),
        cast("pages", "divisor"),
        node("Div", ["half", "divisor"], "value"),
        node("Add", ["zeros", "value"], "prob"),
    ]
    return model(nodes, [tensor("half", [0.5])])


def endless() -> bytes:
    """A model that loops for more than a lifetime."""
    body = graph(
        [node("Identity", ["on"], "still"), node("Add", ["sum", "sum"], "next")],
        [],
        [value_info("i", INT64, scalar=True), value_info("on", BOOL, scalar=True), value_info("sum", FLOAT)],
        [value_info("still", BOOL, scalar=True), value_info("next", FLOAT)],
    )
    nodes = [
        node("Loop", ["trips", "yes", "zeros"], "looped", field(1, "body") + field(6, body) + field(20, 5)),
        node("Add", ["looped", "half"], "prob"),
    ]
    constants = [tensor("half", [0.5]), tensor("trips", 1 << 62, INT64), tensor("yes", True, BOOL)]  # noqa: FBT003
    return model(nodes, constants)


def insatiable() -> bytes:
    """A model that needs 36 GiB or more for a page."""
    nodes = [
        node("Expand", ["zeros", "shape"], "large"),
        node("ReduceMax", ["large"], "most"),
        node("Add", ["zeros", "most"], "prob"),
    ]
    return model(nodes, [tensor("shape", [1 << 30, 1], INT64)])


def golden(value: float = 0.5) -> bytes:
    """The golden answers of a model that gives each block the same number."""
    pages = {file.stem: len(golden_page(file)) for file in sorted(GOLDEN_PAGES.glob("*.html"))}
    answers = [
        {"name": name, "probabilities": [value] * blocks, "comments": None} for name, blocks in pages.items()
    ]
    return orjson.dumps(answers)


def golden_with_kinds(kinds: Callable[[int], list[float]] = kinds_of) -> bytes:
    """The golden answers of `with_kinds`."""
    answers = orjson.loads(golden(0.5))
    for each in answers:
        blocks = len(each["probabilities"])
        each |= {"comments": [0.1] * blocks, "page_kinds": kinds(blocks)}
    return orjson.dumps(answers)


def write_version(directory: Path, content: bytes, value: float = 0.5, answers: bytes = b"") -> Path:
    """A directory with a model file and golden answers."""
    directory.mkdir(parents=True)
    (directory / "model.onnx").write_bytes(content)
    (directory / "golden.json").write_bytes(answers or golden(value))
    return directory


def write_config(directory: Path, name: str) -> None:
    """The configuration of a model that reads `TOKENS`."""
    text = (DEFAULT_REPOSITORY / "boilernet" / "config.pbtxt").read_text()
    (directory / "config.pbtxt").write_text(text.replace('"boilernet"', f'"{name}"', 1))


def write_config_of(directory: Path, name: str, signature: Signature) -> None:
    """The configuration that is made for a signature."""
    config = config_of(signature)
    config.name = name
    (directory / "config.pbtxt").write_text(text_format.MessageToString(config))


def write_repository(repository: Path) -> Path:
    """Write a repository whose model has the versions 1 and 9."""
    for version in ("1", "9"):
        write_version(repository / "model" / version, always(0.5))
    write_config(repository / "model", "model")
    return repository
