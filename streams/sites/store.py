"""The interface of a store of site statistics, and the store in the memory of one process.

The store in memory is unbounded, and exact as far as 64-bit hashes differ. The other store is in Redis.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dehusk.schemas.sites import BlockFrequencies, SiteObservation, SiteStatistics
from dehusk.streams.sites.copies import content_keys
from dehusk.streams.sites.tally import Counts, Keys, Numbers, PageStatus, Tally, name_hash, tally, without


class SiteStatisticsStore(Protocol):
    """Counts, per site, of the pages that hold each text and each structure."""

    async def observe(self, pages: Sequence[SiteObservation]) -> list[SiteStatistics]:
        """Count the pages that were not counted before, and return what is known without each, in order.

        A page is counted once, as it was first, however often it is observed, and under however many URLs: a
        copy of a counted page, by `content_keys`, is not counted. A page sees the pages of its site that come
        before it in the sequence. A page that was counted before, or as a copy, sees all others: what it
        would add now is subtracted. That is exact if it is the page that was counted, with the same
        probabilities. If it differs, each count of a text or structure is at most one page too low, and never
        too high. The blocks of a structure, if pages of it are known, are then wrong by at most those that
        the page has in it, or had. The module of a store that forgets states what and when.

        Raises:
            UnavailableError: the store did not answer; some pages may have been counted, which is harmless.
            ConfigurationError: the store refuses the user or the request.
        """
        ...


async def observe(store: SiteStatisticsStore, pages: Sequence[SiteObservation]) -> list[SiteStatistics]:
    """Observe pages; a page of no site is not counted, and answered like the first page of a site.

    Raises what `SiteStatisticsStore.observe` raises.
    """
    statistics = iter(await store.observe([page for page in pages if page.site]))
    return [next(statistics) if page.site else _no_statistics(len(page.texts)) for page in pages]


def _no_statistics(blocks: int) -> SiteStatistics:
    counts, shares = np.zeros(blocks, np.uint32), np.zeros(blocks, np.float32)
    return SiteStatistics(0, counts, counts, counts, shares)


def frequencies(statistics: SiteStatistics) -> BlockFrequencies:
    """Return the numbers of pages of the site that hold what was counted of a page, the page included."""
    parts = None if statistics.title_parts is None else statistics.title_parts + np.uint32(1)
    return BlockFrequencies(statistics.pages + 1, statistics.texts + np.uint32(1), parts)


_KEY_BYTES = 8
_MIN_RATIO = 4
"""Ratio of the lengths of a run and the next one: the greater, the fewer runs are searched."""


@dataclass(slots=True, eq=False)
class _Run:
    """Sorted keys and their counts."""

    keys: Keys
    """Shape [N], ascending."""
    counts: npt.NDArray[Any]
    """Shape [columns, N]."""

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: Keys) -> tuple[Numbers, Numbers]:
        """Return the indices of the keys that are there, and their places in the run."""
        places = np.searchsorted(self.keys, keys)
        places[places == len(self)] = 0
        indices = (self.keys[places] == keys).nonzero()[0]
        return indices, places[indices]

    def merge(self, other: "_Run") -> "_Run":
        """Return both runs as one; they have no key in common."""
        keys = np.concatenate([self.keys, other.keys])
        order = np.argsort(keys, kind="stable")
        return _Run(keys[order], np.concatenate([self.counts, other.counts], axis=1)[:, order])


class Counters:
    """Counts of any number of 64-bit keys in sorted arrays; an entry takes 8 bytes and its counts.

    New keys are a run of their own, which is merged with those before it that are not much longer. So the
    runs to search are about as many as the logarithm of the number of entries, and an entry moves as often.
    """

    def __init__(self, columns: int, kind: npt.DTypeLike) -> None:
        """Prepare so many counts for each key, in integers of one type."""
        self._columns = columns
        self._kind = kind
        self._runs: list[_Run] = []

    def get(self, keys: Keys) -> Numbers:
        """Return the counts of K keys, shape [columns, K]; zeros for keys that were never added."""
        return self._count(keys, None)[0]

    def add(self, keys: Keys, amounts: Numbers) -> Numbers:
        """Add amounts to the counts of K different keys, ascending, and return the counts before.

        Both have the shape [columns, K].
        """
        before, unknown = self._count(keys, amounts)
        if unknown.any():
            self._append(_Run(keys[unknown], amounts[:, unknown].astype(self._kind)))
        return before

    def entries(self) -> tuple[Keys, Numbers]:
        """Return all K keys, ascending, and their counts, shape [columns, K]."""
        everything = _Run(np.zeros(0, np.uint64), np.zeros((self._columns, 0), self._kind))
        for run in self._runs:
            everything = everything.merge(run)
        return everything.keys, everything.counts

    def _count(self, keys: Keys, amounts: Numbers | None) -> tuple[Numbers, npt.NDArray[np.bool_]]:
        """Add amounts to the keys that are there; return the counts before, and a mask of unknown keys."""
        before, unknown = np.zeros((self._columns, len(keys)), np.int64), np.ones(len(keys), np.bool_)
        for run in self._runs:
            indices, places = run.find(keys)
            before[:, indices] = run.counts[:, places]
            unknown[indices] = False
            if amounts is not None:
                run.counts[:, places] += amounts[:, indices].astype(self._kind)
        return before, unknown

    def _append(self, run: _Run) -> None:
        while self._runs and len(self._runs[-1]) < _MIN_RATIO * len(run):
            run = self._runs.pop().merge(run)
        self._runs.append(run)


def page_keys(page: SiteObservation) -> tuple[Keys, Keys]:
    """Return the key of a page, and those of its content, as `SiteCounts` counts them."""
    content = b"".join(content_keys(page, _KEY_BYTES))
    return np.frombuffer(name_hash(page.page, _KEY_BYTES), np.uint64), np.frombuffer(content, np.uint64)


@dataclass(slots=True)
class SiteCounts:
    """Counts of the pages of a site."""

    size: int = 0
    """Pages counted."""
    pages: Counters = field(default_factory=lambda: Counters(1, np.uint8))
    texts: Counters = field(default_factory=lambda: Counters(1, np.uint32))
    structures: Counters = field(default_factory=lambda: Counters(3, np.int64))
    """As in a column of `Counts.structures`."""

    def observe(self, name: Keys, content: Keys, page: Tally) -> Counts:
        """Return the counts of a page's texts and structures, then count the page if it is new."""
        size, status = self.size, self._status(name, content)
        if status is not PageStatus.NEW:
            texts, structures = self.texts.get(page.texts), self.structures.get(page.structures)
        else:
            self.size += 1
            keys = np.unique(np.concatenate([name, content]))
            self.pages.add(keys, np.ones((1, len(keys)), np.int64))
            amounts = np.stack([np.ones_like(page.blocks), page.blocks, page.likelihood])
            texts = self.texts.add(page.texts, np.ones((1, len(page.texts)), np.int64))
            structures = self.structures.add(page.structures, amounts)
        return Counts(size, status, texts[0], structures)

    def _status(self, name: Keys, content: Keys) -> PageStatus:
        if self.pages.get(name).any():
            return PageStatus.COUNTED
        return PageStatus.COPY if self.pages.get(content).any() else PageStatus.NEW


class MemorySiteStatistics:
    """Statistics of the pages that this object has observed."""

    def __init__(self) -> None:
        self._sites: defaultdict[str, SiteCounts] = defaultdict(SiteCounts)

    async def observe(self, pages: Sequence[SiteObservation]) -> list[SiteStatistics]:
        """Count the pages that were not counted before, and return what is known without each, in order."""
        return [self._observe(page) for page in pages]

    def _observe(self, page: SiteObservation) -> SiteStatistics:
        own = tally(page)
        return without(own, self._sites[page.site].observe(*page_keys(page), own))
