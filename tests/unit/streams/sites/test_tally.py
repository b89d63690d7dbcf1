"""Counts that a page adds to its site, and what is known without it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.sites import SiteObservation
from dehusk.streams.sites.tally import (
    KEY_BYTES,
    LIKELIHOOD_UNIT,
    MAX_STRUCTURES,
    MAX_TEXTS,
    Counts,
    PageStatus,
    Tally,
    pack_structures,
    pack_texts,
    tally,
    unpack_counts,
    without,
)


def page_of(texts: list[int], structures: list[int], probabilities: list[float]) -> SiteObservation:
    return SiteObservation(
        "a.test",
        "https://a.test/",
        texts=np.array(texts, np.uint64),
        structures=np.array(structures, np.uint64),
        probabilities=np.array(probabilities, np.float32),
        chosen=np.zeros(len(texts), np.bool_),
    )


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([1, 2, 2**64 - 1]), st.integers(0, 4))))
def test_texts_and_structures_are_told_apart_and_added_up(blocks: list[tuple[int, int, int]]) -> None:
    texts, structures = [text for text, _, _ in blocks], [structure for _, structure, _ in blocks]
    found = tally(page_of(texts, structures, [quarters / 4 for _, _, quarters in blocks]))
    assert found.texts.tolist() == sorted(set(texts))
    assert found.texts[found.text_of].tolist() == texts
    assert found.structures.tolist() == sorted(set(structures))
    assert found.structures[found.structure_of].tolist() == structures
    assert found.blocks.tolist() == [structures.count(key) for key in found.structures.tolist()]
    assert found.likelihood.tolist() == [
        sum(quarters * LIKELIHOOD_UNIT // 4 for _, structure, quarters in blocks if structure == key)
        for key in found.structures.tolist()
    ]


def test_parts_of_a_title_are_counted_once_and_like_texts() -> None:
    page = replace(page_of([7, 9, 7], [1, 1, 1], [1, 1, 1]), title_parts=np.array([8, 9, 8], np.uint64))
    found = tally(page)
    assert found.texts.tolist() == [7, 8, 9]
    assert found.texts[found.text_of].tolist() == [7, 9, 7]
    assert found.texts[found.title_of].tolist() == [8, 9, 8]
    counts = Counts(5, PageStatus.COUNTED, np.array([4, 3, 2]), np.array([[1], [1], [1]]))
    parts = without(found, counts).title_parts
    assert parts is not None
    assert parts.tolist() == [2, 1, 2]


def known(
    status: PageStatus, *, texts: int, pages: int, blocks: int, likelihood: float
) -> tuple[int, int, int, int, float]:
    """Compute what is known of each block of a page of two likely blocks of one text and structure."""
    page = tally(page_of([7, 7], [8, 8], [1.0, 1.0]))
    in_units = round(likelihood * LIKELIHOOD_UNIT)
    counts = Counts(5, status, np.array([texts]), np.array([[pages], [blocks], [in_units]]))
    found = without(page, counts)
    assert (found.is_counted, found.is_copy) == (status is PageStatus.COUNTED, status is PageStatus.COPY)
    columns = (found.texts, found.structure_pages, found.structure_blocks, found.structure_likely)
    first, second = zip(*(column.tolist() for column in columns), strict=True)
    assert first == second
    return found.pages, *first


def test_what_was_counted_of_the_page_itself_is_taken_off() -> None:
    site = {"texts": 3, "pages": 4, "blocks": 8, "likelihood": 5.0}
    assert known(PageStatus.NEW, **site) == (5, 3, 4, 8, 5 / 8)
    assert known(PageStatus.COUNTED, **site) == (4, 2, 3, 6, 3 / 6)
    assert known(PageStatus.COPY, **site) == (4, 2, 3, 6, 3 / 6)


def test_what_no_other_page_has_is_not_known() -> None:
    assert known(PageStatus.NEW, texts=0, pages=0, blocks=0, likelihood=0) == (5, 0, 0, 0, 0)
    assert known(PageStatus.COUNTED, texts=1, pages=1, blocks=3, likelihood=2.5) == (4, 0, 0, 0, 0)


def test_what_was_forgotten_or_has_changed_leaves_no_count_below_zero_or_mean_above_one() -> None:
    assert known(PageStatus.COUNTED, texts=0, pages=0, blocks=0, likelihood=0) == (4, 0, 0, 0, 0)
    assert known(PageStatus.COUNTED, texts=1, pages=2, blocks=1, likelihood=1) == (4, 0, 1, 0, 0)
    assert known(PageStatus.COUNTED, texts=1, pages=2, blocks=3, likelihood=1) == (4, 0, 1, 1, 0)
    assert known(PageStatus.NEW, texts=1, pages=1, blocks=1, likelihood=1.5) == (5, 1, 1, 1, 1)


KEYS = st.integers(0, 2**37 - 1)


def tally_of(
    texts: list[int] | range, structures: list[tuple[int, int, int]] | list[tuple[int, ...]]
) -> Tally:
    """A page of texts, and of structures with key, blocks and likelihood."""
    keys, blocks, likelihood = np.array(structures, np.int64).reshape(-1, 3).T
    return Tally(
        np.array(texts, np.uint64),
        np.arange(len(texts)),
        np.arange(0),
        keys.astype(np.uint64),
        np.arange(len(structures)),
        blocks,
        likelihood,
    )


@given(st.lists(KEYS), st.lists(st.tuples(KEYS, st.integers(0, 2**32 - 1), st.integers(0, 2**48 - 1))))
def test_texts_are_keys_and_structures_have_their_blocks_and_likelihood(
    texts: list[int], structures: list[tuple[int, int, int]]
) -> None:
    page = tally_of(texts, structures)
    assert pack_texts(page) == b"".join(key.to_bytes(KEY_BYTES, "big") for key in texts)
    assert pack_structures(page) == b"".join(
        key.to_bytes(KEY_BYTES, "big") + blocks.to_bytes(4, "big") + likelihood.to_bytes(6, "big")
        for key, blocks, likelihood in structures
    )


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(PageStatus),
    st.lists(st.integers(0, 2**16 - 1)),
    st.lists(
        st.tuples(st.integers(0, 2**16 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**48 - 1)), max_size=9
    ),
)
def test_an_answer_is_read_as_it_was_packed(
    pages: int,
    status: PageStatus,
    texts: list[int],
    structures: list[tuple[int, int, int]],
) -> None:
    answer = bytes([status]) + pages.to_bytes(4, "big")
    answer += b"".join(count.to_bytes(2, "big") for count in texts)
    for of_pages, blocks, likelihood in structures:
        answer += of_pages.to_bytes(2, "big") + blocks.to_bytes(4, "big") + likelihood.to_bytes(6, "big")
    counts = unpack_counts(answer, tally_of(range(len(texts)), [(0, 0, 0)] * len(structures)))
    assert (counts.pages, counts.status) == (pages, status)
    assert counts.texts.tolist() == texts
    assert [tuple(each) for each in counts.structures.T.tolist()] == structures


@pytest.mark.parametrize(("texts", "structures"), [(MAX_TEXTS + 3, 2), (3, MAX_STRUCTURES + 2)])
def test_nothing_is_known_of_what_is_not_counted(texts: int, structures: int) -> None:
    page = tally_of(range(texts), [(key, 1, 1) for key in range(structures)])
    counted = len(pack_texts(page)) // KEY_BYTES, len(pack_structures(page)) // (KEY_BYTES + 10)
    assert counted == (min(texts, MAX_TEXTS), min(structures, MAX_STRUCTURES))
    counts = unpack_counts(bytes(5) + b"\1\1" * counted[0] + b"\1" * 12 * counted[1], page)
    assert counts.texts.tolist() == [257] * counted[0] + [0] * (texts - counted[0])
    assert (counts.structures[0] > 0).tolist() == [True] * counted[1] + [False] * (structures - counted[1])
