"""Word-level F1: the overlap of two texts as multisets of lower-cased words."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"\w+")


def score_words(text: str) -> list[str]:
    r"""The words that are scored: every run of `\w`, lower case."""
    return _WORD.findall(text.lower())


def kept_words(blocks: Iterable[Sequence[str]], kept: Iterable[object]) -> list[str]:
    """The words of the blocks that are kept, each block given as its words."""
    return [word for block, keep in zip(blocks, kept, strict=True) if keep for word in block]


def word_f1(predicted: Iterable[str], gold: Iterable[str]) -> float:
    """F1 of the predicted words; 1 where both texts are empty, 0 where only one is."""
    ours, theirs = Counter(predicted), Counter(gold)
    total = ours.total() + theirs.total()
    return 2 * (ours & theirs).total() / total if total else 1.0
