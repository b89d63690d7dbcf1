import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.selection import LEAST_WORDS, select

NONE = -1


def chosen(probabilities, words, repeat=None):
    repeat = [NONE] * len(words) if repeat is None else repeat
    return select(np.array(probabilities, np.float32), np.array(words), np.array(repeat, np.int32)).tolist()


def expected_f1(probabilities, words, content):
    """2 × what is right over what is kept and what should be, each as expected."""
    right = sum(p * w for p, w, kept in zip(probabilities, words, content, strict=True) if kept)
    kept = sum(w for w, kept in zip(words, content, strict=True) if kept)
    return 2 * right / (kept + sum(p * w for p, w in zip(probabilities, words, strict=True)))


@pytest.mark.parametrize(
    ("probabilities", "words", "content"),
    [
        ([1.0, 0.0, 1.0], [50, 50, 50], [True, False, True]),
        ([0.9, 0.45, 0.02], [100, 100, 100], [True, True, False]),
        ([0.4, 0.4, 0.3], [100, 100, 100], [True, True, True]),
        ([0.99, 0.3], [1000, 20], [True, False]),
        ([0.9, 0.85, 0.8, 0.2], [100, 0, 0, 100], [True, True, True, False]),
        ([0.9, 0.3], [100, 0], [True, False]),
    ],
)
def test_the_most_probable_blocks_are_kept_while_the_expected_f1_rises(probabilities, words, content):
    assert chosen(probabilities, words) == content


@given(
    st.lists(st.tuples(st.floats(0, 1, width=32), st.integers(0, 200)), min_size=1, max_size=8).filter(
        lambda blocks: sum(p * w for p, w in blocks) >= LEAST_WORDS
    )
)
def test_no_other_choice_has_a_better_expected_f1(blocks):
    probabilities, words = zip(*blocks, strict=True)
    ours = expected_f1(probabilities, words, chosen(probabilities, words))
    for choice in range(1, 2 ** len(blocks)):
        content = [bool(choice >> place & 1) for place in range(len(blocks))]
        if any(kept and w for kept, w in zip(content, words, strict=True)):
            assert expected_f1(probabilities, words, content) <= ours + 1e-9


@pytest.mark.parametrize(
    ("probabilities", "words", "content"),
    [
        ([0.4, 0.1], [4, 30], [False, False]),
        ([0.9, 0.3], [0, 10], [False, False]),
        ([0.6, 0.1], [4, 30], [True, False]),
        ([0.4, 0.0], [90, 30], [True, False]),
        ([], [], []),
    ],
)
def test_a_page_of_little_unlikely_content_has_none(probabilities, words, content):
    assert chosen(probabilities, words) == content


@pytest.mark.parametrize(
    ("probabilities", "content"),
    [
        ([0.9, 0.8, 0.9], [True, True, False]),
        ([0.45, 0.8, 0.9], [True, True, False]),
        ([0.1, 0.8, 0.9], [False, True, True]),
        ([0.0, 0.8, 0.0], [False, True, False]),
    ],
)
def test_of_a_repeated_block_one_copy_is_kept_the_first_unless_it_is_unlikely(probabilities, content):
    assert chosen(probabilities, [40, 40, 40], [NONE, NONE, 0]) == content


@pytest.mark.parametrize("repeat", [[NONE, 0, 1, 2, 3], [NONE, 0, 0, 0, 0], [NONE, 0, 0, 1, 2]])
def test_of_many_copies_one_is_kept(repeat):
    assert chosen([0.9] * 5, [40] * 5, repeat) == [True, False, False, False, False]
    assert chosen([0.1, 0.1, 0.9, 0.9, 0.1], [40] * 5, repeat) == [False, False, True, False, False]


def test_very_many_copies_take_linear_time():
    blocks = 300_000
    assert sum(chosen([0.0] * (blocks - 1) + [1.0], [40] * blocks, [NONE, *range(blocks - 1)])) == 1


def test_zeros_and_ones_of_rules_are_kept_as_they_are():
    assert chosen([0.0, 1.0, 1.0, 0.0], [90, 3, 20, 1]) == [False, True, True, False]
