"""Labeling of a batch of pages by a labeler that may become unavailable or reject pages."""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.batching import WINDOW_BLOCKS
from dehusk.inference.labelers.labeler import Labeler, encodings_read
from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import ConfigurationError, NotEncodedError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import EncodedPage, Encoding, ModelVersion, Prediction
from dehusk.streams.availability import UNAVAILABLE, Check, Dependency, back_off
from dehusk.streams.labelers import ALL_ENCODINGS, PROBE
from dehusk.streams.preparation.batch import BatchAnswers, BatchLabeler, LabelingPolicy
from dehusk.streams.rollout.view import RolloutView
from dehusk.streams.settings import WhenTritonIsUnavailable
from dehusk.streams.worker_settings import WorkerSettings

_MAX_PROBES = 4
"""Probes kept of each size, all sent at once, so that a labeler that fails for some requests is noticed."""
_MAX_WORDS = 1 << 14
"""Words and blocks of the largest probe, which bound the memory of all; blocks may have no words."""
_Size = tuple[int, int]
"""Blocks of a page in a window, and its words per block, at least one, each as a power of two."""
_BATCH_ATTEMPTS = 3
"""Failures of a batch until its pages are labeled one by one."""
_PAGE_ATTEMPTS = 4
"""Failures of a page in a row until it is broken; probes of its size are labeled after each of them."""
_log = logging.getLogger(__name__)
Notes = Callable[[], list[str]]
"""Source of notices that keep no page waiting, in words."""


@dataclass(frozen=True, slots=True)
class OpenLabeler:
    """Labeler that is open, with its check and its first answer."""

    labeler: BatchLabeler
    check: Check
    answer: Prediction | None
    """Answer to a line of text; None before the first."""
    notes: Notes = list
    rollout: Callable[[], RolloutView | None] = lambda: None
    """View of the roll-out, where the labeler follows one."""


class ProbedLabeler:
    """Labeler that keeps some labeled pages of each size as probes."""

    def __init__(self, labeler: Labeler) -> None:
        self._labeler = labeler
        self._probes: dict[_Size, deque[EncodedPage]] = {}
        self._suspect = PROBE
        """Page of the size whose probes failed last."""

    @property
    def encodings(self) -> frozenset[Encoding]:
        """Optional encodings that the labeler's model needs, as far as they are known."""
        return encodings_read(self._labeler)

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """Label pages, and keep some of each size as probes."""
        answers = await self._labeler.label(pages)
        for page, answer in zip(pages, answers, strict=True):
            if isinstance(answer, Prediction) and 0 < len(page) <= _MAX_WORDS - int(page.words.sum()):
                self._probes.setdefault(_size(page), deque(maxlen=_MAX_PROBES)).append(page)
        return answers

    async def check(self, page: EncodedPage | None = None) -> None:
        """Check that the labeler labels probes of a page's size, by default of the size that failed last.

        Raises:
            UnavailableError: the labeler did not answer.
            ConfigurationError: the labeler rejects them, or raises this.
        """
        suspect = self._suspect if page is None else page
        self._suspect = suspect
        for answer in await self._label_probes(_size(suspect)):
            if isinstance(answer, Broken):
                raise ConfigurationError(f"the labeler rejects every page: {answer.detail}")
        self._suspect = PROBE

    async def _label_probes(self, size: _Size) -> list[Prediction | Broken]:
        """Label probes of a size; drop probes that lack an encoding that the model reads by now."""
        probes = list(self._probes.get(size, []))
        try:
            return await self._labeler.label([PROBE, *(probes or [_stand_in(size)])])
        except NotEncodedError:
            self._probes.clear()
            return await self._labeler.label([PROBE, _stand_in(size)])

    async def close(self) -> None:
        """Close the labeler."""
        await self._labeler.close()


def _size(page: EncodedPage) -> _Size:
    blocks = len(page)
    words = int(page.words.sum()) // max(blocks, 1)
    return min(blocks, WINDOW_BLOCKS).bit_length(), max(words, 1).bit_length()


@lru_cache
def _stand_in(size: _Size) -> EncodedPage:
    """Return a made-up probe of a size, for use before a page of that size was labeled."""
    blocks, words = (1 << each >> 1 for each in size)
    return encode(segment(b"<p>%s</p>" % (b"word " * words) * blocks, with_tree=True), ALL_ENCODINGS)


class WaitingLabeling:
    """Policy that waits for the labeler; a page that fails while probes of its size do not is broken."""

    def __init__(self, labeler: ProbedLabeler, dependency: Dependency) -> None:
        self._labeler = labeler
        self._dependency = dependency

    async def label(self, pages: Sequence[EncodedPage]) -> BatchAnswers:
        """Label each page, however long it takes."""
        for attempt in range(_BATCH_ATTEMPTS):
            try:
                answers = await self._labeler.label(pages)
            except UNAVAILABLE as error:
                self._dependency.missed(error)
                await back_off(attempt)
            else:
                if any(isinstance(answer, Prediction) for answer in answers):
                    self._dependency.answered()
                return BatchAnswers(
                    [await self._retry_if_broken(*each) for each in zip(pages, answers, strict=True)]
                )
        return BatchAnswers([await self._label_alone(page) for page in pages])

    async def _retry_if_broken(self, page: EncodedPage, answer: Prediction | Broken) -> Prediction | Broken:
        return await self._label_alone(page) if isinstance(answer, Broken) else answer

    async def _label_alone(self, page: EncodedPage) -> Prediction | Broken:
        attempt = failures = 0
        while True:
            answer = await self._label_one(page)
            if isinstance(answer, Prediction):
                self._dependency.answered()
                return answer
            failures = failures + 1 if await self._labels_others(page) else 0
            if failures == _PAGE_ATTEMPTS:
                return answer
            await back_off(attempt)
            attempt += 1

    async def _label_one(self, page: EncodedPage) -> Prediction | Broken:
        """Return the page's labels, or its fault, should the labeler be available."""
        try:
            return (await self._labeler.label([page]))[0]
        except UNAVAILABLE as error:
            return Broken(BrokenReason.REJECTED_BY_MODEL, f"fails for this page alone: {error}")

    async def _labels_others(self, page: EncodedPage) -> bool:
        """Return True if the labeler labels probes of that size."""
        try:
            await self._labeler.check(page)
        except UNAVAILABLE as error:
            self._dependency.missed(error)
            return False
        self._dependency.answered()
        return True


class DegradingLabeling:
    """Policy that labels by the rules while the labeler is unavailable."""

    def __init__(self, labeler: ProbedLabeler, rules: Labeler, dependency: Dependency) -> None:
        self._labeler = labeler
        self._rules = rules
        self._dependency = dependency

    async def label(self, pages: Sequence[EncodedPage]) -> BatchAnswers:
        """Label each page by the labeler or, if it is unavailable, by the rules."""
        if not self._dependency.unavailable:
            try:
                return BatchAnswers(await self._label_checked(pages))
            except UNAVAILABLE as error:
                self._dependency.missed(error)
        return BatchAnswers(await self._rules.label(pages), degraded=True)

    async def _label_checked(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """Return the labeler's answers; raise if it also rejects probes of a rejected page's size."""
        answers = await self._labeler.label(pages)
        for page, answer in zip(pages, answers, strict=True):
            if isinstance(answer, Broken):
                await self._labeler.check(page)
        return answers


def open_labeling(settings: WorkerSettings, labeler: ProbedLabeler, dependency: Dependency) -> LabelingPolicy:
    """Return the policy that handles an unavailable labeler as the settings say."""
    if settings.when_triton_is_unavailable is WhenTritonIsUnavailable.RULES:
        return DegradingLabeling(labeler, RulesLabeler(), dependency)
    return WaitingLabeling(labeler, dependency)


class TakeoverLog:
    """Labeler that logs when another version of its model takes over."""

    def __init__(self, labeler: Labeler, model: ModelVersion | None) -> None:
        self._labeler = labeler
        self._model = model
        """Model of the last answer; None before the first, if the labeler was unavailable at the start."""

    @property
    def encodings(self) -> frozenset[Encoding]:
        """Optional encodings that the labeler's model needs, as far as they are known."""
        return encodings_read(self._labeler)

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """Label pages, and log a takeover."""
        before = self._model
        answers = await self._labeler.label(pages)
        # Pages without blocks reach no model. Batches in flight during a takeover are answered by either
        # version, or both, and end in any order. So only a batch that began after the last takeover, and that
        # a single version answered, shows the next one.
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
