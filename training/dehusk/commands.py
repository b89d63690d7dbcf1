"""The steps from data to a published version of the default model, as `python -m training` runs them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean

import click

from dehusk.inference.batching import WINDOW_BLOCKS
from dehusk.inference.onnx import OnnxLabeler
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import EncodedPage, ModelVersion
from dehusk.training.dehusk.config import DehuskConfig, read_config
from dehusk.training.dehusk.crossvalidation import cross_validated
from dehusk.training.dehusk.evaluation import Floats, PageScores, groups, page_score, table
from dehusk.training.dehusk.examples import Example
from dehusk.training.dehusk.export import build_dehusk
from dehusk.training.dehusk.model import train_dehusk, train_first_passes
from dehusk.training.dehusk.pages import DehuskPage, learned_from, prepare_pages, prepared_pages
from dehusk.training.dehusk.parts import LeftOut, by_collection, by_site
from dehusk.training.dehusk.trainer import INPUT_GROUPS
from dehusk.training.directory import left_by
from dehusk.training.predictor import labeler_answer
from dehusk.training.publish import announcement, publish, refuse_existing
from dehusk.training.score import word_f1
from dehusk.training.sources import sources, write_sources

_SCORES = "dehusk-scores.md"
_CARD = Path(__file__).with_name("card.template.md")


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
        ConfigurationError: pages are named for validation, and this model is cross-validated; or labels do
            not fit their pages.
    """
    if validation:
        raise ConfigurationError("the default model is cross-validated; --validation is for BoilerNet")
    data = read_config(config)
    shares = (data.content_share, data.least_oracle)
    for broken in prepare_pages(files, directory, *shares, processes, labels=labels):
        click.echo(f"left out a page of {broken.url}: {broken.detail}", err=True)
    write_sources(files, directory)
    pages = list(prepared_pages(directory))
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
    """Train the networks that `export` publishes; goes on from the last checkpoint where one is."""
    settings = read_config(config)
    train_first_passes(_examples(prepared_pages(directory), settings), settings, _say, directory)


def _examples(pages: Iterable[DehuskPage], config: DehuskConfig) -> list[Example]:
    return [page.example(config) for page in learned_from(pages, config)]


def cross_validate(
    directory: Path, config: Path, seeds: Sequence[int], *, leave_out: LeftOut, ablate: bool
) -> None:
    """Score models on what they never saw; with `ablate` also models that miss a group of inputs."""
    pages, settings = list(prepared_pages(directory)), read_config(config)
    columns: dict[str, list[PageScores]] = {}
    scripts: dict[str, list[tuple[PageScores, PageScores]]] = {}
    part_of = by_site(settings.trainer.folds) if leave_out == "site" else by_collection
    for group in (None, *dict.fromkeys(INPUT_GROUPS)) if ablate else (None,):
        for seed in seeds:
            is_kept = group is None and seed == settings.trainer.seed  # `train` leaves such networks
            scores = cross_validated(
                pages,
                settings,
                seed,
                part_of,
                without=group,
                progress=_say,
                checkpoints=directory if is_kept else None,
            )
            if group is None:
                columns.setdefault("published gold", []).append(scores.published)
                columns.setdefault("first pass alone, repaired gold", []).append(scores.first_pass)
                for script, of_script in scores.scripts.items():
                    as_they_are = {page: scores.repaired[page] for page in of_script}
                    scripts.setdefault(script, []).append((of_script, as_they_are))
            columns.setdefault("repaired gold" if group is None else f"without {group}", []).append(
                scores.repaired
            )
    written = table(groups(pages), columns) + "\n\n" + _script_table(scripts)
    if leave_out == "site" and not ablate:
        (directory / _SCORES).write_text(written, encoding="utf-8")
    click.echo(written)


def _script_table(scripts: Mapping[str, Sequence[tuple[PageScores, PageScores]]]) -> str:
    """A row for each script; the pages differ a little, as not all keep their blocks in each."""
    lines = ["| script | pages | F1 | the same pages as they are |", "|---|--:|--:|--:|"]
    for name, seeds in scripts.items():
        written, original = (
            fmean(score for of_seed in seeds for score in of_seed[column].values()) for column in (0, 1)
        )
        lines.append(f"| {name} | {len(seeds[0][0])} | {written:.3f} | {original:.3f} |")
    return "\n".join(lines)


def evaluate(directory: Path, config: Path, model: str, version: str | None, repository: Path) -> None:  # noqa: ARG001 -- what every kind takes
    """Score a published version, the newest unless one is named, on the pages of a directory."""
    pages = list(prepared_pages(directory))
    answer = labeler_answer(OnnxLabeler(model, version or "", repository))
    scores: dict[str, dict[str, float]] = {"published gold": {}, "repaired gold": {}}
    for page in pages:
        if not page.has_gold:
            continue
        answers = answer(page.encoded)
        scores["published gold"][page.id] = page_score(page, page.encoded, answers, page.gold)
        scores["repaired gold"][page.id] = page_score(page, page.encoded, answers, page.best_gold)
    click.echo(table(groups(pages), {name: [each] for name, each in scores.items()}))


def export(directory: Path, config: Path, published: ModelVersion, repository: Path) -> None:
    """Publish the trained model as a new version of the repository, with its card."""
    target, settings = repository / published.name / published.version, read_config(config)
    refuse_existing(target)
    scores = left_by("cross-validate", directory / _SCORES).read_text(encoding="utf-8")
    pages = list(prepared_pages(directory))
    trained = train_dehusk(_examples(pages, settings), settings, _say, directory)
    weights = sum(each.numel() for each in trained.first.network.parameters())
    card = _card(pages, settings, published, ", ".join(sources(directory)), scores, weights=weights)

    def answer(page: EncodedPage) -> Floats:
        assert page.structure is not None  # noqa: S101 -- only pages that were encoded whole are given
        return trained(page.structure)

    checked = [page.encoded for page in pages[::10] if 0 < len(page.encoded) <= WINDOW_BLOCKS]
    difference = publish(build_dehusk(trained), answer, checked, card, target)
    click.echo(announcement(target, difference))


def _card(
    pages: Sequence[DehuskPage],
    config: DehuskConfig,
    published: ModelVersion,
    data: str,
    scores: str,
    *,
    weights: int,
) -> str:
    """What a version was made of, and what it scores."""
    learned = [page for page in learned_from(pages, config) if not page.altered]
    whole = [page for page in pages if not page.altered]
    facts = asdict(config.network) | asdict(config.trees) | asdict(config.trainer) | asdict(published)
    facts |= {
        "tree_learning_rate": config.trees.learning_rate,
        "content_share": config.content_share,
        "least_oracle": config.least_oracle,
        "offset": config.offset,
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
        "weights": weights,
        "scores": scores,
    }
    return _CARD.read_text(encoding="utf-8").format_map(facts)


def _say(text: str) -> None:
    click.echo(text, err=True)
