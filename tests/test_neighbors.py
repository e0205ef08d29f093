from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import VALID_METRICS, KNeighborsClassifier, NearestNeighbors
from threadpoolctl import threadpool_info

from pivotal import _brute, _threads
from pivotal.kernels import order
from pivotal.neighbors import BruteIndex, NeighborIndex, TreeIndex, as_index, blocks


def all_distances(X, queries, *, squared=False):
    """Sums of squared differences in double precision, feature by feature."""
    X, queries = np.asarray(X, dtype=np.float64), np.asarray(queries, dtype=np.float64)
    totals = np.zeros((len(queries), len(X)))
    for j in range(X.shape[1]):
        gaps = X[:, j] - queries[:, j, np.newaxis]
        totals += gaps * gaps
    return totals if squared else np.sqrt(totals)


def nearest(distances, depth):
    """Sort everything by distance, then index."""
    everyone = np.broadcast_to(np.arange(distances.shape[1]), distances.shape)
    indices = np.lexsort((everyone, distances), axis=1)[:, :depth]
    return indices, np.take_along_axis(distances, indices, 1)


def assert_same(answer, expected):
    assert answer[0].dtype == np.int64
    assert answer[1].dtype == np.float64
    assert_array_equal(answer[0], expected[0])
    assert_array_equal(answer[1], expected[1])


def far_from_the_origin(rng, shape):
    return 1e6 + 1e-3 * rng.standard_normal(shape)


def grid(rng, shape):
    return rng.integers(-1, 2, shape).astype(float)


def near_duplicates(rng, shape):
    return rng.standard_normal((3, shape[1]))[rng.integers(0, 3, shape[0])] * (1 + 1e-15 * rng.integers(0, 3, shape))


def all_equal(rng, shape):
    return np.full(shape, rng.standard_normal())


def far_apart(rng, shape):
    return rng.standard_normal(shape) * 10.0 ** rng.integers(-12, 13, (shape[0], 1))


def far_features(rng, shape):
    return rng.standard_normal(shape) * 10.0 ** rng.integers(-8, 9, shape[1]) + 10.0 ** rng.integers(-8, 9, shape[1])


def vanishing(rng, shape):
    return rng.standard_normal(shape) * 1e-170


def huge(rng, shape):
    return rng.standard_normal(shape) * 1e138


def farthest_first(rng, shape):
    return -np.sort(-np.abs(rng.standard_normal((shape[0], 1))), axis=0) * np.ones(shape)


def plain(rng, shape):
    return rng.standard_normal(shape)


HARD_CASES = [
    plain, far_from_the_origin, grid, near_duplicates, all_equal, far_apart, far_features, vanishing, huge,
    farthest_first,
]  # fmt: skip


@pytest.fixture
def small_tiles(monkeypatch):
    """Several tiles, groups of features and slices of queries in small problems."""
    monkeypatch.setattr(_brute, "_TILE_POINTS", 2 * order.STRIDE)
    monkeypatch.setattr(_brute, "_TILE_FEATURES", 3)
    monkeypatch.setattr(_brute, "_TILE_QUERIES", 3)


@pytest.mark.parametrize("make", HARD_CASES)
@settings(max_examples=30, deadline=None)
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


@settings(max_examples=60, deadline=None)
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
                patch.setattr(_brute, "_TILE_POINTS", tile)
                index = BruteIndex(X, n_jobs=n_jobs)
                parts = [index.search(queries[block], depth) for block in blocks(50, depth, block_size=size)]
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


def scattered(rng, shape):
    """Mostly zeros, some rows with nothing else, many ties."""
    return np.where(rng.random(shape) < 0.1, rng.integers(-2, 3, shape) + 0.1, 0.0)


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
    X = sparse.random_array((50_000, 100_000), density=1e-6, random_state=0, format="csr")
    indices, _ = BruteIndex(X).search(X[[17, 123]], 3)
    assert indices.shape == (2, 3)


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
    for block in blocks(100, depth, block_size=33):
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


# Indexes that are built elsewhere


@pytest.mark.parametrize("kind", ["kd_tree", "ball_tree"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_trees_break_ties_by_index_even_at_the_end_of_the_list(kind, metric):
    rng = np.random.default_rng(10)
    X, queries = rng.integers(0, 4, (300, 2)).astype(float), rng.integers(0, 4, (20, 2)).astype(float)
    for depth in (1, 5, 17, 300):
        answer = as_index(kind, X, metric=metric, n_jobs=2).search(queries, depth)
        assert_same(answer, BruteIndex(X, metric).search(queries, depth))


def test_trees_take_parameters_of_the_metric():
    rng = np.random.default_rng(11)
    X, queries = rng.random((80, 3)), rng.random((5, 3))
    answer = TreeIndex(X, "ball_tree", "minkowski", metric_params={"p": 3}).search(queries, 6)
    expected = BruteIndex(X, "minkowski", metric_params={"p": 3}).search(queries, 6)
    assert_array_equal(answer[0], expected[0])
    assert_allclose(answer[1], expected[1], rtol=1e-13)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_fitted_estimators(algorithm):
    rng = np.random.default_rng(12)
    X, queries = rng.random((90, 3)), rng.random((7, 3))
    y = rng.integers(0, 2, 90)
    expected = BruteIndex(X).search(queries, 8)
    for model in (NearestNeighbors(algorithm=algorithm).fit(X), KNeighborsClassifier(algorithm=algorithm).fit(X, y)):
        indices, distances = as_index(model, X).search(queries, 8)
        assert_array_equal(indices, expected[0])
        assert_allclose(distances, expected[1], rtol=1e-12)


class Answer:
    """An index that says what it is told to say."""

    def __init__(self, *answer):
        self.answer = answer if len(answer) != 1 else answer[0]

    def search(self, queries, depth):  # noqa: ARG002
        return self.answer


def test_index_of_your_own_is_asked_and_ties_are_put_in_order():
    class Mine:
        def search(self, queries, depth):
            asked.append((queries, depth))
            return [[4, 2, 0], [1, 0, 2]], np.array([[1, 1, 2], [0, 3, 3]], dtype=np.float32)

    asked = []
    mine: NeighborIndex = Mine()
    index = as_index(mine, ["a", "b", "c", "d", "e"])
    indices, distances = index.search(["x", "y"], 3)
    assert asked[0][1] == 3
    assert list(asked[0][0]) == ["x", "y"]
    assert_same((indices, distances), (np.array([[2, 4, 0], [1, 0, 2]]), np.array([[1.0, 1, 2], [0, 3, 3]])))
    assert index.n_train == 5


def test_index_of_your_own_for_the_points_themselves():
    X = grid(np.random.default_rng(13), (40, 2))
    assert_same(as_index(BruteIndex(X), X).search_self(5, 9, 6), BruteIndex(X).search_self(5, 9, 6))


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (Answer(np.zeros((1, 2))), TypeError, r"Answer.search must return \(indices, distances\); got ndarray"),
        (Answer([[0, 1]], [[0.0, 1.0, 2.0]]), ValueError, r"two arrays of shape \(1, 2\); got \(1, 2\) and \(1, 3\)"),
        (Answer([[0, 1, 2]], [[0.0, 1.0]]), ValueError, r"two arrays of shape \(1, 2\); got \(1, 3\) and \(1, 2\)"),
        (Answer([[0.0, 1.0]], [[0, 1]]), TypeError, r"whole numbers as indices; got dtype float64. Indices come first"),
        (Answer([[0, 1]], [["a", "b"]]), TypeError, r"must return numbers as distances; got dtype <U1"),
        (Answer([[0, -1]], [[0.0, 1.0]]), ValueError, r"indices from 0 to 3; got -1. Some indexes return -1"),
        (Answer([[0, 4]], [[0.0, 1.0]]), ValueError, r"indices from 0 to 3; got 4"),
        (Answer([[1, 1]], [[0.0, 1.0]]), ValueError, r"each training point at most once per query; it did not"),
        (Answer([[0, 1]], [[0.0, np.nan]]), ValueError, r"finite distances of at least 0; it did not"),
        (Answer([[0, 1]], [[0.0, np.inf]]), ValueError, r"finite distances of at least 0; it did not"),
        (Answer([[0, 1]], [[-1.0, 1.0]]), ValueError, r"finite distances of at least 0; it did not"),
        (Answer([[0, 1]], [[1.0, 0.5]]), ValueError, r"must return the nearest first; got distances that decrease"),
    ],
)
def test_wrong_answers_of_an_index_of_your_own(answer, error, message):
    with pytest.raises(error, match=message):
        as_index(answer, np.zeros((4, 1))).search(np.zeros((1, 1)), 2)


def test_estimators_that_do_not_fit():
    X = np.arange(8.0).reshape(-1, 1)
    with pytest.raises(ValueError, match=r"neighbors must be fitted; got an unfitted NearestNeighbors. Call its fit"):
        as_index(NearestNeighbors(), X)
    with pytest.raises(ValueError, match=r"fitted on the training points, 8 rows; got 5. Fit it with X"):
        as_index(NearestNeighbors().fit(X[:5]), X)


@pytest.mark.parametrize(
    ("source", "shown"), [(None, "NoneType"), (5, "int"), (NearestNeighbors, "NearestNeighbors, a class")]
)
def test_not_an_index_at_all(source, shown):
    with pytest.raises(TypeError, match=rf"auto, brute, kd_tree, ball_tree, or an object with .*; got {shown}"):
        as_index(source, np.zeros((3, 1)))


def test_unknown_name():
    with pytest.raises(ValueError, match=r"neighbors must be one of auto, brute, kd_tree, ball_tree, .*; got 'faiss'"):
        as_index("faiss", np.zeros((3, 1)))


# Errors


@pytest.mark.parametrize("depth", [0, -1, 5, 2.0, True, None])
def test_depth_out_of_range(depth):
    index = BruteIndex(np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"depth must be a whole number from 1 to 4, the points to choose from; got"):
        index.search(np.zeros((1, 2)), depth)


def test_depth_of_self_queries_is_one_less():
    with pytest.raises(ValueError, match=r"depth must be a whole number from 1 to 3, the points to choose from; got 4"):
        BruteIndex(np.zeros((4, 2))).search_self(0, 2, 4)


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 2), (0, 5)])
def test_self_queries_out_of_range(start, stop):
    with pytest.raises(ValueError, match=rf"0 <= start < stop <= 4; got {start} and {stop}"):
        BruteIndex(np.zeros((4, 2))).search_self(start, stop, 1)


def test_queries_that_cannot_be_compared():
    index = BruteIndex(np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"queries must have at least one row and one column; got shape \(0, 2\)"):
        index.search(np.zeros((0, 2)), 1)
    with pytest.raises(ValueError, match=r"queries must have as many columns as the training points, 2; got 3"):
        index.search(np.zeros((1, 3)), 1)
    with pytest.raises(ValueError, match=r"queries must be finite"):
        index.search([[np.nan, 0.0]], 1)
    with pytest.raises(ValueError, match=r"queries must stay within ±1e\+140, or squared .*; got 1e\+200. Rescale"):
        index.search([[1e200, 0.0]], 1)
    with pytest.raises(ValueError, match=r"queries must have at least one row; got none"):
        as_index(Answer(), np.zeros((4, 1))).search(np.zeros((0, 1)), 1)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_points_that_cannot_be_compared(kind):
    with pytest.raises(ValueError, match=r"X must stay within ±1e\+140, or squared .*; got 1e\+200. Rescale"):
        BruteIndex(kind(np.array([[1e200, 0.0], [0.0, -1e100]])))
    with pytest.raises(ValueError, match=r"X must be finite"):
        BruteIndex(kind(np.array([[np.inf, 0.0]])))


def test_unknown_metrics():
    with pytest.raises(ValueError, match=r"metric must be a callable or one of braycurtis, .*, yule; got 'euclid'"):
        BruteIndex(np.zeros((3, 2)), "euclid")
    with pytest.raises(
        ValueError, match=r'neighbors="kd_tree" knows the metrics .*; got \'cosine\'. Use neighbors="brute"'
    ):
        as_index("kd_tree", np.zeros((3, 2)), metric="cosine")


def test_sparse_points_with_metrics_that_need_dense_ones():
    X = sparse.csr_array(np.eye(3))
    with pytest.raises(ValueError, match=r"sparse points can be compared by euclidean, .*; got metric='canberra'"):
        BruteIndex(X, "canberra")
    with pytest.raises(ValueError, match=r"a metric of your own needs dense points; got a sparse matrix"):
        BruteIndex(X, lambda a, b: 0.0)
    with pytest.raises(ValueError, match=r'neighbors="ball_tree" needs dense points; got a sparse matrix'):
        as_index("ball_tree", X)


def test_metrics_that_do_not_take_their_parameters():
    with pytest.raises(ValueError, match=r"metric chebyshev must be able to compare two rows .* it says: .*wide"):
        BruteIndex(np.zeros((3, 2)), "chebyshev", metric_params={"wide": 3})
    with pytest.raises(ValueError, match=r"metric haversine must be able to compare two rows"):
        BruteIndex(np.zeros((3, 5)), "haversine")


@pytest.mark.parametrize("odd", [-1.0, np.nan, np.inf])
def test_distances_that_are_none(odd):
    X = np.arange(4.0).reshape(-1, 1)

    def strange(a, b):
        return odd if a[0] != b[0] else 0.0

    with pytest.raises(ValueError, match=rf"metric strange must give finite distances of at least 0; got {odd}"):
        BruteIndex(X, strange).search(X, 2)


def test_precomputed_distances_that_are_none():
    index = BruteIndex(np.zeros((3, 3)), "precomputed")
    with pytest.raises(ValueError, match=r"a distance to each of the 3 training points; got 2 columns"):
        index.search([[0.0, 1.0]], 1)
    with pytest.raises(ValueError, match=r"the precomputed matrix must give finite distances of at least 0; got -2"):
        index.search([[0.0, 1.0, -2.0]], 1)


# Blocks and threads


@given(n_queries=st.integers(0, 50), size=st.integers(1, 60))
def test_blocks_cover_the_queries_once(n_queries, size):
    seen = [i for block in blocks(n_queries, 10, block_size=size) for i in range(n_queries)[block]]
    assert seen == list(range(n_queries))


def test_blocks_keep_to_their_budget():
    sizes = [block.stop - block.start for block in blocks(100_000, 1000, budget=2**24)]
    assert max(sizes) * 1000 * 16 <= 2**24
    assert len(sizes) < 1000
    assert [b.stop - b.start for b in blocks(2, 10**12)] == [1, 1]


@pytest.mark.parametrize("size", [0, -3, 1.5, True, "many"])
def test_block_size_out_of_range(size):
    with pytest.raises(ValueError, match=r"block_size must be a whole number of at least 1, or None; got"):
        list(blocks(10, 5, block_size=size))


@given(n_items=st.integers(1, 200), most=st.integers(1, 100), n_threads=st.integers(1, 9))
def test_slices_are_even(n_items, most, n_threads):
    sizes = [len(range(n_items)[part]) for part in _threads.slices(n_items, most, n_threads)]
    assert sum(sizes) == n_items
    assert 1 <= min(sizes)
    assert max(sizes) <= min(most, min(sizes) + 1)
    assert len(sizes) % n_threads == 0 or len(sizes) == n_items


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_linear_algebra_gets_its_threads_back():
    before = blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def overlapping():
        with _threads.single_threaded_blas():
            entered.set()
            leave.wait(10)

    other = threading.Thread(target=overlapping)
    with _threads.single_threaded_blas():
        other.start()
        assert entered.wait(10)
    # The other search still runs.
    assert set(blas_threads()) == {1}
    leave.set()
    other.join()
    assert blas_threads() == before


def test_an_error_in_a_thread_is_raised():
    def fail(part):
        raise ValueError(f"part {part}")

    with pytest.raises(ValueError, match="part 0"):
        _threads.spread(fail, [0, 1, 2], 2)


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
