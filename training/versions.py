"""Versions of models: their answers to pages, their scores on held-out pages, and their publication.

A version is checked before it appears in the model repository.
"""

import asyncio
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import orjson

from dehusk.inference.labelers.golden import (
    GOLDEN_FILE,
    GOLDEN_PAGES,
    MAX_DIFFERENCE,
    GoldenAnswer,
    golden_page,
    largest_difference,
)
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.repository import CARD_FILE, MODEL_FILE
from dehusk.inference.labelers.signature import PAGE_KIND
from dehusk.inference.selection.selection import select
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, ModelVersion, Prediction
from dehusk.training.arrays import Bools, Floats
from dehusk.training.scores import CONTENT_PROBABILITY, BlockCounts, BlockScores, median_seed, seed_table

if TYPE_CHECKING:
    import onnx

Answer = Callable[[EncodedPage], Floats]
"""Probabilities of a page's T blocks: of content, shape [T], or of content and of user comments, [2, T]."""
Kinds = Callable[[EncodedPage], Floats]
"""Probabilities of the kinds of a page, shape [len(PAGE_KINDS)]."""


def labeler_answer(labeler: OnnxLabeler) -> Answer:
    """Return the answers of a version of the model repository in this process, shape [A, T]."""

    def answer(page: EncodedPage) -> Floats:
        return _rows(_labels(labeler, page))

    return answer


def labeler_kinds(labeler: OnnxLabeler) -> Kinds | None:
    """Return the kinds that such a version tells of pages; None if it tells none."""

    def kinds(page: EncodedPage) -> Floats:
        found = _labels(labeler, page).page_kinds
        assert found is not None  # noqa: S101 -- only pages with blocks are given
        return found

    return kinds if PAGE_KIND in labeler.signature.answer else None


def _labels(labeler: OnnxLabeler, page: EncodedPage) -> Prediction:
    (labels,) = asyncio.run(labeler.label([page]))
    if isinstance(labels, Broken):
        raise ConfigurationError(labels.detail)
    return labels


def _rows(labels: Prediction) -> Floats:
    return np.stack([each for each in (labels.probabilities, labels.comments) if each is not None])


def content_of(answers: Floats) -> Floats:
    """Return the probabilities of content, shape [T], of an answer."""
    content: Floats = np.atleast_2d(answers)[0]
    return content


def selected(page: EncodedPage, answers: Floats) -> Bools:
    """Return the blocks of a page that are kept, shape [T], given an answer to it."""
    content, *comments = np.atleast_2d(answers)
    return select(content, page.words, page.repeat, comments[0] if comments else None, page.alike)


def score_answers(labels: Sequence[Sequence[bool] | Bools], answers: Iterable[Floats]) -> BlockScores:
    """Score answers to pages over all of their blocks, given the labels of each page.

    Raises:
        ConfigurationError: there are no pages.
    """
    if not labels:
        raise ConfigurationError(
            "no pages are held out to score; for BoilerNet, name a file of them: prepare --validation"
        )
    return BlockCounts.total(
        BlockCounts.of(np.array(truth, np.bool_), content_of(answer) >= CONTENT_PROBABILITY)
        for truth, answer in zip(labels, answers, strict=True)
    ).scores


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Held-out pages, as models of several seeds are scored on them."""

    score: Callable[[Answer], BlockScores]
    tables: Callable[[BlockScores, Answer], str]
    """Tables of a model's scores in Markdown."""

    def median(self, answers: Mapping[int, Answer]) -> int:
        """Return the seed of the model with the median score."""
        return median_seed({seed: self.score(answer) for seed, answer in answers.items()})

    def report(self, answers: Mapping[int, Answer]) -> str:
        """Return the tables of the model with the median score, and of the seeds where there are several."""
        scores = {seed: self.score(answer) for seed, answer in answers.items()}
        seed = median_seed(scores)
        tables = self.tables(scores[seed], answers[seed])
        return f"{tables}\n\n{seed_table(scores)}" if len(scores) > 1 else tables

    def evaluate(self, answers: Mapping[int, Answer], keep: Callable[[str], None] | None) -> None:
        """Print the tables of models, and keep them if that is wanted."""
        scores = self.report(answers)
        if keep is not None:
            keep(scores)
        click.echo(scores)


def new_version(repository: Path, version: ModelVersion) -> Path:
    """Return the directory of a new version.

    Raises:
        ConfigurationError: it exists.
    """
    directory = repository / version.name / version.version
    if directory.exists():
        raise ConfigurationError(f"{directory} exists, and versions are immutable; name the next version")
    return directory


def publish(
    model: "onnx.ModelProto",
    answer: Answer,
    pages: Sequence[EncodedPage],
    card: str,
    directory: Path,
    *,
    kinds: Kinds | None = None,
) -> float:
    """Write a version's directory with its card and golden answers.

    Returns the largest difference, but for outliers, of its answers to the pages, golden ones too, from those
    of `answer` and `kinds`, which is given for a model that tells kinds of pages.

    Raises:
        ConfigurationError: the version exists, or the exported model gives other answers.
    """
    version = ModelVersion(directory.parent.name, directory.name)
    new_version(directory.parent.parent, version)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent.parent, prefix=".publish-") as scratch:
        staged = Path(scratch, directory.parent.name, directory.name)
        staged.mkdir(parents=True)
        (staged / MODEL_FILE).write_bytes(model.SerializeToString())
        (staged / CARD_FILE).write_text(card, encoding="utf-8")
        golden = golden_answers(answer, kinds)
        write_golden(staged / GOLDEN_FILE, golden)
        labeler = OnnxLabeler(directory.parent.name, repository=Path(scratch))
        difference = _difference(answer, kinds, labeler, [*pages, *(each.page for each in golden)])
        if not difference <= MAX_DIFFERENCE:
            raise ConfigurationError(f"the exported model differs from the trained one by {difference:.1e}")
        new_version(directory.parent.parent, version)  # which another run may have written meanwhile
        staged.rename(directory)
    return difference


def report_published(directory: Path, difference: float) -> None:
    """Print where a version is that `publish` has written, who uses it, and the difference."""
    click.echo(
        f"Wrote {directory}; largest difference from the trained one: {difference:.1e}.\n"
        f"What reads {directory.parent.parent} and names no version uses it from now on."
    )


def refuse_unwritable(directory: Path) -> None:
    """Check that versions can be written into a directory, or into the one that is to hold it.

    Raises:
        ConfigurationError: they cannot.
    """
    there = next(each for each in (directory, *directory.absolute().parents) if each.exists())
    try:
        with tempfile.TemporaryDirectory(dir=there, prefix=".publish-"):
            pass
    except OSError as error:
        raise ConfigurationError(f"cannot write into {directory}: {error.strerror}") from error


def _difference(
    answer: Answer, kinds: Kinds | None, labeler: OnnxLabeler, pages: Sequence[EncodedPage]
) -> float:
    """Return the largest difference but for outliers; infinite where the exported model rejects a page.

    The exported model reads the pages in batches.
    """
    differences = []
    for page, labels in zip(pages, asyncio.run(labeler.label(pages)), strict=True):
        if isinstance(labels, Broken):
            return np.inf
        differences.append(np.abs(answer(page) - _rows(labels)).ravel())
        if kinds is not None and labels.page_kinds is not None:
            differences.append(np.abs(kinds(page) - labels.page_kinds))
    return largest_difference(np.concatenate(differences))


def golden_answers(answer: Answer, kinds: Kinds | None = None) -> list[GoldenAnswer]:
    """Answer all golden pages."""
    answers = []
    for file in sorted(GOLDEN_PAGES.glob("*.html")):
        page = golden_page(file)
        content, *comments = np.atleast_2d(answer(page))
        told = None if kinds is None else kinds(page)
        answers.append(GoldenAnswer(file.stem, content, comments[0] if comments else None, told))
    return answers


def write_golden(file: Path, answers: list[GoldenAnswer]) -> None:
    """Write golden answers as JSON."""
    file.write_bytes(orjson.dumps(answers, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE))
