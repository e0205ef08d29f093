"""The same rows give the same features and values whatever the format they come in, pivotal's own output among them."""

from __future__ import annotations

import csv
import string

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from effort import examples
from pivotal import value
from pivotal.cli import main
from pivotal.tables import Roles, Table, prepare, read, write_table

FORMATS = ("csv", "tsv", "csv.gz", "parquet", "feather", "json", "jsonl")
N_ROWS = 12


def columns() -> st.SearchStrategy[list[object]]:
    """Columns of every kind that the formats have in common, with gaps or without."""
    digits = st.text("0123456789", min_size=4, max_size=4)
    kinds: list[st.SearchStrategy[object]] = [
        st.integers(-5, 5),
        st.integers(-(2**62), 2**62),
        st.floats(-1e6, 1e6, allow_subnormal=False),
        st.booleans(),
        st.sampled_from(["red", "blue", "TRUE", "a, b", 'say "hi"', "two\nlines", " padded", "ö"]),
        digits,  # codes: some have leading zeros
        digits.map("+4930".__add__),
        st.dates().map(str),
        st.sampled_from(["true", "false"]),
        st.text(string.printable, max_size=5),
        st.sampled_from(["1,5", "2,25", "3"]),
        st.sampled_from(["[1, 2]", "[3, 4.5]"]),
    ]

    def column(cells: st.SearchStrategy[object]) -> st.SearchStrategy[list[object]]:
        whole = st.lists(cells, min_size=N_ROWS, max_size=N_ROWS)
        return whole | st.lists(cells | st.none(), min_size=N_ROWS, max_size=N_ROWS)

    return st.one_of([column(cells) for cells in kinds])


def all_formats(folder, columns):
    """Write columns with other libraries, and what is read of them again with pivotal, in all formats."""
    cells = pa.table(columns)
    pq.write_table(cells, folder / "arrow.parquet")
    pyarrow.feather.write_feather(cells, folder / "arrow.feather")
    with (folder / "python.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(cells.column_names)
        writer.writerows(zip(*cells.to_pydict().values(), strict=True))
    for source in ("python.csv", "arrow.parquet"):
        for kind in FORMATS:
            write_table(read(str(folder / source)), str(folder / f"{source}.{kind}"))
    return sorted(folder.iterdir())


def outcome(path):
    try:
        ready = prepare(read(str(path)), None, Roles("y"))
    except ValueError as error:
        return type(error)
    kinds = [(one.column, one.kind, one.done) for one in ready.treatments]
    return kinds, ready.X.tolist(), [str(label) for label in ready.y]


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(columns(), min_size=1, max_size=4))
def test_one_frame_in_all_formats_gives_the_same_features(tmp_path_factory, drawn):
    folder = tmp_path_factory.mktemp("formats")
    made = {f"c{place}": cells for place, cells in enumerate(drawn)}
    first, *others = all_formats(folder, made | {"sure": np.arange(N_ROWS) % 5 / 7, "y": ["a", "b", "c"] * 4})
    expected = outcome(first)
    for path in others:
        assert outcome(path) == expected, path.name


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([True, False] * 10, "category"),
        (["00123", "10115", "00501", "99999"] * 5, "category"),
        ([f"+49301234{number:03d}" for number in range(20)], "text"),
        (["2024-01-05", "2024-02-29"] * 10, "date"),
        (["2024-01-05T10:00:00Z", "2024-02-29 23:59:59.5"] * 10, "date"),
        ([f"{number}.5" for number in range(20)], "number"),
        ([f"{number}" for number in range(2**60, 2**60 + 20)], "number"),
        (["1,5", "2,5"] * 10, "category"),
    ],
)
def test_one_rule_for_each_kind_of_cell(tmp_path, cells, kind):
    for path in all_formats(tmp_path, {"c": cells, "x": np.arange(20) % 7, "y": [0, 1] * 10}):
        ready = prepare(read(str(path)), None, Roles("y"))
        assert {one.column: one.kind for one in ready.treatments}["c"] == kind, path.name


def test_numbers_and_truth_values_keep_their_types(tmp_path):
    (tmp_path / "t.csv").write_text(
        "i,f,flag,code,gap,word,big\n1,0.1,true,007,NA,x,18446744073709551617\n-2,3e5,FALSE,008,2,,1\n",
        encoding="utf-8",
    )
    write_table(read(str(tmp_path / "t.csv")), str(tmp_path / "t.parquet"))
    back = read(str(tmp_path / "t.parquet")).cells
    assert back.to_pydict() == {
        "i": [1, -2],
        "f": [0.1, 3e5],
        "flag": [True, False],
        "code": ["007", "008"],
        "gap": [None, 2],
        "word": ["x", ""],
        "big": ["18446744073709551617", "1"],
    }


@pytest.fixture(
    scope="module",
    params=[
        ["select", "-n", "30", "--no-estimate", "-o"],
        ["remove", "--share", "0.25", "-o"],
        ["clean", "--trees", "0", "--drop"],
    ],
    ids=lambda command: command[0],
)
def written(request, tmp_path_factory):
    """What a command writes as CSV, and what writes the same elsewhere."""
    folder = tmp_path_factory.mktemp("written")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)).round(6), columns=list("abc"))
    frame = frame.assign(flag=rng.random(40) < 0.5, zip=[f"{code:05d}" for code in rng.integers(0, 9, 40)])
    frame.assign(y=(frame["a"] + rng.normal(size=40) > 0).astype(int)).to_csv(folder / "t.csv", index=False)
    name, *options = request.param

    def write(out):
        assert main([name, str(folder / "t.csv"), "--label", "y", "--quiet", *options, str(out)]) == 0

    write(folder / "plain.csv")
    return prepare(read(str(folder / "plain.csv")), None, Roles("y")), write


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "feather", "json", "jsonl", "csv.gz"])
def test_pivotal_reads_its_own_output(tmp_path, written, kind):
    same, write = written
    out = tmp_path / f"out.{kind}"
    write(out)
    ready = prepare(read(str(out)), None, Roles("y"))
    assert np.array_equal(ready.X, same.X)
    assert np.array_equal(value(ready.X, ready.y).values, value(same.X, same.y).values)
    assert main(["value", str(out), "--label", "y", "--quiet"]) == 0


def test_arrays_in_formats_without_arrays(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(12, 3)), ["a", "b", "c"] * 4
    np.savez(tmp_path / "t.npz", X=X, y=y)
    table = read(str(tmp_path / "t.npz"))
    expected = prepare(table, None, Roles("y")).X
    for kind in FORMATS:
        write_table(table, str(tmp_path / f"t.{kind}"))
        assert np.array_equal(prepare(read(str(tmp_path / f"t.{kind}")), None, Roles("y")).X, expected), kind


def test_decimal_commas_are_read_where_they_are_named(tmp_path):
    cells = ["45,0", "1.234,5", "-3", "7,25"]
    (tmp_path / "t.csv").write_text("x;y\n" + "".join(f"{c};{n % 2}\n" for n, c in enumerate(cells)), encoding="utf-8")
    told = prepare(read(str(tmp_path / "t.csv"), decimal=","), None, Roles("y", scale="none"))
    assert told.X.tolist() == [[45.0], [1234.5], [-3.0], [7.25]]
    with pytest.raises(
        ValueError, match=r"no column that can be used as a feature .*'x' is text, kept to be looked at: "
    ):
        prepare(read(str(tmp_path / "t.csv")), None, Roles("y"))
    with pytest.raises(ValueError, match=r"--decimal must be \. or ,"):
        read(str(tmp_path / "t.csv"), decimal="x")


@pytest.mark.parametrize(
    ("cell", "how"),
    [
        ("45,5", "numbers with a decimal comma such as '45,5'; say --decimal ,"),
        ("0,125", "numbers with a decimal comma such as '0,125'; say --decimal ,"),
        ("1,000", "numbers with thousands separators or decimal commas such as '1,000'; say --numbers"),
        ("1,234,567", "numbers with thousands separators such as '1,234,567'; say --numbers"),
        ("1,234,567.5", "numbers with thousands separators such as '1,234,567.5'; say --numbers"),
        ("5%", "percentages such as '5%'; say --numbers"),
        ("$3.50", "amounts of money such as '$3.50'; say --numbers"),
        ("3,50 €", "amounts of money"),
        ("($1,250.00)", "amounts of money such as '($1,250.00)'; say --numbers"),
        ("$-0.66", "amounts of money"),
        ("1 250 kr", "amounts of money"),
        ("1'250.50", 'numbers with thousands separators such as "1\'250.50"; say --numbers'),
        ("1\u202f250\u202f000", "numbers with thousands separators"),
        ("(12.5)", "numbers in parentheses, which are negative, such as '(12.5)'; say --numbers"),
    ],
)
def test_why_a_column_of_amounts_is_not_used_is_said(cell, how):
    cells = pa.table({"x": [cell, "1", cell, "0"], "z": ["1", "2", "3", "5"], "y": ["a", "b", "a", "b"]})
    ready = prepare(Table(cells, "t.csv", "csv"), None, Roles("y"))
    assert how in {one.column: one.done for one in ready.treatments}["x"]
    if "say --numbers" in how and "decimal commas" not in how:  # what is offered is also read
        asked = prepare(Table(cells, "t.csv", "csv"), None, Roles("y", numbers=["x"]))
        assert "is read as" in {one.column: one.done for one in asked.treatments}["x"]
