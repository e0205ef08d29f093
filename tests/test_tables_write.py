"""Tables to files: rows come back as they were, values in every format, and never half a file."""

from __future__ import annotations

import csv
import gzip
import json
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from pivotal.results.values import Values
from pivotal.tables import Table, check_target, read, write_frame, write_table, write_values
from pivotal.tables.targets import whole

CSV = 'code;name\n007;"a; b"\n1.50;"two\nlines"\n;"say ""hi"""\n'


def make_values(**more):
    return Values(
        [0.25, -0.5, 0.1], n_queries=4, full_utility=0.9, empty_utility=0.0, error_bound=1e-14, ids=list("abc"), **more
    )


def test_rows_of_csv_come_back_as_they_were_written(tmp_path):
    (tmp_path / "t.csv").write_text(CSV, encoding="utf-8")
    table = read(str(tmp_path / "t.csv"))
    write_table(table, str(tmp_path / "same.csv"))
    assert (tmp_path / "same.csv").read_text(encoding="utf-8") == CSV
    write_table(table.take([2, 0]), str(tmp_path / "some.csv"))
    assert (tmp_path / "some.csv").read_text(encoding="utf-8") == 'code;name\n;"say ""hi"""\n007;"a; b"\n'
    write_table(table.take([0]), str(tmp_path / "t.tsv"))
    assert (tmp_path / "t.tsv").read_text(encoding="utf-8") == "code\tname\n007\ta; b\n"


def test_rows_of_json_come_back_as_they_were_written(tmp_path):
    lines = ['{"b": 1.50, "a": [1, 2]}', '{"a": [3, 4],   "b": null}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines), encoding="utf-8")
    table = read(str(tmp_path / "t.jsonl"))
    write_table(table, str(tmp_path / "u.jsonl"))
    assert (tmp_path / "u.jsonl").read_text(encoding="utf-8") == "\n".join(lines) + "\n"
    write_table(table, str(tmp_path / "u.json"))
    assert json.loads((tmp_path / "u.json").read_text(encoding="utf-8")) == [json.loads(line) for line in lines]
    write_table(table, str(tmp_path / "u.csv"))
    assert (tmp_path / "u.csv").read_text(encoding="utf-8") == 'b,a\n1.5,"[1, 2]"\n,"[3, 4]"\n'


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_rows_of_binary_files_keep_their_types(tmp_path, kind):
    cells = pa.table({"x": pa.array([1, None, 3], pa.int16()), "e": [[1.0], [2.0], [3.0]], "y": ["a", "b", "c"]})
    write_table(Table(cells, "t", kind), str(tmp_path / f"t.{kind}"))
    table = read(str(tmp_path / f"t.{kind}"))
    assert table.cells.equals(cells)
    write_table(table.take([2]), str(tmp_path / f"u.{kind}"))
    assert read(str(tmp_path / f"u.{kind}")).cells.equals(cells.slice(2))


def test_rows_of_arrays(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(3, dtype=np.float32), y=np.array(["a", "b", "c"]))
    table = read(str(tmp_path / "t.npz"))
    write_table(table.take([2, 1]), str(tmp_path / "u.npz"))
    with np.load(tmp_path / "u.npz") as back:
        assert back["X"].tolist() == [[0, 0, 1], [0, 1, 0]]
        assert back["X"].dtype == np.float32
        assert back["y"].tolist() == ["c", "b"]
    write_table(table.take([2]), f"{tmp_path}/X.npy,{tmp_path}/y.npy")
    assert np.load(tmp_path / "X.npy").tolist() == [[0, 0, 1]]
    assert np.load(tmp_path / "y.npy").tolist() == ["c"]
    with pytest.raises(ValueError, match=r"two arrays need two files"):
        write_table(table, str(tmp_path / "only.npy"))
    with pytest.raises(ValueError, match=r"cannot be written as NumPy arrays"):
        write_table(Table(pa.table({"x": [1]}), "t.csv", "csv"), str(tmp_path / "t.npz"))


@pytest.mark.parametrize("kind", ["csv", "tsv", "json", "jsonl", "parquet", "feather", "csv.gz"])
@pytest.mark.parametrize("sampled", [False, True])
def test_values_in_every_format(tmp_path, kind, sampled):
    path = tmp_path / f"values.{kind}"
    values = make_values(standard_error=[0.1, 0.2, 0.3] if sampled else None)
    write_values(values, str(path))
    if kind.startswith("csv"):
        frame = pd.read_csv(path)
    elif kind == "tsv":
        frame = pd.read_csv(path, sep="\t")
    elif kind.startswith("json"):
        frame = pd.read_json(path, precise_float=True, lines=kind == "jsonl")
    elif kind == "parquet":
        frame = pd.read_parquet(path)
    else:
        frame = pyarrow.feather.read_table(path).to_pandas()
    expected = {
        "id": ["a", "b", "c"],
        "value": [0.25, -0.5, 0.1],
        "rank": [1, 3, 2],
        **({"standard_error": [0.1, 0.2, 0.3]} if sampled else {"error_bound": [1e-14] * 3}),
    }
    assert frame.to_dict("list") == expected
    assert list(frame.columns) == list(expected)


def test_values_in_parquet_can_be_loaded(tmp_path):
    values = make_values(settings={"k": 3})
    write_values(values, str(tmp_path / "v.parquet"))
    assert Values.load(tmp_path / "v.parquet").equals(values)


def test_values_that_are_of_no_game_have_no_bound(tmp_path):
    values = Values([1.0], n_queries=1, full_utility=None, empty_utility=None, error_bound=None)
    write_values(values, str(tmp_path / "v.csv"))
    assert (tmp_path / "v.csv").read_text(encoding="utf-8") == "id,value,rank\n0,1.0,1\n"


def test_results_are_no_arrays(tmp_path):
    for path in ("v.npz", "v.npy"):
        with pytest.raises(ValueError, match="results cannot be written to"):
            write_values(make_values(), str(tmp_path / path))
        with pytest.raises(ValueError, match="results cannot be written to"):
            write_frame(pd.DataFrame({"a": [1]}), str(tmp_path / path))
    assert not any(tmp_path.iterdir())


def test_numbers_that_json_lacks_are_null(tmp_path):
    write_frame(pd.DataFrame({"a": [1.0, float("nan"), float("inf")]}), str(tmp_path / "t.jsonl"))
    assert (tmp_path / "t.jsonl").read_text(encoding="utf-8") == '{"a": 1.0}\n{"a": null}\n{"a": null}\n'


@pytest.mark.parametrize("cell", ["=1+1", "+A1", "-A1", "@SUM(A1)", "\tx", "\rx", "-2+3"])
def test_formulas_are_guarded_on_request(tmp_path, cell):
    table = Table(pa.table({"=name": [cell, "-1.5", "+3", "fine", "1=1"]}), "t.csv", "csv")
    path = tmp_path / "t.csv"
    write_table(table, str(path), safe=True)
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row[0] for row in csv.reader(file)]
    assert rows == ["'=name", "'" + cell, "-1.5", "+3", "fine", "1=1"]
    write_table(table, str(path))
    with path.open(encoding="utf-8", newline="") as file:
        assert [row[0] for row in csv.reader(file)][1] == cell


def test_formulas_are_guarded_in_results(tmp_path):
    values = Values([-0.5], n_queries=1, full_utility=1.0, empty_utility=0.0, ids=["=cmd()"])
    write_values(values, str(tmp_path / "v.csv"), safe=True)
    assert (tmp_path / "v.csv").read_text(encoding="utf-8").splitlines()[1] == "'=cmd(),-0.5,1"


def test_gzip_is_reproducible(tmp_path):
    frame = pd.DataFrame({"a": [1, 2]})
    for name in ("one.csv.gz", "two.csv.gz"):
        write_frame(frame, str(tmp_path / name))
    one, two = ((tmp_path / name).read_bytes() for name in ("one.csv.gz", "two.csv.gz"))
    assert one == two
    assert gzip.decompress(one) == b"a\n1\n2\n"


def test_an_older_file_survives_a_failure(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(ZeroDivisionError), whole(str(path)) as stream:
        stream.write(b"half of it" * (1 // 0))
    assert path.read_text(encoding="utf-8") == "old"
    with pytest.raises(OSError, match=r"cannot write .*t\.csv: disk on fire; the file was left"), whole(str(path)):
        raise OSError(5, "disk on fire")
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("old", encoding="utf-8")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_frame(pd.DataFrame({"a": [1]}), str(tmp_path / "link.csv"))
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text(encoding="utf-8") == "a\n1\n"


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(IsADirectoryError, match="it is a directory"):
        check_target(str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"the directory .*no does not exist; create it first"):
        check_target(str(tmp_path / "no" / "t.csv"))
    (tmp_path / "t.csv").touch()
    (tmp_path / "link.csv").symlink_to(tmp_path / "t.csv")
    for path in ("t.csv", "link.csv"):
        with pytest.raises(ValueError, match="is read from and must not be written over"):
            check_target(str(tmp_path / path), [str(tmp_path / "t.csv")])
    check_target(str(tmp_path / "t.csv"), [str(tmp_path / "other.csv"), "-"])
    check_target("-", ["-"])
    check_target(os.devnull)


@pytest.mark.skipif(os.geteuid() == 0, reason="everything can be written by root")
def test_a_read_only_directory(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="is read-only; choose another"):
        check_target(str(tmp_path / "t.csv"))


text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@examples(60)
@given(st.lists(st.tuples(text, text.filter(bool)), min_size=1, max_size=5))
def test_any_text_survives_a_round_trip(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("trip") / "t.csv"
    columns = {name: [(*row, "end")[place] for row in rows] for place, name in enumerate("abc")}
    write_table(Table(pa.table(columns), "t.csv", "csv"), str(path))
    assert read(str(path), delimiter=",").cells.to_pydict() == columns
