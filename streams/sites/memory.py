"""Site statistics in the memory of one process: exact and unbounded, for tests and one-off runs."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from schemas.pages import SiteObservation, SiteStatistics
from streams.sites.tally import Counts, Numbers, Tally, tally, without


def _nothing() -> Numbers:
    return np.zeros(3, np.int64)


@dataclass(slots=True)
class _Site:
    pages: set[str] = field(default_factory=set)
    texts: Counter[int] = field(default_factory=Counter)
    structures: defaultdict[int, Numbers] = field(default_factory=lambda: defaultdict(_nothing))
    """As in a column of `Counts.structures`."""

    def counts(self, name: str, page: Tally) -> Counts:
        """What is counted of a page."""
        structures = [self.structures[key] for key in page.structures.tolist()]
        return Counts(
            len(self.pages),
            name in self.pages,
            np.array([self.texts[key] for key in page.texts.tolist()], np.int64),
            np.array(structures, np.int64).reshape(-1, 3).T,
        )

    def count(self, name: str, page: Tally) -> None:
        """Count a page."""
        self.pages.add(name)
        self.texts.update(page.texts.tolist())
        added = np.stack([np.ones_like(page.blocks), page.blocks, page.likelihood])
        for key, column in zip(page.structures.tolist(), added.T, strict=True):
            self.structures[key] = self.structures[key] + column


class MemorySiteStatistics:
    """The statistics of the pages that this object has observed."""

    def __init__(self) -> None:
        self._sites: defaultdict[str, _Site] = defaultdict(_Site)

    async def observe(self, pages: Sequence[SiteObservation]) -> list[SiteStatistics]:
        """Count the pages that were not counted before and answer what is known without each, in order."""
        return [self._observe(page) for page in pages]

    async def check(self) -> None:
        """Always there."""

    async def close(self) -> None:
        """Nothing to give back."""

    def _observe(self, page: SiteObservation) -> SiteStatistics:
        site, own = self._sites[page.site], tally(page)
        known = site.counts(page.page, own)
        if not known.is_counted:
            site.count(page.page, own)
        return without(own, known)
