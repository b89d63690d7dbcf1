"""A version that labels a sample of the batches beside the flow, to be compared, and is not published."""

import asyncio
import pickle
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from dehusk.inference.cleaning import PreparedPage
from dehusk.schemas.comparison import Comparison, Example
from dehusk.schemas.errors import NotEncodedError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Prediction
from dehusk.streams.preparation.preparation import PackedPage
from dehusk.streams.worker.availability import UNAVAILABLE
from dehusk.streams.worker.rollout.plan import Plan
from dehusk.streams.worker.rollout.tally import figures_of, kept_blocks
from dehusk.streams.worker.rollout.versions import OpenVersion

_WAITING = 2
"""Batches that may wait; what comes meanwhile is not compared."""
_SHOWN = 200
"""Characters of a block that are shown."""
_SHOWN_OF_URL = 500


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    plan: Plan
    pages: list[tuple[PackedPage, Prediction]]
    """Those that were labeled, with their labels."""
    seconds: float
    """How long it took to label them."""
    turn: int
    """How often the comparison had begun anew when it came."""


class Shadow:
    """Compares the shadow of a plan with the versions that label; it costs no page anything."""

    def __init__(self) -> None:
        self.comparison = Comparison()
        self._waiting: asyncio.Queue[_Batch] = asyncio.Queue(_WAITING)
        self._random = random.Random()  # noqa: S311 a sample
        self._turn = 0

    def restart(self) -> None:
        """Begin anew, as the shadow has changed."""
        self.comparison = Comparison()
        self._turn += 1

    def offer(
        self, plan: Plan, pages: Sequence[PackedPage], answers: Sequence[Prediction | Broken], seconds: float
    ) -> None:
        """Have a batch compared, if it is of the sample; never waits."""
        part = plan.state.shadow if plan.state and plan.shadow else None
        if part is None or self._random.random() >= part.share:
            return
        pairs = zip(pages, answers, strict=True)
        labeled = [(page, answer) for page, answer in pairs if isinstance(answer, Prediction)]
        if self._waiting.full():
            self.comparison += Comparison(missed=len(labeled))
            return
        plan.hold()
        self._waiting.put_nowait(_Batch(plan, labeled, seconds, self._turn))

    async def close(self) -> None:
        """Let go of what waits."""
        while not self._waiting.empty():
            await self._waiting.get_nowait().plan.release()

    async def run(self) -> None:
        """Compare what waits, for as long as this runs."""
        while True:
            batch = await self._waiting.get()
            try:
                compared = await _compare(batch)
                if batch.turn == self._turn:
                    self.comparison += compared
            finally:
                await batch.plan.release()


async def _compare(batch: _Batch) -> Comparison:
    """The shadow beside the labels of a batch."""
    shadow = batch.plan.shadow
    if shadow is None:
        return Comparison()
    pages = [page.encoded for page, _ in batch.pages]
    serving = figures_of(pages, [labels for _, labels in batch.pages], batch.seconds)
    begun = time.perf_counter()
    try:
        answers = await _ask(shadow, pages, batch.plan.serving)
    except (*UNAVAILABLE, NotEncodedError):
        return Comparison(missed=len(pages))
    seconds = time.perf_counter() - begun
    if answers is None:
        return Comparison(serving, figures_of(pages, [None] * len(pages), seconds, errors=len(pages)))
    rejected = sum(isinstance(answer, Broken) for answer in answers)
    counted = Comparison(serving, figures_of(pages, answers, seconds, rejected=rejected))
    return _compared(batch, answers, counted)


async def _ask(
    shadow: OpenVersion, pages: Sequence[EncodedPage], serving: OpenVersion
) -> list[Prediction | Broken] | None:
    """The shadow's answers; None where it gives none, but the serving version does.

    Raises one of UNAVAILABLE where that gives none either.
    """
    with suppress(*UNAVAILABLE):
        return await shadow.labeler.label(pages)
    await serving.labeler.check()
    try:
        return await shadow.labeler.label(pages)
    except UNAVAILABLE:
        return None


def _compared(batch: _Batch, answers: Sequence[Prediction | Broken], counted: Comparison) -> Comparison:
    """What was counted, and how many blocks the shadow decides otherwise."""
    for (page, labels), answer in zip(batch.pages, answers, strict=True):
        if isinstance(answer, Prediction):
            counted += _compared_page(page, labels, answer)
    return counted


def _compared_page(page: PackedPage, serving: Prediction, shadow: Prediction) -> Comparison:
    differs = kept_blocks(page.encoded, serving) != kept_blocks(page.encoded, shadow)
    places = differs.nonzero()[0].tolist()
    examples = tuple(_examples(page, serving, shadow, places[:1]))
    return Comparison(blocks=len(page.encoded), differing=len(places), examples=examples)


def _examples(
    page: PackedPage, serving: Prediction, shadow: Prediction, places: Sequence[int]
) -> Iterator[Example]:
    """Blocks of a page that are decided differently."""
    if not places:
        return
    prepared: PreparedPage = pickle.loads(page.packed)  # noqa: S301 a process of the pool packed it
    for place in places:
        yield Example(
            _printed(page.identity.url[:_SHOWN_OF_URL]),
            _printed(prepared.segmented.texts[place][:_SHOWN]),
            round(float(serving.probabilities[place]), 4),
            round(float(shadow.probabilities[place]), 4),
        )


def _printed(text: str) -> str:
    """A text that JSON can hold, whatever strangers wrote."""
    return text.encode("utf-8", "replace").decode()
