from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import VALID_METRICS

import pivotal
from effort import examples
from nearness import HARD_CASES, all_distances, all_equal, assert_same, grid, nearest, plain, scattered
from pivotal.core import validation
from pivotal.core.threads import slices
from pivotal.kernels import order
from pivotal.neighbors import BruteIndex, as_index, blocks, brute


@pytest.fixture
def small_tiles(monkeypatch):
    """Several tiles, groups of features and slices of queries in small problems."""
    monkeypatch.setattr(brute, "_TILE_POINTS", 2 * order.STRIDE)
    monkeypatch.setattr(brute, "_TILE_FEATURES", 3)
    monkeypatch.setattr(brute, "_TILE_QUERIES", 3)


@pytest.mark.parametrize("make", HARD_CASES)
@examples(30)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_train=st.integers(1, 700),
    n_features=st.integers(1, 7),
    depth=st.integers(1, 40),
    single=st.booleans(),
    elsewhere=st.booleans(),
)
def test_order_is_that_of_a_full_sort(make, seed, n_train, n_features, depth, single, elsewhere):
    rng = np.random.default_rng(seed)
    X = make(rng, (n_train, n_features))
    queries = X[rng.integers(0, n_train, 6)] if elsewhere else make(rng, (6, n_features))
    if single:
        with np.errstate(over="ignore", under="ignore"):
            X = np.clip(X, -1e30, 1e30).astype(np.float32)
    depth = min(depth, n_train)
    assert_same(BruteIndex(X, n_jobs=1).search(queries, depth), nearest(all_distances(X, queries), depth))


@examples(60)
@given(data=st.data(), n_features=st.integers(1, 3), depth=st.integers(1, 3))
def test_order_of_arbitrary_numbers(data, n_features, depth):
    number = st.floats(-1e140, 1e140)
    rows = st.lists(number, min_size=n_features, max_size=n_features)
    # Many copies of few rows, so that selection by scores has something to do.
    X = np.repeat(data.draw(st.lists(rows, min_size=1, max_size=6)), 60, axis=0)
    queries = np.array(data.draw(st.lists(rows, min_size=1, max_size=3)))
    assert_same(BruteIndex(X, n_jobs=1).search(queries, depth), nearest(all_distances(X, queries), depth))


@pytest.mark.kernels
@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("make", HARD_CASES)
@pytest.mark.parametrize("depth", [1, 7, 30, 300])
def test_order_with_many_tiles(make, depth):
    rng = np.random.default_rng(depth)
    X, queries = make(rng, (300, 7)), make(rng, (4, 7))
    assert_same(BruteIndex(X, n_jobs=2).search(queries, depth), nearest(all_distances(X, queries), depth))


@pytest.mark.parametrize("make", HARD_CASES)
def test_blocks_and_threads_leave_no_trace(make, monkeypatch):
    rng = np.random.default_rng(1)
    X, queries = make(rng, (3000, 40)), make(rng, (50, 40))
    for depth in (20, 1000):
        expected = BruteIndex(X, n_jobs=1).search(queries, depth)
        for n_jobs, size, tile in [(1, 1, 1024), (2, 7, 128), (3, 50, 64), (2, 13, 4096)]:
            with monkeypatch.context() as patch:
                patch.setattr(brute, "_TILE_POINTS", tile)
                index = BruteIndex(X, n_jobs=n_jobs)
                parts = [index.search(queries[block], depth) for block in blocks(50, size)]
            assert_same((np.vstack([p[0] for p in parts]), np.vstack([p[1] for p in parts])), expected)


def test_many_features():
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((2000, 1500)), rng.standard_normal((5, 1500))
    assert_same(BruteIndex(X).search(queries, 30), nearest(all_distances(X, queries), 30))


def test_queries_far_beyond_the_points():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    queries = np.array([[1e15, 0, 0], [1e130, 1e130, 0], [1e9, 0, 0], [0, 0, 0]])
    assert_same(BruteIndex(X).search(queries, 10), nearest(all_distances(X, queries), 10))


def test_many_equal_points_keep_the_lowest_indices():
    X = np.ones((50_000, 2))
    indices, distances = BruteIndex(X).search([[1.0, 1.0], [4.0, 5.0]], 100)
    assert_array_equal(indices, np.tile(np.arange(100), (2, 1)))
    assert_array_equal(distances, np.repeat([[0.0], [5.0]], 100, axis=1))


def test_squared_distances():
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((900, 5)), rng.standard_normal((8, 5))
    for depth in (10, 900):
        answer = BruteIndex(X, "sqeuclidean").search(queries, depth)
        assert_same(answer, nearest(all_distances(X, queries, squared=True), depth))


def test_one_point_one_feature_one_query():
    assert_same(BruteIndex([[3]]).search([[5]], 1), (np.array([[0]]), np.array([[2.0]])))


def test_points_in_any_layout_and_type():
    rng = np.random.default_rng(0)
    X, queries = rng.integers(0, 9, (400, 3)), rng.integers(0, 9, (5, 3))
    expected = nearest(all_distances(X, queries), 6)
    for points in (X, X.tolist(), np.asfortranarray(X, dtype=float), X.astype(np.float32), X.astype(np.int8)):
        assert_same(BruteIndex(points).search(queries, 6), expected)
    assert_same(BruteIndex(X).search(sparse.csr_array(queries), 6), expected)


def test_points_are_left_alone():
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((500, 3)), rng.standard_normal((5, 3))
    matrix = all_distances(X, queries)
    before = X.copy(), queries.copy(), matrix.copy()
    for depth in (5, 500):
        for metric in ("euclidean", "cosine", "manhattan"):
            BruteIndex(X, metric).search(queries, depth)
        BruteIndex(X, "precomputed").search(matrix, depth)
    for now, then in zip((X, queries, matrix), before, strict=True):
        assert_array_equal(now, then)


# Sparse points


@pytest.mark.kernels
@pytest.mark.parametrize("metric", ["euclidean", "l2", "sqeuclidean", "minkowski", "cosine"])
@pytest.mark.parametrize("depth", [1, 9, 400])
def test_sparse_equals_dense_to_the_last_bit(metric, depth):
    rng = np.random.default_rng(2)
    X, queries = scattered(rng, (400, 20)), scattered(rng, (7, 20))
    expected = BruteIndex(X, metric).search(queries, depth)
    for kind in (sparse.csr_array, sparse.csr_matrix, sparse.coo_array):
        index = BruteIndex(kind(X), metric, n_jobs=2)
        assert_same(index.search(kind(queries), depth), expected)
        assert_same(index.search(queries, depth), expected)
    if metric != "cosine":
        distances = all_distances(X, queries, squared=metric == "sqeuclidean")
        assert_same(expected, nearest(distances, depth))


@pytest.mark.parametrize("metric", ["manhattan", "l1", "cityblock"])
def test_sparse_manhattan(metric):
    rng = np.random.default_rng(3)
    X, queries = scattered(rng, (300, 10)), scattered(rng, (5, 10))
    answer = BruteIndex(sparse.csr_array(X), metric).search(queries, 12)
    assert_allclose(answer[1], nearest(pairwise_distances(queries, X, "manhattan"), 12)[1], rtol=1e-14)


def test_unordered_columns_of_a_sparse_matrix():
    X = sparse.csr_array((np.array([2.0, 1.0, 1.0, 5.0]), np.array([2, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 3))
    indices, distances = BruteIndex(X).search([[2.0, 0.0, 2.0]], 2)
    assert_array_equal(indices, [[0, 1]])
    assert_allclose(distances, [[0.0, np.sqrt(33)]])
    assert_array_equal(X.indices, [2, 0, 0, 1])


def test_sparse_points_are_never_made_dense():
    rng = np.random.default_rng(0)
    places = rng.integers(0, 50_000, 9_000, np.int32), rng.integers(0, 200_000, 9_000, np.int32)
    X = sparse.coo_array((rng.random(9_000), places), shape=(50_000, 200_000))
    indices, _ = BruteIndex(X).search(X.tocsr()[places[0][:2]], 3)
    assert_array_equal(indices[:, 0], places[0][:2])


# Metrics

PARAMETERS = {"minkowski": {"p": 3}}


@pytest.mark.parametrize("metric", sorted(set(VALID_METRICS["brute"]) - {"precomputed"}))
@pytest.mark.parametrize("depth", [5, 120])
def test_every_metric_of_scikit_learn(metric, depth):
    rng = np.random.default_rng(4)
    n_features = 2 if metric == "haversine" else 5
    X, queries = rng.random((120, n_features)), rng.random((6, n_features))
    parameters = dict(PARAMETERS.get(metric, {}))
    index = BruteIndex(X, metric, metric_params=parameters)
    if metric in ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"):
        X, queries = X > 0.5, queries > 0.5
        index = BruteIndex(X, metric)
    if metric == "seuclidean":
        parameters["V"] = X.var(axis=0, ddof=1)
    if metric == "mahalanobis":
        parameters["VI"] = np.linalg.inv(np.cov(X.T))
    expected = nearest(pairwise_distances(queries, X, metric=metric, **parameters), depth)
    indices, distances = index.search(queries, depth)
    assert_allclose(distances, expected[1], rtol=1e-9, atol=1e-12)
    if len(np.unique(expected[1])) == expected[1].size:
        assert_array_equal(indices, expected[0])


def test_metric_of_your_own_with_parameters():
    rng = np.random.default_rng(5)
    X, queries = rng.integers(0, 3, (90, 3)).astype(float), rng.integers(0, 3, (4, 3)).astype(float)

    def weighted(a, b, first):
        return first * abs(a[0] - b[0]) + abs(a[1:] - b[1:]).sum()

    expected = 2.0 * abs(X[:, 0] - queries[:, :1])
    expected += abs(X[:, 1] - queries[:, 1:2]) + abs(X[:, 2] - queries[:, 2:])
    answer = BruteIndex(X, weighted, metric_params={"first": 2.0}).search(queries, 11)
    assert_same(answer, nearest(expected, 11))


def test_cosine_of_points_without_direction():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [-2.0, 0.0], [0.0, 0.0], [3.0, 3.0]])
    queries = np.array([[0.0, 0.0], [5.0, 0.0]])
    for kind in (np.asarray, sparse.csr_array):
        indices, distances = BruteIndex(kind(X), "cosine").search(queries, 5)
        assert_array_equal(indices, [[0, 1, 2, 3, 4], [1, 4, 0, 3, 2]])
        assert_allclose(distances, [np.ones(5), [0, 1 - np.sqrt(0.5), 1, 1, 2]], atol=1e-15)


def test_cosine_tells_small_angles_apart():
    angles = np.linspace(0, 1e-9, 300)[::-1]
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    indices, distances = BruteIndex(X, "cosine").search([[7.0, 0.0]], 300)
    assert_array_equal(indices[0], np.arange(300)[::-1])
    assert_allclose(distances[0], angles[::-1] ** 2 / 2, rtol=1e-6, atol=1e-300)


def test_minkowski_is_euclidean_by_default():
    rng = np.random.default_rng(6)
    X, queries = rng.standard_normal((200, 3)), rng.standard_normal((4, 3))
    expected = BruteIndex(X).search(queries, 9)
    assert_same(BruteIndex(X, "minkowski").search(queries, 9), expected)
    assert_same(BruteIndex(X, "minkowski", metric_params={"p": 2}).search(queries, 9), expected)


@pytest.mark.kernels
@pytest.mark.parametrize("depth", [1, 4, 200])
def test_precomputed_distances(depth):
    rng = np.random.default_rng(7)
    matrix = rng.integers(0, 20, (200, 200)).astype(float)
    matrix[0, :] = -0.0
    index = as_index("auto", matrix, metric="precomputed")
    assert_same(index.search(matrix[:6], depth), nearest(matrix[:6], depth))
    assert_same(index.search(sparse.csr_array(matrix[:6]), depth), nearest(matrix[:6], depth))
    if depth < 200:
        others = nearest(np.where(np.eye(200, dtype=bool), np.inf, matrix), depth)
        assert_same(index.search_self(0, 6, depth), (others[0][:6], others[1][:6]))


# The training points as queries


@pytest.mark.parametrize("neighbors", ["brute", "kd_tree", "ball_tree"])
@pytest.mark.parametrize("make", [plain, grid, all_equal])
@pytest.mark.parametrize("depth", [1, 10, 99])
def test_points_query_each_other(neighbors, make, depth):
    X = make(np.random.default_rng(8), (100, 2))
    index = as_index(neighbors, X)
    distances = all_distances(X, X)
    distances[np.eye(100, dtype=bool)] = np.inf
    expected = nearest(distances, depth)
    for block in blocks(100, 33):
        indices, gaps = index.search_self(block.start, block.stop, depth)
        assert_array_equal(indices, expected[0][block])
        assert_allclose(gaps, expected[1][block], rtol=1e-14)


def test_duplicates_of_a_query_stay():
    indices, distances = BruteIndex([[1.0], [1.0], [1.0], [9.0]]).search_self(2, 3, 2)
    assert_array_equal(indices, [[0, 1]])
    assert_array_equal(distances, [[0.0, 0.0]])


def test_sparse_points_query_each_other():
    X = scattered(np.random.default_rng(9), (50, 8))
    assert_same(BruteIndex(sparse.csr_array(X)).search_self(10, 20, 5), BruteIndex(X).search_self(10, 20, 5))


# Kernels


@pytest.mark.kernels
@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_selection(size):
    rng = np.random.default_rng(size)
    for values in (rng.standard_normal(size), rng.integers(0, 3, size).astype(float), np.zeros(size), -np.arange(size)):
        for rank in range(size):
            assert order.nth_smallest(values.astype(float), size, rank) == np.sort(values)[rank]


@pytest.mark.kernels
def test_radix_sort_is_stable():
    rng = np.random.default_rng(0)
    distances = rng.choice([0.0, 5e-324, 1e-300, 0.1, 1.0, 1.0 + 2**-52, 7.5, 1e300], 300)
    indices = np.arange(300)
    expected = np.argsort(distances, kind="stable")
    answer = distances.copy()
    order.sort_nearest(answer, indices, 300, order.make_scratch(300))
    assert_array_equal(indices, expected)
    assert_array_equal(answer, distances[expected])


def test_threads_are_started_where_there_is_work_for_them():
    assert slices(10, 100, 2) == [slice(0, 5), slice(5, 10)]
    assert slices(10, 100, 2, cost=100) == [slice(0, 10)]
    assert slices(10, 100, 2, cost=10**9) == [slice(0, 5), slice(5, 10)]
    assert len(slices(10, 2, 2, cost=1)) == 6, "slices stay as small as they must be"


@pytest.mark.parametrize(
    ("call", "times"),
    [
        (lambda X, y: pivotal.value(X, y, X[:5], y[:5]), 2),
        (lambda X, y: pivotal.value(X, y, X[:5], y[:5], semivalue="shapley", tol=0), 2),
        (lambda X, y: pivotal.value(X, y, X[:5], y[:5], utility="threshold(1)"), 2),
        (lambda X, y: pivotal.value(X, y, X[:5], y[:5], neighbors="kd_tree"), 2),
        (lambda X, y: pivotal.value(X, y), 1),
        (lambda X, y: pivotal.value(X, y, utility="threshold(1)"), 1),
        (lambda X, y: pivotal.value(np.abs(X @ X.T), y, metric="precomputed"), 1),
        (lambda X, y: pivotal.find_label_errors(X, y, n_trees=0), 1),
        (lambda X, y: pivotal.select(X, y, 9, n_trees=0), 1),
        (lambda X, _: as_index("auto", X).search(X[:5], 3), 2),
    ],
)
def test_features_are_checked_once(call, times, monkeypatch):
    shapes, count = [], validation.count_not_finite
    monkeypatch.setattr(validation, "count_not_finite", lambda table: (shapes.append(table.shape), count(table))[1])
    call(np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2)
    assert len(shapes) == times


def test_what_was_not_checked_is_checked_by_the_index():
    X = np.zeros((3, 2))
    index = as_index("brute", X)
    with pytest.raises(ValueError, match="queries must be finite"):
        index.search([[np.nan, 0.0]], 1)
    with pytest.raises(ValueError, match="queries must have as many columns as the training points, 2; got 3"):
        index.search(validation.Checked(np.zeros((1, 3))), 1)
    with pytest.raises(ValueError, match="X must be finite"):
        as_index("brute", X + np.inf)
