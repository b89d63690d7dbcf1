"""The steps from data to a published version of the default model, as `python -m training` runs them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean

import click

from dehusk.inference.labelers.batching import WINDOW_BLOCKS
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import ModelVersion
from dehusk.training.dehusk.config import DehuskConfig, LeftOut
from dehusk.training.dehusk.examples import learned_from
from dehusk.training.dehusk.export import build_dehusk
from dehusk.training.dehusk.first_pass import INPUT_GROUPS
from dehusk.training.dehusk.model import Training, cross_validated
from dehusk.training.pages.evaluation import (
    PageScores,
    ToldKind,
    gold_table,
    groups,
    kind_table,
    table,
    told_kinds,
)
from dehusk.training.pages.prepared import PreparedPage, prepare_pages, prepared_pages
from dehusk.training.runs import Preparation, read_scores, read_sources, report_broken, write_scores
from dehusk.training.scores import markdown_table, word_f1
from dehusk.training.versions import labeler_answer, labeler_kinds, new_version, publish, report_published

_SCORES = "dehusk-scores.json"
_CARD = Path(__file__).with_name("card.template.md")


def prepare(options: Preparation) -> None:
    """Label and encode the pages of the files.

    Raises:
        ConfigurationError: pages are named for validation, and this model is cross-validated; or labels do
            not fit their pages.
    """
    if options.validation:
        raise ConfigurationError("the default model is cross-validated; --validation is for BoilerNet")
    settings = DehuskConfig.read(options.config)
    report_broken(prepare_pages(options, settings, **asdict(settings.data)))
    pages = list(prepared_pages(options.directory, settings))
    whole = [page for page in pages if not page.altered]
    repaired = sum(page.repaired for page in whole)
    learned = sum(page.reliable for page in whole)
    altered = len(pages) - len(whole)
    click.echo(
        f"{len(whole)} pages, {repaired} labeled or repaired by hand, {learned} to train on; "
        f"{altered} altered ones."
    )
    oracle = {
        page.id: word_f1(page.labeled_words, page.gold)
        for page in pages
        if page.has_gold and not page.repaired
    }
    click.echo(table(groups(pages), {"oracle of the aligned labels": [oracle]}))


def train(directory: Path, config: Path) -> None:
    """Train the networks that `export` publishes, continuing from the last checkpoint, if there is one."""
    settings = DehuskConfig.read(config)
    training = _training(directory, settings)
    training.all_first_passes(training.examples(prepared_pages(directory, settings)))


def _training(directory: Path, settings: DehuskConfig) -> Training:
    return Training(settings, settings.trainer.seed, checkpoints=directory)


def cross_validate(
    directory: Path, config: Path, seeds: Sequence[int], *, leave_out: LeftOut, ablate: bool
) -> None:
    """Score models on what they never saw; with `ablate` also models that miss a group of inputs."""
    settings = DehuskConfig.read(config)
    pages = list(prepared_pages(directory, settings))
    columns: dict[str, list[PageScores]] = {}
    kinds: list[Mapping[str, ToldKind]] = []
    scripts: dict[str, list[tuple[PageScores, PageScores]]] = {}
    for group in (None, *dict.fromkeys(INPUT_GROUPS)) if ablate else (None,):
        for seed in seeds:
            is_kept = group is None and seed == settings.trainer.seed  # `train` leaves such networks
            training = Training(settings, seed, group, directory if is_kept else None)
            scores = cross_validated(pages, training, leave_out)
            if group is None:
                kinds.append(scores.kinds)
                columns.setdefault("published gold", []).append(scores.published)
                columns.setdefault("first pass alone, repaired gold", []).append(scores.first_pass)
                for script, of_script in scores.scripts.items():
                    as_they_are = {page: scores.repaired[page] for page in of_script}
                    scripts.setdefault(script, []).append((of_script, as_they_are))
            columns.setdefault("repaired gold" if group is None else f"without {group}", []).append(
                scores.repaired
            )
    written = "\n\n".join([table(groups(pages), columns), _script_table(scripts), kind_table(kinds)])
    if leave_out == "site" and not ablate:
        write_scores(directory / _SCORES, settings, written)
    click.echo(written)


def _script_table(scripts: Mapping[str, Sequence[tuple[PageScores, PageScores]]]) -> str:
    """Return a row for each script, of the pages whose blocks survive in it."""
    rows = []
    for name, seeds in scripts.items():
        written, original = (
            fmean(score for of_seed in seeds for score in of_seed[column].values()) for column in (0, 1)
        )
        rows.append([name, len(seeds[0][0]), f"{written:.3f}", f"{original:.3f}"])
    return markdown_table(["script", "pages", "F1", "the same pages as they are"], rows)


def evaluate(directory: Path, config: Path, model: str, version: str | None, repository: Path) -> None:
    """Score a published version, the newest unless one is named, on the pages of a directory."""
    pages = list(prepared_pages(directory, DehuskConfig.read(config)))
    labeler = OnnxLabeler(model, version or "", repository)
    click.echo(gold_table(pages, labeler_answer(labeler)))
    kinds = labeler_kinds(labeler)
    if kinds is not None:
        with_gold = [page for page in pages if page.has_gold]
        click.echo(f"\n{kind_table([told_kinds(with_gold, kinds)])}")


def export(directory: Path, config: Path, published: ModelVersion, repository: Path) -> None:
    """Publish the trained model as a new version of the repository, with its card."""
    target, settings = new_version(repository, published), DehuskConfig.read(config)
    scores = read_scores("cross-validate", directory / _SCORES, settings)
    pages = list(prepared_pages(directory, settings))
    training = _training(directory, settings)
    trained = training.model(training.examples(pages))
    weights = sum(each.numel() for each in trained.first.network.parameters())
    card = _card(pages, settings, published, ", ".join(read_sources(directory)), scores, weights=weights)
    checked = [page.encoded for page in pages[::10] if 0 < len(page.encoded) <= WINDOW_BLOCKS]
    graph, kinds = build_dehusk(trained), trained.page_kinds
    report_published(target, publish(graph, trained.answer, checked, card, target, kinds=kinds))


def _card(
    pages: Sequence[PreparedPage],
    config: DehuskConfig,
    published: ModelVersion,
    data: str,
    scores: str,
    *,
    weights: int,
) -> str:
    learned = [page for page in learned_from(pages, config) if not page.altered]
    whole = [page for page in pages if not page.altered]
    facts = asdict(config.data) | asdict(config.network) | asdict(config.trees) | asdict(config.trainer)
    facts |= asdict(config.answer) | asdict(published)
    facts |= {
        "tree_learning_rate": config.trees.learning_rate,
        "importance": ", ".join(f"{share} in {name}" for name, share in config.importance.items()),
        "sources": data,
        "pages": len(whole),
        "altered_pages": len(learned_from(pages, config)) - len(learned),
        "repaired": sum(page.repaired for page in whole),
        "dropped": sum(page.repaired and not page.reliable for page in whole),
        "training_pages": len(learned),
        "training_blocks": sum(len(page.content) for page in learned),
        "taught": sum(not page.has_gold for page in learned),
        "with_comments": sum(bool(page.comment.any()) for page in learned),
        "comment_blocks": sum(int(page.comment.sum()) for page in learned),
        "with_kind": sum(bool(page.page_type) for page in learned),
        "weights": weights,
        "scores": scores,
    }
    return _CARD.read_text(encoding="utf-8").format_map(facts)
