"""The steps from data to a published version of Web2Text, as `python -m training` runs them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

from dehusk.inference.labelers.batching import WINDOW_BLOCKS
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import Encoding, ModelVersion
from dehusk.training.pages.evaluation import gold_table
from dehusk.training.pages.prepared import PreparedPage, prepare_pages, prepared_pages
from dehusk.training.runs import (
    Preparation,
    read_scores,
    read_sources,
    report,
    report_broken,
    write_scores,
)
from dehusk.training.scores import BlockScores, block_table, require_both_classes
from dehusk.training.versions import (
    Answer,
    HeldOut,
    labeler_answer,
    new_version,
    publish,
    report_published,
    score_answers,
)
from dehusk.training.web2text.config import Split, Web2TextConfig, split
from dehusk.training.web2text.export import build_web2text
from dehusk.training.web2text.model import (
    NETWORKS,
    Sequences,
    Web2TextModel,
    kernel_weights,
    new_network,
)
from dehusk.training.web2text.trainer import Run, load, new_run, origin_of, train_network

_SCORES = "web2text-scores.json"
_CARD = Path(__file__).with_name("card.template.md")


def prepare(options: Preparation) -> None:
    """Label and encode the pages of the files.

    Raises:
        ConfigurationError: pages are named for validation, and the names of sites decide here; or labels do
            not fit their pages.
    """
    if options.validation:
        raise ConfigurationError("sites are held out by their names; --validation is for BoilerNet")
    settings = Web2TextConfig.read(options.config)
    data, encodings = settings.data, (Encoding.WEB2TEXT,)
    broken = prepare_pages(
        options,
        settings,
        content_share=data.content_share,
        least_oracle=data.least_oracle,
        encodings=encodings,
    )
    report_broken(broken)
    parts = split(prepared_pages(options.directory, settings), data)
    click.echo(
        f"{len(parts.learned)} pages to learn from, {len(parts.validated)} to choose the iteration by, "
        f"{len(parts.held_out)} to score."
    )


def train(directory: Path, config: Path) -> None:
    """Train both networks from each seed, from the last checkpoint on where one is."""
    settings = Web2TextConfig.read(config)
    parts = split(prepared_pages(directory, settings), settings.data)
    for pages, use in ((parts.learned, "learn from"), (parts.validated, "choose the iteration by")):
        require_both_classes([page.content for page in pages], f"to {use}")
    origin, excerpt = origin_of(settings, parts), settings.trainer.excerpt_blocks
    blocks = [Sequences.of_blocks(pages) for pages in (parts.learned, parts.validated)]
    pairs = [Sequences.of_pairs(pages) for pages in (parts.learned, parts.validated)]
    for seed in settings.trainer.seeds:
        for kind, (learned, validated), length in zip(
            NETWORKS, (blocks, pairs), (excerpt, excerpt - 1), strict=True
        ):
            file = _checkpoint(directory, seed, kind)
            if file.exists():
                run = load(file, kind, settings, origin)
            else:
                network = new_network(kind, settings.network, seed)
                run = new_run(network, learned.standard(), settings, origin, seed)
            train_network(run, learned, validated, file, partial(_report, kind), length=length)


def _report(kind: str, progress: str) -> None:
    report(f"{kind}, {progress}")


def _checkpoint(directory: Path, seed: int, kind: str) -> Path:
    return directory / f"{kind}-{seed}.pt"


def cross_validate(*_arguments: object, **_options: object) -> None:
    """Refuse: a part of the sites is held out once.

    Raises:
        ConfigurationError: always.
    """
    raise ConfigurationError("Web2Text is scored on held-out pages: run `python -m training evaluate`")


def evaluate(directory: Path, config: Path, model: str, version: str | None, repository: Path) -> None:
    """Score the trained networks, or a version of any model of the repository, on the held-out pages."""
    settings = Web2TextConfig.read(config)
    parts = split(prepared_pages(directory, settings), settings.data)
    if version:
        answers, keep = {0: labeler_answer(OnnxLabeler(model, version, repository))}, None
    else:
        runs = _runs(directory, settings, parts)
        answers = {seed: _model(each) for seed, each in runs.items()}
        keep = partial(write_scores, directory / _SCORES, settings)
    _held_out(parts.held_out).evaluate(answers, keep)


def _runs(directory: Path, settings: Web2TextConfig, parts: Split) -> dict[int, dict[str, Run]]:
    """Load both networks of each seed."""
    origin = origin_of(settings, parts)
    return {
        seed: {kind: load(_checkpoint(directory, seed, kind), kind, settings, origin) for kind in NETWORKS}
        for seed in settings.trainer.seeds
    }


def _model(runs: Mapping[str, Run]) -> Web2TextModel:
    unary, pairwise = runs["unary"], runs["pairwise"]
    coupling = unary.config.network.coupling
    return Web2TextModel(unary.trained(), pairwise.trained(), unary.standard, pairwise.standard, coupling)


def _held_out(pages: Sequence[PreparedPage]) -> HeldOut:
    def tables(blocks: BlockScores, answer: Answer) -> str:
        return f"{block_table(blocks)}\n\n{gold_table(pages, answer)}"

    return HeldOut(partial(score_pages, pages), tables)


def score_pages(pages: Iterable[PreparedPage], answer: Answer) -> BlockScores:
    """Score the labels of the blocks of all pages with reliable labels."""
    scored = [page for page in pages if page.reliable and len(page.content)]
    return score_answers([page.content for page in scored], (answer(page.encoded) for page in scored))


def export(directory: Path, config: Path, published: ModelVersion, repository: Path) -> None:
    """Publish the model of the median seed as a new version of the repository, with its card."""
    target, settings = new_version(repository, published), Web2TextConfig.read(config)
    scores = read_scores("evaluate", directory / _SCORES, settings)
    parts = split(prepared_pages(directory, settings), settings.data)
    runs = _runs(directory, settings, parts)
    models = {seed: _model(of_seed) for seed, of_seed in runs.items()}
    seed = _held_out(parts.held_out).median(models)
    text = card(published, runs[seed], parts, read_sources(directory), scores)
    checked = [page.encoded for page in parts.held_out[::10] if 0 < len(page.encoded) <= WINDOW_BLOCKS]
    report_published(target, publish(build_web2text(models[seed]), models[seed], checked, text, target))


def card(
    model: ModelVersion, runs: Mapping[str, Run], parts: Split, sources: Iterable[str], scores: str
) -> str:
    """Write the model card in Markdown."""
    unary, pairwise = runs["unary"], runs["pairwise"]
    config = unary.config
    facts = asdict(config.data) | asdict(config.network) | asdict(config.trainer)
    facts |= {
        "model": model.name,
        "version": model.version,
        "sources": ", ".join(sources),
        "pages": len(parts.learned),
        "blocks": sum(len(page.content) for page in parts.learned),
        "validated": len(parts.validated),
        "held_out": len(parts.held_out),
        "held_out_share": 1000 * config.data.held_out,
        "validation_share": 1000 * (config.data.held_out + config.data.validation),
        "unary_weights": kernel_weights(unary.network),
        "pairwise_weights": kernel_weights(pairwise.network),
        "unary_iterations": unary.best_iterations,
        "pairwise_iterations": pairwise.best_iterations,
        "unary_error": unary.error,
        "pairwise_error": pairwise.error,
        "filters": ", ".join(map(str, config.network.filters)),
        "kernels": ", ".join(map(str, config.network.kernels)),
        "seeds": ", ".join(map(str, config.trainer.seeds)),
        "seed": unary.seed,
        "scores": scores,
    }
    return _CARD.read_text(encoding="utf-8").format_map(facts)
