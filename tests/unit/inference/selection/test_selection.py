import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.selection.selection import (
    FEW_BLOCKS,
    MIN_PROBABILITY,
    MIN_PROBABILITY_OF_FEW,
    MIN_PROBABILITY_OF_THREAD,
    MIN_WORDS,
    calibrate,
    select,
    user_comments,
    weigh,
)
from dehusk.schemas.options import Favor

NONE = -1
ORDERED = (Favor.PRECISION, Favor.BALANCE, Favor.RECALL)


def chosen(probabilities, words, repeat=None):
    repeat = [NONE] * len(words) if repeat is None else repeat
    return select(np.array(probabilities, np.float32), np.array(words), np.array(repeat, np.int32)).tolist()


def in_favor_of(favor, probabilities, words):
    """The blocks that are kept where none repeats another or is a comment."""
    repeat, none = np.full(len(words), NONE, np.int32), np.zeros(len(words), bool)
    weights, threshold = weigh(probabilities, words, repeat, none, favor)
    return none if threshold is None else weights >= threshold


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


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_calibrated_f1_is_one_and_rises(low, high):
    low, high = sorted((low, high))
    assert 0 < calibrate(low) <= calibrate(high) < 1


def test_what_is_expected_with_near_certainty_is_a_little_less_certain():
    assert 0.95 < calibrate(1.0) < 0.999
    assert 0.001 < calibrate(0.0) < 0.1


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.integers(0, 200)), min_size=1, max_size=8))
def test_more_is_kept_in_favor_of_recall_and_less_in_favor_of_precision(blocks):
    probabilities, words = (np.array(column) for column in zip(*blocks, strict=True))
    few, some, most = (in_favor_of(each, probabilities, words.astype(np.uint32)) for each in ORDERED)
    assert (few <= some).all()
    assert (some <= most).all()
    assert some.tolist() == chosen(probabilities, words)


def test_an_unsure_block_is_content_in_favor_of_recall():
    probabilities, words = np.array([0.95, 0.6, 0.3]), np.array([100, 100, 100], np.uint32)
    assert [in_favor_of(each, probabilities, words).sum() for each in ORDERED] == [1, 2, 3]


@given(
    st.lists(st.tuples(st.floats(0, 1, width=32), st.integers(0, 200)), min_size=1, max_size=8).filter(
        lambda blocks: any(p >= MIN_PROBABILITY_OF_FEW and w for p, w in blocks)
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
    ("probabilities", "words", "has_content"),
    [
        ([0.2] * 11, [6] * 11, False),
        ([0.9, *[0.2] * 10], [0, *[6] * 10], False),
        ([MIN_PROBABILITY, *[0.01] * 10], [4, *[30] * 10], True),
        ([0.2] * 11, [MIN_WORDS] * 11, True),
        ([0.2] * FEW_BLOCKS, [6] * FEW_BLOCKS, True),
        ([MIN_PROBABILITY_OF_FEW, 0.0], [6, 6], True),
        ([0.04, 0.0], [6, 6], False),
        ([0.0], [6], False),
        ([], [], False),
    ],
)
def test_a_page_of_little_unlikely_content_has_none(probabilities, words, has_content):
    assert any(chosen(probabilities, words)) == has_content


def test_comments_are_likely_to_be_some_and_not_likely_to_be_content():
    content, comments = np.array([0.9, 0.4, 0.4], np.float32), np.array([0.9, 0.9, 0.4], np.float32)
    words = np.full(3, 30, np.uint32)
    assert user_comments(content, comments, words).tolist() == [False, True, False]
    assert user_comments(content, None, words).tolist() == [False] * 3


@pytest.mark.parametrize(
    ("content", "comments", "expected"),
    [
        ([0.2, 0.3, 0.2], [0.9, 0.4, 0.8], [True, True, True]),
        ([0.2, 0.3, 0.2], [0.9, 0.2, 0.8], [True, False, True]),
        ([0.1, 0.1, 0.1], [0.3, 0.9, 0.2], [False, True, False]),
        ([0.2, 0.6, 0.2], [0.9, 0.4, 0.9], [True, False, True]),
    ],
)
def test_among_comments_of_its_kind_a_block_may_be_less_likely(content, comments, expected):
    columns = np.array([[*content, 0.9], [*comments, 0.9]], np.float32)
    words, alike = np.full(4, 30, np.uint32), np.array([0, 0, 0, 3], np.int32)
    assert user_comments(*columns, words, alike).tolist() == [*expected, False]
    kept = select(columns[0], words, np.full(4, NONE, np.int32), columns[1], alike)
    assert kept[3]
    assert not any(kept[:3] & np.array(expected))


def test_a_block_that_is_like_none_of_the_page_is_an_error():
    columns = np.full((2, 3), 0.5, np.float32)
    with pytest.raises(ValueError, match="like block 3"):
        user_comments(*columns, np.ones(3, np.uint32), np.array([0, 1, 3], np.int32))


def test_comments_are_no_content_however_many_there_are():
    content, comments = np.array([0.9, *[0.45] * 40], np.float32), np.array([0, *[0.9] * 40], np.float32)
    words, repeat = np.full(41, 30, np.uint32), np.full(41, NONE, np.int32)
    assert select(content, words, repeat).all()
    assert select(content, words, repeat, comments).tolist() == [True, *[False] * 40]


def test_comments_are_content_where_there_is_nothing_else():
    content, comments = np.array([0.01, *[0.2] * 40], np.float32), np.array([0, *[0.9] * 40], np.float32)
    words, repeat = np.full(41, 30, np.uint32), np.full(41, NONE, np.int32)
    assert select(content, words, repeat, comments).tolist() == [False, *[True] * 40]


@pytest.mark.parametrize(
    ("likely", "of_comments", "is_thread"),
    [
        (MIN_PROBABILITY_OF_FEW, 0.04, False),
        (0.04, 0.04, True),
        (0.2, MIN_PROBABILITY_OF_THREAD, True),
    ],
)
def test_above_comments_that_are_hardly_content_little_suffices(likely, of_comments, is_thread):
    content = np.array([0.01, likely, *[of_comments] * 40])
    comments = np.array([0, 0, *[0.9] * 40], np.float32)
    words, repeat = np.array([3, 12, *[30] * 40], np.uint32), np.full(42, NONE, np.int32)
    expected = [False, not is_thread, *[is_thread] * 40]
    assert select(content, words, repeat, comments).tolist() == expected


@pytest.mark.parametrize(
    ("probabilities", "content"),
    [
        ([0.9, 0.8, 0.9], [True, True, False]),
        ([0.55, 0.8, 0.9], [True, True, False]),
        ([0.4, 0.98, 0.9], [False, True, True]),
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


def test_probabilities_of_other_blocks_are_an_error():
    with pytest.raises(ValueError, match="mismatch"):
        chosen([0.9, 0.8], [40])
    with pytest.raises(ValueError, match="mismatch"):
        user_comments(np.ones(2, np.float32), np.ones(3, np.float32), np.ones(2, np.uint32))
