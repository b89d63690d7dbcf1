"""The way of a micro-batch: prepare its messages, observe and label their pages, assemble documents."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from inference.cleaning import PreparedPage
from schemas.errors import UnavailableError
from schemas.pages import BlockFrequencies, Message
from streams.settings import MIB
from streams.worker.assembly import Answer, Assembler, CleanedMessage
from streams.worker.availability import Part
from streams.worker.backoff import back_off
from streams.worker.labelling import Labelled, Labelling
from streams.worker.metrics import Metrics
from streams.worker.observation import Observer
from streams.worker.pool import PreparationPool
from streams.worker.preparation import Outcome, Postponed

_MOST_HTML = 16 * MIB
"""Bytes of HTML, decompressed, from which the rest of a batch has to wait."""


@dataclass(frozen=True, slots=True)
class BatchCleaner:
    """Takes micro-batches through all steps but delivery."""

    _pool: PreparationPool
    _schema_registry: Part
    _observer: Observer
    _labelling: Labelling
    _assembler: Assembler
    _metrics: Metrics

    async def clean(self, messages: Sequence[Message]) -> list[CleanedMessage]:
        """What became of each message, in order, however long the parts it needs are away.

        Where their pages are huge once they are decompressed, it is that of the first messages alone.
        """
        with self._metrics.step("prepare"):
            outcomes = await self._prepare(messages)
        pages = [page for each in outcomes for page in each if isinstance(page, PreparedPage)]
        with self._metrics.step("observe"):
            frequencies = await self._observer.observe(pages)
        with self._metrics.step("label"):
            labelled = await self._label(pages)
        with self._metrics.step("assemble"):
            answers = _answers(labelled, frequencies)
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

    async def _label(self, pages: Sequence[PreparedPage]) -> Labelled:
        if not pages:
            return Labelled([])
        return await self._labelling.label([page.encoded for page in pages])


def _answers(labelled: Labelled, frequencies: Sequence[BlockFrequencies] | None) -> list[Answer]:
    missing = {"frequencies": frequencies is None, "model": labelled.degraded}
    degraded = tuple(name for name, is_missing in missing.items() if is_missing)
    unknown = [None] * len(labelled.answers)
    counts: Sequence[BlockFrequencies | None] = unknown if frequencies is None else frequencies
    return [
        Answer(labels, counted, degraded) for labels, counted in zip(labelled.answers, counts, strict=True)
    ]
