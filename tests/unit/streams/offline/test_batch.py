"""The way of a batch: each step is done once for a page, and large pages wait for their turn."""

import asyncio
from collections.abc import Sequence

from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.schemas.errors import NotEncodedError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, Message, Prediction, RawPage
from dehusk.schemas.sites import SiteObservation, SiteStatistics
from dehusk.streams.offline.run import PageCleaner, Turn
from dehusk.streams.preparation.steps import LabeledPage, Outcomes, PackedPage, Writing, WrittenDocument
from dehusk.streams.sites.store import MemorySiteStatistics
from tests.settling import settle

PAGES = [RawPage(f"https://example.org/{number}", b"<p>x") for number in range(4)]


class Pool:
    """A pool without processes, which notes what is asked of it, and has room for so many pages at once."""

    def __init__(self, page: PackedPage, prepares: int = 100, extracts: int = 100) -> None:
        self.page = page
        self.prepares = prepares
        self.extracts = extracts
        self.asked: list[str] = []
        self.encodings: list[frozenset[Encoding]] = []

    async def prepare(
        self, messages: Sequence[Message], max_bytes: float = 0, encodings: frozenset[Encoding] = frozenset()
    ) -> list[Outcomes]:
        self.encodings.append(encodings)
        self.asked += ["prepare"] * len(messages[: self.prepares])
        return [(self.page,)] * len(messages[: self.prepares])

    async def prepare_alone(self, message: Message, encodings: frozenset[Encoding] = frozenset()) -> Outcomes:
        self.asked.append("prepare alone")
        return (self.page,)

    async def extract(self, pages: Sequence[LabeledPage]) -> list[WrittenDocument | Broken]:
        self.asked += ["extract"] * len(pages[: self.extracts])
        return [Writing().extract(page) for page in pages[: self.extracts]]

    async def extract_alone(self, page: LabeledPage) -> WrittenDocument | Broken:
        self.asked.append("extract alone")
        return Writing().extract(page)


class Noting(MemorySiteStatistics):
    """A store that notes how many pages it observes at once."""

    def __init__(self) -> None:
        super().__init__()
        self.observed: list[int] = []

    async def observe(self, pages: Sequence[SiteObservation]) -> list[SiteStatistics]:
        self.observed.append(len(pages))
        return await super().observe(pages)


def turn(*, begun: bool) -> Turn:
    event = asyncio.Event()
    if begun:
        event.set()
    return Turn(event)


async def test_a_page_whose_document_is_made_alone_is_prepared_and_observed_once(page: PackedPage) -> None:
    pool, store = Pool(page, extracts=0), Noting()
    documents = await PageCleaner(pool, RulesLabeler(), store, turn(begun=True)).clean(PAGES)
    assert [type(document) for document in documents] == [WrittenDocument] * 4
    assert pool.asked == ["prepare"] * 4 + ["extract alone"] * 4
    assert store.observed == [4]


async def test_pages_that_are_prepared_alone_wait_for_the_turn_of_their_batch(page: PackedPage) -> None:
    pool, own = Pool(page, prepares=0), turn(begun=False)
    cleaning = asyncio.create_task(PageCleaner(pool, RulesLabeler(), None, own).clean(PAGES[:2]))
    await settle()
    assert pool.asked == []
    own.begins.set()
    assert len(await cleaning) == 2
    assert pool.asked == ["prepare alone", "extract"] * 2
    assert own.ends.is_set()


async def test_the_next_batch_may_observe_once_all_pages_of_this_one_are_observed(page: PackedPage) -> None:
    pool, own = Pool(page, prepares=3), turn(begun=True)
    cleaner = PageCleaner(pool, RulesLabeler(), MemorySiteStatistics(), own)
    portions = cleaner.labeled(PAGES)
    assert len((await anext(portions)).prepared) == 3
    assert not own.ends.is_set()
    assert len((await anext(portions)).prepared) == 1
    assert own.ends.is_set()
    await portions.aclose()


async def test_counting_alone_extracts_nothing(page: PackedPage) -> None:
    pool, store = Pool(page), Noting()
    await PageCleaner(pool, RulesLabeler(), store, turn(begun=True)).observe(PAGES)
    assert (pool.asked, store.observed) == (["prepare"] * 4, [4])


class Reading(RulesLabeler):
    """A labeler whose model reads an encoding, which is known once it was asked."""

    encodings: frozenset[Encoding] = frozenset()

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        if not self.encodings:
            self.encodings = frozenset((Encoding.WEB2TEXT,))
            raise NotEncodedError(Encoding.WEB2TEXT)
        return await super().label(pages)


async def test_pages_that_lack_what_the_model_reads_are_prepared_again(page: PackedPage) -> None:
    pool, labeler = Pool(page, prepares=2), Reading()
    assert len(await PageCleaner(pool, labeler, None, turn(begun=True)).clean(PAGES)) == 4
    assert pool.encodings == [frozenset(), labeler.encodings, labeler.encodings]
