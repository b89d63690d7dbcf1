"""The second pass: gradient-boosted trees over the network's answers to a block and those around it.

The network reads a page as a sequence. The trees read, of each block, its inputs again, those of its
neighbours, and what the network answered on average for the blocks of the same tags and classes, so that the
cards of a listing or the posts of a thread are kept or left together. They learn from answers given out of
fold, by networks that did not see the page's site (stacked generalisation: Wolpert, Neural Networks 1992).
Probabilities are rounded to bytes first, so that sums over them are exact wherever they are computed. Where
the network is sure of a block, no tree is asked: three blocks of five, which costs no F1 and halves the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.features import BLOCK_FEATURES, LOGARITHM
from dehusk.schemas.pages import StructureTensors
from dehusk.training.arrays import Bools, Floats, Integers
from dehusk.training.dehusk.config import TreesConfig
from dehusk.training.dehusk.examples import Example
from dehusk.training.dehusk.first_pass import INPUT_GROUPS, FirstAnswer, columns_of
from dehusk.training.dehusk.token_scores import SCORES

NEIGHBOURS = (-2, -1, 1, 2)
"""Distances of the neighbours of which the trees see some inputs."""
AROUND = (-6, -4, -3, -2, -1, 1, 2, 3, 4, 6)
"""Distances of the blocks of which the trees see the probability."""
OUTSIDE = -1
"""Value of a block beyond the page's."""
LIKELY = 127
"""Largest byte of a probability that is not above one half."""
_SEEN = "log_words log_characters link_density has_link all_upper starts_lower".split()  # noqa: SIM905 -- names
NEIGHBOUR_COLUMNS = tuple(place for place, each in enumerate(BLOCK_FEATURES) if each.name in _SEEN)
"""Features of a neighbour that are seen, beside its token scores."""
SURE = (0, 250)
"""Bytes of the probabilities of which the network is sure: up to the first, and from the second one on."""
WORDS = np.maximum(np.rint(np.expm1(np.arange(256) * LOGARITHM[1] / 255)), 1).astype(np.int64)
"""About the number of words of a block, by the byte of its first feature: the weight of its probability."""
_OF_NEIGHBOUR = (*(BLOCK_FEATURES[column].group for column in NEIGHBOUR_COLUMNS), *SCORES)
_ANSWERS = 1 + len(AROUND) + 12 + 1
"""Columns made of probabilities: its own, those around, those of `_of_alike`, and that of a comment."""
COLUMN_GROUPS = (*INPUT_GROUPS, *_OF_NEIGHBOUR * len(NEIGHBOURS), *("",) * _ANSWERS)
"""Group of inputs that each column comes from; of those made of probabilities, none."""


@dataclass(frozen=True, slots=True, eq=False)
class SecondPass:
    """Trees of the second pass."""

    booster: lightgbm.Booster
    unseen: Bools
    """Shape [columns]: those that are always 0."""

    def logits(self, page: StructureTensors, answer: FirstAnswer) -> Floats:
        """Return the logits of the blocks that are asked about, in order."""
        columns = np.where(self.unseen, 0, context_columns(page, answer)[is_asked(answer)])
        if not len(columns):
            return np.empty(0, np.float32)
        logits: Floats = self.booster.predict(columns, raw_score=True).astype(np.float32)
        return logits


def fit_second_pass(
    examples: Sequence[Example],
    answers: Sequence[FirstAnswer],
    config: TreesConfig,
    seed: int,
    without: str | None = None,
) -> SecondPass:
    """Fit trees over the pages that are for it, and the first pass's answers to them, given out of fold."""
    unseen = np.array(COLUMN_GROUPS) == without
    learned = [(each, answer) for each, answer in zip(examples, answers, strict=True) if each.in_second_pass]
    columns = np.concatenate([context_columns(each.structure, answer) for each, answer in learned])
    columns[:, unseen] = 0
    data = lightgbm.Dataset(
        columns,
        label=np.concatenate([each.content for each, _ in learned]),
        weight=np.concatenate([each.weights for each, _ in learned]) * (len(columns) / len(learned)),
    )
    settings = {
        "objective": "binary",
        "max_bin": config.bins,
        "num_leaves": config.leaves,
        "learning_rate": config.learning_rate,
        "feature_fraction": config.columns_share,
        "bagging_fraction": config.blocks_share,
        "bagging_freq": 1,
        "min_data_in_leaf": config.least_blocks,
        "lambda_l2": config.l2,
        "num_threads": config.threads,
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "verbose": -1,
    }
    return SecondPass(lightgbm.train(settings, data, config.trees), unseen)


def is_asked(answer: FirstAnswer) -> Bools:
    """Return the blocks of which the network is not sure, shape [T]."""
    likely = _as_bytes(answer.probabilities)
    asked: Bools = (likely > SURE[0]) & (likely < SURE[1])
    return asked


def context_columns(page: StructureTensors, answer: FirstAnswer) -> Floats:
    """Return the columns that the trees read of each block, shape [T, columns]."""
    features = page.features.astype(np.float32)
    likely = _as_bytes(answer.probabilities)
    seen = np.concatenate([features[:, NEIGHBOUR_COLUMNS], answer.scores], 1)
    columns: list[npt.NDArray[Any]] = [
        columns_of(page),
        answer.scores,
        *(_shifted(seen, distance) for distance in NEIGHBOURS),
        likely[:, None],
        *(_shifted(likely[:, None], distance) for distance in AROUND),
        _of_alike(likely, WORDS[page.features[:, 0]], page.alike),
        _as_bytes(answer.comments)[:, None],
    ]
    return np.concatenate(columns, 1, dtype=np.float32, casting="unsafe")


def _as_bytes(probabilities: Floats) -> Integers:
    rounded: Integers = np.rint(probabilities * np.float32(255)).astype(np.int64)
    return rounded


def _shifted(values: npt.NDArray[Any], distance: int) -> npt.NDArray[Any]:
    """Return the row of the block that stands so far after each block, or before it."""
    places = np.arange(len(values)) + distance
    inside = (places >= 0) & (places < len(values))
    return np.where(inside[:, None], values[np.where(inside, places, 0)], OUTSIDE)


def _of_alike(likely: Integers, words: Integers, alike: npt.NDArray[np.int32]) -> Floats:
    """Return the columns on the blocks like each, on the page, and on a block's place in it: [T, 12]."""
    here, page = _Sums(likely, words, alike), _Sums(likely, words, np.zeros_like(alike))
    all_expected = np.maximum(page.expected, 1)
    before = np.cumsum(likely > LIKELY)
    columns = [
        _ratio(here.expected, here.words),
        _ratio(here.likely, here.blocks),
        here.largest,
        here.words,
        _ratio(255 * here.expected, all_expected),
        _ratio(page.expected, page.words),
        page.expected // 255,
        page.largest,
        _ratio(page.likely, page.blocks),
        _ratio(255 * np.cumsum(likely * words), all_expected),
        before,
        before[-1] - before,
    ]
    return np.stack(columns, 1, dtype=np.float32, casting="unsafe")


class _Sums:
    """Sums over the group that each block is in, each of shape [T]."""

    def __init__(self, likely: Integers, words: Integers, group: npt.NDArray[np.int32]) -> None:
        largest = np.zeros(len(likely), np.int64)
        np.maximum.at(largest, group, likely)
        self.largest = largest[group]
        self.blocks, self.words, self.likely, self.expected = (
            np.bincount(group, values).astype(np.int64)[group]
            for values in (np.ones_like(likely), words, likely, likely * words)
        )


def _ratio(numerator: Integers, denominator: Integers) -> Floats:
    """Return a ratio, rounded so that it is the same wherever it is computed."""
    ratio: Floats = np.rint(numerator.astype(np.float32) / denominator.astype(np.float32))
    return ratio
