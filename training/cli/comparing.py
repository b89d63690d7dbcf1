"""Commands that use all labelers: compare, and predict."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import click

from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.signature import TOKENS
from dehusk.streams.cli.shared.interrupts import exit_at_once_on_errors
from dehusk.streams.cli.shared.options import NumberRange
from dehusk.streams.models.names import split_name
from dehusk.training.cli.options import FILE, repository_option
from dehusk.training.predict import write_predictions

_CHART_FORMATS = (".png", ".pdf", ".svg")


def _chart_file(_context: click.Context, _option: click.Parameter, file: Path | None) -> Path | None:
    """Return a file for a chart, checked to be writable before anything is measured."""
    if file is not None and file.suffix not in _CHART_FORMATS:
        raise click.BadParameter(f"{file} does not end in {', '.join(_CHART_FORMATS)}")
    if file is not None and not file.parent.is_dir():
        raise click.BadParameter(f"there is no directory {file.parent}")
    return file


@click.command(
    "compare",
    epilog="""\b
Examples:
  compare --every 8 wcxb-dev.jsonl.xz                   all labelers on every eighth page
  compare --sample 100 --chart f1.png *.jsonl.xz        on a hundred pages of each file
  compare --labels labels.jsonl my-pages.jsonl          on pages labeled by `dehusk label`
  compare --labeler dehusk/13 --labeler dehusk/14 --against dehusk/13 test.jsonl.xz""",
)
@repository_option
@click.option(
    "--labeler",
    "labelers",
    multiple=True,
    metavar="NAME",
    help="A labeler without a model (rules), a model or one version of it (dehusk, boilernet/2), or an "
    "extractor: trafilatura or resiliparse, as set up by default or without comments "
    "(trafilatura-no-comments), justext, readability, magic-html or rs-trafilatura. Several times for "
    "several.  [all that are installed]",
)
@click.option(
    "--labels",
    type=FILE,
    help="Labels that `dehusk label` wrote of pages in FILES, which then are JSON lines, HTML "
    "files, WARC, or directories of them.",
)
@click.option(
    "--every", type=click.IntRange(1), default=1, show_default=True, help="Take every n-th page of a file."
)
@click.option(
    "--sample", type=click.IntRange(1), help="Take so many of them at most, drawn at random.  [all of them]"
)
@click.option("--seed", type=int, default=1, show_default=True, help="Decides which pages are drawn.")
@click.option(
    "--against",
    metavar="NAME",
    help="Labeler whose F1 is subtracted from the others', page by page.  [the best that was not trained on "
    "the collection]",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Every labeler extracts each page so often, in turn with the others; the median time counts.",
)
@click.option(
    "--page-seconds",
    type=NumberRange(min=0.1),
    default=60.0,
    show_default=True,
    help="CPU time that a labeler may take for a page, each time; a slower one fails on it. The limit of "
    "wall time is six times that.",
)
@click.option(
    "--processes",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Judge so many pages at once. Times become longer where processes share caches.",
)
@click.option("--json", "as_json", is_flag=True, help="Print all, the scores of each page, too, as JSON.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the tables as Markdown.")
@click.option(
    "--chart",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    callback=_chart_file,
    metavar="FILE.png",
    help="Draw F1 against time into this file, too (.png, .pdf or .svg).",
)
@click.argument("files", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True)
def compare_command(
    *,
    every: int,
    sample: int | None,
    seed: int,
    as_json: bool,
    as_markdown: bool,
    files: tuple[Path, ...],
    **options: Any,  # noqa: ANN401 the values of the other options, each for the field of its name
) -> None:
    """Compare all that labels blocks on the labeled pages in FILES, beside other extractors.

    FILES are read as `prepare` reads them: JSON lines with id, url, html and main_content or
    expected_text, or with id and labeled blocks. Pages without gold are left out, and counted. The files of a
    collection, such as NAME-train and NAME-val, are one table.

    \b
    word F1   of the words of the text, as multisets: the mean over pages, with its
              standard error, which takes pages of a site for alike. The text is that
              of `dehusk clean`, or the extractor's; empty where it fails on a page.
    blocks    precision, recall and F1 over the blocks of all pages. Blocks are those
              that dehusk makes, labeled by the gold text, and content where they are
              in the text; or those of the file, labeled as by `predict`, where they
              are likely. An extractor keeps the blocks that its text has.
    ms/page   CPU time from the HTML to the text, all steps.

    A labeler that was trained on a file of the collection, as its card says, is marked with *.
    """  # noqa: D301 click's mark
    from dehusk.training.comparison import commands  # noqa: PLC0415 -- other commands do without
    from dehusk.training.comparison.questions import Sampling  # noqa: PLC0415

    if as_json and as_markdown:
        raise click.UsageError("--json and --markdown are two forms of the same; name one")
    show = commands.show_json if as_json else commands.show_markdown if as_markdown else commands.show_tables
    comparison = commands.Comparison(sampling=Sampling(every, sample, seed), **options)
    commands.compare(files, comparison, show)


@click.command("predict")
@repository_option
@click.argument("model")
@click.argument("file", type=FILE)
def predict_command(repository: Path, model: str, file: Path) -> None:
    """Label the pages in FILE with MODEL, a `name` or `name/version` of the repository.

    FILE has JSON lines, plain or compressed. Pages cut into blocks (id, blocks: path, text) give lines
    {"id", "labels"}: 1 for content, 0 for boilerplate, also for blocks without text; for a model that reads
    elements, the page is rebuilt from them. Pages of HTML (id, url, html) give lines {"id", "text"}; where a
    page cannot be cleaned, no text, and standard error says why.
    """
    name, version = split_name(model)
    labeler = OnnxLabeler(name, version, repository)
    with exit_at_once_on_errors():
        rebuild = labeler.signature is not TOKENS
        asyncio.run(write_predictions(file, labeler, sys.stdout.buffer, rebuild=rebuild))
