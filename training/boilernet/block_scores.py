"""How many blocks a model labels as people did: precision, recall and F1 of boilerplate and of content."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import numpy.typing as npt

from inference.encoding import encode
from schemas.errors import ConfigurationError
from training.blocks import CONTENT_PROBABILITY
from training.boilernet.pages import LabeledPage
from training.predictor import Predict

Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BlockScore:
    """How well the blocks of one class are found."""

    name: str
    blocks: int
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 0 where both are."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def score_blocks(pages: Iterable[LabeledPage], predict: Predict) -> tuple[BlockScore, BlockScore]:
    """The scores of boilerplate (class 0) and content (class 1) over the blocks of all pages.

    Raises:
        ConfigurationError: no page has a block.
    """
    scored = [page for page in pages if page.content]
    if not scored:
        raise ConfigurationError("no pages are held out to score; name a file of them: prepare --validation")
    truth = np.concatenate([np.array(page.content) for page in scored])
    found = np.concatenate([predict(encode(page.segmented)) >= CONTENT_PROBABILITY for page in scored])
    return _score("boilerplate (0)", ~truth, ~found), _score("content (1)", truth, found)


def _score(name: str, truth: Marks, found: Marks) -> BlockScore:
    hits = int(np.count_nonzero(truth & found))
    blocks, claimed = int(np.count_nonzero(truth)), int(np.count_nonzero(found))
    return BlockScore(name, blocks, hits / max(claimed, 1), hits / max(blocks, 1))


def mean_f1(scores: Iterable[BlockScore]) -> float:
    """What epochs are compared by: F1 averaged over both classes."""
    return fmean(score.f1 for score in scores)


def block_table(scores: Iterable[BlockScore]) -> str:
    """The scores as a Markdown table."""
    lines = ["| held-out blocks | blocks | precision | recall | F1 |", "|---|--:|--:|--:|--:|"]
    lines += [
        f"| {each.name} | {each.blocks} | {each.precision:.3f} | {each.recall:.3f} | {each.f1:.3f} |"
        for each in scores
    ]
    return "\n".join(lines)
