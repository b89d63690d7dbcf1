"""The labels of a batch of pages, whatever becomes of the labeler in the meantime."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from inference.encoding import encode
from inference.labeler import Labeler
from inference.segmentation import segment
from schemas.outcomes import Broken, BrokenReason
from schemas.pages import EncodedPage, Labels
from streams.worker.availability import ABSENCE, Part
from streams.worker.backoff import back_off

_BATCH_TRIALS = 3
"""Failures of a batch until its pages are tried one by one."""
_PAGE_TRIALS = 3
"""Failures of a page alone, on a labeler that answers, until the page is blamed."""

PROBE = encode(segment(b"<p>a line of text"))
"""The smallest page: what it gets says whether the labeler is there."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A labeler's answers for a batch of pages, in order."""

    answers: list[Labels | Broken]
    degraded: bool = False
    """Whether the rules answered because the model could not."""


class Labelling(Protocol):
    """Labels batches; what to do while the labeler is away is what sets its kinds apart."""

    async def label(self, pages: Sequence[EncodedPage]) -> Labelled:
        """The labels of each page, however long it takes."""
        ...


class WaitingLabelling:
    """Waits until the labeler answers; a page that alone makes it fail is blamed in the end."""

    def __init__(self, labeler: Labeler, part: Part) -> None:
        self._labeler = labeler
        self._part = part

    async def label(self, pages: Sequence[EncodedPage]) -> Labelled:
        """The labels of each page, however long it takes."""
        for trial in range(_BATCH_TRIALS):
            try:
                return Labelled(await self._ask(pages))
            except ABSENCE:
                await back_off(trial)
        return Labelled([await self._label_alone(page) for page in pages])

    async def _label_alone(self, page: EncodedPage) -> Labels | Broken:
        trial = blamed = 0
        while True:
            try:
                return (await self._ask([page]))[0]
            except ABSENCE as error:
                await back_off(trial)
                trial += 1
                blamed += await self._answers()
                if blamed == _PAGE_TRIALS:
                    return Broken(BrokenReason.REJECTED_BY_MODEL, f"fails for this page alone: {error}")

    async def _answers(self) -> bool:
        """Whether the labeler answers for another page."""
        try:
            await self._ask([PROBE])
        except ABSENCE:
            return False
        return True

    async def _ask(self, pages: Sequence[EncodedPage]) -> list[Labels | Broken]:
        try:
            answers = await self._labeler.label(pages)
        except ABSENCE as error:
            self._part.missed(error)
            raise
        self._part.answered()
        return answers


class DegradingLabelling:
    """Labels by rules while the labeler is away."""

    def __init__(self, labeler: Labeler, rules: Labeler, part: Part) -> None:
        self._labeler = labeler
        self._rules = rules
        self._part = part

    async def label(self, pages: Sequence[EncodedPage]) -> Labelled:
        """The labels of each page, of the labeler or, without waiting for it twice, of the rules."""
        if not self._part.away:
            try:
                return Labelled(await self._labeler.label(pages))
            except ABSENCE as error:
                self._part.missed(error)
        return Labelled(await self._rules.label(pages), degraded=True)
