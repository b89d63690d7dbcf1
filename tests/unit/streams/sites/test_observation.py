"""What is told to a store of site statistics, and published of its answer."""

import numpy as np

from dehusk.schemas.pages import SiteStatistics
from dehusk.streams.sites.observation import frequencies


def test_published_frequencies_include_the_page() -> None:
    none, some = np.zeros(2, np.uint32), np.array([0, 4], np.uint32)
    published = frequencies(SiteStatistics(7, some, none, none, none.astype(np.float32)))
    assert (published.pages_seen, published.counts.tolist()) == (8, [1, 5])
    assert published.counts.dtype == np.uint32
