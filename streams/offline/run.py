"""Runs over pages: several batches are cleaned at once, and leave in the order of the input."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from typing import Any, TypeVar

from dehusk.inference.labelers.labeler import Labeler, encodings_read
from dehusk.schemas.outcomes import Broken, Skipped, SkipReason
from dehusk.schemas.pages import EncodedPage, Prediction, RawPage
from dehusk.schemas.sites import SiteObservation, SiteStatistics
from dehusk.streams.files.read_ahead import ReadAhead
from dehusk.streams.offline.lines import Input, WriteFailure, message_of
from dehusk.streams.preparation.batch import (
    BatchAnswers,
    BatchCleaner,
    Failure,
    LabeledBatch,
    MessageResult,
    Note,
    ObservedPage,
    PageResult,
    UniformBatchLabeler,
    observation,
)
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.preparation.steps import LabeledPage, PackedPage, WrittenDocument
from dehusk.streams.sites.store import SiteStatisticsStore, observe

BATCH_PAGES = 8
"""Pages that are prepared and labeled together, and that are read ahead."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Turn of a batch at steps that follow the order of the input."""

    begins: asyncio.Event
    ends: asyncio.Event = field(default_factory=asyncio.Event)

    async def end(self) -> None:
        """Wait for the turn, then pass it on."""
        await self.begins.wait()
        self.ends.set()


@dataclass(frozen=True, slots=True)
class _OrderedObserver:
    """Observer of labeled pages after all pages of earlier batches."""

    store: SiteStatisticsStore
    turn: Turn

    async def observe(
        self, pages: Sequence[PackedPage], labels: Sequence[Prediction]
    ) -> list[SiteStatistics]:
        await self.turn.begins.wait()
        return await observe(self.store, list(map(observation, pages, labels)))


@dataclass(frozen=True, slots=True)
class _RequiredLabeling:
    """Policy of a labeler whose failure ends the run."""

    labeler: Labeler

    async def label(self, pages: Sequence[EncodedPage]) -> BatchAnswers:
        return BatchAnswers(await self.labeler.label(pages))


class PageCleaner:
    """Cleaner of the pages of one batch.

    A page that needs the large share of memory is prepared alone on its batch's turn, so one at a time.
    """

    def __init__(
        self,
        pool: PreparationPool,
        labeler: Labeler,
        store: SiteStatisticsStore | None,
        turn: Turn,
        note: Note | None = None,
    ) -> None:
        batch_labeler = UniformBatchLabeler(_RequiredLabeling(labeler), partial(encodings_read, labeler))
        observer = None if store is None else _OrderedObserver(store, turn)
        self._batches = BatchCleaner(pool, batch_labeler, observer, note)
        self._turn = turn

    async def clean(self, pages: Sequence[RawPage]) -> list[WrittenDocument | Broken]:
        """Clean each page; return documents in order."""
        documents: list[WrittenDocument | Broken] = []
        async for portion in self.labeled(pages):
            documents += map(_single_result, await self._batches.extract(portion, self._extract))
        return documents

    async def observe(self, pages: Sequence[RawPage]) -> None:
        """Count the pages in the store, without making documents."""
        async for _ in self.labeled(pages):
            pass

    async def observations(self, pages: Sequence[RawPage]) -> list[SiteObservation]:
        """Label the pages, and return what the statistics of their sites would count."""
        return [
            observation(page.page, page.labels)
            async for portion in self.labeled(pages, with_keys=True)
            for page in portion.pages
            if isinstance(page, ObservedPage)
        ]

    async def labeled(
        self, pages: Sequence[RawPage], *, with_keys: bool = False
    ) -> AsyncIterator[LabeledBatch]:
        """Label and count the pages; yield them in portions, with their keys even if nobody counts them."""
        messages = [message_of(page) for page in pages]
        while messages:
            portion = await self._batches.label(messages, with_keys=with_keys)
            together = bool(portion.prepared)
            if not together:
                await self._turn.begins.wait()
                portion = await self._batches.label(messages[:1], alone=True, with_keys=with_keys)
            messages = messages[len(portion.prepared) :]
            if together and not messages and self._batches.observer is not None:
                await self._turn.end()
            yield portion
        await self._turn.end()

    async def _extract(self, pages: Sequence[LabeledPage]) -> list[WrittenDocument | Broken]:
        """Make the documents of all pages; one that lacks memory in its process is made alone."""
        pool = self._batches.pool
        documents: list[WrittenDocument | Broken] = []
        while remaining := pages[len(documents) :]:
            documents += await pool.extract(remaining) or [await pool.extract_alone(remaining[0])]
        return documents


def _single_result(results: MessageResult) -> WrittenDocument | Broken:
    """Return the one result that a message of `DecodedPages` has."""
    match results:
        case (PageResult(document=Failure(broken=broken)),):
            return broken
        case (PageResult(document=WrittenDocument() as document),):
            return document
        case (Broken() as broken,):
            return broken
    raise TypeError(f"a page became {results}")


Result = WrittenDocument | Skipped | Broken
Done = TypeVar("Done")
Work = Callable[[PageCleaner, Sequence[Input]], Awaitable[Done]]


async def clean_pages(
    pages: Iterator[Input],
    pool: PreparationPool,
    labelers: Sequence[Labeler],
    *,
    store: SiteStatisticsStore | None = None,
    note: Note | None = None,
) -> AsyncGenerator[tuple[Input, Result], None]:
    """Yield each page and its result in the order of the input, also those of records that are no pages.

    With a store of site statistics, a page is corrected by the pages before it, and by those that the store
    counted earlier. `note` takes the samples of text that sites repeat, if the pool makes any.

    Raises:
        UnavailableError: a labeler or the store does not answer.
        ConfigurationError: there is no such file, or a model does not fit.
    """
    open_cleaner = partial(PageCleaner, pool, store=store, note=note)
    async with aclosing(_batches(pages, labelers, open_cleaner, _clean)) as batches:
        async for results in batches:
            for page, result in results:
                yield page, result


def is_page(result: Result | RawPage) -> bool:
    """Return False for a record that is no page, of which nothing is written."""
    return not (isinstance(result, Skipped) and result.reason is SkipReason.NOT_A_PAGE)


def line_of(page: Input, result: Result, write_failure: WriteFailure) -> bytes:
    """Return what is written of a page."""
    return result.value if isinstance(result, WrittenDocument) else write_failure(page, result)


async def observe_pages(
    pages: Iterator[Input], pool: PreparationPool, labelers: Sequence[Labeler], store: SiteStatisticsStore
) -> AsyncGenerator[int, None]:
    """Count all pages in a store, in order; yield the number of pages of each finished batch.

    Raises what `clean_pages` raises.
    """
    open_cleaner = partial(PageCleaner, pool, store=store)
    async with aclosing(_batches(pages, labelers, open_cleaner, _observe)) as batches:
        async for count in batches:
            yield count


async def _batches(
    pages: Iterator[Input],
    labelers: Sequence[Labeler],
    open_cleaner: Callable[..., PageCleaner],
    work: Work[Done],
) -> AsyncGenerator[Done, None]:
    """Yield the result of the work on each batch of pages, in order."""
    begun: asyncio.Queue[asyncio.Task[Done] | None] = asyncio.Queue()
    free = asyncio.Semaphore(len(labelers) + 1)

    async def begin() -> None:
        ahead, next_labeler, turn = ReadAhead(pages, BATCH_PAGES), cycle(labelers), Turn(asyncio.Event())
        turn.begins.set()
        while batch := await ahead.take():
            await free.acquire()
            cleaner = open_cleaner(next(next_labeler), turn=turn)
            begun.put_nowait(asyncio.ensure_future(work(cleaner, batch)))
            turn = Turn(turn.ends)

    beginning = asyncio.create_task(begin())
    beginning.add_done_callback(lambda _: begun.put_nowait(None))
    try:
        while (batch := await begun.get()) is not None:
            yield await batch
            free.release()
        await beginning
    finally:
        unfinished: list[asyncio.Future[Any]] = [beginning]
        while not begun.empty():
            unfinished += [batch] if (batch := begun.get_nowait()) else []
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)


async def _clean(cleaner: PageCleaner, batch: Sequence[Input]) -> list[tuple[Input, Result]]:
    documents = iter(await cleaner.clean([page for page in batch if isinstance(page, RawPage)]))
    return [(page, next(documents) if isinstance(page, RawPage) else page) for page in batch]


async def _observe(cleaner: PageCleaner, batch: Sequence[Input]) -> int:
    pages = [page for page in batch if isinstance(page, RawPage)]
    await cleaner.observe(pages)
    return len(pages)
