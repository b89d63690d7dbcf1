"""The steps from data to a published version of Web2Text, as `python -m training` runs them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from dehusk.inference.onnx import OnnxLabeler
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import Encoding, ModelVersion
from dehusk.training.boilernet.block_scores import BlockScores, block_table, median_seed, seed_table
from dehusk.training.dehusk.evaluation import groups, page_score, table
from dehusk.training.dehusk.pages import DehuskPage, prepare_pages, prepared_pages
from dehusk.training.directory import left_by
from dehusk.training.predictor import Predict, labeler_predict
from dehusk.training.publish import announcement, publish, refuse_existing
from dehusk.training.sources import sources, write_sources
from dehusk.training.web2text.card import card
from dehusk.training.web2text.config import Web2TextConfig, read_config
from dehusk.training.web2text.evaluation import score_blocks
from dehusk.training.web2text.export import build_web2text
from dehusk.training.web2text.model import Web2TextModel, pairwise_network, unary_network
from dehusk.training.web2text.sequences import Sequences
from dehusk.training.web2text.split import Split, split
from dehusk.training.web2text.trainer import Run, load, new_run, train_network

_SCORES = "web2text-scores.md"


def prepare(
    files: Sequence[Path], directory: Path, config: Path, processes: int, validation: Sequence[Path]
) -> None:
    """Label and encode the pages of the files.

    Raises:
        ConfigurationError: pages are named for validation, and the names of sites decide here.
    """
    if validation:
        raise ConfigurationError("sites are held out by their names; --validation is for BoilerNet")
    data = read_config(config).data
    broken = prepare_pages(
        files, directory, data.content_share, data.least_oracle, processes, encodings=(Encoding.WEB2TEXT,)
    )
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
        for kind, (learned, validated), length in (("unary", blocks, excerpt), ("pairwise", pairs, excerpt - 1)):
            file = _checkpoint(directory, seed, kind)
            run = _run(file, settings, seed, kind, learned)
            train_network(run, learned, validated, length, file, click.echo)


def _checkpoint(directory: Path, seed: int, kind: str) -> Path:
    return directory / f"{kind}-{seed}.pt"


def _run(file: Path, settings: Web2TextConfig, seed: int, kind: str, learned: Sequences) -> Run:
    """The run that a file holds, or a new one."""
    make = unary_network if kind == "unary" else pairwise_network
    if file.exists():
        return load(file, settings.network, make, settings)
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
