"""The statistics in memory, which those in Redis are compared with, against a plain recount."""

import asyncio
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.pages import SiteObservation, SiteStatistics
from dehusk.streams.sites.memory import MemorySiteStatistics

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
    )


def observe(visits: Sequence[tuple[int, Page]]) -> list[SiteStatistics]:
    return asyncio.run(MemorySiteStatistics().observe([observation(*visit) for visit in visits]))


def recount(counted: dict[int, Page], number: int, page: Page) -> list[tuple[float, ...]]:
    """What is known of each block by the other pages that were counted, in their order."""
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
    for (number, page), answer in zip(visits, observe(visits), strict=True):
        expected = [(*each[:3], round(each[3], 4)) for each in recount(counted, number, page)]
        assert answer.pages == len(counted.keys() - {number})
        assert known(answer) == expected
        counted.setdefault(number, page)


@given(st.lists(pages, min_size=1, max_size=8), pages)
def test_a_page_that_has_changed_is_known_by_others_as_well_as_stated(
    contents: list[Page], changed: Page
) -> None:
    visits = [*enumerate(contents), (0, changed)]
    answer = observe(visits)[-1]
    assert answer.pages == len(contents) - 1
    true = recount(dict(enumerate(contents)), 0, changed)
    for block, found, expected in zip(changed, known(answer), true, strict=True):
        for column in range(2):
            assert expected[column] - 1 <= found[column] <= expected[column]
        own = [sum(each[1] == block[1] for each in page) for page in (contents[0], changed)]
        assert abs(found[2] - expected[2]) <= max(own) or found[1] == 0
        assert 0 <= found[3] <= 1


async def test_what_is_known_has_its_types() -> None:
    store = MemorySiteStatistics()
    (answer,) = await store.observe([observation(1, [(2**64 - 1, 2**64 - 1, 0.5)])])
    columns = (answer.texts, answer.structure_pages, answer.structure_blocks)
    assert {column.dtype for column in columns} == {np.dtype(np.uint32)}
    assert answer.structure_likely.dtype == np.float32
    await store.check()
    await store.close()
