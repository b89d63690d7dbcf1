"""Figures of the versions that label, and the comparison with the shadow on a sample of the batches."""

import asyncio
import pickle
import random
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from dehusk.inference.selection.selection import Bools, select
from dehusk.schemas.errors import NotEncodedError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Prediction, PreparedPage
from dehusk.schemas.rollout import Comparison, Example, Figures, bucket_of
from dehusk.streams.availability import UNAVAILABLE
from dehusk.streams.preparation.steps import PackedPage
from dehusk.streams.worker.rollout.plan import OpenVersion, Plan

_MAX_WAITING = 2
"""Batches that may wait; further ones are not compared."""
_MAX_TEXT = 200
"""Characters of a block in an example."""
_MAX_URL = 500
Answers = Sequence[Prediction | Broken | None]


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


def figures_of(
    pages: Sequence[EncodedPage], answers: Answers, seconds: float, *, errors: int = 0, rejected: int = 0
) -> Figures:
    """Return the figures of a call; `errors` and `rejected` count pages that the version failed for."""
    pairs = zip(pages, answers, strict=True)
    labeled = [(page, answer) for page, answer in pairs if isinstance(answer, Prediction)]
    words = sum(int(page.words.sum()) for page, _ in labeled)
    kept = sum(int(page.words[_kept_blocks(page, labels)].sum()) for page, labels in labeled)
    return Figures(len(labeled) + errors + rejected, errors, rejected, words, kept, {bucket_of(seconds): 1})


def _kept_blocks(page: EncodedPage, labels: Prediction) -> Bools:
    """Return the blocks that a version keeps before the correction by the site, shape [T]."""
    return select(labels.probabilities, page.words, page.repeat, labels.comments, page.alike)


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    plan: Plan
    pages: list[tuple[PackedPage, Prediction]]
    """Labeled pages with their labels."""
    seconds: float
    """Time that labeling them took."""
    generation: int
    """Number of restarts of the comparison before the batch was offered."""


class Shadow:
    """Comparison of the shadow of a plan with the versions that label, in the background."""

    def __init__(self) -> None:
        self.comparison = Comparison()
        self._waiting: asyncio.Queue[_Batch] = asyncio.Queue(_MAX_WAITING)
        self._random = random.Random()  # noqa: S311 a sample
        self._generation = 0

    def restart(self) -> None:
        """Drop the comparison, as the versions have changed."""
        self.comparison = Comparison()
        self._generation += 1

    def offer(
        self, plan: Plan, pages: Sequence[PackedPage], answers: Sequence[Prediction | Broken], seconds: float
    ) -> None:
        """Queue a batch for comparison if the sample includes it, without waiting."""
        part = plan.state.shadow if plan.state and plan.shadow else None
        if part is None or self._random.random() >= part.share:
            return
        pairs = zip(pages, answers, strict=True)
        labeled = [(page, answer) for page, answer in pairs if isinstance(answer, Prediction)]
        if self._waiting.full():
            self.comparison += Comparison(missed=len(labeled))
            return
        plan.hold()
        self._waiting.put_nowait(_Batch(plan, labeled, seconds, self._generation))

    async def close(self) -> None:
        """Release the plans of waiting batches."""
        while not self._waiting.empty():
            await self._waiting.get_nowait().plan.release()

    async def run(self) -> None:
        """Compare waiting batches until cancelled."""
        while True:
            batch = await self._waiting.get()
            try:
                compared = await _compare(batch)
                if batch.generation == self._generation:
                    self.comparison += compared
            finally:
                await batch.plan.release()


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """Figures of the versions that label, and the shadow."""

    figures: FiguresByVersion = field(default_factory=FiguresByVersion)
    shadow: Shadow = field(default_factory=Shadow)


async def _compare(batch: _Batch) -> Comparison:
    """Label a batch with the shadow, and compare the labels."""
    shadow = batch.plan.shadow
    if shadow is None:
        return Comparison()
    pages = [page.encoded for page, _ in batch.pages]
    serving = figures_of(pages, [labels for _, labels in batch.pages], batch.seconds)
    began = time.perf_counter()
    try:
        answers = await _ask(shadow, pages, batch.plan.serving)
    except (*UNAVAILABLE, NotEncodedError):
        return Comparison(missed=len(pages))
    seconds = time.perf_counter() - began
    if answers is None:
        return Comparison(serving, figures_of(pages, [None] * len(pages), seconds, errors=len(pages)))
    rejected = sum(isinstance(answer, Broken) for answer in answers)
    compared = Comparison(serving, figures_of(pages, answers, seconds, rejected=rejected))
    for (page, labels), answer in zip(batch.pages, answers, strict=True):
        if isinstance(answer, Prediction):
            compared += _compare_page(page, labels, answer)
    return compared


async def _ask(
    shadow: OpenVersion, pages: Sequence[EncodedPage], serving: OpenVersion
) -> list[Prediction | Broken] | None:
    """Return the shadow's answers; None if it is unavailable while the serving version is not.

    Raises one of UNAVAILABLE if both are.
    """
    with suppress(*UNAVAILABLE):
        return await shadow.labeler.label(pages)
    await serving.labeler.check()
    try:
        return await shadow.labeler.label(pages)
    except UNAVAILABLE:
        return None


def _compare_page(page: PackedPage, serving: Prediction, shadow: Prediction) -> Comparison:
    differs = _kept_blocks(page.encoded, serving) != _kept_blocks(page.encoded, shadow)
    blocks = differs.nonzero()[0].tolist()
    examples = (_example(page, serving, shadow, blocks[0]),) if blocks else ()
    return Comparison(blocks=len(page.encoded), differing=len(blocks), examples=examples)


def _example(page: PackedPage, serving: Prediction, shadow: Prediction, block: int) -> Example:
    prepared: PreparedPage = pickle.loads(page.packed)  # noqa: S301 a process of the pool packed it
    return Example(
        _encodable(page.identity.url[:_MAX_URL]),
        _encodable(prepared.segmented.texts[block][:_MAX_TEXT]),
        round(float(serving.probabilities[block]), 4),
        round(float(shadow.probabilities[block]), 4),
    )


def _encodable(text: str) -> str:
    """Return a text without surrogates, which JSON cannot hold."""
    return text.encode("utf-8", "replace").decode()
