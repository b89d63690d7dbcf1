"""Predictions as lines of JSON: labels of pages cut into blocks, and texts of pages.

Pages of HTML go the way of `dehusk clean`. Memory holds a few pages at a time.
"""

from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
import numpy as np
import orjson

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.labeler import Labeler, encodings_read
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import PageError
from dehusk.schemas.options import DEFAULT_OPTIONS
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import EncodedPage, Encoding, Prediction, needs_tree
from dehusk.streams.files.page_lines import read_page_line
from dehusk.streams.files.readers import read_lines
from dehusk.streams.offline.lines import PICKLED, DecodedPages, Input, unpickle_document
from dehusk.streams.offline.run import BATCH_PAGES, clean_pages, is_page
from dehusk.streams.preparation.pool import PreparationPool, open_pool, open_steps
from dehusk.streams.preparation.steps import Writing, WrittenDocument
from dehusk.streams.settings import PageLimits
from dehusk.streams.sources.encoding import encode_text
from dehusk.streams.sources.fields import Fields, has_keys, parse_object
from dehusk.training.arrays import Bools, Integers
from dehusk.training.pages.gold import Block, rebuilt, segmented
from dehusk.training.runs import report
from dehusk.training.scores import CONTENT_PROBABILITY


@dataclass(frozen=True, slots=True, eq=False)
class BlockPage:
    """A page that came cut into blocks."""

    id: str | None
    encoded: EncodedPage
    """Page as the model reads it, in blocks of its own where it was rebuilt."""
    places: Integers
    """Shape [blocks]: the encoded block that holds each; -1 for none."""
    problem: str
    """Problem with its blocks, if there is one."""


@dataclass(frozen=True, slots=True)
class PredictedLine:
    """One page's line, and the reason why it says nothing of the page, or not all."""

    line: bytes
    problem: str


async def write_predictions(file: Path, labeler: Labeler, output: BinaryIO, *, rebuild: bool = False) -> None:
    """Write a line for each page of a file, as soon as it is labeled, and problems to standard error.

    With `rebuild`, pages cut into blocks are made HTML again, for a model that reads elements.
    """
    limits = PageLimits()
    writing = Writing.of(PICKLED, DEFAULT_OPTIONS, limits)
    open_work = partial(open_steps, DecodedPages, limits.max_blocks, writing)
    read_line = partial(_read_line, rebuild=rebuild, encodings=encodings_read(labeler))
    pages = read_lines(file, read_line, limits.max_bytes)
    async with (
        open_pool(open_work, 1, limits) as pool,
        aclosing(_predictions(pages, pool, labeler)) as predictions,
    ):
        async for prediction in predictions:
            output.write(prediction.line)
            output.flush()
            if prediction.problem:
                report(prediction.problem)


async def _predictions(
    pages: Iterator[BlockPage | Input], pool: PreparationPool, labeler: Labeler
) -> AsyncGenerator[PredictedLine, None]:
    for are_blocks, group in groupby(pages, lambda page: isinstance(page, BlockPage)):
        if are_blocks:
            predictions = _labels(cast("Iterator[BlockPage]", group), labeler)
        else:
            predictions = _texts(cast("Iterator[Input]", group), pool, labeler)
        async with aclosing(predictions):
            async for prediction in predictions:
                yield prediction


async def _labels(pages: Iterator[BlockPage], labeler: Labeler) -> AsyncGenerator[PredictedLine, None]:
    while batch := list(islice(pages, BATCH_PAGES)):
        answers = await labeler.label([page.encoded for page in batch])
        for page, answer in zip(batch, answers, strict=True):
            yield _prediction(page, answer)


def _prediction(page: BlockPage, answer: Prediction | Broken) -> PredictedLine:
    if isinstance(answer, Broken):
        labels, problem = np.zeros(len(page.places), np.bool_), str(answer)
    else:
        labels, problem = content_of_blocks(page, answer), page.problem
    return _line({"id": page.id, "labels": labels.astype(np.int64).tolist()}, problem)


def content_of_blocks(page: BlockPage, labels: Prediction) -> Bools:
    """Return the page's own blocks that are likely content; none that the encoded page does not hold."""
    return at_places(page.places, labels.probabilities >= CONTENT_PROBABILITY)


def at_places(places: Integers, content: Bools) -> Bools:
    """Return the labels of the encoded blocks at places; False for the place -1."""
    found: Bools = np.append(content, False)[places]
    return found


async def _texts(
    pages: Iterator[Input], pool: PreparationPool, labeler: Labeler
) -> AsyncGenerator[PredictedLine, None]:
    async with aclosing(clean_pages(pages, pool, [labeler])) as results:
        async for page, result in results:
            if isinstance(result, WrittenDocument):
                document = unpickle_document(result.value)
                yield _line({"id": document.id or document.url, "text": document.text}, "")
            elif is_page(result):
                yield _line({"id": page.id or page.url, "text": ""}, str(result))


def _line(fields: dict[str, Any], problem: str) -> PredictedLine:
    named = f"{fields['id']}: {problem}" if problem and fields["id"] else problem
    return PredictedLine(orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE), named)


def _read_line(
    line: bytes, max_bytes: int, *, rebuild: bool, encodings: Collection[Encoding]
) -> BlockPage | Input:
    if not has_keys(line, "blocks"):
        return read_page_line(line, max_bytes)
    try:
        return _page_of_blocks(parse_object(line), rebuild=rebuild, encodings=encodings)
    except PageError as error:
        return Broken(error.reason, str(error))


def _page_of_blocks(fields: Fields, *, rebuild: bool, encodings: Collection[Encoding]) -> BlockPage:
    """Read a page that came cut into blocks; what is no block of it is held by none."""
    given, name = fields["blocks"], fields.get("id")
    blocks = [_block(each) for each in given] if isinstance(given, list) else []
    named = None if name is None else encode_text(str(name)).decode()
    known = [block for block in blocks if block is not None]
    page = block_page(named, known, rebuild=rebuild, encodings=encodings)
    if isinstance(given, list) and len(known) == len(blocks):
        return page
    places = np.full(len(blocks), -1, np.int64)
    places[[block is not None for block in blocks]] = page.places
    problem = "its blocks are no list, or some of them lack a text or a path"
    return replace(page, places=places, problem=page.problem or problem)


def _block(value: object) -> Block | None:
    try:
        return msgspec.convert(value, Block)
    except msgspec.ValidationError:
        return None


def block_page(
    name: str | None, blocks: Sequence[Block], *, rebuild: bool, encodings: Collection[Encoding] = ()
) -> BlockPage:
    """Encode a page that came cut into blocks, as it came or rebuilt as HTML.

    Its `problem` says where that cannot be done; then no block is held.
    """
    try:
        encoded, held = _rebuilt(blocks, encodings) if rebuild else _as_it_came(blocks, encodings)
    except PageError as error:
        empty = encode(segment(b"", with_tree=needs_tree(encodings)), encodings)
        return BlockPage(name, empty, np.full(len(blocks), -1, np.int64), f"{error.reason}: {error}")
    return BlockPage(name, encoded, held, "")


def _as_it_came(blocks: Sequence[Block], encodings: Collection[Encoding]) -> tuple[EncodedPage, Integers]:
    """Encode the blocks that hold text; return them and the place of each block among them."""
    with_text = np.array([block.has_text for block in blocks], np.bool_)
    encoded = encode(segmented([block for block in blocks if block.has_text]), encodings)
    return encoded, np.where(with_text, np.cumsum(with_text) - 1, -1)


def _rebuilt(blocks: Sequence[Block], encodings: Collection[Encoding]) -> tuple[EncodedPage, Integers]:
    """Encode the page that is rebuilt from the blocks; return it and the place of each block on it.

    Raises:
        PageError: the rebuilt page cannot be segmented, or does not show the blocks one by one.
    """
    page = rebuilt(blocks)
    whole = segment(encode_text(page.html), with_tree=needs_tree(encodings))
    leaves = np.zeros(0, np.uint16) if whole.structure is None else whole.structure.leaves
    of_texts = np.repeat(np.arange(len(whole)), leaves)
    if len(of_texts) != page.texts.max(initial=-1) + 1:
        raise PageError(BrokenReason.MALFORMED_MESSAGE, "no page can be made of the paths of its blocks")
    return encode(whole, encodings), np.append(of_texts, -1)[page.texts]
