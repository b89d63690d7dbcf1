import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dehusk.inference.labelers.grf.graph import Field, Graph, solve, undirected


def chain(*weights: float) -> Graph:
    """Nodes in a row."""
    nodes = np.arange(len(weights))
    return undirected(len(weights) + 1, nodes, nodes + 1, np.array(weights, np.float64))


def field(graph: Graph, *labels: int, prior: float = 0.5, tie: float = 1e-9) -> Field:
    return Field(graph, np.array(labels, np.int8), np.full(graph.nodes, prior), tie)


def iterated(field: Field) -> np.ndarray:
    """Return the harmonic function by the paper's iteration, until no node changes."""
    diagonal = field.graph.degrees + field.tie
    values, change = field.prior, np.inf
    while change > 1e-6:
        means = (
            field.graph.gather(np.where(field.unknown, values, field.labels)) + field.tie * field.prior
        ) / diagonal
        change = np.abs(means - values)[field.unknown].max(initial=0)
        values = means
    return np.where(field.unknown, values, field.labels)


def random_field(seed: int) -> Field:
    chosen, nodes = np.random.default_rng(seed), 60
    starts, ends = chosen.integers(0, nodes, (2, 3 * nodes))
    return Field(
        graph=undirected(nodes, starts, ends, chosen.uniform(0.01, 1, 3 * nodes)),
        labels=chosen.choice(np.array([-1, -1, -1, -1, 0, 1], np.int8), nodes),
        prior=chosen.uniform(0, 1, nodes),
        tie=0.2,
    )


def test_between_two_labels_the_values_fall_evenly() -> None:
    values = solve(field(chain(1, 1, 1, 1), 1, -1, -1, -1, 0))
    np.testing.assert_allclose(values, [1, 0.75, 0.5, 0.25, 0], atol=1e-5)


def test_a_node_is_nearer_to_what_it_is_tied_to_more_strongly() -> None:
    np.testing.assert_allclose(solve(field(chain(3, 1), 1, -1, 0))[1], 0.75, atol=1e-5)


def test_the_farther_from_a_label_the_nearer_to_the_prior() -> None:
    values = solve(field(chain(1, 1, 1, 1, 1, 1), 1, -1, -1, -1, -1, -1, -1, prior=0.5, tie=0.5))
    assert (np.diff(values) < 0).all()
    assert values[-1] == pytest.approx(0.5, abs=0.02)


def test_what_is_connected_to_no_label_is_as_likely_as_its_prior() -> None:
    parted = undirected(4, np.array([0, 2]), np.array([1, 3]), np.ones(2))
    np.testing.assert_allclose(solve(field(parted, 1, -1, -1, -1, prior=0.3, tie=0.1))[2:], 0.3, atol=1e-6)


def test_without_labels_all_are_as_likely_as_their_prior() -> None:
    np.testing.assert_allclose(solve(field(chain(1, 1), -1, -1, -1, prior=0.3, tie=0.1)), 0.3, atol=1e-6)


def test_labels_stay() -> None:
    assert solve(field(chain(1, 1), 1, 0, 1)).tolist() == [1, 0, 1]


def test_nothing_is_answered_of_no_nodes() -> None:
    assert solve(field(undirected(0, *np.zeros((2, 0), np.int64), np.zeros(0)))).tolist() == []


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_the_iteration_comes_to_the_same_as_the_linear_equations(seed: int) -> None:
    np.testing.assert_allclose(iterated(random_field(seed)), solve(random_field(seed)), atol=1e-4)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_conjugate_gradients_solve_the_linear_equations(seed: int) -> None:
    given_field = random_field(seed)
    graph, unknown = given_field.graph, given_field.unknown
    weights = np.zeros((graph.nodes, graph.nodes))
    weights[graph.starts, graph.ends] = graph.weights
    left = np.diag(weights.sum(axis=1) + given_field.tie) - weights
    right = weights[:, ~unknown] @ given_field.labels[~unknown] + given_field.tie * given_field.prior
    expected = np.linalg.solve(left[np.ix_(unknown, unknown)], right[unknown])
    np.testing.assert_allclose(solve(given_field)[unknown], expected, atol=1e-6)
