"""Cleaning of messages: all steps but delivery, with metrics and traces."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from dehusk.schemas.documents import SCHEMA_VERSION, origin_of
from dehusk.schemas.outcomes import Broken, Skipped, Tombstone
from dehusk.schemas.pages import Message, Prediction
from dehusk.schemas.sites import SiteStatistics
from dehusk.streams.availability import Dependency, ask_if_there
from dehusk.streams.heap import Heap, release_free_memory
from dehusk.streams.preparation.batch import (
    BatchCleaner,
    Extract,
    Failure,
    LabeledBatch,
    ObservedPage,
    PageResult,
    observation,
)
from dehusk.streams.preparation.process import Oversized
from dehusk.streams.preparation.steps import LabeledPage, PackedPage, Postponed, WrittenDocument
from dehusk.streams.settings import MIB
from dehusk.streams.sites.revisits import Visit
from dehusk.streams.sites.store import SiteStatisticsStore, observe
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.monitoring.metrics import Metrics, StepTimes
from dehusk.streams.worker.results import (
    UNTRACED,
    CleanedMessage,
    MessageTrace,
    Result,
    Traces,
)

MAX_BATCH_BYTES = 8 * MIB
"""Size limit of the prepared pages of a batch, and of their documents; the messages after it have to wait."""


class StoreObserver:
    """Observer that counts labeled pages in the store, unless that is unavailable."""

    def __init__(self, store: SiteStatisticsStore, dependency: Dependency) -> None:
        self._store = store
        self._dependency = dependency

    async def observe(
        self, pages: Sequence[PackedPage], labels: Sequence[Prediction]
    ) -> list[SiteStatistics] | None:
        """Return the statistics of each page's site without it; None while the store is unavailable."""
        observations = list(map(observation, pages, labels))
        return await ask_if_there(self._dependency, partial(observe, self._store, observations))


def assemble(
    message: Message,
    results: Sequence[PageResult | Skipped | Broken | Tombstone],
    content_type: str,
    degraded: tuple[str, ...],
    trace: MessageTrace,
) -> CleanedMessage:
    """Return the result of a message, given those of its pages, with documents of a content type."""
    cleaned = CleanedMessage(message, trace=trace)
    for result in results:
        match result:
            case PageResult():
                _add(cleaned, result, content_type, degraded)
            case Skipped():
                cleaned.skipped.append(result)
            case Tombstone():
                cleaned.records.append(Record(result.key, None, trace.headers(message)))
            case Broken():
                cleaned.fail("prepare", result)
    return cleaned


def _add(cleaned: CleanedMessage, result: PageResult, content_type: str, degraded: tuple[str, ...]) -> None:
    identity, known, document = result.page.identity, result.known, result.document
    if identity.site and not (known and known.is_copy):
        pages, is_counted = (known.pages, known.is_counted) if known else (None, False)
        origin = origin_of(cleaned.message)
        cleaned.visits.append(Visit(identity.site, identity.url, origin, pages, is_counted))
    if isinstance(document, Failure):
        cleaned.fail(document.stage, document.broken)
        return
    cleaned.degraded = degraded
    headers = (
        ("content-type", content_type.encode()),
        ("schema-version", SCHEMA_VERSION.encode()),
        *cleaned.trace.headers(cleaned.message),
    )
    cleaned.records.append(replace(document, headers=headers, samples=()))


@dataclass(frozen=True, slots=True)
class MessageCleaner:
    """Cleaner of micro-batches of messages: all steps but delivery."""

    _batches: BatchCleaner
    _content_type: str
    """Content type of documents."""
    _metrics: Metrics
    _traces: Traces = UNTRACED
    _revision: int = 1
    """Revision of the documents."""
    heap: Heap = field(default_factory=Heap)
    """Heap of this process, which is told of the bytes of each batch."""
    _alone: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def clean(self, messages: Sequence[Message]) -> list[Result]:
        """Clean the first messages, at least one, and return their results in order.

        A message is postponed while the schema registry is unavailable; a first message that has to be
        cleaned alone is oversized. The results end where the prepared pages or documents exceed the size
        limit, and before any other message that has to be cleaned alone.
        """
        extract = partial(self._batches.pool.extract, max_bytes=MAX_BATCH_BYTES)
        return [*await self._clean(messages, extract, alone=False)] or [Oversized()]

    async def clean_alone(self, message: Message) -> CleanedMessage | Postponed:
        """Clean a message that may take the large share of memory, one at a time."""
        async with self._alone:
            (result,) = await self._clean([message], self._extract_alone, alone=True)
            await asyncio.to_thread(release_free_memory)
            return result

    async def _extract_alone(self, pages: Sequence[LabeledPage]) -> list[WrittenDocument | Broken]:
        return [await self._batches.pool.extract_alone(page) for page in pages]

    async def _clean(
        self, messages: Sequence[Message], extract: Extract, *, alone: bool
    ) -> list[CleanedMessage | Postponed]:
        times = StepTimes(self._metrics, self._traces.begin(messages, self._revision))
        batch = await self._batches.label(messages, times.step, alone=alone)
        page_results = await self._batches.extract(batch, extract, times.step, self._revision)
        results = [
            result if isinstance(result, Postponed) else self._assemble(message, result, batch, times)
            for message, result in zip(messages, page_results, strict=False)
        ]
        self.heap.note(_size(messages[: max(1, len(results))], batch, results))
        if all(isinstance(result, Postponed) for result in results):
            times.trace.end()
        return results

    def _assemble(
        self,
        message: Message,
        results: Sequence[PageResult | Skipped | Broken | Tombstone],
        batch: LabeledBatch,
        times: StepTimes,
    ) -> CleanedMessage:
        trace = times.trace.message(message)
        cleaned = assemble(message, results, self._content_type, batch.degraded, trace)
        cleaned.batch_messages = sum(not isinstance(each, Postponed) for each in batch.prepared)
        cleaned.batch_seconds = times.seconds
        return cleaned


def _size(
    messages: Sequence[Message], batch: LabeledBatch, results: Sequence[CleanedMessage | Postponed]
) -> int:
    """Return the bytes of messages, of the prepared pages of their batch, and of their records."""
    pages = [page for page in batch.pages if isinstance(page, ObservedPage)]
    cleaned = [result for result in results if isinstance(result, CleanedMessage)]
    return (
        sum(len(message.value or b"") for message in messages)
        + sum(len(page.page.packed) for page in pages)
        + sum(len(record.value or b"") for result in cleaned for record in result.records)
    )
