"""Files to tables: every format, several files, limits, and what is wrong with a file in one sentence."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from pivotal.tables import Table, _delimited, read, read_many
from pivotal.tables._delimited import read_csv
from pivotal.tables._limits import Limit
from pivotal.tables._memory_file import memory_file
from pivotal.tables.read import format_of
from pivotal.tables.table import to_arrays

FRAME = pd.DataFrame({"age": [31.5, 7.0, 22.25], "colour": ["red", "blue", "red"], "y": [1, 0, 1]})
RECORDS = [dict(zip(FRAME.columns, row, strict=True)) for row in FRAME.itertuples(index=False, name=None)]


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def make(folder, kind):
    path = folder / f"table.{kind}"
    if kind == "csv":
        FRAME.to_csv(path, index=False)
    elif kind == "tsv":
        FRAME.to_csv(path, index=False, sep="\t")
    elif kind == "parquet":
        FRAME.to_parquet(path)
    elif kind == "feather":
        pyarrow.feather.write_feather(pa.Table.from_pandas(FRAME), path)
    elif kind == "json":
        path.write_text(json.dumps(RECORDS), encoding="utf-8")
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(FRAME.to_csv(index=False).encode()))
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "feather", "json", "jsonl", "ndjson", "csv.gz"])
def test_every_format_gives_the_same_table(tmp_path, kind):
    table = read(make(tmp_path, kind))
    assert table.columns == ["age", "colour", "y"]
    assert len(table) == 3
    assert table.folder == tmp_path
    assert table.column("colour").to_pylist() == ["red", "blue", "red"]
    assert [float(cell) for cell in table.column("age").to_pylist()] == [31.5, 7.0, 22.25]


def test_cells_of_csv_stay_as_they_were_written(tmp_path):
    path = write(tmp_path / "t.csv", 'code,name\n007,"a, b"\n1.50,"two\nlines"\n,"say ""hi"""\n')
    table = read(path)
    assert table.column("code").to_pylist() == ["007", "1.50", ""]
    assert table.column("name").to_pylist() == ["a, b", "two\nlines", 'say "hi"']


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_from_the_header(tmp_path, sign):
    path = write(tmp_path / "t.csv", f'"a,;|b"{sign}b{sign}c\n1{sign}2{sign}3\n')
    table = read(path)
    assert table.columns == ["a,;|b", "b", "c"]
    assert table.delimiter == sign


def test_the_last_line_may_end_without_a_break(tmp_path):
    assert read(write(tmp_path / "t.csv", "a,y\n1,2\n3,4")).column("y").to_pylist() == ["2", "4"]
    assert read(write(tmp_path / "t.csv", 'a,y\n1,"2\n3"')).column("y").to_pylist() == ["2\n3"]


def test_a_delimiter_can_be_named(tmp_path):
    path = write(tmp_path / "t.csv", "a:b\n1:2\n")
    assert read(path, delimiter=":").columns == ["a", "b"]
    with pytest.raises(ValueError, match="a delimiter is one plain character"):
        read(path, delimiter="::")


def test_blank_lines_and_byte_order_marks_are_skipped(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbf\n"first\nname",b\n\n1,2\n\n')
    assert read(str(path)).columns == ["first\nname", "b"]
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'\xef\xbb\xbf\n{"a": 1}\n\n{"a": 2}')
    assert read(str(path)).column("a").to_pylist() == [1, 2]


def test_other_encodings_can_be_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe,y\nühm,1\n".encode("latin-1"))
    table = read(str(path), encoding="latin-1")
    assert table.columns == ["größe", "y"]
    assert table.column("größe").to_pylist() == ["ühm"]
    with pytest.raises(ValueError, match="is not written in utf-8; name its encoding, for example --encoding latin-1"):
        read(str(path))
    path.write_bytes("a,y\nühm,1\n".encode("latin-1"))
    with pytest.raises(ValueError, match="is not written in utf-8"):
        read(str(path))
    with pytest.raises(ValueError, match=r"--encoding must name an encoding of text, .*; got 'klingon'"):
        read(str(path), encoding="klingon")


def test_arrays(tmp_path):
    rng = np.random.default_rng(0)
    X, images, y = rng.normal(size=(4, 3)).astype(np.float32), rng.integers(0, 9, size=(4, 2, 2)), list("abca")
    np.savez(tmp_path / "t.npz", X=X, images=images, y=y, note="a word")
    table = read(str(tmp_path / "t.npz"))
    assert table.columns == ["X", "images", "y"]
    assert table.matrix_shape("X") == (3,)
    assert table.matrix_shape("y") is None
    back = to_arrays(table.take([2, 0]))
    assert back["X"].dtype == np.float32
    assert np.array_equal(back["X"], X[[2, 0]])
    assert np.array_equal(back["images"], images[[2, 0]])
    assert back["y"].tolist() == ["c", "a"]


def test_pairs_of_arrays(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(3))
    np.save(tmp_path / "y.npy", np.arange(3))
    table = read(f"{tmp_path}/X.npy,{tmp_path}/y.npy")
    assert table.columns == ["X", "y"]
    assert read(f"{tmp_path}/X.npy").columns == ["X"]
    with pytest.raises(FileNotFoundError, match=r"cannot read .*z\.npy: there is no such file"):
        read(f"{tmp_path}/X.npy,{tmp_path}/z.npy")


def test_patterns_and_several_files_are_one_table(tmp_path):
    for part in (2, 0, 1):
        write(tmp_path / f"part-{part}.csv", f"a,y\n{part},{part}0\n")
    table, files = read_many([str(tmp_path / "part-*.csv")])
    assert [path[-5] for path in files] == ["0", "1", "2"]
    assert table.column("y").to_pylist() == ["00", "10", "20"]
    several, _ = read_many([str(tmp_path / "part-2.csv"), str(tmp_path / "part-0.csv")])
    assert several.column("a").to_pylist() == ["2", "0"]
    for part in range(2):
        write(tmp_path / f"part-{part}.jsonl", json.dumps({"a": part}) + "\n")
    lines = read_many([str(tmp_path / "*.jsonl")])[0].lines
    assert lines is not None
    assert lines.to_pylist() == ['{"a": 0}', '{"a": 1}']


def test_a_file_whose_name_looks_like_a_pattern_is_read(tmp_path):
    path = write(tmp_path / "a[1].csv", "a\n1\n")
    assert len(read_many([path])[0]) == 1


def test_columns_of_several_files_must_agree(tmp_path):
    one, other = write(tmp_path / "1.csv", "a,y\n1,2\n"), write(tmp_path / "2.csv", "b,y\n1,2\n")
    with pytest.raises(ValueError, match=r"must have the same columns; .*1\.csv and .*2\.csv differ in 'a'"):
        read_many([one, other])
    for name, content in (("1", [1]), ("2", ["one"])):
        pq.write_table(pa.table({"a": content}), tmp_path / f"{name}.parquet")
    with pytest.raises(ValueError, match="must have the same types in every file"):
        read_many([str(tmp_path / "*.parquet")])


def test_standard_input_is_csv(monkeypatch):
    class Piped:
        buffer = io.BytesIO(b"a,y\n1,2\n")

    monkeypatch.setattr(sys, "stdin", Piped)
    table = read("-")
    assert (table.name, table.columns, table.folder) == ("standard input", ["a", "y"], None)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json", "parquet", "feather"])
def test_a_limit_on_rows(tmp_path, kind):
    path = make(tmp_path, kind)
    assert len(read(path, max_rows=3)) == 3
    with pytest.raises(ValueError, match=rf"{kind} has more than 2 rows, the most that --max-rows allows; raise it"):
        read(path, max_rows=2)
    with pytest.raises(ValueError, match="more than 5 rows"):
        read_many([path, path], max_rows=5)


class Rows(io.RawIOBase):
    """A header and rows without end, or with one; counts what was taken of it."""

    def __init__(self, header, row, most=None):
        self.left, self.row, self.most, self.taken = header, row, most, 0

    def read(self, size=-1):
        while len(self.left) < size and (self.most is None or self.taken < self.most):
            self.left += self.row * max(1000, size // len(self.row))
        content, self.left = self.left[:size], self.left[size:]
        self.taken += len(content)
        return content


def test_a_limit_on_rows_stops_reading():
    stream = Rows(b"a,y\n", b"1,2\n")
    with pytest.raises(ValueError, match="a pipe has more than 1,000 rows"):
        read_csv(stream, "a pipe", None, "utf-8", Limit(1000))
    assert stream.taken < 2**24


@pytest.mark.parametrize("row", [b"1,2\n", b'"a,\nb",5" disk\r\n', b'"say ""\n""",\n', '"ö\n",ä\n'.encode()])
def test_rows_that_straddle_blocks(monkeypatch, row):
    monkeypatch.setattr(_delimited, "_BLOCK", 37)
    cells, *_ = read_csv(Rows(b"a,y\n", row, 1), "a pipe", ",", "utf-8", Limit(5000))
    alone = next(csv.reader(io.StringIO(row.decode(), newline="")))
    assert cells.to_pydict() == {"a": [alone[0]] * 1000, "y": [alone[1]] * 1000}


def test_a_row_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(_delimited, "_BLOCK", 64)
    monkeypatch.setattr(_delimited, "LONGEST_ROW", 1000)
    with pytest.raises(ValueError, match="has a row of more than 1,000 bytes; are all quotes closed"):
        read_csv(Rows(b"a,y\n1,", b"2"), "a pipe", None, "utf-8", Limit(5))


def test_lines_that_end_as_on_old_machines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,y\r1,2\r3,4\r")
    assert read(str(path)).cells.to_pydict() == {"a": ["1", "3"], "y": ["2", "4"]}
    path.write_bytes("a,y\r\nö,2\r\n".encode("utf-16"))
    assert read(str(path), encoding="utf-16").cells.to_pydict() == {"a": ["ö"], "y": ["2"]}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", r"t\.csv is empty; give a table with a header"),
        ("t.csv", "\n\n", r"t\.csv is empty"),
        ("t.csv", "a,b\n", r"t\.csv has no rows; give at least one beside the header"),
        (
            "t.csv",
            "a,b\n1,2\n3\n",
            r"must have 2 cells in every row, as in its header; got 1 on line 3",
        ),
        ("t.csv", 'a,b\n1,"2\n3,4\n', r"has a quote that is never closed"),
        ("t.csv", "a\0b\n", r"is not a text file"),
        ("t.csv", "a,a\n1,2\n", r"must have a name for each column; 'a' occurs twice"),
        ("t.jsonl", "", r"t\.jsonl is empty; give one JSON object per line"),
        ("t.jsonl", "3\n", r"must hold a JSON object per row; row 0 \(0-based, line 1\) is not a JSON object"),
        ("t.jsonl", '{"a": 1}\n{"a": }\n', r"t\.jsonl is not JSON \(.*, line 2\)"),
        ("t.jsonl", '{"a": 1}\n{"a": "one"}\n', r"must have one type of content in each column"),
        ("t.json", "[{]", r"t\.json is not JSON"),
        ("t.json", "[]", r"t\.json is empty"),
        ("t.parquet", "no", r"t\.parquet is not a parquet file, or damaged"),
        ("t.feather", "no", r"t\.feather is not a feather file, or damaged"),
        ("t.npz", "no", r"t\.npz is not a file of plain NumPy arrays"),
        ("t.npy", "no", r"t\.npy is not a file of plain NumPy arrays"),
        ("t.xyz", "no", r"t\.xyz must end in one of \.csv, \.tsv"),
        ("t", "no", r"t must end in one of"),
        ("t.parquet.gz", "no", r"must end in one of"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path, name, content, message):
    path = write(tmp_path / name, content)
    with pytest.raises(ValueError, match=message):
        read(path)


def test_broken_archives(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(3))
    content = (tmp_path / "t.npz").read_bytes()
    (tmp_path / "t.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="is not a file of plain NumPy arrays"):
        read(str(tmp_path / "t.npz"))
    np.savez(tmp_path / "o.npz", X=np.array([{}, []], dtype=object))
    with pytest.raises(ValueError, match="is not a file of plain NumPy arrays"):
        read(str(tmp_path / "o.npz"))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.eye(3), "y": np.arange(2)}, "must hold arrays of one length; y has 2 rows and another has 3"),
        ({"a": np.array(3.0)}, "holds no array with a row per point"),
        ({"X": np.eye(2) * 1j}, "must hold real numbers or text; X has dtype complex128"),
        ({"X": np.empty((0, 2))}, "has no rows"),
    ],
)
def test_arrays_that_make_no_table(tmp_path, arrays, message):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read(str(tmp_path / "t.npz"))


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(OSError, match=r"cannot read .*no\.csv: there is no such file\."):
        read(str(tmp_path / "no.csv"))
    with pytest.raises(OSError, match=r"cannot read .*: no file matches the pattern"):
        read_many([str(tmp_path / "*.csv")])
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OSError, match=r"cannot read .*: it is a directory without .*; name the files in it"):
        read(str(tmp_path / "folder.csv"))


def test_formats_by_suffix():
    assert format_of("a/b.CSV") == "csv"
    assert format_of("b.tsv.gz") == "tsv"
    assert format_of("X.npy,y.npy") == "npy"


def test_a_column_that_was_probably_meant():
    table = Table(pa.table({"Species": ["a"], "size": ["1"]}), "t.csv", "csv")
    with pytest.raises(
        ValueError, match=r"t\.csv has no column 'specis', which --label names; did you mean 'Species'\?"
    ):
        table.check_column("specis", "--label")
    with pytest.raises(ValueError, match=r"its columns are 'Species', 'size'\."):
        table.check_column("zzz", "--label")


def test_changed_cells_keep_the_rest(tmp_path):
    table = read(write(tmp_path / "t.jsonl", '{"b": 1.50, "y": "cat"}\n{"b": 2, "y": "dog"}\n'))
    changed = table.replaced("y", np.array([1]), ["cat"])
    assert changed.column("y").to_pylist() == ["cat", "cat"]
    assert changed.lines is not None
    assert changed.lines.to_pylist() == ['{"b": 1.50, "y": "cat"}', '{"b": 2, "y": "cat"}']
    assert table.column("y").to_pylist() == ["cat", "dog"]


def test_arrow_is_handed_memory_of_its_own():
    """A thread of Arrow's that lets go of Python's memory while the interpreter ends would abort the process."""
    content = b"a,y\n" * 1000
    held = sys.getrefcount(content)
    files = [memory_file(content), memory_file(io.BytesIO(content))]
    assert sys.getrefcount(content) == held
    assert [file.read() for file in files] == [content, content]
