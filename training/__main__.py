"""`python -m training`: from pages with gold texts to a version of the model repository."""

from pathlib import Path
from statistics import fmean

import click
import orjson

from inference.encoding import encode
from inference.onnx import OnnxLabeler
from inference.repository import DEFAULT_REPOSITORY
from schemas.errors import DehuskError
from schemas.pages import ModelVersion
from training.card import card
from training.checkpoint import load
from training.config import DEFAULT_CONFIG, read_config
from training.evaluation import GroupScore, evaluate, markdown
from training.pages import held_out_pages, training_pages
from training.prepare import prepare, prepared_pages, sources
from training.publish import labeler_predict, network_predict, publish
from training.trainer import train

_CHECKPOINT = "checkpoint.pt"
_SCORES = "scores.json"

_file = click.Path(exists=True, dir_okay=False, path_type=Path)
_directory = click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Where prepared pages, checkpoint and scores are kept.",
)
_config = click.option(
    "--config", type=_file, default=DEFAULT_CONFIG, help="The settings of the run.  [training/boilernet.toml]"
)
_model = click.option("--model", default="boilernet", show_default=True, help="The model's name.")
_repository = click.option(
    "--repository",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_REPOSITORY,
    help="The model repository.  [model_repository]",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Train the model that labels blocks: prepare, train, evaluate, export."""


@cli.command("prepare")
@_directory
@_config
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True)
@click.argument("files", type=_file, nargs=-1, required=True)
def prepare_command(directory: Path, config: Path, processes: int, files: tuple[Path, ...]) -> None:
    """Label the blocks of the pages in FILES (xz JSON lines: id, url, page_type, html, main_content)."""
    data = read_config(config).data
    for broken in prepare(files, directory, data.content_share, processes):
        click.echo(f"left out a page of {broken.url}: {broken.detail}", err=True)
    pages = prepared_pages(directory)
    click.echo(f"{len(pages)} pages, of which {len(training_pages(pages, data))} to train on.")
    click.echo(f"Oracle F1 {fmean(page.oracle for page in pages):.3f}.")


@cli.command("train")
@_directory
@_config
def train_command(directory: Path, config: Path) -> None:
    """Train a network; goes on from the last checkpoint where one is."""
    run = train(prepared_pages(directory), read_config(config), directory / _CHECKPOINT)
    click.echo(f"{run.epochs} epochs in {run.seconds / 60:.1f} minutes.")


@cli.command("evaluate")
@_directory
@_model
@_repository
@click.option("--version", help="Evaluate this version of the repository instead of the checkpoint.")
def evaluate_command(directory: Path, model: str, repository: Path, version: str | None) -> None:
    """Score the network on the held-out sites."""
    run = load(directory / _CHECKPOINT)
    held_out = held_out_pages(prepared_pages(directory), run.config.data)
    predict = labeler_predict(OnnxLabeler(model, version, repository)) if version else network_predict(run)
    scores = evaluate(held_out, predict, run.config.data)
    if not version:
        (directory / _SCORES).write_bytes(orjson.dumps(scores))
    click.echo(markdown(scores))


@cli.command("export")
@_directory
@_model
@_repository
@click.option("--version", required=True, help="The new version's number.")
def export_command(directory: Path, model: str, repository: Path, version: str) -> None:
    """Publish the network as a new version of the repository, with its card; run `evaluate` first."""
    run, pages = load(directory / _CHECKPOINT), prepared_pages(directory)
    scores = [GroupScore(**each) for each in orjson.loads((directory / _SCORES).read_bytes())]
    text = card(ModelVersion(model, version), run, pages, sources(directory), scores)
    checked = [encode(page.segmented) for page in held_out_pages(pages, run.config.data)]
    target = repository / model / version
    difference = publish(run, [page for page in checked if len(page)], text, target)
    click.echo(f"Wrote {target}; largest difference from the network: {difference:.1e}.")


def main() -> None:
    """Run the command line; errors that dehusk raises on purpose end with their message and status 1."""
    try:
        cli()
    except DehuskError as error:
        raise SystemExit(f"Error: {error}") from error


if __name__ == "__main__":
    main()
