"""Word-level scores: the overlap of two texts as multisets of lower-cased words."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_WORD = re.compile(r"\w+")


def score_words(text: str) -> list[str]:
    r"""The words that are scored: every run of `\w`, lower case."""
    return _WORD.findall(text.lower())


def kept_words(blocks: Iterable[Sequence[str]], kept: Iterable[object]) -> list[str]:
    """The words of the blocks that are kept, each block given as its words."""
    return [word for block, keep in zip(blocks, kept, strict=True) if keep for word in block]


class WordScores(NamedTuple):
    """How far a text is the gold text, by their words; of what is empty on both sides, 1."""

    f1: float
    precision: float
    recall: float


def word_scores(predicted: Iterable[str], gold: Iterable[str]) -> WordScores:
    """The scores of the predicted words."""
    ours, theirs = Counter(predicted), Counter(gold)
    common, total = (ours & theirs).total(), ours.total() + theirs.total()
    return WordScores(
        f1=2 * common / total if total else 1.0,
        precision=common / ours.total() if ours else 1.0,
        recall=common / theirs.total() if theirs else 1.0,
    )


def word_f1(predicted: Iterable[str], gold: Iterable[str]) -> float:
    """F1 of the predicted words; 1 where both texts are empty, 0 where only one is."""
    return word_scores(predicted, gold).f1
