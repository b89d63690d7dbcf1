"""What the tool suggests for the blocks of a page that nobody has labeled yet."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dehusk.inference.grf.spreading import spread
from dehusk.inference.labeler import Labeler
from dehusk.inference.reasons import explain
from dehusk.schemas.errors import ExtractionError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.page_labels import Label
from dehusk.schemas.pages import EncodedPage, Prediction

Probabilities = npt.NDArray[np.float64]
_HALF = 0.5
_WEIGHT = 3
"""How much the log-odds that labels spread weigh beside those of the labeler."""
_LEAST_BEGUN = 0.05
"""How near a labeler's probability may come to 0 and 1 once something is labeled: labels outweigh it."""
_LEAST = 1e-4
"""How near a probability may come to 0 and 1."""


@dataclass(frozen=True, slots=True)
class Suggester:
    """Suggests what a labeler says."""

    _labeler: Labeler

    async def begin(self, page: EncodedPage) -> Probabilities:
        """Shape [T]: how likely each block is content before anything is labeled; from a half on it is.

        Raises:
            ExtractionError: the labeler says nothing that fits.
            DehuskError: it does not answer.
        """
        (answer,) = await self._labeler.label([page])
        if isinstance(answer, Broken):
            raise ExtractionError(answer.reason, answer.detail)
        return centred(page, answer)

    async def go_on(
        self, page: EncodedPage, begun: Probabilities | None, labels: Sequence[Label]
    ) -> Probabilities | None:
        """Shape [T]: how likely each block is content, given labels of some.

        The odds of what was suggested at first are multiplied by those that labels spread to alike blocks.
        """
        if begun is not None and all(label is None for label in labels):
            return begun
        known = np.array([-1 if label is None else label for label in labels], np.int8)
        told = _odds(await asyncio.to_thread(spread, page, known)) ** _WEIGHT
        odds = told if begun is None else told * _odds(np.clip(begun, _LEAST_BEGUN, 1 - _LEAST_BEGUN))
        suggested: Probabilities = odds / (1 + odds)
        return suggested


def centred(page: EncodedPage, labels: Prediction) -> Probabilities:
    """Shape [T]: the probabilities of a labeler, moved so that content of this page has a half or more."""
    explanation = explain(page, labels)
    least = _HALF if explanation.least is None else float(np.clip(explanation.least, _LEAST, 1 - _LEAST))
    odds = _odds(explanation.choice.probabilities) / _odds(np.array(least))
    moved = odds / (1 + odds)
    content = explanation.choice.content
    return np.where(content, np.maximum(moved, _HALF), np.minimum(moved, np.nextafter(_HALF, 0)))


def _odds(probabilities: npt.NDArray[np.floating[Any]]) -> Probabilities:
    likely = np.clip(probabilities.astype(np.float64), _LEAST, 1 - _LEAST)
    odds: Probabilities = likely / (1 - likely)
    return odds
