"""`dehusk clean`: pages in, lines of JSON or files out, without Kafka."""

from __future__ import annotations

import asyncio
import sys
from os.path import realpath  # which takes loops of links, unlike Path.resolve
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dehusk.streams.cli.shared.interrupts import (
    exit_at_once_on_errors,
    loading,
    report_interruption,
)
from dehusk.streams.cli.shared.options import (
    PathOrUrl,
    Url,
    choice_option,
    gathered_options,
    number_option,
    refuse_typed,
)
from dehusk.streams.cli.shared.output_options import TEXTS, output_options, require_suiting
from dehusk.streams.cli.shared.page_options import (
    base_url_option,
    document_options,
    line_fields_option,
    page_limit_options,
    require_place,
    site_key_option,
    warc_directory_option,
)
from dehusk.streams.cli.shared.service_options import (
    labeler_options,
    redis_client_options,
    require_labeler_of_model,
)
from dehusk.streams.cli.shared.terminal import warn
from dehusk.streams.files.paths import STANDARD_INPUT, require_path
from dehusk.streams.settings import IN_MEMORY, MOST_PROCESSES, NO_STATISTICS, available_processors
from dehusk.streams.wording import pluralize, printable
from dehusk.streams.worker_settings import WorkerSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dehusk.streams.dataset.folder import FolderSettings
    from dehusk.streams.files.page_lines import LineFields
    from dehusk.streams.stores.stored import InputPath


@click.command(
    name="clean",
    epilog="""\b
Examples:
  dehusk clean < pages.jsonl > cleaned.jsonl       {"id","url","html"} per line
  dehusk clean CC-MAIN-*.warc.gz > cleaned.jsonl   the responses of WARC files
  dehusk clean crawl.wacz > cleaned.jsonl          those of all WARC files in it
  dehusk clean s3://bucket/crawl/ > cleaned.jsonl  all objects below a folder of a store
  dehusk clean page.html | jq -r .text             one page, its text
  dehusk clean --format markdown page.html         one page, its Markdown
  dehusk clean --triton gpu-1:8001 < pages.jsonl   the model on a server
  dehusk clean --two-pass crawl.warc.gz            by what all pages of a site repeat
  dehusk clean --output cleaned/ crawl/            Parquet files in a folder
  dehusk clean --output cleaned/ --resume crawl/   the same, on from where it ended""",
)
@click.argument("paths", nargs=-1, metavar="[PATH…]", type=PathOrUrl(allow_dash=True))
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
@line_fields_option
@warc_directory_option("Folder of the WARC files that an index among the PATHs points to, also in a store.")
@redis_client_options(seconds_help="Time limit of Redis for a batch of pages, after which the command ends.")
@number_option(
    "--processes",
    default=available_processors,
    shown="one per processor",
    most=MOST_PROCESSES,
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
    paths: tuple[InputPath, ...],
    site_statistics: str | None,
    two_pass: bool,
    base_url: str,
    line_fields: LineFields,
    warc_directory: InputPath | None,
    output: FolderSettings | None,
    settings: WorkerSettings,
) -> None:
    """Clean pages offline: the pipeline of the stream, without Kafka, and without Redis if you like.

    Reads JSON lines {"id","url","html"} or one page of HTML from standard input, or the PATHs as `dehusk
    feed` does: HTML files and directories of them, JSON lines, WARC and ARC files, plain or compressed by
    gzip, xz, bzip2 or zstd, WACZ files, and Parquet with these columns. Each may lie in a store: s3://,
    gs://, https://, webhdfs://; a URL that ends with a slash is a folder. Lines or Parquet with the columns
    of Common Crawl's index stand for the records that they point to, below --warc-directory. Writes one JSON
    line per page, in the same order, as soon as it is done: {"id", "url", "site", "fetched_at", "title",
    "headline", "language", "declared_language", "language_probability", "text", "comments", "model",
    "labeler", "content_hash", "simhash", "minhash", "metadata", "expected_f1", "page_kind",
    "page_kind_probability", "blocks", "error"}, where `model` is {"name", "version"} and a block is {"text",
    "path", "probability", "content", "comment", "xpath"}. `comments` is null if the model does not tell user
    comments apart, `page_kind` if it does not tell the kind of a page. With --site-statistics, there are
    "template", as in the documents of a worker, and the "frequency" of each block, too; with --with-links,
    "links" of {"url", "text", "block"}; with --with-markdown, "markdown"; with --with-html, "html".

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
    require_labeler_of_model(settings.labeler)
    form = TEXTS if output and output.format == TEXTS else settings.format
    require_place(form, settings.options)
    if not paths and sys.stdin.isatty():
        warn("reads the terminal, a page of HTML or JSON lines; Ctrl-D ends it")
    paths = paths or (STANDARD_INPUT,)
    for path in paths:
        require_path(path)
    site_statistics = site_statistics or (IN_MEMORY if two_pass else NO_STATISTICS)
    _require_statistics(site_statistics, paths, two_pass=two_pass)
    _require_output(output, settings.format, paths, site_statistics, two_pass=two_pass)
    with loading():
        from dehusk.streams.cli.offline_run import OfflineRun

    with exit_at_once_on_errors():
        run = OfflineRun(
            paths, settings, site_statistics, two_pass, base_url, warc_directory, line_fields, output
        )
        try:
            pages = asyncio.run(run.clean())
        except KeyboardInterrupt:
            report_interruption(run.written, "written")
            raise
    if not run.written:
        _warn_of_no_page(run.others, is_resumed=output is not None and output.resume)
    if run.failed:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in run.failed.most_common())
        pages_of = f"{run.failed.total():,} of {pluralize(run.written, 'page')}"
        warn(f"{pages_of} without a document, `error` says why: {reasons}")
    if run.failed.total() == run.written > 0:
        warn(f"the first of them: {printable(run.first_error)}")
    if pages.without_host and site_statistics != NO_STATISTICS:
        _warn_of_pages_without_host(pages.without_host)
    for damage in pages.damaged:
        warn(f"pages may be lost: {printable(damage.detail)}")
    if run.damaged_before:
        files = pluralize(run.damaged_before, "damaged file")
        warn(f"pages may be lost: {files} in the runs before: see `error` of the rows")
    raise SystemExit(1 if pages.damaged or run.damaged_before else 0)


def _warn_of_no_page(others: int, *, is_resumed: bool) -> None:
    if is_resumed:
        warn("no further page was found")
    elif others:
        warn(
            f"no page was found among {pluralize(others, 'record')} of archives; WET and WAT files hold none"
        )
    else:
        warn("no page was found")


def _warn_of_pages_without_host(count: int) -> None:
    warn(
        f"{pluralize(count, 'page')} without a host in the URL: of no site, so cleaned without statistics; "
        "--base-url gives HTML files a URL"
    )


def _require_statistics(statistics: str, paths: Sequence[InputPath], *, two_pass: bool) -> None:
    """Check that the options for the statistics of sites go together.

    Raises:
        click.UsageError: they do not.
    """
    if two_pass and statistics == NO_STATISTICS:
        raise click.UsageError("--two-pass needs --site-statistics memory or the URL of a Redis")
    if two_pass and any(map(_is_read_once, paths)):
        raise click.UsageError("--two-pass reads its pages twice: name files, not standard input or a pipe")
    if statistics in (NO_STATISTICS, IN_MEMORY):
        refuse_typed(f"--site-statistics redis://…, not {statistics}", "redis_cluster", "redis_seconds")


def _require_output(
    output: FolderSettings | None,
    document_format: str,
    paths: Sequence[InputPath],
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
    for path in paths:
        if isinstance(path, Path) and Path(realpath(output.folder)).is_relative_to(realpath(path)):
            raise click.UsageError(
                f"--output {output.folder} is in {path}, so its files would be read as pages: name a folder "
                "outside"
            )
    if output.resume and any(map(_is_read_once, paths)):
        raise click.UsageError("--resume reads its input again: name files, not standard input or a pipe")
    if output.resume and statistics == IN_MEMORY and not two_pass:
        raise click.UsageError(
            "--resume knows nothing of the pages before, which --site-statistics memory corrects by: add "
            "--two-pass, or name a Redis"
        )


def _is_read_once(path: InputPath) -> bool:
    """Return True for standard input, a pipe, and anything else that is neither a file nor a directory."""
    return path == STANDARD_INPUT or not (path.is_file() or path.is_dir())
