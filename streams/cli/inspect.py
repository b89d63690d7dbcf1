"""`dehusk inspect`: one page, what becomes of each of its blocks, and why, in a browser."""

from __future__ import annotations

import asyncio
import webbrowser
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dehusk.inference.repository import DEFAULT_REPOSITORY
from dehusk.schemas.documents import Comments
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.cli.options import (
    comments_option,
    hidden_text_option,
    kafka_options,
    labeler_of,
    labeler_options,
    max_blocks_option,
    model_options,
    page_seconds_option,
    source_options,
    was_typed,
)
from dehusk.streams.cli.values import Address
from dehusk.streams.printable import printable
from dehusk.streams.readers import STANDARD_INPUT
from dehusk.streams.settings import KafkaSettings, PageLimits, TritonSettings
from dehusk.streams.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from dehusk.streams.inspection.inspection import Inspection
    from dehusk.streams.preparation.pool import PreparationPool
    from dehusk.streams.sources.registry import SourceSettings
    from dehusk.streams.sources.source import Decoded


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Where the page is, and what is done with it."""

    page: str
    """A file, `-`, or the URL of a page of the topic."""
    topic: str | None
    url: str | None
    """Which page of a file."""
    listen: str
    opens: bool
    output: Path | None


@click.command(
    name="inspect",
    epilog="""\b
Examples:
  curl -s https://example.org/ | dehusk inspect - --open
  dehusk inspect page.html --output inspected.html
  dehusk inspect crawl.warc.gz --page https://example.org/a
  dehusk inspect https://example.org/a --topic raw-pages --brokers kafka-1:9092""",
)
@click.argument("page", metavar="FILE|URL|-")
@click.option(
    "--topic",
    metavar="TOPIC",
    help="The argument is the URL, key or identifier of a page of this topic; its newest message is read.",
)
@click.option(
    "--page",
    "url",
    metavar="URL",
    help="Which page of a FILE with several, by its URL or identifier; the first by default.",
)
@kafka_options
@source_options
@labeler_options(when=" at first")
@click.option(
    "--model-repository",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    default=DEFAULT_REPOSITORY,
    help="The models to choose from; those that come with dehusk by default.",
)
@model_options
@comments_option
@hidden_text_option
@page_seconds_option("is refused")
@max_blocks_option("is refused")
@click.option(
    "--listen",
    type=Address(),
    metavar="HOST:PORT",
    default="127.0.0.1:0",
    show_default=True,
    help="Where the inspector is served; port 0 is any free one.",
)
@click.option("--open", "opens", is_flag=True, help="Open a browser.")
@click.option(
    "--output-file",  # its name for variables and files, where `output` is the topic of workers
    "--output",
    "output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Write the inspector as one HTML file, with what every labeler says, and serve nothing.",
)
def command(
    *,
    page: str,
    topic: str | None,
    url: str | None,
    kafka: KafkaSettings,
    source: str,
    source_settings: SourceSettings,
    labeler: str | None,
    triton: str | None,
    model_repository: Path,
    model: str,
    model_version: str,
    comments: str,
    hidden_text: str,
    page_seconds: float,
    max_page_blocks: int,
    listen: str,
    opens: bool,
    output: Path | None,
) -> None:
    """Show what becomes of each block of a page, and why, on a local web page.

    The page is one of a FILE (HTML, JSON lines or WARC), standard input (-), or with --topic the newest one
    of this URL in Kafka, which is read in no group. It is shown block by block: content highlighted, comments
    in another colour, boilerplate dimmed; with the probability and tag path of each, beside the cleaned text
    and Markdown. Labelers and versions of models can be switched and compared. The page is cleaned as if
    nothing were known of its site.

    Nothing of the page runs or is loaded. Ctrl-C ends the inspector. The status is 1 if the page cannot be
    cleaned; then the reason is told.
    """
    labeler = labeler_of(labeler, triton)
    _require_fitting(topic, url, opens=opens, output=output)
    settings = WorkerSettings(
        kafka=kafka,
        source=source,
        source_settings=source_settings,
        labeler=labeler,
        triton=TritonSettings(triton or TritonSettings().address, model, model_version),
        model_repository=model_repository,
        page=PageLimits(source_settings.max_bytes, page_seconds, max_page_blocks),
        drop_hidden=hidden_text == "drop",
        comments=Comments(comments),
    )
    with suppress(KeyboardInterrupt) if output is None else nullcontext():
        asyncio.run(_inspect(_Wanted(page, topic, url, listen, opens, output), settings))


def _require_fitting(topic: str | None, url: str | None, *, opens: bool, output: Path | None) -> None:
    """See whether the options go together.

    Raises:
        click.UsageError: they do not.
    """
    if topic and url:
        raise click.UsageError("--page is for files; with --topic, the URL is the argument")
    for option in ("brokers", "source"):
        if not topic and was_typed(option):
            raise click.UsageError(f"--{option} is for --topic")
    if output and (opens or was_typed("listen")):
        raise click.UsageError("--output serves nothing: it goes without --open and --listen")


async def _inspect(wanted: _Wanted, settings: WorkerSettings) -> None:
    from dehusk.streams.inspection.html import html
    from dehusk.streams.inspection.inspection import inspect, open_inspector_pool
    from dehusk.streams.inspection.labelers import choices

    offered = choices(settings)
    async with open_inspector_pool(settings.source, settings.source_settings, settings.page) as pool:
        page = await _page(wanted, settings, pool)
        async with inspect(page, pool, offered) as inspection:
            if wanted.output is None:
                await _serve(inspection, wanted)
            else:
                _write(wanted.output, html(inspection.page, await inspection.all_views(), is_served=False))


async def _page(wanted: _Wanted, settings: WorkerSettings, pool: PreparationPool) -> Decoded:
    from dehusk.streams.inspection.pages import page_of_file, page_of_topic

    if wanted.topic:
        return await page_of_topic(settings.kafka, wanted.topic, wanted.page, pool)
    path = STANDARD_INPUT if wanted.page == str(STANDARD_INPUT) else Path(wanted.page)
    return page_of_file(path, wanted.url, settings.page.max_bytes)


def _write(output: Path, written: str) -> None:
    try:
        output.write_text(written, "utf-8")
    except OSError as error:
        raise ConfigurationError(f"cannot write {printable(str(output))}: {error.strerror}") from error


async def _serve(inspection: Inspection, wanted: _Wanted) -> None:
    from dehusk.streams.inspection.server import serving

    host, _, port = wanted.listen.rpartition(":")
    async with serving(inspection, host.strip("[]"), int(port)) as address:
        click.echo(f"{address}  (Ctrl-C ends it)")
        if wanted.opens:
            webbrowser.open(address)
        await asyncio.Event().wait()
