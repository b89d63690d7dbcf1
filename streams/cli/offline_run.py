"""What `dehusk clean` does: one pass over its input, or two, each with its progress."""

from __future__ import annotations

import sys
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from dehusk.inference.sites import host_of
from dehusk.schemas.outcomes import Damaged
from dehusk.schemas.pages import Prediction, RawPage
from dehusk.streams.cli.interrupts import interrupts_postponed
from dehusk.streams.cli.progress import page_progress
from dehusk.streams.cli.terminal import plain_console
from dehusk.streams.input_position import InputPosition
from dehusk.streams.readers import read_pages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from pathlib import Path

    from dehusk.inference.labeler import Labeler
    from dehusk.streams.offline.batch import Note
    from dehusk.streams.offline.decoded import Input
    from dehusk.streams.preparation.pool import PreparationPool
    from dehusk.streams.sites.store import SiteStatisticsStore
    from dehusk.streams.worker.settings import WorkerSettings


@dataclass(slots=True)
class Reading:
    """The pages of an input as they are read, and what was read so far."""

    paths: Sequence[Path]
    max_bytes: int
    base_url: str = ""
    bytes: int = 0
    """Bytes of the pages' HTML."""
    position: InputPosition = field(default_factory=InputPosition)
    damaged: list[Damaged] = field(default_factory=list)
    without_host: int = 0
    """Pages that are of no site, as their URL has no host."""

    def __iter__(self) -> Iterator[Input]:
        for page in read_pages(self.paths, self.max_bytes, self.base_url, position=self.position):
            if isinstance(page, Damaged):
                self.damaged.append(page)
            elif isinstance(page, RawPage):
                self.bytes += len(page.html)
                self.without_host += not host_of(page.url)
            yield page


@dataclass(slots=True)
class OfflineRun:
    """A run over files or standard input."""

    paths: Sequence[Path]
    settings: WorkerSettings
    open_one: Callable[[], Labeler]
    """Opens a labeler: there is one for each process."""
    statistics: str
    """Where the statistics of sites are: see `open_statistics`."""
    two_pass: bool
    base_url: str = ""
    """What the URLs of HTML files begin with; empty for `file:`."""
    written: int = 0
    """Lines that were written to standard output."""

    async def clean(self) -> Reading:
        """The input, once all of it is cleaned and written.

        Raises:
            UnavailableError: the labeler or Redis does not answer.
            ConfigurationError: there is no such file, or a model does not fit.
        """
        with interrupts_postponed():
            from dehusk.streams.offline.decoded import DecodedPages
            from dehusk.streams.offline.lines import writing
            from dehusk.streams.offline.statistics import is_shared, open_statistics, sampling
            from dehusk.streams.preparation.isolation import open_pool

        settings = self.settings
        lines_of = writing(
            settings.page.max_bytes,
            with_blocks=settings.with_blocks,
            drop_hidden=settings.drop_hidden,
            comments=settings.comments,
            metadata=settings.metadata,
            with_samples=is_shared(self.statistics),
            document_format=settings.format,
            rendering=settings.rendering,
        )
        async with (
            self._labelers() as labelers,
            open_statistics(self.statistics, settings.redis) as store,
            sampling(self.statistics, settings.redis) as note,
            open_pool(DecodedPages, settings.processes, settings.page, lines_of, settings.site_key) as pool,
        ):
            await self._advise(labelers[0])
            if self.two_pass and store is not None:
                await self._count(pool, labelers, store)
            return await self._write(pool, labelers, store, note)

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
        from dehusk.streams.worker.comments import comments_advice
        from dehusk.streams.worker.witnesses import PROBE

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
            async with aclosing(observe_pages(iter(pages), pool, labelers, store)) as counted:
                async for more in counted:
                    count += more
                    report(count)

    async def _write(
        self,
        pool: PreparationPool,
        labelers: Sequence[Labeler],
        store: SiteStatisticsStore | None,
        note: Note | None,
    ) -> Reading:
        """Write a line for each page."""
        from dehusk.streams.offline.lines import failing
        from dehusk.streams.offline.run import clean_lines

        output = click.get_binary_stream("stdout")
        with self._reading("cleaning") as (pages, report):
            fail = failing(
                self.settings.format,
                with_blocks=self.settings.with_blocks,
                with_markdown=self.settings.rendering.markdown,
                with_template=store is not None,
            )
            lines_of = clean_lines(iter(pages), pool, labelers, fail, store=store, note=note)
            async with aclosing(lines_of) as lines:
                async for line in lines:
                    output.write(line)
                    output.flush()
                    self.written += 1
                    report(self.written)
        return pages

    @contextmanager
    def _reading(self, doing: str) -> Iterator[tuple[Reading, Callable[[int], None]]]:
        """The input from its beginning, and what shows how many of its pages are done."""
        pages = Reading(self.paths, self.settings.page.max_bytes, self.base_url)
        shown = sys.stderr.isatty() and not sys.stdout.isatty()
        console = plain_console(stderr=True)
        with page_progress(doing, console, self.paths, pages.position, shown=shown) as advance:
            yield pages, lambda count: advance(count, pages.bytes)
