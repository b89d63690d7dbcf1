"""Golden answers: a version's probabilities on a few pages, as the training framework gave them.

They lie beside each version, small, so that whoever serves it can check that it answers the same.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

from dehusk.inference.encoding import encode
from dehusk.inference.segmentation import segment
from dehusk.schemas.pages import EncodedPage
from dehusk.training.predictor import Answer, Floats

GOLDEN_FILE = "golden.json"
_PAGES = Path(__file__).with_name("golden_pages")


@dataclass(frozen=True, slots=True, eq=False)
class GoldenAnswer:
    """A model's answer on one of the pages of `training/golden_pages`."""

    name: str
    probabilities: Floats
    """Shape [T]: of content."""
    comments: Floats | None
    """Shape [T]: of user comments; None where the model does not tell them."""

    @property
    def page(self) -> EncodedPage:
        """The page as labelers take it."""
        return encode(segment((_PAGES / f"{self.name}.html").read_bytes()))


def golden_answers(answer: Answer) -> list[GoldenAnswer]:
    """The answers on all golden pages."""
    return [_golden_answer(answer, file) for file in sorted(_PAGES.glob("*.html"))]


def _golden_answer(answer: Answer, file: Path) -> GoldenAnswer:
    content, *comments = np.atleast_2d(answer(encode(segment(file.read_bytes()))))
    return GoldenAnswer(file.stem, content, comments[0] if comments else None)


def write_golden(file: Path, answers: list[GoldenAnswer]) -> None:
    """Write answers as JSON."""
    file.write_bytes(orjson.dumps(answers, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE))


def read_golden(file: Path) -> list[GoldenAnswer]:
    """The answers that `write_golden` wrote."""
    return [
        GoldenAnswer(
            each["name"],
            np.array(each["probabilities"], np.float32),
            np.array(each["comments"], np.float32) if each.get("comments") else None,
        )
        for each in orjson.loads(file.read_bytes())
    ]
