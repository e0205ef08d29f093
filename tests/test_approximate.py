"""Indexes of other packages propose, exact distances decide; and what is lost is measured."""

from __future__ import annotations

import dataclasses
import importlib.util
import pickle
import sys
import threading

import cloudpickle
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import pivotal
from nearness import HARD_CASES, all_distances, assert_same, grid, nearest
from pivotal.neighbors import (
    ApproximateIndex,
    BruteIndex,
    FaissFlat,
    FaissHNSW,
    FaissIVF,
    HNSWLib,
    PyNNDescent,
    as_index,
    measure_recall,
)

PACKAGES = {
    "faiss-flat": "faiss",
    "faiss-ivf": "faiss",
    "faiss-hnsw": "faiss",
    "hnswlib": "hnswlib",
    "pynndescent": "pynndescent",
}


def needs(package):
    """Skip without the package; looking for it does not load it."""
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"{package} is not installed")


def installed(*names):
    return [pytest.param(name, marks=needs(PACKAGES[name])) for name in names]


QUICK = installed("faiss-flat", "faiss-ivf", "faiss-hnsw", "hnswlib")
EACH = installed(*PACKAGES)


def clusters(rng, n=1200, n_clusters=6, n_features=5):
    """Well-separated clusters of distinct points."""
    centres = 100 * rng.standard_normal((n_clusters, n_features))
    return centres[rng.integers(0, n_clusters, n)] + rng.standard_normal((n, n_features))


# Against brute force


@pytest.mark.parametrize("name", EACH)
def test_everything_is_found_among_well_separated_clusters(name):
    rng = np.random.default_rng(0)
    X = clusters(rng)
    queries = X[rng.integers(0, len(X), 60)] + 0.1
    index, brute = as_index(name, X, n_jobs=2), BruteIndex(X)
    assert isinstance(index, ApproximateIndex)
    assert measure_recall(index, brute, queries, 20) == 1.0
    assert_same(index.search(queries, 20), brute.search(queries, 20))
    assert_same(index.search_self(10, 50, 7), brute.search_self(10, 50, 7))


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "minkowski", "l2"])
def test_metrics_that_are_euclidean_at_heart(name, metric):
    rng = np.random.default_rng(1)
    X = clusters(rng)
    X[[3, 700]] = 0.0
    queries = X[::40] * 1.01
    queries[1] = 0.0
    assert_same(as_index(name, X, metric=metric).search(queries, 9), BruteIndex(X, metric).search(queries, 9))


@pytest.mark.parametrize("name", QUICK)
def test_an_offset_costs_no_digits(name):
    # In single precision without centring, all these points would be one.
    rng = np.random.default_rng(2)
    X = 1e9 + clusters(rng)
    queries = X[::30] + 0.01
    assert_same(as_index(name, X).search(queries, 12), BruteIndex(X).search(queries, 12))


@needs("faiss")
@pytest.mark.parametrize("case", HARD_CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_faiss_flat_is_exact(case, dtype):
    rng = np.random.default_rng(3)
    X, queries = case(rng, (500, 4)), case(rng, (40, 4))
    if dtype == np.float32:
        X, queries = np.clip(X, -1e30, 1e30).astype(dtype), np.clip(queries, -1e30, 1e30).astype(dtype)
    index = as_index("faiss-flat", X)
    assert index.exact
    for depth in (1, 30, 62, 400):
        assert_same(index.search(queries, depth), nearest(all_distances(X, queries), depth))
    # Few queries take another way through the package.
    assert_same(index.search(queries[:3], 30), nearest(all_distances(X, queries[:3]), 30))


@needs("faiss")
def test_faiss_flat_answers_plain_queries_by_itself(monkeypatch):
    rng = np.random.default_rng(4)
    X, queries = rng.standard_normal((3000, 8)).astype(np.float32), rng.standard_normal((50, 8)).astype(np.float32)
    index = as_index("faiss-flat", X)
    expected = BruteIndex(X).search(queries, 20)

    def give_up(*_):
        raise AssertionError("brute force was asked")

    monkeypatch.setattr(type(index._exhaustive), "search", give_up)
    assert_same(index.search(queries, 20), expected)


@needs("faiss")
def test_faiss_flat_puts_ties_beyond_its_list_in_order():
    X = grid(np.random.default_rng(5), (600, 2)).astype(np.float32)
    answer = as_index("faiss-flat", X).search(X[:30], 10)
    assert_same(answer, BruteIndex(X).search(X[:30], 10))


@pytest.mark.parametrize("name", QUICK)
def test_the_same_every_time_and_for_any_threads(name):
    rng = np.random.default_rng(6)
    X, queries = rng.standard_normal((1500, 12)), rng.standard_normal((40, 12))
    first = as_index(name, X, n_jobs=1).search(queries, 10)
    assert_same(as_index(name, X, n_jobs=2).search(queries, 10), first)
    halves = [as_index(name, X, n_jobs=2).search(half, 10) for half in (queries[:17], queries[17:])]
    assert_array_equal(np.concatenate([half[0] for half in halves]), first[0])


@needs("pynndescent")
def test_pynndescent_repeats_itself_and_takes_other_metrics():
    rng = np.random.default_rng(7)
    X = clusters(rng)
    queries = X[::50] + 0.1
    index = as_index("pynndescent", X, metric="manhattan", n_jobs=2)
    assert_array_equal(
        as_index("pynndescent", X, metric="manhattan", n_jobs=2).search(queries, 9)[0], index.search(queries, 9)[0]
    )
    expected = BruteIndex(X, "manhattan").search(queries, 9)
    assert_array_equal(index.search(queries, 9)[0], expected[0])
    assert_allclose(index.search(queries, 9)[1], expected[1], rtol=1e-13)


@pytest.mark.parametrize("name", QUICK)
def test_queries_so_far_out_that_single_precision_fails(name):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((400, 3))
    queries = np.array([[1e100, 0.0, 0.0], [1e12, -1e12, 3.0], [0.1, 0.2, 0.3]])
    answer, expected = as_index(name, X).search(queries, 5), BruteIndex(X).search(queries, 5)
    assert_array_equal(answer[0][:2], expected[0][:2])
    assert_array_equal(answer[1][:2], expected[1][:2])


@pytest.mark.parametrize("name", EACH)
def test_few_points_and_long_lists_are_searched_exhaustively(name):
    rng = np.random.default_rng(9)
    few = rng.standard_normal((5, 2))
    assert_same(as_index(name, few).search(few, 5), BruteIndex(few).search(few, 5))
    assert_same(as_index(name, few[:1]).search(few, 1), BruteIndex(few[:1]).search(few, 1))


@pytest.mark.parametrize("name", QUICK)
def test_as_deep_as_there_are_points(name):
    X = np.random.default_rng(10).standard_normal((300, 2))
    assert_same(as_index(name, X).search(X[:4], 300), BruteIndex(X).search(X[:4], 300))
    assert_same(as_index(name, X).search_self(0, 4, 299), BruteIndex(X).search_self(0, 4, 299))


# Lists that are too short


@needs("faiss")
def test_short_lists_are_asked_for_again_and_then_filled(monkeypatch):
    rng = np.random.default_rng(11)
    X = clusters(rng, n=1000, n_clusters=20)
    index = as_index(FaissIVF(n_lists=20, n_probes=1), X)
    # A list holds about 50 points: one probe cannot find 100.
    efforts = []
    propose = type(index)._propose

    def watched(self, queries, asked, effort):
        found = propose(self, queries, asked, effort)
        efforts.append((effort, len(queries), bool((found[0] < 0).any())))
        return found

    monkeypatch.setattr(type(index), "_propose", watched)
    indices, distances = index.search(X[:30], 100)
    assert [effort for effort, _, _ in efforts] == [1, 2, 4]
    assert efforts[0][1:] == (30, True)
    assert efforts[2][1] < 30 or efforts[1][1] == 30
    assert indices.min() >= 0
    assert all(len(set(row)) == 100 for row in indices.tolist())
    assert (np.diff(distances, axis=1) >= 0).all()
    assert_array_equal(distances, np.take_along_axis(all_distances(X, X[:30]), indices, 1))


class Stingy(ApproximateIndex):
    """Finds a few points for the first query it sees, one of them twice, and all for the others."""

    def _build(self, points):
        self.efforts = []

    def _propose(self, queries, asked, effort):
        self.efforts.append((effort, len(queries)))
        found = np.tile(np.arange(asked), (len(queries), 1))
        found[0] = -1
        found[0, :4] = [5, 9, 5, 2]
        return found, np.zeros(found.shape, np.float32)


@dataclasses.dataclass(frozen=True)
class StingySettings(FaissFlat):
    name = "stingy"
    package = "math"


def test_a_query_that_is_never_satisfied_is_answered_exhaustively():
    X = np.random.default_rng(12).standard_normal((400, 3))
    index = Stingy(X, StingySettings())
    indices, distances = index.search(X[20:23], 6)
    assert index.efforts == [(1, 3), (2, 1), (4, 1)]
    expected = BruteIndex(X).search(X[20:21], 6)
    assert_same((indices[:1], distances[:1]), expected)
    among_first = nearest(all_distances(X[: 6 + index._spare(6)], X[21:23]), 6)
    assert_same((indices[1:], distances[1:]), among_first)
    # Three different candidates are enough for three neighbours, but not for four.
    index.efforts.clear()
    indices, _ = index.search(X[20:21], 3)
    assert index.efforts == [(1, 1)]
    assert set(indices[0]) == {2, 5, 9}
    index.search(X[20:21], 4)
    assert index.efforts[1:] == [(1, 1), (2, 1), (4, 1)]


@needs("hnswlib")
def test_hnswlib_refusing_one_query_does_not_spoil_the_others():
    rng = np.random.default_rng(13)
    X = clusters(rng)
    index = as_index("hnswlib", X, n_jobs=1)
    real, bad = index._index, index._space.place(X[7:8])[1][0]

    class Refusing:
        ef = real.ef

        def set_ef(self, ef):
            real.set_ef(ef)

        def knn_query(self, queries, k, num_threads):
            if (queries == bad).all(axis=1).any():
                raise RuntimeError("Cannot return the results in a contiguous 2D array. Probably ef or M is too small")
            return real.knn_query(queries, k=k, num_threads=num_threads)

    index._index = Refusing()
    found, _ = index._propose(index._space.place(X[:20])[1], 12, 1)
    assert_array_equal(np.flatnonzero((found < 0).any(axis=1)), [7])
    assert_same(index.search(X[:20], 8), BruteIndex(X).search(X[:20], 8))


# Missing packages, wrong arguments


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("faiss-flat", "faiss", "faiss"),
        ("faiss-ivf", "faiss", "faiss"),
        ("faiss-hnsw", "faiss", "faiss"),
        ("pynndescent", "pynndescent", "ann"),
        ("hnswlib", "hnswlib", "hnswlib"),
    ],
)
def test_missing_packages(monkeypatch, name, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    message = rf"^neighbors=\"{name}\" needs {package}; install it with: pip install 'pivotal\[{extra}\]'$"
    with pytest.raises(ImportError, match=message):
        as_index(name, np.zeros((4, 2)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FaissIVF(n_lists=0), r'n_lists must be an integer of at least 1, or "auto"; got 0'),
        (lambda: FaissIVF(n_probes="all"), r'n_probes must be an integer of at least 1, or "auto"; got \'all\''),
        (lambda: FaissIVF(seed=-1), r"seed must be an integer of at least 0; got -1"),
        (lambda: FaissHNSW(n_links=1), r"n_links must be an integer of at least 2; got 1"),
        (lambda: FaissHNSW(build_effort=2.5), r"build_effort must be an integer of at least 1; got 2.5"),
        (lambda: FaissHNSW(search_effort=0), r'search_effort must be .* at least 1, or "auto"; got 0'),
        (lambda: FaissHNSW(build_threads=True), r"build_threads must be an integer of at least 1; got True"),
        (lambda: HNSWLib(n_links="auto"), r"n_links must be an integer of at least 2; got 'auto'"),
        (lambda: HNSWLib(seed=None), r"seed must be an integer of at least 0; got None"),
        (lambda: PyNNDescent(n_neighbors=1), r"n_neighbors must be an integer of at least 2; got 1"),
        (lambda: PyNNDescent(epsilon=-0.1), r"epsilon must be a finite number of at least 0; got -0.1"),
        (lambda: PyNNDescent(epsilon=np.inf), r"epsilon must be a finite number of at least 0; got inf"),
        (lambda: PyNNDescent(epsilon="wide"), r"epsilon must be a finite number of at least 0; got 'wide'"),
    ],
)
def test_parameters_out_of_range(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_settings_are_values():
    assert FaissIVF(n_lists=7) == FaissIVF(n_lists=7) != FaissIVF()
    assert len({HNSWLib(), HNSWLib(), HNSWLib(seed=1)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        FaissIVF().n_lists = 5


@pytest.mark.parametrize("name", PACKAGES)
def test_metrics_they_do_not_know(name):
    X = np.zeros((4, 2))
    with pytest.raises(
        ValueError,
        match=rf'neighbors="{name}" knows the metrics .*; got \'jaccard\'. Use neighbors="brute" or "ball_tree"\.',
    ):
        as_index(name, X, metric="jaccard")
    with pytest.raises(ValueError, match=r'; got np_dot. Use neighbors="brute"\.'):
        as_index(name, X, metric=np_dot)
    with pytest.raises(ValueError, match=r'got \'minkowski\' with metric_params=.*3.*neighbors="brute" or "kd_tree"'):
        as_index(name, X, metric="minkowski", metric_params={"p": 3})
    with pytest.raises(ValueError, match=r"without parameters; got 'euclid'\.$"):
        as_index(name, X, metric="euclid")
    with pytest.raises(ValueError, match=rf'neighbors="{name}" needs dense points; got a sparse matrix. Use neigh'):
        as_index(name, sparse.csr_array(X))


def np_dot(a, b):
    return float(np.dot(a, b))


@pytest.mark.parametrize("name", ["faiss-flat", "hnswlib"])
def test_who_else_knows_the_metric(name):
    with pytest.raises(ValueError, match=r'Use neighbors="brute" or "kd_tree" or "ball_tree" or "pynndescent"\.'):
        as_index(name, np.zeros((4, 2)), metric="manhattan")


@pytest.mark.parametrize("name", QUICK)
def test_points_and_queries_that_are_too_large(name):
    with pytest.raises(ValueError, match=r"X must stay within ±1e\+140, or squared .*; got 1e\+200. Rescale"):
        as_index(name, [[1e200, 0.0]])
    with pytest.raises(ValueError, match=r"queries must stay within ±1e\+140, or squared .*; got 1e\+200. Rescale"):
        as_index(name, [[1.0, 0.0]]).search([[1e200, 0.0]], 1)


# Recall


class Shifted:
    """Finds all but the nearest `missed` neighbours, and farther ones in their place."""

    def __init__(self, X, missed):
        self.exact, self.missed = BruteIndex(X), missed

    def search(self, queries, depth):
        indices, distances = self.exact.search(queries, depth + self.missed)
        return indices[:, self.missed :], distances[:, self.missed :]


@pytest.mark.parametrize("missed", [0, 1, 5, 10])
def test_recall_of_a_bad_index(missed):
    rng = np.random.default_rng(14)
    X, queries = rng.standard_normal((300, 3)), rng.standard_normal((50, 3))
    index, exact = as_index(Shifted(X, missed), X), BruteIndex(X)
    assert measure_recall(index, exact, queries, 10) == pytest.approx(1 - missed / 10)


class HalfBlind:
    """Right about the first half of the training points' own queries, wrong about the others."""

    def __init__(self, X):
        self.X, self.exact, self.seen = X, BruteIndex(X), 0

    def search(self, queries, depth):
        self.seen += len(queries)
        indices, distances = self.exact.search(queries, depth)
        blind = queries[:, 0] >= 0
        indices[blind] = np.argsort(-all_distances(self.X, queries[blind]), axis=1)[:, :depth]
        distances[blind] = 1.0
        return indices, distances


def test_recall_is_measured_on_a_sample():
    rng = np.random.default_rng(15)
    X, queries = rng.standard_normal((400, 3)), rng.standard_normal((1000, 3))
    source = HalfBlind(X)
    index, exact = as_index(source, X), BruteIndex(X)
    full_recall = measure_recall(index, exact, queries, 5, sample=1000)
    assert full_recall == pytest.approx((queries[:, 0] < 0).mean())
    source.seen = 0
    share = measure_recall(index, exact, queries, 5)
    assert source.seen == 200
    # Four standard deviations of a share of about one half, among 200.
    assert 0 < abs(share - full_recall) < 4 * np.sqrt(0.25 / 200)
    assert share == measure_recall(index, exact, queries, 5)
    assert share != measure_recall(index, exact, queries, 5, seed=1)


def test_recall_among_the_training_points_themselves():
    X = np.random.default_rng(16).standard_normal((60, 2))
    exact = BruteIndex(X)
    assert measure_recall(exact, exact, None, 59) == 1.0
    # Without the nearest two, each point misses itself and one neighbour; the last one on the list is dropped.
    assert measure_recall(as_index(Shifted(X, 2), X), exact, None, 4) == pytest.approx(3 / 4)


def test_recall_counts_ties_by_index():
    X = np.zeros((10, 1))

    class Last:
        def search(self, queries, depth):
            return np.tile(np.arange(10)[-depth:], (len(queries), 1)), np.zeros((len(queries), depth))

    assert measure_recall(as_index(Last(), X), BruteIndex(X), X[:1], 6) == pytest.approx(2 / 6)


def test_recall_of_sparse_queries():
    X = sparse.csr_array(np.eye(8))
    assert measure_recall(BruteIndex(X), BruteIndex(X), X, 3, sample=4) == 1.0


@pytest.mark.parametrize("sample", [0, -1, 2.5, True])
def test_recall_samples_out_of_range(sample):
    index = BruteIndex(np.zeros((3, 1)))
    with pytest.raises(ValueError, match=r"sample must be an integer of at least 1; got"):
        measure_recall(index, index, np.zeros((1, 1)), 1, sample=sample)


def test_recall_of_nothing():
    index = BruteIndex(np.zeros((3, 1)))
    with pytest.raises(ValueError, match=r"queries must have at least one row; got none"):
        measure_recall(index, index, np.zeros((0, 1)), 1)
    with pytest.raises(ValueError, match=r"both indexes must hold the same training points; got 3 and 4 of them"):
        measure_recall(index, BruteIndex(np.zeros((4, 1))), np.zeros((1, 1)), 1)


# Through the public face


@pytest.mark.parametrize("neighbors", [*QUICK, pytest.param(HNSWLib(n_links=8, seed=3), marks=needs("hnswlib"))])
def test_values(neighbors):
    rng = np.random.default_rng(17)
    X = clusters(rng, n=900)
    y = rng.integers(0, 2, 900)
    for test in ((X[::30] + 0.1, y[::30]), (None, None)):
        values = pivotal.value(X, y, *test, k=3, neighbors=neighbors).values
        assert_allclose(values, pivotal.value(X, y, *test, k=3, neighbors="brute").values, atol=1e-15)


def test_all_names_are_named():
    names = "auto, brute, kd_tree, ball_tree, faiss-flat, faiss-ivf, faiss-hnsw, pynndescent, hnswlib, or an object"
    with pytest.raises(ValueError, match=f"neighbors must be one of {names} .*; got 'faiss'"):
        as_index("faiss", np.zeros((3, 1)))
    with pytest.raises(TypeError, match=f"neighbors must be one of {names} .*; got FaissIVF, a class"):
        as_index(FaissIVF, np.zeros((3, 1)))


# ------------------------------------------------------------------------------------------- settings that others see


@needs("faiss")
@pytest.mark.parametrize("first_out", [0, 1])
def test_faiss_gets_its_threads_back_whoever_leaves_first(first_out):
    import faiss

    from pivotal.neighbors._faiss import _threads

    before = faiss.omp_get_max_threads()
    entered, leave, seen = [threading.Event() for _ in range(2)], [threading.Event() for _ in range(2)], {}

    def search(place):
        own = faiss.omp_get_max_threads()
        with _threads(faiss, 1):
            seen[place] = faiss.omp_get_max_threads()
            entered[place].set()
            assert leave[place].wait(10)
        seen[place + 2] = faiss.omp_get_max_threads() == own

    threads = [threading.Thread(target=search, args=(place,)) for place in range(2)]
    for thread, event in zip(threads, entered, strict=True):
        thread.start()
        assert event.wait(10)  # both are in at once, as they want the same number
    for place in (first_out, 1 - first_out):
        leave[place].set()
        threads[place].join(10)
    assert seen == {0: 1, 1: 1, 2: True, 3: True}
    assert faiss.omp_get_max_threads() == before


@needs("faiss")
def test_faiss_searches_that_want_other_numbers_of_threads_wait():
    import faiss

    from pivotal.neighbors._faiss import _threads

    order = []

    def search():
        with _threads(faiss, 3):
            order.append("other")

    other = threading.Thread(target=search)
    with _threads(faiss, 2):
        other.start()
        other.join(0.2)
        order.append("first")
    other.join(10)
    assert order == ["first", "other"]


@needs("hnswlib")
def test_hnswlib_searches_at_once_each_have_their_own_breadth():
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(3000, 16)), rng.normal(size=(60, 16))
    index = as_index("hnswlib", X, n_jobs=1)
    before = index._index.ef
    alone = {depth: index.search(queries, depth)[0] for depth in (3, 40)}
    assert index._index.ef == before
    found = []

    def search(depth):
        for _ in range(5):
            found.append((depth, index.search(queries, depth)[0]))

    threads = [threading.Thread(target=search, args=(depth,)) for depth in (3, 40, 3, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    assert all(np.array_equal(indices, alone[depth]) for depth, indices in found)
    assert index._index.ef == before
    again = pickle.loads(cloudpickle.dumps(index))
    assert np.array_equal(again.search(queries, 3)[0], alone[3])


@needs("hnswlib")
def test_what_is_wrong_with_an_index_of_hnswlib_is_said():
    class Broken:
        ef = 10

        def set_ef(self, ef):
            self.ef = ef

        def knn_query(self, queries, k, num_threads):
            raise RuntimeError("Wrong dimensionality of the vectors")

    X = np.random.default_rng(0).normal(size=(500, 4))
    index = as_index("hnswlib", X, n_jobs=1)
    index._index = Broken()
    with pytest.raises(RuntimeError, match=r"hnswlib cannot search its index \(.*\). Build it anew, or use neighbors="):
        index.search(X[:3], 2)
