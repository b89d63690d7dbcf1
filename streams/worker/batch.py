"""The way of a micro-batch: prepare its messages, observe and label their pages, extract documents."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from schemas.documents import Origin
from schemas.errors import UnavailableError
from schemas.outcomes import Broken
from schemas.pages import BlockFrequencies, Message, Prediction
from streams.preparation.extraction import LabeledPage, WrittenDocument
from streams.preparation.pool import PreparationPool
from streams.preparation.preparation import Outcome, Outcomes, PackedPage, Postponed
from streams.settings import MIB
from streams.worker.assembly import Assembler, CleanedMessage, Failure, Fate
from streams.worker.availability import Dependency
from streams.worker.backoff import back_off
from streams.worker.labeling import Labeled, Labeling
from streams.worker.memory import give_back_what_is_free
from streams.worker.metrics import Metrics
from streams.worker.observation import Observer

_ROOM = 8 * MIB
"""Bytes that the prepared pages of a batch, or their documents, may take; what follows has to wait."""
Extract = Callable[[Sequence[LabeledPage]], Awaitable[list[WrittenDocument | Broken]]]


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
        """What became of the first messages, in order, however long the dependencies are unavailable.

        It ends where the prepared pages or their documents take too much room, and before a message that has
        to be cleaned alone, be it the first.
        """
        with self._metrics.step("prepare"):
            outcomes = await self._prepare(messages)

        async def extract(pages: Sequence[LabeledPage]) -> list[WrittenDocument | Broken]:
            return await self._pool.extract(pages, _ROOM)

        return await self._finish(messages[: len(outcomes)], outcomes, extract)

    async def clean_alone(self, message: Message) -> CleanedMessage:
        """What became of a message that may take the large share of memory."""
        with self._metrics.step("prepare"):
            prepared = await self._pool.prepare_alone(message)
            outcomes = await self._insist(message, prepared, self._pool.prepare_alone)

        async def extract(pages: Sequence[LabeledPage]) -> list[WrittenDocument | Broken]:
            return [await self._pool.extract_alone(page) for page in pages]

        (cleaned,) = await self._finish([message], [outcomes], extract)
        await asyncio.to_thread(give_back_what_is_free)
        return cleaned

    async def _prepare(self, messages: Sequence[Message]) -> list[tuple[Outcome, ...]]:
        prepared: list[tuple[Outcome, ...]] = []
        for message, outcomes in zip(messages, await self._pool.prepare(messages, _ROOM), strict=False):
            prepared.append(await self._insist(message, outcomes, self._prepare_again))
        return prepared

    async def _prepare_again(self, message: Message) -> Outcomes:
        outcomes = await self._pool.prepare([message])
        return outcomes[0] if outcomes else await self._pool.prepare_alone(message)

    async def _insist(
        self, message: Message, outcomes: Outcomes, prepare: Callable[[Message], Awaitable[Outcomes]]
    ) -> tuple[Outcome, ...]:
        """The outcomes of a message, which may have to wait for the schema registry."""
        trial = 0
        while isinstance(outcomes, Postponed):
            self._schema_registry.missed(UnavailableError(outcomes.detail))
            await back_off(trial)
            outcomes, trial = await prepare(message), trial + 1
        if trial:
            self._schema_registry.answered()
        return outcomes

    async def _finish(
        self, messages: Sequence[Message], outcomes: Sequence[tuple[Outcome, ...]], extract: Extract
    ) -> list[CleanedMessage]:
        """The way of prepared pages, as far as there are documents for them."""
        pages = [page for each in outcomes for page in each if isinstance(page, PackedPage)]
        with self._metrics.step("observe"):
            frequencies = await self._observer.observe(pages)
        with self._metrics.step("label"):
            labeled = await self._label(pages)
        degraded = _degraded(labeled, frequencies)
        with self._metrics.step("extract"):
            origins = _origins(messages, outcomes)
            counts: Sequence[BlockFrequencies | None] = frequencies or [None] * len(pages)
            documents = await extract(
                [
                    LabeledPage(page.packed, labels, counted, degraded, origin)
                    for page, labels, counted, origin in zip(
                        pages, labeled.answers, counts, origins, strict=True
                    )
                    if isinstance(labels, Prediction)
                ]
            )
        fates = _fates(labeled.answers, documents)
        return self._assembler.assemble(messages, outcomes, fates, degraded)

    async def _label(self, pages: Sequence[PackedPage]) -> Labeled:
        if not pages:
            return Labeled([])
        return await self._labeling.label([page.encoded for page in pages])


def _degraded(labeled: Labeled, frequencies: Sequence[BlockFrequencies] | None) -> tuple[str, ...]:
    """What the documents have to do without."""
    missing = {"frequencies": frequencies is None, "model": labeled.degraded}
    return tuple(name for name, is_missing in missing.items() if is_missing)


def _origins(messages: Sequence[Message], outcomes: Sequence[tuple[Outcome, ...]]) -> Iterator[Origin]:
    """Of which message each prepared page is."""
    for message, pages in zip(messages, outcomes, strict=True):
        origin = Origin(message.topic, message.partition, message.offset)
        yield from (origin for page in pages if isinstance(page, PackedPage))


def _fates(
    answers: Iterable[Prediction | Broken], documents: Iterable[WrittenDocument | Broken]
) -> Iterator[Fate]:
    """What became of each page, as far as there are documents for those that were labeled."""
    extracted = iter(documents)
    for labels in answers:
        if isinstance(labels, Broken):
            yield Failure("label", labels)
        elif (document := next(extracted, None)) is None:
            return
        else:
            yield Failure("extract", document) if isinstance(document, Broken) else document
