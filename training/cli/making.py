"""From data to a published version: teach, prepare, train, cross-validate, evaluate, export."""

from pathlib import Path
from typing import get_args

import click

from dehusk.schemas.pages import ModelVersion
from dehusk.streams.models.names import split_name
from dehusk.training.cli.options import (
    FILE,
    config_option,
    device_option,
    directory_option,
    model_option,
    processes_option,
    repository_option,
)
from dehusk.training.dehusk.parts import LeftOut
from dehusk.training.kinds import kind_of
from dehusk.training.labels import DROPPED, TAUGHT, write_labels


@click.command("teach")
@processes_option
@repository_option
@click.option(
    "--teacher", required=True, metavar="NAME/VERSION", help="A model that did not learn from them."
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=TAUGHT,
    help="Where the labels are written.  [training/taught.json]",
)
@click.argument("files", type=FILE, nargs=-1, required=True)
def teach_command(
    processes: int, repository: Path, teacher: str, output: Path, files: tuple[Path, ...]
) -> None:
    """Label pages in FILES without a gold text by what TEACHER, trafilatura and resiliparse agree on.

    FILES have JSON lines, plain or compressed: id, url, html, expected_text (or null).
    """
    from dehusk.training.teachers import taught  # noqa: PLC0415 -- what trains has no such extractors

    named = ModelVersion(*split_name(teacher))
    labels = {each.page: each.labels for each in taught(files, named, repository, processes)}
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
@click.argument("files", type=FILE, nargs=-1, required=True)
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
@click.option("--version", type=click.IntRange(1), required=True, help="The new version's number.")
def export_command(directory: Path, config: Path, model: str | None, repository: Path, version: int) -> None:
    """Publish the network as a new version, with its card; run `evaluate` or `cross-validate` first."""
    published = ModelVersion(model or config.stem, str(version))
    kind_of(config).export(directory, config, published, repository)
