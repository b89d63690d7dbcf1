"""The way of a micro-batch: prepare its messages, observe and label their pages, assemble documents."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from inference.cleaning import PreparedPage
from schemas.pages import BlockFrequencies, Message
from streams.preparation.pool import PreparationPool
from streams.preparation.preparation import Outcome, Postponed
from streams.settings import MIB
from streams.worker.assembly import Answer, Assembler, CleanedMessage
from streams.worker.labeling import Labeled, Labeling
from streams.worker.metrics import Metrics
from streams.worker.observation import Observer
from streams.worker.postponed import Result

_MOST_HTML = 16 * MIB
"""Bytes of HTML, decompressed, from which the rest of a batch has to wait."""


@dataclass(frozen=True, slots=True)
class BatchCleaner:
    """Takes micro-batches through all steps but delivery."""

    _pool: PreparationPool
    _observer: Observer
    _labeling: Labeling
    _assembler: Assembler
    _metrics: Metrics

    async def clean(self, messages: Sequence[Message]) -> list[Result]:
        """What became of each message, in order; postponed is one whose schema cannot be asked for now.

        Where their pages are huge once they are decompressed, it is that of the first messages alone.
        """
        with self._metrics.step("prepare"):
            prepared = await self._pool.prepare(messages, _MOST_HTML)
        outcomes = [each for each in prepared if not isinstance(each, Postponed)]
        pairs = zip(messages, prepared, strict=False)
        begun = [message for message, each in pairs if not isinstance(each, Postponed)]
        cleaned = iter(await self._clean(begun, outcomes))
        return [each if isinstance(each, Postponed) else next(cleaned) for each in prepared]

    async def _clean(
        self, messages: Sequence[Message], outcomes: Sequence[tuple[Outcome, ...]]
    ) -> list[CleanedMessage]:
        """What became of each prepared message, however long the dependencies it needs are unavailable."""
        pages = [page for each in outcomes for page in each if isinstance(page, PreparedPage)]
        with self._metrics.step("observe"):
            frequencies = await self._observer.observe(pages)
        with self._metrics.step("label"):
            labeled = await self._label(pages)
        with self._metrics.step("assemble"):
            answers = _answers(labeled, frequencies)
            return await asyncio.to_thread(self._assembler.assemble, messages, outcomes, answers)

    async def _label(self, pages: Sequence[PreparedPage]) -> Labeled:
        if not pages:
            return Labeled([])
        return await self._labeling.label([page.encoded for page in pages])


def _answers(labeled: Labeled, frequencies: Sequence[BlockFrequencies] | None) -> list[Answer]:
    missing = {"frequencies": frequencies is None, "model": labeled.degraded}
    degraded = tuple(name for name, is_missing in missing.items() if is_missing)
    unknown = [None] * len(labeled.answers)
    counts: Sequence[BlockFrequencies | None] = unknown if frequencies is None else frequencies
    return [
        Answer(labels, counted, degraded) for labels, counted in zip(labeled.answers, counts, strict=True)
    ]
