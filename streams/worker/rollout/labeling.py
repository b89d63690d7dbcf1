"""The labels of a batch by the versions of its plan."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from dehusk.schemas.comparison import Figures
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Prediction
from dehusk.streams.preparation.preparation import PackedPage
from dehusk.streams.rollout.verdict import SLOWEST
from dehusk.streams.worker.availability import UNAVAILABLE, Dependency
from dehusk.streams.worker.labeling import Labeled, Labeling
from dehusk.streams.worker.rollout.aside import Aside
from dehusk.streams.worker.rollout.plan import Plan, Plans
from dehusk.streams.worker.rollout.seen import Seen
from dehusk.streams.worker.rollout.tally import figures_of
from dehusk.streams.worker.rollout.versions import OpenVersion
from dehusk.streams.worker.witnesses import WitnessedLabeler

Note = Callable[[Figures], None]
"""Told what was seen of a version in a call."""
Open = Callable[[WitnessedLabeler, Dependency], Labeling]
"""What labels with a labeler that is trusted, however long that takes."""
Begin = Callable[[Callable[[], Awaitable[None]]], None]
"""Has something asked beside the flow, unless too much is."""
_LEAST_PATIENCE = 3.0
"""Seconds that pages wait for a version that is tried, at least."""


class Measured:
    """Labels with a version that is trusted, and counts."""

    def __init__(self, labeling: Labeling, note: Note) -> None:
        self._labeling = labeling
        self._note = note

    async def label(self, pages: Sequence[EncodedPage]) -> Labeled:
        """The labels of each page, however long it takes."""
        begun = time.perf_counter()
        labeled = await self._labeling.label(pages)
        if not labeled.degraded:
            self._note(figures_of(pages, labeled.answers, time.perf_counter() - begun))
        return labeled


class OnTrial:
    """Labels with a version that may fail: what it does not label in time, the trusted one does."""

    def __init__(
        self,
        labeler: WitnessedLabeler,
        trusted: Labeling,
        dependency: Dependency,
        note: Note,
        *,
        patience: float,
        aside: Begin,
    ) -> None:
        self._labeler = labeler
        self._trusted = trusted
        self._dependency = dependency
        self._note = note
        self._patience = patience
        self._aside = aside

    async def label(self, pages: Sequence[EncodedPage]) -> Labeled:
        """The labels of each page, however long the trusted version takes for those that are left."""
        if self._dependency.unavailable:
            return await self._label_behind(pages)
        begun = time.perf_counter()
        answers = await self._ask(pages, self._patience)
        seconds = time.perf_counter() - begun
        left = [place for place, answer in enumerate(answers) if not isinstance(answer, Prediction)]
        if not left:
            self._note(figures_of(pages, answers, seconds))
            return Labeled([answer for answer in answers if answer is not None])
        trusted = await self._label_behind([pages[place] for place in left])
        if not trusted.degraded:
            self._count(pages, answers, seconds, dict(zip(left, trusted.answers, strict=True)))
        return _filled(answers, left, trusted)

    async def _ask(
        self, pages: Sequence[EncodedPage], patience: float | None = None
    ) -> list[Prediction | Broken | None]:
        """An answer for each page; None where none came."""
        try:
            async with asyncio.timeout(patience):
                return [*await self._labeler.label(pages)]
        except (*UNAVAILABLE, TimeoutError):
            return [None] * len(pages)

    async def _label_behind(self, pages: Sequence[EncodedPage]) -> Labeled:
        """The labels of the trusted version or, while that is away, of the one that is tried after all."""
        trusted = asyncio.ensure_future(self._trusted.label(pages))
        again = asyncio.ensure_future(self._insist(pages))
        try:
            done, _ = await asyncio.wait((trusted, again), return_when=asyncio.FIRST_COMPLETED)
            return (trusted if trusted in done else again).result()
        finally:
            trusted.cancel()
            again.cancel()

    async def _insist(self, pages: Sequence[EncodedPage]) -> Labeled:
        """The labels of the version that is tried, once it labels all pages while the trusted one is away."""
        while True:
            await asyncio.sleep(self._patience)
            if self._dependency.unavailable:
                answers = await self._ask(pages, self._patience)
                found = [answer for answer in answers if isinstance(answer, Prediction)]
                if len(found) == len(pages):
                    return Labeled(list(found))

    def _count(
        self,
        pages: Sequence[EncodedPage],
        answers: Sequence[Prediction | Broken | None],
        seconds: float,
        trusted: dict[int, Prediction | Broken],
    ) -> None:
        labeled = [place for place, answer in trusted.items() if isinstance(answer, Prediction)]
        rejected = sum(isinstance(answers[place], Broken) for place in labeled)
        self._note(figures_of(pages, answers, seconds, rejected=rejected))
        missing = [pages[place] for place in labeled if answers[place] is None]
        if missing:
            self._aside(partial(self._ask_again, missing))

    async def _ask_again(self, pages: Sequence[EncodedPage]) -> None:
        """Count what comes late, or not at all: where nobody answered for a while, it is not to blame."""
        begun = time.perf_counter()
        answers = await self._ask(pages)
        errors = sum(answer is None for answer in answers)
        rejected = sum(isinstance(answer, Broken) for answer in answers)
        seconds = time.perf_counter() - begun
        self._note(figures_of(pages, answers, seconds, errors=errors, rejected=rejected))


class RolloutLabeling:
    """Labels each batch by the plan of its begin."""

    def __init__(
        self, plans: Plans, open_trusted: Open, dependency: Dependency, seen: Seen, aside: Aside
    ) -> None:
        self._plans = plans
        self._aside = aside
        self._open = open_trusted
        self._dependency = dependency
        self._seen = seen

    async def label(self, pages: Sequence[PackedPage]) -> Labeled:
        """The labels of each page, however long it takes."""
        async with self._plans.begun() as plan:
            begun = time.perf_counter()
            labeled = await self._label(plan, pages)
            if not labeled.degraded:
                self._seen.shadow.offer(plan, pages, labeled.answers, time.perf_counter() - begun)
            return labeled

    async def _label(self, plan: Plan, pages: Sequence[PackedPage]) -> Labeled:
        serving = self._serving(plan)
        tried = [place for place, page in enumerate(pages) if plan.is_of_canary(page.identity.site)]
        if plan.canary is None or not tried:
            return await serving.label([page.encoded for page in pages])
        canary = self._on_trial(plan, plan.canary, plan.serving, serving)
        others = sorted({*range(len(pages))} - {*tried})
        by_canary, by_serving = await asyncio.gather(
            canary.label([pages[place].encoded for place in tried]),
            _unless_empty(serving, [pages[place].encoded for place in others]),
        )
        answers = dict(zip((*tried, *others), (*by_canary.answers, *by_serving.answers), strict=True))
        degraded = by_canary.degraded or by_serving.degraded
        return Labeled([answers[place] for place in range(len(pages))], degraded)

    def _serving(self, plan: Plan) -> Labeling:
        trusted = plan.trusted
        if trusted is None:
            return self._measured(plan.serving)
        return self._on_trial(plan, plan.serving, trusted, self._measured(trusted))

    def _measured(self, version: OpenVersion) -> Labeling:
        labeling = self._open(version.labeler, self._dependency)
        return Measured(labeling, partial(self._seen.tally.note, version.version))

    def _on_trial(self, plan: Plan, tried: OpenVersion, trusted: OpenVersion, behind: Labeling) -> Labeling:
        return OnTrial(
            tried.labeler,
            behind,
            self._dependency,
            partial(self._note, plan, tried.version),
            patience=self._patience(plan, trusted),
            aside=partial(self._begin_aside, plan),
        )

    def _patience(self, plan: Plan, trusted: OpenVersion) -> float:
        """Seconds that pages wait for a version that is tried, by what the trusted one takes."""
        usual = self._seen.tally.of(trusted.version).seconds(SLOWEST)
        most = plan.state.limits.most_latency if plan.state else 0.0
        return max(_LEAST_PATIENCE, most * usual)

    def _note(self, plan: Plan, version: str, figures: Figures) -> None:
        """Count a call, unless what it was made by is over."""
        if plan is self._plans.current:
            self._seen.tally.note(version, figures)

    def _begin_aside(self, plan: Plan, ask: Callable[[], Awaitable[None]]) -> None:
        if not self._aside.is_full:
            self._aside.begin(plan, ask)


async def _unless_empty(labeling: Labeling, pages: Sequence[EncodedPage]) -> Labeled:
    return await labeling.label(pages) if pages else Labeled([])


def _filled(answers: Sequence[Prediction | Broken | None], left: Sequence[int], trusted: Labeled) -> Labeled:
    """Answers, those that are left from the trusted version."""
    filled = dict(enumerate(answers)) | dict(zip(left, trusted.answers, strict=True))
    return Labeled([answer for answer in filled.values() if answer is not None], trusted.degraded)
