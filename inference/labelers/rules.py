"""Labelers without a model: Boilerpipe's rules and decluttering, which label a page by itself."""

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.boilerpipe import classify_by_words
from dehusk.schemas.errors import require_encoding
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, ModelVersion, Prediction

BOILERPIPE = ModelVersion("boilerpipe", "1")
"""The rules of WSDM 2010 (Kohlschütter et al.)."""

Shares = npt.NDArray[np.float32]


class _RuleLabeler:
    """A labeler that answers in the calling thread."""

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """Return one answer per page, in order."""
        return [self.label_here(page) for page in pages]

    def label_here(self, page: EncodedPage) -> Prediction:
        """Return the answer to one page."""
        raise NotImplementedError

    def twin(self) -> Self:
        """Return this labeler, as it keeps nothing of what it is asked."""
        return self

    async def close(self) -> None:
        """Do nothing: no connection is held."""


class RulesLabeler(_RuleLabeler):
    """Labeler by the words and link density of a block and its neighbours: content is 1, the rest 0."""

    def label_here(self, page: EncodedPage) -> Prediction:
        """Return the answer to one page, in the calling thread."""
        return Prediction(classify(page).astype(np.float32), BOILERPIPE, "rules")


def classify(page: EncodedPage) -> npt.NDArray[np.bool_]:
    """Return True for the blocks that are content by `classify_by_words`, shape [T].

    Hidden blocks are no content, unless they have more words than all shown ones: such a page shows itself by
    script.
    """
    words = page.words.astype(np.float64)
    content = classify_by_words(words, page.linked_words / np.maximum(words, 1))
    if words[page.hidden].sum() <= words[~page.hidden].sum():
        content &= ~page.hidden
    return content


class ShareLabeler(_RuleLabeler):
    """Labeler by the share of each block that an extractor of whole documents keeps, from its encoding."""

    def __init__(self, name: str, encoding: Encoding, shares: Callable[[EncodedPage], Shares | None]) -> None:
        self._name, self._encoding, self._shares = name, encoding, shares

    @property
    def encodings(self) -> frozenset[Encoding]:
        """Optional encodings that the labeler reads."""
        return frozenset((self._encoding,))

    def label_here(self, page: EncodedPage) -> Prediction:
        """Return the answer to one page, in the calling thread.

        Raises:
            NotEncodedError: the page came without the encoding that is read.
        """
        shares = require_encoding(self._shares(page), self._encoding)
        return Prediction(shares, ModelVersion(self._name, "1"), self._name)


def boilerpipe_words() -> ShareLabeler:
    """Open `--labeler boilerpipe-words`: number of words and link density."""
    return ShareLabeler(
        "boilerpipe-words",
        Encoding.BOILERPIPE,
        lambda page: None if page.boilerpipe is None else page.boilerpipe[0],
    )


def boilerpipe_density() -> ShareLabeler:
    """Open `--labeler boilerpipe-density`: text density and link density."""
    return ShareLabeler(
        "boilerpipe-density",
        Encoding.BOILERPIPE,
        lambda page: None if page.boilerpipe is None else page.boilerpipe[1],
    )


def declutter() -> ShareLabeler:
    """Open `--labeler declutter`: simple HTML decluttering."""
    return ShareLabeler("declutter", Encoding.DECLUTTER, lambda page: page.declutter)
