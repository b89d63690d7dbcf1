"""`python -m training`: from labeled pages to a version of the model repository, and its labels."""

import asyncio
import sys
from functools import partial
from pathlib import Path
from typing import get_args

import click

from dehusk.inference.grf.word_vectors import VECTORS
from dehusk.inference.onnx import OnnxLabeler
from dehusk.inference.repository import DEFAULT_REPOSITORY
from dehusk.inference.signature import TOKENS
from dehusk.inference.site_signal import WEIGHTS
from dehusk.schemas.errors import DehuskError
from dehusk.schemas.pages import ModelVersion
from dehusk.streams.cli.standard_input import abandoned_on_errors
from dehusk.training.dehusk.config import DEFAULT_CONFIG
from dehusk.training.dehusk.parts import LeftOut
from dehusk.training.kinds import kind_of
from dehusk.training.labels import DROPPED, TAUGHT, write_labels
from dehusk.training.predict import write_predictions

_file = click.Path(exists=True, dir_okay=False, path_type=Path)
_WHERE_INSTALLED = {
    **dict.fromkeys(
        ("lightgbm", "onnx", "scipy", "sklearn", "torch"),
        ".venv-training has it (make test-training makes it)",
    ),
    **dict.fromkeys(("matplotlib", "resiliparse", "trafilatura"), ".venv has it (make setup makes it)"),
}
"""What training, teaching or comparing needs and serving does not."""
_CHART_FORMATS = (".png", ".pdf", ".svg")

_directory = click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Where prepared pages, checkpoint and scores are kept.",
)
_config = click.option(
    "--config",
    type=_file,
    default=DEFAULT_CONFIG,
    help="The settings of the run.  [training/dehusk/dehusk.toml]",
)


def _use_device(_context: click.Context, _option: click.Parameter, name: str) -> None:
    """Make the networks from here on on a device."""
    if name != "cpu":
        import torch  # noqa: PLC0415 -- only where networks are made

        try:
            torch.zeros(1, device=name)
        except (RuntimeError, AssertionError) as error:
            raise click.BadParameter(f"{name}: {str(error).splitlines()[0]}") from error
        torch.set_default_device(name)


_device = click.option(
    "--device",
    default="cpu",
    show_default=True,
    metavar="NAME",
    expose_value=False,
    callback=_use_device,
    help="Where networks are trained, as PyTorch names it: cpu, cuda, cuda:1.",
)
_model = click.option("--model", help="The model's name.  [that of the file with the settings]")
_repository = click.option(
    "--repository",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_REPOSITORY,
    help="The model repository.  [model_repository]",
)


class _OrderOfUse(click.Group):
    """A group whose help lists the commands in the order in which they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click's signature
        return list(self.commands)


@click.group(cls=_OrderOfUse, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Train the models that label blocks, label with them: predict, and compare what labels blocks."""


@cli.command("teach")
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True)
@_repository
@click.option(
    "--teacher", required=True, metavar="NAME/VERSION", help="A model that did not learn from them."
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=TAUGHT,
    help="Where the labels are written.  [training/taught.json]",
)
@click.argument("files", type=_file, nargs=-1, required=True)
def teach_command(
    processes: int, repository: Path, teacher: str, output: Path, files: tuple[Path, ...]
) -> None:
    """Label pages in FILES without a gold text by what TEACHER, trafilatura and resiliparse agree on.

    FILES have xz JSON lines: id, url, html, expected_text (or null).
    """
    from dehusk.training.teachers import taught  # noqa: PLC0415 -- what trains has no such extractors

    name, _, version = teacher.partition("/")
    labels = {
        each.page: each.labels for each in taught(files, ModelVersion(name, version), repository, processes)
    }
    write_labels(output, labels)
    click.echo(f"{sum(each != DROPPED for each in labels.values())} of {len(labels)} pages have labels.")


@cli.command("prepare")
@_directory
@_config
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True)
@click.option(
    "--validation", type=_file, multiple=True, help="A file whose pages are all held out, for BoilerNet."
)
@click.option(
    "--labels",
    type=_file,
    help="Labels of `dehusk label`: their pages take these, and other pages may lack a gold text. Those that "
    "do not fit their pages are named, and nothing is written.",
)
@click.argument("files", type=_file, nargs=-1, required=True)
def prepare_command(
    *,
    directory: Path,
    config: Path,
    processes: int,
    validation: tuple[Path, ...],
    labels: Path | None,
    files: tuple[Path, ...],
) -> None:
    """Label the blocks of the pages in FILES (JSON lines, plain or compressed: id, url, html, main_content).

    Pages of which only labeled blocks are known (id, blocks: path, text, label) are rebuilt from them. With a
    configuration that has no table [data], all FILES hold such pages, and their blocks are taken as they are.
    """
    kind_of(config).prepare(files, directory, config, processes, validation, labels=labels)


@cli.command("train")
@_directory
@_config
@_device
def train_command(directory: Path, config: Path) -> None:
    """Train a network; goes on from the last checkpoint where one is."""
    kind_of(config).train(directory, config)


@cli.command("cross-validate")
@_directory
@_config
@_device
@click.option("--seed", "seeds", type=int, multiple=True, default=(1, 2), show_default=True)
@click.option(
    "--leave-out",
    type=click.Choice(get_args(LeftOut)),
    default="site",
    show_default=True,
    help="Whether a model that scores a page never saw its site, or its collection.",
)
@click.option(
    "--ablate",
    is_flag=True,
    help="Also train without each group of inputs, or each detail of BoilerNet, and show what it brings.",
)
def cross_validate_command(
    directory: Path, config: Path, seeds: tuple[int, ...], *, leave_out: LeftOut, ablate: bool
) -> None:
    """Score models on pages that they never saw; `export` puts the default model's by site into its card.

    BoilerNet learns from half of the sites and is scored on the other half; each seed draws other halves.
    """
    kind_of(config).cross_validate(directory, config, seeds, leave_out=leave_out, ablate=ablate)


@cli.command("evaluate")
@_directory
@_config
@_model
@_repository
@click.option("--version", help="Evaluate this version of the repository instead of the checkpoint.")
def evaluate_command(
    directory: Path, config: Path, model: str | None, repository: Path, version: str | None
) -> None:
    """Score the network on the held-out pages; the default model by a published version, on all pages."""
    kind_of(config).evaluate(directory, config, model or config.stem, version, repository)


@cli.command("export")
@_directory
@_config
@_device
@_model
@_repository
@click.option("--version", type=click.IntRange(1), required=True, help="The new version's number.")
def export_command(directory: Path, config: Path, model: str | None, repository: Path, version: int) -> None:
    """Publish the network as a new version, with its card; run `evaluate` or `cross-validate` first."""
    published = ModelVersion(model or config.stem, str(version))
    kind_of(config).export(directory, config, published, repository)


@cli.command("fine-tune")
@click.option("--labels", type=_file, required=True, help="What `dehusk label` saved.")
@click.option(
    "--from",
    "base",
    metavar="NAME/VERSION",
    required=True,
    help="The version that is made better, as dehusk/7.",
)
@click.option("--version", type=click.IntRange(1), required=True, help="The new version's number.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Where the new version is written, as NAME/VERSION.",
)
@_repository
@click.option(
    "--others",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="Pages of other sites: it is told how many of their blocks are decided otherwise.",
)
@click.option("--base-url", default="", metavar="URL", help="The one that HTML files were labeled with.")
@click.option("--force", is_flag=True, help="Write the version even if it is not better.")
@click.argument("pages", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True)
def fine_tune_command(
    *,
    labels: Path,
    base: str,
    version: int,
    directory: Path,
    repository: Path,
    others: tuple[Path, ...],
    base_url: str,
    force: bool,
    pages: tuple[Path, ...],
) -> None:
    """Make a version of a model that is better on your crawl, from labels of some of its PAGES.

    PAGES are those that were labeled: JSON lines (id, url, html), HTML files, WARC, or directories of them.
    Ends with status 3, and writes nothing, where the version is not better on labeled pages not seen.
    """
    from dehusk.training.fine_tuning.commands import (  # noqa: PLC0415 -- needs scipy and onnx
        FineTuning,
        fine_tune,
    )

    named = ModelVersion(*base.partition("/")[::2])
    fine_tune(FineTuning(labels, pages, named, version, directory, repository, others, base_url, force))


@cli.command("try-fine-tuning")
@_repository
@click.option("--from", "base", metavar="NAME/VERSION", required=True, help="One that saw none of the sites.")
@click.option("--pages", type=click.IntRange(10), default=20, show_default=True, help="Labeled pages.")
@click.option(
    "--sites",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Sites that they are of: each in turn, or so many random ones together.",
)
@click.argument("files", type=_file, nargs=-1, required=True)
def try_fine_tuning_command(
    repository: Path, base: str, pages: int, sites: int, files: tuple[Path, ...]
) -> None:
    """Score fine-tuning on whole sites in FILES, and what it changes on all other pages in them.

    FILES have xz JSON lines, as for `prepare`; labels are made of the gold texts.
    """
    from dehusk.training.fine_tuning.trials import try_fine_tuning  # noqa: PLC0415 -- needs scipy

    named, say = ModelVersion(*base.partition("/")[::2]), partial(click.echo, err=True)
    click.echo(try_fine_tuning(files, named, repository, pages, sites, say=say))


@cli.group("signal", cls=_OrderOfUse)
def signal_group() -> None:
    """Fit what corrects a page's labels by what its site repeats: prepare, fit, evaluate."""


@signal_group.command("prepare")
@_directory
@_config
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True)
@_repository
@click.option(
    "--also",
    multiple=True,
    metavar="NAME/VERSION",
    help="Learn from the answers of this model, too, which never saw the sites.",
)
@click.argument("files", type=_file, nargs=-1, required=True)
def signal_prepare_command(
    *,
    directory: Path,
    config: Path,
    processes: int,
    repository: Path,
    also: tuple[str, ...],
    files: tuple[Path, ...],
) -> None:
    """Answer the pages of whole sites in FILES by models that never saw the site, those of a trained run.

    FILES have xz JSON lines: id, url, site, html, main_content (or null, as of index pages).
    """
    from dehusk.training.site_signal import commands  # noqa: PLC0415 -- needs the training framework

    published = [ModelVersion(*each.partition("/")[::2]) for each in also]
    commands.prepare(files, directory, config, also=published, repository=repository, processes=processes)


@signal_group.command("fit")
@_directory
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=WEIGHTS,
    help="Where the weights are written.  [inference/site_signal.json]",
)
def signal_fit_command(directory: Path, output: Path) -> None:
    """Fit the network to random crawls of all prepared sites."""
    from dehusk.training.site_signal import commands  # noqa: PLC0415 -- needs the training framework

    commands.fit_network(directory, output)


@signal_group.command("evaluate")
@_directory
@click.option("--orders", type=click.IntRange(1), default=8, show_default=True, help="Crawls of each site.")
def signal_evaluate_command(directory: Path, orders: int) -> None:
    """Score networks on crawls of sites that they did not learn from, beside simple rules."""
    from dehusk.training.site_signal import commands  # noqa: PLC0415 -- needs the training framework

    commands.evaluate(directory, orders)


@cli.command("vectors")
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True)
@click.option("--words", type=click.IntRange(2), default=20000, show_default=True)
@click.option("--dimensions", type=click.IntRange(1), default=40, show_default=True)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=VECTORS,
    help="Where the vectors are written.  [inference/grf/word_vectors.npz]",
)
@click.argument("files", type=_file, nargs=-1, required=True)
def vectors_command(
    processes: int, words: int, dimensions: int, output: Path, files: tuple[Path, ...]
) -> None:
    """Make vectors of the words on the pages in FILES, for --labeler grf-words; labels are not read.

    FILES are as for prepare. The words that stand on most pages are kept.
    """
    from dehusk.training.word_vectors import commands  # noqa: PLC0415 -- needs the training framework

    commands.make(files, output, words=words, dimensions=dimensions, processes=processes)


@cli.command("predict")
@_repository
@click.argument("model")
@click.argument("file", type=_file)
def predict_command(repository: Path, model: str, file: Path) -> None:
    """Label the pages in FILE with MODEL, a `name` or `name/version` of the repository.

    FILE has JSON lines, plain or compressed. Pages cut into blocks (id, blocks: path, text) give lines
    {"id", "labels"}: 1 for content, 0 for boilerplate, also for blocks without text; for a model that reads
    elements, the page is rebuilt from them. Pages of HTML (id, url, html) give lines {"id", "text"}; where a
    page cannot be cleaned, no text, and standard error says why.
    """
    name, _, version = model.partition("/")
    labeler = OnnxLabeler(name, version, repository)
    with abandoned_on_errors():
        rebuild = labeler.signature is not TOKENS
        asyncio.run(write_predictions(file, labeler, sys.stdout.buffer, rebuild=rebuild))


def _chart_file(_context: click.Context, _option: click.Parameter, file: Path | None) -> Path | None:
    """A file for a chart, seen to be writable before anything is measured."""
    if file is not None and file.suffix not in _CHART_FORMATS:
        raise click.BadParameter(f"{file} does not end in {', '.join(_CHART_FORMATS)}")
    if file is not None and not file.parent.is_dir():
        raise click.BadParameter(f"there is no directory {file.parent}")
    return file


@cli.command(
    "compare",
    epilog="""\b
Examples:
  compare --every 8 wcxb-dev.jsonl.xz                   all labelers on every eighth page
  compare --sample 100 --chart f1.png *.jsonl.xz        on a hundred pages of each file
  compare --labels labels.jsonl my-pages.jsonl          on pages labeled by `dehusk label`
  compare --labeler dehusk/7 --labeler dehusk/8 --against dehusk/7 test.jsonl.xz""",
)
@_repository
@click.option(
    "--labeler",
    "labelers",
    multiple=True,
    metavar="NAME",
    help="A labeler without a model (rules), a model or one version of it (dehusk, boilernet/2), or an "
    "extractor: trafilatura or resiliparse, as set up by default or without comments "
    "(trafilatura-no-comments). Several times for several.  [all there are]",
)
@click.option(
    "--labels",
    type=_file,
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
    help="Whose F1 is subtracted from the others', page by page.  [the best that was not trained on the "
    "collection]",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Every labeler extracts each page so often, in turn with the others; the median time counts.",
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
    repository: Path,
    labelers: tuple[str, ...],
    labels: Path | None,
    every: int,
    sample: int | None,
    seed: int,
    against: str | None,
    rounds: int,
    processes: int,
    as_json: bool,
    as_markdown: bool,
    chart: Path | None,
    files: tuple[Path, ...],
) -> None:
    r"""Compare all that labels blocks on the labeled pages in FILES, beside trafilatura and resiliparse.

    FILES are read as `prepare` reads them: xz JSON lines with id, url, html and main_content or
    expected_text, or with id and labeled blocks. Pages without gold are left out, and counted. The files of a
    collection, such as NAME-train and NAME-val, are one table.

    \b
    word F1   of the words of the text, as multisets: the mean over pages, with its
              standard error, which takes pages of a site for alike. The text is that
              of `dehusk clean`, or the extractor's; empty where it fails on a page.
    blocks    precision, recall and F1 over the blocks of all pages. Blocks are those
              that dehusk makes, labeled by the gold text, and content where they are
              in the text; or those of the file, labeled as by `predict`. An extractor
              keeps the blocks that its text has.
    ms/page   CPU time from the HTML to the text, all steps.

    A labeler that was trained on a file of the collection, as its card says, is marked with *.
    """
    from dehusk.training.comparison import commands  # noqa: PLC0415 -- other commands do without
    from dehusk.training.comparison.pages import Sampling  # noqa: PLC0415

    if as_json and as_markdown:
        raise click.UsageError("--json and --markdown are two forms of the same; name one")
    show = commands.show_json if as_json else commands.show_markdown if as_markdown else commands.show_tables
    comparison = commands.Comparison(
        labelers=labelers,
        repository=repository,
        sampling=Sampling(every, sample, seed),
        labels=labels,
        against=against,
        rounds=rounds,
        processes=processes,
        chart=chart,
    )
    commands.compare(files, comparison, show)


def main() -> None:
    """Run the command line; errors that dehusk raises on purpose end with their message and status 1."""
    try:
        cli()
    except DehuskError as error:
        raise SystemExit(f"Error: {error}") from error
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _WHERE_INSTALLED:
            raise
        raise SystemExit(f"Error: {package} is not installed here; {_WHERE_INSTALLED[package]}") from error


if __name__ == "__main__":
    main()
