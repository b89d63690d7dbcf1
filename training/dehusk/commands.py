"""The steps from data to a published version of the default model, as `python -m training` runs them."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from inference.batching import WINDOW_BLOCKS
from inference.onnx import OnnxLabeler
from inference.repository import DEFAULT_REPOSITORY
from schemas.pages import EncodedPage, ModelVersion
from training.dehusk.config import DehuskConfig
from training.dehusk.crossvalidation import cross_validated
from training.dehusk.evaluation import Floats, page_scores, table
from training.dehusk.export import build_dehusk
from training.dehusk.pages import prepare_pages, prepared_pages
from training.dehusk.trainer import INPUT_GROUPS, Epoch, train_dehusk
from training.prepare import sources, write_sources
from training.publish import labeler_predict, publish

_CHECKPOINT = "dehusk.pt"
_SCORES = "dehusk-scores.md"
_CARD = Path(__file__).with_name("card.template.md")


def prepare(files: Sequence[Path], directory: Path, config: DehuskConfig, processes: int) -> None:
    """Label and encode the pages of the files."""
    for broken in prepare_pages(files, directory, config.content_share, config.least_oracle, processes):
        click.echo(f"left out a page of {broken.url}: {broken.detail}", err=True)
    write_sources(files, directory)
    pages = list(prepared_pages(directory))
    repaired = sum(page.repaired for page in pages)
    learned = sum(page.reliable for page in pages)
    click.echo(f"{len(pages)} pages, {repaired} with repaired labels, {learned} to train on.")
    oracle = {page.id: page.content.astype(float) for page in pages}
    click.echo(table(pages, {"oracle": [page_scores(pages, oracle, repaired=False)]}))


def train(directory: Path, config: DehuskConfig) -> Epoch:
    """Train on all pages; goes on from the last checkpoint where one is."""
    examples = [page.example for page in prepared_pages(directory) if page.reliable]
    file = directory / _CHECKPOINT
    for epoch in train_dehusk(examples, config, config.trainer.seed, checkpoint=file):
        click.echo(f"epoch {epoch.number}/{config.trainer.epochs}: loss {epoch.loss:.3f}")
    return epoch


def cross_validate(directory: Path, config: DehuskConfig, seeds: Sequence[int], *, ablate: bool) -> None:
    """Score models on sites that they never saw; with `ablate` also models that miss a group of inputs."""
    pages = list(prepared_pages(directory))
    groups = [None, *dict.fromkeys(INPUT_GROUPS)] if ablate else [None]
    scores: dict[str, list[dict[str, float]]] = {}
    for group in groups:
        for seed in seeds:
            probabilities = cross_validated(pages, config, seed, without=group, progress=_say)
            for gold, repaired in (("published gold", False), ("repaired gold", True)):
                if group is None or repaired:
                    column = gold if group is None else f"without {group}"
                    scores.setdefault(column, []).append(page_scores(pages, probabilities, repaired=repaired))
    written = table(pages, scores)
    if not ablate:
        (directory / _SCORES).write_text(written, encoding="utf-8")
    click.echo(written)


def evaluate(directory: Path, model: str, version: str, repository: Path) -> None:
    """Score a published version on the pages of a directory."""
    pages = list(prepared_pages(directory))
    predict = labeler_predict(OnnxLabeler(model, version, repository))
    probabilities: dict[str, Floats] = {page.id: predict(page.encoded) for page in pages}
    columns = {
        gold: [page_scores(pages, probabilities, repaired=repaired)]
        for gold, repaired in (("published gold", False), ("repaired gold", True))
    }
    click.echo(table(pages, columns))


def export(
    directory: Path, config: DehuskConfig, model: ModelVersion, repository: Path = DEFAULT_REPOSITORY
) -> None:
    """Publish the trained model as a new version of the repository, with its card."""
    trained = train(directory, config).model
    pages = list(prepared_pages(directory))
    facts = asdict(config.network) | asdict(config.trainer) | asdict(model)
    facts |= {
        "content_share": config.content_share,
        "least_oracle": config.least_oracle,
        "sources": ", ".join(sources(directory)),
        "pages": len(pages),
        "repaired": sum(page.repaired for page in pages),
        "dropped": sum(page.repaired and not page.reliable for page in pages),
        "training_pages": sum(page.reliable for page in pages),
        "training_blocks": sum(len(page.content) for page in pages if page.reliable),
        "weights": sum(each.numel() for each in trained.network.parameters()),
        "scores": (directory / _SCORES).read_text(encoding="utf-8"),
    }

    def predict(page: EncodedPage) -> Floats:
        assert page.structure is not None  # noqa: S101 -- only pages that were encoded whole are given
        return trained(page.structure)

    checked = [page.encoded for page in pages[::10] if 0 < len(page.encoded) <= WINDOW_BLOCKS]
    target = repository / model.name / model.version
    card = _CARD.read_text(encoding="utf-8").format_map(facts)
    difference = publish(build_dehusk(trained), predict, checked, card, target)
    click.echo(f"Wrote {target}; largest difference from the network: {difference:.1e}.")


def _say(text: str) -> None:
    click.echo(text, err=True)
