"""The columns that describe a text: of a block, or of all blocks of a node."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.inference.web2text.counts import Count, Integers

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

LEAF_CHARACTERS = 2.5, 5.5
"""The range of a block's logarithm of characters."""
NODE_CHARACTERS = 2.5, 10.0
"""That of a node: nearly every one has more than exp(5.5) = 245 characters."""
_WORD_LENGTH = 3.0, 15.0
_PUNCTUATION_RATIO = -4.0, -2.5
_SENTENCE_LENGTH = 2.0, 5.0
_NOTHING = 1e-9
"""Instead of a ratio of nothing, whose logarithm would be infinite."""


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """What is counted of R texts."""

    counts: Integers
    """Shape [R, Count]."""
    ends_with_punctuation: Bools
    ends_with_question_mark: Bools


def text_columns(texts: Texts, characters: tuple[float, float]) -> Floats:
    """The columns b6-b22, shape [R, 17]; the logarithm of characters is clipped to a range."""
    counts = texts.counts
    words, length = np.maximum(counts[:, Count.WORDS], 1), np.maximum(counts[:, Count.CHARACTERS], 1)
    capitals = counts[:, Count.CAPITALS] / words
    return np.stack(
        [
            np.clip(counts[:, Count.WORD_CHARACTERS] / words, *_WORD_LENGTH),
            counts[:, Count.STOPWORDS] > 0,
            np.minimum(counts[:, Count.STOPWORDS] / words, 1),
            np.clip(np.log(length), *characters),
            _clipped_logarithm(counts[:, Count.PUNCTUATION] / length, _PUNCTUATION_RATIO),
            counts[:, Count.DIGITS] > 0,
            counts[:, Count.DIGITS] / length,
            _clipped_logarithm(length / counts[:, Count.SENTENCES], _SENTENCE_LENGTH),
            texts.ends_with_punctuation,
            texts.ends_with_question_mark,
            counts[:, Count.COPYRIGHTS] > 0,
            counts[:, Count.EMAILS] > 0,
            counts[:, Count.URLS] > 0,
            counts[:, Count.YEARS] > 0,
            capitals,
            capitals**2,
            capitals**3,
        ],
        axis=1,
        dtype=np.float64,
    )


def _clipped_logarithm(values: Floats, limits: tuple[float, float]) -> Floats:
    clipped: Floats = np.clip(np.log(np.maximum(values, _NOTHING)), *limits)
    return clipped


def added_up(texts: Texts, first: Integers, after: Integers) -> Texts:
    """The texts of runs of blocks, each as one text; an end is that of the last block."""
    sums = np.zeros((len(texts.counts) + 1, len(Count)), np.int64)
    np.cumsum(texts.counts, axis=0, out=sums[1:])
    last = after - 1
    return Texts(
        sums[after] - sums[first], texts.ends_with_punctuation[last], texts.ends_with_question_mark[last]
    )
