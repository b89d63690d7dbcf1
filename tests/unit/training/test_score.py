import pytest

from dehusk.training.score import score_words, word_f1, word_scores


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


@pytest.mark.parametrize(
    ("predicted", "gold", "precision", "recall"),
    [("a b c d", "a b", 0.5, 1.0), ("a", "a b", 1.0, 0.5), ("", "a", 1.0, 0.0), ("a", "", 0.0, 1.0)],
)
def test_precision_and_recall_are_shares_of_the_overlap(predicted, gold, precision, recall):
    scores = word_scores(predicted.split(), gold.split())
    assert (scores.precision, scores.recall) == (precision, recall)
