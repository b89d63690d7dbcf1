import numpy as np
import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.boilernet.evaluation import score_blocks
from dehusk.training.boilernet.labeled_pages import labeled_page
from dehusk.training.pages.gold import LabeledBlock, PageOfBlocks
from dehusk.training.scores import (
    BlockScore,
    block_table,
    mean_f1,
    median_seed,
    require_both_classes,
    score_words,
    seed_table,
    word_f1,
    word_scores,
)


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


def page(*labels):
    blocks = tuple(LabeledBlock(("p",), "the mill", label) for label in labels)
    return labeled_page(PageOfBlocks("1", blocks))


def test_blocks_of_all_pages_count_together_for_each_class():
    answers = iter([[0.9, 0.5, 0.1], [0.2, 0.49]])
    pages = [page(1, 0, 0), page(), page(1, 0)]
    boilerplate, content = score_blocks(pages, lambda _: np.array(next(answers), np.float32))
    assert (boilerplate.blocks, boilerplate.precision, boilerplate.recall) == (3, 2 / 3, 2 / 3)
    assert (content.blocks, content.precision, content.recall) == (2, 1 / 2, 1 / 2)
    assert mean_f1((boilerplate, content)) == pytest.approx((2 / 3 + 1 / 2) / 2)


def test_a_class_that_is_never_found_or_never_there_scores_nothing():
    boilerplate, content = score_blocks([page(0, 0)], lambda _: np.array([0.9, 0.1], np.float32))
    assert (boilerplate.precision, boilerplate.recall) == (1.0, 0.5)
    assert boilerplate.f1 == pytest.approx(2 / 3)
    assert (content.precision, content.recall, content.f1) == (0.0, 0.0, 0.0)


def scores(boilerplate, content):
    """Scores with these F1."""
    return tuple(BlockScore(9, f1, f1) for f1 in (boilerplate, content))


@pytest.mark.parametrize(
    ("of_seeds", "median"),
    [
        ({1: (0.9, 0.5), 2: (0.7, 0.9), 3: (0.6, 0.3)}, 1),
        ({4: (0.5, 0.5), 5: (0.8, 0.8), 6: (0.8, 0.8)}, 5),
        ({1: (0.9, 0.9), 2: (0.1, 0.1)}, 2),
        ({7: (0.0, 0.0)}, 7),
    ],
)
def test_the_seed_of_the_median_score_is_chosen(of_seeds, median):
    assert median_seed({seed: scores(*each) for seed, each in of_seeds.items()}) == median


def test_the_table_of_seeds_has_their_mean_and_standard_deviation():
    assert seed_table({1: scores(0.9, 0.5), 2: scores(0.7, 0.9)}).splitlines() == [
        "| F1 of seed | boilerplate (0) | content (1) | both |",
        "|---|--:|--:|--:|",
        "| 1 | 0.900 | 0.500 | 0.700 |",
        "| 2 | 0.700 | 0.900 | 0.800 |",
        "| mean ± standard deviation | 0.800 ± 0.141 | 0.700 ± 0.283 | 0.750 ± 0.071 |",
    ]


def test_the_table_has_a_line_per_class():
    both = (BlockScore(30, 0.8, 0.9), BlockScore(10, 0.5, 0.5))
    assert block_table(both).splitlines()[2:] == [
        "| boilerplate (0) | 30 | 0.800 | 0.900 | 0.847 |",
        "| content (1) | 10 | 0.500 | 0.500 | 0.500 |",
    ]


@pytest.mark.parametrize(
    ("pages", "told"),
    [
        ([], "there are no pages to learn from: add pages"),
        ([(), ()], "there are no pages to learn from: add pages"),
        ([(True,), (True, True)], "all 3 blocks of the 2 pages to learn from are labeled as content: there"),
        (
            [np.zeros(3, np.bool_)],
            "all 3 blocks of the 1 page to learn from are labeled as boilerplate",
        ),
    ],
)
def test_where_there_is_nothing_to_tell_apart_it_is_said(pages, told):
    with pytest.raises(ConfigurationError, match=f"^{told}"):
        require_both_classes(pages, "to learn from")
    require_both_classes([*pages, (True, False)], "to learn from")
