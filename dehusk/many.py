"""Many pages, cleaned in processes with limits, as `dehusk clean` does."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from multiprocessing.util import Finalize
from threading import Thread, current_thread
from types import TracebackType
from typing import Generic, Self, TypeVar, Unpack
from weakref import finalize

from dehusk.extractor import Extractor
from dehusk.inference.labelers.labeler import Labeler
from dehusk.inputs import Html, error_of, read_page
from dehusk.options import Options, whole_number
from dehusk.schemas.documents import CleanedDocument
from dehusk.schemas.errors import ConfigurationError, ExtractionError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import RawPage
from dehusk.schemas.sites import SiteObservation
from dehusk.streams.offline.lines import DecodedPages, pickle_document, unpickle_document
from dehusk.streams.offline.run import BATCH_PAGES, PageCleaner, Turn
from dehusk.streams.preparation.pool import PreparationPool, open_pool, open_steps
from dehusk.streams.preparation.steps import Writing, WrittenDocument
from dehusk.streams.settings import MIB, MOST_PROCESSES, MOST_SECONDS, PageLimits, available_processors
from dehusk.streams.sites.store import SiteStatisticsStore

Page = TypeVar("Page")
_BATCH_BYTES = 4 * MIB
"""Bytes of pages from which no further page is read into their batch."""
_BATCH_SECONDS = 0.05
"""Time after which a batch waits for no further page."""


def extract_many(
    pages: Iterable[Page],
    *,
    processes: int | None = None,
    page_seconds: float = 10.0,
    **options: Unpack[Options],
) -> "Extractions[Page]":
    """Clean pages in processes with limits on CPU time and memory; see `Extractor` for the options.

    The result is an iterator over pairs of a page, as it was given, and its document, or an `ExtractionError`
    that says why it has none. They come in the order of the pages; few pages are read ahead, in the calling
    thread. An error that `pages` raises is raised after the results of the pages before it.

    The processes end with the last page, or at the end of a `with` block, or once nobody holds the iterator.

    Args:
        pages: each is HTML, a tuple of HTML and URL, or a mapping with `html` and perhaps `url`, `id` and
            `content_type`, and what the crawl told: `fetched_at`, a `datetime`, and `language`, the header
            `Content-Language`. Other keys are ignored.
        processes: processes that take pages apart, and threads that label them; one per processor by default.
        page_seconds: the CPU time that each step of one page may take.
        **options: as those of an `Extractor`.

    Raises:
        ConfigurationError: an option has no such value, or the processes cannot be started.
        TypeError: `pages` is a single page.
    """
    if isinstance(pages, Html | Mapping):
        raise TypeError(f"pages is a single {type(pages).__name__}; give a list of it, or call extract()")
    if processes is None:
        processes = available_processors()
    cleaning = Cleaning(options, processes, page_seconds)
    return Extractions(pages, cleaning, cleaning.close)


@dataclass(frozen=True, slots=True)
class _Batch(Generic[Page]):
    """Pages that are cleaned together."""

    pages: list[Page]
    outcomes: list[RawPage | ExtractionError]
    documents: "Future[list[WrittenDocument | Broken]]"
    """Those of the outcomes that are pages."""

    def results(self) -> list[tuple[Page, CleanedDocument | ExtractionError]]:
        """Return each page with its document or error, once all are there."""
        documents = iter(self.documents.result())
        results = [
            each if isinstance(each, ExtractionError) else _result(next(documents)) for each in self.outcomes
        ]
        return list(zip(self.pages, results, strict=True))


def _result(result: WrittenDocument | Broken) -> CleanedDocument | ExtractionError:
    return error_of(result) if isinstance(result, Broken) else unpickle_document(result.value)


class Extractions(Generic[Page]):
    """Iterator over pages and their documents or errors, as `extract_many` returns it.

    It is a context manager, too, whose end ends the processes. It is not for several threads at once.
    """

    def __init__(
        self,
        pages: Iterable[Page],
        cleaning: "Cleaning",
        end_cleaning: Callable[[], None] = lambda: None,
        store: SiteStatisticsStore | None = None,
    ) -> None:
        self._pages = iter(pages)
        self._is_read = False
        self._error: Exception | None = None
        """The error that ended the pages."""
        self._begun: deque[_Batch[Page]] = deque()
        self._max_batches = cleaning.processes + 2
        self._results: deque[tuple[Page, CleanedDocument | ExtractionError]] = deque()
        self._cleaning = cleaning
        self._store = store
        self._close = finalize(self, end_cleaning)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[Page, CleanedDocument | ExtractionError]:
        if not self._results:
            self._read_ahead()
            if self._begun:
                self._results.extend(self._begun[0].results())
                self._begun.popleft()
        if self._results:
            return self._results.popleft()
        self.close()
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        raise StopIteration

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes; pages whose results were not taken are given up."""
        self._is_read = True
        self._begun.clear()
        self._results.clear()
        self._close()

    def _read_ahead(self) -> None:
        """Begin batches until enough are in flight, or the results of the first are there."""
        while not self._is_read and len(self._begun) < self._max_batches:
            if len(self._begun) > 1 and self._begun[0].documents.done():
                break
            batch = self._read_batch()
            if batch.pages:
                self._begun.append(batch)

    def _read_batch(self) -> _Batch[Page]:
        """Read the next pages, and begin to clean them; those of a slow source one by one."""
        pages: list[Page] = []
        outcomes: list[RawPage | ExtractionError] = []
        size, begun = 0, time.monotonic()
        while len(pages) < BATCH_PAGES and size < _BATCH_BYTES and time.monotonic() - begun < _BATCH_SECONDS:
            try:
                page = next(self._pages)
            except StopIteration:
                self._is_read = True
                break
            except Exception as error:  # noqa: BLE001 it is raised after the results of the pages before it
                self._is_read, self._error = True, error
                break
            outcome = read_page(page, self._cleaning.max_page_bytes)
            pages.append(page)
            outcomes.append(outcome)
            size += len(outcome.html) if isinstance(outcome, RawPage) else 0
        raw = [outcome for outcome in outcomes if isinstance(outcome, RawPage)]
        return _Batch(pages, outcomes, self._cleaning.send(raw, self._store))


class Cleaning:
    """Processes that clean batches of pages, and the event loop in a thread that they are asked from.

    Raises:
        ConfigurationError: an option has no such value.
    """

    def __init__(self, options: Options, processes: int, page_seconds: float) -> None:
        self.processes = whole_number("processes", processes, MOST_PROCESSES)
        is_number = isinstance(page_seconds, int | float) and not isinstance(page_seconds, bool)
        if not is_number or not 0 < page_seconds <= MOST_SECONDS:
            raise ConfigurationError(
                f"page_seconds is {page_seconds!r}; it is a number above 0, and {MOST_SECONDS:,} at most"
            )
        extractor = Extractor(**options)
        self.max_page_bytes = extractor.max_page_bytes
        self._limits = PageLimits(extractor.max_page_bytes, page_seconds, extractor.max_page_blocks)
        writing = Writing(pickle_document, extractor.document_options, 2 * self._limits.max_bytes)
        self._open_work = partial(open_steps, DecodedPages, self._limits.max_blocks, writing)
        self._labelers: Iterator[Labeler] = cycle([extractor.labeler.twin() for _ in range(processes)])
        self._turn = Turn(asyncio.Event())
        self._turn.begins.set()
        self._thread: Thread | None = None
        self._opened: Future[tuple[asyncio.AbstractEventLoop, PreparationPool]] = Future()
        self._end = asyncio.Event()
        self._at_exit: Finalize | None = None
        """Its end with the process, before `multiprocessing` waits for the processes that it has started."""

    def send(
        self, pages: Sequence[RawPage], store: SiteStatisticsStore | None = None
    ) -> "Future[list[WrittenDocument | Broken]]":
        """Begin to clean pages, after those that were sent before, by the statistics of a store.

        Raises:
            ConfigurationError: the processes cannot be started.
        """
        if not pages:
            none: Future[list[WrittenDocument | Broken]] = Future()
            none.set_result([])
            return none
        cleaner, loop = self._next(store)
        return asyncio.run_coroutine_threadsafe(cleaner.clean(pages), loop)

    def observe(self, pages: Sequence[RawPage]) -> "Future[list[SiteObservation]]":
        """Begin to label pages for the statistics of their sites; raise what `send` raises."""
        cleaner, loop = self._next(None)
        return asyncio.run_coroutine_threadsafe(cleaner.observations(pages), loop)

    def _next(self, store: SiteStatisticsStore | None) -> tuple[PageCleaner, asyncio.AbstractEventLoop]:
        """Return the cleaner of the next batch, and the loop that it runs on; the first starts both."""
        if self._thread is None:
            self._thread = Thread(
                target=lambda: asyncio.run(self._serve()), name="dehusk-extract-many", daemon=True
            )
            self._thread.start()
            self._at_exit = Finalize(None, self.close, exitpriority=0)
        loop, pool = self._opened.result()
        cleaner = PageCleaner(pool, next(self._labelers), store, self._turn)
        self._turn = Turn(self._turn.ends)
        return cleaner, loop

    def close(self) -> None:
        """End the processes and the thread, if they were started."""
        if self._at_exit is not None:
            self._at_exit.cancel()
        if self._thread is None or not self._thread.is_alive():
            return
        if self._opened.exception() is None:
            loop, _ = self._opened.result()
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(self._end.set)
        if self._thread is not current_thread():
            self._thread.join()

    async def _serve(self) -> None:
        """Keep the processes until the end."""
        try:
            async with open_pool(self._open_work, self.processes, self._limits) as pool:
                self._opened.set_result((asyncio.get_running_loop(), pool))
                await self._end.wait()
        except Exception as error:
            if self._opened.done():
                raise
            self._opened.set_exception(error)
