"""A run of `dehusk clean` over files or standard input."""

import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import click

from dehusk.inference.labelers.labeler import Labeler, LocalLabeler
from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.options import NO_RENDERING, DocumentOptions
from dehusk.schemas.outcomes import Damaged
from dehusk.schemas.pages import Prediction
from dehusk.streams.cli.shared.output_options import LINES, TEXTS, report_resumption
from dehusk.streams.cli.shared.terminal import page_progress, plain_console, warn
from dehusk.streams.dataset.folder import FolderSettings, open_folder
from dehusk.streams.files.page_lines import DEFAULT_FIELDS, LineFields
from dehusk.streams.labelers import PROBE, comments_advice, open_labeler
from dehusk.streams.offline.files import PLACE_COLUMNS, CleanedFiles, described
from dehusk.streams.offline.lines import (
    OFFLINE_FORMATS,
    PICKLED,
    DecodedPages,
    Input,
    WriteFailure,
    failure_writer,
)
from dehusk.streams.offline.reading import Reading
from dehusk.streams.offline.run import Result, clean_pages, is_page, line_of, observe_pages
from dehusk.streams.offline.statistics import is_shared, open_statistics, sampling
from dehusk.streams.preparation.batch import Note
from dehusk.streams.preparation.pool import PreparationPool, open_pool, open_steps
from dehusk.streams.preparation.steps import Writing, WrittenDocument
from dehusk.streams.sites.store import SiteStatisticsStore
from dehusk.streams.stores.stored import InputPath
from dehusk.streams.topics.formats import Format
from dehusk.streams.worker_settings import WorkerSettings


@dataclass(slots=True)
class OfflineRun:
    """A run over files or standard input."""

    paths: Sequence[InputPath]
    settings: WorkerSettings
    statistics: str
    """Place of the statistics of sites: see `open_statistics`."""
    two_pass: bool
    base_url: str
    """Beginning of the URLs of HTML files; empty for `file:`."""
    warc_directory: InputPath | None
    """Folder of the WARC files that an index points to."""
    fields: LineFields
    output: FolderSettings | None
    """Folder of the files; None for standard output."""
    written: int = 0
    """Pages that were written."""
    failed: Counter[str] = field(default_factory=Counter)
    """Those of them that have no document, by the reason; without what is damaged."""
    first_error: str = ""
    """Error of the first of them."""
    others: int = 0
    """Records that are no pages."""
    damaged_before: int = 0
    """Damaged files of the input in the runs that this one goes on with."""

    async def clean(self) -> Reading:
        """Clean and write all of the input, and return it.

        Raises:
            UnavailableError: the labeler or Redis does not answer.
            ConfigurationError: there is no such file, or a model does not fit.
        """
        settings = self.settings
        writing = Writing.of(
            self._format(),
            self._document_options(),
            settings.page,
            with_samples=is_shared(self.statistics),
        )
        open_work = partial(open_steps, DecodedPages, settings.page.max_blocks, writing, settings.site_key)
        async with (
            self._labelers() as labelers,
            open_statistics(self.statistics, settings.redis) as store,
            sampling(self.statistics, settings.redis) as note,
            open_pool(open_work, settings.processes, settings.page) as pool,
        ):
            await self._try(labelers[0])
            with self._files(with_template=store is not None) as files:
                if self.two_pass and store is not None:
                    await self._count(pool, labelers, store)
                return await self._write(pool, labelers, store, note, files)

    def _format(self) -> Format:
        """Return the form in which processes hand pages on: as they are written, or for rows of files."""
        return PICKLED if self._has_rows else OFFLINE_FORMATS[self.settings.format]

    @property
    def _has_rows(self) -> bool:
        """True if files take the documents themselves, and not their lines."""
        return self.output is not None and self.output.format != LINES

    def _document_options(self) -> DocumentOptions:
        """Return the options of documents, without what files of texts have no place for."""
        options = self.settings.options
        if self.output is None or self.output.format != TEXTS:
            return options
        return replace(options, with_blocks=False, with_links=False, rendering=NO_RENDERING)

    @contextmanager
    def _files(self, *, with_template: bool) -> Iterator[CleanedFiles | None]:
        """Open the folder of the files; yield None for standard output."""
        if self.output is None:
            yield None
            return
        others = {"command": "clean", "two_pass": str(self.two_pass), "base_url": self.base_url}
        others |= {"warc_directory": str(self.warc_directory)} if self.warc_directory else {}
        others |= {"fields": str(self.fields)} if self.fields != DEFAULT_FIELDS else {}
        others["site_statistics"] = "redis" if is_shared(self.statistics) else self.statistics
        options = described(self.settings, self.paths, others)
        with open_folder(self.output, PLACE_COLUMNS, options) as folder:
            report_resumption(folder)
            fail = self._failure_writer(with_template=with_template)
            yield CleanedFiles(folder, None if self._has_rows else fail)

    def _failure_writer(self, *, with_template: bool) -> WriteFailure:
        return failure_writer(self.settings.format, self.settings.options, with_template=with_template)

    @asynccontextmanager
    async def _labelers(self) -> AsyncIterator[Sequence[Labeler]]:
        """Open a labeler for each process."""
        first = open_labeler(self.settings)
        open_other = first.twin if isinstance(first, LocalLabeler) else partial(open_labeler, self.settings)
        labelers = [first, *(open_other() for _ in range(self.settings.processes - 1))]
        try:
            yield labelers
        finally:
            for labeler in labelers:
                await labeler.close()

    async def _try(self, labeler: Labeler) -> None:
        """Label a line of text; warn of a labeler that does not tell comments apart, if it is asked to do so.

        Raises:
            UnavailableError: Triton does not answer.
        """
        try:
            (labels,) = await labeler.label([PROBE])
        except UnavailableError as error:
            raise UnavailableError(f"{error}; --labeler onnx labels in this process") from error
        if isinstance(labels, Prediction) and (advice := comments_advice(self.settings, labels)):
            warn(advice)

    async def _count(
        self, pool: PreparationPool, labelers: Sequence[Labeler], store: SiteStatisticsStore
    ) -> None:
        """Have the store count all pages."""
        count = 0
        with self._reading("counting") as (pages, report):
            async with aclosing(observe_pages(iter(pages), pool, labelers, store)) as counts:
                async for page_count in counts:
                    count += page_count
                    report(count)

    async def _write(
        self,
        pool: PreparationPool,
        labelers: Sequence[Labeler],
        store: SiteStatisticsStore | None,
        note: Note | None,
        files: CleanedFiles | None,
    ) -> Reading:
        """Write each page."""
        write = self._line_writer(with_template=store is not None) if files is None else files.write
        with self._reading("cleaning") as (pages, report):
            if files is not None:
                pages.after, pages.places = files.place, files.places
                self.damaged_before = files.damaged
            cleaned = clean_pages(iter(pages), pool, labelers, store=store, note=note)
            in_time = cleaned if files is None else files.folder.in_time(cleaned)
            async with aclosing(cleaned), aclosing(in_time) as results:
                async for page, result in results:
                    if write(page, result):
                        self.written += 1
                        if not isinstance(result, WrittenDocument | Damaged):
                            self.failed[result.reason] += 1
                            self.first_error = self.first_error or str(result)
                        report(self.written)
                    else:
                        self.others += 1
        return pages

    def _line_writer(self, *, with_template: bool) -> Callable[[Input, Result], bool]:
        """Return the writer of lines to standard output; it returns False for a record that is no page."""
        fail, output = self._failure_writer(with_template=with_template), click.get_binary_stream("stdout")

        def write(page: Input, result: Result) -> bool:
            if not is_page(result):
                return False
            output.write(line_of(page, result, fail))
            output.flush()
            return True

        return write

    @contextmanager
    def _reading(self, doing: str) -> Iterator[tuple[Reading, Callable[[int], None]]]:
        """Yield the input from its beginning, and the function that shows how many of its pages are done."""
        pages = Reading(
            self.paths, self.settings.page.max_bytes, self.base_url, self.warc_directory, self.fields
        )
        shown = sys.stderr.isatty() and (self.output is not None or not sys.stdout.isatty())
        console = plain_console(stderr=True)
        with page_progress(doing, console, self.paths, pages.position, shown=shown) as advance:
            yield pages, lambda count: advance(count, pages.bytes)
