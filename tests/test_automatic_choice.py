"""The automatic choice is exact, whatever it chooses."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from nearness import HARD_CASES, assert_same
from pivotal.neighbors import ApproximateIndex, AutoIndex, BruteIndex, TreeIndex, as_index
from pivotal.neighbors import _factory as choice


def np_dot(a, b):
    return float(np.dot(a, b))


@pytest.fixture
def small_trees(monkeypatch):
    """Let trees pay at once."""
    monkeypatch.setattr(choice, "_TREE_POINTS", {"euclidean": 100, "other": 100})
    monkeypatch.setattr(choice, "_TREE_DEPTH", {"euclidean": 5, "other": 5})
    monkeypatch.setattr(choice, "_TREE_QUERIES", 30)


@pytest.mark.usefixtures("small_trees")
@pytest.mark.parametrize("case", HARD_CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "minkowski"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_auto_with_a_tree_is_brute_force_to_the_last_bit(case, metric, dtype):
    rng = np.random.default_rng(18)
    X, queries = np.clip(case(rng, (600, 3)), -1e30, 1e30).astype(dtype), case(rng, (40, 3))
    index, brute = as_index("auto", X, metric=metric, n_jobs=2), BruteIndex(X, metric)
    assert index.exact
    assert_same(index.search(queries, 9), brute.search(queries, 9))
    assert index._tree is not None
    assert_same(index.search_self(0, 40, 9), brute.search_self(0, 40, 9))
    # Too long a list for the tree.
    assert_same(index.search(queries, 300), brute.search(queries, 300))


@pytest.mark.usefixtures("small_trees")
@pytest.mark.parametrize("metric", ["manhattan", "l1", "chebyshev"])
def test_auto_with_other_metrics(metric):
    rng = np.random.default_rng(19)
    X = rng.integers(0, 9, (600, 3)).astype(float)
    index = as_index("auto", X, metric=metric)
    assert_same(index.search(X[:5], 9), BruteIndex(X, metric).search(X[:5], 9))
    assert isinstance(index._tree, TreeIndex)


@pytest.mark.usefixtures("small_trees")
def test_auto_with_parameters_of_the_metric():
    rng = np.random.default_rng(20)
    X = rng.random((600, 2))
    for metric, parameters in [("minkowski", {"p": 3}), ("haversine", {})]:
        index = as_index("auto", X, metric=metric, metric_params=parameters)
        answer = index.search(X[:5], 9)
        expected = BruteIndex(X, metric, metric_params=parameters).search(X[:5], 9)
        assert isinstance(index._tree, TreeIndex)
        assert_array_equal(answer[0], expected[0])
        assert_allclose(answer[1], expected[1], rtol=1e-13)


@pytest.mark.usefixtures("small_trees")
@pytest.mark.parametrize(
    ("X", "metric", "parameters", "n_queries", "depth"),
    [
        (np.ones((600, 5)), "euclidean", None, 40, 9),
        (np.ones((99, 3)), "euclidean", None, 40, 9),
        (np.ones((600, 3)), "euclidean", None, 29, 9),
        (np.ones((600, 3)), "euclidean", None, 40, 121),
        (np.ones((600, 3)), "cosine", None, 40, 9),
        (np.ones((600, 3)), "braycurtis", None, 40, 9),
        (np.ones((600, 3)), "minkowski", {"p": 0.5}, 40, 9),
        (np.ones((600, 3)), "minkowski", {"p": 3, "w": [1.0, 2.0, 1.0]}, 40, 9),
        (np.ones((600, 3)), np_dot, None, 2, 9),
        (sparse.csr_array(np.ones((600, 3))), "euclidean", None, 40, 9),
    ],
)
def test_auto_where_a_tree_does_not_pay(X, metric, parameters, n_queries, depth):
    index = as_index("auto", X, metric=metric, metric_params=parameters)
    assert isinstance(index, AutoIndex)
    answer = index.search(X[:n_queries], depth)
    assert index._tree is None
    assert_same(answer, BruteIndex(X, metric, metric_params=parameters).search(X[:n_queries], depth))


@pytest.mark.usefixtures("small_trees")
def test_auto_counts_the_queries_of_all_blocks():
    X = np.random.default_rng(21).random((600, 2))
    index = as_index("auto", X)
    for start in (0, 10, 20):
        assert index._tree is None
        index.search_self(start, start + 10, 5)
    assert index._tree is not None


def test_auto_never_chooses_an_approximate_index():
    X = np.random.default_rng(22).random((3000, 40)).astype(np.float32)
    index = as_index("auto", X)
    assert index.exact
    assert not isinstance(index, ApproximateIndex)
