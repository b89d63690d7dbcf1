"""`dehusk label`: pages whose blocks a person labels, in a browser."""

from __future__ import annotations

import asyncio
import webbrowser
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dehusk.inference.repository import DEFAULT_REPOSITORY
from dehusk.streams.cli.options import (
    base_url_option,
    labeler_of,
    labeler_options,
    max_blocks_option,
    max_page_option,
    model_options,
    page_seconds_option,
)
from dehusk.streams.counted import counted
from dehusk.streams.settings import MIB, PageLimits, TritonSettings
from dehusk.streams.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dehusk.streams.labeling.labels_file import LabelsFile
    from dehusk.streams.labeling.shelf import Shelf

_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which pages are labeled, and where."""

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
    help="Where labels are saved as JSON lines; those that are there go on, those of other pages stay.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="Offer the first N pages; all by default."
)
@labeler_options(when=" at first, as a suggestion")
@click.option(
    "--model-repository",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    default=DEFAULT_REPOSITORY,
    help="The models that run in this process; those that come with dehusk by default.",
)
@model_options
@base_url_option
@max_page_option("is refused")
@page_seconds_option("is refused")
@max_blocks_option("is refused")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any free one",
    help="Where the tool is served, to this machine alone.",
)
@click.option("--open", "opens", is_flag=True, help="Open a browser.")
def command(
    *,
    paths: tuple[Path, ...],
    labels: Path,
    limit: int | None,
    labeler: str | None,
    triton: str | None,
    model_repository: Path,
    model: str,
    model_version: str,
    base_url: str | None,
    max_page_mib: int,
    page_seconds: float,
    max_page_blocks: int,
    port: int,
    opens: bool,
) -> None:
    """Label the blocks of pages as content or boilerplate, on a local web page.

    PAGES are files of HTML, JSON lines {"id","url","html"} or WARC, plain or compressed, or - for standard
    input. Each is shown as a reader sees it, with an outline around each block, beside the list of all its
    blocks. The labeler suggests a label for every block; a click or a stroke of the brush corrects it, and
    spreads to blocks that are alike. What is right already is accepted with a single key: ? lists the keys.

    Every label is saved at once. A page is done when all of its blocks are labeled; then training can learn
    from it. Ctrl-C ends the tool, and the same command goes on where it ended.

    Nothing of a page runs or is loaded.
    """
    settings = WorkerSettings(
        labeler=labeler_of(labeler, triton),
        triton=TritonSettings(triton or TritonSettings().address, model, model_version),
        model_repository=model_repository,
        page=PageLimits(max_page_mib * MIB, page_seconds, max_page_blocks),
    )
    wanted = _Wanted(paths, base_url or "", limit, labels, port, opens)
    with suppress(KeyboardInterrupt):
        _label(wanted, settings)


def _label(wanted: _Wanted, settings: WorkerSettings) -> None:
    from dehusk.streams.labeling.labels_file import open_labels_file
    from dehusk.streams.labeling.shelf import open_shelf
    from dehusk.streams.readers import read_pages

    outcomes = read_pages(wanted.paths, settings.page.max_bytes, wanted.base_url)
    with open_shelf(outcomes, wanted.limit) as shelf, open_labels_file(wanted.labels) as file:
        _tell(file, shelf)
        asyncio.run(_serve(wanted, settings, shelf, file))


def _tell(file: LabelsFile, shelf: Shelf) -> None:
    """Say on standard error what was found of labels that are not those of the pages."""
    if file.set_aside is not None:
        click.echo(
            f"dehusk: the last line of {file.path} was torn, as by a crash; it is kept in {file.set_aside}",
            err=True,
        )
    others = len(file.labels.keys() - {entry.id for entry in shelf.entries})
    if others:
        click.echo(
            f"dehusk: {file.path} has labels of {counted(others, 'page')} not among these; they stay",
            err=True,
        )


async def _serve(wanted: _Wanted, settings: WorkerSettings, shelf: Shelf, file: LabelsFile) -> None:
    from dehusk.streams.inspection.inspection import open_inspector_pool
    from dehusk.streams.labeling.server import serving
    from dehusk.streams.labeling.session import Session
    from dehusk.streams.labeling.suggestions import Suggester
    from dehusk.streams.worker.dependencies import open_labeler

    labeler = await asyncio.to_thread(open_labeler, settings)
    try:
        async with open_inspector_pool(settings.source, settings.source_settings, settings.page) as pool:
            session = Session(shelf, file, pool, Suggester(labeler))
            async with serving(session, _HOST, wanted.port) as address:
                click.echo(f"{address}  ({session.progress}; Ctrl-C ends it)")
                if wanted.opens:
                    webbrowser.open(address)
                await asyncio.Event().wait()
    finally:
        await labeler.close()
