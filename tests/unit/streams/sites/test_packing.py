"""What is sent to `observe.lua` and read of its answers: keys of five bytes, big-endian integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.streams.sites.packing import (
    KEY_BYTES,
    MOST_STRUCTURES,
    MOST_TEXTS,
    pack_structures,
    pack_texts,
    unpack_counts,
)
from dehusk.streams.sites.tally import Tally

KEYS = st.integers(0, 2**37 - 1)


def tally_of(
    texts: list[int] | range, structures: list[tuple[int, int, int]] | list[tuple[int, ...]]
) -> Tally:
    """A page of texts, and of structures with key, blocks and likelihood."""
    keys, blocks, likelihood = np.array(structures, np.int64).reshape(-1, 3).T
    return Tally(
        np.array(texts, np.uint64),
        np.arange(len(texts)),
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
    st.booleans(),
    st.lists(st.integers(0, 2**16 - 1)),
    st.lists(
        st.tuples(st.integers(0, 2**16 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**48 - 1)), max_size=9
    ),
)
def test_an_answer_is_read_as_it_was_packed(
    pages: int,
    is_counted: bool,  # noqa: FBT001
    texts: list[int],
    structures: list[tuple[int, int, int]],
) -> None:
    answer = bytes([is_counted]) + pages.to_bytes(4, "big")
    answer += b"".join(count.to_bytes(2, "big") for count in texts)
    for of_pages, blocks, likelihood in structures:
        answer += of_pages.to_bytes(2, "big") + blocks.to_bytes(4, "big") + likelihood.to_bytes(6, "big")
    counts = unpack_counts(answer, tally_of(range(len(texts)), [(0, 0, 0)] * len(structures)))
    assert (counts.pages, counts.is_counted) == (pages, is_counted)
    assert counts.texts.tolist() == texts
    assert [tuple(each) for each in counts.structures.T.tolist()] == structures


@pytest.mark.parametrize(("texts", "structures"), [(MOST_TEXTS + 3, 2), (3, MOST_STRUCTURES + 2)])
def test_nothing_is_known_of_what_is_not_counted(texts: int, structures: int) -> None:
    page = tally_of(range(texts), [(key, 1, 1) for key in range(structures)])
    counted = len(pack_texts(page)) // KEY_BYTES, len(pack_structures(page)) // (KEY_BYTES + 10)
    assert counted == (min(texts, MOST_TEXTS), min(structures, MOST_STRUCTURES))
    counts = unpack_counts(bytes(5) + b"\1\1" * counted[0] + b"\1" * 12 * counted[1], page)
    assert counts.texts.tolist() == [257] * counted[0] + [0] * (texts - counted[0])
    assert (counts.structures[0] > 0).tolist() == [True] * counted[1] + [False] * (structures - counted[1])
