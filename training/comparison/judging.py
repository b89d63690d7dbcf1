"""What labelers make of one page: how far their texts and blocks agree with the gold, and in what time."""

import random
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
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
Watch = Callable[[str], AbstractContextManager[None]]
"""What is entered while whom a name stands for is at work."""


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


class Abandoned(NamedTuple):
    """Why one was given up on a page, and the CPU time in seconds that it is charged with."""

    problem: str
    seconds: float


class _Timed(NamedTuple):
    outcome: Outcome | None
    seconds: float
    problem: str


def judge(
    page: ComparedPage,
    compared: Mapping[str, Compared],
    rounds: int,
    turn: int,
    *,
    watch: Watch,
    abandoned: Mapping[str, Abandoned],
) -> JudgedPage:
    """How well all do on a page; they extract it in turn, in each round in another order, drawn by `turn`.

    Those that were given up on it are not called, and fail.
    """
    question = question_of(page)
    calls = {name: _Call(each, question, name, watch) for name, each in compared.items()}
    judgements = {name: _failed(question, each) for name, each in abandoned.items()}
    timed = _timed({name: call for name, call in calls.items() if name not in abandoned}, rounds, turn)
    judgements |= {name: _judgement(calls[name], each) for name, each in timed.items()}
    return JudgedPage(
        id=page.id,
        collection=page.collection,
        site=page.site,
        page_type=page.page_type,
        everything=word_f1(kept_words(question.units, np.ones(len(question.units))), question.gold),
        oracle=word_f1(kept_words(question.units, question.truth), question.gold),
        judgements={name: judgements[name] for name in compared},
        problem=question.problem,
    )


class _Call(NamedTuple):
    """One that is asked about a page, watched by its name."""

    compared: Compared
    question: Question
    name: str
    watch: Watch

    def extract(self) -> _Timed:
        with self.watch(self.name):
            started = time.process_time()
            try:
                outcome, problem = self.compared.extract(self.question.raw), ""
            except Exception as error:  # noqa: BLE001 -- extractors raise anything, and others go on
                outcome, problem = None, _said(error)
            return _Timed(outcome, time.process_time() - started, problem)

    def units(self, outcome: Outcome) -> Bools:
        """Raises what `Compared.units` does."""
        with self.watch(self.name):
            return self.compared.units(self.question, outcome)


def _timed(calls: Mapping[str, _Call], rounds: int, turn: int) -> dict[str, list[_Timed]]:
    """What each made of the page in each round."""
    everyone, orders = list(calls), random.Random(turn)  # noqa: S311 no secret
    timed: dict[str, list[_Timed]] = {name: [] for name in everyone}
    for _ in range(rounds):
        for name in orders.sample(everyone, len(everyone)):
            timed[name].append(calls[name].extract())
    return timed


def _judgement(call: _Call, timed: list[_Timed]) -> Judgement:
    question, (outcome, _, problem) = call.question, timed[0]
    found = np.zeros(len(question.units), np.bool_)
    if outcome is not None:
        try:
            found = call.units(outcome)
        except PageError as error:
            problem = _said(error)
    return Judgement(
        words=word_scores(score_words(outcome.text if outcome is not None else ""), question.gold),
        blocks=_counts(question.truth, found),
        milliseconds=1000 * median(each.seconds for each in timed),
        problem=problem,
    )


def _failed(question: Question, abandoned: Abandoned) -> Judgement:
    """An empty text."""
    return Judgement(
        words=word_scores(score_words(""), question.gold),
        blocks=_counts(question.truth, np.zeros(len(question.units), np.bool_)),
        milliseconds=1000 * abandoned.seconds,
        problem=abandoned.problem,
    )


def _counts(truth: Bools, found: Bools) -> BlockCounts:
    pairs = ((truth, found), (truth, ~found), (~truth, ~found), (~truth, found))
    return BlockCounts(*(int(np.count_nonzero(one & other)) for one, other in pairs))


def _said(error: Exception) -> str:
    kind = error.reason if isinstance(error, PageError) else type(error).__name__
    return f"{kind}: {error}"
