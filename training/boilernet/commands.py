"""The steps from data to a published version of BoilerNet, as `python -m training` runs them."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import fmean

import click

from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import ModelVersion
from dehusk.training.boilernet.config import BoilerNetConfig, DataConfig
from dehusk.training.boilernet.evaluation import group_table, score_blocks, scores_by_group
from dehusk.training.boilernet.export import build_model
from dehusk.training.boilernet.labeled_pages import (
    LabeledPage,
    held_out_pages,
    prepare_pages,
    prepared_pages,
    reliable,
    training_pages,
)
from dehusk.training.boilernet.trainer import Run, load_trained, network_answer, origin_of, train_boilernet
from dehusk.training.runs import Preparation, read_scores, read_sources, report_broken, write_scores
from dehusk.training.scores import BlockScores, block_table
from dehusk.training.versions import Answer, HeldOut, labeler_answer, new_version, publish, report_published

_SCORES = "scores.json"
_CARD = Path(__file__).with_name("card.template.md")
_BLOCKS_CARD = Path(__file__).with_name("card.blocks.md")
_FRAMEWORKS = {"keras": "Keras", "torch": "PyTorch"}


def prepare(options: Preparation) -> None:
    """Label the blocks of the pages of the files.

    Raises:
        ConfigurationError: labels of `dehusk label` are given, which the default model alone learns from.
    """
    if options.labels:
        raise ConfigurationError(
            "BoilerNet learns from gold texts or labeled blocks; --labels is for the default model"
        )
    settings = BoilerNetConfig.read(options.config)
    report_broken(prepare_pages(options, settings))
    pages = prepared_pages(options.directory, settings)
    click.echo(f"{len(pages)} pages, of which {len(training_pages(pages, settings.data))} to train on.")
    click.echo(f"Oracle F1 {fmean(page.oracle for page in pages):.3f}.")


def train(directory: Path, config: Path) -> None:
    """Train a network from each seed, from its last checkpoint on where one is."""
    settings = BoilerNetConfig.read(config)
    pages = prepared_pages(directory, settings)
    for seed in settings.trainer.seeds:
        run = train_boilernet(pages, settings, seed, _checkpoint(directory, seed))
        click.echo(f"seed {seed}: {run.epochs} epochs in {run.seconds / 60:.1f} minutes.")


def _checkpoint(directory: Path, seed: int) -> Path:
    return directory / f"checkpoint-{seed}.pt"


def cross_validate(*_arguments: object, **_options: object) -> None:
    """Refuse: a part of the sites is held out once.

    Raises:
        ConfigurationError: always.
    """
    raise ConfigurationError("BoilerNet is scored on held-out pages: run `python -m training evaluate`")


def evaluate(directory: Path, config: Path, model: str, version: str | None, repository: Path) -> None:
    """Score the trained networks, or a version of the repository, on the held-out pages."""
    settings = BoilerNetConfig.read(config)
    pages = prepared_pages(directory, settings)
    if version:
        answers, keep = {0: labeler_answer(OnnxLabeler(model, version, repository))}, None
    else:
        answers = _answers(_runs(directory, settings, pages))
        keep = partial(write_scores, directory / _SCORES, settings)
    _held_out(pages, settings.data).evaluate(answers, keep)


def _runs(directory: Path, settings: BoilerNetConfig, pages: Iterable[LabeledPage]) -> dict[int, Run]:
    origin, seeds = origin_of(settings, pages), settings.trainer.seeds
    return {seed: load_trained(_checkpoint(directory, seed), settings, origin) for seed in seeds}


def _answers(runs: dict[int, Run]) -> dict[int, Answer]:
    return {seed: network_answer(run) for seed, run in runs.items()}


def _held_out(pages: Iterable[LabeledPage], data: DataConfig | None) -> HeldOut:
    held_out = held_out_pages(pages, data)

    def tables(blocks: BlockScores, answer: Answer) -> str:
        of_blocks = block_table(blocks)
        if data is None:
            return of_blocks
        return f"{of_blocks}\n\n{group_table(scores_by_group(held_out, answer, data))}"

    return HeldOut(partial(score_blocks, held_out), tables)


def export(directory: Path, config: Path, published: ModelVersion, repository: Path) -> None:
    """Publish the network of the median seed as a new version of the repository, with its card."""
    target, settings = new_version(repository, published), BoilerNetConfig.read(config)
    pages = prepared_pages(directory, settings)
    runs = _runs(directory, settings, pages)
    run = runs[_held_out(pages, settings.data).median(_answers(runs))]
    scores = read_scores("evaluate", directory / _SCORES, settings)
    text = card(published, run, pages, read_sources(directory), scores)
    encoded = (page.encoded for page in held_out_pages(pages, settings.data))
    checked = [page for page in encoded if len(page)]
    graph = build_model(run.network, run.vocabulary)
    report_published(target, publish(graph, network_answer(run), checked, text, target))


def card(
    model: ModelVersion, run: Run, pages: Sequence[LabeledPage], sources: Iterable[str], scores: str
) -> str:
    """Write the model card in Markdown, of pages with gold texts or of labeled blocks."""
    data, trained = run.config.data, training_pages(pages, run.config.data)
    held_out = held_out_pages(pages, data)
    network, trainer = run.config.network, run.config.trainer
    facts = asdict(network) | asdict(trainer)
    facts |= {
        "model": model.name,
        "version": model.version,
        "sources": ", ".join(sources),
        "pages": len(pages),
        "training_pages": len(trained),
        "training_blocks": sum(len(page.segmented) for page in trained),
        "held_out_pages": len(held_out),
        "held_out_blocks": sum(len(page.segmented) for page in held_out),
        "weights": sum(each.numel() for each in run.network.parameters()),
        "epochs": run.epochs,
        "minutes": run.seconds / 60,
        "lengths": "similar" if trainer.by_length else "any",
        "schedule": "falls to zero" if trainer.decay else "stays",
        "unknown": "each" if network.separate_unknown else "in common",
        "read": "counts as words" if network.punctuation else "is not read",
        "weighed": "both classes" if trainer.class_weights else "all blocks",
        "framework": _FRAMEWORKS[network.first_weights],
        "kept": _kept(run),
        "seeds": _seeds(run),
        "scores": scores,
    }
    if data is None:
        return _BLOCKS_CARD.read_text(encoding="utf-8").format_map(facts)
    facts |= asdict(data) | {
        "held_out": 1000 * data.held_out,
        "unreliable_pages": sum(not reliable(page, data) for page in pages),
    }
    return _CARD.read_text(encoding="utf-8").format_map(facts)


def _seeds(run: Run) -> str:
    seeds = run.config.trainer.seeds
    if len(seeds) == 1:
        return f"Seed {run.seed}."
    named = ", ".join(map(str, seeds))
    return f"Seeds {named}; this is seed {run.seed}, whose F1 is the median, averaged over both classes."


def _kept(run: Run) -> str:
    if run.best is None:
        return "The weights are those of the last epoch: none was chosen by its score."
    return f"The weights are those of epoch {run.best.epochs}, the best on the held-out pages."
