"""The labels of a batch by the versions of its plan."""

import asyncio
from dataclasses import replace
from functools import partial

import pytest

from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.schemas.errors import NotEncodedError, UnavailableError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Encoding, Prediction
from dehusk.schemas.rollout import Limits, Part, Rollout
from dehusk.schemas.trials import CANARY as CANARY_TRIAL
from dehusk.schemas.trials import Figures, bucket_of
from dehusk.streams.availability import Dependency
from dehusk.streams.preparation.batch import BatchAnswers, LabelingPolicy
from dehusk.streams.preparation.steps import PackedPage
from dehusk.streams.rollout.transitions import first_state, promote, with_canary
from dehusk.streams.worker.rollout import labeling as rollout_labeling
from dehusk.streams.worker.rollout.labeling import RolloutBatchLabeler
from dehusk.streams.worker.rollout.observing import Observations
from dehusk.streams.worker.rollout.plan import Plan, Plans, is_of_share
from dehusk.streams.worker.steps.labeling import DegradingLabeling, WaitingLabeling
from tests.settling import settle

SITES = [f"site-{number}.example" for number in range(12)]
START = promote(first_state("7", "me"), "7", "me")
CANARY = with_canary(START, Part("8", 0.5), "me")
PROMOTED = replace(promote(START, "8", "me"), limits=Limits(probation_seconds=86_400))


class Steps:
    """A labeling of plans, and what it needs."""

    def __init__(self, plan: Plan, *, rules: bool = False, trusted: LabelingPolicy | None = None) -> None:
        self.plans = Plans(plan)
        self.observations = Observations()
        self.figures = self.observations.figures
        self.dependency = Dependency("triton", "")
        opened = partial(_degrading, RulesLabeler()) if rules else WaitingLabeling
        self.labeling = RolloutBatchLabeler(
            self.plans,
            opened if trusted is None else lambda *_: trusted,
            self.dependency,
            self.observations,
        )

    async def label(self, pages: list[PackedPage]) -> BatchAnswers:
        """The labels of a batch that begins now."""
        async with self.labeling.begin() as batch:
            return await batch.label(pages)


def _degrading(rules, labeler, dependency):
    return DegradingLabeling(labeler, rules, dependency)


def plan(models, state: Rollout) -> Plan:
    parts = {"canary": models["8"].opened()} if state.canary else {}
    before = {"before": models["7"].opened()} if state.previous else {}
    return Plan(models[state.serving].opened(), state, **parts, **before)


@pytest.fixture
def pages(page: PackedPage) -> list[PackedPage]:
    """A page of each site."""
    return [
        replace(page, identity=replace(page.identity, site=site), encoded=replace(page.encoded))
        for site in SITES
    ]


def versions(labeled: BatchAnswers) -> list[str]:
    assert all(isinstance(answer, Prediction) for answer in labeled.answers)
    return [answer.model.version for answer in labeled.answers if isinstance(answer, Prediction)]


EXPECTED = ["8" if is_of_share(site, 0.5) else "7" for site in SITES]


async def test_a_canary_labels_the_pages_of_its_sites_in_their_order(models, pages) -> None:
    steps = Steps(plan(models, CANARY))
    for _ in range(3):
        assert versions(await steps.label(pages)) == EXPECTED
    assert {"7", "8"} == {*EXPECTED}
    assert steps.figures.of("8").pages == 3 * EXPECTED.count("8")
    assert steps.figures.of("7").labeled == 3 * EXPECTED.count("7")
    words = int(pages[0].encoded.words.sum())
    assert steps.figures.of("8").words == steps.figures.of("8").kept == 3 * EXPECTED.count("8") * words


async def test_a_batch_is_labeled_by_the_plan_that_it_was_prepared_for(models, pages) -> None:
    models["7"].encodings = frozenset((Encoding.WEB2TEXT,))
    steps = Steps(plan(models, START))
    async with steps.labeling.begin() as batch:
        assert batch.encodings == models["7"].encodings
        await steps.plans.replace(Plan(models["8"].opened()))
        assert versions(await batch.label(pages)) == ["7"] * len(pages)
        assert not models["7"].closed
    assert models["7"].closed
    assert versions(await steps.label(pages)) == ["8"] * len(pages)


@pytest.mark.parametrize("part", [[site for site in SITES if is_of_share(site, 0.5)], []])
async def test_a_batch_may_be_the_canarys_alone_or_have_none_of_its_pages(models, pages, part) -> None:
    own = [page for page in pages if page.identity.site in part]
    steps = Steps(plan(models, CANARY))
    assert versions(await steps.label(own or pages[:0])) == ["8"] * len(own)


@pytest.mark.parametrize("fault", ["nan", "away", "refused", "late"])
async def test_what_a_canary_does_not_label_the_serving_version_does(
    models, pages, fault, finish_comparing
) -> None:
    models["8"].fault = fault
    steps = Steps(plan(models, CANARY))
    labeled = await steps.label(pages)
    assert (versions(labeled), labeled.degraded) == (["7"] * len(pages), False)
    await finish_comparing(steps.observations)
    count, seen = EXPECTED.count("8"), steps.figures.of("8")
    assert (seen.pages, seen.labeled) == (count, 0)
    failed = {"nan": seen.rejected, "late": seen.late}.get(fault, seen.errors)
    assert (failed, seen.rejected + seen.late + seen.errors) == (count, count)


async def test_pages_that_lack_what_a_canary_reads_are_not_its_fault(models, pages) -> None:
    models["8"].once = ["lacks"]
    steps = Steps(plan(models, CANARY))
    with pytest.raises(NotEncodedError):
        await steps.label(pages)
    assert steps.figures.of("8").pages == 0
    assert versions(await steps.label(pages)) == EXPECTED
    assert steps.figures.of("8").labeled == EXPECTED.count("8")


async def test_neither_version_labels_on_once_a_batch_has_failed(models, pages, monkeypatch) -> None:
    ended = asyncio.Event()

    async def late(pages):
        await asyncio.sleep(0.05)
        ended.set()
        return [models["7"]._answer(page) for page in pages]

    models["8"].once = ["lacks"]
    monkeypatch.setattr(models["7"], "label", late)
    with pytest.raises(NotEncodedError):
        await Steps(plan(models, CANARY)).label(pages)
    assert ended.is_set()


async def test_a_labeler_that_is_away_for_all_versions_is_not_the_canarys_fault(
    models, pages, finish_comparing
) -> None:
    models["8"].once, models["7"].once = ["away"], ["away", "away"]
    steps = Steps(plan(models, CANARY))
    labeled = await steps.label(pages)
    assert not any(isinstance(answer, Broken) for answer in labeled.answers)
    await finish_comparing(steps.observations)
    seen = steps.figures.of("8")
    assert (seen.errors, seen.rejected, seen.pages) == (0, 0, EXPECTED.count("8"))


@pytest.fixture
def late(models, monkeypatch) -> asyncio.Event:
    """Set when version 8 is to answer, for which pages do not wait."""
    monkeypatch.setattr(rollout_labeling, "MIN_TIMEOUT", 0.01)
    answered, label = asyncio.Event(), models["8"].label

    async def slow(pages):
        await answered.wait()
        return await label(pages)

    models["8"].label = slow
    return answered


async def test_pages_do_not_wait_for_a_canary_that_takes_long(models, pages, late, finish_comparing) -> None:
    steps = Steps(plan(models, CANARY))
    for _ in range(4):
        assert versions(await steps.label(pages)) == ["7"] * len(pages)
    assert steps.figures.of("8").pages == 0
    late.set()
    await finish_comparing(steps.observations)
    seen = steps.figures.of("8")
    assert (seen.errors, seen.labeled) == (0, 2 * EXPECTED.count("8"))


async def test_where_the_serving_version_takes_long_pages_wait_longer(models, pages, late) -> None:
    steps = Steps(plan(models, CANARY))
    steps.figures.add("7", Figures(calls={bucket_of(20.0): 10}))
    batch = asyncio.create_task(steps.label(pages))
    await settle()
    late.set()
    assert versions(await batch) == EXPECTED


async def test_what_is_asked_in_the_background_of_a_version_that_is_gone_is_not_counted(
    models, pages, late, finish_comparing
) -> None:
    steps = Steps(plan(models, CANARY))
    await steps.label(pages)
    await steps.plans.replace(Plan(steps.plans.current.serving, START))
    steps.figures.restart(())
    steps.observations.restart([CANARY_TRIAL])
    assert not models["8"].closed
    late.set()
    await finish_comparing(steps.observations)
    assert steps.figures.of("8") == Figures()
    assert models["8"].closed


async def test_a_batch_of_a_plan_that_was_replaced_is_not_compared(models, pages, finish_comparing) -> None:
    steps = Steps(plan(models, CANARY))
    async with steps.labeling.begin() as batch:
        await steps.plans.replace(Plan(steps.plans.current.serving, with_canary(START, Part("9", 0.5), "me")))
        await batch.label(pages)
    await finish_comparing(steps.observations)
    assert steps.observations.comparing[CANARY_TRIAL].comparison.pages == 0


async def test_what_is_asked_in_the_background_ends_with_the_worker(models, pages, late) -> None:
    steps = Steps(plan(models, CANARY))
    await steps.label(pages)
    await steps.observations.close()
    await steps.plans.close()
    assert not late.is_set()
    assert (steps.figures.of("8").pages, models["8"].closed) == (0, True)


async def test_while_the_labeler_is_known_to_be_away_nobody_asks_the_canary(models, pages) -> None:
    models["7"].fault = models["8"].fault = "away"
    steps = Steps(plan(models, CANARY), rules=True)
    steps.dependency.missed(OSError())
    labeled = await steps.label(pages)
    assert (labeled.degraded, models["8"].asked) == (True, 0)
    assert steps.figures.by_version == {}


async def test_a_page_that_no_version_labels_is_nobodys_fault_but_its_own(models, pages) -> None:
    class Refusing:
        async def label(self, pages):
            return BatchAnswers([Broken("rejected-by-model", "odd page") for _ in pages])

    models["8"].fault = "nan"
    steps = Steps(plan(models, CANARY), trusted=Refusing())
    labeled = await steps.label(pages)
    assert all(isinstance(answer, Broken) for answer in labeled.answers)
    assert steps.figures.of("8") == replace(Figures(), calls=steps.figures.of("8").calls)


async def test_a_promoted_version_has_the_one_before_behind_it_for_a_while(models, pages) -> None:
    models["8"].fault = "nan"
    assert versions(await Steps(plan(models, PROMOTED)).label(pages)) == ["7"] * len(pages)
    over = replace(PROMOTED, limits=Limits(probation_seconds=0))
    models["8"].fault, asked = "", models["7"].asked
    assert versions(await Steps(plan(models, over)).label(pages)) == ["8"] * len(pages)
    assert models["7"].asked == asked


async def test_pages_do_not_wait_for_a_version_before_that_is_away_for_ever(
    models, pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollout_labeling, "MIN_TIMEOUT", 0.01)
    models["7"].fault, models["8"].once = "refused", ["away"]
    async with asyncio.timeout(30):
        labeled = await Steps(plan(models, PROMOTED)).label(pages)
    assert versions(labeled) == ["8"] * len(pages)


async def test_a_batch_ends_with_the_versions_that_it_began_with(models, pages) -> None:
    steps, asked, answered = Steps(plan(models, START)), asyncio.Event(), asyncio.Event()
    label = models["7"].label

    async def slow(pages):
        asked.set()
        await answered.wait()
        return await label(pages)

    models["7"].label = slow
    batch = asyncio.create_task(steps.label(pages))
    await asked.wait()
    await steps.plans.replace(Plan(models["8"].opened(), replace(PROMOTED, promoted_at=None)))
    assert versions(await steps.label(pages)) == ["8"] * len(pages)
    assert not models["7"].closed
    answered.set()
    assert versions(await batch) == ["7"] * len(pages)
    assert models["7"].closed
    assert not models["8"].closed
    await steps.plans.close()
    assert models["8"].closed


async def test_a_version_that_stays_in_the_plan_stays_open(models, pages) -> None:
    steps = Steps(plan(models, CANARY))
    serving, canary = steps.plans.current.serving, steps.plans.current.canary
    await steps.plans.replace(Plan(serving, START))
    assert (models["7"].closed, models["8"].closed) == (False, True)
    assert canary is not None


async def test_an_outage_of_the_trusted_version_is_no_time_of_its_calls(models, pages, monkeypatch) -> None:
    steps, trusted, outages = Steps(plan(models, START)), models["7"], [UnavailableError("away")]

    async def label(asked):
        if outages:
            await asyncio.sleep(0.2)
            raise outages.pop()
        return await type(trusted).label(trusted, asked)

    monkeypatch.setattr(trusted, "label", label)
    assert versions(await steps.label(pages)) == ["7"] * len(pages)
    assert (steps.figures.of("7").labeled, sum(steps.figures.of("7").calls.values())) == (len(pages), 0)
    assert versions(await steps.label(pages)) == ["7"] * len(pages)
    assert steps.figures.of("7").seconds(0.99) < 0.2
