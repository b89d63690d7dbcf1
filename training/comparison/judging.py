"""What labelers make of one page: how far their texts and blocks agree with the gold, and in what time."""

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dehusk.schemas.errors import PageError
from dehusk.training.comparison.labelers import Compared, Outcome
from dehusk.training.comparison.pages import ComparedPage
from dehusk.training.comparison.questions import Question, question_of
from dehusk.training.score import WordScores, kept_words, score_words, word_f1, word_scores

Bools = npt.NDArray[np.bool_]


class BlockCounts(NamedTuple):
    """The units of a page by what they are and what they are taken for."""

    content_found: int = 0
    content_missed: int = 0
    boilerplate_found: int = 0
    boilerplate_missed: int = 0


@dataclass(frozen=True, slots=True)
class Judgement:
    """How well one labeler does on one page."""

    words: WordScores
    blocks: BlockCounts
    milliseconds: float
    """CPU time from the HTML to the text, the median of some rounds."""
    problem: str = ""
    """Why there is no text, if so: it is scored as an empty one."""


@dataclass(frozen=True, slots=True)
class JudgedPage:
    """How well all do on one page."""

    id: str
    collection: str
    site: str
    page_type: str
    everything: float
    """The F1 of the words of all units."""
    oracle: float
    """The F1 of the words of the units that are content."""
    judgements: Mapping[str, Judgement]
    """By the names of labelers."""
    problem: str = ""
    """Why none of its units is scored, if so."""


class _Timed(NamedTuple):
    outcome: Outcome | None
    seconds: float
    problem: str


def judge(page: ComparedPage, compared: Mapping[str, Compared], rounds: int, turn: int) -> JudgedPage:
    """How well all do on a page; they extract it in turn, in each round in another order, drawn by `turn`."""
    question = question_of(page)
    everyone, orders = list(compared), random.Random(turn)  # noqa: S311 no secret
    timed: dict[str, list[_Timed]] = {name: [] for name in everyone}
    for _ in range(rounds):
        for name in orders.sample(everyone, len(everyone)):
            timed[name].append(_timed(compared[name], question))
    return JudgedPage(
        id=page.id,
        collection=page.collection,
        site=page.site,
        page_type=page.page_type,
        everything=word_f1(kept_words(question.units, np.ones(len(question.units))), question.gold),
        oracle=word_f1(kept_words(question.units, question.truth), question.gold),
        judgements={name: _judgement(compared[name], question, timed[name]) for name in everyone},
        problem=question.problem,
    )


def _timed(compared: Compared, question: Question) -> _Timed:
    started = time.process_time()
    try:
        outcome, problem = compared.extract(question.raw), ""
    except Exception as error:  # noqa: BLE001 -- extractors raise anything, and others go on
        outcome, problem = None, _said(error)
    return _Timed(outcome, time.process_time() - started, problem)


def _judgement(compared: Compared, question: Question, timed: list[_Timed]) -> Judgement:
    outcome, _, problem = timed[0]
    found = np.zeros(len(question.units), np.bool_)
    if outcome is not None:
        try:
            found = compared.units(question, outcome)
        except PageError as error:
            problem = _said(error)
    return Judgement(
        words=word_scores(score_words(outcome.text if outcome is not None else ""), question.gold),
        blocks=_counts(question.truth, found),
        milliseconds=1000 * median(each.seconds for each in timed),
        problem=problem,
    )


def _counts(truth: Bools, found: Bools) -> BlockCounts:
    pairs = ((truth, found), (truth, ~found), (~truth, ~found), (~truth, found))
    return BlockCounts(*(int(np.count_nonzero(one & other)) for one, other in pairs))


def _said(error: Exception) -> str:
    kind = error.reason if isinstance(error, PageError) else type(error).__name__
    return f"{kind}: {error}"
