"""The labelers by Gaussian random fields: seeds, spread to all blocks of a page."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.features import BLOCK_FEATURES
from dehusk.inference.labelers.batching import WINDOW_BLOCKS
from dehusk.inference.labelers.grf.graph import Field, Graph, Vectors, features_of, graph_by_features, solve
from dehusk.inference.labelers.grf.word_vectors import graph_by_words, mean_vectors_of
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, ModelVersion, Prediction

Bools = npt.NDArray[np.bool_]

_COLUMNS = {feature.name: column for column, feature in enumerate(BLOCK_FEATURES)}
_PARAGRAPH_WORDS = 15
_PARAGRAPH_LINKS = 1 / 3
"""Largest linked share of a paragraph."""
_MENU_WORDS = 15
_MENU_LINKS = 0.8

UNDECIDED = 0.5
PRIOR_WEIGHT = 0.1
"""Weight of a block's edge to its prior; edges to other blocks weigh at most 1."""


def seeds(page: EncodedPage, features: npt.NDArray[np.uint8]) -> npt.NDArray[np.int8]:
    """Label some blocks by rules of thumb: 1 content, 0 boilerplate, -1 unknown; all of shape [T].

    Content are the paragraphs in `<article>` or `<main>`, or all paragraphs where these hold none.
    Boilerplate are menus, footers, asides, buttons, headers outside of articles, and short links.
    """
    boilerplate = _boilerplate(page, features)
    content = _paragraphs(page, features) & ~boilerplate
    inside = content & (_inside("article", features) | _inside("main", features))
    labels = np.full(len(page), -1, np.int8)
    labels[inside if inside.any() else content] = 1
    labels[boilerplate] = 0
    return labels


def _boilerplate(page: EncodedPage, features: npt.NDArray[np.uint8]) -> Bools:
    found = (page.words < _MENU_WORDS) & (_link_density(features) > _MENU_LINKS)
    for element in ("nav", "footer", "aside", "button"):
        found |= _inside(element, features)
    return found | (_inside("header", features) & ~_inside("article", features))


def _paragraphs(page: EncodedPage, features: npt.NDArray[np.uint8]) -> Bools:
    return (page.words >= _PARAGRAPH_WORDS) & (_link_density(features) <= _PARAGRAPH_LINKS)


def _inside(element: str, features: npt.NDArray[np.uint8]) -> Bools:
    return features[:, _COLUMNS[f"in_{element}"]] > 0


def _link_density(features: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    return features[:, _COLUMNS["link_density"]] / 255


@dataclass(frozen=True, slots=True)
class Similarity:
    """A measure of the similarity of blocks."""

    vectors: Callable[[EncodedPage], Vectors]
    """Vectors of the blocks of a page, shape [T, D]."""
    graph: Callable[[Vectors], Graph]
    """Edges between blocks, given their vectors."""
    encodings: frozenset[Encoding] = frozenset()
    """Optional encodings that the vectors are made of."""


BY_FEATURES = Similarity(features_of, graph_by_features)
BY_WORDS = Similarity(mean_vectors_of, graph_by_words, frozenset((Encoding.TOKENS,)))


def spread(
    page: EncodedPage,
    labels: npt.NDArray[np.int8],
    similarity: Similarity = BY_FEATURES,
) -> npt.NDArray[np.float32]:
    """Return the probability that each of the T blocks is content, shape [T]; for a labeled one, its label.

    `labels`, shape [T], has 1 for content, 0 for boilerplate and -1 for unknown. The farther a block is from
    all labels, the nearer it is to `UNDECIDED`: a label says little of what is not alike. A page of more than
    2,048 blocks is taken in windows; one without labels is undecided.

    Raises:
        ConfigurationError: blocks are compared by features, and only texts and paths of the page are known.
        NotEncodedError: they are compared by words, and the page was prepared without its tokens.
        ValueError: the labels are of other blocks, or none of 1, 0 and -1.
    """
    _check(page, labels)
    vectors = similarity.vectors(page)
    answer = np.full(len(page), UNDECIDED, np.float32)
    for first in range(0, len(page), WINDOW_BLOCKS):
        window = slice(first, first + WINDOW_BLOCKS)
        known = labels[window]
        if (known >= 0).any():
            prior = np.full(len(known), UNDECIDED)
            answer[window] = solve(Field(similarity.graph(vectors[window]), known, prior, PRIOR_WEIGHT))
    return answer


def _check(page: EncodedPage, labels: npt.NDArray[np.int8]) -> None:
    if labels.shape != (len(page),):
        raise ValueError(f"labels of shape {labels.shape} for {len(page)} blocks")
    if not np.isin(labels, (-1, 0, 1)).all():
        raise ValueError("a label is 1, 0, or -1 for unknown")


class FieldLabeler:
    """Labeler by the distance of blocks, in a graph of similar ones, to those that rules label."""

    def __init__(self, name: str, similarity: Similarity) -> None:
        self._name = name
        self._model = ModelVersion(name, "1")
        self._similarity = similarity

    @property
    def encodings(self) -> frozenset[Encoding]:
        """Optional encodings that the labeler reads."""
        return self._similarity.encodings

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """Return one answer per page, in order, from a thread of its own: a page of 2,000 blocks takes 25 ms.

        Raises:
            ConfigurationError: only texts and paths of a page are known.
        """
        return await asyncio.to_thread(lambda: [self.label_here(page) for page in pages])

    def label_here(self, page: EncodedPage) -> Prediction:
        """Return the answer to one page, in the calling thread.

        Raises:
            ConfigurationError: only texts and paths of the page are known.
        """
        labels = seeds(page, features_of(page))
        return Prediction(spread(page, labels, similarity=self._similarity), self._model, self._name)

    def twin(self) -> Self:
        """Return this labeler, as it keeps nothing of what it is asked."""
        return self

    async def close(self) -> None:
        """Do nothing: no connection is held."""


def by_features() -> FieldLabeler:
    """Open `--labeler grf`: blocks are similar by their features."""
    return FieldLabeler("grf", BY_FEATURES)


def by_words() -> FieldLabeler:
    """Open `--labeler grf-words`: blocks are similar by their words, as in the paper."""
    return FieldLabeler("grf-words", BY_WORDS)
