import pytest

from training.score import score_words, word_f1


def test_words_are_lower_cased_runs_of_word_characters():
    assert score_words("Don't PANIC: Öl_1, 東京!") == ["don", "t", "panic", "öl_1", "東京"]


@pytest.mark.parametrize(
    ("predicted", "gold", "score"),
    [
        ("a b c", "a b c", 1.0),
        ("a b c d", "a b", 2 / 3),
        ("a a a", "a", 1 / 2),
        ("c b a", "a b c", 1.0),
        ("x", "a", 0.0),
        ("", "a", 0.0),
        ("a", "", 0.0),
        ("", "", 1.0),
    ],
)
def test_f1_is_the_overlap_of_multisets(predicted, gold, score):
    assert word_f1(predicted.split(), gold.split()) == pytest.approx(score)
