"""The labeler without a model: Boilerpipe's rules (Kohlschütter et al., WSDM 2010)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, ModelVersion, Prediction

BOILERPIPE = ModelVersion("boilerpipe", "1")


class RulesLabeler:
    """Labels a block by its words and link density and those of its neighbours: content is 1, the rest 0."""

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """One answer per page, in order."""
        return [self.label_here(page) for page in pages]

    def label_here(self, page: EncodedPage) -> Prediction:
        """The answer to one page, in the calling thread."""
        return Prediction(classify(page).astype(np.float32), BOILERPIPE, "rules")

    async def close(self) -> None:
        """Nothing is held."""


def classify(page: EncodedPage) -> npt.NDArray[np.bool_]:
    """Which blocks are content: the tree "number of words and link density" (algorithm 2), shape [T].

    A neighbour that is not there has no words and no links. What is hidden is no content, but where it has
    more words than all that is shown: such a page shows itself by script.
    """
    words = page.words.astype(np.float64)
    density = page.linked_words / np.maximum(words, 1)
    previous_words, next_words, previous_density = _previous(words), _next(words), _previous(density)
    after_text = (words > 16) | (next_words > 15) | (previous_words > 4)
    after_links = (words > 40) | (next_words > 17)
    content: npt.NDArray[np.bool_] = np.where(previous_density <= 0.555556, after_text, after_links)
    content &= density <= 0.333333
    if words[page.hidden].sum() <= words[~page.hidden].sum():
        content &= ~page.hidden
    return content


def _previous(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.concatenate(([0.0], values[:-1])) if len(values) else values


def _next(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.concatenate((values[1:], [0.0])) if len(values) else values
