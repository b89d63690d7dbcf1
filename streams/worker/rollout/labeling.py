"""Labeling of a batch by the versions of its plan; versions on trial fall back on the trusted one."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import cast

from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, Prediction
from dehusk.schemas.trials import Figures
from dehusk.streams.availability import UNAVAILABLE, Dependency
from dehusk.streams.preparation.batch import BatchAnswers, LabelingPolicy, OpenBatch
from dehusk.streams.preparation.steps import PackedPage
from dehusk.streams.worker.rollout.comparing import figures_of
from dehusk.streams.worker.rollout.observing import Observations, Observe
from dehusk.streams.worker.rollout.plan import OpenVersion, Plan, Plans
from dehusk.streams.worker.steps.labeling import ProbedLabeler

Open = Callable[[ProbedLabeler, Dependency], LabelingPolicy]
"""Opener of the policy of a trusted labeler, which waits for its answers."""
MIN_TIMEOUT = 3.0
"""Shortest timeout of a version on trial, in seconds."""
_SLOWEST = 0.99
"""Quantile of the trusted version's calls by which the timeout is set."""


class TrustedLabeling:
    """Policy of a trusted version, whose figures it adds to.

    A call has a time unless the labeler was missed meanwhile: trials wait by these times, not by an outage.
    """

    def __init__(self, labeling: LabelingPolicy, dependency: Dependency, observe: Observe) -> None:
        self._labeling = labeling
        self._dependency = dependency
        self._observe = observe

    async def label(self, pages: Sequence[EncodedPage]) -> BatchAnswers:
        """Label each page, however long it takes."""
        began = time.monotonic()
        labeled = await self._labeling.label(pages)
        seconds = time.monotonic() - began if self._dependency.missed_at < began else None
        if not labeled.degraded:
            self._observe(figures_of(pages, labeled.answers, seconds))
        return labeled


@dataclass(frozen=True, slots=True, eq=False)
class TrialLabeling:
    """Policy of a version on trial; pages that it does not label in time go to the trusted one."""

    _labeler: ProbedLabeler
    _trusted: LabelingPolicy
    _dependency: Dependency
    _observe: Observe
    _timeout: float
    _waited: set[EncodedPage]
    """Pages that were waited for in vain are added."""

    async def label(self, pages: Sequence[EncodedPage]) -> BatchAnswers:
        """Label each page, however long the trusted version takes for the missing ones."""
        if self._dependency.unavailable:
            return await self._fall_back(pages)
        began = time.perf_counter()
        answers = await self._ask(pages)
        seconds = time.perf_counter() - began
        missing_places = [place for place, answer in enumerate(answers) if not isinstance(answer, Prediction)]
        if not missing_places:
            self._observe(figures_of(pages, answers, seconds))
            return BatchAnswers([answer for answer in answers if answer is not None])
        trusted = await self._fall_back([pages[place] for place in missing_places])
        trusted_answers = dict(zip(missing_places, trusted.answers, strict=True))
        if not trusted.degraded:
            self._count(pages, answers, seconds, trusted_answers)
        merged = dict(enumerate(answers)) | trusted_answers
        return BatchAnswers([answer for answer in merged.values() if answer is not None], trusted.degraded)

    async def _ask(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken | None]:
        """Return an answer for each page; None where there was none in time."""
        try:
            async with asyncio.timeout(self._timeout):
                return [*await self._labeler.label(pages)]
        except (*UNAVAILABLE, TimeoutError):
            return [None] * len(pages)

    async def _fall_back(self, pages: Sequence[EncodedPage]) -> BatchAnswers:
        """Label with the trusted version or, if that is unavailable, with the version on trial after all."""
        trusted = asyncio.ensure_future(self._trusted.label(pages))
        retried = asyncio.ensure_future(self._retry(pages))
        try:
            done, _ = await asyncio.wait((trusted, retried), return_when=asyncio.FIRST_COMPLETED)
            return (trusted if trusted in done else retried).result()
        finally:
            trusted.cancel()
            retried.cancel()

    async def _retry(self, pages: Sequence[EncodedPage]) -> BatchAnswers:
        """Retry until the version on trial labels all pages while the trusted one is unavailable."""
        while True:
            await asyncio.sleep(self._timeout)
            if self._dependency.unavailable:
                answers = await self._ask(pages)
                predictions = [answer for answer in answers if isinstance(answer, Prediction)]
                if len(predictions) == len(pages):
                    return BatchAnswers([*predictions])

    def _count(
        self,
        pages: Sequence[EncodedPage],
        answers: Sequence[Prediction | Broken | None],
        seconds: float,
        trusted: dict[int, Prediction | Broken],
    ) -> None:
        labeled = [place for place, answer in trusted.items() if isinstance(answer, Prediction)]
        rejected = sum(isinstance(answers[place], Broken) for place in labeled)
        self._observe(figures_of(pages, answers, seconds, rejected=rejected))
        self._waited.update(pages[place] for place in labeled if answers[place] is None)


@dataclass(frozen=True, slots=True)
class _PlannedBatch:
    """Batch that is labeled by a plan."""

    plan: Plan
    label_by_plan: Callable[[Sequence[PackedPage]], Awaitable[BatchAnswers]]

    @property
    def encodings(self) -> frozenset[Encoding]:
        return self.plan.encodings

    async def label(self, pages: Sequence[PackedPage]) -> BatchAnswers:
        return await self.label_by_plan(pages)


@dataclass(frozen=True, slots=True, eq=False)
class RolloutBatchLabeler:
    """Labeler of each batch by the plan that is current when it begins."""

    _plans: Plans
    _open: Open
    _dependency: Dependency
    _observations: Observations

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[OpenBatch]:
        """Begin a batch, which the current plan labels."""
        async with self._plans.held() as plan:
            yield _PlannedBatch(plan, partial(self._label_and_offer, plan))

    async def _label_and_offer(self, plan: Plan, pages: Sequence[PackedPage]) -> BatchAnswers:
        waited: set[EncodedPage] = set()
        labeled = await self._label(plan, pages, waited)
        if not labeled.degraded and plan is self._plans.current:
            self._observations.offer(plan, pages, labeled.answers, waited)
        return labeled

    async def _label(self, plan: Plan, pages: Sequence[PackedPage], waited: set[EncodedPage]) -> BatchAnswers:
        """Label pages; those that a version on trial did not label in time are added to `waited`."""
        serving = self._serving(plan, waited)
        tried = [place for place, page in enumerate(pages) if plan.is_labeled_by_canary(page.identity.site)]
        if plan.canary is None or not tried:
            return await serving.label([page.encoded for page in pages])
        canary = self._trial(plan, plan.canary, plan.serving, serving, waited)
        others = sorted({*range(len(pages))} - {*tried})
        by_canary, by_serving = await _both(
            canary.label([pages[place].encoded for place in tried]),
            _label_any(serving, [pages[place].encoded for place in others]),
        )
        answers = dict(zip((*tried, *others), (*by_canary.answers, *by_serving.answers), strict=True))
        degraded = by_canary.degraded or by_serving.degraded
        return BatchAnswers([answers[place] for place in range(len(pages))], degraded)

    def _serving(self, plan: Plan, waited: set[EncodedPage]) -> LabelingPolicy:
        trusted = plan.trusted
        if trusted is None:
            return self._trusted(plan.serving)
        return self._trial(plan, plan.serving, trusted, self._trusted(trusted), waited)

    def _trusted(self, version: OpenVersion) -> LabelingPolicy:
        labeling = self._open(version.labeler, self._dependency)
        observe = partial(self._observations.figures.add, version.version)
        return TrustedLabeling(labeling, self._dependency, observe)

    def _trial(
        self,
        plan: Plan,
        tried: OpenVersion,
        trusted: OpenVersion,
        fallback: LabelingPolicy,
        waited: set[EncodedPage],
    ) -> LabelingPolicy:
        return TrialLabeling(
            tried.labeler,
            fallback,
            self._dependency,
            partial(self._observe, plan, tried.version),
            self._timeout(plan, trusted),
            waited,
        )

    def _timeout(self, plan: Plan, trusted: OpenVersion) -> float:
        """Return the timeout of a version on trial, by the latency of the trusted one."""
        usual = self._observations.figures.of(trusted.version).seconds(_SLOWEST)
        factor = plan.state.limits.most_latency if plan.state else 0.0
        return max(MIN_TIMEOUT, factor * usual)

    def _observe(self, plan: Plan, version: str, figures: Figures) -> None:
        """Count a call, unless its plan was replaced."""
        if plan is self._plans.current:
            self._observations.figures.add(version, figures)


async def _both(*labelings: Awaitable[BatchAnswers]) -> list[BatchAnswers]:
    """Return the answers of two labelings; an error is raised when neither goes on any more."""
    answers = await asyncio.gather(*labelings, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return cast("list[BatchAnswers]", answers)


async def _label_any(labeling: LabelingPolicy, pages: Sequence[EncodedPage]) -> BatchAnswers:
    return await labeling.label(pages) if pages else BatchAnswers([])
