"""Pages that are known for copies of each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.sites import SiteObservation
from dehusk.streams.sites.copies import MAX_KEYS, MIN_TEXTS, content_keys

Page = list[tuple[int, float]]
"""Of each block its text and the probability of content."""


def keys(page: Page, size: int = 8) -> set[bytes]:
    texts, probabilities = zip(*page, strict=True) if page else ((), ())
    observation = SiteObservation(
        "a.test",
        "/",
        np.array(texts, np.uint64),
        np.zeros(len(page), np.uint64),
        np.array(probabilities, np.float32),
        chosen=np.array(probabilities, np.float32) >= 0.5,
    )
    found = content_keys(observation, size)
    assert {len(key) for key in found} == {size}
    assert len(found) <= MAX_KEYS
    return set(found)


def page_of(template: int, content: int, number: int) -> Page:
    """A page of so many texts of a template, and so many of its own."""
    of_template = [(text, 0.02) for text in range(template)]
    return of_template + [(1000 * (number + 1) + text, 0.9) for text in range(content)]


def copies(one: Page, other: Page) -> bool:
    return bool(keys(one) & keys(other))


blocks = st.tuples(st.integers(0, 2**64 - 1), st.floats(0, 1, width=32))


@given(st.lists(blocks, max_size=60), st.randoms(use_true_random=False), st.floats(0, 1, width=32))
def test_pages_of_the_same_texts_are_copies_whatever_their_order_and_labels(page, order, likely) -> None:  # type: ignore[no-untyped-def]
    shuffled = [(text, likely) for text, _ in page] + page[:3]
    order.shuffle(shuffled)
    assert copies(page, shuffled)


@pytest.mark.parametrize("content", [1, 3, 20])
def test_pages_that_share_all_of_a_template_are_no_copies(content: int) -> None:
    pages = [keys(page_of(200, content, number)) for number in range(100)]
    found = sum(len(pages[at] & pages[other]) > 0 for at in range(100) for other in range(at))
    assert found <= 0.02 * 100 * 99 / 2


def test_a_template_of_another_length_makes_no_other_page_of_much_content() -> None:
    found = sum(copies(page_of(40, 30, number), page_of(10, 30, number)) for number in range(100))
    assert found >= 90


def test_a_session_id_and_a_date_make_no_other_page() -> None:
    found = 0
    for number in range(100):
        page = page_of(80, 30, number)
        found += copies(page, [*page, (7_000_000 + number, 0.1), (8_000_000 + number, 0.3)])
    assert found >= 95


def test_a_page_of_few_texts_is_known_by_its_content() -> None:
    page = page_of(2, MIN_TEXTS - 4, 0)
    assert copies(page, [*page, (5000, 0.4)])
    assert copies(page, page[1:])
    assert not copies(page, [*page, (5000, 0.6)])
    assert not copies(page, page[:-1])
    assert len(keys([*page, (5000, 0.0), (6000, 0.0)])) == MAX_KEYS


def test_a_page_of_few_texts_and_no_content_is_known_by_all_of_them_alone() -> None:
    page = page_of(4, 0, 0)
    assert len(keys(page)) == 1
    assert not copies(page, [*page, (5000, 0.0)])


def test_pages_without_texts_are_copies() -> None:
    assert copies([], [])


def test_unlikely_texts_are_sampled_where_none_is_likely() -> None:
    page = [(text, 0.0) for text in range(60)]
    assert len(keys(page)) == MAX_KEYS
    assert copies(page, [*page, (100, 0.0)])
