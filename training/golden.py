"""Writes the golden answers of a version: what the trained network gives for a few pages."""

from pathlib import Path

import numpy as np
import orjson

from dehusk.inference.golden import GOLDEN_PAGES, GoldenAnswer, golden_page
from dehusk.training.predictor import Answer


def golden_answers(answer: Answer) -> list[GoldenAnswer]:
    """The answers on all golden pages."""
    return [_golden_answer(answer, file) for file in sorted(GOLDEN_PAGES.glob("*.html"))]


def _golden_answer(answer: Answer, file: Path) -> GoldenAnswer:
    content, *comments = np.atleast_2d(answer(golden_page(file)))
    return GoldenAnswer(file.stem, content, comments[0] if comments else None)


def write_golden(file: Path, answers: list[GoldenAnswer]) -> None:
    """Write answers as JSON."""
    file.write_bytes(orjson.dumps(answers, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE))
