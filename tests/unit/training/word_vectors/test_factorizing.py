import numpy as np
import pytest
from scipy import sparse

from dehusk.training.word_vectors.factorizing import information, vectors

pytestmark = pytest.mark.training

TWO_TOPICS = sparse.csr_matrix(
    np.array(
        [
            [0, 9, 9, 1, 0, 0],
            [9, 0, 9, 0, 1, 0],
            [9, 9, 0, 0, 0, 1],
            [1, 0, 0, 0, 9, 9],
            [0, 1, 0, 9, 0, 9],
            [0, 0, 1, 9, 9, 0],
        ],
        np.float64,
    )
)


def test_what_is_met_more_often_than_by_chance_has_information():
    found = information(TWO_TOPICS).toarray()
    assert (found >= 0).all()
    assert found[0, 1] > 0
    assert found[0, 3] == 0


def test_information_is_the_logarithm_of_how_much_more_often():
    found = information(sparse.csr_matrix(np.array([[0, 4.0], [4.0, 0]]))).toarray()
    np.testing.assert_allclose(found, [[0, np.log(2)], [np.log(2), 0]])


def test_words_of_the_same_company_point_the_same_way():
    found = vectors(TWO_TOPICS, 2).astype(np.float64) / 127
    assert found[0] @ found[1] > 0.9
    assert found[0] @ found[4] < 0.1
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=0.02)


def test_a_word_without_neighbours_has_no_direction():
    counts = TWO_TOPICS.tolil()
    counts[5, :] = 0
    counts[:, 5] = 0
    assert vectors(counts.tocsr(), 2)[5].tolist() == [0, 0]
