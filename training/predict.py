"""A model's labels of pages cut into blocks, and its texts of pages, as lines of JSON.

Pages of HTML go the way of `dehusk clean`. Memory holds a few pages at a time.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any, BinaryIO, TypeGuard, cast

import click
import numpy as np
import numpy.typing as npt
import orjson

from inference.encoding import encode
from inference.labeler import Labeler
from schemas.errors import PageError
from schemas.outcomes import Broken
from schemas.pages import EncodedPage, Labels
from streams.isolation import open_pool
from streams.offline import BATCH_PAGES, DecodedPages, Input, clean_lines
from streams.printable import printable
from streams.readers import read_lines, read_page_line
from streams.settings import PageLimits
from streams.sources.encoding import encode_text
from streams.sources.fields import Fields, has_keys, parse_object
from streams.worker.pool import PreparationPool
from training.blocks import CONTENT_PROBABILITY, Block, has_text, segmented


@dataclass(frozen=True, slots=True, eq=False)
class BlockPage:
    """A page that came cut into blocks."""

    id: str | None
    encoded: EncodedPage
    """Its blocks that hold text."""
    labeled: npt.NDArray[np.bool_]
    """Whether each of its blocks is among them."""
    problem: str
    """What is wrong with its blocks, if anything is."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One page's line, and why it says nothing of the page, or not all."""

    line: bytes
    problem: str


async def write_predictions(file: Path, labeler: Labeler, output: BinaryIO) -> None:
    """Write a line for each page of a file, as soon as it is labeled, and problems to standard error."""
    limits = PageLimits()
    pages = read_lines(file, _read_line, limits.max_bytes)
    async with (
        open_pool(DecodedPages, 1, limits) as pool,
        aclosing(_predictions(pages, pool, labeler)) as predictions,
    ):
        async for prediction in predictions:
            output.write(prediction.line)
            output.flush()
            if prediction.problem:
                click.echo(printable(prediction.problem), err=True)


async def _predictions(
    pages: Iterator[BlockPage | Input], pool: PreparationPool, labeler: Labeler
) -> AsyncGenerator[Prediction, None]:
    for are_blocks, group in groupby(pages, lambda page: isinstance(page, BlockPage)):
        if are_blocks:
            predictions = _labels(cast("Iterator[BlockPage]", group), labeler)
        else:
            predictions = _texts(cast("Iterator[Input]", group), pool, labeler)
        async with aclosing(predictions):
            async for prediction in predictions:
                yield prediction


async def _labels(pages: Iterator[BlockPage], labeler: Labeler) -> AsyncGenerator[Prediction, None]:
    while batch := list(islice(pages, BATCH_PAGES)):
        answers = await labeler.label([page.encoded for page in batch])
        for page, answer in zip(batch, answers, strict=True):
            yield _prediction(page, answer)


def _prediction(page: BlockPage, answer: Labels | Broken) -> Prediction:
    labels = np.zeros(len(page.labeled), np.int64)
    problem = page.problem
    if isinstance(answer, Broken):
        problem = f"{answer.reason}: {answer.detail}"
    else:
        labels[page.labeled] = answer.probabilities >= CONTENT_PROBABILITY
    return _line({"id": page.id, "labels": labels.tolist()}, problem)


async def _texts(
    pages: Iterator[Input], pool: PreparationPool, labeler: Labeler
) -> AsyncGenerator[Prediction, None]:
    async with aclosing(clean_lines(pages, pool, [labeler], with_blocks=False)) as lines:
        async for line in lines:
            cleaned = orjson.loads(line)
            yield _line({name: cleaned[name] for name in ("id", "text")}, cleaned["error"] or "")


def _line(fields: dict[str, Any], problem: str) -> Prediction:
    named = f"{fields['id']}: {problem}" if problem and fields["id"] else problem
    return Prediction(orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE), named)


def _read_line(line: bytes, max_bytes: int) -> BlockPage | Input:
    if not has_keys(line, "blocks"):
        return read_page_line(line, max_bytes)
    try:
        return _block_page(parse_object(line))
    except PageError as error:
        return Broken(error.reason, str(error))


def _block_page(fields: Fields) -> BlockPage:
    blocks, name = fields["blocks"], fields.get("id")
    listed: list[object] = blocks if isinstance(blocks, list) else []
    readable = [block for block in listed if _is_block(block)]
    is_whole = isinstance(blocks, list) and len(readable) == len(listed)
    return BlockPage(
        id=None if name is None else encode_text(str(name)).decode(),
        encoded=encode(segmented([block for block in readable if has_text(block)])),
        labeled=np.array([_is_block(block) and has_text(block) for block in listed], np.bool_),
        problem="" if is_whole else "its blocks are no list, or some of them lack a text or a path",
    )


def _is_block(value: object) -> TypeGuard[Block]:
    if not isinstance(value, dict):
        return False
    text, path = value.get("text"), value.get("path")
    return isinstance(text, str) and isinstance(path, list) and all(isinstance(tag, str) for tag in path)
