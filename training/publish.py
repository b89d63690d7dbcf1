"""A trained network as a version of the model repository, with its card; checked before it appears."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx

from dehusk.inference.golden import GOLDEN_FILE, LARGEST_DIFFERENCE, largest_difference
from dehusk.inference.onnx import OnnxLabeler
from dehusk.inference.repository import CARD_FILE, MODEL_FILE
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage
from dehusk.training.golden import golden_answers, write_golden
from dehusk.training.predictor import Answer, answers_of


def publish(
    model: onnx.ModelProto, answer: Answer, pages: Sequence[EncodedPage], card: str, directory: Path
) -> float:
    """Write a version's directory; its difference, but for outliers, from what `answer` gives.

    Raises:
        ConfigurationError: the version is there already, or the exported model gives other answers.
    """
    refuse_existing(directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent.parent, prefix=".publish-") as scratch:
        staged = Path(scratch, directory.parent.name, directory.name)
        staged.mkdir(parents=True)
        (staged / MODEL_FILE).write_bytes(model.SerializeToString())
        (staged / CARD_FILE).write_text(card, encoding="utf-8")
        write_golden(staged / GOLDEN_FILE, golden_answers(answer))
        difference = _difference(answer, OnnxLabeler(directory.parent.name, repository=Path(scratch)), pages)
        if not difference <= LARGEST_DIFFERENCE:
            raise ConfigurationError(f"the exported model differs from the trained one by {difference:.1e}")
        staged.rename(directory)
    return difference


def refuse_unwritable(directory: Path) -> None:
    """See whether versions can be written into a directory, or into what is to hold it; nothing is left.

    Raises:
        ConfigurationError: they cannot.
    """
    there = next(each for each in (directory, *directory.absolute().parents) if each.exists())
    try:
        with tempfile.TemporaryDirectory(dir=there, prefix=".publish-"):
            pass
    except OSError as error:
        raise ConfigurationError(f"cannot write into {directory}: {error.strerror}") from error


def refuse_existing(directory: Path) -> None:
    """Let no version be written where there is one.

    Raises:
        ConfigurationError: there is one.
    """
    if directory.exists():
        raise ConfigurationError(f"{directory} exists, and versions are immutable; name the next version")


def announcement(directory: Path, difference: float) -> str:
    """What to tell whoever published a version."""
    return (
        f"Wrote {directory}; largest difference from the trained one: {difference:.1e}.\n"
        f"What reads {directory.parent.parent} and names no version uses it from now on."
    )


def _difference(answer: Answer, labeler: OnnxLabeler, pages: Sequence[EncodedPage]) -> float:
    """The largest difference but for outliers, the exported model reading the pages in batches.

    It is infinite where that rejects a page.
    """
    differences = []
    for page, labels in zip(pages, asyncio.run(labeler.label(pages)), strict=True):
        if isinstance(labels, Broken):
            return np.inf
        differences.append(np.abs(answer(page) - answers_of(labels)).ravel())
    return largest_difference(np.concatenate(differences))
