"""What is told to a store of site statistics, and published of its answer."""

import numpy as np

from dehusk.schemas.pages import SiteObservation, SiteStatistics
from dehusk.streams.sites.memory import MemorySiteStatistics
from dehusk.streams.sites.observation import frequencies, observe


def test_published_frequencies_include_the_page() -> None:
    none, some = np.zeros(2, np.uint32), np.array([0, 4], np.uint32)
    published = frequencies(SiteStatistics(7, some, none, none, none.astype(np.float32)))
    assert (published.pages_seen, published.counts.tolist()) == (8, [1, 5])
    assert published.counts.dtype == np.uint32


def page(site: str, number: int) -> SiteObservation:
    """A page with a text that all have."""
    texts = np.array([7, number], np.uint64)
    return SiteObservation(site, f"/{number}", texts, texts, np.full(2, 0.5, np.float32))


async def test_pages_of_no_site_are_not_counted_and_know_nothing_of_each_other() -> None:
    store = MemorySiteStatistics()
    answers = await observe(store, [page(site, at) for at, site in enumerate(["", "a.test", "", "a.test"])])
    assert [(each.pages, each.texts.tolist()) for each in answers] == [
        (0, [0, 0]),
        (0, [0, 0]),
        (0, [0, 0]),
        (1, [1, 0]),
    ]
    (again,) = await observe(store, [page("", 0)])
    assert (again.pages, again.is_counted) == (0, False)
    published = frequencies(again)
    assert (published.pages_seen, published.counts.tolist()) == (1, [1, 1])
