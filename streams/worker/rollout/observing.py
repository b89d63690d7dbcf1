"""Figures of the versions that label, and comparisons of those on trial, on samples of the batches."""

import asyncio
import random
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Prediction
from dehusk.schemas.rollout import Limits
from dehusk.schemas.trials import CANARY, PROMOTED, SHADOW, TRIALS, Comparison, Figures
from dehusk.streams.preparation.steps import PackedPage
from dehusk.streams.worker.rollout.comparing import Labeled, Pair, compare
from dehusk.streams.worker.rollout.plan import OpenVersion, Plan

_MAX_WAITING = 2
"""Batches that may wait; further ones are not compared."""
_WARM_UP_CALLS = 5
"""Pairs of calls that are not timed, the first ones of each worker."""
_ENOUGH = 2
"""Multiple of the limits' least pages and calls beyond which a worker has done its part."""
_SHARE_BEYOND = 0.1
"""Share of the batches that are compared, and timed, beyond that."""
Observe = Callable[[Figures], None]
"""Callback for the figures of a call."""


class FiguresByVersion:
    """Figures by version."""

    def __init__(self) -> None:
        self.by_version: dict[str, Figures] = {}

    def add(self, version: str, figures: Figures) -> None:
        """Add the figures of a call."""
        self.by_version[version] = self.of(version) + figures

    def of(self, version: str) -> Figures:
        """Return the figures of a version."""
        return self.by_version.get(version, Figures())

    def restart(self, kept: Iterable[str]) -> None:
        """Drop all figures but those of some versions."""
        self.by_version = {each: self.by_version[each] for each in kept if each in self.by_version}


def pair_of(plan: Plan, trial: str) -> Pair | None:
    """Return the versions of a trial, if the plan has it."""
    tried, trusted = {
        SHADOW: (plan.shadow, plan.serving),
        CANARY: (plan.canary, plan.serving),
        PROMOTED: (plan.serving, plan.trusted),
    }[trial]
    return None if tried is None or trusted is None else Pair(tried, trusted)


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    plan: Plan
    pair: Pair
    pages: list[Labeled]
    """Pages that one version of the pair has labeled."""
    labeled_by: OpenVersion
    generation: int
    """Number of restarts of the comparison before the batch was offered."""
    observe: Observe | None
    """Callback for the figures of the version on trial, where it did not label the pages in time."""

    @property
    def limits(self) -> Limits:
        return _limits(self.plan)


class Comparing:
    """Comparison of a version on trial with the trusted one, in the background."""

    def __init__(self) -> None:
        self.comparison = Comparison()
        self._waiting: asyncio.Queue[_Batch] = asyncio.Queue(_MAX_WAITING)
        self._random = random.Random()  # noqa: S311 a sample
        self._generation = 0
        self._calls = 0
        """Pairs of calls so far, those of the warm-up among them."""

    def restart(self) -> None:
        """Drop the comparison, as the versions have changed."""
        self.comparison = Comparison()
        self._generation += 1
        self._calls = 0

    def sampled(self, plan: Plan, share: float | None = None) -> bool:
        """Return True for a share of the batches; by default, for all until the worker has done its part."""
        limits, done = _limits(plan), self.comparison
        is_done = min(done.pages / limits.least_pages, done.calls / limits.least_calls) >= _ENOUGH
        return self._random.random() < ((_SHARE_BEYOND if is_done else 1.0) if share is None else share)

    def offer(
        self,
        plan: Plan,
        pair: Pair,
        pages: Sequence[Labeled],
        labeled_by: OpenVersion,
        observe: Observe | None = None,
    ) -> None:
        """Compare pages that one version of a pair has labeled, unless others wait to be compared."""
        if not pages:
            return
        if self._waiting.full():
            self.comparison += Comparison(missed=len(pages))
            return
        plan.hold()
        self._waiting.put_nowait(_Batch(plan, pair, [*pages], labeled_by, self._generation, observe))

    async def close(self) -> None:
        """Release the plans of waiting batches."""
        while not self._waiting.empty():
            await self._waiting.get_nowait().plan.release()

    async def run(self) -> None:
        """Compare waiting batches until cancelled."""
        while True:
            await self.compare_next()

    async def compare_next(self) -> None:
        """Compare the batch that has waited longest, once there is one."""
        batch = await self._waiting.get()
        try:
            compared = await compare(batch.pair, batch.pages, batch.labeled_by, self._order(batch))
            if batch.generation == self._generation:
                self._count(batch, compared)
        finally:
            await batch.plan.release()

    def _order(self, batch: _Batch) -> list[OpenVersion]:
        """Return the versions to ask: both while calls are timed, else the one that has not labeled yet."""
        both = [batch.pair.tried, batch.pair.trusted]
        is_enough = self.comparison.calls >= _ENOUGH * batch.limits.least_calls
        if is_enough and self._random.random() >= _SHARE_BEYOND:
            return [each for each in both if each is not batch.labeled_by]
        self._random.shuffle(both)
        return both

    def _count(self, batch: _Batch, compared: Comparison) -> None:
        self._calls += compared.calls
        if self._calls <= _WARM_UP_CALLS:
            serving, shadow = replace(compared.serving, calls={}), replace(compared.shadow, calls={})
            compared = replace(compared, serving=serving, shadow=shadow, slowdowns={})
        self.comparison += compared
        if batch.observe is not None:
            batch.observe(compared.shadow)


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """Figures of the versions that label, and the comparison of each trial."""

    figures: FiguresByVersion = field(default_factory=FiguresByVersion)
    comparing: dict[str, Comparing] = field(default_factory=lambda: {each: Comparing() for each in TRIALS})

    @property
    def shadow(self) -> Comparing:
        """Comparison of the shadow."""
        return self.comparing[SHADOW]

    def offer(
        self,
        plan: Plan,
        pages: Sequence[PackedPage],
        answers: Sequence[Prediction | Broken],
        waited: Container[EncodedPage],
    ) -> None:
        """Offer the pages of a batch to the comparisons of its plan.

        `waited` has the pages that a version on trial did not label in time. It is asked again for all of
        them, so its failures are counted of all its pages, and not of a sample.
        """
        labeled = [
            (page, answer)
            for page, answer in zip(pages, answers, strict=True)
            if isinstance(answer, Prediction)
        ]
        for trial, comparing in self.comparing.items():
            pair = pair_of(plan, trial)
            if pair is None:
                continue
            by_tried, by_trusted = (_labeled_by(labeled, each) for each in (pair.tried, pair.trusted))
            if trial != SHADOW:
                if comparing.sampled(plan):
                    comparing.offer(plan, pair, by_tried, pair.tried)
                missing = [each for each in by_trusted if each[0].encoded in waited]
                comparing.offer(
                    plan, pair, missing, pair.trusted, partial(self.figures.add, pair.tried.version)
                )
            elif plan.state and plan.state.shadow and comparing.sampled(plan, plan.state.shadow.share):
                comparing.offer(plan, pair, by_trusted, pair.trusted)

    def restart(self, trials: Iterable[str]) -> None:
        """Drop the comparisons of some trials."""
        for trial in trials:
            self.comparing[trial].restart()

    async def close(self) -> None:
        """Release the plans of waiting batches."""
        for each in self.comparing.values():
            await each.close()


def _labeled_by(pages: Sequence[Labeled], version: OpenVersion) -> list[Labeled]:
    return [each for each in pages if each[1].model.version == version.version]


def _limits(plan: Plan) -> Limits:
    return plan.state.limits if plan.state else Limits()
