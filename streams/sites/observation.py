"""What a store of site statistics is told of a labeled page, and what is published of its answer."""

from collections.abc import Sequence

import numpy as np

from dehusk.schemas.pages import BlockFrequencies, Prediction, SiteObservation, SiteStatistics
from dehusk.streams.preparation.preparation import PackedPage
from dehusk.streams.sites.store import SiteStatisticsStore


def observation(page: PackedPage, labels: Prediction) -> SiteObservation:
    """A page as it is counted: with the labels before any correction."""
    encoded = page.encoded
    return SiteObservation(
        page.identity.site,
        page.identity.url,
        texts=encoded.fingerprints,
        structures=encoded.structures,
        probabilities=labels.probabilities,
    )


async def observe(store: SiteStatisticsStore, pages: Sequence[SiteObservation]) -> list[SiteStatistics]:
    """What a store answers; a page of no site is not counted, and answered as the first page of one is.

    Raises what `SiteStatisticsStore.observe` raises.
    """
    known = iter(await store.observe([page for page in pages if page.site]))
    return [next(known) if page.site else _nothing_known(len(page.texts)) for page in pages]


def _nothing_known(blocks: int) -> SiteStatistics:
    counts, shares = np.zeros(blocks, np.uint32), np.zeros(blocks, np.float32)
    return SiteStatistics(0, counts, counts, counts, shares)


def frequencies(statistics: SiteStatistics) -> BlockFrequencies:
    """On how many pages of the site the texts of a page are, the page included."""
    return BlockFrequencies(statistics.pages + 1, statistics.texts + np.uint32(1))
