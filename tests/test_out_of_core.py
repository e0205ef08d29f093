"""Training points that are read in chunks, and the order of points that are hard to tell apart."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

import flat
import pivotal
from effort import examples
from nearness import HARD_CASES, all_distances, all_equal, assert_same, grid, nearest, plain
from pivotal.core.sizes import DEFAULT_MEMORY, as_bytes
from pivotal.neighbors import BruteIndex
from pivotal.neighbors._sources import ArraySource
from pivotal.neighbors.chunks import ChunkedIndex, merge

FLOATS = [np.float32, np.float64]


# Exactness on points that rounding cannot tell apart


def steps(rng, shape, dtype):
    """Few rows, whose copies differ by the last bits of their numbers."""
    X = rng.standard_normal((3, shape[1]))[rng.integers(0, 3, shape[0])].astype(dtype)
    return X + rng.integers(-2, 3, shape).astype(dtype) * np.spacing(X)


def offset_steps(rng, shape, dtype):
    """Far from the origin, and nowhere farther apart than a few of the smallest steps there are."""
    base = np.full(shape, 2**20 if dtype == np.float32 else 2**40, dtype)
    return base + rng.integers(-3, 4, shape).astype(dtype) * np.spacing(base)


def two_worlds(rng, shape, dtype):
    """Two crowds at a large distance: the centre is where nobody is."""
    side = np.where(np.arange(shape[0]) < shape[0] // 2, -1.0, 1.0)[:, np.newaxis]
    return (side * 1e5 + rng.integers(-4, 5, shape) / 64).astype(dtype)


def one_far_feature(rng, shape, dtype):
    """One feature is large and the same for all; the others decide."""
    X = rng.standard_normal(shape).astype(dtype)
    X[:, 0] = 1e6
    return X


TIGHT = [steps, offset_steps, two_worlds, one_far_feature]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("make", TIGHT)
@pytest.mark.parametrize(("depth", "n_features"), [(1, 1), (10, 3), (74, 40), (500, 3)])
def test_the_last_bits_decide(make, dtype, depth, n_features):
    rng = np.random.default_rng(depth)
    X = make(rng, (2000, n_features), dtype)
    assert X.dtype == dtype
    for queries in (X[::250], make(rng, (8, n_features), dtype), rng.standard_normal((8, n_features))):
        expected = nearest(all_distances(X, queries), depth)
        assert_same(BruteIndex(X).search(queries, depth), expected)
        assert_same(ChunkedIndex(X, chunk_rows=300).search(queries, depth), expected)


def test_points_closer_than_products_can_tell_are_told_apart():
    # Around 1e6 a product in single precision is off by 1e5; the gaps here are 1e-9.
    X = 1e6 + np.linspace(1e-6, 0, 1000)[:, np.newaxis]
    for index in (BruteIndex(X), ChunkedIndex(X, chunk_rows=64)):
        indices, distances = index.search([[1e6]], 200)
        assert_array_equal(indices[0], np.arange(999, 799, -1))
        assert (np.diff(distances[0]) > 0).all()


# Chunks leave no trace


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("make", HARD_CASES)
@pytest.mark.parametrize("chunk_rows", [1, 7, 64, 150, 299, 300, 1000])
def test_chunks_leave_no_trace(make, chunk_rows, dtype):
    rng = np.random.default_rng(chunk_rows)
    with np.errstate(over="ignore", under="ignore"):
        shape = (60 if chunk_rows == 1 else 300, 4)
        X = np.clip(make(rng, shape), *((-1e30, 1e30) if dtype == np.float32 else (-1e140, 1e140))).astype(dtype)
    queries = np.vstack([make(rng, (3, 4)), X[:: len(X) // 3]])
    for depth in (1, 20, len(X)):
        expected = BruteIndex(X).search(queries, depth)
        assert_same(ChunkedIndex(X, chunk_rows=chunk_rows).search(queries, depth), expected)


@examples(40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_train=st.integers(1, 400),
    chunk_rows=st.integers(1, 100),
    depth=st.integers(1, 60),
    max_memory=st.sampled_from([1, 2000, 100_000, 2**30]),
    make=st.sampled_from(HARD_CASES),
)
def test_chunks_and_memory_leave_no_trace(seed, n_train, chunk_rows, depth, max_memory, make):
    rng = np.random.default_rng(seed)
    X, queries = make(rng, (n_train, 3)), make(rng, (5, 3))
    depth = min(depth, n_train)
    index = ChunkedIndex(X, chunk_rows=chunk_rows, max_memory=max_memory, n_jobs=1)
    assert_same(index.search(queries, depth), nearest(all_distances(X, queries), depth))


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine", "minkowski", "manhattan", "chebyshev"])
def test_metrics(metric):
    rng = np.random.default_rng(1)
    X, queries = rng.integers(-2, 3, (200, 3)).astype(float), rng.integers(-2, 3, (9, 3)).astype(float)
    assert (X == 0).all(axis=1).any()  # rows without direction, in some chunks only
    for depth in (1, 30, 200):
        expected = BruteIndex(X, metric).search(queries, depth)
        assert_same(ChunkedIndex(X, metric, chunk_rows=23).search(queries, depth), expected)


def test_metrics_with_parameters_and_of_your_own():
    rng = np.random.default_rng(2)
    X, queries = rng.standard_normal((60, 3)), rng.standard_normal((4, 3))
    variances = {"V": X.var(axis=0, ddof=1)}
    expected = BruteIndex(X, "seuclidean").search(queries, 9)
    assert_same(ChunkedIndex(X, "seuclidean", metric_params=variances, chunk_rows=7).search(queries, 9), expected)

    def first_only(a, b):
        return abs(a[0] - b[0])

    expected = nearest(abs(X[:, 0] - queries[:, :1]), 9)
    assert_same(ChunkedIndex(X, first_only, chunk_rows=7).search(queries, 9), expected)


def test_ties_across_chunks_keep_the_lowest_indices():
    index = ChunkedIndex(np.ones((1000, 2)), chunk_rows=30)
    indices, distances = index.search([[1.0, 1.0], [4.0, 5.0]], 100)
    assert_array_equal(indices, np.tile(np.arange(100), (2, 1)))
    assert_array_equal(distances, np.repeat([[0.0], [5.0]], 100, axis=1))


def test_duplicates_in_different_chunks():
    X = np.tile(np.array([[0.0], [5.0], [9.0]]), (4, 1))
    indices, _ = ChunkedIndex(X, chunk_rows=3).search([[5.5]], 12)
    assert_array_equal(indices, [[1, 4, 7, 10, 2, 5, 8, 11, 0, 3, 6, 9]])


@examples(60)
@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=5), st.integers(1, 12))
def test_merging_is_sorting_by_distance_then_index(parts, depth):
    numbers = np.array([number for part in parts for number in part], dtype=float)
    depth = min(depth, len(numbers))
    indices, distances = np.full((1, depth), -1), np.full((1, depth), np.nan)
    found = first = 0
    for part in parts:
        near, far = nearest(np.array([part], dtype=float), min(depth, len(part)))
        merge(indices, distances, found, near + first, far)
        found, first = min(depth, found + far.shape[1]), first + len(part)
    assert_same((indices, distances), nearest(numbers[np.newaxis], depth))


def test_queries_of_any_kind():
    rng = np.random.default_rng(3)
    X, queries = rng.integers(0, 9, (400, 3)).astype(float), rng.integers(0, 9, (5, 3))
    expected = BruteIndex(X).search(queries, 6)
    index = ChunkedIndex(X, chunk_rows=90)
    for kind in (np.asarray, np.float32, np.ndarray.tolist, sparse.csr_array, pd.DataFrame):
        assert_same(index.search(kind(queries), 6), expected)


# The training points as queries


@pytest.mark.parametrize("make", [plain, grid, all_equal])
@pytest.mark.parametrize("depth", [1, 10, 99])
def test_points_query_each_other(make, depth):
    X = make(np.random.default_rng(8), (100, 2))
    expected = BruteIndex(X).search_self(0, 100, depth)
    assert_same(ChunkedIndex(X, chunk_rows=17).search_self(0, 100, depth), expected)
    small = ChunkedIndex(X, chunk_rows=17, max_memory=20_000)
    assert small.block_size(depth + 1) < 100 or depth == 1
    assert_same(small.search_self(0, 100, depth), expected)
    assert_same(small.search_self(40, 90, depth), (expected[0][40:90], expected[1][40:90]))


def test_points_query_each_other_a_block_at_a_time(monkeypatch):
    X = np.random.default_rng(0).standard_normal((1000, 8))
    index = ChunkedIndex(X, max_memory=100_000)
    largest = 0

    class Watched(ArraySource):
        def __getitem__(self, key):
            nonlocal largest
            largest = max(largest, key.stop - key.start)
            return super().__getitem__(key)

        def chunks(self, max_rows, start=0, stop=None):
            nonlocal largest
            largest = max(largest, max_rows)
            return super().chunks(max_rows, start, stop)

    monkeypatch.setattr(index, "_X", Watched(X))
    monkeypatch.setattr(Watched, "_rows_at_once", lambda _: 100)
    assert_same(index.search_self(0, 1000, 5), BruteIndex(X).search_self(0, 1000, 5))
    assert largest < 400


@pytest.mark.parametrize(("start", "stop"), [(0, 21), (5, 5), (-1, 3)])
def test_training_points_that_do_not_exist(start, stop):
    with pytest.raises(ValueError, match=r"start and stop must satisfy 0 <= start < stop <= 20"):
        ChunkedIndex(np.ones((20, 1)), max_memory=1).search_self(start, stop, 1)


# What stays in memory


def test_reading_goes_on_while_searching():
    X = np.random.default_rng(0).standard_normal((100, 2))
    readers = set()

    class Watched(ArraySource):
        def _read(self, max_rows, start, stop):
            for chunk in super()._read(max_rows, start, stop):
                readers.add(threading.get_ident())
                yield chunk

    index = ChunkedIndex(Watched(X), chunk_rows=10)
    readers.clear()
    assert_same(index.search(X[:3], 5), BruteIndex(X).search(X[:3], 5))
    assert readers
    assert threading.get_ident() not in readers


def test_no_thread_is_left_behind():
    X = np.ones((100, 2))
    X[50] = np.nan
    with pytest.raises(ValueError, match="finite"):
        ChunkedIndex(X, chunk_rows=10).search([[0.0, 0.0]], 1)
    ChunkedIndex(X[:50], chunk_rows=10).search([[0.0, 0.0]], 1)
    for thread in threading.enumerate():
        if thread.name.startswith("read-ahead"):
            thread.join(10)
            assert not thread.is_alive()


def test_a_single_chunk_is_read_once(tmp_path):
    X = np.random.default_rng(0).standard_normal((100, 2))
    np.save(tmp_path / "train.npy", X)
    reads = []

    class Watched(ArraySource):
        def chunks(self, max_rows, start=0, stop=None):
            reads.append((start, stop))
            return super().chunks(max_rows, start, stop)

    index = ChunkedIndex(Watched(np.load(tmp_path / "train.npy", mmap_mode="r")))
    reads.clear()
    for _ in range(3):
        assert_same(index.search(X[:9], 4), BruteIndex(X).search(X[:9], 4))
    assert len(reads) == 1


def test_memory_decides_on_chunks_and_blocks():
    X = np.zeros((100_000, 10), np.float32)
    small, large = ChunkedIndex(X, max_memory="1MB"), ChunkedIndex(X, max_memory="100MB")
    assert small._chunk_rows * 20 < large._chunk_rows == 100_000
    assert small._chunk_rows * 10 * 4 * 3 < 250_000
    assert 50 * small.block_size(75) < large.block_size(75)
    assert small.block_size(75) * 75 * 40 <= 500_000
    assert ChunkedIndex(X, max_memory=1)._chunk_rows == 1
    assert ChunkedIndex(X, max_memory=1).block_size(75) == 1


N_ROWS = 800_000  # of 16 columns: 102 MB in double precision
WAYS = ["search", "search_self", "parquet", "memmap", "sort"]


@pytest.fixture(scope="module")
def growths(tmp_path_factory):
    """Megabytes by which a process grows, and the last row that it finds, for each way to read a large file."""
    folder, n_columns = tmp_path_factory.mktemp("large"), 16
    file = np.lib.format.open_memmap(folder / "train.npy", "w+", np.float64, (N_ROWS, n_columns))
    rng = np.random.default_rng(0)
    schema = pa.schema([(f"x{i}", pa.float64()) for i in range(n_columns)])
    with pq.ParquetWriter(folder / "train.parquet", schema, compression="none") as writer:
        for start in range(0, N_ROWS, 100_000):
            file[start : start + 100_000] = rng.random((100_000, n_columns))
            columns = list(np.asarray(file[start : start + 100_000]).T.copy())
            writer.write_table(pa.table(columns, schema=schema))
    pq.write_table(pa.table(columns, schema=schema).slice(0, 1000), folder / "few.parquet")
    file.flush()
    del file
    code = """
        import re, sys
        from pathlib import Path
        import numpy as np
        from pivotal.neighbors.chunks import ChunkedIndex

        def status(name):
            return int(re.search(name + r":\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1000

        def search(way):
            path = Path(sys.argv[1], "train.parquet" if way == "parquet" else "train.npy")
            X = np.load(path, mmap_mode="r") if way == "memmap" else path
            index = ChunkedIndex(X, max_memory="16MB", n_jobs=2)
            if way == "search_self":
                return index.search_self(350_000, 350_010, 8)[0].max()
            if way == "sort":
                return index.search(rng.random((10, 16)), 10_000)[0].max()
            return index.search(rng.random((10, 16)), 75)[0].max()

        rng = np.random.default_rng(0)
        for depth in (8, 200):  # compiles
            ChunkedIndex(rng.random((1000, 16)), chunk_rows=500).search(rng.random((3, 16)), depth)
        ChunkedIndex(Path(sys.argv[1], "few.parquet"), chunk_rows=500).search(rng.random((3, 16)), 8)  # loads libraries
        for way in sys.argv[2:]:
            Path("/proc/self/clear_refs").write_text("5")
            before = status("VmRSS")
            last = search(way)
            print(way, status("VmHWM") - before, last)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(folder), *WAYS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {way: (float(growth), int(last)) for way, growth, last in map(str.split, done.stdout.splitlines())}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the system does not tell its peak of memory")
@pytest.mark.parametrize("way", WAYS)
def test_memory_is_bounded(growths, way):
    growth, last = growths[way]
    assert last > N_ROWS * 5 // 8  # the end of the file was read
    assert growth < (100 if way == "parquet" else 50)  # Arrow holds on to some; all of the file would add 102


# Messages


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2 * 10**9),
        ("2 GiB", 2**31),
        ("512MiB", 2**29),
        ("1.5kb", 1500),
        ("1T", 10**12),
        ("77", 77),
        ("77B", 77),
        (5, 5),
        (np.int64(5), 5),
        (None, DEFAULT_MEMORY),
    ],
)
def test_sizes(text, size):
    assert as_bytes(text) == size


@pytest.mark.parametrize("size", ["", "GB", "2 apples", "-1GB", "0", "1iB", 0, -5, 1.5, True, [1]])
def test_sizes_that_are_none(size):
    with pytest.raises(ValueError, match=r'^max_memory must be a number of bytes, or text such as "2GB" or "512MiB"; '):
        ChunkedIndex(np.ones((2, 2)), max_memory=size)


@pytest.mark.parametrize("chunk_rows", [0, -1, 1.5, True, "all"])
def test_chunks_of_no_size(chunk_rows):
    with pytest.raises(ValueError, match=r"^chunk_rows must be an integer of at least 1, or None; got "):
        ChunkedIndex(np.ones((2, 2)), chunk_rows=chunk_rows)


def test_metrics_that_need_all_points():
    X = np.random.default_rng(0).random((9, 2))
    with pytest.raises(ValueError, match=r'^metric="precomputed" needs its distances in memory; '):
        ChunkedIndex(X, "precomputed")
    with pytest.raises(ValueError, match=r'^metric="mahalanobis" is estimated from all .*; pass V or VI in metric_par'):
        ChunkedIndex(X, "mahalanobis")
    with pytest.raises(ValueError, match=r'^metric="seuclidean" is estimated from all .*; pass V in metric_params.$'):
        ChunkedIndex(X, "seuclidean")
    with pytest.raises(ValueError, match="metric must be a callable or one of"):
        ChunkedIndex(X, "nearest")


def test_queries_and_depths_are_checked():
    index = ChunkedIndex(np.ones((9, 2)))
    with pytest.raises(ValueError, match="queries must have as many columns as the training points, 2; got 3"):
        index.search(np.ones((1, 3)), 1)
    with pytest.raises(ValueError, match="queries must be finite"):
        index.search([[np.nan, 0.0]], 1)
    with pytest.raises(ValueError, match="depth must be an integer from 1 to 9"):
        index.search(np.ones((1, 2)), 10)
    with pytest.raises(ValueError, match="depth must be an integer from 1 to 8"):
        index.search_self(0, 9, 9)


# End to end: needs `value`, `KNNValuation` and `as_index` to know about sources and `max_memory`.


@pytest.mark.parametrize("kind", ["npy", "parquet", "memmap"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_values_of_points_in_a_file(tmp_path, kind, weights):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 4)), rng.integers(0, 2, 200)
    X_test, y_test = rng.standard_normal((30, 4)), rng.integers(0, 2, 30)
    np.save(tmp_path / "train.npy", X)
    pq.write_table(pa.table(list(X.T.copy()), names=["a", "b", "c", "d"]), tmp_path / "train.parquet")
    mapped = np.load(tmp_path / "train.npy", mmap_mode="r")
    points = {"npy": str(tmp_path / "train.npy"), "parquet": tmp_path / "train.parquet", "memmap": mapped}[kind]
    options = {"k": 3, "weights": weights}
    expected = flat.value(X, y, X_test, y_test, **options)
    values = flat.value(points, y, X_test, y_test, max_memory=20_000, **options)
    assert_array_equal(values.values, expected.values)
    assert values.error_bound == expected.error_bound
    by_each_other = flat.value(points, y, max_memory=20_000, **options)
    assert_array_equal(by_each_other.values, flat.value(X, y, **options).values)
    model = flat.KNNValuation(max_memory=20_000, **options).fit(points, y)
    assert_array_equal(model.update(X_test, y_test).values_, expected.values)
    with pytest.raises(ValueError, match="X_train and y_train must have the same length; got 200 rows and 199 labels"):
        flat.value(points, y[1:], X_test, y_test, max_memory=20_000)


@pytest.mark.parametrize("neighbors", ["kd_tree", "faiss-flat"])
def test_indexes_that_need_all_points_in_memory(tmp_path, neighbors):
    np.save(tmp_path / "train.npy", np.ones((9, 2)))
    with pytest.raises(
        ValueError, match="needs the training points in memory, and these are in a file; load them first"
    ):
        pivotal.value(tmp_path / "train.npy", np.ones(9), neighbors=neighbors)
