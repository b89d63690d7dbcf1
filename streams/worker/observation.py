"""The statistics of the sites of a batch of pages, or none while the store is unavailable."""

from collections.abc import Sequence

from dehusk.schemas.pages import Prediction, SiteStatistics
from dehusk.streams.preparation.preparation import PackedPage
from dehusk.streams.sites.observation import observation, observe
from dehusk.streams.sites.store import SiteStatisticsStore
from dehusk.streams.worker.availability import UNAVAILABLE, Dependency


class Observer:
    """Counts labeled pages in the store; while it is unavailable nobody waits for it."""

    def __init__(self, store: SiteStatisticsStore, dependency: Dependency) -> None:
        self._store = store
        self._dependency = dependency

    async def observe(
        self, pages: Sequence[PackedPage], labels: Sequence[Prediction]
    ) -> list[SiteStatistics] | None:
        """What is known of each page's site without it, in order; None where the store is unavailable."""
        if not pages:
            return []
        if self._dependency.unavailable:
            return None
        try:
            statistics = await observe(self._store, list(map(observation, pages, labels)))
        except UNAVAILABLE as error:
            self._dependency.missed(error)
            return None
        self._dependency.answered()
        return statistics
