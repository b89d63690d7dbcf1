"""A page of which is known which units of it are content: its own blocks, or those that dehusk makes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dehusk.inference.segmentation import segment
from dehusk.schemas.errors import PageError
from dehusk.schemas.pages import RawPage
from dehusk.training.alignment import content_blocks
from dehusk.training.blocks import has_text
from dehusk.training.comparison.pages import ComparedPage
from dehusk.training.predict import BlockPage, block_page
from dehusk.training.score import kept_words, score_words

Bools = npt.NDArray[np.bool_]
SHARE = 0.6666
"""Of a block's words, those that a text must have for the block to be part of it."""
_NOWHERE = "http://example.org/"
"""The address under which every page is extracted: nothing depends on it."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is asked about a page: which of its T units are content, and what its text is."""

    page: ComparedPage
    raw: RawPage
    gold: Sequence[str]
    """The words of its content."""
    units: Sequence[Sequence[str]]
    """The words of each unit."""
    truth: Bools
    """Shape [T]: which units are content."""
    places: npt.NDArray[np.int64]
    """Shape [T]: which of the blocks that dehusk makes holds each unit; -1 for none."""
    as_it_came: BlockPage | None = None
    """The units as labelers read them that need no elements; None of a page that came as HTML."""
    problem: str = ""
    """Why it has no units, or why none of them is held by a block."""


def question_of(page: ComparedPage) -> Question:
    """What is asked about a page."""
    raw = RawPage(_NOWHERE, page.html)
    if page.blocks:
        return _of_blocks(page, raw)
    try:
        texts = segment(page.html).texts
    except PageError as error:
        problem = f"{error.reason}: {error}"
        none = np.zeros(0, np.bool_)
        return Question(page, raw, score_words(page.text), [], none, none.astype(np.int64), problem=problem)
    units = [score_words(text) for text in texts]
    places = np.arange(len(units))
    if page.labels is not None:
        truth = np.array(page.labels, np.bool_)
        return Question(page, raw, kept_words(units, truth), units, truth, places)
    gold = score_words(page.text)
    return Question(page, raw, gold, units, content_blocks(units, gold, SHARE), places)


def _of_blocks(page: ComparedPage, raw: RawPage) -> Question:
    """The question about a page that came cut into blocks; blocks without text are no units."""
    blocks = [block for block in page.blocks if has_text(block)]
    fields: dict[str, Any] = {"id": page.id, "blocks": blocks}
    rebuilt = block_page(fields, rebuild=True)
    units = [score_words(block["text"]) for block in blocks]
    truth = np.array([block["label"] == 1 for block in blocks], np.bool_)
    return Question(
        page=page,
        raw=raw,
        gold=kept_words(units, truth),
        units=units,
        truth=truth,
        places=rebuilt.places,
        as_it_came=block_page(fields, rebuild=False),
        problem=rebuilt.problem,
    )
