"""Prediction, from a labeler that fails in the ways labelers fail."""

import asyncio
import random
from collections.abc import Callable, Sequence

import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import EncodedPage, Prediction, SegmentedPage
from dehusk.streams.availability import Dependency
from dehusk.streams.worker.steps.labeling import DegradingLabeling, ProbedLabeler, WaitingLabeling
from tests.settling import settle

Fails = Callable[[Sequence[EncodedPage]], Exception | None]
ModelAnswer = list[Prediction | Broken]
REJECTED = Broken(BrokenReason.REJECTED_BY_MODEL, "an answer that is no probability")


class FailingLabeler(RulesLabeler):
    """A labeler that fails for whom the test says."""

    def __init__(self, fails: Fails) -> None:
        self.fails = fails
        self.calls: list[int] = []

    async def label(self, pages: Sequence[EncodedPage]) -> ModelAnswer:
        self.calls.append(len(pages))
        if error := self.fails(pages):
            raise error
        return await super().label(pages)


class RejectingLabeler(RulesLabeler):
    """A labeler that rejects the pages that the test says."""

    def __init__(self, rejects: Callable[[EncodedPage], object]) -> None:
        self.rejects = rejects

    async def label(self, pages: Sequence[EncodedPage]) -> ModelAnswer:
        answers = await super().label(pages)
        return [
            REJECTED if self.rejects(page) else answer for page, answer in zip(pages, answers, strict=True)
        ]


def page(words: int, blocks: int = 1) -> EncodedPage:
    texts = ("word " * words,) * blocks
    return encode(
        SegmentedPage(
            "",
            None,
            texts,
            ("html/body/p",) * blocks,
            (0,) * blocks,
            (0,) * blocks,
            (False,) * blocks,
        )
    )


def waiting(labeler: RulesLabeler, dependency: Dependency | None = None) -> WaitingLabeling:
    return WaitingLabeling(ProbedLabeler(labeler), dependency or Dependency("triton", ""))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials follow each other without a pause."""

    async def back_off(attempt: int) -> None:
        await asyncio.sleep(0)

    monkeypatch.setattr("dehusk.streams.worker.steps.labeling.back_off", back_off)


def times(count: int, error: Exception) -> Fails:
    """Fails so many times."""
    errors = [error] * count
    return lambda pages: errors.pop() if errors else None


DOWN = UnavailableError("connection refused")


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("failures", [0, 1, 7, 40])
@pytest.mark.parametrize("error", [DOWN, ConfigurationError("no such model yet")])
async def test_a_labeler_that_comes_back_labels_every_page(failures: int, error: Exception) -> None:
    dependency = Dependency("triton", "")
    labeling = waiting(FailingLabeler(times(failures, error)), dependency)
    labeled = await labeling.label([page(1), page(60), page(2)])
    assert [
        answer.probabilities.tolist() for answer in labeled.answers if isinstance(answer, Prediction)
    ] == [
        [0.0],
        [1.0],
        [0.0],
    ]
    assert not labeled.degraded
    assert not dependency.unavailable


async def test_a_labeler_that_is_away_is_waited_for() -> None:
    dependency = Dependency("triton", "")
    labeling = asyncio.create_task(waiting(FailingLabeler(lambda _: DOWN), dependency).label([page(1)]))
    await settle()
    assert not labeling.done()
    assert dependency.unavailable
    labeling.cancel()


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("blocks", [1, 200])
@pytest.mark.parametrize("others", [0, 5], ids=["the first page of all", "among others"])
@pytest.mark.parametrize("rejects", [False, True])
async def test_a_page_that_alone_fails_is_to_blame(blocks: int, others: int, *, rejects: bool) -> None:
    poison = page(7, blocks)
    rejecting = RejectingLabeler(lambda each: each is poison)
    failing = FailingLabeler(lambda pages: DOWN if any(each is poison for each in pages) else None)
    dependency = Dependency("triton", "")
    labeling = waiting(rejecting if rejects else failing, dependency)
    blamed, *rest = (await labeling.label([poison, *[page(9, blocks)] * others])).answers
    assert isinstance(blamed, Broken)
    assert blamed.reason is BrokenReason.REJECTED_BY_MODEL
    assert [type(answer) for answer in rest] == [Prediction] * others
    assert not dependency.unavailable


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
async def test_no_page_is_to_blame_for_requests_that_time_out_at_random(share: float) -> None:
    chance = random.Random(1)
    labeler = FailingLabeler(lambda pages: DOWN if any(chance.random() < share for _ in pages) else None)
    labeling = waiting(labeler)
    for _ in range(30):
        answers = (await labeling.label([page(60)] * 10)).answers
        assert [type(answer) for answer in answers] == [Prediction] * 10


@pytest.mark.usefixtures("patient")
async def test_no_page_is_to_blame_for_a_model_that_rejects_every_page(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    rejects = [True]
    dependency = Dependency("triton", "")
    labeler = ProbedLabeler(RejectingLabeler(lambda _: rejects))
    labeling = asyncio.create_task(WaitingLabeling(labeler, dependency).label([page(60)] * 5))
    await settle()
    again = asyncio.create_task(WaitingLabeling(labeler, dependency).label([page(60)]))
    await settle()
    assert not labeling.done()
    assert dependency.unavailable
    assert len(caplog.messages) == 1
    again.cancel()
    with pytest.raises(ConfigurationError, match="no probability"):
        await labeler.check()
    rejects.clear()
    assert [type(answer) for answer in (await labeling).answers] == [Prediction] * 5
    assert not dependency.unavailable


@pytest.mark.usefixtures("patient")
async def test_no_page_is_to_blame_where_all_of_its_size_fail() -> None:
    slow = [True]
    dependency = Dependency("triton", "")
    labeler = ProbedLabeler(
        FailingLabeler(lambda pages: DOWN if slow and max(map(len, pages)) > 99 else None)
    )
    labeling = asyncio.create_task(WaitingLabeling(labeler, dependency).label([page(1), page(60, 200)]))
    await settle()
    assert not labeling.done()
    with pytest.raises(UnavailableError):
        await labeler.check()
    slow.clear()
    assert [type(answer) for answer in (await labeling).answers] == [Prediction] * 2
    await labeler.check()


@pytest.mark.usefixtures("patient")
async def test_no_page_is_blamed_while_the_labeler_fails_for_all() -> None:
    labeled = await waiting(FailingLabeler(times(100, DOWN))).label([page(60)])
    assert isinstance(labeled.answers[0], Prediction)


async def test_a_bug_of_the_labeler_is_no_absence() -> None:
    labeler = FailingLabeler(lambda _: ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await waiting(labeler).label([page(1)])


async def test_rules_label_while_the_labeler_is_unavailable() -> None:
    dependency, unavailable = Dependency("triton", ""), [True]
    labeler = FailingLabeler(lambda _: DOWN if unavailable else None)
    labeling = DegradingLabeling(ProbedLabeler(labeler), RulesLabeler(), dependency)
    for _ in range(3):
        labeled = await labeling.label([page(60), page(1)])
        assert labeled.degraded
        assert len(labeled.answers) == 2
    assert labeler.calls == [2], "batches wait for the labeler once, not each time"

    unavailable.clear()
    dependency.answered()
    assert not (await labeling.label([page(60)])).degraded


@pytest.mark.parametrize("all_of_them", [False, True])
async def test_rules_label_while_the_model_rejects_every_page(*, all_of_them: bool) -> None:
    rejected = page(60)
    labeler = ProbedLabeler(RejectingLabeler(lambda each: all_of_them or each is rejected))
    labeled = await DegradingLabeling(labeler, RulesLabeler(), Dependency("triton", "")).label([rejected])
    assert labeled.degraded == all_of_them
    assert isinstance(labeled.answers[0], Prediction if all_of_them else Broken)
