"""Labels, from a labeler that fails in the ways labelers fail."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from inference.encoding import encode
from inference.rules import RulesLabeler
from schemas.errors import ConfigurationError, UnavailableError
from schemas.outcomes import Broken, BrokenReason
from schemas.pages import EncodedPage, Labels, SegmentedPage
from streams.worker.availability import Part
from streams.worker.labelling import PROBE, DegradingLabelling, WaitingLabelling

Fails = Callable[[Sequence[EncodedPage]], Exception | None]
ModelAnswer = list[Labels | Broken]


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


AWAY = UnavailableError("connection refused")


@pytest.mark.parametrize("failures", [0, 1, 7, 40])
@pytest.mark.parametrize("error", [AWAY, ConfigurationError("no such model yet")])
async def test_a_labeler_that_comes_back_labels_every_page(failures: int, error: Exception) -> None:
    part = Part("triton", "")
    labelling = WaitingLabelling(FailingLabeler(times(failures, error)), part)
    labelled = await labelling.label([page(1), page(60), page(2)])
    assert [answer.probabilities.tolist() for answer in labelled.answers if isinstance(answer, Labels)] == [
        [0.0],
        [1.0],
        [0.0],
    ]
    assert not labelled.degraded
    assert not part.away


async def test_a_labeler_that_is_away_is_waited_for() -> None:
    part = Part("triton", "")
    waiting = asyncio.create_task(WaitingLabelling(FailingLabeler(lambda _: AWAY), part).label([page(1)]))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    assert part.away
    waiting.cancel()


async def test_a_page_that_alone_makes_the_labeler_fail_is_blamed() -> None:
    poison = page(7)
    labeler = FailingLabeler(lambda pages: AWAY if any(each is poison for each in pages) else None)
    labelled = await WaitingLabelling(labeler, Part("triton", "")).label([page(1), poison, page(60)])
    before, blamed, after = labelled.answers
    assert isinstance(before, Labels)
    assert isinstance(after, Labels)
    assert isinstance(blamed, Broken)
    assert blamed.reason is BrokenReason.REJECTED_BY_MODEL


async def test_no_page_is_blamed_while_the_labeler_fails_for_all() -> None:
    labeler = FailingLabeler(times(100, AWAY))
    labelled = await WaitingLabelling(labeler, Part("triton", "")).label([page(60)])
    assert isinstance(labelled.answers[0], Labels)


async def test_a_bug_of_the_labeler_is_no_absence() -> None:
    labeler = FailingLabeler(lambda _: ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await WaitingLabelling(labeler, Part("triton", "")).label([page(1)])


async def test_rules_label_while_the_labeler_is_away() -> None:
    part, away = Part("triton", ""), [True]
    labeler = FailingLabeler(lambda _: AWAY if away else None)
    labelling = DegradingLabelling(labeler, RulesLabeler(), part)
    for _ in range(3):
        labelled = await labelling.label([page(60), page(1)])
        assert labelled.degraded
        assert len(labelled.answers) == 2
    assert labeler.calls == [2], "batches wait for the labeler once, not each time"

    away.clear()
    part.answered()
    assert not (await labelling.label([page(60)])).degraded


def test_the_probe_is_a_page_of_one_block() -> None:
    assert len(PROBE) == 1
