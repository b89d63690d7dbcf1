"""The steps from data to a published version of BoilerNet, as `python -m training` runs them."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean

import click

from dehusk.inference.encoding import encode
from dehusk.inference.onnx import OnnxLabeler
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import ModelVersion
from dehusk.training.boilernet.ablation import ablations, seeds_table
from dehusk.training.boilernet.block_scores import (
    BlockScores,
    block_table,
    median_seed,
    score_blocks,
    seed_table,
)
from dehusk.training.boilernet.card import card
from dehusk.training.boilernet.checkpoint import Run, load_trained
from dehusk.training.boilernet.config import BoilerNetConfig, DataConfig, read_config
from dehusk.training.boilernet.crossvalidation import HalfScores, forget_scores, known_or_scored
from dehusk.training.boilernet.evaluation import markdown, scores_by_group
from dehusk.training.boilernet.export import build_model
from dehusk.training.boilernet.model import network_predict
from dehusk.training.boilernet.network import weights_of
from dehusk.training.boilernet.pages import LabeledPage, held_out_pages, training_pages
from dehusk.training.boilernet.prepare import prepare_pages, prepared_pages
from dehusk.training.boilernet.trainer import train_boilernet
from dehusk.training.directory import left_by
from dehusk.training.predictor import Predict, labeler_predict
from dehusk.training.publish import announcement, publish, refuse_existing
from dehusk.training.sources import sources

_SCORES = "scores.md"


def prepare(
    files: Sequence[Path],
    directory: Path,
    config: Path,
    processes: int,
    validation: Sequence[Path],
    *,
    labels: Path | None = None,
) -> None:
    """Label the blocks of the pages of the files.

    Raises:
        ConfigurationError: labels of `dehusk label` are given, which the default model alone learns from.
    """
    if labels:
        raise ConfigurationError(
            "BoilerNet learns from gold texts or labeled blocks; --labels is for the default model"
        )
    data = read_config(config).data
    forget_scores(directory)
    for broken in prepare_pages(files, directory, data, processes, validation):
        click.echo(f"left out a page of {broken.url}: {broken.detail}", err=True)
    pages = prepared_pages(directory)
    click.echo(f"{len(pages)} pages, of which {len(training_pages(pages, data))} to train on.")
    click.echo(f"Oracle F1 {fmean(page.oracle for page in pages):.3f}.")


def train(directory: Path, config: Path) -> None:
    """Train a network from each seed; goes on from the last checkpoint where one is."""
    pages, settings = prepared_pages(directory), read_config(config)
    for seed in settings.trainer.seeds:
        run = train_boilernet(pages, settings, seed, _checkpoint(directory, seed))
        click.echo(f"seed {seed}: {run.epochs} epochs in {run.seconds / 60:.1f} minutes.")


def _checkpoint(directory: Path, seed: int) -> Path:
    return directory / f"checkpoint-{seed}.pt"


def cross_validate(
    directory: Path, config: Path, seeds: Sequence[int], *, leave_out: str, ablate: bool
) -> None:
    """Score networks on the half of the sites that they never saw; with `ablate` also plainer ones.

    Raises:
        ConfigurationError: a collection is to be left out, of which BoilerNet knows but one.
    """
    if leave_out != "site":
        raise ConfigurationError("BoilerNet learns from one collection: leave out sites")
    pages, settings = prepared_pages(directory), read_config(config)
    variants = {"as configured": settings, **(ablations(settings) if ablate else {})}
    scores: dict[str, list[HalfScores]] = {name: [] for name in variants}
    for seed, (name, variant) in product(seeds, variants.items()):
        scores[name].append(known_or_scored(directory, pages, variant, seed))
        click.echo(f"seed {seed}, {name}: F1 {_written(scores[name][-1])}", err=True)
    click.echo(seeds_table(scores))


def _written(scores: HalfScores) -> str:
    each = (f"{group} " + "/".join(f"{f1:.4f}" for f1 in of_group) for group, of_group in scores.items())
    return ", ".join(each)


def evaluate(directory: Path, config: Path, model: str, version: str | None, repository: Path) -> None:
    """Score what was trained, or a version of the repository, on the held-out pages."""
    settings = read_config(config)
    if version:
        predict = labeler_predict(OnnxLabeler(model, version, repository))
        held_out = held_out_pages(prepared_pages(directory), settings.data)
        click.echo(_scores(score_blocks(held_out, predict), held_out, predict, settings.data))
        return
    runs = _runs(directory, settings)
    held_out = held_out_pages(prepared_pages(directory), settings.data)
    of_seeds = _scores_of_seeds(runs, held_out)
    seed = median_seed(of_seeds)
    scores = _scores(of_seeds[seed], held_out, network_predict(runs[seed]), settings.data)
    if len(runs) > 1:
        scores += "\n\n" + seed_table(of_seeds)
    (directory / _SCORES).write_text(scores, encoding="utf-8")
    click.echo(scores)


def _runs(directory: Path, settings: BoilerNetConfig) -> dict[int, Run]:
    """The trained networks by their seeds."""
    return {seed: load_trained(_checkpoint(directory, seed), settings) for seed in settings.trainer.seeds}


def _scores_of_seeds(runs: Mapping[int, Run], held_out: Sequence[LabeledPage]) -> dict[int, BlockScores]:
    return {seed: score_blocks(held_out, network_predict(run)) for seed, run in runs.items()}


def _scores(
    blocks: BlockScores, held_out: Sequence[LabeledPage], predict: Predict, data: DataConfig | None
) -> str:
    tables = [block_table(blocks)]
    if data is not None:
        tables.append(markdown(scores_by_group(held_out, predict, data)))
    return "\n\n".join(tables)


def export(directory: Path, config: Path, published: ModelVersion, repository: Path) -> None:
    """Publish the network of the median seed as a new version of the repository, with its card."""
    target = repository / published.name / published.version
    refuse_existing(target)
    settings = read_config(config)
    runs = _runs(directory, settings)
    pages = prepared_pages(directory)
    held_out = held_out_pages(pages, settings.data)
    run = runs[median_seed(_scores_of_seeds(runs, held_out))]
    scores = left_by("evaluate", directory / _SCORES).read_text(encoding="utf-8")
    text = card(published, run, pages, sources(directory), scores)
    checked = [encode(page.segmented) for page in held_out]
    graph = build_model(weights_of(run.network), run.vocabulary)
    difference = publish(graph, network_predict(run), [page for page in checked if len(page)], text, target)
    click.echo(announcement(target, difference))
