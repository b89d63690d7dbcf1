"""A correction as the end of a model's ONNX graph; the rest of the graph stays as it is."""

from dataclasses import dataclass

import numpy as np
import onnx

from dehusk.inference.signature import (
    BLOCK_COUNTS,
    ELEMENT,
    ELEMENT_COUNTS,
    ELEMENT_TOKEN_COUNTS,
    ELEMENT_TOKEN_LENGTHS,
    ELEMENT_TOKENS,
    PARENT,
    PROBABILITIES,
    WORD_LENGTHS,
)
from dehusk.schemas.errors import ConfigurationError
from dehusk.training.fine_tuning.correction import LARGEST_CORRECTION, LIKE, UNLIKE, Correction
from dehusk.training.fine_tuning.structures import LEVEL_FACTORS, PART_FACTOR, PRIME, SALTS, TAG_FACTOR
from dehusk.training.graph import OPSETS, Graph
from dehusk.training.ragged import Parts, parts, pointed_to, reconciled, starts, summed, with_none

_NO_KEY = -1
"""What fills the table where there is no key."""
_KEYS_PER_BUCKET = 2
"""About how many keys share a bucket of the table."""


def with_correction(model: onnx.ModelProto, correction: Correction) -> onnx.ModelProto:
    """The model with corrected probabilities of content.

    Raises:
        ConfigurationError: the model is of another version of ONNX's operators.
    """
    _require_opset(model)
    prefix = _unused_prefix(model)
    before = f"{prefix}before"
    corrected = onnx.ModelProto()
    corrected.CopyFrom(model)
    for node in corrected.graph.node:
        node.output[:] = [before if name == PROBABILITIES.name else name for name in node.output]
        node.input[:] = [before if name == PROBABILITIES.name else name for name in node.input]
    graph = Graph(prefix)
    _corrected(graph, before, correction)
    graph.extend(corrected)
    onnx.checker.check_model(corrected, full_check=True)
    return corrected


def _require_opset(model: onnx.ModelProto) -> None:
    found = {each.domain: each.version for each in model.opset_import}
    if found.get("") != OPSETS[""]:
        raise ConfigurationError(
            f"the model is made of operators of ONNX's opset {found.get('')}, and corrections of {OPSETS['']}"
        )


def _unused_prefix(model: onnx.ModelProto) -> str:
    """One for names, different for each correction of a model that was corrected before."""
    names = {name for node in model.graph.node for name in node.output}
    number = 1
    while f"correction_{number}_before" in names:
        number += 1
    return f"correction_{number}_"


def _corrected(graph: Graph, before: str, correction: Correction) -> None:
    """Add what `Correction.__call__` does."""
    blocks = parts(graph, graph.integers(BLOCK_COUNTS.name), graph.add("Shape", WORD_LENGTHS.name))
    table = _Table.of(graph, correction)
    added, known = zip(*(_looked_up(graph, keys, table) for keys in _keys(graph, blocks)), strict=True)
    like = graph.at(_likeness(graph, blocks, known[-1]), blocks.page)
    limits = (graph.constant(sign * LARGEST_CORRECTION, np.float32) for sign in (-1, 1))
    odds = graph.add("Exp", graph.add("Clip", graph.add("Mul", graph.add("Sum", *added), like), *limits))
    one = graph.constant(1, np.float32)
    likelier = graph.add("Mul", before, odds)
    all_odds = graph.add("Add", graph.add("Sub", one, before), likelier)
    answer = graph.add("Div", likelier, all_odds)
    graph.add("Where", graph.add("Equal", odds, one), before, answer, output=PROBABILITIES.name)


def _keys(graph: Graph, blocks: Parts) -> list[str]:
    """`structure_keys`: a tensor of shape [blocks] for each depth."""
    elements = parts(graph, graph.integers(ELEMENT_COUNTS.name), graph.add("Shape", PARENT.name))
    above = with_none(graph, pointed_to(graph, PARENT.name, elements, elements))
    element = pointed_to(graph, ELEMENT.name, elements, blocks)
    path = with_none(graph, _elements(graph, elements))
    paths = [path]
    for factor in LEVEL_FACTORS:
        here = graph.add("Mul", path, graph.constant(factor))
        path = _remainder(graph, graph.add("Add", here, graph.at(path, above)))
        above = graph.at(above, above)
        paths.append(path)
    return [
        _remainder(graph, graph.add("Mul", graph.at(each, element), graph.constant(salt)))
        for each, salt in zip(paths, SALTS, strict=True)
    ]


def _elements(graph: Graph, elements: Parts) -> str:
    """The hash of each element by itself."""
    claimed, counts = (graph.integers(each.name) for each in (ELEMENT_TOKEN_LENGTHS, ELEMENT_TOKEN_COUNTS))
    _, lengths = reconciled(graph, claimed, elements, counts)
    first = graph.add("Add", starts(graph, lengths), graph.constant(1))
    tokens = with_none(graph, graph.integers(ELEMENT_TOKENS.name))
    has_part = graph.add(
        "And",
        graph.add("Greater", lengths, graph.constant(1)),
        graph.add("Greater", graph.integers(PARENT.name), graph.constant(1)),
    )
    has_tag = graph.add("Greater", lengths, graph.constant(0))
    after = graph.add("Add", first, graph.constant(1))
    hashed = [
        graph.add("Mul", graph.at(tokens, _where(graph, has, place)), graph.constant(factor))
        for has, place, factor in ((has_tag, first, TAG_FACTOR), (has_part, after, PART_FACTOR))
    ]
    return _remainder(graph, graph.add("Add", *hashed))


def _where(graph: Graph, condition: str, numbers: str) -> str:
    return graph.add("Where", condition, numbers, graph.constant(0))


def _remainder(graph: Graph, numbers: str) -> str:
    return graph.add("Mod", numbers, graph.constant(PRIME))


@dataclass(frozen=True, slots=True)
class _Table:
    """Names of the constants that hold the correction by buckets of keys, each of shape [buckets, width]."""

    keys: str
    weights: str
    buckets: int

    @classmethod
    def of(cls, graph: Graph, correction: Correction) -> "_Table":
        """As many buckets, a power of two, as keep them small."""
        buckets = 1 << max(len(correction.keys) // _KEYS_PER_BUCKET, 1).bit_length()
        bucket = correction.keys % buckets
        order = np.argsort(bucket, kind="stable")
        counts = np.bincount(bucket, minlength=buckets)
        place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        keys = np.full((buckets, max(int(counts.max()), 1)), _NO_KEY, np.int32)
        weights = np.zeros(keys.shape, np.float32)
        keys[bucket[order], place] = correction.keys[order]
        weights[bucket[order], place] = correction.weights[order]
        return cls(
            graph.constant(keys, np.int32, "keys"), graph.constant(weights, np.float32, "weights"), buckets
        )


def _looked_up(graph: Graph, keys: str, table: _Table) -> tuple[str, str]:
    """What is added for each key, and 1 for those that are in the table; each [keys]."""
    bucket = graph.add("Mod", keys, graph.constant(table.buckets))
    there = graph.integers(graph.add("Gather", table.keys, bucket))
    found = graph.floats(graph.add("Equal", there, graph.upright(keys)))
    weights = graph.add("Mul", graph.add("Gather", table.weights, bucket), found)
    axis = graph.constant([1])
    added, known = (graph.add("ReduceSum", each, axis, keepdims=0) for each in (weights, found))
    return added, known


def _likeness(graph: Graph, blocks: Parts, known: str) -> str:
    """How far each page is like the labeled ones, from 0 to 1: [pages]."""
    pages = graph.add("Shape", blocks.counts)
    total = summed(graph, graph.upright(known), blocks.page, pages, width=1, dtype=np.float32)
    share = graph.add("Div", graph.add("Squeeze", total, graph.constant([1])), graph.floats(blocks.counts))
    beyond = graph.add("Sub", share, graph.constant(UNLIKE, np.float32))
    scaled = graph.add("Mul", beyond, graph.constant(1 / (LIKE - UNLIKE), np.float32))
    return graph.add("Clip", scaled, *(graph.constant(limit, np.float32) for limit in (0, 1)))
