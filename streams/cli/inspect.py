"""`dehusk inspect`: one page, what becomes of each of its blocks, and why, in a browser."""

from __future__ import annotations

import asyncio
import webbrowser
from contextlib import aclosing, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.options import DocumentOptions
from dehusk.streams.cli.shared.kafka_options import kafka_options
from dehusk.streams.cli.shared.options import (
    gathered_options,
    host_and_port,
    local_page_options,
    refuse_typed,
    was_typed,
)
from dehusk.streams.cli.shared.page_options import (
    comments_option,
    exclude_option,
    favor_option,
    hidden_text_option,
    page_limit_options,
    source_options,
)
from dehusk.streams.cli.shared.service_options import labeler_options
from dehusk.streams.files.paths import STANDARD_INPUT
from dehusk.streams.folders import writing
from dehusk.streams.wording import printable
from dehusk.streams.worker_settings import WorkerSettings

if TYPE_CHECKING:
    from dehusk.streams.inspection.inspection import Inspection
    from dehusk.streams.preparation.pool import PreparationPool
    from dehusk.streams.sources.source import Decoded


@dataclass(frozen=True, slots=True)
class _Request:
    """Options that name the page and the output."""

    place: str
    """A file, `-`, or the URL of a page of the topic."""
    topic: str | None
    url: str | None
    """URL or identifier of a page within a file."""
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
@click.argument("place", metavar="FILE|URL|-")
@click.option(
    "--topic",
    metavar="TOPIC",
    help="The argument is the URL, key or identifier of a page of this topic; its newest message is read.",
)
@click.option(
    "--page",
    "url",
    metavar="URL",
    help="The page of a FILE with several, by its URL or identifier; the first by default.",
)
@kafka_options
@source_options
@labeler_options(
    when=" at first",
    repository_help="The models to choose from; those that come with dehusk by default.",
)
@gathered_options(
    "options", DocumentOptions, comments_option, hidden_text_option, favor_option, exclude_option
)
@page_limit_options("is refused")
@local_page_options("Address of the inspector; port 0 is any free one.")
@click.option(
    "--output-file",  # its name for variables and files, where `output` is the topic of workers
    "--output",
    "output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Write the inspector as one HTML file, with what every labeler says, and serve nothing.",
)
@gathered_options("settings", WorkerSettings)
@gathered_options("request", _Request)
def command(*, request: _Request, settings: WorkerSettings) -> None:
    """Show what becomes of each block of a page, and why, on a local web page.

    The page is one of a FILE (HTML, JSON lines or WARC), standard input (-), or with --topic the newest one
    of this URL in Kafka, which is read in no group. It is shown as its readers see it and as a list of its
    blocks, with content, comments and boilerplate in three colours and the probability and tag path of each
    block, beside the cleaned text and Markdown. Labelers and versions of models can be switched and compared.
    The page is cleaned as if nothing were known of its site.

    Nothing of the page runs or is loaded. Ctrl-C ends the inspector. The status is 1 if the page cannot be
    cleaned; then the reason is printed.
    """
    _check_options(request)
    with suppress(KeyboardInterrupt) if request.output is None else nullcontext():
        asyncio.run(_inspect(request, settings))


def _check_options(request: _Request) -> None:
    """Check that the options go together.

    Raises:
        click.UsageError: they do not.
    """
    if request.topic and request.url:
        raise click.UsageError("--page is for files; with --topic, the URL is the argument")
    if not request.topic:
        refuse_typed("--topic", "brokers", "source")
    if request.output and (request.opens or was_typed("listen")):
        raise click.UsageError("--output serves nothing: it goes without --open and --listen")


async def _inspect(request: _Request, settings: WorkerSettings) -> None:
    from dehusk.streams.inspection.inspection import Labelers, inspect, list_choices, open_inspector_pool
    from dehusk.streams.inspection.server import html

    async with (
        open_inspector_pool(settings) as pool,
        aclosing(Labelers(list_choices(settings))) as labelers,
    ):
        inspection = await inspect(await _page(request, settings, pool), pool, labelers)
        if request.output is None:
            await _serve(inspection, request)
        else:
            written = html(inspection.page, await inspection.all_views(), is_served=False)
            with writing(request.output):
                request.output.write_text(written, "utf-8")


async def _page(request: _Request, settings: WorkerSettings, pool: PreparationPool) -> Decoded:
    from dehusk.streams.inspection.lookup import page_of_file, page_of_topic

    if request.topic:
        return await page_of_topic(settings.kafka, request.topic, request.place, pool)
    if "://" in request.place:
        raise ConfigurationError(
            f"{printable(request.place)} is looked for in a topic: give --topic TOPIC, or the page as a file"
        )
    path = STANDARD_INPUT if request.place == str(STANDARD_INPUT) else Path(request.place)
    directory = settings.source_settings.warc_directory
    return page_of_file(path, request.url, settings.page.max_bytes, directory)


async def _serve(inspection: Inspection, request: _Request) -> None:
    from dehusk.streams.inspection.server import application
    from dehusk.streams.web.local_pages import serving

    host, port = host_and_port(request.listen)
    async with serving(application(inspection, host), host, port) as address:
        click.echo(f"{address}  (Ctrl-C ends it)")
        if request.opens:
            webbrowser.open(address)
        await asyncio.Event().wait()
