import numpy as np
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.grf.word_vectors import graph_by_words, mean_vectors_of, word_vectors
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import Encoding


def test_edges_weigh_the_inner_product_where_it_is_positive() -> None:
    means = np.array([[1, 0], [0.5, 0.5], [-1, 0], [0, 0]], np.float32)
    graph = graph_by_words(means)
    found = dict(
        zip(zip(graph.starts.tolist(), graph.ends.tolist(), strict=True), graph.weights.tolist(), strict=True)
    )
    assert found == {(0, 1): 0.5, (1, 0): 0.5}


def test_a_page_without_words_that_are_known_has_no_edges() -> None:
    page = encode(segment(b"<p>qqzxv<p>vvqzz"), (Encoding.TOKENS,))
    assert len(graph_by_words(mean_vectors_of(page)).weights) == 0


@pytest.mark.parametrize(
    ("word", "akin", "other"),
    [
        ("monday", "tuesday", "kitchen"),
        ("france", "germany", "password"),
        ("januar", "februar", "shipping"),
    ],
)
def test_words_that_stand_in_the_same_company_are_alike(word: str, akin: str, other: str) -> None:
    page = encode(segment(f"<p>{word}<p>{akin}<p>{other}".encode()), (Encoding.TOKENS,))
    means = word_vectors().means(page)
    assert means[0] @ means[1] > 2 * max(means[0] @ means[2], 0)
