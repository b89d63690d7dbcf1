"""`python -m benchmarks`: memory, the steps of a page, then the whole stream, on pages of a file."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks import (
    duplicates,
    headlines,
    latency,
    markdown,
    memory,
    metadata,
    pairs,
    ratios,
    rollout,
    sites,
    steps,
    stream,
    triton,
    worker,
)
from benchmarks.pages import Page, load_pages, stripped
from dehusk.inference.labelers.labeler import LABELERS

_BENCHMARKS = (
    *("sites", "rollout", "memory", "metadata", "duplicates", "markdown", "monitoring", "latency"),
    *("delivery", "triton", "steps", "stream", "worker"),
)
"""Benchmarks in the order in which they run."""
_PEERS = {"resiliparse": steps.RESILIPARSE, "trafilatura": steps.TRAFILATURA}


class _Load(click.ParamType):
    name = "load"

    def convert(
        self, value: str | sites.Load, param: click.Parameter | None, ctx: click.Context | None
    ) -> sites.Load:
        """Convert the sites and the pages of each."""
        if isinstance(value, sites.Load):
            return value
        numbers = value.split("x")
        if len(numbers) != 2 or not all(number.isdecimal() and int(number) for number in numbers):
            self.fail("it must be SITESxPAGES, e.g. 1x1000000", param, ctx)
        return sites.Load(*map(int, numbers))


@dataclass(frozen=True, slots=True)
class _Options:
    rounds: int
    repeat: int
    labelers: tuple[str, ...]
    only: str | None
    model: str
    triton: str | None
    ratios: Path

    def wants(self, *benchmarks: str) -> bool:
        """Return True if one of the benchmarks is to run."""
        return self.only is None or self.only in benchmarks


@click.command()
@click.option(
    "--pages",
    "path",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="JSON lines with html and url, plain or .xz; needed for all but the sites and the roll-out.",
)
@click.option("--every", type=click.IntRange(1), default=4, show_default=True, help="Take every n-th page.")
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Measure steps so often and take the best.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    help="Send the pages so often through the stream.",
)
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
    type=click.Choice(_BENCHMARKS),
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
@click.option(
    "--triton",
    "triton_address",
    metavar="HOST:PORT",
    help="Measure this Triton server's gRPC port, instead of one that is started here.",
)
@click.option(
    "--ratios",
    "ratios_file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("build/steps.json"),
    show_default=True,
    help="Write the ratios of the steps here; published ones are in benchmarks/published.json.",
)
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
    triton_address: str | None,
    ratios_file: Path,
) -> None:
    """Measure the steps of a page and the whole stream, on pages as crawled and on pages without scripts.

    First what the statistics of made-up sites take of a Redis, and what swaps of versions cost made-up pages;
    then the memory and the patience of a worker that hostile pages come to, amid these pages.

    What the steps take beside a peer is compared with what was published, where it is of the same pages.

    Where the file has the content of its pages (main_content), their Markdown is scored, too, and mirrors of
    pages are made and looked for.
    """
    warnings.simplefilter("ignore")
    options = _Options(rounds, repeat, labelers, only, model, triton_address, ratios_file)
    if options.wants("sites"):
        _measure_sites(loads)
    if options.wants("rollout"):
        _show(rollout.report(rollout.measure()))
    if only not in ("sites", "rollout"):
        if path is None:
            raise click.MissingParameter(param_hint="'--pages'", param_type="option")
        pages = load_pages(path, every)
        if not pages:
            raise click.UsageError(f"{path} holds no pages")
        _measure_documents(pages, options)
        _measure_services(pages, options)
        if options.wants("steps", "stream"):
            kinds = {"as crawled": pages, "without scripts": [stripped(page) for page in pages]}
            _compare({kind: _measure_pages(kind, each, options) for kind, each in kinds.items()}, options)


def _show(report: str) -> None:
    click.echo(report + "\n")


def _measure_sites(loads: tuple[sites.Load, ...]) -> None:
    click.echo(sites.HEAD)
    for cost in sites.measure(loads):
        click.echo(sites.row(cost))
    click.echo()


def _measure_documents(pages: list[Page], options: _Options) -> None:
    """Measure documents, and the memory of a worker."""
    known = [page for page in pages if page.content]
    has_content = all(page.content is not None for page in pages)
    if options.wants("memory"):
        _show(memory.report(memory.measure(pages, options.labelers, options.repeat)))
    if options.wants("metadata"):
        _show(metadata.report("metadata", metadata.measure(pages, options.rounds)))
        if any(page.title for page in pages):
            _show(headlines.report(headlines.measure(pages)))
    if known and options.wants("duplicates"):
        _show(duplicates.report(*duplicates.measure(known, options.model)))
    if has_content and options.wants("markdown"):
        _show(markdown.report(*markdown.measure(pages, options.model)))


def _measure_services(pages: list[Page], options: _Options) -> None:
    """Measure what workers and Triton take, but for the stream."""
    if options.wants("monitoring"):
        _show(pairs.report_monitoring(pairs.measure_monitoring(pages, options.repeat, options.rounds)))
    if options.only == "worker":  # it needs py-spy, which nothing else does
        _show(worker.report(worker.measure(pages, options.labelers, options.repeat)))
    if options.wants("latency"):
        _show(latency.report(latency.measure(pages, options.labelers)))
    if options.wants("triton"):
        _show(triton.report(triton.measure(pages, options.model, options.triton)))
    if options.wants("delivery"):
        _show(pairs.report_delivery(pairs.measure_delivery(pages, options.repeat, options.rounds)))


def _measure_pages(title: str, pages: list[Page], options: _Options) -> ratios.Ratios:
    """Measure the steps and the stream; return the ratios of the steps."""
    times = steps.measure(pages, options.model, 1 if options.only == "stream" else options.rounds)
    _show(steps.report(title, pages, times))
    if options.wants("steps"):
        _show(steps.by_size(title, pages, options.model, options.rounds))
    if options.wants("stream"):
        peers = {name: times[step] for name, step in _PEERS.items()}
        _show(stream.report(stream.measure(pages, options.labelers, options.repeat), peers))
    return ratios.ratios_of(pages, times)


def _compare(measured: Mapping[str, ratios.Ratios], options: _Options) -> None:
    """Compare the ratios of the steps with the published ones, and write them."""
    if options.wants("steps"):
        _show(ratios.compare(measured, ratios.read(ratios.PUBLISHED)))
        ratios.write(options.ratios, measured)


if __name__ == "__main__":
    main()
