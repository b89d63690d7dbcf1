"""Comparisons of versions on trial, on samples of the batches."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import EncodedPage, Encoding
from dehusk.schemas.rollout import Limits, Part, Rollout
from dehusk.schemas.trials import CANARY, PROMOTED, SHADOW, Comparison
from dehusk.streams.preparation.steps import PackedPage
from dehusk.streams.rollout.transitions import first_state, promote, with_canary, with_shadow
from dehusk.streams.worker.rollout import observing
from dehusk.streams.worker.rollout.observing import Observations
from dehusk.streams.worker.rollout.plan import Plan

START = promote(first_state("7", "me"), "7", "me")
SHADOWED = with_shadow(START, Part("8", 1.0), "me")
TRIED = with_canary(START, Part("8", 1.0), "me")
ON_PROBATION = replace(promote(START, "8", "me"), limits=Limits(probation_seconds=86_400))


def plan(models, state: Rollout = SHADOWED) -> Plan:
    parts = {
        "shadow": models[state.shadow.version].opened() if state.shadow else None,
        "canary": models[state.canary.version].opened() if state.canary else None,
        "before": models[state.previous].opened() if state.previous else None,
    }
    made = Plan(models[state.serving].opened(), state, **parts)
    made.hold()
    return made


class Seen:
    """The observations of a plan, whose pages are labeled by one version."""

    def __init__(self, made: Plan, finish) -> None:
        self.plan = made
        self.all = Observations()
        self._finish = finish

    async def offer(self, pages: Sequence[PackedPage], by: str, waited: Sequence[EncodedPage] = ()) -> None:
        version = next(each for each in self.plan.versions() if each.version == by)
        answers = await version.labeler.label([page.encoded for page in pages])
        self.all.offer(self.plan, pages, answers, waited)

    async def compared(self, trial: str = SHADOW) -> Comparison:
        await self._finish(self.all)
        return self.all.comparing[trial].comparison

    @property
    def waiting(self) -> int:
        return sum(each._waiting.qsize() for each in self.all.comparing.values())


@pytest.fixture
def seen(models, finish_comparing) -> Seen:
    return Seen(plan(models), finish_comparing)


async def test_pages_are_to_have_what_any_version_of_the_plan_reads(models) -> None:
    assert plan(models).encodings == frozenset()
    models["8"].encodings = frozenset((Encoding.WEB2TEXT,))
    assert plan(models).encodings == {Encoding.WEB2TEXT}


@pytest.mark.parametrize(
    ("state", "by", "trial"), [(SHADOWED, "7", SHADOW), (TRIED, "8", CANARY), (ON_PROBATION, "8", PROMOTED)]
)
async def test_what_one_version_labels_the_other_one_is_asked_for(
    models, page, finish_comparing, *, state: Rollout, by: str, trial: str
) -> None:
    models["8"].probability = 0.0
    seen = Seen(plan(models, state), finish_comparing)
    await seen.offer([page, page], by)
    found = await seen.compared(trial)
    assert (found.pages, found.removed, found.added) == (2, 2 * len(page.encoded), 0)
    assert {name for name, each in seen.all.comparing.items() if each.comparison.pages} == {trial}


@pytest.mark.parametrize(("state", "trial"), [(TRIED, CANARY), (ON_PROBATION, PROMOTED)])
@pytest.mark.parametrize(("fault", "errors", "late"), [("", 0, 0), ("away", 2, 0), ("late", 0, 2)])
async def test_a_version_that_pages_have_waited_for_is_asked_again_and_counted(
    models, page, finish_comparing, *, state, trial, fault, errors, late
) -> None:
    models["8"].fault = fault
    seen = Seen(plan(models, state), finish_comparing)
    await seen.offer([page, page], "7", [page.encoded])
    await seen.compared(trial)
    figures = seen.all.figures.of("8")
    assert (figures.pages, figures.errors, figures.late) == (2, errors, late)


async def test_pages_that_the_canary_does_not_label_anyway_are_not_compared(
    models, page, finish_comparing
) -> None:
    seen = Seen(plan(models, TRIED), finish_comparing)
    await seen.offer([page], "7")
    assert seen.waiting == 0


async def test_what_no_version_labeled_is_not_compared(seen: Seen, page) -> None:
    seen.all.offer(seen.plan, [page], [Broken(BrokenReason.REJECTED_BY_MODEL, "")], ())
    assert seen.waiting == 0


async def test_batches_are_dropped_while_the_comparison_is_behind(seen: Seen, page) -> None:
    for _ in range(5):
        await seen.offer([page], "7")
    assert seen.all.shadow.comparison == Comparison(missed=3)
    await seen.all.close()
    assert seen.plan.serving._holders == 1


@pytest.mark.parametrize(("share", "least", "most"), [(1.0, 400, 400), (0.25, 60, 140)])
async def test_a_share_of_the_batches_is_compared(
    models, page, finish_comparing, *, share: float, least: int, most: int
) -> None:
    seen = Seen(plan(models, with_shadow(START, Part("8", share), "me")), finish_comparing)
    seen.all.shadow._random.seed(1)
    for _ in range(400):
        await seen.offer([page], "7")
    assert least <= seen.all.shadow.comparison.missed + seen.waiting <= most


async def test_a_worker_that_has_done_its_part_compares_and_times_a_sample(
    models, page, finish_comparing
) -> None:
    state = replace(TRIED, limits=Limits(least_pages=5, least_calls=5))
    seen = Seen(plan(models, state), finish_comparing)
    seen.all.comparing[CANARY]._random.seed(1)
    for _ in range(400):
        await seen.offer([page], "8")
        await seen.compared(CANARY)
    found = await seen.compared(CANARY)
    assert 20 <= found.pages <= 100
    assert 10 <= found.calls < found.pages / 2


async def test_the_first_calls_of_a_worker_are_not_timed(seen: Seen, page) -> None:
    for _ in range(8):
        await seen.offer([page], "7")
        await seen.compared()
    found = await seen.compared()
    assert (found.pages, found.calls) == (8, 8 - observing._WARM_UP_CALLS)
    assert sum(found.shadow.calls.values()) == sum(found.serving.calls.values()) == found.calls


async def test_without_a_trial_nothing_waits(models, page, finish_comparing) -> None:
    seen = Seen(plan(models, START), finish_comparing)
    await seen.offer([page], "7")
    assert seen.waiting == 0


async def test_what_was_offered_before_a_change_is_not_counted_behind_it(seen: Seen, page) -> None:
    await seen.offer([page], "7")
    seen.all.restart([SHADOW])
    assert await seen.compared() == Comparison()
