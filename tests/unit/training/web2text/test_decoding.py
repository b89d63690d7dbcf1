"""Decoding beside all labelings of short pages."""

from itertools import product

import numpy as np
import pytest

from dehusk.training.web2text.decoding import max_marginals
from tests.unit.training.web2text.viterbi import viterbi


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
