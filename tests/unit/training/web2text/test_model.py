"""Excerpts of pages, and decoding, compared with all labelings of short pages."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from dehusk.training.web2text.config import Web2TextConfig
from dehusk.training.web2text.model import Sequences, kernel_weights, max_marginals, new_network
from tests.unit.training.web2text.viterbi import viterbi

pytestmark = pytest.mark.training


def test_pairs_have_the_labels_of_both_blocks(pages):
    sequences = Sequences.of_pairs(pages[:1])
    assert pages[0].content.astype(int).tolist() == [0, 0, 0, 0, 1, 1, 1, 0]
    assert sequences.labels.tolist() == [0, 0, 0, 1, 3, 3, 2]
    assert sequences.rows.shape == (7, 25)
    assert sequences.rows[:, :4].sum(1).tolist() == [1] * 7


def test_an_excerpt_is_a_run_of_rows_of_one_sequence(pages):
    sequences = Sequences.of_blocks(pages)
    standard = sequences.standard()
    batch = sequences.excerpts(standard, 50, 5, np.random.default_rng(1))
    whole = standard(sequences.rows.astype(np.float32))
    runs = {
        whole[start + place : start + place + 5].tobytes()
        for start, length in zip(sequences.starts, sequences.lengths, strict=True)
        for place in range(length - 4)
    }
    assert {each.numpy().tobytes() for each in batch.rows} <= runs
    assert batch.weights.min() == 1


def test_beyond_the_end_of_a_short_sequence_are_zeros_that_weigh_nothing(pages):
    sequences = Sequences.of_blocks(pages)
    batch = sequences.excerpts(sequences.standard(), 3, 12, np.random.default_rng(1))
    assert batch.weights.sum(1).tolist() == [8, 8, 8]
    assert not batch.rows[:, 8:].any()


def test_doubtful_labels_weigh_nothing(pages):
    uncertain = np.array([False] * 7 + [True])
    page = replace(pages[0], uncertain=uncertain)
    batch = Sequences.of_blocks([page]).excerpts(
        Sequences.of_blocks([page]).standard(), 1, 8, np.random.default_rng(1)
    )
    assert batch.weights[0].tolist() == [1] * 7 + [0]
    assert Sequences.of_pairs([page]).certain.tolist() == [True] * 6 + [False]


def test_features_that_are_not_binary_are_standardised(pages):
    sequences = Sequences.of_blocks(pages)
    rows = sequences.standard()(sequences.rows.astype(np.float32))
    for number, column in enumerate(sequences.columns):
        if column.is_binary:
            assert set(np.unique(rows[:, number])) <= {0, 1}
        else:
            assert abs(rows[:, number].mean()) < 0.02


def test_the_kernels_have_as_many_weights_as_the_paper_counts(config_file):
    config = Web2TextConfig.read(config_file).network
    assert kernel_weights(new_network("unary", config, seed=1)) == 17_960
    assert kernel_weights(new_network("pairwise", config, seed=1)) == 12_870


def test_a_block_sees_three_on_each_side(config_file):
    network = new_network("unary", Web2TextConfig.read(config_file).network, seed=1).eval()
    rows = torch.randn(1, 15, 128)
    changed = rows.clone()
    changed[0, 7] += 1
    differs = (network(rows) != network(changed)).any(2)[0]
    assert differs.nonzero()[:, 0].tolist() == list(range(4, 11))


def potentials(blocks, seed):
    random = np.random.default_rng(seed)
    return random.normal(size=(blocks, 2)) * 2, random.normal(size=(blocks - 1, 2, 2)) * 2


def every_labeling(unary, pairwise):
    """The labelings, and the logarithm of each."""
    labelings = np.array(list(product((0, 1), repeat=len(unary))))
    places = np.arange(len(unary))
    scores = [
        unary[places, labels].sum() + pairwise[places[:-1], labels[:-1], labels[1:]].sum()
        for labels in labelings
    ]
    return labelings, np.array(scores)


@pytest.mark.parametrize("blocks", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", range(5))
def test_the_most_likely_labels_are_found(blocks, seed):
    page = potentials(blocks, seed)
    labelings, scores = every_labeling(*page)
    assert viterbi(*page).astype(int).tolist() == labelings[scores.argmax()].tolist()


@pytest.mark.parametrize("blocks", [1, 2, 3, 7])
def test_labelings_with_each_label_of_a_block_are_put_together(blocks):
    page = potentials(blocks, 7)
    labelings, scores = every_labeling(*page)
    expected = [[np.max(scores[labelings[:, block] == label]) for label in (0, 1)] for block in range(blocks)]
    assert np.allclose(max_marginals(*page), expected)


@pytest.mark.parametrize("seed", range(5))
def test_a_block_is_content_where_the_best_labeling_with_it_is_better(seed):
    page = potentials(60, seed)
    best = max_marginals(*page)
    assert (best[:, 1] > best[:, 0]).tolist() == viterbi(*page).tolist()
