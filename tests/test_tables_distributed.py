"""Tables in pieces, with threads for workers: features as on one machine, and what is refused in one sentence."""

from __future__ import annotations

import datetime as dt
import re
import tempfile
from fractions import Fraction
from functools import reduce

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from pivotal.tables import Roles, _medians, _pieces, prepare, read_many
from pivotal.tables._column_moments import Moments
from pivotal.tables._medians import add_counts, count_in, find_medians

pytest.importorskip("dask.array")

from pivotal.tables.distributed import load_distributed


def frame_of(n, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "key": [f"r{seed}-{i}" for i in range(n)],
            "size": rng.normal(size=n) * 1000 + 5,
            "count": rng.integers(0, 9, n),
            "flag": rng.integers(0, 2, n).astype(bool),
            "constant": np.full(n, 0.1),
            "colour": pa.array(rng.choice(["red", "green", "blue"], n)),
            "shade": pa.array(rng.choice(["light", "dark"], n)).dictionary_encode(),
            "vector": pa.array(list(rng.normal(size=(n, 3)).astype(np.float32))),
            "note": [f"note {seed}-{i}" for i in range(n)],
            "day": [dt.date(2024, 1, 1)] * n,
            "empty": pa.array([None] * n, pa.string()),
            "species": rng.choice(["cat", "dog", "emu"], n),
        }
    )


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(table, name, **how):
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), name, **how)
    return str(name)


def write_parts(folder, table, *lengths):
    """Write rows into files of this many rows each."""
    first = 0
    for number, length in enumerate(lengths):
        write(table.slice(first, length), folder / f"part{number}.parquet")
        first += length
    assert first == len(table)
    return str(folder / "part*.parquet")


def refused(paths, roles, test=None, **how):
    """Return the sentence."""
    with pytest.raises((ValueError, OSError)) as caught:
        load_distributed([paths] if isinstance(paths, str) else paths, test, roles, **how)
    return str(caught.value)


@pytest.mark.parametrize("scale", ["numbers", "all", "none"])
def test_features_are_those_of_one_machine(folder, scale):
    pattern = write_parts(folder, frame_of(60), 25, 5, 30)
    held_out = write(frame_of(12, seed=1).set_column(5, "colour", pa.array(["red", "plaid"] * 6)), "test.parquet")
    roles = Roles("species", id="key", scale=scale, categorical=["count"])
    far = load_distributed([pattern], [held_out], roles)
    near = prepare(read_many([pattern])[0], read_many([held_out])[0], roles)
    for name in ("X", "X_test"):
        there, here = getattr(far, name).compute(), getattr(near, name)
        assert (there.dtype, getattr(far, name).dtype) == (here.dtype, here.dtype)
        np.testing.assert_array_equal(there, here, strict=True)
    for name in ("y", "y_test", "ids"):
        assert getattr(far, name).compute().tolist() == getattr(near, name).tolist()
    assert far.X.chunks[0] == far.y.chunks[0] == far.ids.chunks[0] == (25, 5, 30)
    alike = {"text": "omitted: text with many different values"}
    expected = [(one.column, one.kind, alike.get(one.kind, one.done)) for one in near.treatments]
    assert [(one.column, one.kind, one.done) for one in far.treatments] == expected
    assert [name.rpartition("/")[2] for name in far.files] == [
        "part0.parquet",
        "part1.parquet",
        "part2.parquet",
        "test.parquet",
    ]


def test_vectors_alone_keep_their_type():
    table = write(frame_of(8).select(["vector", "species"]), "t.parquet")
    far = load_distributed([table], None, Roles("species", scale="all"))
    near = prepare(read_many([table])[0], None, Roles("species", scale="all"))
    assert far.X.dtype == far.X.compute().dtype == np.float32
    np.testing.assert_array_equal(far.X.compute(), near.X, strict=True)
    assert far.X_test is None
    assert far.ids is None


NUMBERS = st.one_of(
    st.integers(-3, 3).map(float),
    st.integers(-(10**9), 10**9).map(lambda n: n / 1000 + 1e9),
    st.floats(-1e140, 1e140),
    st.floats(-1e-130, 1e-130),
)


@given(st.lists(st.lists(NUMBERS, min_size=1, max_size=9), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_moments_are_exact_and_those_of_any_parts(parts, random):
    whole = [number for part in parts for number in part]
    moments = reduce(Moments.joined, [Moments.of(np.array(part)[:, np.newaxis]) for part in parts])
    random.shuffle(shuffled := list(whole))
    assert moments == Moments.of(np.array(shuffled)[:, np.newaxis])
    exact = [Fraction(number) if abs(number) >= 1e-140 else Fraction(0) for number in whole]
    assert moments.counts == [len(whole)]
    assert moments.mean == [float(sum(exact) / len(exact))]
    assert (moments.low, moments.high) == ([min(whole)], [max(whole)])
    variance = float(sum(number**2 for number in exact) / len(exact) - (sum(exact) / len(exact)) ** 2)
    if moments.deviation != [1.0]:
        assert moments.deviation == [np.sqrt(variance)]
    else:  # as StandardScaler has it: no more than rounding can make of one number
        blur = len(whole) * 2.0**-52
        assert variance in (0.0, 1.0) or variance <= blur * variance + (blur * float(sum(exact) / len(exact))) ** 2


def test_moments_of_many_rows_and_columns():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(10_000, 40)) * 10.0 ** rng.integers(-9, 9, 40)
    moments, scaler = Moments.of(rows), StandardScaler().fit(rows)
    parts = reduce(Moments.joined, map(Moments.of, np.split(rows, [1, 17, 5000])))
    assert (moments.totals, moments.squares) == (parts.totals, parts.squares)
    assert (moments.high == parts.high).all()
    assert (moments.low == parts.low).all()
    assert (np.abs(moments.mean - scaler.mean_) <= 1e-13 * np.abs(rows).max(axis=0)).all()
    np.testing.assert_allclose(moments.deviation, scaler.scale_, rtol=1e-12)


@given(st.lists(st.lists(NUMBERS, max_size=9), min_size=1, max_size=5).filter(any))
def test_medians_of_parts_are_those_of_the_whole(parts):
    whole = [number for part in parts for number in part]
    pieces = [{"a": np.array([*part, np.nan])} for part in parts]
    found = find_medians({"a": len(whole)}, lambda asked: add_counts([count_in(piece, asked) for piece in pieces]))
    assert found == {"a": np.median(whole)}


def test_medians_of_many_numbers_are_closed_in_on(monkeypatch):
    monkeypatch.setattr(_medians, "_FEW", 3)
    rng = np.random.default_rng(0)
    whole = 1.0 + rng.normal(size=5000) * 1e-9
    rounds = []

    def count(asked):
        rounds.append(asked)
        return count_in({"a": whole}, asked)

    assert find_medians({"a": 5000}, count) == {"a": np.median(whole)}
    assert len(rounds) > 2


@pytest.mark.parametrize("content", [0.1, 0.0, -3e7])
def test_a_constant_column_is_not_blown_up(content):
    column = np.full((1000, 1), content)
    moments = Moments.of(column[:333]).joined(Moments.of(column[333:]))
    assert moments.deviation.tolist() == StandardScaler().fit(column).scale_.tolist() == [1.0]


def columns_of(n):
    """Return strategies of columns with gaps, by what they hold."""

    def cells(strategy):
        return st.lists(st.none() | strategy, min_size=n, max_size=n)

    days = st.dates(dt.date(1999, 1, 1), dt.date(2024, 1, 1))
    return {
        "number": cells(st.floats(-1e6, 1e6, width=32)).map(lambda found: pa.array(found, pa.float64())),
        "count": cells(st.integers(0, 5)).map(lambda found: pa.array(found, pa.int64())),
        "flag": cells(st.booleans()).map(lambda found: pa.array(found, pa.bool_())),
        "word": cells(st.sampled_from(["u", "v", "w", "True", "TRUE", "?"])).map(
            lambda found: pa.array(found, pa.string())
        ),
        "day": cells(days).map(lambda found: pa.array(found, pa.date32())),
        "vector": st.lists(st.lists(st.floats(-9, 9, width=32), min_size=2, max_size=2), min_size=n, max_size=n).map(
            lambda found: pa.array(found, pa.list_(pa.float32()))
        ),
    }


@st.composite
def tables_in_pieces(draw):
    n = draw(st.integers(4, 30))
    columns = draw(st.fixed_dictionaries({}, optional=columns_of(n)).filter(bool))
    # The first rows say what a column is: some of them have content.
    columns = {name: pa.concat_arrays([_some_of(cells, name), cells]) for name, cells in columns.items()}
    table = pa.table(columns | {"y": [i % 2 for i in range(n + 3)]})
    cuts = sorted(draw(st.sets(st.integers(4, n + 2), max_size=4)))
    return table, [3 + 1, *cuts, n + 3] if cuts and cuts[0] > 4 else [*cuts, n + 3]


def _some_of(cells, name):
    some = {
        "number": [0.5, 7.25, 1e5],
        "count": [1, 2, 2],
        "flag": [True, False, True],
        "word": ["u", "u", "u"],
        "day": [dt.date(2000, 5, 1), dt.date(2003, 5, 1), dt.date(2001, 7, 1)],
        "vector": [[0.0, 1.0], [1.0, 0.5], [3.0, 0.0]],
    }
    return pa.array(some[name], cells.type)


@given(tables_in_pieces(), st.sampled_from(["numbers", "all", "none"]), st.integers(0, 4))
def test_features_are_the_same_however_the_rows_are_cut(cut, scale, n_test):
    table, ends = cut
    roles = Roles("y", scale=scale, dates=True, categorical=["word"] if "word" in table.column_names else [])
    with tempfile.TemporaryDirectory() as folder:
        firsts = [0, *ends[:-1]]
        for number, (first, end) in enumerate(zip(firsts, ends, strict=True)):
            write(table.slice(first, end - first), f"{folder}/part{number}.parquet")
        held_out = write(table.slice(2, 2 + n_test), f"{folder}/test.parquet")
        pattern = f"{folder}/part*.parquet"
        far = load_distributed([pattern], [held_out], roles)
        near = prepare(read_many([pattern])[0], read_many([held_out])[0], roles)
        for name in ("X", "X_test"):
            np.testing.assert_array_equal(
                getattr(far, name).compute(scheduler="sync"), getattr(near, name), strict=True
            )
    assert far.treatments == near.treatments


def test_pieces_do_not_matter(monkeypatch):
    table = write(frame_of(40), "t.parquet", row_group_size=6)
    whole = load_distributed([table], None, Roles("species"))
    monkeypatch.setattr(_pieces, "_PIECE_BYTES", 1)
    cut = load_distributed([table], None, Roles("species"))
    assert whole.X.chunks[0] == (40,)
    assert cut.X.chunks[0] == (6, 6, 6, 6, 6, 6, 4)
    np.testing.assert_array_equal(cut.X.compute(), whole.X.compute(), strict=True)


def test_names_tell_contents_apart():
    table = write(frame_of(20), "t.parquet")
    roles = Roles("species", id="key")
    first, again = (load_distributed([table], None, roles) for _ in range(2))
    other = load_distributed([table], None, Roles("species", scale="none"))
    for name in ("X", "y", "ids"):
        assert getattr(first, name).name == getattr(again, name).name
    assert other.X.name != first.X.name
    assert other.y.name == first.y.name
    write(frame_of(20, seed=1), "t.parquet")
    assert load_distributed([table], None, roles).y.name != first.y.name


def test_files_come_in_the_order_of_their_names(folder):
    for number in (0, 2, 10):
        write({"a": [float(number)] * 2, "y": [0, 1]}, f"part.{number}.parquet")
    far = load_distributed(["part.*.parquet"], None, Roles("y", scale="none"))
    assert far.X.compute()[:, 0].tolist() == [0, 0, 10, 10, 2, 2]
    far = load_distributed(
        ["part.2.parquet", "file://" + str(folder / "part.0.parquet")], None, Roles("y", scale="none")
    )
    assert far.X.compute()[:, 0].tolist() == [2, 2, 0, 0]


def test_folders(folder):
    for year in (2023, 2024):
        (folder / f"t/year={year}").mkdir(parents=True)
        write({"a": [year + 0.5, 0.25], "y": [0, 1]}, f"t/year={year}/part.parquet")
    (folder / "t/_SUCCESS").touch()
    write({"b": [1]}, "t/_hidden.parquet")
    far = load_distributed(["t"], None, Roles("y", scale="none"))
    assert far.X.compute().tolist() == [[2023.5, 2023], [0.25, 2023], [2024.5, 2024], [0.25, 2024]]
    (folder / "nothing").mkdir()
    assert refused("nothing", Roles("y")) == (
        "cannot read nothing: the directory has no Parquet files, whose names end in .parquet."
    )


def test_types_of_files_are_widened():
    write({"a": [1, 2], "b": pa.nulls(2), "y": [0, 1]}, "0.parquet")
    write({"y": [1, 0], "a": [0.5, 1.5], "b": ["u", "u"]}, "1.parquet")
    write({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string()), "y": pa.array([], pa.int64())}, "2.parquet")
    far = load_distributed(["*.parquet"], None, Roles("y", scale="none", ignore=["b"]))
    assert far.X.compute().tolist() == [[1], [2], [0.5], [1.5]]
    assert far.X.chunks[0] == (2, 2)
    assert "column 'b' of *.parquet has no content in its first rows" in refused("*.parquet", Roles("y"))


def test_files_that_do_not_go_together():
    write({"a": [1.0, 2.0], "y": [0, 1]}, "0.parquet")
    write({"a": ["one", "two"], "y": [0, 1]}, "1.parquet")
    told = refused("*.parquet", Roles("y"))
    assert re.fullmatch(
        r"column 'a' must be of one type in every file; it is double in \S+0\.parquet and string in \S+1\.parquet\. "
        r"Write one of them again\.",
        told,
    )
    write({"b": [1.0, 2.0], "y": [0, 1]}, "1.parquet")
    assert re.search(
        r"must have the same columns; \S+0\.parquet and \S+1\.parquet differ in 'a'", refused("*.parquet", Roles("y"))
    )


def test_all_rows_say_what_is_a_category(folder):
    # In the first file every word is different; in all of them, few are.
    words = [f"w{i}" for i in range(5)]
    table = pa.table({"word": words * 8, "note": [f"n{i}" for i in range(40)], "y": [0, 1] * 20})
    pattern = write_parts(folder, table, 5, 35)
    far = load_distributed([pattern], None, Roles("y"))
    assert [(one.kind, one.done) for one in far.treatments] == [
        ("category", "one-hot, 5 values"),
        ("text", "omitted: text with many different values"),
        ("label", "predicted, 2 classes"),
    ]
    assert (far.X.compute() == np.tile(np.eye(5), (8, 1))).all()
    assert "has no column that can be used as a feature beside 'y'" in refused(pattern, Roles("y", max_categories=4))
    assert refused(pattern, Roles("y", features=["word", "note"])) == (
        f"column 'note' of {pattern} cannot be a feature: it is text with too many different values; one-hot encode it "
        "with --categorical note."
    )
    assert "must repeat to be a category; 40 of 40 cells differ" in refused(pattern, Roles("y", categorical=["n*"]))


def test_more_categories_than_can_be_one_hot(folder):
    table = pa.table({"word": [f"w{i}" for i in range(1001)] * 3, "y": [0, 1, 1] * 1001})
    pattern = write_parts(folder, table, 1500, 1503)
    for roles in (Roles("y", categorical=["word"]), Roles("y", max_categories=2000)):
        assert refused(pattern, roles) == (
            f"column 'word' of {pattern} has more than 1000 different values, too many to one-hot encode; at most "
            "1000 are allowed. Group them, or --ignore it."
        )


def test_categories_of_any_type():
    table = pa.table({"a": [3, 1, 3, 2], "b": pa.array([[1], [2], [1], [1]]), "y": [0, 1, 0, 1]})
    path = write(table, "t.parquet")
    roles = Roles("y", categorical=["a", "b"])
    near = prepare(read_many([path])[0], None, roles)
    assert (load_distributed([path], None, roles).X.compute() == near.X).all()


GOOD = {"a": [0.5, 1.5, 2.5, 4.0], "y": [0, 1, 0, 1]}


@pytest.mark.parametrize(
    ("change", "roles", "message"),
    [
        (
            {"a": [0.5, None, np.nan, 1.0]},
            {"missing": "reject"},
            r"column 'a' of t.parquet must have no gaps with --missing reject; 2 of 4 cells",
        ),
        (
            {"c": ["u", "?", "v", "u"]},
            {"missing": "reject"},
            r"column 'c' of t.parquet must have no gaps with --missing reject; 1 of 4 cells",
        ),
        ({"d": ["31.12.2024"] * 4}, {"dates": True}, r"column 'd' of t.parquet must hold dates of one form"),
        (
            {"v": [[1e200]] * 4},
            {"scale": "all"},
            r"column 'v' of t.parquet must stay within 1e\+140 to be standardised",
        ),
        ({"a": [0.5, 1.0, np.inf, 1.0]}, {}, r"column 'a' of t.parquet must hold finite numbers; got inf in row 2 "),
        ({"v": [[1.0], [2.0], None, [3.0]]}, {}, r"column 'v' of t.parquet must hold a vector in every row; row 2 "),
        (
            {"y": [0, None, 0, 1]},
            {},
            r"t.parquet must have a label in every row; 1 of 4 have none in column 'y'\. Drop",
        ),
        ({"y": [0, 1, 2, 3]}, {}, r"column 'y' of t.parquet has a different label in each of its 4 rows.*regression"),
        ({"y": ["a", "b", "c", "d"]}, {}, r"has a different label in each of its 4 rows.*another column with --label"),
        (
            {"y": [0, 0.5, 0, 1]},
            {},
            r"column 'y' of t.parquet must name classes, and 0.5 in row 1",
        ),
        ({"y": [[0], [1], [0], [1]]}, {}, r"column 'y' of t.parquet holds vectors and cannot be --label"),
        ({}, {"label": "Y"}, r"t.parquet has no column 'Y', which --label names; did you mean 'y'\?"),
        ({}, {"id": "key"}, r"t.parquet has no column 'key', which --id names; its columns are 'a', 'y'"),
        ({"key": ["u", None, "v", "w"]}, {"id": "key"}, r"which --id names, must not have gaps; row 1 \(0-based\)"),
        ({}, {"features": ["b"]}, r"t.parquet has no column 'b', which --features names"),
        ({}, {"ignore": ["a"]}, r"t.parquet has no column that can be used as a feature beside 'y'"),
    ],
)
def test_what_is_refused(change, roles, message):
    write({**GOOD, **change}, "t.parquet")
    assert re.search(message, refused("t.parquet", Roles(**{"label": "y", **roles})))


def test_numbers_to_be_predicted():
    path = write({**GOOD, "y": [0.5, 1, 2, 3]}, "t.parquet")
    far = load_distributed([path], None, Roles("y"), regression=True)
    assert far.y.compute().tolist() == [0.5, 1, 2, 3]
    assert far.treatments[-1].done == "predicted, a number"
    write({**GOOD, "y": ["0.5", "1", "two", "3"]}, "t.parquet")
    assert re.search(
        r"must hold numbers for --utility regression; got 'two' in row 2", refused(path, Roles("y"), regression=True)
    )


def test_classes_are_numbers_only_where_all_are():
    path, held_out = write(GOOD, "t.parquet"), write({"a": [1.0, 2.0], "y": ["1", "one"]}, "test.parquet")
    assert load_distributed([path], None, Roles("y")).y.compute().tolist() == [0, 1, 0, 1]
    far = load_distributed([path], [held_out], Roles("y"))
    assert far.y.compute().tolist() == ["0", "1", "0", "1"]
    assert far.y_test.compute().tolist() == ["1", "one"]


def test_test_rows_need_the_same_columns():
    path = write({**GOOD, "v": [[1.0, 2.0]] * 4}, "t.parquet")
    for change, message in (
        ({"v": None}, "test.parquet has no column 'v', which t.parquet has; test rows need it too."),
        ({"y": None}, "test.parquet has no column 'y', which t.parquet has; test rows need it too."),
        (
            {"v": [[1.0]] * 4},
            "column 'v' must hold vectors of one length; got 2 numbers in t.parquet and 1 in the test",
        ),
        ({"a": [1.0, None, 1.0, 1.0]}, "column 'a' of test.parquet must have no gaps with --missing reject; 1 of 4"),
        ({"a": ["1", "2", "x", "4"]}, "column 'a' of test.parquet must hold numbers, as in training; got 'x' in row 2"),
        ({"y": [0, 1, None, 1]}, "test.parquet must have a label in every row; 1 of 4 have none in column 'y'."),
    ):
        cells = {**GOOD, "v": [[1.0, 2.0]] * 4, **change}
        write({name: cell for name, cell in cells.items() if cell is not None}, "test.parquet")
        assert message in refused(path, Roles("y", missing="reject"), ["test.parquet"])


def test_test_rows_need_no_more_than_what_is_used():
    table = pa.table({"word": ["u", "v"] * 10, "note": [f"n{i}" for i in range(20)], "y": [0, 1] * 10})
    path = write(table.append_column("nothing", pa.nulls(20, pa.int64())), "t.parquet")
    held_out = write(table.drop_columns(["note"]), "test.parquet")
    assert load_distributed([path], [held_out], Roles("y")).X_test.shape == (20, 2)
    write(table.drop_columns(["word"]), "test.parquet")
    assert "test.parquet has no column 'word'" in refused(path, Roles("y"), [held_out])


def test_vectors_of_different_lengths():
    write({"v": [[1.0, 2.0]] * 3, "y": [0, 1, 0]}, "0.parquet")
    write({"v": [[1.0]] * 3, "y": [0, 1, 0]}, "1.parquet")
    assert refused("*.parquet", Roles("y")) == (
        "column 'v' must hold vectors of one length; got 2 numbers in some rows and 1 in others."
    )


def test_names_of_rows_keep_their_type():
    path = write({**GOOD, "key": [7, 8, 9, 10]}, "t.parquet")
    ids = load_distributed([path], None, Roles("y", id="key")).ids
    assert ids.dtype == ids.compute().dtype == np.int64
    assert ids.compute().tolist() == [7, 8, 9, 10]


def test_files_that_cannot_be_read(folder):
    write(GOOD, "good.parquet")
    (folder / "bad.parquet").write_bytes(b"PAR1 no")
    pd.DataFrame(GOOD).to_csv("t.csv", index=False)
    write({"a": pa.array([], pa.float64()), "y": pa.array([], pa.int64())}, "none.parquet")
    for path, message in (
        ("no.parquet", "cannot read no.parquet: there is no such file."),
        ("x*.parquet", "cannot read x*.parquet: no file matches the pattern."),
        ("bad.parquet", "bad.parquet is not a parquet file, or damaged ("),
        (
            "t.csv",
            "with --scheduler tables are read from Parquet files; got t.csv. Convert it, or omit --scheduler.",
        ),
        ("*.csv", "with --scheduler tables are read from Parquet files; got"),
        ("-", "with --scheduler tables are read from Parquet files; got standard input."),
        ("none.parquet", "none.parquet has no rows; give at least one."),
    ):
        assert message in refused(path, Roles("y"))
    assert "bad.parquet is not a parquet file, or damaged (" in refused(["good.parquet", "bad.parquet"], Roles("y"))
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    write(twice, "twice.parquet")
    assert "must have a name for each column; 'a' occurs twice. Rename one." in refused("twice.parquet", Roles("y"))


def test_a_limit_on_rows_that_was_asked_for():
    path = write(GOOD, "t.parquet")
    assert len(load_distributed([path], None, Roles("y"), max_rows=4).X) == 4
    assert "t.parquet has 4 rows, more than the 3 that --max-rows allows" in refused(path, Roles("y"), max_rows=3)


def test_a_file_that_workers_do_not_see(folder):
    write(GOOD, "t.parquet")
    (file,) = _pieces._find("t.parquet")
    (folder / "t.parquet").unlink()
    with pytest.raises(OSError, match=r"^cannot read \S+t\.parquet: the workers do not find it; give a path that they"):
        _pieces._read_footer(file)


def test_a_file_that_is_damaged_further_on(folder):
    path = folder / "t.parquet"
    write({"a": np.random.default_rng(0).normal(size=1000), "y": [0, 1] * 500}, path)
    content = bytearray(path.read_bytes())
    content[4:2000] = b"\0" * 1996
    path.write_bytes(content)
    assert re.search(
        r"cannot read \S+t\.parquet: |t\.parquet is not a parquet file, or damaged", refused("t.parquet", Roles("y"))
    )


def test_any_file_system(folder):
    system = pytest.importorskip("fsspec").filesystem("memory")
    system.pipe("/distributed/t.parquet", (folder / write(GOOD, "t.parquet")).read_bytes())
    far = load_distributed(["memory://distributed/*.parquet"], ["memory://distributed"], Roles("y", scale="none"))
    assert far.X.compute()[:, 0].tolist() == far.X_test.compute()[:, 0].tolist() == GOOD["a"]
    assert far.files == ("memory:///distributed/t.parquet",)
    system.rm("/distributed", recursive=True)
