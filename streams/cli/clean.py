"""`dehusk clean`: pages in, lines of JSON or files out, without Kafka."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dehusk.schemas.options import NO_RENDERING, DocumentOptions
from dehusk.schemas.pages import Prediction
from dehusk.streams.cli.shared.interrupts import (
    exit_at_once_on_errors,
    interrupts_postponed,
    report_interruption,
)
from dehusk.streams.cli.shared.options import Url, choice_option, gathered_options, number_option, was_typed
from dehusk.streams.cli.shared.output_options import (
    LINES,
    TEXTS,
    output_options,
    report_resumption,
    require_suiting,
)
from dehusk.streams.cli.shared.page_options import (
    base_url_option,
    document_options,
    page_limit_options,
    site_key_option,
)
from dehusk.streams.cli.shared.service_options import (
    labeler_options,
    redis_client_options,
    require_labeler_of_repository,
)
from dehusk.streams.cli.shared.terminal import page_progress, plain_console
from dehusk.streams.files.readers import STANDARD_INPUT
from dehusk.streams.offline.reading import Reading
from dehusk.streams.settings import IN_MEMORY, NO_STATISTICS, available_processors
from dehusk.streams.wording import pluralize, printable
from dehusk.streams.worker_settings import WorkerSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from dehusk.inference.labelers.labeler import Labeler
    from dehusk.streams.dataset.folder import FolderSettings
    from dehusk.streams.offline.files import CleanedFiles
    from dehusk.streams.offline.lines import Input, WriteFailure
    from dehusk.streams.offline.run import Result
    from dehusk.streams.preparation.batch import Note
    from dehusk.streams.preparation.pool import PreparationPool
    from dehusk.streams.sites.store import SiteStatisticsStore
    from dehusk.streams.topics.formats import Format


@dataclass(slots=True)
class OfflineRun:
    """A run over files or standard input."""

    paths: Sequence[Path]
    settings: WorkerSettings
    open_one: Callable[[], Labeler]
    """Function that opens a labeler, which each process has."""
    statistics: str
    """Place of the statistics of sites: see `open_statistics`."""
    two_pass: bool
    base_url: str = ""
    """Beginning of the URLs of HTML files; empty for `file:`."""
    output: FolderSettings | None = None
    """Folder of the files; None for standard output."""
    written: int = 0
    """Pages that were written."""

    async def clean(self) -> Reading:
        """Clean and write all of the input, and return it.

        Raises:
            UnavailableError: the labeler or Redis does not answer.
            ConfigurationError: there is no such file, or a model does not fit.
        """
        with interrupts_postponed():
            from dehusk.streams.offline.lines import DecodedPages
            from dehusk.streams.offline.statistics import is_shared, open_statistics, sampling
            from dehusk.streams.preparation.pool import open_pool, open_steps
            from dehusk.streams.preparation.steps import Writing

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
            await self._advise(labelers[0])
            with self._files(with_template=store is not None) as files:
                if self.two_pass and store is not None:
                    await self._count(pool, labelers, store)
                return await self._write(pool, labelers, store, note, files)

    def _format(self) -> Format:
        """Return the form in which processes hand pages on: as they are written, or for rows of files."""
        from dehusk.streams.offline.lines import OFFLINE_FORMATS, PICKLED

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
        from dehusk.streams.dataset.folder import open_folder
        from dehusk.streams.offline.files import PLACE_COLUMNS, CleanedFiles, described

        others = {"command": "clean", "two_pass": str(self.two_pass), "base_url": self.base_url}
        is_url = self.statistics not in (NO_STATISTICS, IN_MEMORY)
        others["site_statistics"] = "redis" if is_url else self.statistics
        options = described(self.settings, self.paths, others)
        with open_folder(self.output, PLACE_COLUMNS, options) as folder:
            report_resumption(folder)
            fail = self._failure_writer(with_template=with_template)
            yield CleanedFiles(folder, None if self._has_rows else fail)

    def _failure_writer(self, *, with_template: bool) -> WriteFailure:
        from dehusk.streams.offline.lines import failure_writer

        return failure_writer(self.settings.format, self.settings.options, with_template=with_template)

    @asynccontextmanager
    async def _labelers(self) -> AsyncIterator[Sequence[Labeler]]:
        labelers = [self.open_one() for _ in range(self.settings.processes)]
        try:
            yield labelers
        finally:
            for labeler in labelers:
                await labeler.close()

    async def _advise(self, labeler: Labeler) -> None:
        """Warn of a labeler that does not tell user comments apart, where the command line asks for it."""
        from dehusk.streams.labelers import PROBE, comments_advice

        if not self.settings.comments_are_told_apart:
            return
        (labels,) = await labeler.label([PROBE])
        if isinstance(labels, Prediction) and (advice := comments_advice(self.settings, labels)):
            click.echo(f"dehusk: {advice}", err=True)

    async def _count(
        self, pool: PreparationPool, labelers: Sequence[Labeler], store: SiteStatisticsStore
    ) -> None:
        """Have the store count all pages."""
        from dehusk.streams.offline.run import observe_pages

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
        from dehusk.streams.offline.run import clean_pages

        write = self._line_writer(with_template=store is not None) if files is None else files.write
        with self._reading("cleaning") as (pages, report):
            if files is not None:
                pages.after, pages.places = files.place, files.places
            results_of = clean_pages(iter(pages), pool, labelers, store=store, note=note)
            async with aclosing(results_of) as results:
                async for page, result in results:
                    if write(page, result):
                        self.written += 1
                        report(self.written)
        return pages

    def _line_writer(self, *, with_template: bool) -> Callable[[Input, Result], bool]:
        """Return the writer of lines to standard output; it returns False for a record that is no page."""
        from dehusk.streams.offline.run import is_page, line_of

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
        pages = Reading(self.paths, self.settings.page.max_bytes, self.base_url)
        shown = sys.stderr.isatty() and (self.output is not None or not sys.stdout.isatty())
        console = plain_console(stderr=True)
        with page_progress(doing, console, self.paths, pages.position, shown=shown) as advance:
            yield pages, lambda count: advance(count, pages.bytes)


@click.command(
    name="clean",
    epilog="""\b
Examples:
  dehusk clean < pages.jsonl > cleaned.jsonl       {"id","url","html"} per line
  dehusk clean CC-MAIN-*.warc.gz > cleaned.jsonl   the responses of WARC files
  dehusk clean crawl.wacz > cleaned.jsonl          those of all WARC files in it
  dehusk clean page.html | jq -r .text             one page, its text
  dehusk clean --format markdown page.html         one page, its Markdown
  dehusk clean --triton gpu-1:8001 < pages.jsonl   the model on a server
  dehusk clean --two-pass crawl.warc.gz            by what all pages of a site repeat
  dehusk clean --output cleaned/ crawl/            Parquet files in a folder
  dehusk clean --output cleaned/ --resume crawl/   the same, on from where it ended""",
)
@click.argument("paths", nargs=-1, metavar="[PATH…]", type=click.Path(allow_dash=True, path_type=Path))
@labeler_options(
    repository_help="The models that run in this process, as DIR/NAME/NUMBER/model.onnx; by default those "
    "that come with dehusk."
)
@click.option(
    "--site-statistics",
    type=Url("redis", "rediss", "unix", words=(NO_STATISTICS, IN_MEMORY)),
    metavar="none|memory|URL",
    show_default="none; memory with --two-pass",
    help="Place of the statistics of sites that correct the labels, as those of a worker: none, the memory "
    "of this process, which takes about 1 kB a page, or a Redis, which workers may share. Each page is "
    "corrected by those before it. If Redis is unavailable, the status is 1.",
)
@click.option(
    "--two-pass",
    is_flag=True,
    help="Count all pages of the PATHs first, then clean each by what is known of all others of its site, "
    "whatever their order. It takes almost twice as long, as pages are labeled twice. Not for standard "
    "input.",
)
@site_key_option
@base_url_option
@redis_client_options(seconds_help="Time limit of Redis for a batch of pages, after which the command ends.")
@number_option(
    "--processes",
    default=available_processors,
    shown="one per processor",
    help="Pages are taken apart in so many processes and labeled in so many threads.",
)
@document_options(
    click.option(
        "--no-blocks",
        "with_blocks",
        is_flag=True,
        callback=lambda _context, _option, no_blocks: not no_blocks,
        help="Leave out the blocks: lines are much shorter.",
    ),
    choice_option(
        "--format",
        values=["json", "datatrove", "dolma", "markdown", "html"],
        default="json",
        help="Form of each page; that of files is --output-format. A line of JSON, a line for datatrove or "
        "Dolma, or nothing but its content as Markdown, below its title and URL, or as HTML, one page after "
        "the other.",
    ),
)
@page_limit_options("gets an error", with_size=True)
@output_options
@gathered_options("settings", WorkerSettings)
def command(
    *,
    paths: tuple[Path, ...],
    site_statistics: str | None,
    two_pass: bool,
    base_url: str,
    output: FolderSettings | None,
    settings: WorkerSettings,
) -> None:
    """Clean pages offline: the pipeline of the stream, without Kafka, and without Redis if you like.

    Reads JSON lines {"id","url","html"} or one page of HTML from standard input, or the PATHs as `dehusk
    feed` does: HTML files and directories of them, JSON lines, WARC and ARC files, plain or compressed by
    gzip, xz, bzip2 or zstd, and WACZ files. Writes one JSON line per page, in the same order, as soon as it
    is done: {"id", "url", "site", "fetched_at", "title", "headline", "language", "declared_language",
    "language_probability", "text", "comments", "model", "labeler", "content_hash", "simhash", "minhash",
    "metadata", "expected_f1", "page_kind", "page_kind_probability", "blocks", "error"}, where `model` is
    {"name", "version"} and a block is {"text", "path", "probability", "content", "comment", "xpath"}.
    `comments` is null if the model does not tell user comments apart, `page_kind` if it does not tell the
    kind of a page. With --site-statistics, there are "template", as in the documents of a worker,
    and the "frequency" of each block, too; with --with-links, "links" of {"url", "text", "block"}.

    "id" and "url" are optional and passed on as they are; what is no string becomes JSON in a string. `error`
    is null, or says why the page could not be cleaned; then all fields are null or empty, but for `id` and
    `url`. If the line itself cannot be read, these are null, too. A page that crashes or exceeds its
    limits affects no other line. The status is 0 if every page has a line, with or without an `error`, and 1
    if a file cannot be read to its end. Progress is shown if standard error is a terminal and standard output
    is not.

    With --output, the pages are written as files of a folder, and nothing to standard output: Parquet, lines
    or WET. A file has its name once it is whole; --resume goes on behind the last one, whatever has ended the
    run before.
    """
    from dehusk.streams.labelers import open_labeler

    require_labeler_of_repository(settings.labeler)
    paths = paths or (STANDARD_INPUT,)
    site_statistics = site_statistics or (IN_MEMORY if two_pass else NO_STATISTICS)
    _require_statistics(site_statistics, paths, two_pass=two_pass)
    _require_output(output, settings.format, paths, site_statistics, two_pass=two_pass)
    open_one = partial(open_labeler, settings)
    with exit_at_once_on_errors():
        run = OfflineRun(paths, settings, open_one, site_statistics, two_pass, base_url, output)
        try:
            pages = asyncio.run(run.clean())
        except KeyboardInterrupt:
            report_interruption(run.written, "written")
            raise
    if not run.written:
        click.echo(f"dehusk: no {'further ' if output and output.resume else ''}page was found", err=True)
    if pages.without_host and site_statistics != NO_STATISTICS:
        _warn_of_pages_without_host(pages.without_host)
    for damage in pages.damaged:
        click.echo(f"dehusk: pages may be lost: {printable(damage.detail)}", err=True)
    raise SystemExit(1 if pages.damaged else 0)


def _warn_of_pages_without_host(count: int) -> None:
    click.echo(
        f"dehusk: {pluralize(count, 'page')} without a host in the URL: of no site, so cleaned without "
        "statistics; --base-url gives HTML files a URL",
        err=True,
    )


def _require_statistics(statistics: str, paths: Sequence[Path], *, two_pass: bool) -> None:
    """Check that the options for the statistics of sites go together.

    Raises:
        click.UsageError: they do not.
    """
    if two_pass and statistics == NO_STATISTICS:
        raise click.UsageError("--two-pass needs --site-statistics memory or the URL of a Redis")
    if two_pass and any(path == STANDARD_INPUT or _is_read_once(path) for path in paths):
        raise click.UsageError("--two-pass reads its pages twice: name files, not standard input or a pipe")
    for option in ("redis_cluster", "redis_seconds"):
        if statistics in (NO_STATISTICS, IN_MEMORY) and was_typed(option):
            name = option.replace("_", "-")
            raise click.UsageError(f"--{name} is for --site-statistics redis://…, not {statistics}")


def _require_output(
    output: FolderSettings | None,
    document_format: str,
    paths: Sequence[Path],
    statistics: str,
    *,
    two_pass: bool,
) -> None:
    """Check that the options of files go with the others.

    Raises:
        click.UsageError: they do not.
    """
    if output is None:
        return
    require_suiting(output, document_format)
    if output.resume and any(path == STANDARD_INPUT or _is_read_once(path) for path in paths):
        raise click.UsageError("--resume reads its input again: name files, not standard input or a pipe")
    if output.resume and statistics == IN_MEMORY and not two_pass:
        raise click.UsageError(
            "--resume knows nothing of the pages before, which --site-statistics memory corrects by: add "
            "--two-pass, or name a Redis"
        )


def _is_read_once(path: Path) -> bool:
    """Return True for a pipe, and anything else that is neither a file nor a directory."""
    return path.exists() and not (path.is_file() or path.is_dir())
