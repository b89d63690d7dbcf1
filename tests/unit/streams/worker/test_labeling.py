"""Prediction, from a labeler that fails in the ways labelers fail."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from inference.encoding import encode
from inference.rules import RulesLabeler
from schemas.errors import ConfigurationError, UnavailableError
from schemas.outcomes import Broken, BrokenReason
from schemas.pages import EncodedPage, Prediction, SegmentedPage
from streams.worker.availability import Dependency
from streams.worker.labeling import PROBE, DegradingLabeling, WaitingLabeling

Fails = Callable[[Sequence[EncodedPage]], Exception | None]
ModelAnswer = list[Prediction | Broken]


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


def page(words: int) -> EncodedPage:
    return encode(SegmentedPage("", None, ("word " * words,), ("html/body/p",), (0,), (0,), (False,)))


def times(count: int, error: Exception) -> Fails:
    """Fails so many times."""
    errors = [error] * count
    return lambda pages: errors.pop() if errors else None


DOWN = UnavailableError("connection refused")


@pytest.mark.parametrize("failures", [0, 1, 7, 40])
@pytest.mark.parametrize("error", [DOWN, ConfigurationError("no such model yet")])
async def test_a_labeler_that_comes_back_labels_every_page(failures: int, error: Exception) -> None:
    dependency = Dependency("triton", "")
    labeling = WaitingLabeling(FailingLabeler(times(failures, error)), dependency)
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
    waiting = asyncio.create_task(
        WaitingLabeling(FailingLabeler(lambda _: DOWN), dependency).label([page(1)])
    )
    await asyncio.sleep(0.05)
    assert not waiting.done()
    assert dependency.unavailable
    waiting.cancel()


async def test_a_page_that_alone_makes_the_labeler_fail_is_blamed() -> None:
    poison = page(7)
    labeler = FailingLabeler(lambda pages: DOWN if any(each is poison for each in pages) else None)
    labeled = await WaitingLabeling(labeler, Dependency("triton", "")).label([page(1), poison, page(60)])
    before, blamed, after = labeled.answers
    assert isinstance(before, Prediction)
    assert isinstance(after, Prediction)
    assert isinstance(blamed, Broken)
    assert blamed.reason is BrokenReason.REJECTED_BY_MODEL


async def test_no_page_is_blamed_while_the_labeler_fails_for_all() -> None:
    labeler = FailingLabeler(times(100, DOWN))
    labeled = await WaitingLabeling(labeler, Dependency("triton", "")).label([page(60)])
    assert isinstance(labeled.answers[0], Prediction)


async def test_a_bug_of_the_labeler_is_no_absence() -> None:
    labeler = FailingLabeler(lambda _: ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await WaitingLabeling(labeler, Dependency("triton", "")).label([page(1)])


async def test_rules_label_while_the_labeler_is_unavailable() -> None:
    dependency, unavailable = Dependency("triton", ""), [True]
    labeler = FailingLabeler(lambda _: DOWN if unavailable else None)
    labeling = DegradingLabeling(labeler, RulesLabeler(), dependency)
    for _ in range(3):
        labeled = await labeling.label([page(60), page(1)])
        assert labeled.degraded
        assert len(labeled.answers) == 2
    assert labeler.calls == [2], "batches wait for the labeler once, not each time"

    unavailable.clear()
    dependency.answered()
    assert not (await labeling.label([page(60)])).degraded


def test_the_probe_is_a_page_of_one_block() -> None:
    assert len(PROBE) == 1
