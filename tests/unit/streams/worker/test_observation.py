"""Block frequencies, and doing without them."""

from collections.abc import Sequence

import pytest

from schemas.errors import ConfigurationError, UnavailableError
from schemas.pages import BlockFrequencies
from streams.frequencies.memory import MemoryFrequencyStore
from streams.frequencies.store import SiteObservation
from streams.preparation.preparation import PackedPage
from streams.worker.availability import Dependency
from streams.worker.observation import Observer


class FailingStore(MemoryFrequencyStore):
    """A store that fails as often as it is told to."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__()
        self.errors = list(errors)
        self.asked = 0

    async def observe(self, pages: Sequence[SiteObservation]) -> list[BlockFrequencies]:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return await super().observe(pages)


async def test_pages_are_counted_under_their_site(page: PackedPage) -> None:
    observer = Observer(MemoryFrequencyStore(), Dependency("redis", ""))
    frequencies = await observer.observe([page])
    assert frequencies is not None
    assert frequencies[0].pages_seen == 1
    assert frequencies[0].counts.tolist() == [1] * len(page.encoded)


async def test_without_pages_nobody_is_asked() -> None:
    store = FailingStore()
    assert await Observer(store, Dependency("redis", "")).observe([]) == []
    assert store.asked == 0


@pytest.mark.parametrize("error", [UnavailableError("unavailable"), ConfigurationError("password")])
async def test_pages_do_not_wait_for_a_store_that_is_unavailable(page: PackedPage, error: Exception) -> None:
    store, dependency = FailingStore(error), Dependency("redis", "")
    observer = Observer(store, dependency)
    assert await observer.observe([page]) is None
    assert await observer.observe([page]) is None
    assert (store.asked, dependency.unavailable) == (1, True)
    dependency.answered()
    assert await observer.observe([page]) is not None
    assert (store.asked, dependency.unavailable) == (2, False)
