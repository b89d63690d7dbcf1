"""The statistics in memory, which those in Redis are compared with, against a plain recount."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.sites import SiteObservation, SiteStatistics
from dehusk.streams.sites.copies import content_keys
from dehusk.streams.sites.store import Counters, MemorySiteStatistics, frequencies, observe
from dehusk.streams.sites.tally import Keys

Block = tuple[int, int, float]
"""Text, structure, probability."""
Page = list[Block]


def observation(number: int, page: Page, site: str = "a.test") -> SiteObservation:
    texts, structures, probabilities = zip(*page, strict=True) if page else ((), (), ())
    return SiteObservation(
        site,
        f"/{number}",
        np.array(texts, np.uint64),
        np.array(structures, np.uint64),
        np.array(probabilities, np.float32),
        chosen=np.array(probabilities, np.float32) >= 0.5,
    )


def observed(visits: Sequence[tuple[int, Page]]) -> list[SiteStatistics]:
    return asyncio.run(MemorySiteStatistics().observe([observation(*visit) for visit in visits]))


def is_copy(counted: dict[int, Page], number: int, page: Page) -> bool:
    """True if a page of another number has a key of the page's content."""
    keys = set(content_keys(observation(number, page), 8))
    others = [content_keys(observation(*other), 8) for other in counted.items()]
    return number not in counted and any(keys.intersection(other) for other in others)


def recount(counted: dict[int, Page], number: int, page: Page) -> list[tuple[float, ...]]:
    """Return what is known of each block by the other pages that were counted, in their order."""
    others = [other for name, other in counted.items() if name != number]
    return [
        (
            sum(any(each[0] == block[0] for each in other) for other in others),
            sum(any(each[1] == block[1] for each in other) for other in others),
            sum(each[1] == block[1] for other in others for each in other),
            recount_likely(others, block[1]),
        )
        for block in page
    ]


def recount_likely(others: list[Page], structure: int) -> float:
    found = [block[2] for other in others for block in other if block[1] == structure]
    return sum(found) / len(found) if found else 0.0


def known(answer: SiteStatistics) -> list[tuple[float, ...]]:
    return list(
        zip(
            answer.texts.tolist(),
            answer.structure_pages.tolist(),
            answer.structure_blocks.tolist(),
            [round(mean, 4) for mean in answer.structure_likely.tolist()],
            strict=True,
        )
    )


texts = st.integers(0, 12)
blocks = st.tuples(texts, st.integers(0, 3), st.sampled_from([0.0, 0.125, 0.5, 1.0]))
pages = st.lists(blocks, max_size=8)


@given(st.lists(pages, min_size=1, max_size=8), st.lists(st.integers(0, 7), max_size=30))
def test_agrees_with_a_recount_whenever_pages_come_again(contents: list[Page], order: list[int]) -> None:
    visits = [(at % len(contents), contents[at % len(contents)]) for at in order]
    counted: dict[int, Page] = {}
    for (number, page), answer in zip(visits, observed(visits), strict=True):
        assert (answer.is_counted, answer.is_copy) == (number in counted, is_copy(counted, number, page))
        if answer.is_copy:
            assert answer.pages == len(counted) - 1
            continue
        expected = [(*each[:3], round(each[3], 4)) for each in recount(counted, number, page)]
        assert answer.pages == len(counted.keys() - {number})
        assert known(answer) == expected
        counted.setdefault(number, page)


@given(st.lists(pages, min_size=1, max_size=8), pages)
def test_a_page_that_has_changed_is_known_by_others_as_well_as_stated(
    contents: list[Page], changed: Page
) -> None:
    contents = [[*page, (100 + number, 9, 0.5)] for number, page in enumerate(contents)]
    visits = [*enumerate(contents), (0, changed)]
    answer = observed(visits)[-1]
    assert answer.pages == len(contents) - 1
    true = recount(dict(enumerate(contents)), 0, changed)
    for block, found, expected in zip(changed, known(answer), true, strict=True):
        for column in range(2):
            assert expected[column] - 1 <= found[column] <= expected[column]
        own = [sum(each[1] == block[1] for each in page) for page in (contents[0], changed)]
        assert abs(found[2] - expected[2]) <= max(own) or found[1] == 0
        assert 0 <= found[3] <= 1


@given(pages, st.integers(2, 9), st.randoms(use_true_random=False))
def test_copies_count_once_in_whatever_order_and_know_what_the_page_alone_would_know(
    page: Page, copies: int, order: random.Random
) -> None:
    others = [(number, [(100 + number, 9, 0.5), (number, 1, 0.25)]) for number in range(3)]
    alone = [*others, (3, page)]
    visits = [*others, *((3 + number, page) for number in range(copies))]
    order.shuffle(visits)
    expected = dict(zip(range(4), observed(alone * 2)[len(alone) :], strict=True))
    for (number, _), answer in zip(visits, observed(visits * 2)[len(visits) :], strict=True):
        same = expected[min(number, 3)]
        assert (answer.pages, known(answer)) == (same.pages, known(same))


async def test_what_is_known_has_its_types() -> None:
    store = MemorySiteStatistics()
    (answer,) = await store.observe([observation(1, [(2**64 - 1, 2**64 - 1, 0.5)])])
    columns = (answer.texts, answer.structure_pages, answer.structure_blocks)
    assert {column.dtype for column in columns} == {np.dtype(np.uint32)}
    assert answer.structure_likely.dtype == np.float32


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


def test_published_frequencies_include_the_page() -> None:
    none, some = np.zeros(2, np.uint32), np.array([0, 4], np.uint32)
    published = frequencies(SiteStatistics(7, some, none, none, none.astype(np.float32)))
    assert (published.pages_seen, published.counts.tolist()) == (8, [1, 5])
    assert published.counts.dtype == np.uint32


def page(site: str, number: int) -> SiteObservation:
    """A page with a text that all have."""
    texts = np.array([7, number], np.uint64)
    likely = np.full(2, 0.5, np.float32)
    return SiteObservation(site, f"/{number}", texts, texts, likely, chosen=likely > 0.5)


async def test_pages_of_no_site_are_not_counted_and_know_nothing_of_each_other() -> None:
    store = MemorySiteStatistics()
    answers = await observe(store, [page(site, at) for at, site in enumerate(["", "a.test", "", "a.test"])])
    assert [(each.pages, each.texts.tolist()) for each in answers] == [
        (0, [0, 0]),
        (0, [0, 0]),
        (0, [0, 0]),
        (1, [1, 0]),
    ]
    (again,) = await observe(store, [page("", 0)])
    assert (again.pages, again.is_counted) == (0, False)
    published = frequencies(again)
    assert (published.pages_seen, published.counts.tolist()) == (1, [1, 1])
