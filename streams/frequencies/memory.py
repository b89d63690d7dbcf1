"""Block frequencies in the memory of one process: exact and unbounded, for tests and one-off runs."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from schemas.pages import BlockFrequencies
from streams.frequencies.store import SiteObservation


@dataclass(slots=True)
class _Site:
    pages: set[str] = field(default_factory=set)
    blocks: Counter[int] = field(default_factory=Counter)


class MemoryFrequencyStore:
    """The block frequencies of the pages that this object has observed."""

    def __init__(self) -> None:
        self._sites: defaultdict[str, _Site] = defaultdict(_Site)

    async def observe(self, pages: Sequence[SiteObservation]) -> list[BlockFrequencies]:
        """Count the pages that were not counted before and answer the counts of all, in order."""
        return [self._observe(page) for page in pages]

    async def check(self) -> None:
        """Always there."""

    async def close(self) -> None:
        """Nothing to give back."""

    def _observe(self, page: SiteObservation) -> BlockFrequencies:
        site = self._sites[page.site]
        fingerprints: list[int] = page.fingerprints.tolist()
        if page.page not in site.pages:
            site.pages.add(page.page)
            site.blocks.update(set(fingerprints))
        counts = [max(site.blocks[fingerprint], 1) for fingerprint in fingerprints]
        return BlockFrequencies(len(site.pages), np.array(counts, np.uint32))
