"""Scores of texts and of labels: word-level F1, and precision, recall and F1 of blocks."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import NamedTuple, Self

import numpy as np

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.wording import pluralize
from dehusk.training.arrays import Bools

CONTENT_PROBABILITY = 0.5
"""Probability from which a block is labeled as content."""
_WORD = re.compile(r"\w+")

Words = tuple[tuple[str, ...], ...]
"""Words of each block of a page."""


def score_words(text: str) -> list[str]:
    r"""Return the words that are scored: every run of `\w`, lower case."""
    return _WORD.findall(text.lower())


def block_words(texts: Iterable[str]) -> Words:
    """Return the words of each block."""
    return tuple(tuple(score_words(text)) for text in texts)


def kept_words(blocks: Iterable[Sequence[str]], kept: Iterable[object]) -> list[str]:
    """Return the words of the blocks that are kept, each block given as its words."""
    return [word for block, keep in zip(blocks, kept, strict=True) if keep for word in block]


def require_both_classes(pages: Sequence[Sequence[bool] | Bools], where: str) -> None:
    """Check that some blocks of the pages are content and others are not, given the labels of each page.

    Raises:
        ConfigurationError: there are no blocks, or all have the same label.
    """
    blocks, content = sum(map(len, pages)), sum(map(np.count_nonzero, pages))
    if not blocks:
        raise ConfigurationError(f"there are no pages {where}: add pages of other sites")
    if content in (0, blocks):
        kind = "content" if content else "boilerplate"
        raise ConfigurationError(
            f"all {blocks:,} blocks of the {pluralize(len(pages), 'page')} {where} are labeled as {kind}:"
            " there is nothing to tell apart"
        )


class WordScores(NamedTuple):
    """Overlap of a text with the gold text as multisets of words; 1 where both are empty."""

    f1: float
    precision: float
    recall: float


def word_scores(predicted: Iterable[str], gold: Iterable[str]) -> WordScores:
    """Score the predicted words."""
    ours, theirs = Counter(predicted), Counter(gold)
    common, total = (ours & theirs).total(), ours.total() + theirs.total()
    return WordScores(
        f1=2 * common / total if total else 1.0,
        precision=common / ours.total() if ours else 1.0,
        recall=common / theirs.total() if theirs else 1.0,
    )


def word_f1(predicted: Iterable[str], gold: Iterable[str]) -> float:
    """Return the F1 of the predicted words; 1 where both texts are empty, 0 where only one is."""
    return word_scores(predicted, gold).f1


@dataclass(frozen=True, slots=True)
class BlockScore:
    """Score of the blocks of one class."""

    blocks: int
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 where both are."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    @classmethod
    def of(cls, *, hits: int, missed: int, wrong: int) -> "BlockScore":
        """Return the score of a class of which so many blocks were found, missed, and wrongly found."""
        return cls(hits + missed, hits / max(hits + wrong, 1), hits / max(hits + missed, 1))


BlockScores = tuple[BlockScore, BlockScore]
"""Scores of boilerplate and of content."""
CLASSES = ("boilerplate (0)", "content (1)")
"""Names of the classes in tables."""


class BlockCounts(NamedTuple):
    """Numbers of blocks by what they are and what they are taken for."""

    content_found: int = 0
    content_missed: int = 0
    boilerplate_found: int = 0
    boilerplate_missed: int = 0

    @classmethod
    def of(cls, truth: Bools, found: Bools) -> Self:
        """Count the blocks of a page, given those that are content and those that are taken for it."""
        pairs = ((truth, found), (truth, ~found), (~truth, ~found), (~truth, found))
        return cls(*(int(np.count_nonzero(one & other)) for one, other in pairs))

    @classmethod
    def total(cls, pages: Iterable[Self]) -> Self:
        """Add up the counts of pages."""
        return cls(*map(sum, zip(cls(), *pages, strict=True)))

    @property
    def scores(self) -> BlockScores:
        """Scores of both classes."""
        found, missed, left, kept = self
        return (
            BlockScore.of(hits=left, missed=kept, wrong=missed),
            BlockScore.of(hits=found, missed=missed, wrong=kept),
        )


def mean_f1(scores: Iterable[BlockScore]) -> float:
    """Return the F1 averaged over both classes, by which epochs are compared."""
    return fmean(score.f1 for score in scores)


def median_seed(scores: Mapping[int, BlockScores]) -> int:
    """Return the seed whose F1, averaged over both classes, is the median: of two in the middle the worse."""
    ordered = sorted(scores, key=lambda seed: mean_f1(scores[seed]))
    return ordered[(len(ordered) - 1) // 2]


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, first: str = "---") -> str:
    """Return a table in Markdown; all columns but the first are aligned to the right.

    `first` is the rule below the name of the first column.
    """
    rules = [first, *["--:"] * (len(columns) - 1)]
    lines = [f"| {' | '.join(map(str, cells))} |" for cells in (columns, *rows)]
    return "\n".join([lines[0], f"|{'|'.join(rules)}|", *lines[1:]])


def seed_table(scores: Mapping[int, BlockScores]) -> str:
    """Return the F1 of several seeds with their mean and standard deviation as a Markdown table."""
    values = {seed: [*(each.f1 for each in both), mean_f1(both)] for seed, both in scores.items()}
    rows = [[seed, *(f"{value:.3f}" for value in row)] for seed, row in values.items()]
    means = [f"{fmean(column):.3f} ± {stdev(column):.3f}" for column in zip(*values.values(), strict=True)]
    return markdown_table(["F1 of seed", *CLASSES, "both"], [*rows, ["mean ± standard deviation", *means]])


def block_table(scores: BlockScores) -> str:
    """Return the scores as a Markdown table."""
    rows = [
        [name, each.blocks, *(f"{value:.3f}" for value in (each.precision, each.recall, each.f1))]
        for name, each in zip(CLASSES, scores, strict=True)
    ]
    return markdown_table(["held-out blocks", "blocks", "precision", "recall", "F1"], rows)
