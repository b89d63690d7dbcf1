"""`dehusk label`: pages whose blocks a person labels, in a browser."""

from __future__ import annotations

import asyncio
import webbrowser
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dehusk.streams.cli.shared.options import gathered_options, open_option
from dehusk.streams.cli.shared.page_options import base_url_option, page_limit_options
from dehusk.streams.cli.shared.service_options import labeler_options
from dehusk.streams.wording import pluralize
from dehusk.streams.worker_settings import WorkerSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dehusk.streams.labeling.labels_file import LabelsFile
    from dehusk.streams.labeling.store import PageStore

_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class _Request:
    """Options that name the pages, the labels and the server."""

    paths: Sequence[Path]
    base_url: str
    limit: int | None
    labels: Path
    port: int
    opens: bool


@click.command(
    name="label",
    epilog="""\b
Examples:
  dehusk label pages.jsonl --open                  40 pages of your crawl, say
  dehusk label crawl.warc.gz --limit 100 --labels news.jsonl
  dehusk label page.html --labeler rules

\b
What the labels are for:
  python -m training prepare --labels labels.jsonl …""",
)
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PAGES…",
    type=click.Path(allow_dash=True, path_type=Path),
)
@click.option(
    "--labels",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    default=Path("labels.jsonl"),
    show_default=True,
    help="File of the labels, as JSON lines; those that are there go on, those of other pages stay.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="Offer the first N pages; all by default."
)
@labeler_options(
    when=" at first, as a suggestion",
    repository_help="The models that run in this process; those that come with dehusk by default.",
)
@base_url_option
@page_limit_options("is refused", with_size=True)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any free one",
    help="Port of the tool, which this machine alone reaches.",
)
@open_option
@gathered_options("settings", WorkerSettings)
@gathered_options("request", _Request)
def command(*, request: _Request, settings: WorkerSettings) -> None:
    """Label the blocks of pages as content or boilerplate, on a local web page.

    PAGES are files of HTML, JSON lines {"id","url","html"} or WARC, plain or compressed, or - for standard
    input. Each is shown as a reader sees it, with an outline around each block, beside the list of all its
    blocks. The labeler suggests a label for every block; a click or a stroke of the brush corrects it, and
    spreads to blocks that are alike. What is right already is accepted with a single key: ? lists the keys.

    Every label is saved at once. A page is done when all of its blocks are labeled; then training can learn
    from it. Ctrl-C ends the tool, and the same command goes on where it ended.

    Nothing of a page runs or is loaded.
    """
    with suppress(KeyboardInterrupt):
        _label(request, settings)


def _label(request: _Request, settings: WorkerSettings) -> None:
    from dehusk.streams.files.readers import read_pages
    from dehusk.streams.labeling.labels_file import open_labels_file
    from dehusk.streams.labeling.store import open_store

    outcomes = read_pages(request.paths, settings.page.max_bytes, request.base_url)
    with open_store(outcomes, request.limit) as store, open_labels_file(request.labels) as file:
        _report(file, store)
        asyncio.run(_serve(request, settings, store, file))


def _report(file: LabelsFile, store: PageStore) -> None:
    """Report on standard error a torn line, and labels of other pages."""
    if file.set_aside is not None:
        click.echo(
            f"dehusk: the last line of {file.path} was torn, as by a crash; it is kept in {file.set_aside}",
            err=True,
        )
    others = len(file.labels.keys() - {entry.id for entry in store.entries})
    if others:
        click.echo(
            f"dehusk: {file.path} has labels of {pluralize(others, 'page')} not among these; they stay",
            err=True,
        )


async def _serve(request: _Request, settings: WorkerSettings, store: PageStore, file: LabelsFile) -> None:
    from dehusk.streams.inspection.inspection import open_inspector_pool
    from dehusk.streams.labelers import open_labeler
    from dehusk.streams.labeling.server import application
    from dehusk.streams.labeling.session import Session, Suggester
    from dehusk.streams.web.local_pages import serving

    labeler = await asyncio.to_thread(open_labeler, settings)
    try:
        async with open_inspector_pool(settings.source, settings.source_settings, settings.page) as pool:
            session = Session(store, file, pool, Suggester(labeler))
            async with serving(application(session, _HOST), _HOST, request.port) as address:
                click.echo(f"{address}  ({session.progress}; Ctrl-C ends it)")
                if request.opens:
                    webbrowser.open(address)
                await asyncio.Event().wait()
    finally:
        await labeler.close()
