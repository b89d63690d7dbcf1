"""A correction as the end of a model's ONNX graph; the rest of the graph stays as it is."""

from dataclasses import dataclass

import numpy as np
import onnx

from dehusk.inference.labelers.signature import (
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
from dehusk.training.fine_tuning.correction import LIKE, MAX_CORRECTION, UNLIKE, Correction
from dehusk.training.fine_tuning.crawl import LEVEL_FACTORS, PART_FACTOR, PRIME, SALTS, TAG_FACTOR
from dehusk.training.graph import OPSETS, Graph, Parts, Value

_NO_KEY = -1
"""Value of the table where there is no key."""
_KEYS_PER_BUCKET = 2
"""About the number of keys that share a bucket of the table."""


def with_correction(model: onnx.ModelProto, correction: Correction) -> onnx.ModelProto:
    """Return the model with corrected probabilities of content.

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
    _corrected(graph, Value(graph, before), correction)
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
    """Return a prefix for names, different for each correction of a model that was corrected before."""
    names = {name for node in model.graph.node for name in node.output}
    number = 1
    while f"correction_{number}_before" in names:
        number += 1
    return f"correction_{number}_"


def _corrected(graph: Graph, before: Value, correction: Correction) -> None:
    """Add the operations of `Correction.__call__`."""
    blocks = graph.parts(graph.integers(BLOCK_COUNTS.name), graph.add("Shape", WORD_LENGTHS.name))
    table = _Table.of(graph, correction)
    added, known = zip(*(_looked_up(graph, keys, table) for keys in _keys(graph, blocks)), strict=True)
    like = graph.at(_likeness(graph, blocks, known[-1]), blocks.page)
    both = graph.clipped(graph.add("Sum", *added) * like, -MAX_CORRECTION, MAX_CORRECTION)
    odds = graph.add("Exp", both)
    one = graph.constant(1, np.float32)
    likelier = before * odds
    all_odds = one - before + likelier
    answer = likelier / all_odds
    graph.add("Where", graph.add("Equal", odds, one), before, answer, output=PROBABILITIES.name)


def _keys(graph: Graph, blocks: Parts) -> list[Value]:
    """Return the `structure_keys`: a tensor of shape [blocks] for each depth."""
    elements = graph.parts(graph.integers(ELEMENT_COUNTS.name), graph.add("Shape", PARENT.name))
    above = graph.with_none(graph.pointed_to(PARENT.name, elements, elements))
    element = graph.pointed_to(ELEMENT.name, elements, blocks)
    path = graph.with_none(_elements(graph, elements))
    paths = [path]
    for factor in LEVEL_FACTORS:
        here = path * factor
        path = _remainder(graph, here + graph.at(path, above))
        above = graph.at(above, above)
        paths.append(path)
    return [
        _remainder(graph, graph.at(each, element) * salt) for each, salt in zip(paths, SALTS, strict=True)
    ]


def _elements(graph: Graph, elements: Parts) -> Value:
    claimed, counts = (graph.integers(each.name) for each in (ELEMENT_TOKEN_LENGTHS, ELEMENT_TOKEN_COUNTS))
    _, lengths = graph.reconciled(claimed, elements, counts)
    first = graph.starts(lengths) + 1
    tokens = graph.with_none(graph.integers(ELEMENT_TOKENS.name))
    has_part = graph.add(
        "And",
        graph.add("Greater", lengths, graph.constant(1)),
        graph.add("Greater", graph.integers(PARENT.name), graph.constant(1)),
    )
    has_tag = graph.add("Greater", lengths, graph.constant(0))
    after = first + 1
    hashed = [
        graph.at(tokens, _where(graph, has, place)) * factor
        for has, place, factor in ((has_tag, first, TAG_FACTOR), (has_part, after, PART_FACTOR))
    ]
    return _remainder(graph, graph.add("Add", *hashed))


def _where(graph: Graph, condition: Value, numbers: Value) -> Value:
    return graph.add("Where", condition, numbers, graph.constant(0))


def _remainder(graph: Graph, numbers: Value) -> Value:
    return graph.add("Mod", numbers, graph.constant(PRIME))


@dataclass(frozen=True, slots=True)
class _Table:
    """Names of the constants that hold the correction by buckets of keys, each of shape [buckets, width]."""

    keys: Value
    weights: Value
    buckets: int

    @classmethod
    def of(cls, graph: Graph, correction: Correction) -> "_Table":
        """Make a table of as many buckets, a power of two, as keep them small."""
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


def _looked_up(graph: Graph, keys: Value, table: _Table) -> tuple[Value, Value]:
    """Return what is added for each key, and 1 for those that are in the table; each [keys]."""
    bucket = graph.add("Mod", keys, graph.constant(table.buckets))
    there = graph.integers(graph.add("Gather", table.keys, bucket))
    found = graph.floats(graph.add("Equal", there, graph.upright(keys)))
    weights = graph.add("Gather", table.weights, bucket) * found
    axis = graph.constant([1])
    added, known = (graph.add("ReduceSum", each, axis, keepdims=0) for each in (weights, found))
    return added, known


def _likeness(graph: Graph, blocks: Parts, known: Value) -> Value:
    """Return the likeness of each page to the labeled ones, from 0 to 1: [pages]."""
    pages = graph.add("Shape", blocks.counts)
    total = graph.summed(graph.upright(known), blocks.page, pages, width=1, dtype=np.float32)
    share = graph.add("Squeeze", total, graph.constant([1])) / graph.floats(blocks.counts)
    beyond = share - graph.constant(UNLIKE, np.float32)
    scaled = beyond * graph.constant(1 / (LIKE - UNLIKE), np.float32)
    return graph.clipped(scaled, 0, 1)
