"""Labels for pages without a gold text: what several extractors agree on.

Each of three votes on every block: a published model, which must not have learned from the page, trafilatura
without comments, and resiliparse without comments. What two keep is content; where the third disagrees, the
block is uncertain. User comments are known by what holds them (`training.comments`), and nobody is asked.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding import encode
from dehusk.inference.onnx import OnnxLabeler
from dehusk.inference.segmentation import segment
from dehusk.inference.selection import select
from dehusk.schemas.errors import PageError
from dehusk.schemas.pages import ModelVersion, SegmentedPage
from dehusk.training.alignment import content_blocks
from dehusk.training.comments import listed_comments
from dehusk.training.extractors import resiliparse_text, trafilatura_text
from dehusk.training.labels import DROPPED, Labels
from dehusk.training.pages import GoldPage, read_gold
from dehusk.training.predictor import Answer, labeler_answer
from dehusk.training.score import score_words

Bools = npt.NDArray[np.bool_]
Words = list[list[str]]

_MAJORITY = 2
_SHARE = 0.6666
"""Of a block's words, those that a text must have for the block to be part of it."""
_LEAST_WORDS = 50
_MOST_DOUBT = 0.5
"""Words that may be uncertain, as a share of those that are content or uncertain."""


@dataclass(frozen=True, slots=True)
class Taught:
    """The labels of one page."""

    page: str
    """Its id."""
    labels: Labels


def taught(files: Iterable[Path], model: ModelVersion, repository: Path, processes: int) -> Iterable[Taught]:
    """The labels of each page that has no gold text; `DROPPED` where the teachers agree on too little."""
    open_model = partial(_open_model, model, repository)
    pages = (page for page in read_gold(files) if page.text is None)
    with get_context("spawn").Pool(processes, _start, (open_model,)) as pool:
        yield from pool.imap(_teach, pages, chunksize=4)


def _open_model(model: ModelVersion, repository: Path) -> Answer:
    return labeler_answer(OnnxLabeler(model.name, model.version, repository))


_answer: Answer
"""The model, in each process of the pool."""


def _start(open_model: Callable[[], Answer]) -> None:
    global _answer  # noqa: PLW0603 -- it lives as long as the process
    _answer = open_model()


def _teach(page: GoldPage) -> Taught:
    try:
        segmented = segment(page.html.encode("utf-8", "replace"))
    except PageError:
        return Taught(page.id, DROPPED)
    words = [score_words(text) for text in segmented.texts]
    votes = [_selected(segmented), *(_aligned(words, extract(page.html)) for extract in _EXTRACTORS)]
    asked = ~listed_comments(page, segmented)
    return Taught(page.id, agreed(segmented.texts, words, [vote & asked for vote in votes]))


def agreed(texts: tuple[str, ...], words: Words, votes: list[Bools]) -> Labels:
    """What most of the votes keep; `DROPPED` where that is too little, or too uncertain."""
    kept = np.sum(votes, 0)
    content, uncertain = kept >= _MAJORITY, (kept > 0) & (kept < len(votes))
    counts = np.array([len(each) for each in words], np.int64)
    known, doubted = counts[content].sum(), counts[uncertain].sum()
    if known < _LEAST_WORDS or doubted > _MOST_DOUBT * counts[content | uncertain].sum():
        return DROPPED
    return Labels.of(texts, content, uncertain)


def _selected(page: SegmentedPage) -> Bools:
    """What the model takes for content."""
    encoded = encode(page)
    content, *comments = _answer(encoded)
    return select(content, encoded.words, encoded.repeat, comments[0] if comments else None, encoded.alike)


def _aligned(words: Words, text: str) -> Bools:
    return content_blocks(words, score_words(text), _SHARE)


_EXTRACTORS = (partial(trafilatura_text, comments=False), partial(resiliparse_text, comments=False))
