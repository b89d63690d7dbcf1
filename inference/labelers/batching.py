"""Windows of pages that a model reads at once, their grouping into batches, and the joining of answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dehusk.inference.labelers import signature as signatures
from dehusk.inference.labelers.signature import TOKENS, WEB2TEXT, Signature
from dehusk.inference.native.choosing import are_probabilities
from dehusk.schemas.errors import ConfigurationError, require_encoding
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import (
    PAGE_KINDS,
    EncodedPage,
    Encoding,
    ModelVersion,
    Prediction,
    StructureTensors,
)

WINDOW_BLOCKS = 2048
"""Limit of blocks that a model sees at once; a longer page is labeled in consecutive windows.

A recurrent model takes time in proportion to the blocks, and the other pages of a batch wait for the longest.
"""
WINDOW_IDS = 1 << 18
"""Limit of ids that a model sees at once; more than one block can hold, so that every window has a block."""
ANCESTORS = 12
"""Innermost elements around a block that a model looks at."""
GROUP_SIZE = 4
"""Limit of windows that run together on a CPU, where larger batches gain nothing; of WINDOW_BLOCKS in all,
too."""
GROUP_PADDING = 1.25
"""Factor by which padding to the longest may enlarge a group."""


_BLOCK_TENSORS = 2
"""Tensors of an answer with one number for each block, PROBABILITIES and COMMENTS; then comes PAGE_KIND."""
_MAX_FROM_ONE = 0.01
"""Difference from one that the sum of the probabilities of all kinds may have, for half precision."""

WindowAnswer = Sequence[npt.NDArray[np.float32]]
"""A model's answer to a window: the tensors of the signature's `answer`, in one dimension.

Each has one number for each block, or one for each column.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Consecutive blocks of one page as a model's input."""

    tensors: dict[str, npt.NDArray[Any]]
    """Tensors of the model's signature by name, each of shape [-1]."""
    blocks: int

    def __len__(self) -> int:
        return self.blocks


def windows(page: EncodedPage, signature: Signature) -> Iterator[Window]:
    """Yield the page's blocks, in order, in windows of at most WINDOW_BLOCKS blocks, encoded by a signature.

    Raises:
        NotEncodedError: the page was prepared without what the signature reads.
    """
    if signature is TOKENS:
        return _token_windows(page)
    return _web2text_windows(page) if signature is WEB2TEXT else _structure_windows(page)


def _token_windows(page: EncodedPage) -> Iterator[Window]:
    whole = require_encoding(page.tokens, Encoding.TOKENS)
    ends = np.cumsum(whole.block_lengths, dtype=np.int64)
    block = taken = 0
    while block < len(page):
        last = min(block + WINDOW_BLOCKS, int(np.searchsorted(ends, taken + WINDOW_IDS, side="right")))
        upto = int(ends[last - 1]) if last < len(page) else len(whole.ids)
        tensors: dict[str, npt.NDArray[Any]] = {
            signatures.IDS.name: whole.ids[taken:upto],
            signatures.BLOCK_LENGTHS.name: whole.block_lengths[block:last],
        }
        yield Window(tensors, last - block)
        block, taken = last, upto


def _structure_windows(page: EncodedPage) -> Iterator[Window]:
    if page.structure is None:
        raise ConfigurationError(
            "a page of which only texts and paths are known cannot be labeled by its structure"
        )
    if 0 < len(page) <= WINDOW_BLOCKS:
        yield _whole(page.structure)
        return
    ends = np.concatenate([[0], np.cumsum(page.structure.word_lengths, dtype=np.int64)])
    for first in range(0, len(page), WINDOW_BLOCKS):
        yield _whole(_part(page.structure, ends, first, min(first + WINDOW_BLOCKS, len(page))))


def _whole(page: StructureTensors) -> Window:
    tensors: dict[str, npt.NDArray[Any]] = {
        signatures.WORDS.name: page.word_ids,
        signatures.WORD_LENGTHS.name: page.word_lengths,
        signatures.HEADING.name: page.heading,
        signatures.ELEMENT.name: page.element,
        signatures.ALIKE.name: page.alike,
        signatures.FEATURES.name: page.features.ravel(),
        signatures.PARENT.name: page.parent,
        signatures.ELEMENT_TOKENS.name: page.element_tokens,
        signatures.ELEMENT_TOKEN_LENGTHS.name: page.element_token_lengths,
        signatures.PAGE_FEATURES.name: page.page_features,
        signatures.LINKS.name: page.links.ravel(),
        signatures.ADDRESS.name: page.address,
    }
    return Window(tensors, len(page.element))


def _part(page: StructureTensors, ends: npt.NDArray[np.int64], first: int, last: int) -> StructureTensors:
    """Return the blocks from `first` up to `last`, with the elements above them, numbered anew.

    `ends` are the words before each block, shape [T + 1].
    """
    elements = _elements_above(page, first, last)
    number = np.zeros(len(page.parent) + 1, np.int32)
    number[1:][elements] = np.arange(1, np.count_nonzero(elements) + 1)
    return StructureTensors(
        word_ids=page.word_ids[ends[first] : ends[last]],
        word_lengths=page.word_lengths[first:last],
        heading=np.maximum(page.heading[first:last] - first, 0),
        element=number[page.element[first:last]],
        parent=number[page.parent[elements]],
        element_tokens=page.element_tokens[np.repeat(elements, page.element_token_lengths)],
        element_token_lengths=page.element_token_lengths[elements],
        alike=_first_alike(page.alike[first:last]),
        features=page.features[first:last],
        page_features=page.page_features,
        links=page.links[first:last],
        address=page.address,
    )


def _web2text_windows(page: EncodedPage) -> Iterator[Window]:
    """Yield windows whose first block has none before it."""
    whole = require_encoding(page.web2text, Encoding.WEB2TEXT)
    for first in range(0, len(page), WINDOW_BLOCKS):
        part = slice(first, first + WINDOW_BLOCKS)
        tensors: dict[str, npt.NDArray[Any]] = {
            signatures.DISTANCES.name: whole.distances[part],
            signatures.BLOCK_FEATURES.name: whole.block_features[part].ravel(),
            signatures.EDGE_FEATURES.name: whole.edge_features[part].ravel(),
        }
        yield Window(tensors, len(whole.distances[part]))


def _first_alike(alike: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the first of the given blocks that each of them is like."""
    _, first, group = np.unique(alike, return_index=True, return_inverse=True)
    return first[group].astype(np.int32)


def _elements_above(page: StructureTensors, first: int, last: int) -> npt.NDArray[np.bool_]:
    """Return True for elements among the ANCESTORS innermost around one of the blocks, shape [E]."""
    parent = np.concatenate([[0], page.parent])
    above = np.zeros(len(parent), np.bool_)
    element = page.element[first:last]
    for _ in range(ANCESTORS):
        above[element] = True
        element = parent[element]
    return above[1:]


def groups(lengths: Sequence[int]) -> list[list[int]]:
    """Return the indices of windows of similar length that run together, the longest first."""
    grouped: list[list[int]] = []
    total = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        total += lengths[index]
        if grouped and _fits(grouped[-1], lengths, total):
            grouped[-1].append(index)
        else:
            grouped.append([index])
            total = lengths[index]
    return grouped


def _fits(group: list[int], lengths: Sequence[int], total: int) -> bool:
    """Return True if one more window, `total` blocks in all, leaves the group small and little padded."""
    padded = lengths[group[0]] * (len(group) + 1)
    return len(group) < GROUP_SIZE and padded <= min(GROUP_PADDING * total, WINDOW_BLOCKS)


def join(
    page: EncodedPage, answers: Sequence[WindowAnswer], model: ModelVersion, labeler: str
) -> Prediction | Broken:
    """Return the labels of a page from the answers to its windows, or the failure if an answer is invalid.

    The kind of a page in several windows is their mean, weighted by blocks.
    """
    if not answers:
        return Prediction(np.empty(0, np.float32), model, labeler)
    tensors = list(zip(*answers, strict=True))
    of_blocks, of_page = tensors[:_BLOCK_TENSORS], tensors[_BLOCK_TENSORS:]
    content, *comments = map(concatenate, of_blocks)
    for values in (content, *comments):
        if len(values) != len(page):
            return _rejected(f"{len(values)} probabilities for {len(page)} blocks", model)
    kinds = [each for rows in of_page for each in rows]
    for values in kinds:
        if len(values) != len(PAGE_KINDS):
            return _rejected(f"{len(values)} probabilities for {len(PAGE_KINDS)} kinds of page", model)
    if not all(map(are_probabilities, (content, *comments, *kinds))):
        return _rejected("an answer that is no probability", model)
    if not all(abs(sum(values.tolist()) - 1) <= _MAX_FROM_ONE for values in kinds):
        return _rejected("probabilities of kinds of page whose sum is not 1", model)
    of_all = [_mean(kinds, [len(each[0]) for each in answers])] if kinds else []
    return Prediction(content, model, labeler, *comments, *of_all)


def _mean(rows: Sequence[npt.NDArray[np.float32]], weights: Sequence[int]) -> npt.NDArray[np.float32]:
    """Return the weighted mean of rows; one alone is not copied."""
    return rows[0] if len(rows) == 1 else np.average(rows, axis=0, weights=weights).astype(np.float32)


def concatenate(arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return arrays one after the other; one alone is not copied."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _rejected(detail: str, model: ModelVersion) -> Broken:
    return Broken(BrokenReason.REJECTED_BY_MODEL, f"{model.name} version {model.version} gave {detail}")
