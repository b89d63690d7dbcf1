"""A version in the shadow."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Encoding, Prediction
from dehusk.schemas.rollout import Comparison, Part
from dehusk.streams.preparation.steps import PackedPage
from dehusk.streams.rollout.transitions import first_state, promote, with_shadow
from dehusk.streams.worker.rollout.plan import Plan
from dehusk.streams.worker.rollout.shadow import Shadow

START = promote(first_state("7", "me"), "7", "me")


def plan(models, share: float = 1.0) -> Plan:
    state = with_shadow(START, Part("8", share), "me")
    made = Plan(models["7"].opened(), state, shadow=models["8"].opened())
    made.hold()
    return made


async def compared(shadow: Shadow, made: Plan, pages: Sequence[PackedPage]) -> Comparison:
    """Return the shadow's labels of pages that the serving version has labeled."""
    answers = await made.serving.labeler.label([page.encoded for page in pages])
    shadow.offer(made, pages, answers, 0.1)
    running = asyncio.create_task(shadow.run())
    while shadow._waiting.qsize() or made.serving._holders > 1:  # noqa: ASYNC110 nobody sets an event
        await asyncio.sleep(0)
    running.cancel()
    return shadow.comparison


async def test_versions_that_agree_differ_in_nothing(models, page: PackedPage) -> None:
    found = await compared(Shadow(), plan(models), [page, page])
    assert (found.blocks, found.differing, found.missed, found.examples) == (2 * len(page.encoded), 0, 0, ())
    assert found.shadow.labeled == found.serving.labeled == 2
    assert found.shadow.kept == found.serving.kept > 0


async def test_blocks_that_are_decided_otherwise_are_counted_with_examples(models, page: PackedPage) -> None:
    models["8"].probability = 0.0
    found = await compared(Shadow(), plan(models), [page])
    assert (found.differing, found.shadow.kept) == (len(page.encoded), 0)
    (example,) = found.examples
    assert (example.url, example.text) == (page.identity.url, "Home")
    assert (example.serving, example.shadow) == (pytest.approx(0.9), 0.0)


@pytest.mark.parametrize(("fault", "errors", "rejected"), [("nan", 0, 1), ("away", 1, 0), ("refused", 1, 0)])
async def test_a_shadow_that_fails_is_counted(models, page, fault: str, errors: int, rejected: int) -> None:
    models["8"].fault = fault
    found = await compared(Shadow(), plan(models), [page])
    assert (found.shadow.errors, found.shadow.rejected, found.blocks) == (errors, rejected, 0)


async def test_a_labeler_that_is_away_for_all_is_not_the_shadows_fault(models, page) -> None:
    made, shadow = plan(models), Shadow()
    models["8"].fault = "away"
    models["7"].once = ["", "away"]
    found = await compared(shadow, made, [page])
    assert found == Comparison(missed=1)


async def test_pages_that_lack_what_the_shadow_reads_are_missed(models, page) -> None:
    models["8"].fault = "lacks"
    assert await compared(Shadow(), plan(models), [page]) == Comparison(missed=1)


async def test_pages_are_to_have_what_any_version_of_the_plan_reads(models) -> None:
    assert plan(models).encodings == frozenset()
    models["8"].encodings = frozenset((Encoding.WEB2TEXT,))
    assert plan(models).encodings == {Encoding.WEB2TEXT}


async def test_what_no_version_labeled_is_not_compared(models, page) -> None:
    made, shadow = plan(models), Shadow()
    broken = Broken(BrokenReason.REJECTED_BY_MODEL, "")
    shadow.offer(made, [page], [broken], 0.1)
    assert shadow._waiting.get_nowait().pages == []


async def test_batches_are_dropped_while_the_shadow_is_behind(models, page) -> None:
    made, shadow = plan(models), Shadow()
    answers: list[Prediction | Broken] = [*await made.serving.labeler.label([page.encoded])]
    for _ in range(5):
        shadow.offer(made, [page], answers, 0.1)
    assert shadow.comparison == Comparison(missed=3)
    await shadow.close()
    assert made.serving._holders == 1


@pytest.mark.parametrize(("share", "least", "most"), [(1.0, 400, 400), (0.25, 60, 140)])
async def test_a_share_of_the_batches_is_compared(models, page, share: float, least: int, most: int) -> None:
    made, shadow = plan(models, share), Shadow()
    answers = await made.serving.labeler.label([page.encoded])
    shadow._random.seed(1)
    for _ in range(400):
        shadow.offer(made, [page], answers, 0.1)
    assert least <= shadow.comparison.missed + shadow._waiting.qsize() <= most


async def test_without_a_shadow_nothing_waits(models, page) -> None:
    shadow, made = Shadow(), Plan(models["7"].opened(), START)
    shadow.offer(made, [page], await models["7"].label([page.encoded]), 0.1)
    assert shadow._waiting.empty()


async def test_what_was_offered_before_a_change_is_not_counted_behind_it(models, page) -> None:
    made, shadow = plan(models), Shadow()
    answers = await made.serving.labeler.label([page.encoded])
    shadow.offer(made, [page], answers, 0.1)
    shadow.restart()
    assert (await compared(shadow, replace(made), [])).blocks == 0
