"""The steps from data to a published version of Web2Text, as `python -m training` runs them."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from dehusk.inference.batching import WINDOW_BLOCKS
from dehusk.inference.onnx import OnnxLabeler
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import Encoding, ModelVersion
from dehusk.training.boilernet.block_scores import BlockScores, block_table, median_seed, seed_table
from dehusk.training.dehusk.evaluation import groups, page_score, table
from dehusk.training.dehusk.pages import DehuskPage, prepare_pages, prepared_pages
from dehusk.training.directory import left_by
from dehusk.training.predictor import Answer, labeler_answer
from dehusk.training.publish import announcement, publish, refuse_existing
from dehusk.training.sources import sources, write_sources
from dehusk.training.web2text.card import card
from dehusk.training.web2text.config import Web2TextConfig, read_config
from dehusk.training.web2text.evaluation import score_pages
from dehusk.training.web2text.export import build_web2text
from dehusk.training.web2text.model import Web2TextModel, pairwise_network, unary_network
from dehusk.training.web2text.sequences import Sequences
from dehusk.training.web2text.split import split
from dehusk.training.web2text.trainer import Run, load, new_run, train_network

_SCORES = "web2text-scores.md"
_NETWORKS = {"unary": unary_network, "pairwise": pairwise_network}


def prepare(
    files: Sequence[Path],
    directory: Path,
    config: Path,
    processes: int,
    validation: Sequence[Path],
    *,
    labels: Path | None = None,
) -> None:
    """Label and encode the pages of the files.

    Raises:
        ConfigurationError: pages are named for validation, and the names of sites decide here; or labels do
            not fit their pages.
    """
    if validation:
        raise ConfigurationError("sites are held out by their names; --validation is for BoilerNet")
    data = read_config(config).data
    shares, encodings = (data.content_share, data.least_oracle), (Encoding.WEB2TEXT,)
    broken = prepare_pages(files, directory, *shares, processes, labels=labels, encodings=encodings)
    for each in broken:
        click.echo(f"left out a page of {each.url}: {each.detail}", err=True)
    write_sources(files, directory)
    parts = split(prepared_pages(directory), data)
    click.echo(
        f"{len(parts.learned)} pages to learn from, {len(parts.validated)} to choose the iteration by, "
        f"{len(parts.held_out)} to score."
    )


def train(directory: Path, config: Path) -> None:
    """Train both networks from each seed; goes on from the last checkpoint where one is."""
    settings = read_config(config)
    parts = split(prepared_pages(directory), settings.data)
    excerpt = settings.trainer.excerpt_blocks
    blocks = [Sequences.of_blocks(pages) for pages in (parts.learned, parts.validated)]
    pairs = [Sequences.of_pairs(pages) for pages in (parts.learned, parts.validated)]
    for seed in settings.trainer.seeds:
        for kind, (learned, validated), length in zip(
            _NETWORKS, (blocks, pairs), (excerpt, excerpt - 1), strict=True
        ):
            file = _checkpoint(directory, seed, kind)
            run = _run(file, settings, seed, kind, learned)
            train_network(run, learned, validated, file, partial(_say, kind), length=length)


def _say(kind: str, progress: str) -> None:
    click.echo(f"{kind}, {progress}", err=True)


def _checkpoint(directory: Path, seed: int, kind: str) -> Path:
    return directory / f"{kind}-{seed}.pt"


def _run(file: Path, settings: Web2TextConfig, seed: int, kind: str, learned: Sequences) -> Run:
    """The run that a file holds, or a new one."""
    make = _NETWORKS[kind]
    if file.exists():
        return load(file, make, settings)
    return new_run(make(settings.network, seed), learned.standard(), settings, seed)


def cross_validate(
    directory: Path,  # noqa: ARG001 -- what every kind takes
    config: Path,  # noqa: ARG001
    seeds: Sequence[int],  # noqa: ARG001
    *,
    leave_out: str,  # noqa: ARG001
    ablate: bool,  # noqa: ARG001
) -> None:
    """Nothing: a part of the sites is held out once.

    Raises:
        ConfigurationError: always.
    """
    raise ConfigurationError("Web2Text is scored on held-out pages: run `python -m training evaluate`")


def evaluate(directory: Path, config: Path, model: str, version: str | None, repository: Path) -> None:
    """Score what was trained, or a version of any model of the repository, on the held-out pages."""
    settings = read_config(config)
    held_out = split(prepared_pages(directory), settings.data).held_out
    if version:
        answer = labeler_answer(OnnxLabeler(model, version, repository))
        click.echo(_scores(score_pages(held_out, answer), held_out, answer))
        return
    models = _models(directory, settings)
    of_seeds = {seed: score_pages(held_out, trained) for seed, trained in models.items()}
    seed = median_seed(of_seeds)
    scores = _scores(of_seeds[seed], held_out, models[seed])
    if len(models) > 1:
        scores += "\n\n" + seed_table(of_seeds)
    (directory / _SCORES).write_text(scores, encoding="utf-8")
    click.echo(scores)


def _models(directory: Path, settings: Web2TextConfig) -> dict[int, Web2TextModel]:
    """What was trained, by its seed."""
    return {seed: _model(directory, settings, seed) for seed in settings.trainer.seeds}


def _model(directory: Path, settings: Web2TextConfig, seed: int) -> Web2TextModel:
    unary, pairwise = (
        load(_checkpoint(directory, seed, kind), make, settings) for kind, make in _NETWORKS.items()
    )
    return Web2TextModel(
        unary.trained(), pairwise.trained(), unary.standard, pairwise.standard, settings.network.coupling
    )


def _scores(blocks: BlockScores, pages: Sequence[DehuskPage], answer: Answer) -> str:
    """Tables of the scores of blocks, and of the text that is kept."""
    scores: dict[str, dict[str, float]] = {"published gold": {}, "repaired gold": {}}
    for page in pages:
        answers = answer(page.encoded)
        scores["published gold"][page.id] = page_score(page, page.encoded, answers, page.gold)
        scores["repaired gold"][page.id] = page_score(page, page.encoded, answers, page.best_gold)
    return (
        block_table(blocks) + "\n\n" + table(groups(pages), {name: [each] for name, each in scores.items()})
    )


def export(directory: Path, config: Path, published: ModelVersion, repository: Path) -> None:
    """Publish the model of the median seed as a new version of the repository, with its card."""
    target, settings = repository / published.name / published.version, read_config(config)
    refuse_existing(target)
    scores = left_by("evaluate", directory / _SCORES).read_text(encoding="utf-8")
    parts = split(prepared_pages(directory), settings.data)
    models = _models(directory, settings)
    seed = median_seed({seed: score_pages(parts.held_out, trained) for seed, trained in models.items()})
    runs = {
        kind: load(_checkpoint(directory, seed, kind), make, settings) for kind, make in _NETWORKS.items()
    }
    text = card(published, runs, parts, sources(directory), scores)
    checked = [page.encoded for page in parts.held_out[::10] if 0 < len(page.encoded) <= WINDOW_BLOCKS]
    difference = publish(build_web2text(models[seed]), models[seed], checked, text, target)
    click.echo(announcement(target, difference))
