"""Token scores of blocks: three logistic regressions over hashed words and class names.

Their scores are inputs of the network. It learns from scores given out of fold, by regressions that did
not see the page's site, so that it trusts them no more than it may on a site that it never saw. Tokens are
hashed into buckets (Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", ICML 2009); a
bucket met on too few sites weighs nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.sparse import csr_array, diags_array
from sklearn.linear_model import SGDClassifier

from dehusk.inference.labelers.batching import ANCESTORS
from dehusk.schemas.pages import StructureTensors
from dehusk.training.arrays import Bools, Floats, Integers
from dehusk.training.dehusk.examples import Example

WORD_BUCKETS = 1 << 18
ELEMENT_BUCKETS = 1 << 16
HEADING_WORDS = 8
"""Number of words of the heading above a block that are read."""
LEVELS = 4
"""Number of the innermost elements that have weights for their level, too."""
MAX_SCORE = 8.0

_ALPHA = 2e-6
_PASSES = 4

Entries = tuple[Integers, Integers]
"""Block and bucket of each token, in two columns."""
SCORES = ("words", "class names", "class names")
"""Tokens that each score is made of, in order: two scores of content, one of comments."""


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """Weights of one regression."""

    weights: Floats
    """Shape [columns, buckets]: one column for each way in which a token can stand to a block."""
    bias: float


@dataclass(frozen=True, slots=True, eq=False)
class TokenScores:
    """Regressions of the token scores."""

    words: Regression
    """Columns: a word in the block; a word of the heading above it."""
    elements: Regression
    """Columns: a token of any ancestor; of the innermost, of its parent … LEVELS of them."""
    comments: Regression
    """The same columns; it scores user comments, the others content."""

    def of(self, page: StructureTensors) -> Floats:
        """Return the scores of each block, shape [T, SCORES]."""
        blocks = [len(page.element)]
        of_words = _matrix([word_entries(page)], blocks, self.words.weights.size)
        of_elements = _matrix([element_entries(page)], blocks, self.elements.weights.size)
        scores = [
            matrix @ regression.weights.ravel() + regression.bias
            for matrix, regression in (
                (of_words, self.words),
                (of_elements, self.elements),
                (of_elements, self.comments),
            )
        ]
        found: Floats = np.stack(scores, 1).clip(-MAX_SCORE, MAX_SCORE).astype(np.float32)
        return found


def fit_token_scores(pages: Sequence[Example], least_sites: int, seed: int) -> TokenScores:
    """Fit the regressions over all blocks of the pages."""
    words = _Tokens.of(pages, word_entries, 2, WORD_BUCKETS, least_sites)
    elements = _Tokens.of(pages, element_entries, 1 + LEVELS, ELEMENT_BUCKETS, least_sites)
    content = np.concatenate([page.content for page in pages])
    comment = np.concatenate([page.comment for page in pages])
    weights = np.concatenate([page.weights * len(page) ** 0.5 for page in pages])
    return TokenScores(
        words=words.fit(content, weights, seed),
        elements=elements.fit(content, weights, seed),
        comments=elements.fit(comment, weights, seed),
    )


def word_entries(page: StructureTensors) -> Entries:
    """Return each block's words, and the first words of the heading that it stands under."""
    lengths = page.word_lengths.astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    buckets = (page.word_ids % WORD_BUCKETS).astype(np.int64)
    under = np.flatnonzero(page.heading)
    above = page.heading[under] - 1
    taken = np.minimum(lengths[above], HEADING_WORDS)
    blocks = np.concatenate([np.repeat(np.arange(len(page.element)), lengths), np.repeat(under, taken)])
    return blocks, np.concatenate([buckets, WORD_BUCKETS + buckets[_runs(starts[above], taken)]])


def element_entries(page: StructureTensors) -> Entries:
    """Return the tokens of each block's ANCESTORS innermost elements, of any level and of each of LEVELS."""
    lengths = page.element_token_lengths.astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    buckets = (page.element_tokens % ELEMENT_BUCKETS).astype(np.int64)
    parent = np.concatenate([[0], page.parent])
    element = page.element.astype(np.int64)
    blocks: list[Integers] = []
    columns: list[Integers] = []
    for level in range(ANCESTORS):
        inside = np.flatnonzero(element)
        row = element[inside] - 1
        tokens = buckets[_runs(starts[row], lengths[row])]
        for column in (0, 1 + level) if level < LEVELS else (0,):
            blocks.append(np.repeat(inside, lengths[row]))
            columns.append(column * ELEMENT_BUCKETS + tokens)
        element = parent[element]
    return np.concatenate(blocks), np.concatenate(columns)


def _runs(starts: Integers, lengths: Integers) -> Integers:
    """Return the positions of runs of these lengths from these starts, run after run."""
    before = np.cumsum(lengths) - lengths
    positions: Integers = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
    return positions


def _matrix(entries: Sequence[Entries], heights: Sequence[int], width: int) -> csr_array:
    """Count each column of each block of some pages, over the root of its tokens."""
    before = np.cumsum([0, *heights])
    blocks = np.concatenate([rows + first for (rows, _), first in zip(entries, before, strict=False)])
    blocks = blocks.astype(np.int32)  # the regression takes no wider indices
    columns = np.concatenate([columns for _, columns in entries]).astype(np.int32)
    height = int(before[-1])
    tokens = np.maximum(np.bincount(blocks, minlength=height), 1)
    counts = csr_array((np.ones(len(blocks), np.float32), (blocks, columns)), shape=(height, width))
    return csr_array(diags_array((1 / np.sqrt(tokens)).astype(np.float32)) @ counts)


@dataclass(frozen=True, slots=True, eq=False)
class _Tokens:
    """Tokens of all blocks of some pages."""

    matrix: csr_array
    """Shape [blocks, columns × buckets]."""
    known: Bools
    """Shape [buckets]: those met on enough sites."""

    @classmethod
    def of(
        cls,
        pages: Sequence[Example],
        entries_of: Callable[[StructureTensors], Entries],
        columns: int,
        buckets: int,
        least_sites: int,
    ) -> Self:
        """Count the tokens that `entries_of` finds."""
        entries = [entries_of(page.structure) for page in pages]
        matrix = _matrix(entries, [len(page) for page in pages], columns * buckets)
        return cls(matrix, _sites_of_buckets(pages, entries, buckets) >= least_sites)

    def fit(self, labels: Bools, weights: Floats, seed: int) -> Regression:
        """Fit the regression that tells blocks with the label from others; of no use where all are alike."""
        shape = -1, len(self.known)
        if labels.all() or not labels.any():
            alike = MAX_SCORE if labels.all() else -MAX_SCORE
            return Regression(np.zeros(self.matrix.shape[1], np.float32).reshape(shape), alike)
        regression = SGDClassifier(
            loss="log_loss", alpha=_ALPHA, max_iter=_PASSES, tol=None, average=True, random_state=seed
        )
        regression.fit(self.matrix, labels, sample_weight=weights / weights.mean())
        learned = regression.coef_.reshape(shape) * self.known
        return Regression(learned.astype(np.float32), float(regression.intercept_[0]))


def _sites_of_buckets(pages: Sequence[Example], entries: Sequence[Entries], buckets: int) -> Integers:
    """Count the sites on which each bucket was met."""
    met: dict[str, list[Integers]] = {}
    for page, (_, columns) in zip(pages, entries, strict=True):
        met.setdefault(page.site, []).append(np.unique(columns % buckets))
    counts = np.zeros(buckets, np.int64)
    for of_pages in met.values():
        counts[np.unique(np.concatenate(of_pages))] += 1
    return counts
