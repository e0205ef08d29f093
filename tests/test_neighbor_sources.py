from __future__ import annotations

import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from threadpoolctl import threadpool_info, threadpool_limits

from nearness import all_distances, assert_same, grid, nearest
from pivotal.core import threads as _threads
from pivotal.neighbors import BruteIndex, NeighborIndex, TreeIndex, as_index, blocks

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

    def search(self, queries, depth):
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
    class Mine:
        def search(self, queries, depth):
            return nearest(all_distances(X, queries), depth)

    X = grid(np.random.default_rng(13), (40, 2))
    assert_same(as_index(Mine(), X).search_self(5, 9, 6), BruteIndex(X).search_self(5, 9, 6))


def test_an_index_of_ours_is_taken_as_it_is():
    index = BruteIndex(np.zeros((5, 1)), "manhattan")
    assert as_index(index, np.zeros((5, 1))) is index
    with pytest.raises(ValueError, match=r"fitted on the training points, 4 rows; got 5. Fit it with X"):
        as_index(index, np.zeros((4, 1)))


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (Answer(np.zeros((1, 2))), TypeError, r"Answer.search must return \(indices, distances\); got ndarray"),
        (Answer([[0, 1]], [[0.0, 1.0, 2.0]]), ValueError, r"two arrays of shape \(1, 2\); got \(1, 2\) and \(1, 3\)"),
        (Answer([[0, 1, 2]], [[0.0, 1.0]]), ValueError, r"two arrays of shape \(1, 2\); got \(1, 3\) and \(1, 2\)"),
        (Answer([[0.0, 1.0]], [[0, 1]]), TypeError, r"integers as indices; got dtype float64. Indices come first"),
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
    with pytest.raises(TypeError, match=rf"auto, brute, kd_tree, ball_tree, .*or an object with .*; got {shown}"):
        as_index(source, np.zeros((3, 1)))


def test_unknown_name():
    with pytest.raises(ValueError, match=r"neighbors must be one of auto, brute, kd_tree, ball_tree, .*; got 'faiss'"):
        as_index("faiss", np.zeros((3, 1)))


# Errors


@pytest.mark.parametrize("depth", [0, -1, 5, 2.0, True, None])
def test_depth_out_of_range(depth):
    index = BruteIndex(np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"depth must be an integer from 1 to 4, the points to choose from; got"):
        index.search(np.zeros((1, 2)), depth)


def test_depth_of_self_queries_is_one_less():
    with pytest.raises(ValueError, match=r"depth must be an integer from 1 to 3, the points to choose from; got 4"):
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
    # Only squares are limited.
    assert BruteIndex(kind(np.array([[1e200, 0.0], [0.0, 1e308]])), "cosine").search([[0.0, 1e300]], 1)[0][0, 0] == 1


@pytest.mark.parametrize("kind", ["kd_tree", "ball_tree"])
def test_trees_refuse_what_they_cannot_square(kind):
    with pytest.raises(ValueError, match=r"X must stay within ±1e\+140, or squared .*; got 1e\+200. Rescale"):
        as_index(kind, np.array([[1e200, 0.0], [0.0, -1e100]]))
    with pytest.raises(ValueError, match=r"queries must stay within ±1e\+140, or squared .*; got 1e\+200. Rescale"):
        as_index(kind, np.array([[1.0, 0.0], [0.0, 1.0]])).search([[1e200, 0.0]], 1)


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
    with pytest.raises(ValueError, match=r"a custom metric needs dense points; got a sparse matrix"):
        BruteIndex(X, np.dot)
    with pytest.raises(ValueError, match=r'neighbors="ball_tree" needs dense points; got a sparse matrix'):
        as_index("ball_tree", X)


def test_metrics_that_do_not_take_their_parameters():
    with pytest.raises(
        ValueError, match=r"metric chebyshev must be able to compare two rows .* it says: .*incompatible"
    ):
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


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "all"])
def test_n_jobs_out_of_range(n_jobs):
    with pytest.raises(ValueError, match=r"n_jobs must be an integer other than 0, or None; got .*. Use -1"):
        BruteIndex(np.zeros((2, 1)), n_jobs=n_jobs)


def test_n_jobs_as_scikit_learn_counts():
    assert _threads.count_threads(None) == 1
    assert _threads.count_threads(3) == 3
    assert _threads.count_threads(-1) >= 1


@given(n_queries=st.integers(0, 50), size=st.integers(1, 60))
def test_blocks_cover_the_queries_once(n_queries, size):
    seen = [i for block in blocks(n_queries, size) for i in range(n_queries)[block]]
    assert seen == list(range(n_queries))


def test_lists_of_a_block_fit_into_memory():
    index = BruteIndex(np.zeros((4, 1)))
    assert index.block_size(1000, 2**24) * 1000 * 16 <= 2**24 // 2
    assert index.block_size(75) == 4096  # a few seconds' work at most
    assert index.block_size(10**12) == 1


@pytest.mark.parametrize("size", [0, -3, 1.5, True, "many"])
def test_block_size_out_of_range(size):
    with pytest.raises(ValueError, match=r"block_size must be an integer of at least 1, or None; got"):
        list(blocks(10, size))


@given(n_items=st.integers(1, 200), most=st.integers(1, 100), n_threads=st.integers(1, 9))
def test_slices_are_even(n_items, most, n_threads):
    sizes = [len(range(n_items)[part]) for part in _threads.slices(n_items, most, n_threads)]
    assert sum(sizes) == n_items
    assert min(sizes) >= 1
    assert max(sizes) <= min(most, min(sizes) + 1)
    assert len(sizes) % n_threads == 0 or len(sizes) == n_items


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.fixture
def two_threads_of_blas():
    with threadpool_limits(2, "blas"):
        yield


@pytest.mark.usefixtures("two_threads_of_blas")
@pytest.mark.parametrize("first_out", ["first in", "second in"])
def test_linear_algebra_gets_its_threads_back(first_out):
    before = blas_threads()
    assert 2 in before
    entered, leave = threading.Event(), threading.Event()

    def overlapping():
        with _threads.single_threaded_blas():
            entered.set()
            leave.wait(10)

    other = threading.Thread(target=overlapping)
    with _threads.single_threaded_blas():
        assert set(blas_threads()) == {1}
        other.start()
        assert entered.wait(10)
        if first_out == "second in":
            leave.set()
            other.join()
            assert set(blas_threads()) == {1}
    leave.set()
    other.join()
    assert blas_threads() == before
    BruteIndex(np.zeros((9, 1)), n_jobs=2).search([[0.0], [1.0]], 1)
    assert blas_threads() == before


def test_libraries_of_packages_that_are_imported_later_are_limited_too():
    script = """
        from pivotal.core.threads import single_threaded_blas
        with single_threaded_blas():
            pass
        import scipy.linalg
        from threadpoolctl import threadpool_info, threadpool_limits
        threads = lambda: {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}
        with threadpool_limits(2, "blas"):
            assert threads() == {2}
            with single_threaded_blas():
                assert threads() == {1}
            assert threads() == {2}
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


def test_an_error_in_a_thread_is_raised():
    def fail(part):
        raise ValueError(f"part {part}")

    with pytest.raises(ValueError, match="part 0"):
        _threads.run_all(fail, [0, 1, 2], 2)
