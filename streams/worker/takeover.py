"""The log's word of a model that was swapped while the worker runs."""

import logging
from collections.abc import Sequence

from dehusk.inference.labeler import Labeler, encodings_read
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, ModelVersion, Prediction

_log = logging.getLogger(__name__)


class TakeoverLog:
    """A labeler, and a line in the log when another version of its model takes over."""

    def __init__(self, labeler: Labeler, model: ModelVersion | None) -> None:
        self._labeler = labeler
        self._model = model
        """Which one answers; None until the first answer, where the labeler was unavailable at the start."""

    @property
    def encodings(self) -> frozenset[Encoding]:
        """What the labeler's model reads of a page beside what each page has, as far as it is known."""
        return encodings_read(self._labeler)

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """The labeler's answers."""
        before = self._model
        answers = await self._labeler.label(pages)
        # No model is asked about pages without blocks. Batches on their way during a takeover are answered by
        # either version, or both, and end in any order: one that began after the last takeover, and that one
        # version answered, tells of the next.
        asked = [answer for answer in answers if isinstance(answer, Prediction) and answer.probabilities.size]
        models = {answer.model for answer in asked}
        if len(models) == 1 and self._model == before:
            self._note(*models)
        return answers

    async def close(self) -> None:
        """Close the labeler."""
        await self._labeler.close()

    def _note(self, model: ModelVersion) -> None:
        before, self._model = self._model, model
        if before is None:
            _log.info("model %s: version %s answers", model.name, model.version)
        elif model != before:
            _log.info("model %s: version %s takes over from %s", model.name, model.version, before.version)
