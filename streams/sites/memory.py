"""Site statistics in the memory of one process: unbounded, and exact as far as 64-bit hashes differ."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dehusk.schemas.pages import SiteObservation, SiteStatistics
from dehusk.streams.sites.counters import Counters
from dehusk.streams.sites.tally import Counts, Keys, Tally, tally, without


@dataclass(slots=True)
class _Site:
    size: int = 0
    """Pages counted."""
    pages: Counters = field(default_factory=lambda: Counters(1, np.uint8))
    texts: Counters = field(default_factory=lambda: Counters(1, np.uint32))
    structures: Counters = field(default_factory=lambda: Counters(3, np.int64))
    """As in a column of `Counts.structures`."""

    def observe(self, name: Keys, page: Tally) -> Counts:
        """What is counted of a page, which is counted after it, unless it was before."""
        if self.pages.get(name).any():
            return Counts(
                self.size,
                is_counted=True,
                texts=self.texts.get(page.texts)[0],
                structures=self.structures.get(page.structures),
            )
        once = np.ones((1, len(page.texts)), np.int64)
        of_structures = np.stack([np.ones_like(page.blocks), page.blocks, page.likelihood])
        self.pages.add(name, np.ones((1, 1), np.int64))
        self.size += 1
        return Counts(
            self.size - 1,
            is_counted=False,
            texts=self.texts.add(page.texts, once)[0],
            structures=self.structures.add(page.structures, of_structures),
        )


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
        own = tally(page)
        return without(own, self._sites[page.site].observe(_key(page.page), own))


def _key(name: str) -> Keys:
    """The key of a page, shape [1]."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return np.frombuffer(digest, np.uint64)
