"""`python -m benchmarks`: memory, the steps of a page, then the whole stream, on pages of a file."""

import warnings
from pathlib import Path

import click

from benchmarks import (
    duplicates,
    markdown,
    memory,
    metadata,
    monitoring,
    quality,
    rollout,
    sites,
    steps,
    stream,
)
from benchmarks.pages import Page, load_pages, stripped
from dehusk.inference.labelers import LABELERS

_PEERS = {"resiliparse": steps.RESILIPARSE, "trafilatura": steps.TRAFILATURA}


class _Load(click.ParamType):
    name = "load"

    def convert(
        self, value: str | sites.Load, param: click.Parameter | None, ctx: click.Context | None
    ) -> sites.Load:
        """The sites and the pages of each."""
        if isinstance(value, sites.Load):
            return value
        numbers = value.split("x")
        if len(numbers) != 2 or not all(number.isdecimal() and int(number) for number in numbers):
            self.fail("it must be SITESxPAGES, e.g. 1x1000000", param, ctx)
        return sites.Load(*map(int, numbers))


@click.command()
@click.option(
    "--pages",
    "path",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="JSON lines with html and url, plain or .xz; needed for all but the sites and the roll-out.",
)
@click.option("--every", default=4, show_default=True, help="Take every n-th page.")
@click.option("--rounds", default=3, show_default=True, help="Measure steps so often and take the best.")
@click.option("--repeat", default=4, show_default=True, help="Send the pages so often through the stream.")
@click.option(
    "--labeler",
    "labelers",
    type=click.Choice(LABELERS),
    multiple=True,
    default=("rules", "onnx", "triton"),
    show_default=True,
    help="Measure the stream with these labelers; none of the model's time is in that with rules.",
)
@click.option(
    "--only",
    type=click.Choice(
        [
            "quality",
            "steps",
            "stream",
            "memory",
            "sites",
            "metadata",
            "duplicates",
            "markdown",
            "monitoring",
            "rollout",
        ]
    ),
    help="Leave the others out.",
)
@click.option(
    "--sites",
    "loads",
    metavar="SITESxPAGES",
    type=_Load(),
    multiple=True,
    default=sites.LOADS,
    help="Count so many sites of so many pages each, e.g. 1x1000000; several times for several loads.",
)
@click.option("--model", default="dehusk", show_default=True, help="The model that labels.")
def main(
    *,
    path: Path | None,
    every: int,
    rounds: int,
    repeat: int,
    labelers: tuple[str, ...],
    only: str | None,
    loads: tuple[sites.Load, ...],
    model: str,
) -> None:
    """Measure the steps of a page and the whole stream, on pages as crawled and on pages without scripts.

    First what the statistics of made-up sites take of a Redis, and what swaps of versions cost made-up pages;
    then the memory and the patience of a worker
    that hostile pages come to, amid these pages.

    Where the file has the content of its pages (main_content, page_type), the text is scored, too, which
    flatters a model on pages that it was trained on, and mirrors of pages are made and looked for.
    """
    warnings.simplefilter("ignore")
    if only in (None, "sites"):
        _measure_sites(loads)
    if only in (None, "rollout"):
        click.echo(rollout.report(rollout.measure()) + "\n")
    if only not in ("sites", "rollout"):
        if path is None:
            raise click.MissingParameter(param_hint="'--pages'", param_type="option")
        pages = load_pages(path, every)
        _measure_file(pages, rounds=rounds, repeat=repeat, labelers=labelers, only=only, model=model)


def _measure_file(
    crawled: list[Page],
    *,
    rounds: int,
    repeat: int,
    labelers: tuple[str, ...],
    only: str | None,
    model: str,
) -> None:
    """Measure all that needs pages."""
    if only in (None, "memory"):
        click.echo(memory.report(memory.measure(crawled, labelers, repeat)) + "\n")
    _measure_documents(crawled, rounds, model, only)
    if only in (None, "markdown"):
        _measure_markdown(crawled, model)
    if only in (None, "monitoring"):
        click.echo(monitoring.report(monitoring.measure(crawled, repeat, rounds)) + "\n")
    if only in (None, "quality", "steps", "stream"):
        _measure_pages(crawled, rounds=rounds, repeat=repeat, labelers=labelers, model=model, only=only)


def _measure_pages(
    crawled: list[Page],
    *,
    rounds: int,
    repeat: int,
    labelers: tuple[str, ...],
    model: str,
    only: str | None,
) -> None:
    """Measure the text, the steps and the stream of pages, as crawled and without scripts."""
    for title, pages in (("as crawled", crawled), ("without scripts", [stripped(page) for page in crawled])):
        if only in (None, "quality") and all(page.content is not None for page in pages):
            click.echo(quality.report(title, pages, quality.measure(pages, model)) + "\n")
        if only != "quality":
            times = steps.measure(pages, model, 1 if only == "stream" else rounds)
            click.echo(steps.report(title, pages, times) + "\n")
        if only in (None, "stream"):
            _measure_stream(pages, times, labelers, repeat)


def _measure_documents(pages: list[Page], rounds: int, model: str, only: str | None) -> None:
    """Measure what documents have beside their text."""
    if only in (None, "metadata"):
        click.echo(metadata.report("metadata", metadata.measure(pages, rounds)) + "\n")
    known = [page for page in pages if page.content]
    if known and only in (None, "duplicates"):
        click.echo(duplicates.report(*duplicates.measure(known, model)) + "\n")


def _measure_sites(loads: tuple[sites.Load, ...]) -> None:
    click.echo(sites.HEAD)
    for cost in sites.measure(loads):
        click.echo(sites.row(cost))
    click.echo()


def _measure_markdown(pages: list[Page], model: str) -> None:
    if all(page.content is not None for page in pages):
        click.echo(markdown.report(*markdown.measure(pages, model)) + "\n")


def _measure_stream(
    pages: list[Page], times: dict[str, float], labelers: tuple[str, ...], repeat: int
) -> None:
    peers = {name: times[step] for name, step in _PEERS.items()}
    click.echo(stream.report(stream.measure(pages, labelers, repeat), peers) + "\n")


if __name__ == "__main__":
    main()
