"""How many blocks a model labels as people did: precision, recall and F1 of boilerplate and of content."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding import encode
from dehusk.schemas.errors import ConfigurationError
from dehusk.training.blocks import CONTENT_PROBABILITY
from dehusk.training.boilernet.pages import LabeledPage
from dehusk.training.predictor import Floats, Predict

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


BlockScores = tuple[BlockScore, BlockScore]
"""Those of boilerplate and of content."""


def score_blocks(pages: Iterable[LabeledPage], predict: Predict) -> BlockScores:
    """The scores of boilerplate (class 0) and content (class 1) over the blocks of all pages.

    Raises:
        ConfigurationError: no page has a block.
    """
    scored = [page for page in pages if page.content]
    return score_answers(scored, [predict(encode(page.segmented)) for page in scored])


def score_answers(pages: Sequence[LabeledPage], answers: Sequence[Floats]) -> BlockScores:
    """The same by the probabilities of the pages' blocks.

    Raises:
        ConfigurationError: there are no pages.
    """
    if not pages:
        raise ConfigurationError("no pages are held out to score; name a file of them: prepare --validation")
    truth = np.concatenate([np.array(page.content, np.bool_) for page in pages])
    found = np.concatenate(answers) >= CONTENT_PROBABILITY
    return score_labels(truth, found)


def score_labels(truth: Marks, found: Marks) -> BlockScores:
    """The scores of labels, where 1 is content."""
    return _score("boilerplate (0)", ~truth, ~found), _score("content (1)", truth, found)


def _score(name: str, truth: Marks, found: Marks) -> BlockScore:
    hits = int(np.count_nonzero(truth & found))
    blocks, claimed = int(np.count_nonzero(truth)), int(np.count_nonzero(found))
    return BlockScore(name, blocks, hits / max(claimed, 1), hits / max(blocks, 1))


def mean_f1(scores: Iterable[BlockScore]) -> float:
    """What epochs are compared by: F1 averaged over both classes."""
    return fmean(score.f1 for score in scores)


def median_seed(scores: Mapping[int, BlockScores]) -> int:
    """The seed whose F1, averaged over both classes, is the median: of two in the middle the worse."""
    ordered = sorted(scores, key=lambda seed: mean_f1(scores[seed]))
    return ordered[(len(ordered) - 1) // 2]


def seed_table(scores: Mapping[int, BlockScores]) -> str:
    """The F1 of several seeds with their mean and standard deviation as a Markdown table."""
    classes = [[each.f1 for each in of_class] for of_class in zip(*scores.values(), strict=True)]
    columns = [*classes, [mean_f1(each) for each in scores.values()]]
    names = [each.name for each in next(iter(scores.values()))]
    lines = ["| F1 of seed | " + " | ".join(names) + " | both |", "|---|" + "--:|" * len(columns)]
    lines += [
        f"| {seed} | " + " | ".join(f"{value:.3f}" for value in row) + " |"
        for seed, row in zip(scores, zip(*columns, strict=True), strict=True)
    ]
    means = " | ".join(f"{fmean(column):.3f} ± {stdev(column):.3f}" for column in columns)
    return "\n".join([*lines, f"| mean ± standard deviation | {means} |"])


def block_table(scores: Iterable[BlockScore]) -> str:
    """The scores as a Markdown table."""
    lines = ["| held-out blocks | blocks | precision | recall | F1 |", "|---|--:|--:|--:|--:|"]
    lines += [
        f"| {each.name} | {each.blocks} | {each.precision:.3f} | {each.recall:.3f} | {each.f1:.3f} |"
        for each in scores
    ]
    return "\n".join(lines)
