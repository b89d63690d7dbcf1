"""`dehusk clean`: pages in, lines of JSON out, without Kafka."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from inference.repository import DEFAULT_REPOSITORY
from schemas.documents import Comments
from schemas.outcomes import Damaged
from schemas.pages import RawPage
from streams.cli.interrupts import interrupts_postponed
from streams.cli.options import (
    comments_option,
    hidden_text_option,
    max_blocks_option,
    max_page_option,
    model_options,
    page_seconds_option,
    processes_option,
    require_labeler_of_triton,
    was_typed,
)
from streams.cli.progress import page_progress
from streams.cli.standard_input import abandoned_on_errors
from streams.cli.terminal import plain_console
from streams.cli.values import Address
from streams.input_position import InputPosition
from streams.printable import printable
from streams.readers import STANDARD_INPUT, read_pages
from streams.settings import MIB, PageLimits, TritonSettings
from streams.worker.settings import LabelerName, WorkerSettings, available_processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from inference.labeler import Labeler
    from streams.offline import Input


@click.command(
    name="clean",
    epilog="""\b
Examples:
  dehusk clean < pages.jsonl > cleaned.jsonl       {"id","url","html"} per line
  dehusk clean CC-MAIN-*.warc.gz > cleaned.jsonl   the responses of WARC files
  dehusk clean page.html | jq -r .text             one page, its text
  dehusk clean --triton gpu-1:8001 < pages.jsonl   the model on a server""",
)
@click.argument("paths", nargs=-1, metavar="[PATH…]", type=click.Path(allow_dash=True, path_type=Path))
@click.option(
    "--labeler",
    type=click.Choice(get_args(LabelerName)),
    help="Who tells content from boilerplate: the model in this process (onnx, the default), on a Triton "
    "server (the default with --triton), or Boilerpipe's rules without a model.",
)
@click.option("--triton", type=Address(), metavar="HOST:PORT", help="gRPC address of a Triton server.")
@click.option(
    "--model-repository",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The models that run in this process, as DIR/NAME/NUMBER/model.onnx; by default those that come "
    "with dehusk.",
)
@model_options
@processes_option(
    available_processors,
    shown="one per processor",
    help="Pages are taken apart in so many processes and labeled in so many threads.",
)
@comments_option
@hidden_text_option
@click.option("--no-blocks", is_flag=True, help="Leave out the blocks: lines are much shorter.")
@page_seconds_option("gets an error")
@max_blocks_option("gets an error")
@max_page_option("gets an error")
def command(
    *,
    paths: tuple[Path, ...],
    labeler: LabelerName | None,
    triton: str | None,
    model_repository: Path | None,
    model: str,
    model_version: str,
    processes: int,
    comments: str,
    hidden_text: str,
    no_blocks: bool,
    page_seconds: float,
    max_page_blocks: int,
    max_page_mib: int,
) -> None:
    """Clean pages offline: the pipeline of the stream, without Kafka and Redis.

    Reads JSON lines {"id","url","html"} or one page of HTML from standard input, or the PATHs as `dehusk
    feed` does: HTML files and directories of them, JSON lines, WARC files; plain or compressed by gzip, xz,
    bzip2 or zstd. Writes one JSON line per page, in the same order, as soon as it is done: {"id", "url",
    "site", "title", "language", "text", "comments", "model", "labeler", "blocks", "error"}, where `model` is
    {"name", "version"} and a block is {"text", "path", "probability", "content", "comment"}. `comments` is
    null if the model does not tell user comments apart.

    "id" and "url" are optional and passed on as they are; what is no string becomes JSON in a string. `error`
    is null, or says why the page could not be cleaned; then `site`, `language`, `model` and `labeler` are
    null. If the line itself cannot be read, `id` and `url` are null, too. A page that crashes or exceeds its
    limits affects no other line. The status is 0 if every page has a line, with or without an `error`, and 1
    if a file cannot be read to its end. Progress is shown if standard error is a terminal and standard output
    is not.
    """
    from streams.worker.dependencies import open_labeler

    labeler = labeler or ("triton" if triton else "onnx")
    require_labeler_of_triton(labeler)
    if labeler != "onnx" and was_typed("model_repository"):
        raise click.UsageError(f"--model-repository is for --labeler onnx, not {labeler}")
    settings = WorkerSettings(
        labeler=labeler,
        triton=TritonSettings(triton or TritonSettings().address, model, model_version),
        page=PageLimits(max_page_mib * MIB, page_seconds, max_page_blocks),
        processes=processes,
        drop_hidden=hidden_text == "drop",
        comments=Comments(comments),
    )
    seen, position = _Seen(), InputPosition()
    paths = paths or (STANDARD_INPUT,)
    pages = _noting(read_pages(paths, settings.page.max_bytes, position=position), seen)
    shown = sys.stderr.isatty() and not sys.stdout.isatty()
    open_one = partial(open_labeler, settings, model_repository or DEFAULT_REPOSITORY)
    with abandoned_on_errors():
        console = plain_console(stderr=True)
        with page_progress("cleaning", console, paths, position, shown=shown) as advance:
            cleaning = _clean(
                pages, settings, open_one, lambda count: advance(count, seen.bytes), with_blocks=not no_blocks
            )
            count = asyncio.run(cleaning)
    if not count:
        click.echo("dehusk: no page was found", err=True)
    for damage in seen.damaged:
        click.echo(f"dehusk: pages may be lost: {printable(damage.detail)}", err=True)
    raise SystemExit(1 if seen.damaged else 0)


@dataclass(slots=True)
class _Seen:
    """What was read so far."""

    damaged: list[Damaged] = field(default_factory=list)
    bytes: int = 0
    """Bytes of the pages' HTML."""


def _noting(pages: Iterator[Input], seen: _Seen) -> Iterator[Input]:
    for page in pages:
        if isinstance(page, Damaged):
            seen.damaged.append(page)
        elif isinstance(page, RawPage):
            seen.bytes += len(page.html)
        yield page


async def _clean(
    pages: Iterator[Input],
    settings: WorkerSettings,
    open_one: Callable[[], Labeler],
    report: Callable[[int], None],
    *,
    with_blocks: bool,
) -> int:
    """How many lines were written."""
    with interrupts_postponed():
        from streams.offline import DecodedPages, clean_lines, writing
        from streams.preparation.isolation import open_pool

    count = 0
    output = click.get_binary_stream("stdout")
    labelers = [open_one() for _ in range(settings.processes)]
    lines_of = writing(
        settings.page.max_bytes,
        with_blocks=with_blocks,
        drop_hidden=settings.drop_hidden,
        comments=settings.comments,
    )
    try:
        async with (
            open_pool(DecodedPages, settings.processes, settings.page, lines_of) as pool,
            aclosing(clean_lines(pages, pool, labelers, with_blocks=with_blocks)) as lines,
        ):
            async for line in lines:
                output.write(line)
                output.flush()
                count += 1
                report(count)
    finally:
        for labeler in labelers:
            await labeler.close()
    return count
