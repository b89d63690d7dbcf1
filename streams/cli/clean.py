"""`dehusk clean`: pages in, lines of JSON out, without Kafka."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import get_args

import click

from inference.labeler import Labeler
from inference.repository import DEFAULT_REPOSITORY
from schemas.errors import ConfigurationError
from schemas.outcomes import Damaged
from streams.cli.options import (
    hidden_text_option,
    max_page_option,
    model_options,
    page_seconds_option,
    processes_option,
)
from streams.cli.standard_input import abandoned_on_errors
from streams.offline import DecodedPages, Input, clean_lines
from streams.preparation.isolation import open_pool
from streams.printable import printable
from streams.readers import STANDARD_INPUT, read_pages
from streams.settings import MIB, PageLimits, TritonSettings
from streams.worker.dependencies import open_labeler
from streams.worker.settings import LabelerName, WorkerSettings, available_processors


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
    show_envvar=True,
    help="Who tells content from boilerplate: the model in this process (onnx, the default), on a Triton "
    "server (the default with --triton), or Boilerpipe's rules without a model.",
)
@click.option("--triton", metavar="HOST:PORT", show_envvar=True, help="gRPC address of a Triton server.")
@click.option(
    "--model-repository",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    show_envvar=True,
    help="The models that run in this process, as DIR/NAME/NUMBER/model.onnx; by default those that come "
    "with dehusk.",
)
@model_options
@processes_option(
    available_processors,
    shown="one per processor",
    help="Pages are taken apart in so many processes and labeled in so many threads.",
)
@hidden_text_option
@click.option("--no-blocks", is_flag=True, help="Leave out the blocks: lines are much shorter.")
@page_seconds_option("gets an error")
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
    hidden_text: str,
    no_blocks: bool,
    page_seconds: float,
    max_page_mib: int,
) -> None:
    """Clean pages offline: the pipeline of the stream, without Kafka and Redis.

    Reads JSON lines {"id","url","html"} or one page of HTML from standard input, or the PATHs as `dehusk
    feed` does: HTML files and directories of them, JSON lines, WARC files; plain or compressed by gzip, xz or
    bzip2. Writes one JSON line per page, in the same order, as soon as it is done: {"id", "url", "title",
    "text", "blocks", "error"}, where a block is {"text", "path", "probability", "content"}.

    "id" and "url" may be missing or anything, and are passed on, as JSON in a string where they are no
    strings; only a worker needs the URL of a page. `error` is null, or says why the page could not be
    cleaned; where the line itself could not be read, `id` and `url` are null. A line that is no page, and a
    page that crashes or exceeds its time, cost their own line alone. Status 0 means that every page has its
    line, not that none has an `error`; where a file cannot be read to its end, the status is 1.
    """
    labeler = labeler or ("triton" if triton else "onnx")
    if triton and labeler != "triton":
        raise ConfigurationError(f"--triton is for --labeler triton, not {labeler}")
    if model_repository and labeler != "onnx":
        raise ConfigurationError(f"--model-repository is for --labeler onnx, not {labeler}")
    settings = WorkerSettings(
        labeler=labeler,
        triton=TritonSettings(triton or TritonSettings().address, model, model_version),
        page=PageLimits(max_page_mib * MIB, page_seconds),
        processes=processes,
        drop_hidden=hidden_text == "drop",
    )
    damaged: list[Damaged] = []
    pages = _noting(read_pages(paths or (STANDARD_INPUT,), settings.page.max_bytes), damaged)
    open_one = partial(open_labeler, settings, model_repository or DEFAULT_REPOSITORY)
    with abandoned_on_errors():
        count = asyncio.run(_clean(pages, settings, open_one, with_blocks=not no_blocks))
    if not count:
        click.echo("dehusk: no page was found", err=True)
    for damage in damaged:
        click.echo(f"dehusk: pages may be lost: {printable(damage.detail)}", err=True)
    raise SystemExit(1 if damaged else 0)


def _noting(pages: Iterator[Input], damaged: list[Damaged]) -> Iterator[Input]:
    for page in pages:
        if isinstance(page, Damaged):
            damaged.append(page)
        yield page


async def _clean(
    pages: Iterator[Input], settings: WorkerSettings, open_one: Callable[[], Labeler], *, with_blocks: bool
) -> int:
    """How many lines were written."""
    count = 0
    output = click.get_binary_stream("stdout")
    labelers = [open_one() for _ in range(settings.processes)]
    try:
        async with (
            open_pool(DecodedPages, settings.processes, settings.page) as pool,
            aclosing(
                clean_lines(pages, pool, labelers, with_blocks=with_blocks, drop_hidden=settings.drop_hidden)
            ) as lines,
        ):
            async for line in lines:
                output.write(line)
                output.flush()
                count += 1
    finally:
        for labeler in labelers:
            await labeler.close()
    return count
