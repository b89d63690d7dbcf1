"""Passes over pages: several batches are on their way at once, and leave it in the order of the input."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from itertools import cycle
from typing import Any, TypeVar

from dehusk.inference.labeler import Labeler
from dehusk.schemas.outcomes import Skipped, SkipReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.offline.batch import BatchCleaner, Note, Turn
from dehusk.streams.offline.decoded import Input
from dehusk.streams.offline.lines import Fail
from dehusk.streams.preparation.extraction import WrittenDocument
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.read_ahead import ReadAhead
from dehusk.streams.sites.store import SiteStatisticsStore

BATCH_PAGES = 8
"""Pages that are prepared and labeled together, and that are read ahead."""
Made = TypeVar("Made")
Work = Callable[[BatchCleaner, Sequence[Input]], Awaitable[Made]]


async def clean_lines(
    pages: Iterator[Input],
    pool: PreparationPool,
    labelers: Sequence[Labeler],
    fail: Fail,
    *,
    store: SiteStatisticsStore | None = None,
    note: Note | None = None,
) -> AsyncGenerator[bytes, None]:
    """A line for each page, as soon as it and those before it are cleaned; nothing for what never was a page.

    `fail` writes the line of a page that cannot be cleaned.

    The pool was opened with `writing`. Where there is a store of site statistics, a page is corrected by what
    it knows without the page: of the pages before it, and of those that it counted earlier. `note` is told of
    samples of what sites repeat, where the pool makes any.

    Raises:
        UnavailableError: a labeler or the store does not answer.
        ConfigurationError: there is no such file, or a model does not fit.
    """
    work = partial(_lines, fail=fail)
    cleaner_of = partial(BatchCleaner, pool, _store=store, _note=note)
    async with aclosing(_batches(pages, labelers, cleaner_of, work)) as batches:
        async for lines in batches:
            for line in lines:
                yield line


async def observe_pages(
    pages: Iterator[Input], pool: PreparationPool, labelers: Sequence[Labeler], store: SiteStatisticsStore
) -> AsyncGenerator[int, None]:
    """Have a store count all pages, in order; how many more pages were read, each time that some are done.

    Raises what `clean_lines` raises.
    """
    cleaner_of = partial(BatchCleaner, pool, _store=store)
    async with aclosing(_batches(pages, labelers, cleaner_of, _observe)) as batches:
        async for count in batches:
            yield count


async def _batches(
    pages: Iterator[Input],
    labelers: Sequence[Labeler],
    cleaner_of: Callable[..., BatchCleaner],
    work: Work[Made],
) -> AsyncGenerator[Made, None]:
    """What is made of each batch of pages, in order."""
    begun: asyncio.Queue[asyncio.Task[Made] | None] = asyncio.Queue()
    free = asyncio.Semaphore(len(labelers) + 1)

    async def begin() -> None:
        ahead, next_labeler, turn = ReadAhead(pages, BATCH_PAGES), cycle(labelers), Turn(asyncio.Event())
        turn.begins.set()
        while batch := await ahead.take():
            await free.acquire()
            cleaner = cleaner_of(next(next_labeler), _turn=turn)
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
        left: list[asyncio.Future[Any]] = [beginning]
        while not begun.empty():
            left += [batch] if (batch := begun.get_nowait()) else []
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def _lines(cleaner: BatchCleaner, batch: Sequence[Input], *, fail: Fail) -> list[bytes]:
    fates = iter(await cleaner.clean([page for page in batch if isinstance(page, RawPage)]))
    lines: list[bytes] = []
    for page in batch:
        fate = next(fates) if isinstance(page, RawPage) else page
        if isinstance(fate, WrittenDocument):
            lines.append(fate.value)
        elif not (isinstance(fate, Skipped) and fate.reason is SkipReason.NOT_A_PAGE):
            lines.append(fail(page, fate))
    return lines


async def _observe(cleaner: BatchCleaner, batch: Sequence[Input]) -> int:
    pages = [page for page in batch if isinstance(page, RawPage)]
    await cleaner.observe(pages)
    return len(pages)
