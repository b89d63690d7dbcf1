"""The labels of a batch of pages, whatever becomes of the labeler in the meantime."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dehusk.inference.labeler import Labeler
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import EncodedPage, Prediction
from dehusk.streams.preparation.preparation import PackedPage
from dehusk.streams.worker.availability import UNAVAILABLE, Dependency
from dehusk.streams.worker.backoff import back_off
from dehusk.streams.worker.witnesses import WitnessedLabeler

_BATCH_TRIALS = 3
"""Failures of a batch until its pages are tried one by one."""
_PAGE_TRIALS = 4
"""Failures of a page in a row until it is blamed, pages of its size being labeled after each of them."""


@dataclass(frozen=True, slots=True)
class Labeled:
    """A labeler's answers for a batch of pages, in order."""

    answers: list[Prediction | Broken]
    degraded: bool = False
    """Whether the rules answered because the model could not."""


class Labeling(Protocol):
    """Labels batches; what to do while the labeler is unavailable is what sets its kinds apart."""

    async def label(self, pages: Sequence[EncodedPage]) -> Labeled:
        """The labels of each page, however long it takes."""
        ...


class PageLabeling(Protocol):
    """Labels batches of prepared pages, which know their sites."""

    async def label(self, pages: Sequence[PackedPage]) -> Labeled:
        """The labels of each page, however long it takes."""
        ...


@dataclass(frozen=True, slots=True)
class OneForAll:
    """Labels all pages alike, whatever their sites."""

    labeling: Labeling

    async def label(self, pages: Sequence[PackedPage]) -> Labeled:
        """The labels of each page, however long it takes."""
        return await self.labeling.label([page.encoded for page in pages])


class WaitingLabeling:
    """Waits until the labeler answers; a page that fails while others of its size do not is to blame."""

    def __init__(self, labeler: WitnessedLabeler, dependency: Dependency) -> None:
        self._labeler = labeler
        self._dependency = dependency

    async def label(self, pages: Sequence[EncodedPage]) -> Labeled:
        """The labels of each page, however long it takes."""
        for trial in range(_BATCH_TRIALS):
            try:
                answers = await self._labeler.label(pages)
            except UNAVAILABLE as error:
                self._dependency.missed(error)
                await back_off(trial)
            else:
                if any(isinstance(answer, Prediction) for answer in answers):
                    self._dependency.answered()
                return Labeled([await self._settled(*each) for each in zip(pages, answers, strict=True)])
        return Labeled([await self._label_alone(page) for page in pages])

    async def _settled(self, page: EncodedPage, answer: Prediction | Broken) -> Prediction | Broken:
        return await self._label_alone(page) if isinstance(answer, Broken) else answer

    async def _label_alone(self, page: EncodedPage) -> Prediction | Broken:
        trial = failures = 0
        while True:
            answer = await self._try(page)
            if isinstance(answer, Prediction):
                self._dependency.answered()
                return answer
            failures = failures + 1 if await self._labels_others(page) else 0
            if failures == _PAGE_TRIALS:
                return answer
            await back_off(trial)
            trial += 1

    async def _try(self, page: EncodedPage) -> Prediction | Broken:
        """The page's labels, or what it is to be blamed for if nothing but the page is to blame."""
        try:
            return (await self._labeler.label([page]))[0]
        except UNAVAILABLE as error:
            return Broken(BrokenReason.REJECTED_BY_MODEL, f"fails for this page alone: {error}")

    async def _labels_others(self, page: EncodedPage) -> bool:
        """Whether the labeler labels other pages of that size."""
        try:
            await self._labeler.check(page)
        except UNAVAILABLE as error:
            self._dependency.missed(error)
            return False
        self._dependency.answered()
        return True


class DegradingLabeling:
    """Labels of the rules while the labeler is unavailable."""

    def __init__(self, labeler: WitnessedLabeler, rules: Labeler, dependency: Dependency) -> None:
        self._labeler = labeler
        self._rules = rules
        self._dependency = dependency

    async def label(self, pages: Sequence[EncodedPage]) -> Labeled:
        """The labels of each page, of the labeler or, without waiting for it twice, of the rules."""
        if not self._dependency.unavailable:
            try:
                return Labeled(await self._answers(pages))
            except UNAVAILABLE as error:
                self._dependency.missed(error)
        return Labeled(await self._rules.label(pages), degraded=True)

    async def _answers(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """The labeler's answers; it is unavailable where it rejects others of a page's size, too."""
        answers = await self._labeler.label(pages)
        for page, answer in zip(pages, answers, strict=True):
            if isinstance(answer, Broken):
                await self._labeler.check(page)
        return answers
