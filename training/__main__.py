"""`python -m training`: from labeled pages to a version of the model repository, and its labels."""

import asyncio
import sys
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
    **dict.fromkeys(("resiliparse", "trafilatura"), ".venv has it (make setup makes it)"),
}
"""What training or teaching needs and serving does not."""

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
    """Train the models that label blocks, and label with them: predict."""


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
@click.argument("files", type=_file, nargs=-1, required=True)
def prepare_command(
    directory: Path, config: Path, processes: int, validation: tuple[Path, ...], files: tuple[Path, ...]
) -> None:
    """Label the blocks of the pages in FILES (xz JSON lines: id, url, page_type, html, main_content).

    Pages of which only labeled blocks are known (id, blocks: path, text, label) are rebuilt from them. With a
    configuration that has no table [data], all FILES hold such pages, and their blocks are taken as they are.
    """
    kind_of(config).prepare(files, directory, config, processes, validation)


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
    "--ablate", is_flag=True, help="Also train without each group of inputs, and show what it brings."
)
def cross_validate_command(
    directory: Path, config: Path, seeds: tuple[int, ...], *, leave_out: LeftOut, ablate: bool
) -> None:
    """Score default models on pages that they never saw; `export` puts the scores by site into the card."""
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


def main() -> None:
    """Run the command line; errors that dehusk raises on purpose end with their message and status 1."""
    try:
        cli()
    except DehuskError as error:
        raise SystemExit(f"Error: {error}") from error
    except ModuleNotFoundError as error:
        if error.name not in _WHERE_INSTALLED:
            raise
        raise SystemExit(
            f"Error: {error.name} is not installed here; {_WHERE_INSTALLED[error.name]}"
        ) from error


if __name__ == "__main__":
    main()
