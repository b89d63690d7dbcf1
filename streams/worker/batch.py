"""The way of a micro-batch: prepare its messages, observe and label their pages, assemble documents."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from inference.cleaning import PreparedPage
from schemas.errors import UnavailableError
from schemas.pages import BlockFrequencies, Message
from streams.preparation.pool import PreparationPool
from streams.preparation.preparation import Outcome, Postponed
from streams.settings import MIB
from streams.worker.assembly import Answer, Assembler, CleanedMessage
from streams.worker.availability import Dependency
from streams.worker.backoff import back_off
from streams.worker.labeling import Labeled, Labeling
from streams.worker.metrics import Metrics
from streams.worker.observation import Observer

_MOST_HTML = 16 * MIB
"""Bytes of HTML, decompressed, from which the rest of a batch has to wait."""


@dataclass(frozen=True, slots=True)
class BatchCleaner:
    """Takes micro-batches through all steps but delivery."""

    _pool: PreparationPool
    _schema_registry: Dependency
    _observer: Observer
    _labeling: Labeling
    _assembler: Assembler
    _metrics: Metrics

    async def clean(self, messages: Sequence[Message]) -> list[CleanedMessage]:
        """What became of each message, in order, however long the dependencies it needs are unavailable.

        Where their pages are huge once they are decompressed, it is that of the first messages alone.
        """
        with self._metrics.step("prepare"):
            outcomes = await self._prepare(messages)
        pages = [page for each in outcomes for page in each if isinstance(page, PreparedPage)]
        with self._metrics.step("observe"):
            frequencies = await self._observer.observe(pages)
        with self._metrics.step("label"):
            labeled = await self._label(pages)
        with self._metrics.step("assemble"):
            answers = _answers(labeled, frequencies)
            begun = messages[: len(outcomes)]
            return await asyncio.to_thread(self._assembler.assemble, begun, outcomes, answers)

    async def _prepare(self, messages: Sequence[Message]) -> list[tuple[Outcome, ...]]:
        outcomes = await self._pool.prepare(messages, _MOST_HTML)
        return [
            await self._insist(message, outcome) if isinstance(outcome, Postponed) else outcome
            for message, outcome in zip(messages, outcomes, strict=False)
        ]

    async def _insist(self, message: Message, outcome: Postponed) -> tuple[Outcome, ...]:
        """The outcomes of a message that has to wait for the schema registry."""
        trial = 0
        while True:
            self._schema_registry.missed(UnavailableError(outcome.detail))
            await back_off(trial)
            (again,) = await self._pool.prepare([message])
            if not isinstance(again, Postponed):
                self._schema_registry.answered()
                return again
            outcome, trial = again, trial + 1

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
