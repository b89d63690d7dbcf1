"""Cleaning of a batch of messages, step by step: prepare, label, observe, correct, extract.

Workers and offline runs share it. They differ in the dependencies that they wait for, and in the handling of
messages that exceed the size limit.
"""

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Protocol

from dehusk.inference.selection.selection import select
from dehusk.inference.selection.site_signal import correct
from dehusk.schemas.documents import Missing, TextSample, origin_of
from dehusk.schemas.errors import NotEncodedError, require_encoding
from dehusk.schemas.outcomes import Broken, Skipped, Tombstone
from dehusk.schemas.pages import EncodedPage, Encoding, Message, Prediction
from dehusk.schemas.sites import SiteObservation, SiteStatistics
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.preparation.steps import LabeledPage, Outcomes, PackedPage, Postponed, WrittenDocument
from dehusk.streams.sites.store import frequencies

Encodings = frozenset[Encoding]
Correct = Callable[[Prediction, SiteStatistics], Prediction]
"""Correction of the labels of a page by the statistics of its site."""
Note = Callable[[str, Sequence[TextSample]], None]
"""Callback for a site, and samples of text that it repeats."""
Step = Callable[[str], AbstractContextManager[object]]
"""Measurement of a named step."""
Extract = Callable[[Sequence[LabeledPage]], Awaitable[list[WrittenDocument | Broken]]]
"""Extraction of the documents of the first pages, up to a size limit."""


@dataclass(frozen=True, slots=True)
class BatchAnswers:
    """A labeler's answers for a batch of pages, in order."""

    answers: list[Prediction | Broken]
    degraded: bool = False
    """True if the rules answered because the model could not."""


class OpenBatch(Protocol):
    """Batch in the making, whose pages the same models label."""

    @property
    def encodings(self) -> Encodings:
        """Optional encodings that the models of the batch need, as far as they are known."""
        ...

    async def label(self, pages: Sequence[PackedPage]) -> BatchAnswers:
        """Label each page, however long it takes."""
        ...


class BatchLabeler(Protocol):
    """Labeler of batches of prepared pages."""

    def begin(self) -> AbstractAsyncContextManager[OpenBatch]:
        """Begin a batch, which the same models label until its end."""
        ...


class LabelingPolicy(Protocol):
    """Labeling of pages; policies differ in the handling of an unavailable labeler."""

    async def label(self, pages: Sequence[EncodedPage]) -> BatchAnswers:
        """Label each page, however long it takes."""
        ...


@dataclass(frozen=True, slots=True)
class UniformBatchLabeler:
    """Labeler of all pages by one policy, whatever their sites."""

    policy: LabelingPolicy
    known_encodings: Callable[[], Encodings] = frozenset

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[OpenBatch]:
        """Begin a batch."""
        yield self

    @property
    def encodings(self) -> Encodings:
        """Optional encodings that the current model needs, as far as they are known."""
        return self.known_encodings()

    async def label(self, pages: Sequence[PackedPage]) -> BatchAnswers:
        """Label each page, however long it takes."""
        return await self.policy.label([page.encoded for page in pages])


class Observer(Protocol):
    """Observer of labeled pages, for the statistics of their sites."""

    async def observe(
        self, pages: Sequence[PackedPage], labels: Sequence[Prediction]
    ) -> Sequence[SiteStatistics] | None:
        """Return the statistics of each page's site without the page; None while they are unavailable."""
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """Failure of a page or a message in one of the steps."""

    stage: str
    """`prepare`, `label`, `extract` or `deliver`."""
    broken: Broken


@dataclass(frozen=True, slots=True, eq=False)
class ObservedPage:
    """A labeled page of a message."""

    page: PackedPage
    labels: Prediction
    message: Message
    known: SiteStatistics | None
    """Statistics of its site; None where they are not wanted or unavailable."""


@dataclass(frozen=True, slots=True, eq=False)
class LabeledBatch:
    """First messages of a batch, whose pages are labeled and observed."""

    prepared: Sequence[Outcomes]
    """Outcomes of each message; empty if the first one has to be prepared alone."""
    pages: Sequence[ObservedPage | Broken]
    """Prepared pages of all messages, in order; those that the labeler rejected are Broken."""
    degraded: tuple[str, ...] = ()
    """Names of the dependencies that the documents lack."""


@dataclass(frozen=True, slots=True, eq=False)
class PageResult:
    """Result of a page that was prepared."""

    page: PackedPage
    document: WrittenDocument | Failure
    known: SiteStatistics | None = None


MessageResult = tuple[PageResult | Skipped | Broken | Tombstone, ...] | Postponed
"""Results of a message's pages; pages that could not be prepared are Broken."""


def unmeasured(_step: str) -> AbstractContextManager[object]:
    """Measure nothing."""
    return nullcontext()


@dataclass(frozen=True, slots=True)
class BatchCleaner:
    """Pipeline of batches of messages: all steps but delivery."""

    pool: PreparationPool
    labeler: BatchLabeler
    observer: Observer | None = None
    """Observer of pages; None where statistics of sites are not wanted."""
    note: Note | None = None
    correct: Correct = correct
    max_bytes: float = math.inf
    """Bytes that the prepared pages of a batch may take."""

    async def label(
        self,
        messages: Sequence[Message],
        step: Step = unmeasured,
        *,
        alone: bool = False,
        with_keys: bool = False,
    ) -> LabeledBatch:
        """Prepare, label and observe the first messages of a batch, up to the size limit.

        With `alone`, there is one message, which may take the large share of memory. With `with_keys`, pages
        have the keys of their sites' counts even if there is no observer.
        """
        of_site = frozenset((Encoding.SITE_KEYS,) if with_keys or self.observer is not None else ())
        async with self.labeler.begin() as batch:
            prepared, labeled = await self._label(messages, batch, step, of_site, alone=alone)
        pages = list(zip(_packed(messages, prepared), labeled.answers, strict=True))
        answered = [(page, labels) for (page, _), labels in pages if isinstance(labels, Prediction)]
        with step("observe"):
            statistics = await self._observe(answered)
        known = chain(statistics or (), repeat(None))
        observed = [
            answer if isinstance(answer, Broken) else ObservedPage(page, answer, message, next(known))
            for (page, message), answer in pages
        ]
        missing = {Missing.FREQUENCIES: statistics is None, Missing.MODEL: labeled.degraded}
        return LabeledBatch(prepared, observed, tuple(name.value for name in missing if missing[name]))

    async def extract(
        self, batch: LabeledBatch, extract: Extract, step: Step = unmeasured, revision: int = 1
    ) -> list[MessageResult]:
        """Make the documents of a batch; return the results of its first messages that have all of theirs."""
        pages = [page for page in batch.pages if isinstance(page, ObservedPage)]
        with step("extract"):
            documents = await extract([self._corrected(page, batch.degraded, revision) for page in pages])
        if self.note is not None:
            for page, document in zip(pages, documents, strict=False):
                if isinstance(document, WrittenDocument):
                    self.note(page.page.identity.site, document.samples)
        return list(_results(batch, documents))

    async def _label(
        self, messages: Sequence[Message], batch: OpenBatch, step: Step, of_site: Encodings, *, alone: bool
    ) -> tuple[Sequence[Outcomes], BatchAnswers]:
        """Prepare messages with the encodings that models and sites need, and label their pages.

        Triton silently swaps a model that is not pinned to a version, and the new one may need a further
        encoding. Only then the messages are prepared once more.
        """
        encodings = batch.encodings | of_site
        while True:
            with step("prepare"):
                prepared = await self._prepare(messages, encodings, alone=alone)
            pages = [page for page, _ in _packed(messages, prepared)]
            try:
                with step("label"):
                    return prepared, await batch.label(pages) if pages else BatchAnswers([])
            except NotEncodedError as error:
                if error.encoding in encodings:
                    raise
                encodings |= {error.encoding}

    async def _prepare(
        self, messages: Sequence[Message], encodings: Encodings, *, alone: bool
    ) -> Sequence[Outcomes]:
        if alone:
            return [await self.pool.prepare_alone(message, encodings) for message in messages]
        return await self.pool.prepare(messages, self.max_bytes, encodings)

    async def _observe(
        self, answered: Sequence[tuple[PackedPage, Prediction]]
    ) -> Sequence[SiteStatistics] | None:
        if self.observer is None or not answered:
            return ()
        return await self.observer.observe([page for page, _ in answered], [labels for _, labels in answered])

    def _corrected(self, page: ObservedPage, degraded: tuple[str, ...], revision: int) -> LabeledPage:
        """Correct the labels of a page, where the statistics of its site are known."""
        labels, counts = page.labels, None
        if page.known is not None:
            labels, counts = self.correct(labels, page.known), frequencies(page.known)
        origin = origin_of(page.message) if page.message.topic else None
        return LabeledPage(page.page.packed, labels, counts, degraded, origin, revision)


def observation(page: PackedPage, labels: Prediction) -> SiteObservation:
    """Return the observation of a page, with its labels before any correction.

    Raises:
        NotEncodedError: it was prepared without the keys of its site.
    """
    encoded = page.encoded
    keys = require_encoding(encoded.site_keys, Encoding.SITE_KEYS)
    return SiteObservation(
        page.identity.site,
        page.identity.url,
        texts=keys.texts,
        structures=keys.structures,
        probabilities=labels.probabilities,
        chosen=select(labels.probabilities, encoded.words, encoded.repeat, labels.comments, encoded.alike),
        title_parts=keys.title_parts,
    )


def _packed(
    messages: Sequence[Message], prepared: Sequence[Outcomes]
) -> Iterator[tuple[PackedPage, Message]]:
    """Yield the prepared pages, each with its message."""
    for message, outcomes in zip(messages, prepared, strict=False):
        if not isinstance(outcomes, Postponed):
            yield from ((page, message) for page in outcomes if isinstance(page, PackedPage))


def _results(batch: LabeledBatch, documents: Sequence[WrittenDocument | Broken]) -> Iterator[MessageResult]:
    """Yield the results of the messages up to the first whose labeled pages lack a document."""
    pages, remaining = iter(batch.pages), iter(documents)
    for outcomes in batch.prepared:
        if isinstance(outcomes, Postponed):
            yield outcomes
            continue
        results: list[PageResult | Skipped | Broken | Tombstone] = []
        for outcome in outcomes:
            if not isinstance(outcome, PackedPage):
                results.append(outcome)
            elif isinstance(page := next(pages), Broken):
                results.append(PageResult(outcome, Failure("label", page)))
            elif (document := next(remaining, None)) is None:
                return
            elif isinstance(document, Broken):
                results.append(PageResult(outcome, Failure("extract", document), page.known))
            else:
                results.append(PageResult(outcome, document, page.known))
        yield tuple(results)
