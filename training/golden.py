"""Golden answers: a version's probabilities on a few pages, as the training framework gave them.

They lie beside each version, small, so that whoever serves it can check that it answers the same.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import orjson

from inference.encoding import encode
from inference.segmentation import segment
from schemas.pages import EncodedPage
from training.predictor import Predict

GOLDEN_FILE = "golden.json"
_PAGES = Path(__file__).with_name("golden_pages")


@dataclass(frozen=True, slots=True, eq=False)
class GoldenAnswer:
    """A model's answer on one of the pages of `training/golden_pages`."""

    name: str
    probabilities: npt.NDArray[np.float32]

    @property
    def page(self) -> EncodedPage:
        """The page as labelers take it."""
        return encode(segment((_PAGES / f"{self.name}.html").read_bytes()))


def golden_answers(predict: Predict) -> list[GoldenAnswer]:
    """The answers on all golden pages."""
    names = sorted(file.stem for file in _PAGES.glob("*.html"))
    return [
        GoldenAnswer(name, predict(encode(segment((_PAGES / f"{name}.html").read_bytes())))) for name in names
    ]


def write_golden(file: Path, answers: list[GoldenAnswer]) -> None:
    """Write answers as JSON."""
    file.write_bytes(orjson.dumps(answers, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE))


def read_golden(file: Path) -> list[GoldenAnswer]:
    """The answers that `write_golden` wrote."""
    return [
        GoldenAnswer(each["name"], np.array(each["probabilities"], np.float32))
        for each in orjson.loads(file.read_bytes())
    ]
