import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.native.choosing import are_probabilities, best_expected_f, headings_within, rounded

PROBABILITIES = st.floats(0, 1, width=32)


@pytest.mark.parametrize("values", [[0.5, 1.001], [-0.001], [np.nan, 0.5]])
def test_what_is_not_from_zero_to_one_is_no_probability(values: list[float]) -> None:
    assert not are_probabilities(np.array(values, np.float32))
    assert are_probabilities(np.array([0.0, 0.5, 1.0], np.float32))


@given(st.lists(PROBABILITIES))
def test_probabilities_are_rounded_as_numpy_rounds_them(values: list[float]) -> None:
    probabilities = np.array(values, np.float32)
    assert rounded(probabilities, 4).tolist() == probabilities.astype(np.float64).round(4).tolist()


@given(
    st.lists(st.tuples(PROBABILITIES, st.integers(0, 500)), min_size=1, max_size=60),
    st.sampled_from([0.5, 1.0, 2.0]),
)
def test_the_best_f_is_that_of_some_of_the_most_probable_blocks(
    blocks: list[tuple[float, int]], beta: float
) -> None:
    probabilities, words = np.array([p for p, _ in blocks]), np.array([w for _, w in blocks], np.uint32)
    expected = float(probabilities @ words)
    if expected:
        order = np.argsort(-probabilities)
        right, kept = np.cumsum((probabilities * words)[order]), np.cumsum(words[order])
        best = best_expected_f(probabilities, words, expected, beta)
        weight = beta * beta
        scores = (1 + weight) * right / (kept + weight * expected)
        assert best == pytest.approx(float(scores.max()), rel=1e-12)


def test_headings_of_other_blocks_are_an_error():
    ones = np.ones(2, np.uint8)
    with pytest.raises(ValueError, match="mismatch"):
        headings_within(ones, ones, np.ones(1), ones, np.zeros(2, np.int32), 0.1)
