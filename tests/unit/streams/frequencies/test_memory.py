import numpy as np

from streams.frequencies.memory import MemoryFrequencyStore
from streams.frequencies.store import SiteObservation


async def test_counts_distinct_pages_that_hold_a_block():
    store = MemoryFrequencyStore()
    first, again, second = await store.observe(
        [
            SiteObservation("a.test", "/1", np.array([5, 6, 5], np.uint64)),
            SiteObservation("a.test", "/1", np.array([5], np.uint64)),
            SiteObservation("a.test", "/2", np.array([5, 2**64 - 1], np.uint64)),
        ]
    )
    assert (first.pages_seen, first.counts.tolist()) == (1, [1, 1, 1])
    assert (again.pages_seen, again.counts.tolist()) == (1, [1])
    assert (second.pages_seen, second.counts.tolist()) == (2, [2, 1])
    assert second.counts.dtype == np.uint32
    await store.check()
    await store.close()
