import numpy as np
import pytest

from dehusk.inference.labelers.grf.graph import Graph, most_similar, undirected


def edges(graph: Graph) -> dict[tuple[int, int], float]:
    found = zip(graph.starts.tolist(), graph.ends.tolist(), graph.weights.tolist(), strict=True)
    return {(start, end): weight for start, end, weight in found}


def graph(nodes: int, *weighted: tuple[int, int, float]) -> Graph:
    starts, ends, weights = zip(*weighted, strict=True) if weighted else ((), (), ())
    return undirected(
        nodes, np.array(starts, np.int64), np.array(ends, np.int64), np.array(weights, np.float64)
    )


def test_each_edge_is_there_in_both_directions_with_the_weight_that_was_given_first() -> None:
    assert edges(graph(3, (0, 1, 0.5), (1, 0, 0.7), (2, 1, 0.2))) == {
        (0, 1): 0.5,
        (1, 0): 0.5,
        (1, 2): 0.2,
        (2, 1): 0.2,
    }


def test_loops_and_edges_without_weight_are_left_out() -> None:
    assert edges(graph(2, (0, 0, 1), (0, 1, 0), (1, 0, -1))) == {}


def test_values_are_gathered_by_weight() -> None:
    gathered = graph(4, (0, 1, 0.5), (0, 2, 2)).gather(np.array([1.0, 10, 100, 1000]))
    assert gathered.tolist() == [205, 0.5, 2, 0]


def test_degrees_are_sums_of_weights() -> None:
    assert graph(4, (0, 1, 0.5), (0, 2, 2)).degrees.tolist() == [2.5, 0.5, 2, 0]


def test_the_most_similar_nodes_are_found_for_each() -> None:
    similarities = np.array([[9, 1, 2, 3], [1, 9, 8, 7], [2, 8, 9, 0], [3, 7, 0, 9]], np.float32)
    starts, ends = most_similar(similarities, 2)
    assert sorted(zip(starts.tolist(), ends.tolist(), strict=True)) == [
        (0, 2),
        (0, 3),
        (1, 2),
        (1, 3),
        (2, 0),
        (2, 1),
        (3, 0),
        (3, 1),
    ]


@pytest.mark.parametrize(("nodes", "found"), [(0, 0), (1, 0), (2, 2), (3, 6)])
def test_there_are_no_more_neighbours_than_nodes(nodes: int, found: int) -> None:
    starts, ends = most_similar(np.zeros((nodes, nodes), np.float32), 5)
    assert len(starts) == len(ends) == found
    assert (starts != ends).all()
