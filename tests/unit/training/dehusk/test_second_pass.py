from dataclasses import replace

import numpy as np
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment
from dehusk.training.dehusk.config import DEFAULT_CONFIG, DehuskConfig
from dehusk.training.dehusk.examples import example_of
from dehusk.training.dehusk.first_pass import FirstAnswer
from dehusk.training.dehusk.second_pass import (
    AROUND,
    COLUMN_GROUPS,
    OUTSIDE,
    context_columns,
    fit_second_pass,
)
from dehusk.training.dehusk.token_scores import SCORES

pytestmark = pytest.mark.training

CONFIG = DehuskConfig.read(DEFAULT_CONFIG)

NO_KIND = np.zeros(7, np.float32)
LIST = b"<ul><li>one two<li>three four<li>five six</ul><p>A paragraph that stands for itself."


def answer(probabilities):
    probabilities = np.array(probabilities)
    logits = np.log(probabilities / (1 - probabilities)).astype(np.float32)
    return FirstAnswer(np.zeros((len(logits), len(SCORES)), np.float32), logits, -logits, NO_KIND)


@pytest.fixture(scope="module")
def structure():
    return encode(segment(LIST)).structure


def test_every_column_has_its_group(structure):
    columns = context_columns(structure, answer([0.2, 0.4, 0.6, 0.9]))
    assert columns.shape == (4, len(COLUMN_GROUPS))
    assert np.isfinite(columns).all()


def test_a_block_sees_what_was_answered_around_it(structure):
    around = context_columns(structure, answer([0.2, 0.4, 0.6, 0.8]))[:, -13 - len(AROUND) : -13]
    before, after = AROUND.index(-1), AROUND.index(1)
    assert around[:, before].tolist() == [OUTSIDE, 51, 102, 153]
    assert around[:, after].tolist() == [102, 153, 204, OUTSIDE]


def test_a_block_sees_what_was_answered_to_those_like_it(structure):
    columns = context_columns(structure, answer([0.2, 0.4, 0.6, 0.8]))[:, -13:-1]
    by_words, mean, largest, words, share = columns[:, :5].T
    assert mean.tolist() == by_words.tolist() == [102, 102, 102, 204]
    assert largest.tolist() == [153, 153, 153, 204]
    assert words.tolist() == [6, 6, 6, 6]
    assert share.tolist() == [85, 85, 85, 170]
    assert columns[:, 10:].tolist() == [[0, 2], [0, 2], [1, 1], [2, 0]]


def test_a_block_sees_whether_it_was_taken_for_a_comment(structure):
    columns = context_columns(structure, answer([0.2, 0.4, 0.6, 0.8]))
    assert columns[:, -1].tolist() == [204, 153, 102, 51]


def test_trees_learn_what_the_first_pass_is_unsure_of(pages):
    config = DehuskConfig.read(DEFAULT_CONFIG).trees
    examples = [example_of(page, CONFIG) for page in pages]
    unsure = [answer(np.where(each.content, 0.55, 0.45)) for each in examples]
    second = fit_second_pass(examples[:18], unsure[:18], replace(config, least_blocks=5, threads=1), 1)
    for example, first in zip(examples[18:], unsure[18:], strict=True):
        logits = second.logits(example.structure, first)
        assert logits[example.content].min() > 1 > -1 > logits[~example.content].max()


def test_columns_of_a_group_that_is_left_out_change_nothing(pages):
    config = replace(DehuskConfig.read(DEFAULT_CONFIG).trees, least_blocks=5, threads=1)
    examples = [example_of(page, CONFIG) for page in pages[:8]]
    answers = [answer(np.full(len(each), 0.5)) for each in examples]
    second = fit_second_pass(examples, answers, config, 1, without="words")
    shown = FirstAnswer(
        np.where(np.array(SCORES) == "words", 3.0, np.zeros((len(examples[0]), 1))).astype(np.float32),
        answers[0].logits,
        answers[0].comment_logits,
        NO_KIND,
    )
    structure = examples[0].structure
    assert (second.logits(structure, shown) == second.logits(structure, answers[0])).all()


def test_pages_that_are_for_the_first_pass_alone_change_nothing(pages):
    config = replace(DehuskConfig.read(DEFAULT_CONFIG).trees, least_blocks=5, threads=1)
    examples = [example_of(page, CONFIG) for page in pages[:8]]
    renamed = [example_of(replace(page, altered="renamed"), CONFIG) for page in pages[8:12]]
    answers = [answer(np.full(len(each), 0.5)) for each in (*examples, *renamed)]
    second = fit_second_pass([*examples, *renamed], answers, config, 1)
    without = fit_second_pass(examples, answers[:8], config, 1)
    structure = examples[0].structure
    assert (second.logits(structure, answers[0]) == without.logits(structure, answers[0])).all()
