import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.native.hashing import hash_words
from inference.native.repeats import find_repeats


def repeats(*texts: str) -> list[list[int]]:
    return [column.tolist() for column in find_repeats(*hash_words(texts))]


def test_a_run_repeats_earlier_blocks_one_by_one() -> None:
    copies, earlier, repeating, repeated = repeats("a b", "c", "x", "A b", "c!", "y")
    assert copies == [2, 2, 1, 2, 2, 1]
    assert earlier == [-1, -1, -1, 0, 1, -1]
    assert repeating == [0, 0, 0, 3, 3, 0]
    assert repeated == [3, 3, 0, 0, 0, 0]


def test_the_largest_run_counts() -> None:
    _, earlier, repeating, repeated = repeats("a", "a", "b c", "a", "b c")
    assert earlier == [-1, 0, -1, 1, 2]
    assert repeating == [0, 1, 0, 3, 3]
    assert repeated == [1, 3, 3, 0, 0]


def test_of_equal_runs_the_earliest_is_repeated() -> None:
    assert repeats("a", "x", "a", "y", "a")[1] == [-1, -1, 0, -1, 0]


def test_blocks_without_words_are_alike_but_repeat_nothing() -> None:
    copies, earlier, *_ = repeats("…", "a", "—", "a")
    assert copies == [2, 2, 2, 2]
    assert earlier == [-1, -1, -1, 1]


@pytest.mark.timeout(30)
def test_a_page_of_one_word_takes_linear_time() -> None:
    _, earlier, repeating, _ = repeats(*["same"] * 200_000)
    assert earlier[:3] == [-1, 0, 1]
    assert repeating[-1] == 199_999


@given(st.lists(st.sampled_from(["a", "b", "c d", "…"]), max_size=30))
def test_what_is_repeated_comes_earlier_and_has_the_same_words(texts: list[str]) -> None:
    words, counts = hash_words(tuple(texts))
    copies, earlier, repeating, repeated = find_repeats(words, counts)
    assert copies.tolist() == [texts.count(text) for text in texts]
    for block in np.flatnonzero(earlier >= 0):
        assert earlier[block] < block
        assert texts[earlier[block]] == texts[block]
        assert repeating[block] >= counts[block]
    assert ((repeating > 0) == (earlier >= 0)).all()
    assert set(earlier[earlier >= 0].tolist()) <= set(np.flatnonzero(repeated).tolist())
