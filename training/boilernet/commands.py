"""The steps from data to a published version of BoilerNet, as `python -m training` runs them."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import click

from inference.encoding import encode
from inference.onnx import OnnxLabeler
from schemas.errors import ConfigurationError
from schemas.pages import ModelVersion
from training.boilernet.block_scores import block_table, score_blocks
from training.boilernet.card import card
from training.boilernet.checkpoint import load_trained
from training.boilernet.config import DataConfig, read_config
from training.boilernet.evaluation import markdown, scores_by_group
from training.boilernet.export import build_model
from training.boilernet.model import network_predict
from training.boilernet.network import weights_of
from training.boilernet.pages import LabeledPage, held_out_pages, training_pages
from training.boilernet.prepare import prepare_pages, prepared_pages
from training.boilernet.trainer import train_boilernet
from training.directory import left_by
from training.predictor import Predict, labeler_predict
from training.publish import announcement, publish, refuse_existing
from training.sources import sources

_CHECKPOINT = "checkpoint.pt"
_SCORES = "scores.md"


def prepare(
    files: Sequence[Path], directory: Path, config: Path, processes: int, validation: Sequence[Path]
) -> None:
    """Label the blocks of the pages of the files."""
    data = read_config(config).data
    for broken in prepare_pages(files, directory, data, processes, validation):
        click.echo(f"left out a page of {broken.url}: {broken.detail}", err=True)
    pages = prepared_pages(directory)
    click.echo(f"{len(pages)} pages, of which {len(training_pages(pages, data))} to train on.")
    click.echo(f"Oracle F1 {fmean(page.oracle for page in pages):.3f}.")


def train(directory: Path, config: Path) -> None:
    """Train the network; goes on from the last checkpoint where one is."""
    run = train_boilernet(prepared_pages(directory), read_config(config), directory / _CHECKPOINT)
    click.echo(f"{run.epochs} epochs in {run.seconds / 60:.1f} minutes.")


def cross_validate(directory: Path, config: Path, seeds: Sequence[int], *, ablate: bool) -> None:  # noqa: ARG001 -- what every kind takes
    """Nothing: a part of the sites is held out once.

    Raises:
        ConfigurationError: always.
    """
    raise ConfigurationError("BoilerNet is scored on held-out pages: run `python -m training evaluate`")


def evaluate(directory: Path, config: Path, model: str, version: str | None, repository: Path) -> None:
    """Score the network, or a version of the repository, on the held-out pages."""
    settings = read_config(config)
    if version:
        predict = labeler_predict(OnnxLabeler(model, version, repository))
    else:
        predict = network_predict(load_trained(directory / _CHECKPOINT, settings))
    scores = _scores(held_out_pages(prepared_pages(directory), settings.data), predict, settings.data)
    if not version:
        (directory / _SCORES).write_text(scores, encoding="utf-8")
    click.echo(scores)


def _scores(held_out: Sequence[LabeledPage], predict: Predict, data: DataConfig | None) -> str:
    tables = [block_table(score_blocks(held_out, predict))]
    if data is not None:
        tables.append(markdown(scores_by_group(held_out, predict, data)))
    return "\n\n".join(tables)


def export(directory: Path, config: Path, published: ModelVersion, repository: Path) -> None:
    """Publish the network as a new version of the repository, with its card."""
    target = repository / published.name / published.version
    refuse_existing(target)
    run = load_trained(directory / _CHECKPOINT, read_config(config))
    pages = prepared_pages(directory)
    scores = left_by("evaluate", directory / _SCORES).read_text(encoding="utf-8")
    text = card(published, run, pages, sources(directory), scores)
    checked = [encode(page.segmented) for page in held_out_pages(pages, run.config.data)]
    graph = build_model(weights_of(run.network), run.vocabulary)
    difference = publish(graph, network_predict(run), [page for page in checked if len(page)], text, target)
    click.echo(announcement(target, difference))
