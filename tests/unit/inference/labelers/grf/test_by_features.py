from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.grf.graph import NEAREST, Graph, features_of, graph_by_features
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import ConfigurationError


def weights(graph: Graph) -> npt.NDArray[np.float64]:
    """Shape [N, N]."""
    matrix = np.zeros((graph.nodes, graph.nodes))
    matrix[graph.starts, graph.ends] = graph.weights
    return matrix


def features(*first_columns: int) -> npt.NDArray[np.uint8]:
    """Blocks that differ in one column."""
    columns = np.zeros((len(first_columns), 4), np.uint8)
    columns[:, 0] = first_columns
    return columns


def test_the_more_alike_the_heavier() -> None:
    found = weights(graph_by_features(features(0, 51, 102, 255)))
    assert found[0, 1] > found[0, 2] > found[0, 3] > 0
    np.testing.assert_array_equal(found, found.T)


def test_weights_fall_with_the_square_of_the_distance_by_their_mean() -> None:
    found = weights(graph_by_features(features(0, 51, 153)))
    mean = np.mean([0.2**2, 0.4**2, 0.6**2])
    assert found[0, 1] == pytest.approx(np.exp(-(0.2**2) / (2 * mean)), rel=1e-5)
    assert found[0, 2] == pytest.approx(np.exp(-(0.6**2) / (2 * mean)), rel=1e-5)


def test_equal_blocks_have_edges_of_weight_1() -> None:
    found = weights(graph_by_features(features(7, 7, 7)))
    np.testing.assert_allclose(found[~np.eye(3, dtype=np.bool_)], 1)


def test_of_blocks_far_apart_only_those_that_follow_one_another_are_connected() -> None:
    first, second = [0] * (NEAREST + 1), [255] * (NEAREST + 1)
    found = weights(graph_by_features(features(*first, *second)))
    across = found[: len(first), len(first) :]
    assert np.count_nonzero(across) == 1
    assert 0 < across[-1, 0] < 1e-3


@pytest.mark.parametrize("blocks", [0, 1])
def test_a_page_too_small_for_edges_has_none(blocks: int) -> None:
    graph = graph_by_features(features(*[3] * blocks))
    assert (graph.nodes, len(graph.weights)) == (blocks, 0)


def test_features_are_those_of_the_page() -> None:
    page = encode(segment(b"<p>one<p>two"))
    assert page.structure is not None
    assert features_of(page) is page.structure.features


def test_a_page_without_elements_has_no_features() -> None:
    page = replace(encode(segment(b"<p>one")), structure=None)
    with pytest.raises(ConfigurationError, match="only texts and paths"):
        features_of(page)
