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
from training.evaluation import Predict

GOLDEN_FILE = "golden.json"
_PAGES = Path(__file__).with_name("golden_pages")


@dataclass(frozen=True, slots=True, eq=False)
class GoldenAnswer:
    """What a model reads of a page, and its answer."""

    name: str
    ids: npt.NDArray[np.uint32]
    block_lengths: npt.NDArray[np.uint16]
    probabilities: npt.NDArray[np.float32]

    @property
    def page(self) -> EncodedPage:
        """The page as labelers take it, without what a model does not read."""
        counts = np.zeros(len(self.block_lengths), np.uint32)
        return EncodedPage(self.ids, self.block_lengths, counts, counts, counts.astype(np.uint64))


def golden_answers(predict: Predict) -> list[GoldenAnswer]:
    """The answers on the pages of `training/golden_pages`."""
    pages = {file.stem: encode(segment(file.read_bytes())) for file in sorted(_PAGES.glob("*.html"))}
    return [GoldenAnswer(name, page.ids, page.block_lengths, predict(page)) for name, page in pages.items()]


def write_golden(file: Path, answers: list[GoldenAnswer]) -> None:
    """Write answers as JSON."""
    file.write_bytes(orjson.dumps(answers, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE))


def read_golden(file: Path) -> list[GoldenAnswer]:
    """The answers that `write_golden` wrote."""
    return [
        GoldenAnswer(
            name=each["name"],
            ids=np.array(each["ids"], np.uint32),
            block_lengths=np.array(each["block_lengths"], np.uint16),
            probabilities=np.array(each["probabilities"], np.float32),
        )
        for each in orjson.loads(file.read_bytes())
    ]
