import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.native.hashing import hash_words
from dehusk.inference.native.repeats import find_repeats


def repeats(*texts: str) -> list[list[int]]:
    return [column.tolist() for column in find_repeats(*hash_words(texts))]


LONG = " ".join(f"w{number}" for number in range(12))
"""As many words as a run must have."""


def test_a_run_repeats_earlier_blocks_one_by_one() -> None:
    copies, repeat, repeating, repeated = repeats(LONG, "c", "x", LONG.upper(), "c!", "y")
    assert copies == [2, 2, 1, 2, 2, 1]
    assert repeat == [-1, -1, -1, 0, 1, -1]
    assert repeating == [0, 0, 0, 13, 13, 0]
    assert repeated == [13, 13, 0, 0, 0, 0]


def test_the_largest_run_counts() -> None:
    _, repeat, repeating, repeated = repeats("a", "a", LONG, "a", LONG)
    assert repeat == [-1, -1, -1, 1, 2]
    assert repeating == [0, 1, 0, 13, 13]
    assert repeated == [1, 13, 13, 0, 0]


def test_of_equal_runs_the_earliest_is_repeated() -> None:
    assert repeats(LONG, "x", LONG, "y", LONG)[1] == [-1, -1, 0, -1, 0]


def test_blocks_without_words_are_alike_but_repeat_nothing() -> None:
    copies, repeat, *_ = repeats("…", LONG, "—", LONG)
    assert copies == [2, 2, 2, 2]
    assert repeat == [-1, -1, -1, 1]


@pytest.mark.timeout(30)
def test_a_page_of_one_word_takes_linear_time() -> None:
    _, repeat, repeating, _ = repeats(*["same"] * 200_000)
    assert repeat[:3] == [-1, 0, 1]
    assert repeating[-1] == 199_999


@given(st.lists(st.sampled_from(["a", "b", LONG, "…"]), max_size=30))
def test_what_is_repeated_comes_earlier_and_has_the_same_words(texts: list[str]) -> None:
    words, counts = hash_words(tuple(texts))
    copies, repeat, repeating, repeated = find_repeats(words, counts)
    assert copies.tolist() == [texts.count(text) for text in texts]
    for block in np.flatnonzero(repeat >= 0):
        assert repeat[block] < block
        assert texts[repeat[block]] == texts[block]
        assert repeating[block] >= counts[block]
    assert ((repeating >= 12) == (repeat >= 0)).all()
    assert set(repeat[repeat >= 0].tolist()) <= set(np.flatnonzero(repeated).tolist())
