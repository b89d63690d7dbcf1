"""Counts in sorted arrays, against a dictionary."""

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dehusk.streams.sites.counters import Counters
from dehusk.streams.sites.tally import Keys

KEYS = st.integers(0, 40) | st.integers(2**64 - 5, 2**64 - 1)


def keys_of(some: set[int]) -> Keys:
    return np.array(sorted(some), np.uint64)


@given(st.lists(st.sets(KEYS), max_size=30))
def test_adding_answers_what_a_dictionary_holds(additions: list[set[int]]) -> None:
    counters, expected = Counters(2, np.uint32), Counter[int]()
    for number, some in enumerate(additions, start=1):
        keys = keys_of(some)
        known = [expected[key] for key in sorted(some)]
        assert counters.get(keys).tolist()[0] == known
        amounts = np.stack([np.full(len(keys), number), np.arange(len(keys))])
        assert counters.add(keys, amounts).tolist()[0] == known
        expected.update(dict.fromkeys(some, number))
    everything = keys_of(set(expected) | {41})
    assert counters.get(everything).tolist()[0] == [expected[key] for key in everything.tolist()]


def test_an_entry_takes_its_key_and_its_counts_and_runs_are_few() -> None:
    counters = Counters(1, np.uint32)
    for page in range(2_000):
        keys = np.arange(page * 10, page * 10 + 10, dtype=np.uint64)
        counters.add(keys, np.ones((1, 10), np.int64))
    runs = counters._runs
    assert sum(run.keys.nbytes + run.counts.nbytes for run in runs) == 20_000 * (8 + 4)
    assert len(runs) <= 7
    assert all(len(longer) >= 4 * len(next_) for longer, next_ in pairwise(runs))
