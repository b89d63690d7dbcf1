"""Commands from data to a published version, fine-tuning, and the correction by sites (signal)."""

from pathlib import Path
from typing import Any, get_args

import click

from dehusk.inference.labelers.grf.word_vectors import VECTORS
from dehusk.inference.selection.site_signal import WEIGHTS
from dehusk.schemas.pages import ModelVersion
from dehusk.streams.models.names import split_name
from dehusk.training.cli.options import (
    FILE,
    OrderOfUse,
    config_option,
    device_option,
    directory_option,
    files_argument,
    model_option,
    output_option,
    processes_option,
    repository_option,
    version_option,
)
from dehusk.training.dehusk.config import LeftOut
from dehusk.training.kinds import kind_of
from dehusk.training.pages.labels import DROPPED, TAUGHT, write_labels
from dehusk.training.runs import MAX_SEED, Preparation, report


@click.command("teach")
@processes_option
@repository_option
@click.option(
    "--teacher", required=True, metavar="NAME/VERSION", help="A model that did not learn from them."
)
@output_option(TAUGHT, "File of the labels.  [training/taught.json]")
@files_argument
def teach_command(
    processes: int, repository: Path, teacher: str, output: Path, files: tuple[Path, ...]
) -> None:
    """Label pages in FILES without a gold text by what TEACHER, trafilatura and resiliparse agree on.

    FILES have JSON lines, plain or compressed: id, url, html, expected_text (or null).
    """
    from dehusk.training.pages.extractors import taught  # noqa: PLC0415 -- what trains has no such extractors

    named = ModelVersion(*split_name(teacher))
    labels = dict(taught(files, named, repository, processes))
    write_labels(output, labels)
    click.echo(f"{sum(each != DROPPED for each in labels.values())} of {len(labels)} pages have labels.")


@click.command("prepare")
@directory_option
@config_option
@processes_option
@click.option(
    "--validation", type=FILE, multiple=True, help="A file whose pages are all held out, for BoilerNet."
)
@click.option(
    "--labels",
    type=FILE,
    help="Labels of `dehusk label`: their pages take these, and other pages may lack a gold text. Those that "
    "do not fit their pages are named, and nothing is written.",
)
@files_argument
def prepare_command(
    *,
    config: Path,
    **options: Any,  # noqa: ANN401 the values of the other options, each for the field of its name
) -> None:
    """Label the blocks of the pages in FILES (JSON lines, plain or compressed: id, url, html, main_content).

    Pages of which only labeled blocks are known (id, blocks: path, text, label) are rebuilt from them. With a
    configuration that has no table [data], all FILES hold such pages, and their blocks are taken as they are.
    """
    kind_of(config).prepare(Preparation(config=config, **options))


@click.command("train")
@directory_option
@config_option
@device_option
def train_command(directory: Path, config: Path) -> None:
    """Train a network; goes on from the last checkpoint where one is."""
    kind_of(config).train(directory, config)


@click.command("cross-validate")
@directory_option
@config_option
@device_option
@click.option(
    "--seed", "seeds", type=click.IntRange(0, MAX_SEED), multiple=True, default=(1, 2), show_default=True
)
@click.option(
    "--leave-out",
    type=click.Choice(get_args(LeftOut)),
    default="site",
    show_default=True,
    help="Pages that a model which scores a page never saw: those of its site, or of its collection. The "
    "latter trains four networks for each collection.",
)
@click.option(
    "--ablate",
    is_flag=True,
    help="Also train without each group of inputs, and show what it brings.",
)
def cross_validate_command(
    directory: Path, config: Path, seeds: tuple[int, ...], *, leave_out: LeftOut, ablate: bool
) -> None:
    """Score default models on pages that they never saw; `export` puts the scores by site into the card."""
    kind_of(config).cross_validate(directory, config, seeds, leave_out=leave_out, ablate=ablate)


@click.command("evaluate")
@directory_option
@config_option
@model_option
@repository_option
@click.option("--version", help="Evaluate this version of the repository instead of the checkpoint.")
def evaluate_command(
    directory: Path, config: Path, model: str | None, repository: Path, version: str | None
) -> None:
    """Score the network on the held-out pages; the default model by a published version, on all pages."""
    kind_of(config).evaluate(directory, config, model or config.stem, version, repository)


@click.command("export")
@directory_option
@config_option
@device_option
@model_option
@repository_option
@version_option
def export_command(directory: Path, config: Path, model: str | None, repository: Path, version: int) -> None:
    """Publish the network as a new version, with its card; run `evaluate` or `cross-validate` first."""
    published = ModelVersion(model or config.stem, str(version))
    kind_of(config).export(directory, config, published, repository)


@click.command("vectors")
@processes_option
@click.option("--words", type=click.IntRange(2), default=20000, show_default=True)
@click.option("--dimensions", type=click.IntRange(1), default=40, show_default=True)
@output_option(VECTORS, "File of the vectors.  [inference/labelers/grf/word_vectors.npz]")
@files_argument
def vectors_command(
    processes: int, words: int, dimensions: int, output: Path, files: tuple[Path, ...]
) -> None:
    """Make vectors of the words on the pages in FILES, for --labeler grf-words; labels are not read.

    FILES are as for prepare. The words that stand on most pages are kept.
    """
    from dehusk.training import word_vectors as commands  # noqa: PLC0415 -- needs the training framework

    commands.make(files, output, words=words, dimensions=dimensions, processes=processes)


@click.command("fine-tune")
@click.option("--labels", type=FILE, required=True, help="Labels that `dehusk label` saved.")
@click.option(
    "--from",
    "base",
    metavar="NAME/VERSION",
    required=True,
    help="The version that is made better, as dehusk/13.",
)
@version_option
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder for the new version, which is NAME/VERSION in it.",
)
@repository_option
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
    base: str,
    **options: Any,  # noqa: ANN401 the values of the other options, each for the field of its name
) -> None:
    """Make a version of a model that is better on your crawl, from labels of some of its PAGES.

    PAGES are those that were labeled: JSON lines (id, url, html), HTML files, WARC, or directories of them.
    Ends with status 3, and writes nothing, where the version is not better on labeled pages not seen.
    """
    from dehusk.training.fine_tuning.commands import (  # noqa: PLC0415 -- needs scipy and onnx
        FineTuning,
        fine_tune,
    )

    fine_tune(FineTuning(base=ModelVersion(*split_name(base)), **options))


@click.command("try-fine-tuning")
@repository_option
@click.option("--from", "base", metavar="NAME/VERSION", required=True, help="One that saw none of the sites.")
@click.option("--pages", type=click.IntRange(10), default=20, show_default=True, help="Labeled pages.")
@click.option(
    "--sites",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Sites that they are of: each in turn, or so many random ones together.",
)
@files_argument
def try_fine_tuning_command(
    repository: Path, base: str, pages: int, sites: int, files: tuple[Path, ...]
) -> None:
    """Score fine-tuning on whole sites in FILES, and what it changes on all other pages in them.

    FILES have JSON lines, as for `prepare`; labels are made of the gold texts.
    """
    from dehusk.training.fine_tuning.trials import try_fine_tuning  # noqa: PLC0415 -- needs scipy

    named = ModelVersion(*split_name(base))
    click.echo(try_fine_tuning(files, named, repository, pages, sites, report=report))


@click.group("signal", cls=OrderOfUse)
def signal_group() -> None:
    """Fit what corrects a page's labels by what its site repeats: prepare, fit, evaluate."""


@signal_group.command("prepare")
@directory_option
@config_option
@processes_option
@repository_option
@click.option(
    "--also",
    multiple=True,
    metavar="NAME/VERSION",
    help="Learn from the answers of this model, too, which never saw the sites.",
)
@files_argument
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

    published = [ModelVersion(*split_name(each)) for each in also]
    commands.prepare(Preparation(files, directory, config, processes), also=published, repository=repository)


@signal_group.command("fit")
@directory_option
@output_option(WEIGHTS, "File of the weights.  [inference/selection/site_signal.json]")
def signal_fit_command(directory: Path, output: Path) -> None:
    """Fit the network to random crawls of all prepared sites."""
    from dehusk.training.site_signal import commands  # noqa: PLC0415 -- needs the training framework

    commands.fit_network(directory, output)


@signal_group.command("evaluate")
@directory_option
@click.option("--orders", type=click.IntRange(1), default=8, show_default=True, help="Crawls of each site.")
def signal_evaluate_command(directory: Path, orders: int) -> None:
    """Score networks on crawls of sites that they did not learn from, beside simple rules."""
    from dehusk.training.site_signal import commands  # noqa: PLC0415 -- needs the training framework

    commands.evaluate(directory, orders)
