"""Every table that people have: folders of images, spreadsheets, databases, streams, data sets, amounts, dates."""

from __future__ import annotations

import datetime as dt
import sqlite3

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image

import pivotal
from pivotal.cli import main
from pivotal.tables import Roles, Table, prepare, read, write_table
from pivotal.tables.amounts import parse_amounts

FRAME = pd.DataFrame({"x": [1.5, 2.5, 3.5, 4.5], "word": ["a", "b", "a", "b"], "y": ["u", "v", "u", "v"]})


def written(**columns):
    return Table(pa.table({name: [str(cell) for cell in column] for name, column in columns.items()}), "t.csv", "csv")


def told(prepared):
    return {one.column: one.done for one in prepared.treatments}


def image_folder(folder, n=12):
    rng = np.random.default_rng(0)
    for place in range(n):
        home = folder / ("dark", "light")[place % 2]
        home.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 40, (16, 16, 3)) + 150 * (place % 2)
        pixels[:: 2 + place % 3] += 60 * (place % 2)
        pixels[:, :: 2 + place % 3] += 60 * (1 - place % 2)
        Image.fromarray(pixels.astype(np.uint8)).save(home / f"{place}.png")
    return folder


def save(kind, path):
    """Write FRAME in some format."""
    if kind == "xlsx":
        FRAME.to_excel(path, index=False)
    elif kind == "sqlite":
        with sqlite3.connect(path) as connection:
            FRAME.to_sql("t", connection, index=False)
        connection.close()
    elif kind == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(path)) as connection:
            connection.register("frame", FRAME)
            connection.execute("create table t as select * from frame")
    else:
        cells = pa.Table.from_pandas(FRAME, preserve_index=False)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, cells.schema) as writer:
            writer.write_table(cells)


@pytest.mark.parametrize("kind", ["xlsx", "sqlite", "duckdb", "arrows", "arrow", "db"])
def test_the_same_rows_from_every_format(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    save("duckdb" if kind == "db" else kind, path)
    prepared = prepare(read(str(path)), None, Roles("y"))
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    expected = prepare(read(str(tmp_path / "t.csv")), None, Roles("y"))
    assert np.array_equal(prepared.X, expected.X)
    assert prepared.y.tolist() == expected.y.tolist()


@pytest.mark.parametrize("kind", ["xlsx", "sqlite", "duckdb"])
def test_one_of_several_tables_is_named(tmp_path, kind):
    path = str(tmp_path / f"t.{kind}")
    other = pd.DataFrame({"z": [1, 2]})
    if kind == "xlsx":
        with pd.ExcelWriter(path) as book:
            FRAME.to_excel(book, sheet_name="t", index=False)
            other.to_excel(book, sheet_name="other one", index=False)
    else:
        save(kind, tmp_path / f"t.{kind}")
        connect = sqlite3.connect if kind == "sqlite" else pytest.importorskip("duckdb").connect
        connection = connect(path)
        connection.execute('create table "other one" as select 1 as z union all select 2 as z')
        connection.commit()
        connection.close()
    assert read(f"{path}::t").columns == ["x", "word", "y"]
    assert read(f"{path}::other one").columns == ["z"]
    with pytest.raises(ValueError, match=r"must be named; it has .*'other one'.*; name one, for example"):
        read(path)
    with pytest.raises(ValueError, match=r"has no (sheet|table) 'T2'; it has"):
        read(f"{path}::T2")
    if kind != "xlsx":
        assert len(read(f"{path}::select * from t where x > 2")) == 3
        with pytest.raises(ValueError, match="cannot be read as"):
            read(f"{path}::select * from nowhere")


@pytest.mark.parametrize("suffix", ["xlsx", "sqlite", "duckdb", "arrows"])
def test_damaged_files_are_one_sentence(tmp_path, suffix):
    (tmp_path / f"t.{suffix}").write_bytes(b"SQLite format 3\0 but nothing more" * 9)
    with pytest.raises(ValueError, match=rf"t\.{suffix}"):
        read(str(tmp_path / f"t.{suffix}"))


def test_too_many_rows_are_noticed_in_every_format(tmp_path):
    for kind in ("xlsx", "sqlite", "duckdb", "arrows"):
        save(kind, tmp_path / f"t.{kind}")
        with pytest.raises(ValueError, match="more than 3 rows"):
            read(str(tmp_path / f"t.{kind}"), max_rows=3)


def test_databases_are_neither_written_nor_changed(tmp_path, capsys):
    for kind in ("sqlite", "duckdb"):
        save(kind, tmp_path / f"t.{kind}")
    before = (tmp_path / "t.sqlite").read_bytes()
    table = str(tmp_path / "t.sqlite")
    assert main(["clean", table, "--label", "y", "--fix", str(tmp_path / "o.sqlite")]) == 2
    assert "rows are not written into databases" in capsys.readouterr().err
    assert main(["clean", f"{table}::t", "--label", "y", "--fix", str(tmp_path / "o.xlsx")]) == 0
    assert main(["clean", f"{table}::t", "--label", "y", "--fix", table]) == 2
    assert (tmp_path / "t.sqlite").read_bytes() == before
    for name in ("x", "word"):
        assert read(str(tmp_path / "o.xlsx")).column(name).to_pylist() == FRAME[name].tolist()


def test_spreadsheets_get_no_formulas(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    table = Table(pa.table({"x": ["=1+1", "b\x07c"], "y": [1, 2]}), "t", "frame")
    write_table(table, str(tmp_path / "t.xlsx"))
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    assert sheet["A2"].data_type == "s"
    assert read(str(tmp_path / "t.xlsx")).column("x").to_pylist() == ["=1+1", "b c"]


def test_a_folder_of_images_is_a_table(tmp_path, capsys):
    folder = image_folder(tmp_path / "photos", 90)
    table = read(str(folder))
    assert table.columns == ["path", "label"]
    assert sorted(set(table.column("label").to_pylist())) == ["dark", "light"]
    (folder / "dark" / "1.png").write_bytes((folder / "light" / "1.png").read_bytes())  # a wrong label
    out = tmp_path / "out"
    out.mkdir()
    assert main(["clean", str(folder), "--fix", str(out / "fixed.csv"), "-o", str(out / "s.csv")]) == 0
    assert "principal components of histograms" in capsys.readouterr().err
    fixed = pd.read_csv(out / "fixed.csv").set_index("path")["label"]
    assert fixed["../photos/dark/1.png"] == "light"  # which leads there from where the file is
    again = read(str(out / "fixed.csv"))
    assert again.folder is not None
    assert all((again.folder / path).is_file() for path in again.column("path").to_pylist())


def test_parts_of_an_image_folder_are_named(tmp_path):
    image_folder(tmp_path / "train")
    image_folder(tmp_path / "test")
    with pytest.raises(ValueError, match=r"holds parts, not classes; name one of them, such as .*train, and the test"):
        read(str(tmp_path))
    ready = pivotal.read_table(tmp_path / "train", test=tmp_path / "test")
    assert np.allclose(ready.X, ready.X_test, atol=1e-4)
    (tmp_path / "empty").mkdir()
    with pytest.raises(OSError, match="without folders of images"):
        read(str(tmp_path / "empty"))


def test_data_sets_of_hugging_face_from_a_folder(tmp_path):
    datasets = pytest.importorskip("datasets")
    pictures = [Image.fromarray(np.full((9, 9, 3), 20 * n, dtype=np.uint8)) for n in range(8)]
    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"]), "x": datasets.Value("float32")}
    )
    made = datasets.Dataset.from_dict({"image": pictures, "label": [0, 1] * 4, "x": np.arange(8.0)}, features=features)
    made.save_to_disk(tmp_path / "one")
    datasets.DatasetDict({"train": made, "test": made}).save_to_disk(tmp_path / "two")
    prepared = prepare(read(str(tmp_path / "one")), None, Roles("label", features=["image"]))
    assert prepared.y.tolist() == ["cat", "dog"] * 4
    assert "histograms" in told(prepared)["image"]
    assert prepared.images is not None
    assert all(isinstance(one, bytes) for one in prepared.images)
    with pytest.raises(ValueError, match=r"has the splits train, test; name one, such as .*train"):
        read(str(tmp_path / "two"))
    assert len(read(str(tmp_path / "two" / "train"))) == 8
    assert pivotal.read_table(made).y.tolist() == ["cat", "dog"] * 4
    with pytest.raises(ValueError, match="more than 3 rows"):
        read(str(tmp_path / "one"), max_rows=3)


def test_data_sets_of_hugging_face_by_name(tmp_path, monkeypatch):
    """The loader itself runs; the name is that of a folder, as there is no hub here."""
    pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    FRAME.to_csv(tmp_path / "mine" / "train.csv", index=False)
    FRAME.head(2).to_csv(tmp_path / "mine" / "test.csv", index=False)
    assert len(read("hf://mine#train")) == 4
    assert len(read("hf://mine#test")) == 2
    with pytest.raises(ValueError, match=r"has the splits train, test; name one, such as hf://mine#train"):
        read("hf://mine")


def test_a_table_without_a_header(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("1.5,a,u\n2.5,b,v\n3.5,a,u\n4.5,b,v\n", encoding="utf-8")
    table = read(str(path), header=False)
    assert table.columns == ["c0", "c1", "c2"]
    assert len(table) == 4
    assert table.row(0) == "row 0 (0-based, line 1)"
    write_table(table.take([0, 2]), str(tmp_path / "o.csv"))
    assert (tmp_path / "o.csv").read_text(encoding="utf-8") == "1.5,a,u\n3.5,a,u\n"
    write_table(table.take([0, 2]), str(tmp_path / "s.csv"), safe=True)
    assert (tmp_path / "s.csv").read_text(encoding="utf-8") == "1.5,a,u\n3.5,a,u\n"
    assert main(["value", str(path), "--no-header", "--label", "c2", "--quiet", "-o", str(tmp_path / "v.csv")]) == 0
    assert len(pd.read_csv(tmp_path / "v.csv")) == 4
    (tmp_path / "n.csv").write_text("1,2,3\n4,5,6\n7,8,9\n", encoding="utf-8")
    assert main(["value", str(tmp_path / "n.csv"), "--label", "y"]) == 2
    assert "If its first line is a row, and names no columns, say --no-header." in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig", "utf-32"])
def test_marks_say_how_a_file_is_written(tmp_path, encoding):
    text = FRAME.assign(word=["ä", "ö", "ä", "ö"]).to_csv(index=False)
    mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
    (tmp_path / "t.csv").write_bytes(mark + text.encode(encoding))
    assert read(str(tmp_path / "t.csv")).column("word").to_pylist() == ["ä", "ö", "ä", "ö"]


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["$1,250.50", "$3.00", "($4.25)", "-$5"], [1250.5, 3.0, -4.25, -5.0]),
        (["1.250,50 €", "3,00 €", "-4 €", "0,5 €"], [1250.5, 3.0, -4.0, 0.5]),
        (["5%", "12.5 %", "0%", "100%"], [0.05, 0.125, 0.0, 1.0]),
        (["1,000", "2,500", "10", "1,000,000"], [1000.0, 2500.0, 10.0, 1000000.0]),
        (["1 000", "2'500", "10", "1 000 000"], [1000.0, 2500.0, 10.0, 1000000.0]),
        (["45,5", "7,25", "3", "1,125"], [45.5, 7.25, 3.0, 1.125]),
        (["USD 3", "4 EUR", "5 CHF", "£6"], [3.0, 4.0, 5.0, 6.0]),
    ],
)
def test_numbers_as_people_write_them(texts, numbers):
    found, wrong = parse_amounts(texts)
    assert wrong is None
    assert found.tolist() == pytest.approx(numbers)
    table = written(price=texts, y=[0, 1, 0, 1])
    ready = prepare(table, None, Roles("y", numbers=["price"], scale="none"))
    assert ready.X.ravel().tolist() == pytest.approx(numbers)


def test_a_comma_that_may_mean_either_is_read_as_told():
    assert parse_amounts(["1,250", "3,500"])[0].tolist() == [1250.0, 3500.0]
    assert parse_amounts(["1,250", "3,500"], ",")[0].tolist() == [1.25, 3.5]


@pytest.mark.parametrize("cell", ["abc", "1.2.3,4,5", "(5", "5)", "12%%", "1" * 100])
def test_what_is_no_number_is_named(cell):
    table = written(price=["1%", cell, "3%"], y=[0, 1, 0])
    with pytest.raises(ValueError, match=r"'price' of t\.csv, which --numbers names, must hold numbers; got"):
        prepare(table, None, Roles("y", numbers=["price"]))


def test_amounts_are_offered_and_found_by_pattern():
    table = written(price=["$1.5", "$2.5", "$3", "$4"], word=["a", "b", "c", "d"], x=[1, 2, 3, 5], y=[0, 1, 0, 1])
    assert "say --numbers with the column's name to use them" in told(prepare(table, None, Roles("y")))["price"]
    ready = prepare(table, None, Roles("y", numbers=["*"]))
    assert told(ready)["price"] == "standardised; '$1.5' is read as 1.5"
    assert told(ready)["word"].startswith("kept to be looked at")


def test_a_comma_before_three_digits_is_no_separator_where_a_number_begins_with_a_zero():
    assert parse_amounts(["0,436", "1,234"])[0].tolist() == [0.436, 1.234]
    assert parse_amounts(["12,34,567", "1,000"])[0].tolist() == [1234567.0, 1000.0]  # as in India


@pytest.mark.parametrize("texts", [["1,250.50", "1.250,50"], ["1,234.5", "3,50"], ["1,2,3"], ["1.2.3"]])
def test_amounts_written_in_two_ways_are_refused(texts):
    numbers, wrong = parse_amounts(texts)
    assert wrong == len(texts) - 1
    assert np.isnan(numbers[-1])


def test_what_stands_before_decimals_is_learned_from_the_training_rows():
    train = written(price=["0,5 €", "1,25 €", "2 €", "3 €"], y=[0, 1, 0, 1])
    test = written(price=["1,250 €", "2,500 €"], y=[0, 1])
    ready = prepare(train, test, Roles("y", numbers=["price"], scale="none"))
    assert ready.X_test[:, 0].tolist() == [1.25, 2.5]
    alone = prepare(test, None, Roles("y", numbers=["price"], scale="none"))
    assert alone.X[:, 0].tolist() == [1250.0, 2500.0]
    assert told(alone)["price"] == "as it is; '1,250 €' is read as 1250"


def test_dates_are_offered_and_made_numbers():
    days = pd.date_range("2020-01-01", periods=800, freq="31h")
    y = (np.arange(800) % 2).tolist()
    table = Table(pa.table({"when": days, "x": np.arange(800.0) % 7, "y": y}), "t", "frame")
    assert told(prepare(table, None, Roles("y")))["when"] == "omitted; --dates makes features of it"
    ready = prepare(table, None, Roles("y", dates=True))
    assert told(ready)["when"] == "time passed, year as a circle, week as a circle, day as a circle"
    assert ready.X.shape == (800, 8)
    linear, circles = ready.X[:, 1], ready.X[:, 2:]
    assert abs(linear.mean()) < 1e-9
    assert linear.std() == pytest.approx(1.0)
    assert np.allclose(circles[:, 0::2] ** 2 + circles[:, 1::2] ** 2, 1.0)
    # Midnight is beside the minute before it, and Monday beside Sunday.
    hours = days.hour + days.minute / 60
    angle = np.arctan2(ready.X[:, 6], ready.X[:, 7]) % (2 * np.pi)
    assert np.allclose(angle, 2 * np.pi * hours / 24, atol=1e-6)
    asked = prepare(table, None, Roles("y", features=["when"]))
    assert np.array_equal(asked.X, ready.X[:, 1:])


@pytest.mark.parametrize(
    ("cells", "done"),
    [
        (["2020-01-05", "2020-06-01", "", "2021-12-31"], "time passed, year as a circle, week as a circle, 1 gap"),
        (["05.01.2020", "01.06.2020", "13.07.2020", "31.12.2021"], "time passed, year as a circle, week as a circle"),
        (["01/13/2020", "06/01/2020", "07/02/2020", "12/31/2021"], "time passed, year as a circle, week as a circle"),
        (["08:30", "9:15", "17:00", "23:59"], "day as a circle"),
        (["1 day", "2 days", "5 days", "9 days"], "time passed"),
    ],
)
def test_dates_in_text(cells, done):
    ready = prepare(written(when=cells, y=[0, 1, 0, 1]), None, Roles("y", dates=True))
    assert told(ready)["when"].startswith(done)


def test_dates_that_cannot_be_told_are_turned_down():
    table = written(when=["01/02/2020", "03/04/2020"], y=[0, 1])
    with pytest.raises(ValueError, match="cannot be told which is the day and which the month"):
        prepare(table, None, Roles("y", features=["when"]))
    dates = [dt.date(2020, 1, 1), None]
    with pytest.raises(ValueError, match="must have no gaps with --missing reject"):
        prepare(
            Table(pa.table({"w": dates, "y": [0, 1]}), "t", "frame"), None, Roles("y", dates=True, missing="reject")
        )


def test_test_dates_are_measured_as_training_dates_are():
    days = pd.date_range("2020-01-01", periods=20, freq="100D")
    tables = [Table(pa.table({"w": days[a:b], "y": [0, 1] * 5}), "t", "frame") for a, b in ((0, 10), (10, 20))]
    ready = prepare(tables[0], tables[1], Roles("y", dates=True))
    assert ready.X_test[0, 0] - ready.X[-1, 0] == pytest.approx(ready.X[1, 0] - ready.X[0, 0])


def test_rows_without_a_label_are_dropped_when_asked(tmp_path, capsys):
    path = tmp_path / "t.csv"
    FRAME.assign(y=["u", "", "v", "u"]).to_csv(path, index=False)
    assert main(["value", str(path), "--label", "y"]) == 2
    assert "--unlabelled drop" in capsys.readouterr().err
    out = str(tmp_path / "v.csv")
    assert main(["value", str(path), "--label", "y", "--unlabelled", "drop", "-o", out]) == 0
    assert "1 row without a label omitted" in capsys.readouterr().err
    assert sorted(pd.read_csv(out)["id"]) == [0, 2, 3]  # the numbers of the file
    assert pivotal.read_table(path, "y", unlabelled="drop").ids.tolist() == [0, 2, 3]
    FRAME.assign(y="").to_csv(path, index=False)
    assert main(["value", str(path), "--label", "y", "--unlabelled", "drop"]) == 2
    assert "must have labels; column 'y' has none" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "mapping", "file"])
def test_data_frames_of_every_kind_give_the_same(tmp_path, kind):
    frame = pd.DataFrame(
        {
            "age": [31.0, None, 47.0, 52.0, 18.0, 40.0] * 5,
            "city": ["Rome", "Oslo", None, "Rome", "Oslo", "Rome"] * 5,
            "note": [f"some words number {n} about {('rain', 'goals')[n % 2]}" for n in range(30)],
            "y": ["a", "b"] * 15,
        }
    )
    sources = {
        "pandas": lambda: frame,
        "polars": lambda: pytest.importorskip("polars").from_pandas(frame),
        "arrow": lambda: pa.Table.from_pandas(frame, preserve_index=False),
        "mapping": lambda: {name: frame[name].tolist() for name in frame},
        "file": lambda: tmp_path / "t.csv",
    }
    frame.to_csv(tmp_path / "t.csv", index=False)
    ready = pivotal.read_table(sources[kind](), "y", embed="tfidf")
    expected = pivotal.read_table(frame, "y", embed="tfidf")
    assert np.allclose(ready.X.toarray(), expected.X.toarray())
    assert "5 gaps filled with the median 40" in told(ready)["age"]
    found = pivotal.clean(sources[kind](), label="y", embed="tfidf", k=5, n_trees=10)
    assert found.settings["columns"]["note"].startswith("text, TF-IDF")
    assert len(found.scores) == 30


def test_rows_of_a_data_frame_keep_their_names():
    frame = FRAME.set_index(pd.Index(["p", "q", "r", "s"]))
    assert pivotal.read_table(frame, "y").ids.tolist() == ["p", "q", "r", "s"]
    assert pivotal.read_table(frame.assign(y=["u", None, "v", "u"]), "y", unlabelled="drop").ids.tolist() == [*"prs"]
    assert pivotal.read_table(frame, "y", id="word").ids.tolist() == ["a", "b", "a", "b"]


def test_tables_of_any_schema_of_duckdb(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "t.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.register("frame", FRAME)
        connection.execute("create table t as select * from frame; create schema s; create table s.u as from frame")
    with pytest.raises(ValueError, match=r"it has 't', 's\.u'; name one, for example '.*t\.duckdb::t'"):
        read(str(file))
    assert len(read(f"{file}::s.u")) == 4


@pytest.mark.parametrize("above", [["Report of 2024"], ["measures", None, "kind"]])
def test_titles_and_merged_cells_above_the_names_of_columns_are_refused(tmp_path, above):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (above, list(FRAME), *FRAME.itertuples(index=False, name=None)):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(ValueError, match=r"first row; that of column B is empty\. Delete titles above"):
        read(str(tmp_path / "t.xlsx"))
    FRAME.to_excel(tmp_path / "rows.xlsx")  # whose first column numbers the rows
    assert read(str(tmp_path / "rows.xlsx")).columns == ["", "x", "word", "y"]


def test_columns_of_data_frames_are_named_as_pandas_names_them():
    levels = pd.DataFrame(np.arange(8.0).reshape(4, 2), columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]))
    levels["y", ""] = FRAME.y
    assert [one.column for one in pivotal.read_table(levels, "y").treatments] == ["a.b", "a.c", "y"]
    assert [one.column for one in pivotal.read_table(levels, ("y", ""), ignore=[("a", "b")]).treatments][1] == "a.c"
    numbered = pd.DataFrame({0: [1.0, 2.0, 3.0, 4.0], 1: FRAME.y})
    assert pivotal.read_table(numbered, 1).y.tolist() == FRAME.y.tolist()


def test_types_that_only_pandas_has_are_columns_too():
    n = 40
    frame = pd.DataFrame(
        {
            "count": pd.array([1, None] * (n // 2), dtype="Int64"),
            "flag": pd.array([True, None, False, True] * (n // 4), dtype="boolean"),
            "arrow": pd.array(np.arange(n) / 3, dtype=pd.ArrowDtype(pa.float32())),
            "kind": pd.Categorical(["u", "v", None, "u"] * (n // 4)),
            "rare": pd.arrays.SparseArray(np.arange(n) % 3),
            "month": pd.period_range("2021-01", periods=n, freq="M"),
            "range": pd.interval_range(0, n),
            "y": ["a", "b"] * (n // 2),
        }
    )
    ready = pivotal.read_table(frame, "y", dates=True)
    kinds = {one.column: one.kind for one in ready.treatments}
    assert kinds == dict(
        zip(frame, ["number", "category", "number", "category", "number", "date", "text", "label"], strict=True)
    )
    assert np.isfinite(ready.X).all()


def test_a_lazy_frame_of_polars_is_a_table():
    polars = pytest.importorskip("polars")
    assert pivotal.read_table(polars.from_pandas(FRAME).lazy(), "y").X.shape == (4, 3)


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst"])
def test_compressed_tables_are_read_and_written(tmp_path, ending):
    table = written(x=["1.5", "2"], y=["a", "b"])
    file = tmp_path / f"t.csv.{ending}"
    write_table(table, str(file))
    assert not file.read_bytes().startswith(b"x,y")
    assert read(str(file)).cells.to_pydict() == {"x": ["1.5", "2"], "y": ["a", "b"]}
    lines = tmp_path / f"t.jsonl.{ending}"
    write_table(table, str(lines))
    assert read(str(lines)).columns == ["x", "y"]
    write_table(written(x=np.random.default_rng(0).random(500), y=np.arange(500)), str(file))
    file.write_bytes(file.read_bytes()[:2000])
    with pytest.raises(ValueError, match=rf"t\.csv\.{ending} is cut short or damaged"):
        read(str(file))


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("t.zip", "unpack it first"),
        ("t.parquet.gz", "unpack it"),
        ("t.pkl", "pickles can run code"),
        ("t.xls", "save it as .xlsx"),
        ("t.what", "rename it, or convert it"),
    ],
)
def test_files_that_are_not_read_say_what_to_do(tmp_path, name, fix):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(ValueError, match=f"which say how it is written; {fix}"):
        read(str(tmp_path / name))


def test_read_table_says_what_it_cannot_do():
    with pytest.raises(TypeError, match=r"must be a path, a data frame, an Arrow table or a mapping .*; got int"):
        pivotal.read_table(3)
    with pytest.raises(ValueError, match=r"label must name the column .*; its columns are 'x', 'word', 'y'\."):
        pivotal.read_table(FRAME)
    with pytest.raises(ValueError, match="unlabelled must be reject or drop"):
        pivotal.read_table(FRAME, "y", unlabelled="keep")
    with pytest.raises(ValueError, match=r"a row for each of 4 rows; got shape \(3, 2\)"):
        pivotal.read_table(FRAME, "y", embeddings=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="must be finite"):
        pivotal.read_table(FRAME, "y", embeddings=np.full((4, 2), np.nan))
    with pytest.raises(TypeError, match="unexpected keyword argument 'sharee'"):
        pivotal.clean(FRAME, "y", sharee=0.1)


def test_read_table_takes_vectors_and_several_files(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(4, 3))
    assert np.array_equal(pivotal.read_table(FRAME, "y", features=[], embeddings=vectors).X, vectors)
    FRAME.head(2).to_csv(tmp_path / "a.csv", index=False)
    FRAME.tail(2).to_csv(tmp_path / "b.csv", index=False)
    assert len(pivotal.read_table([tmp_path / "a.csv", tmp_path / "b.csv"], "y").y) == 4
    mixed = pd.DataFrame({"x": [1, "two", 3.5, None], "y": [0, 1, 0, 1]}, dtype=object)
    with pytest.raises(ValueError, match="must be all numbers or all text"):
        pivotal.read_table(mixed, "y")
