"""Golden answers: a version's probabilities on a few pages, given by the training framework.

They are stored beside each version, so that its server can be checked to give the same.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import EncodedPage, Encoding

Floats = npt.NDArray[np.float32]

GOLDEN_FILE = "golden.json"
GOLDEN_PAGES = Path(__file__).parents[1] / "golden_pages"
MAX_DIFFERENCE = 1e-5
"""Difference that a served model's probabilities may have to the trained one's."""
OUTLIERS = 1e-3
"""Share of the blocks that may differ by more: at a tree's threshold the last bit of a number decides."""


@dataclass(frozen=True, slots=True, eq=False)
class GoldenAnswer:
    """A model's answer on one of the pages of `inference/golden_pages`."""

    name: str
    probabilities: Floats
    """Shape [T]: of content."""
    comments: Floats | None
    """Shape [T]: of user comments; None if the model does not predict them."""
    page_kinds: Floats | None = None
    """Shape [len(PAGE_KINDS)]: of each kind of page; None if the model does not predict it."""

    @property
    def tensors(self) -> list[Floats]:
        """Tensors of the answer, in the order of a signature."""
        return [each for each in (self.probabilities, self.comments, self.page_kinds) if each is not None]

    @property
    def page(self) -> EncodedPage:
        """The page as labelers take it."""
        return golden_page(GOLDEN_PAGES / f"{self.name}.html")


def golden_page(file: Path) -> EncodedPage:
    """Return a page as labelers take it."""
    url = f"https://golden.example/pages/{file.name}"
    return encode(segment(file.read_bytes(), url=url, with_tree=True), tuple(Encoding))


_MAX = float(np.finfo(np.float32).max)
_Number = Annotated[float, msgspec.Meta(ge=-_MAX, le=_MAX)]


class _Stored(msgspec.Struct):
    """A golden answer as JSON has it."""

    name: str
    probabilities: list[_Number]
    comments: list[_Number] | None = None
    page_kinds: list[_Number] | None = None


def parse_golden(content: bytes) -> list[GoldenAnswer]:
    """Return the answers in the content of a file.

    Raises:
        ValueError: it holds no golden answers.
    """
    try:
        stored = msgspec.json.decode(content, type=list[_Stored])
    except RecursionError as error:
        raise ValueError("it nests too deep") from error
    return [
        GoldenAnswer(
            each.name,
            np.array(each.probabilities, np.float32),
            *map(_floats, (each.comments, each.page_kinds)),
        )
        for each in stored
    ]


def _floats(numbers: list[float] | None) -> Floats | None:
    return None if numbers is None else np.array(numbers, np.float32)


def largest_difference(differences: Floats) -> float:
    """Return the largest difference, of any shape, apart from outliers."""
    return float(np.quantile(differences, 1 - OUTLIERS, method="higher"))
