"""The block frequencies of a batch of pages, or none while the store is away."""

from collections.abc import Sequence

from inference.cleaning import PreparedPage
from schemas.pages import BlockFrequencies
from streams.frequencies.store import BlockFrequencyStore, SiteObservation
from streams.worker.availability import ABSENCE, Part


class Observer:
    """Counts pages in the store; while it is away nobody waits for it."""

    def __init__(self, store: BlockFrequencyStore, part: Part) -> None:
        self._store = store
        self._part = part

    async def observe(self, pages: Sequence[PreparedPage]) -> list[BlockFrequencies] | None:
        """The frequencies of each page's blocks, in order; None where the store is away."""
        if not pages:
            return []
        if self._part.away:
            return None
        try:
            frequencies = await self._store.observe([_observation(page) for page in pages])
        except ABSENCE as error:
            self._part.missed(error)
            return None
        self._part.answered()
        return frequencies


def _observation(page: PreparedPage) -> SiteObservation:
    return SiteObservation(page.identity.site, page.identity.url, page.encoded.fingerprints)
