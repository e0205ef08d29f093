"""Graphs of neighbours from scikit-learn and cleanlab: the same values as from the points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

import flat
import pivotal
from effort import examples
from pivotal.interop import from_knn_graph, value_knn_graph


def points(n: int = 40, seed: int = 0, *, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 2)) * spread + y[:, np.newaxis], y


def graph_of(X: np.ndarray, n_neighbors: int) -> Any:
    return NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors_graph(mode="distance")


@pytest.mark.kernels
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"k": 3, "semivalue": "shapley", "utility": "soft"},
        {"k": 1, "utility": "plurality"},
        {"k": 2, "weights": "rbf", "bits": 4},
        {"k": 3, "weights": "distance", "bits": 3, "utility": "regression"},
    ],
    ids=str,
)
def test_a_whole_graph_gives_the_values_of_the_points(how: dict[str, Any]) -> None:
    X, y = points(20)
    got = value_knn_graph(graph_of(X, 19), y, tol=0, **how)
    expected = flat.value(X, y, tol=0, **how)
    np.testing.assert_allclose(got.values, expected.values, atol=1e-13)
    assert got.details["n_players"] == expected.details["n_players"] == 19
    assert got.details["self_valuation"]
    assert (got.full_utility, got.empty_utility) == (expected.full_utility, expected.empty_utility)
    assert got.vote_resolution == expected.vote_resolution
    assert got.settings.get("weights", "uniform") == expected.settings["weights"]


@given(seed=st.integers(0, 10**6), depth=st.integers(3, 20), semivalue=st.sampled_from(["banzhaf", "shapley"]))
@examples(30)
def test_a_short_graph_costs_what_the_bound_says(seed: int, depth: int, semivalue: str) -> None:
    X, y = points(30, seed)
    short = value_knn_graph(graph_of(X, depth), y, k=3, semivalue=semivalue)
    whole = pivotal.value(X, y, k=3, semivalue=semivalue)
    assert np.abs(short.values - whole.values).max() <= short.error_bound + whole.error_bound


def test_sixty_neighbours_are_enough_for_five_that_vote() -> None:
    X, y = points(100)
    assert value_knn_graph(graph_of(X, 60), y).error_bound < 1e-9


def test_duplicates_stay_neighbours_and_come_in_order_of_index() -> None:
    X = np.array([[0.0], [0.0], [0.0], [1.0], [3.0]])
    graph = graph_of(X, 4)
    assert (graph.data == 0).sum() == 6  # stored, not omitted
    indices, distances = from_knn_graph(graph)
    assert indices.tolist() == [[1, 2, 3, 4], [0, 2, 3, 4], [0, 1, 3, 4], [0, 1, 2, 4], [3, 0, 1, 2]]
    assert distances.tolist() == [[0, 0, 1, 3], [0, 0, 1, 3], [0, 0, 1, 3], [1, 1, 1, 2], [2, 3, 3, 3]]


def test_entries_may_come_in_any_order_and_format() -> None:
    X, y = points(15)
    graph = graph_of(X, 6)
    by_column = graph.sorted_indices()
    assert not np.array_equal(by_column.indices, graph.indices)
    for other in (
        by_column,
        sparse.coo_matrix(graph),
        sparse.csr_array(graph),
        graph.tocsc(),
        graph.astype(np.float32),
    ):
        np.testing.assert_array_equal(from_knn_graph(other)[0], from_knn_graph(graph)[0])
    np.testing.assert_array_equal(value_knn_graph(by_column, y).values, value_knn_graph(graph, y).values)


def test_points_in_their_own_row_are_left_out() -> None:
    X, y = points(25)
    X[7] = X[3]
    own = NearestNeighbors(n_neighbors=11).fit(X).kneighbors_graph(X, mode="distance")
    assert (from_knn_graph(own)[0] == np.arange(25)[:, np.newaxis]).any(axis=1).all()
    np.testing.assert_array_equal(value_knn_graph(own, y).values, value_knn_graph(graph_of(X, 10), y).values)


def test_a_point_behind_its_duplicates_is_missing_from_its_own_row() -> None:
    X, y = np.zeros((6, 1)), [0, 1, 0, 1, 0, 1]
    nearest = np.tile(np.arange(3), (6, 1))  # the last three points do not find themselves
    graph = sparse.csr_array((np.zeros(18), nearest.ravel(), np.arange(0, 19, 3)), shape=(6, 6))
    got = value_knn_graph(graph, y, k=1)
    expected = pivotal.value_from_neighbors([[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [0, 1]], y, k=1)
    np.testing.assert_array_equal(got.values, expected.values)
    np.testing.assert_allclose(got.values, pivotal.value(X, y, k=1).values, atol=got.error_bound)


def test_queries_of_a_test_set_go_through_the_lists() -> None:
    X, y = points(30)
    search = NearestNeighbors(n_neighbors=20).fit(X[:20])
    indices, distances = from_knn_graph(search.kneighbors_graph(X[20:], mode="distance"))
    assert indices.shape == distances.shape == (10, 20)
    got = pivotal.value_from_neighbors(indices, y[:20], y[20:])
    np.testing.assert_array_equal(got.values, pivotal.value(X[:20], y[:20], X[20:], y[20:]).values)


def test_cleanlab_takes_and_makes_the_same_graph() -> None:
    pytest.importorskip("cleanlab")
    from cleanlab.data_valuation import data_shapley_knn
    from cleanlab.internal.neighbor.knn_graph import create_knn_graph_and_index

    X, y = points(60, spread=0.3)
    y[::10] = (y[::10] + 1) % 3
    graph, _ = create_knn_graph_and_index(X, n_neighbors=30, metric="euclidean")
    np.testing.assert_array_equal(from_knn_graph(graph)[0], from_knn_graph(graph_of(X, 30))[0])
    ours = value_knn_graph(graph, y, k=10, utility="jia2019", semivalue="shapley")
    exact = pivotal.value(X, y, k=10, utility="jia2019", semivalue="shapley")
    assert np.abs(ours.values - exact.values).max() <= ours.error_bound + exact.error_bound
    # cleanlab cuts Shapley values off at rank k: not the same numbers, but the same points at the bottom.
    theirs = data_shapley_knn(y, knn_graph=graph, k=10)
    assert set(ours.order()[-6:]) == set(np.argsort(theirs)[:6]) == set(range(0, 60, 10))


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        (np.eye(3), TypeError, "graph must be a sparse matrix of distances; got ndarray"),
        (sparse.csr_array((3, 3)), ValueError, r"graph must hold neighbours; got none in a graph of shape \(3, 3\)"),
        (sparse.csr_array((0, 3)), ValueError, "graph must hold neighbours; got none"),
        (
            sparse.csr_array([[0, 2.0, 1], [1, 0, 0], [1, 3, 0]]),
            ValueError,
            "as many neighbours in every row; got 1 in row 1 and 2 in row 0",
        ),
        (sparse.csr_array([[0, -1.0], [2, 0]]), ValueError, "finite distances of at least 0; .* between -1.0 and 2.0"),
        (sparse.csr_array([[0, np.nan], [2, 0]]), ValueError, "finite distances of at least 0; .* between nan and nan"),
        (sparse.csr_array([[0, np.inf], [2, 0]]), ValueError, "finite distances of at least 0; .* between 2.0 and inf"),
        (
            sparse.csr_array([[False, True], [True, False]]),
            ValueError,
            "finite distances of at least 0; got dtype bool",
        ),
        (sparse.csr_array([[0.0, 1, 1], [1, 0, 1], [1, 1, 0]]), ValueError, 'got only ones, as mode="connectivity"'),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_graphs_that_hold_no_lists_are_refused(graph: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        from_knn_graph(graph)


def test_graphs_that_do_not_fit_are_refused() -> None:
    X, y = points(12)
    graph = graph_of(X, 4)
    with pytest.raises(
        ValueError, match="at least the neighbours that vote, 5 besides the point itself; got 4 per row"
    ):
        value_knn_graph(graph, y)
    with pytest.raises(ValueError, match=r"graph must be square .*; got shape \(11, 12\)"):
        value_knn_graph(graph[:11], y[:11], k=1)
    with pytest.raises(ValueError, match=r"indices must have a row per query"):
        value_knn_graph(graph, y[:11], k=1)
    with pytest.raises(ValueError, match="k must be an integer of at least 1; got k=0"):
        value_knn_graph(graph, y, k=0)
    with pytest.raises(TypeError, match="takes neighbours, votes and queries from the graph"):
        value_knn_graph(graph, y, k=1, y_test=y)
    with pytest.raises(ValueError, match="a graph of the nearest cannot tell who is within a radius"):
        value_knn_graph(graph, y, k=1, utility="threshold(0.5)")
    some = graph.copy()
    some.indices[0] = 0  # now only the first point is its own neighbour
    with pytest.raises(ValueError, match="every point as its own neighbour, or none; some are, but point 1 is not"):
        value_knn_graph(some, y, k=1)
    with pytest.raises(ValueError, match="other neighbours than the point itself"):
        value_knn_graph(sparse.diags_array(np.full(4, 0.5)).tocsr(), y[:4], k=1)
    assert value_knn_graph(graph_of(X[:4], 3), y[:4]).settings["k"] == 5  # all there are


def test_lists_of_points_that_value_each_other_leave_them_out() -> None:
    with pytest.raises(ValueError, match="among its own neighbours; point 1 is"):
        pivotal.value_from_neighbors([[1, 2], [1, 0], [0, 1]], [0, 1, 0], k=1)
    X, y = points(12)
    lists = from_knn_graph(graph_of(X, 11))[0]
    assert pivotal.value_from_neighbors(lists, y, k=3).equals(value_knn_graph(graph_of(X, 11), y, k=3))
    how = {"k": 3, "semivalue": "shapley"}
    sampled = flat.value_from_neighbors(lists, y, method="permutations", n_samples=200, random_state=0, **how)
    low, high = sampled.interval(0.9999)
    exact = flat.value(X, y, **how).values
    assert ((low <= exact) & (exact <= high)).all()
