"""The way of a batch of pages: prepare and label them, observe them in the order of the input, extract."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from dehusk.inference.labeler import Labeler, encodings_read
from dehusk.inference.site_signal import corrected
from dehusk.schemas.errors import NotEncodedError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Prediction, RawPage, SiteStatistics
from dehusk.schemas.samples import TextSample
from dehusk.streams.offline.decoded import message_of
from dehusk.streams.preparation.extraction import LabeledPage, WrittenDocument
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.preparation.preparation import Outcomes, PackedPage
from dehusk.streams.sites.observation import frequencies, observation, observe
from dehusk.streams.sites.store import SiteStatisticsStore

Fate = WrittenDocument | Broken
Answered = tuple[PackedPage, Prediction]
Note = Callable[[str, Sequence[TextSample]], None]
"""Told of a page's site, and of samples of what it repeats."""


@dataclass(frozen=True, slots=True)
class SitedPage:
    """A page with its labels, and the site that it is of."""

    page: LabeledPage
    site: str


@dataclass(frozen=True, slots=True)
class Turn:
    """When a batch may do what is done in the order of the input: after the batch before, before the next."""

    begins: asyncio.Event
    ends: asyncio.Event = field(default_factory=asyncio.Event)

    async def end(self) -> None:
        """Let the next batch go on, once it is this one's turn."""
        await self.begins.wait()
        self.ends.set()


@dataclass(frozen=True, slots=True)
class BatchCleaner:
    """Takes the pages of one batch through all steps; one that needs the large share of memory goes alone.

    It does so on its batch's turn: of all batches, one page at a time.
    """

    _pool: PreparationPool
    _labeler: Labeler
    _store: SiteStatisticsStore | None
    _turn: Turn
    _note: Note | None = None

    async def clean(self, pages: Sequence[RawPage]) -> list[Fate]:
        """What became of each page, in order."""
        fates: list[Fate] = []
        async for portion in self._labeled(pages):
            fates += await self._extract(portion)
        return fates

    async def observe(self, pages: Sequence[RawPage]) -> None:
        """Have the pages counted, and no more."""
        async for _ in self._labeled(pages):
            pass

    async def _labeled(self, pages: Sequence[RawPage]) -> AsyncIterator[list[SitedPage | Broken]]:
        """The pages with their labels, corrected by what is known of their sites, in portions."""
        done = 0
        while remaining := pages[done:]:
            answered, together = await self._answered(remaining)
            done += len(answered)
            known = iter(await self._known([each for each in answered if not isinstance(each, Broken)]))
            if together and done == len(pages) and self._store is not None:
                await self._turn.end()
            yield [each if isinstance(each, Broken) else _corrected(*each, next(known)) for each in answered]
        await self._turn.end()

    async def _answered(self, pages: Sequence[RawPage]) -> tuple[list[Answered | Broken], bool]:
        """What the labeler says of the first pages, of one at least, and whether they were prepared together.

        They are prepared again where its model reads more of a page than was known.
        """
        encodings = encodings_read(self._labeler)
        while True:
            outcomes = await self._pool.prepare([message_of(page) for page in pages], encodings=encodings)
            together = bool(outcomes)
            if not together:
                await self._turn.begins.wait()
                outcomes = [await self._pool.prepare_alone(message_of(pages[0]), encodings)]
            try:
                return await self._label([_only(each) for each in outcomes]), together
            except NotEncodedError as error:
                if error.encoding in encodings:
                    raise
                encodings |= {error.encoding}

    async def _label(self, prepared: Sequence[PackedPage | Broken]) -> list[Answered | Broken]:
        encoded = [page.encoded for page in prepared if isinstance(page, PackedPage)]
        answers = iter(await self._labeler.label(encoded) if encoded else ())
        return [page if isinstance(page, Broken) else _answered(page, next(answers)) for page in prepared]

    async def _known(self, pages: Sequence[Answered]) -> Sequence[SiteStatistics | None]:
        """What is known of each page's site without it, once all pages before are counted."""
        if self._store is None:
            return [None] * len(pages)
        await self._turn.begins.wait()
        return await observe(self._store, [observation(*page) for page in pages])

    async def _extract(self, pages: Sequence[SitedPage | Broken]) -> list[Fate]:
        """What became of labeled pages; a document that its process has no room for is made alone."""
        sited = [page for page in pages if isinstance(page, SitedPage)]
        labeled = [each.page for each in sited]
        documents: list[Fate] = []
        while remaining := labeled[len(documents) :]:
            documents += await self._pool.extract(remaining) or [await self._pool.extract_alone(remaining[0])]
        self._note_samples(sited, documents)
        found = iter(documents)
        return [page if isinstance(page, Broken) else next(found) for page in pages]

    def _note_samples(self, pages: Sequence[SitedPage], documents: Sequence[Fate]) -> None:
        if self._note is None:
            return
        for page, document in zip(pages, documents, strict=True):
            if isinstance(document, WrittenDocument):
                self._note(page.site, document.samples)


def _only(outcomes: Outcomes) -> PackedPage | Broken:
    """The one outcome that a message of `DecodedPages` has."""
    match outcomes:
        case (PackedPage() | Broken() as outcome,):
            return outcome
    raise TypeError(f"a page became {outcomes}")


def _answered(page: PackedPage, answer: Prediction | Broken) -> Answered | Broken:
    return answer if isinstance(answer, Broken) else (page, answer)


def _corrected(page: PackedPage, labels: Prediction, known: SiteStatistics | None) -> SitedPage:
    if known is None:
        return SitedPage(LabeledPage(page.packed, labels), page.identity.site)
    labeled = LabeledPage(page.packed, corrected(labels, known), frequencies(known))
    return SitedPage(labeled, page.identity.site)
