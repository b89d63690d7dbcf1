"""The statistics of sites, and doing without them."""

from collections.abc import Sequence

import pytest

from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.pages import Prediction
from dehusk.schemas.sites import SiteObservation, SiteStatistics
from dehusk.streams.availability import Dependency
from dehusk.streams.preparation.steps import PackedPage
from dehusk.streams.sites.store import MemorySiteStatistics
from dehusk.streams.worker.steps.batch import StoreObserver


class FailingStore(MemorySiteStatistics):
    """A store that fails as often as it is told to, and remembers what it was told."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__()
        self.errors = list(errors)
        self.asked = 0
        self.pages: list[SiteObservation] = []

    async def observe(self, pages: Sequence[SiteObservation]) -> list[SiteStatistics]:
        self.asked += 1
        self.pages += pages
        if self.errors:
            raise self.errors.pop(0)
        return await super().observe(pages)


async def labels_of(page: PackedPage) -> list[Prediction]:
    return await RulesLabeler().label([page.encoded])


async def test_pages_are_observed_under_their_site_with_their_labels(page: PackedPage) -> None:
    store, labels = FailingStore(), await labels_of(page)
    statistics = await StoreObserver(store, Dependency("redis", "")).observe([page], labels)
    assert statistics is not None
    assert (statistics[0].pages, statistics[0].texts.tolist()) == (0, [0] * len(page.encoded))
    (told,) = store.pages
    assert (told.site, told.page) == (page.identity.site, page.identity.url)
    assert told.texts is page.encoded.site_keys.texts
    assert told.probabilities is labels[0].probabilities
    assert told.structures is page.encoded.site_keys.structures


@pytest.mark.parametrize("error", [UnavailableError("unavailable"), ConfigurationError("password")])
async def test_pages_do_not_wait_for_a_store_that_is_unavailable(page: PackedPage, error: Exception) -> None:
    store, dependency, labels = FailingStore(error), Dependency("redis", ""), await labels_of(page)
    observer = StoreObserver(store, dependency)
    assert await observer.observe([page], labels) is None
    assert await observer.observe([page], labels) is None
    assert (store.asked, dependency.unavailable) == (1, True)
    dependency.answered()
    assert await observer.observe([page], labels) is not None
    assert (store.asked, dependency.unavailable) == (2, False)
