"""`dehusk clean`: pages in, lines of JSON out, without Kafka."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dehusk.inference.repository import DEFAULT_REPOSITORY
from dehusk.inference.sites import SiteKey
from dehusk.schemas.documents import Comments
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.rendering import Rendering
from dehusk.streams.cli.interrupts import tell_interrupted
from dehusk.streams.cli.offline_run import OfflineRun
from dehusk.streams.cli.options import (
    base_url_option,
    comments_are_told_apart,
    comments_option,
    hidden_text_option,
    labeler_of,
    labeler_options,
    max_blocks_option,
    max_page_option,
    metadata_option,
    model_options,
    page_seconds_option,
    processes_option,
    redis_client_options,
    rendering_options,
    site_key_option,
    was_typed,
)
from dehusk.streams.cli.standard_input import abandoned_on_errors
from dehusk.streams.cli.values import Url
from dehusk.streams.counted import counted
from dehusk.streams.printable import printable
from dehusk.streams.readers import STANDARD_INPUT
from dehusk.streams.settings import IN_MEMORY, MIB, NO_STATISTICS, PageLimits, RedisSettings, TritonSettings
from dehusk.streams.worker.settings import WorkerSettings, available_processors

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command(
    name="clean",
    epilog="""\b
Examples:
  dehusk clean < pages.jsonl > cleaned.jsonl       {"id","url","html"} per line
  dehusk clean CC-MAIN-*.warc.gz > cleaned.jsonl   the responses of WARC files
  dehusk clean page.html | jq -r .text             one page, its text
  dehusk clean --format markdown page.html         one page, its Markdown
  dehusk clean --triton gpu-1:8001 < pages.jsonl   the model on a server
  dehusk clean --two-pass crawl.warc.gz            by what all pages of a site repeat""",
)
@click.argument("paths", nargs=-1, metavar="[PATH…]", type=click.Path(allow_dash=True, path_type=Path))
@labeler_options()
@click.option(
    "--model-repository",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The models that run in this process, as DIR/NAME/NUMBER/model.onnx; by default those that come "
    "with dehusk.",
)
@model_options
@click.option(
    "--site-statistics",
    type=Url("redis", "rediss", "unix", words=(NO_STATISTICS, IN_MEMORY)),
    metavar="none|memory|URL",
    show_default="none; memory with --two-pass",
    help="Where the statistics of sites are that correct the labels, as those of a worker: nowhere, in this "
    "process, which takes about 1 kB a page, or in a Redis, which workers may share. Each page is corrected "
    "by those before it. If Redis is unavailable, the status is 1.",
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
@redis_client_options(
    "site_statistics", seconds_help="How long Redis may take for a batch of pages until the command ends."
)
@processes_option(
    available_processors,
    shown="one per processor",
    help="Pages are taken apart in so many processes and labeled in so many threads.",
)
@comments_option
@hidden_text_option
@metadata_option
@click.option("--no-blocks", is_flag=True, help="Leave out the blocks: lines are much shorter.")
@click.option(
    "--format",
    "document_format",
    type=click.Choice(["json", "markdown", "html"]),
    default="json",
    show_default=True,
    help="What is written for each page: a line of JSON, or nothing but its content as Markdown, below its "
    "title and URL, or as HTML, one page after the other.",
)
@rendering_options
@page_seconds_option("gets an error")
@max_blocks_option("gets an error")
@max_page_option("gets an error")
def command(
    *,
    paths: tuple[Path, ...],
    labeler: str | None,
    triton: str | None,
    model_repository: Path | None,
    model: str,
    model_version: str,
    site_statistics: str | None,
    two_pass: bool,
    site_key: str,
    base_url: str | None,
    redis: RedisSettings,
    processes: int,
    comments: str,
    hidden_text: str,
    metadata: str,
    no_blocks: bool,
    document_format: str,
    rendering: Rendering,
    page_seconds: float,
    max_page_blocks: int,
    max_page_mib: int,
) -> None:
    """Clean pages offline: the pipeline of the stream, without Kafka, and without Redis if you like.

    Reads JSON lines {"id","url","html"} or one page of HTML from standard input, or the PATHs as `dehusk
    feed` does: HTML files and directories of them, JSON lines, WARC files; plain or compressed by gzip, xz,
    bzip2 or zstd. Writes one JSON line per page, in the same order, as soon as it is done: {"id", "url",
    "site", "title", "language", "declared_language", "text", "comments", "model", "labeler", "content_hash",
    "simhash", "metadata", "blocks", "error"}, where `model` is {"name", "version"} and a block is {"text",
    "path", "probability", "content", "comment"}. `comments` is null if the model does not tell user comments
    apart. With --site-statistics, there are "template", as in the documents of a worker, and the "frequency"
    of each block, too.

    "id" and "url" are optional and passed on as they are; what is no string becomes JSON in a string. `error`
    is null, or says why the page could not be cleaned; then all fields are null or empty, but for `id` and
    `url`. If the line itself cannot be read, these are null, too. A page that crashes or exceeds its
    limits affects no other line. The status is 0 if every page has a line, with or without an `error`, and 1
    if a file cannot be read to its end. Progress is shown if standard error is a terminal and standard output
    is not.
    """
    from dehusk.streams.worker.dependencies import open_labeler

    labeler = labeler_of(labeler, triton)
    if labeler != "onnx" and was_typed("model_repository"):
        raise click.UsageError(f"--model-repository is for --labeler onnx, not {labeler}")
    paths = paths or (STANDARD_INPUT,)
    site_statistics = site_statistics or (IN_MEMORY if two_pass else NO_STATISTICS)
    _require_statistics(site_statistics, paths, two_pass=two_pass)
    settings = WorkerSettings(
        redis=redis,
        site_key=SiteKey(site_key),
        labeler=labeler,
        triton=TritonSettings(triton or TritonSettings().address, model, model_version),
        model_repository=model_repository or DEFAULT_REPOSITORY,
        page=PageLimits(max_page_mib * MIB, page_seconds, max_page_blocks),
        processes=processes,
        with_blocks=not no_blocks,
        drop_hidden=hidden_text == "drop",
        comments=Comments(comments),
        metadata=MetadataLevel(metadata),
        comments_are_told_apart=comments_are_told_apart(comments),
        format=document_format,
        rendering=rendering,
    )
    open_one = partial(open_labeler, settings)
    with abandoned_on_errors():
        run = OfflineRun(
            paths, settings, open_one, site_statistics, two_pass=two_pass, base_url=base_url or ""
        )
        try:
            pages = asyncio.run(run.clean())
        except KeyboardInterrupt:
            tell_interrupted(run.written, "written")
            raise
    if not run.written:
        click.echo("dehusk: no page was found", err=True)
    if pages.without_host and site_statistics != NO_STATISTICS:
        _tell_without_host(pages.without_host)
    for damage in pages.damaged:
        click.echo(f"dehusk: pages may be lost: {printable(damage.detail)}", err=True)
    raise SystemExit(1 if pages.damaged else 0)


def _tell_without_host(pages: int) -> None:
    """Say of how many pages no site is known, and what helps."""
    click.echo(
        f"dehusk: {counted(pages, 'page')} without a host in the URL: of no site, so cleaned without "
        "statistics; --base-url gives HTML files a URL",
        err=True,
    )


def _require_statistics(where: str, paths: Sequence[Path], *, two_pass: bool) -> None:
    """See whether the options for the statistics of sites go together.

    Raises:
        click.UsageError: they do not.
    """
    if two_pass and where == NO_STATISTICS:
        raise click.UsageError("--two-pass needs --site-statistics memory or the URL of a Redis")
    if two_pass and any(path == STANDARD_INPUT or _is_read_once(path) for path in paths):
        raise click.UsageError("--two-pass reads its pages twice: name files, not standard input or a pipe")
    for option in ("redis_cluster", "redis_seconds"):
        if where in (NO_STATISTICS, IN_MEMORY) and was_typed(option):
            name = option.replace("_", "-")
            raise click.UsageError(f"--{name} is for --site-statistics redis://…, not {where}")


def _is_read_once(path: Path) -> bool:
    """Whether it is a pipe, or another thing that is neither a file nor a directory."""
    return path.exists() and not (path.is_file() or path.is_dir())
