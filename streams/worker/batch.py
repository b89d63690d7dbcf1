"""The way of a micro-batch: prepare its messages, label and observe their pages, extract documents."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dehusk.schemas.documents import Origin
from dehusk.schemas.errors import NotEncodedError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Encoding, Message, Prediction, SiteStatistics
from dehusk.schemas.samples import TextSample
from dehusk.streams.preparation.extraction import LabeledPage, WrittenDocument
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.preparation.preparation import Outcome, Outcomes, PackedPage, Postponed
from dehusk.streams.preparation.process import Oversized
from dehusk.streams.settings import MIB
from dehusk.streams.sites.observation import frequencies
from dehusk.streams.sites.revisits import Visit
from dehusk.streams.worker.assembly import Assembler, CleanedMessage, Failure, Fate, origin_of
from dehusk.streams.worker.cleaning import Result
from dehusk.streams.worker.labeling import Labeled, PageLabeling
from dehusk.streams.worker.memory import give_back_what_is_free
from dehusk.streams.worker.metrics import Metrics, StepTimes
from dehusk.streams.worker.observation import Observer
from dehusk.streams.worker.tracing.traces import UNTRACED, Traces

_ROOM = 8 * MIB
"""Bytes that the prepared pages of a batch, or their documents, may take; what follows has to wait."""
Encodings = frozenset[Encoding]
Extract = Callable[[Sequence[LabeledPage]], Awaitable[list[WrittenDocument | Broken]]]
Clean = Callable[[Encodings], Awaitable[list[CleanedMessage | Postponed]]]
"""What becomes of messages whose pages have those encodings."""
Correct = Callable[[Prediction, SiteStatistics], Prediction]
"""The labels of a page, corrected by what is known of its site."""
Note = Callable[[str, Sequence[TextSample]], None]
"""Told of a page's site, and of samples of what it repeats."""
Answered = tuple[PackedPage, Prediction, Origin]
"""A page, its labels, and the message that it is of."""


@dataclass(frozen=True, slots=True)
class BatchCleaner:
    """Takes micro-batches through all steps but delivery."""

    _pool: PreparationPool
    _labeling: PageLabeling
    _observer: Observer
    _correct: Correct
    _assembler: Assembler
    _metrics: Metrics
    _note: Note
    _revision: int = 1
    """Of the documents."""
    _traces: Traces = UNTRACED
    _encodings: Callable[[], Encodings] = frozenset
    """What is read now of a page beside what each page has."""
    _alone: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def clean(self, messages: Sequence[Message]) -> list[Result]:
        """What became of the first messages, in order, of one at least.

        Postponed is one whose schema cannot be asked for now, oversized a first one that has to be cleaned
        alone. It ends where the prepared pages or their documents take too much room, and before any other
        message that has to be cleaned alone.
        """
        times = StepTimes(self._metrics, self._traces.begin(messages, self._revision))

        async def extract(pages: Sequence[LabeledPage]) -> list[WrittenDocument | Broken]:
            return await self._pool.extract(pages, _ROOM)

        async def clean(encodings: Encodings) -> list[CleanedMessage | Postponed]:
            with times.step("prepare"):
                prepared = await self._pool.prepare(messages, _ROOM, encodings)
            return await self._finish(messages, prepared, extract, times)

        return [*await self._encoded_as_read(clean)] or [Oversized()]

    async def clean_alone(self, message: Message) -> CleanedMessage | Postponed:
        """What became of a message that may take the large share of memory, one at a time."""

        async def extract(pages: Sequence[LabeledPage]) -> list[WrittenDocument | Broken]:
            return [await self._pool.extract_alone(page) for page in pages]

        async def clean(encodings: Encodings) -> list[CleanedMessage | Postponed]:
            with times.step("prepare"):
                prepared = await self._pool.prepare_alone(message, encodings)
            return await self._finish([message], [prepared], extract, times)

        async with self._alone:
            times = StepTimes(self._metrics, self._traces.begin([message], self._revision))
            (result,) = await self._encoded_as_read(clean)
            await asyncio.to_thread(give_back_what_is_free)
            return result

    async def _encoded_as_read(self, clean: Clean) -> list[CleanedMessage | Postponed]:
        """What became of messages with what the model reads; prepared again where another one took over."""
        encodings = self._encodings()
        while True:
            try:
                return await clean(encodings)
            except NotEncodedError as error:
                if error.encoding in encodings:
                    raise
                encodings |= {error.encoding}

    async def _finish(
        self,
        messages: Sequence[Message],
        prepared: Sequence[Outcomes],
        extract: Extract,
        times: StepTimes,
    ) -> list[CleanedMessage | Postponed]:
        """The way of prepared messages, as far as there are documents for them."""
        pairs = list(zip(messages, prepared, strict=False))
        begun = [message for message, each in pairs if not isinstance(each, Postponed)]
        outcomes = [each for each in prepared if not isinstance(each, Postponed)]
        done = await self._clean(begun, outcomes, extract, times)
        if not done:
            times.trace.end()
        cleaned = iter(done)
        results: list[CleanedMessage | Postponed] = []
        for each in prepared:
            result = each if isinstance(each, Postponed) else next(cleaned, None)
            if result is None:
                break
            results.append(result)
        return results

    async def _clean(
        self,
        messages: Sequence[Message],
        outcomes: Sequence[tuple[Outcome, ...]],
        extract: Extract,
        times: StepTimes,
    ) -> list[CleanedMessage]:
        """What became of each message, however long the dependencies it needs are unavailable."""
        pages = [page for each in outcomes for page in each if isinstance(page, PackedPage)]
        with times.step("label"):
            labeled = await self._label(pages)
        answered = _answered(pages, labeled.answers, _origins(messages, outcomes))
        with times.step("observe"):
            statistics = await self._observer.observe(
                [page for page, _, _ in answered], [labels for _, labels, _ in answered]
            )
        degraded = _degraded(labeled, statistics)
        with times.step("extract"):
            documents = await extract(self._corrected(answered, statistics, degraded))
        self._note_samples(answered, documents)
        fates = _fates(labeled.answers, documents)
        cleaned = self._assembler.assemble(messages, outcomes, fates, degraded, times.trace)
        _note_visits(cleaned, answered, statistics or [])
        for each in cleaned:
            each.batch_messages, each.batch_seconds = len(messages), times.seconds
        return cleaned

    def _corrected(
        self,
        answered: Sequence[Answered],
        statistics: Sequence[SiteStatistics] | None,
        degraded: tuple[str, ...],
    ) -> list[LabeledPage]:
        """Pages with their labels, corrected where the statistics of their sites are known."""
        if statistics is None:
            return [
                LabeledPage(page.packed, labels, None, degraded, origin, self._revision)
                for page, labels, origin in answered
            ]
        return [
            LabeledPage(
                page.packed,
                self._correct(labels, known),
                frequencies(known),
                degraded,
                origin,
                self._revision,
            )
            for (page, labels, origin), known in zip(answered, statistics, strict=True)
        ]

    def _note_samples(
        self, answered: Sequence[Answered], documents: Sequence[WrittenDocument | Broken]
    ) -> None:
        for (page, _, _), document in zip(answered, documents, strict=False):
            if isinstance(document, WrittenDocument):
                self._note(page.identity.site, document.samples)

    async def _label(self, pages: Sequence[PackedPage]) -> Labeled:
        if not pages:
            return Labeled([])
        return await self._labeling.label(pages)


def _answered(
    pages: Iterable[PackedPage], answers: Iterable[Prediction | Broken], origins: Iterable[Origin]
) -> list[Answered]:
    """The pages that the labeler has an answer for."""
    return [
        (page, labels, origin)
        for page, labels, origin in zip(pages, answers, origins, strict=True)
        if isinstance(labels, Prediction)
    ]


def _degraded(labeled: Labeled, statistics: Sequence[SiteStatistics] | None) -> tuple[str, ...]:
    """What the documents have to do without."""
    missing = {"frequencies": statistics is None, "model": labeled.degraded}
    return tuple(name for name, is_missing in missing.items() if is_missing)


def _origins(messages: Sequence[Message], outcomes: Sequence[tuple[Outcome, ...]]) -> Iterator[Origin]:
    """Of which message each prepared page is."""
    for message, pages in zip(messages, outcomes, strict=True):
        origin = origin_of(message)
        yield from (origin for page in pages if isinstance(page, PackedPage))


def _note_visits(
    cleaned: Iterable[CleanedMessage], answered: Iterable[Answered], statistics: Iterable[SiteStatistics]
) -> None:
    """Note which pages of each message were counted; nothing where the store is unavailable."""
    visits: defaultdict[Origin, list[Visit]] = defaultdict(list)
    for (page, _, origin), known in zip(answered, statistics, strict=False):
        identity = page.identity
        if identity.site:
            visits[origin].append(Visit(identity.site, identity.url, origin, known.pages, known.is_counted))
    for each in cleaned:
        each.visits += visits.get(origin_of(each.message), [])


def _fates(
    answers: Iterable[Prediction | Broken], documents: Iterable[WrittenDocument | Broken]
) -> Iterator[Fate]:
    """What became of each page, as far as there are documents for those that were labeled."""
    extracted = iter(documents)
    for labels in answers:
        if isinstance(labels, Broken):
            yield Failure("label", labels)
        elif (document := next(extracted, None)) is None:
            return
        else:
            yield Failure("extract", document) if isinstance(document, Broken) else document
