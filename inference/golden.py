"""Golden answers: a version's probabilities on a few pages, as the training framework gave them.

They lie beside each version, small, so that whoever serves it can check that it answers the same.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import orjson

from dehusk.inference.encoding import encode
from dehusk.inference.segmentation import segment
from dehusk.schemas.pages import EncodedPage, Encoding

Floats = npt.NDArray[np.float32]

GOLDEN_FILE = "golden.json"
GOLDEN_PAGES = Path(__file__).with_name("golden_pages")
LARGEST_DIFFERENCE = 1e-5
"""By how much a served model's probabilities may differ from the trained one's."""
OUTLIERS = 1e-3
"""Share of the blocks that may differ by more: at a tree's threshold the last bit of a number decides."""


@dataclass(frozen=True, slots=True, eq=False)
class GoldenAnswer:
    """A model's answer on one of the pages of `inference/golden_pages`."""

    name: str
    probabilities: Floats
    """Shape [T]: of content."""
    comments: Floats | None
    """Shape [T]: of user comments; None where the model does not tell them."""

    @property
    def page(self) -> EncodedPage:
        """The page as labelers take it."""
        return golden_page(GOLDEN_PAGES / f"{self.name}.html")


def golden_page(file: Path) -> EncodedPage:
    """A page as labelers take it."""
    return encode(segment(file.read_bytes(), with_tree=True), tuple(Encoding))


def read_golden(file: Path) -> list[GoldenAnswer]:
    """The answers that training wrote."""
    return [
        GoldenAnswer(
            each["name"],
            np.array(each["probabilities"], np.float32),
            np.array(each["comments"], np.float32) if each.get("comments") else None,
        )
        for each in orjson.loads(file.read_bytes())
    ]


def largest_difference(differences: Floats) -> float:
    """The largest of some differences, of any shape, but for outliers."""
    return float(np.quantile(differences, 1 - OUTLIERS, method="higher"))
