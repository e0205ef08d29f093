"""Files of training points: what can be read, in which pieces, and what is said of those that cannot."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from nearness import assert_same
from pivotal.neighbors import BruteIndex
from pivotal.neighbors._sources import ArraySource, RowSource, is_source, open_source
from pivotal.neighbors.chunks import ChunkedIndex

FLOATS = [np.float32, np.float64]


def whole(source):
    """All rows of a source, and what it says about them."""
    rows = source[:]
    assert rows.shape == source.shape == (source.n_rows, source.n_columns)
    assert rows.dtype == source.dtype
    return rows


# Files


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f4", ">f8", "f2", "i8", "u1", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_files(tmp_path, dtype, order):
    X = np.asarray(np.random.default_rng(0).integers(0, 5, (50, 3)), dtype=dtype, order=order)
    np.save(tmp_path / "train.npy", X)
    for path in (tmp_path / "train.npy", str(tmp_path / "train.npy")):
        source = open_source(path)
        assert source.dtype == (np.float32 if dtype == "f4" else np.float64)
        assert_array_equal(whole(source), X.astype(float))
        assert [first for first, _ in source.chunks(20)] == [0, 20, 40]
        assert_same(ChunkedIndex(path, chunk_rows=8).search(X[:4].astype(float), 9), BruteIndex(X).search(X[:4], 9))


def test_memmaps_of_every_mode(tmp_path):
    X = np.random.default_rng(0).standard_normal((50, 3))
    X.tofile(tmp_path / "raw")
    for mode in ("r", "r+", "c"):
        mapped = np.memmap(tmp_path / "raw", np.float64, mode, shape=(50, 3))
        if mode != "r":
            mapped[7] = 100.0
        expected = np.array(mapped)
        assert_array_equal(whole(ArraySource(mapped[5:])), expected[5:])
        # Nothing that was written is lost, be it to the file or to memory only.
        assert_array_equal(mapped, expected)
        X[7] = 100.0 if mode != "r" else X[7]
        X.tofile(tmp_path / "raw") if mode == "c" else None
    with pytest.raises(ValueError, match="slices without steps"):
        ArraySource(X)[::2]


def write(path, **columns):
    pq.write_table(pa.table(columns), path, row_group_size=17)


@pytest.mark.parametrize("chunk_rows", [1, 10, 17, 60, 1000])
@pytest.mark.parametrize("dtype", FLOATS)
def test_parquet_of_single_columns(tmp_path, dtype, chunk_rows):
    X = np.random.default_rng(0).standard_normal((60, 3)).astype(dtype)
    write(tmp_path / "train.parquet", a=X[:, 0], b=X[:, 1], c=X[:, 2])
    source = open_source(tmp_path / "train.parquet")
    assert source.dtype == dtype
    assert_array_equal(whole(source), X)
    assert [first for first, _ in source.chunks(chunk_rows)] == list(range(0, 60, chunk_rows))
    assert_array_equal(np.vstack([rows for _, rows in source.chunks(chunk_rows)]), X)
    for start, stop in [(0, 1), (16, 18), (17, 34), (59, 60), (5, 5), (20, 55)]:
        assert_array_equal(source[start:stop], X[start:stop])
    index = ChunkedIndex(str(tmp_path / "train.parquet"), chunk_rows=chunk_rows)
    assert_same(index.search(X[:9], 12), BruteIndex(X).search(X[:9], 12))
    assert_same(index.search_self(10, 40, 12), BruteIndex(X).search_self(10, 40, 12))


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 4), pa.large_list(pa.float32())])
def test_parquet_of_vectors(tmp_path, kind):
    X = np.random.default_rng(0).standard_normal((60, 4)).astype(np.float32)
    write(tmp_path / "train.parquet", embedding=pa.array(X.tolist(), kind))
    source = open_source(tmp_path / "train.parquet")
    assert source.dtype == np.float32
    assert_array_equal(whole(source), X)
    assert_array_equal(source[20:41], X[20:41])
    index = ChunkedIndex(source, chunk_rows=13)
    assert_same(index.search(X[:9], 12), BruteIndex(X).search(X[:9], 12))


def test_parquet_of_vectors_and_numbers_of_every_type(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 6)).astype(float)
    write(
        tmp_path / "train.parquet",
        whole=X[:, 0].astype(np.int64),
        vector=pa.array(X[:, 1:3].tolist(), pa.list_(pa.float64())),
        flag=X[:, 3].astype(bool),
        half=X[:, 4].astype(np.float16),
        price=pa.array(X[:, 5].astype(int).tolist()).cast(pa.decimal128(21, 2)),
    )
    assert_array_equal(whole(open_source(tmp_path / "train.parquet")), X)


def test_large_whole_numbers_become_the_nearest_doubles(tmp_path):
    X = np.array([[2**53 + 1], [2**62 + 1]])
    write(tmp_path / "train.parquet", a=X[:, 0])
    assert_array_equal(whole(open_source(tmp_path / "train.parquet")), X.astype(float))


def test_folder_of_parquet_files(tmp_path):
    X = np.random.default_rng(0).standard_normal((100, 2))
    folder = tmp_path / "train"
    (folder / "later").mkdir(parents=True)
    (folder / "_temporary").mkdir()
    bounds = [("0.parquet", 0, 30), ("1.parquet", 30, 30), ("2.parquet", 30, 71), ("later/3.parquet", 71, 100)]
    for name, start, stop in reversed(bounds):
        write(folder / name, a=X[start:stop, 0], b=X[start:stop, 1])
    write(folder / "_temporary/0.parquet", z=["unfinished"])
    (folder / "_SUCCESS").touch()
    source = open_source(folder)
    assert_array_equal(whole(source), X)
    for chunk_rows in (1, 25, 45, 100):
        assert_array_equal(np.vstack([rows for _, rows in source.chunks(chunk_rows)]), X)
    assert_array_equal(source[25:75], X[25:75])
    index = ChunkedIndex(folder, chunk_rows=40)
    assert_same(index.search(X[:9], 12), BruteIndex(X).search(X[:9], 12))
    assert_same(index.search_self(0, 100, 12), BruteIndex(X).search_self(0, 100, 12))


def test_the_index_of_a_data_frame_is_no_feature(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=pd.Index([70, 80]))
    frame.to_parquet(tmp_path / "train.parquet")
    assert pq.read_schema(tmp_path / "train.parquet").names == ["a", "b", "__index_level_0__"]
    assert_array_equal(whole(open_source(tmp_path / "train.parquet")), frame.to_numpy())


def test_what_is_a_source(tmp_path):
    np.save(tmp_path / "train.npy", np.ones((2, 2)))
    mapped = np.load(tmp_path / "train.npy", mmap_mode="r")
    source = open_source(mapped)
    assert isinstance(source, RowSource)
    assert open_source(source) is source
    assert all(map(is_source, ["train.npy", tmp_path, mapped, source]))
    assert not any(map(is_source, [np.ones((2, 2)), np.asarray(mapped), [[1.0]], pd.DataFrame({"a": [1]}), None]))


# Messages


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite(tmp_path, bad):
    X = np.ones((100, 3))
    X[47, 1] = X[52, 2] = bad
    np.save(tmp_path / "train.npy", X)
    write(tmp_path / "train.parquet", a=X[:, 0], b=X[:, 1], c=X[:, 2])
    message = (
        r"^X must be finite \(no NaN, no infinity\); got 2 such entries in the rows 40 to 59, the first of them in "
        r"row 47. Impute them or drop their rows.$"
    )
    for path in (tmp_path / "train.npy", tmp_path / "train.parquet"):
        with pytest.raises(ValueError, match=message):
            ChunkedIndex(path, chunk_rows=20).search(X[:2], 3)
    with pytest.raises(ValueError, match="rows 45 to 49, the first of them in row 47"):
        open_source(X)[45:50]


def test_huge_numbers_whose_sum_overflows_are_finite():
    X = np.array([[1e308], [1e308]])
    assert_array_equal(whole(open_source(X)), X)
    with pytest.raises(ValueError, match=r"X must stay within ±1e\+140"):
        ChunkedIndex(X)
    with pytest.raises(ValueError, match=r"queries must stay within ±1e\+140"):
        ChunkedIndex(np.ones((3, 1))).search(X, 1)


def test_missing_entries_are_not_finite(tmp_path):
    write(tmp_path / "train.parquet", a=pa.array([1, None, 3]), b=pa.array([1.0, 2.0, None]))
    with pytest.raises(ValueError, match="got 2 such entries in the rows 0 to 2, the first of them in row 1"):
        open_source(tmp_path / "train.parquet")[:]
    write(tmp_path / "train.parquet", a=pa.array([[1.0, 2.0], [None, 3.0]]))
    with pytest.raises(ValueError, match="got 1 such entries in the rows 0 to 1, the first of them in row 1"):
        open_source(tmp_path / "train.parquet")[:]


@pytest.mark.parametrize("name", ["train.npy", "train.parquet", "folder", "x" * 5000])
def test_file_that_is_missing(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=r"^X_train must name a file that exists; there is no "):
        open_source(tmp_path / name, "X_train")


def test_file_of_another_kind(tmp_path):
    (tmp_path / "train.csv").write_text("1,2")
    with pytest.raises(
        ValueError, match=r"^X must name a .npy file, a .parquet file or a folder of .parquet files; got "
    ):
        open_source(tmp_path / "train.csv")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/train.csv").write_text("1,2")
    with pytest.raises(ValueError, match=r"^X must name a folder that holds .parquet files; there is none in "):
        open_source(tmp_path / "folder")


@pytest.mark.parametrize("content", [b"", b"1,2\n3,4", b"\x93NUMPY\x01\x00"])
def test_file_under_a_wrong_name(tmp_path, content):
    (tmp_path / "train.npy").write_bytes(content)
    (tmp_path / "train.parquet").write_bytes(content)
    with pytest.raises(ValueError, match=r"X must name a \.npy file of numbers"):
        open_source(tmp_path / "train.npy")
    with pytest.raises(ValueError, match="X must name Parquet files"):
        open_source(tmp_path / "train.parquet")


def test_file_that_is_cut_short(tmp_path):
    np.save(tmp_path / "train.npy", np.ones((100, 3)))
    content = (tmp_path / "train.npy").read_bytes()
    (tmp_path / "train.npy").write_bytes(content[:1000])
    with pytest.raises(ValueError, match="or damaged"):
        open_source(tmp_path / "train.npy")


def test_parquet_file_that_is_damaged_inside(tmp_path):
    write(tmp_path / "train.parquet", a=np.random.default_rng(0).random(1000))
    index = ChunkedIndex(tmp_path / "train.parquet", chunk_rows=100)
    content = bytearray((tmp_path / "train.parquet").read_bytes())
    content[3000:6000] = bytes(3000)
    (tmp_path / "train.parquet").write_bytes(content)
    with pytest.raises(ValueError, match=r"^X cannot be read: .*train.parquet is damaged or was changed \("):
        index.search([[0.5]], 3)


def test_archive_under_a_wrong_name(tmp_path):
    with (tmp_path / "train.npy").open("wb") as file:
        np.savez(file, a=np.ones(3))
    with pytest.raises(ValueError, match=r"^X must name a .npy file of one array; .* is an archive of several.$"):
        open_source(tmp_path / "train.npy")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(3), r"two-dimensional, a row per point; got shape \(3,\). Use reshape\(-1, 1\) for one feature.$"),
        (np.ones((3, 2, 2)), r"two-dimensional, a row per point; got shape \(3, 2, 2\).$"),
        (np.array(3.0), r"two-dimensional, a row per point; got shape \(\).$"),
        (np.ones((0, 2)), r"at least one row and one column; got shape \(0, 2\).$"),
        (np.ones((2, 0)), r"at least one row and one column; got shape \(2, 0\).$"),
        (np.array([["a", "b"]]), r"real numbers; got dtype <U1. Encode text and categories as numbers first.$"),
        (np.array([[1j]]), r"real numbers; got dtype complex128."),
        (np.zeros((1, 1), "M8[s]"), r"real numbers; got dtype datetime64\[s\]."),
    ],
)
def test_arrays_of_wrong_shape_or_type(tmp_path, X, message):
    with pytest.raises(ValueError, match="^X must .*" + message):
        open_source(X)
    np.save(tmp_path / "train.npy", X)
    with pytest.raises(ValueError, match="^X_train must .*" + message):
        open_source(tmp_path / "train.npy", "X_train")


def test_columns_of_text(tmp_path):
    write(tmp_path / "train.parquet", a=[1.0], b=["x"], c=[1], d=["y"], e=["z"], f=[None], g=[["text"]])
    message = (
        r"^X must hold numbers, or vectors of numbers; the columns b, d, e, ... of .*train.parquet do not. "
        r"Encode them as numbers first, or omit them from the file.$"
    )
    with pytest.raises(ValueError, match=message):
        open_source(tmp_path / "train.parquet")
    pd.DataFrame({"kind": pd.Categorical(["a", "b", "a"])}).to_parquet(tmp_path / "train.parquet")
    with pytest.raises(ValueError, match="the columns kind of"):
        open_source(tmp_path / "train.parquet")


@pytest.mark.parametrize(
    ("row", "got"), [([1.0], "1 numbers"), ([1.0, 2.0, 3.0], "3 numbers"), ([], "0 numbers"), (None, "none")]
)
def test_ragged_vectors(tmp_path, row, got):
    write(tmp_path / "train.parquet", v=pa.array([[0.0, 1.0]] * 40 + [row] + [[0.0, 1.0]] * 9, pa.list_(pa.float64())))
    message = f"^X must have vectors of one length in column v, 2 numbers as in row 0; row 40 has {got}.$"
    with pytest.raises(ValueError, match=message):
        ChunkedIndex(tmp_path / "train.parquet", chunk_rows=7).search([[0.0, 0.0]], 3)


def test_first_row_without_a_vector(tmp_path):
    write(tmp_path / "train.parquet", v=pa.array([None, [1.0]], pa.list_(pa.float64())))
    with pytest.raises(ValueError, match=r"^X must have a vector in every row; column v has none in row 0.$"):
        open_source(tmp_path / "train.parquet")


def test_parquet_without_rows_or_columns(tmp_path):
    write(tmp_path / "train.parquet", a=pa.array([], pa.float64()))
    with pytest.raises(ValueError, match=r"^X must have at least one row; got none in .*train.parquet.$"):
        open_source(tmp_path / "train.parquet")
    pd.DataFrame(index=pd.Index([1, 2], name="a")).to_parquet(tmp_path / "train.parquet")
    with pytest.raises(ValueError, match=r"^X must have at least one row and one column; got shape \(2, 0\).$"):
        open_source(tmp_path / "train.parquet")


def test_files_with_different_columns(tmp_path):
    write(tmp_path / "0.parquet", a=[1.0])
    write(tmp_path / "1.parquet", b=[1.0])
    message = r"^X must have the same columns in every file; .*1.parquet and .*0.parquet differ.$"
    with pytest.raises(ValueError, match=message):
        open_source(tmp_path)


def test_something_that_is_no_source():
    with pytest.raises(TypeError, match=r"^X must be an array or the path of a .npy or .parquet file; got DataFrame.$"):
        open_source(pd.DataFrame({"a": [1.0]}))
