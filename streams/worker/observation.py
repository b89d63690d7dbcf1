"""The block frequencies of a batch of pages, or none while the store is unavailable."""

from collections.abc import Sequence

from schemas.pages import BlockFrequencies
from streams.frequencies.store import BlockFrequencyStore, SiteObservation
from streams.preparation.preparation import PackedPage
from streams.worker.availability import UNAVAILABLE, Dependency


class Observer:
    """Counts pages in the store; while it is unavailable nobody waits for it."""

    def __init__(self, store: BlockFrequencyStore, dependency: Dependency) -> None:
        self._store = store
        self._dependency = dependency

    async def observe(self, pages: Sequence[PackedPage]) -> list[BlockFrequencies] | None:
        """The frequencies of each page's blocks, in order; None where the store is unavailable."""
        if not pages:
            return []
        if self._dependency.unavailable:
            return None
        try:
            frequencies = await self._store.observe([_observation(page) for page in pages])
        except UNAVAILABLE as error:
            self._dependency.missed(error)
            return None
        self._dependency.answered()
        return frequencies


def _observation(page: PackedPage) -> SiteObservation:
    return SiteObservation(page.identity.site, page.identity.url, page.encoded.fingerprints)
