"""What a store of site statistics is told of a labeled page, and what is published of its answer."""

import numpy as np

from dehusk.schemas.pages import BlockFrequencies, Prediction, SiteObservation, SiteStatistics
from dehusk.streams.preparation.preparation import PackedPage


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


def frequencies(statistics: SiteStatistics) -> BlockFrequencies:
    """On how many pages of the site the texts of a page are, the page included."""
    return BlockFrequencies(statistics.pages + 1, statistics.texts + np.uint32(1))
