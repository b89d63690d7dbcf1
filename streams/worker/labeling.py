"""The labels of a batch of pages, whatever becomes of the labeler in the meantime."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from inference.encoding import encode
from inference.labeler import Labeler
from inference.segmentation import segment
from schemas.outcomes import Broken, BrokenReason
from schemas.pages import EncodedPage, Prediction
from streams.worker.availability import UNAVAILABLE, Dependency
from streams.worker.backoff import back_off

_BATCH_TRIALS = 3
"""Failures of a batch until its pages are tried one by one."""
_PAGE_TRIALS = 3
"""Failures of a page alone, on a labeler that answers, until the page is blamed."""

PROBE = encode(segment(b"<p>a line of text"))
"""The smallest page: what it gets says whether the labeler is there."""


@dataclass(frozen=True, slots=True)
class Labeled:
    """A labeler's answers for a batch of pages, in order."""

    answers: list[Prediction | Broken]
    degraded: bool = False
    """Whether the rules answered because the model could not."""


class Labeling(Protocol):
    """Prediction batches; what to do while the labeler is unavailable is what sets its kinds apart."""

    async def label(self, pages: Sequence[EncodedPage]) -> Labeled:
        """The labels of each page, however long it takes."""
        ...


class WaitingLabeling:
    """Waits until the labeler answers; a page that alone makes it fail is blamed in the end."""

    def __init__(self, labeler: Labeler, dependency: Dependency) -> None:
        self._labeler = labeler
        self._dependency = dependency

    async def label(self, pages: Sequence[EncodedPage]) -> Labeled:
        """The labels of each page, however long it takes."""
        for trial in range(_BATCH_TRIALS):
            try:
                return Labeled(await self._ask(pages))
            except UNAVAILABLE:
                await back_off(trial)
        return Labeled([await self._label_alone(page) for page in pages])

    async def _label_alone(self, page: EncodedPage) -> Prediction | Broken:
        trial = blamed = 0
        while True:
            try:
                return (await self._ask([page]))[0]
            except UNAVAILABLE as error:
                await back_off(trial)
                trial += 1
                blamed += await self._answers()
                if blamed == _PAGE_TRIALS:
                    return Broken(BrokenReason.REJECTED_BY_MODEL, f"fails for this page alone: {error}")

    async def _answers(self) -> bool:
        """Whether the labeler answers for another page."""
        try:
            await self._ask([PROBE])
        except UNAVAILABLE:
            return False
        return True

    async def _ask(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        try:
            answers = await self._labeler.label(pages)
        except UNAVAILABLE as error:
            self._dependency.missed(error)
            raise
        self._dependency.answered()
        return answers


class DegradingLabeling:
    """Prediction by rules while the labeler is unavailable."""

    def __init__(self, labeler: Labeler, rules: Labeler, dependency: Dependency) -> None:
        self._labeler = labeler
        self._rules = rules
        self._dependency = dependency

    async def label(self, pages: Sequence[EncodedPage]) -> Labeled:
        """The labels of each page, of the labeler or, without waiting for it twice, of the rules."""
        if not self._dependency.unavailable:
            try:
                return Labeled(await self._labeler.label(pages))
            except UNAVAILABLE as error:
                self._dependency.missed(error)
        return Labeled(await self._rules.label(pages), degraded=True)
