"""Tables to features: what each column is taken for, what is learned from training rows alone, what is turned down."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from effort import examples
from pivotal.tables import Prepared, Roles, Table, prepare, split
from pivotal.tables.columns import profile
from pivotal.tables.embedding import Embedding
from pivotal.tables.table import from_arrays


def kind_of(table, name, gaps, max_categories):
    return profile(table, [name], gaps, max_categories).kinds[name]


def written(name="train.csv", **columns):
    """Make a table as if it had been read from CSV: all cells are text."""
    cells = {key.replace("_", " "): pa.array([str(cell) for cell in column]) for key, column in columns.items()}
    return Table(pa.table(cells), name, "csv")


def typed(name="train.parquet", **columns):
    return Table(pa.table(columns), name, "parquet")


def treated(prepared: Prepared):
    return {one.column: (one.kind, one.done) for one in prepared.treatments}


def test_what_was_done_to_each_column():
    table = written(
        nr=[1, 2, 3, 4],
        id=[11, 12, 13, 14],
        age=["3.5", "NA", " 4 ", "-1e1"],
        colour=["red", "blue", "", "red"],
        note=["some words", "other words", "", "more of them"],
        photo=["a.png", "b.JPG", "", "c.webp"],
        vector=["[1, 2]", "[3, 4]", "[5, 6]", "[7, 8]"],
        empty=["", "NA", "?", "null"],
        y=["a", "b", "a", "b"],
    )
    prepared = prepare(table, None, Roles("y", ignore=["nr"]))
    assert treated(prepared) == {
        "nr": ("ignored", "omitted, as asked"),
        "id": ("rows", "omitted: it numbers the rows"),
        "age": ("number", "standardised, 1 gap filled with the median 3.5"),
        "colour": ("category", "one-hot, 2 values, 1 gap filled with the most frequent value"),
        "note": ("text", "kept to be looked at; --embed tfidf makes features of it"),
        "photo": ("image", "kept to be looked at; --embed histograms makes features of it"),
        "vector": ("vector", "2 numbers, as they are"),
        "empty": ("empty", "omitted: it has no content"),
        "y": ("label", "predicted, 2 classes"),
    }
    ages = StandardScaler().fit_transform([[3.5], [3.5], [4.0], [-10.0]])
    colours = [[0, 1], [1, 0], [0, 1], [0, 1]]
    assert np.allclose(prepared.X, np.hstack([ages, colours, [[1, 2], [3, 4], [5, 6], [7, 8]]]))
    assert prepared.y.tolist() == ["a", "b", "a", "b"]
    assert prepared.ids.tolist() == [0, 1, 2, 3]
    assert prepared.text == ["some words", "other words", "", "more of them"]
    assert prepared.images is not None
    assert prepared.images == ["a.png", "b.JPG", None, "c.webp"]


def test_types_of_the_file_are_taken_at_their_word():
    table = typed(
        x=pa.array([1, None, 3, 5]),
        flag=[True, False, True, None],
        zipcode=["02139", "10115", "02139", "10115"],
        kind=pa.array(["u", "v", "u", "v"]).dictionary_encode(),
        when=[dt.date(2020, 1, day) for day in range(1, 5)],
        lists=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]],
        words=[["a"], ["b"], ["c"], ["d"]],
        y=[1, 0, 1, 0],
    )
    prepared = prepare(table, None, Roles("y"))
    kinds = {name: kind for name, (kind, _) in treated(prepared).items()}
    assert kinds == {
        "x": "number",
        "flag": "category",
        "zipcode": "category",
        "kind": "category",
        "when": "date",
        "lists": "vector",
        "words": "other",
        "y": "label",
    }
    assert prepared.X.shape == (4, 1 + 2 + 2 + 2 + 2)
    assert prepared.y.dtype == np.int64


def test_all_that_is_learned_is_learned_from_training_rows():
    train = written(x=[0, 2, "NA"], colour=["red", "red", "blue"], y=[0, 1, 1])
    test = written("test.csv", extra=["?", "?"], colour=["green", ""], x=["", 100], y=[1, 0])
    prepared = prepare(train, test, Roles("y"))
    scaler = StandardScaler().fit([[0.0], [2.0], [1.0]])
    assert prepared.X_test is not None
    assert np.allclose(prepared.X_test[:, 0], scaler.transform([[1.0], [100.0]])[:, 0])
    assert prepared.X_test[:, 1:].tolist() == [[0.0, 0.0], [0.0, 1.0]]  # green is nobody; a gap is most often red
    assert prepared.y_test is not None
    assert prepared.y_test.tolist() == [1, 0]
    assert treated(prepared)["x"][1] == "standardised, 2 gaps filled with the median 1"


def test_scaling_can_be_switched_off_or_extended():
    table = typed(x=[0.0, 4.0], e=[[1.0, 5.0], [3.0, 9.0]], y=[0, 1])
    rows = {scale: prepare(table, None, Roles("y", scale=scale)).X.tolist() for scale in ("numbers", "all", "none")}
    assert rows["numbers"] == [[-1.0, 1.0, 5.0], [1.0, 3.0, 9.0]]
    assert rows["all"] == [[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]]
    assert rows["none"] == [[0.0, 1.0, 5.0], [4.0, 3.0, 9.0]]


def test_blocks_of_arrays_are_numbers(tmp_path):
    table = from_arrays({"X": np.array([[0.0, 1.0], [2.0, 5.0]]), "y": np.array([0, 1])}, "t.npz", "npz", tmp_path)
    prepared = prepare(table, None, Roles("y"))
    assert prepared.X.tolist() == [[-1.0, -1.0], [1.0, 1.0]]
    assert treated(prepared)["X"] == ("matrix", "2 numbers, standardised")


def test_features_by_name_and_by_pattern():
    table = written(pixel1=[1, 2, 4], pixel2=[3, 4, 6], other=[5, 6, 9], y=[0, 1, 1])
    prepared = prepare(table, None, Roles("y", features=["pixel*"]))
    assert prepared.X.shape == (3, 2)
    assert treated(prepared)["other"] == ("number", "omitted, not among the features")
    assert prepare(table, None, Roles("y", features=["other"])).X.shape == (3, 1)


def test_what_is_said_of_a_column_stands():
    table = written(
        code=[1, 2, 1, 3], id=[1, 2, 3, 4], word=["a", "b", "a", "b"], path=["x", "y", "x", "z"], y=list("abab")
    )
    prepared = prepare(
        table, None, Roles("y", categorical=["code"], text=["word"], image=["path"], features=["code", "id"])
    )
    kinds = {name: kind for name, (kind, _) in treated(prepared).items()}
    assert kinds == {"code": "category", "id": "number", "word": "text", "path": "image", "y": "label"}
    assert prepared.X.shape == (4, 4)


def test_ids_and_owners():
    table = written(key=["007", "008"], who=["ann", "bob"], x=[1, 2], y=[0, 1])
    prepared = prepare(table, None, Roles("y", id="key", owner="who"))
    assert prepared.ids.tolist() == ["007", "008"]
    assert prepared.owners is not None
    assert prepared.owners.tolist() == ["ann", "bob"]
    assert prepared.X.shape == (2, 1)
    numbers = prepare(typed(key=[7, 8], x=[1.0, 2.0], y=[0, 1]), None, Roles("y", id="key"))
    assert numbers.ids.tolist() == [7, 8]


def test_several_texts_are_read_together():
    table = written(title=list("stuv"), body=["a", "", "b", "c"], x=[1, 2, 3, 4], y=[0, 1, 1, 0])
    assert prepare(table, None, Roles("y")).text == [
        "title: s; body: a",
        "title: t",
        "title: u; body: b",
        "title: v; body: c",
    ]


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"x": range(30)}, "number"),
        ({"year": range(1990, 2020)}, "number"),
        ({"Row nr": range(100, 130)}, "rows"),
        ({"Unnamed: 0": [5, 3, 9]}, "rows"),
        ({"x": range(0, 60, 2)}, "number"),
        ({"x": [1, 2, 3]}, "number"),
        ({"Id": [5, 3, 9]}, "rows"),
        ({"index": [5, 3, 3]}, "number"),
        ({"x": ["a", "b", "a", "b"]}, "category"),
        ({"x": ["a", "b", "c", "a"]}, "text"),
        ({"x": ["[1", "[2"]}, "category"),
        ({"x": ["1", "2", "two"]}, "mixed"),
        ({"x": ["1", "two", "two", "three", "two"]}, "text"),
        ({"x": ["0x10", "1_000", "1_000", "0x10"]}, "category"),
    ],
)
def test_kinds_of_written_columns(columns, kind):
    (name,) = columns
    assert kind_of(written(**columns), name, {"", "NA"}, 50) == kind


def test_text_with_many_values_is_not_encoded():
    words = [f"w{number % 60}" for number in range(240)]
    assert kind_of(written(x=words), "x", (), 50) == "text"
    assert kind_of(written(x=words), "x", (), 60) == "category"


@pytest.mark.parametrize(
    ("table", "roles", "message"),
    [
        (written(x=[1, 2], y=[0, 1]), Roles("z"), "has no column 'z', which --label names"),
        (written(x=[1, 2], y=[0, 1]), Roles("y", id="z"), "has no column 'z', which --id names"),
        (written(x=[1, 2], y=[0, 1]), Roles("y", owner="z"), "which --owner names"),
        (written(x=[1, 2], y=[0, 1]), Roles("y", features=["z"]), "which --features names"),
        (written(x=[1, 2], y=[0, 1]), Roles("y", ignore=["z*"]), "which --ignore names"),
        (written(x=[1, 2], y=[0, 1]), Roles("y", categorical=["z"]), "which --categorical names"),
        (written(x=[1, 2], y=[0, 1]), Roles("y", ignore=["x"]), "has no column that can be used as a feature"),
        (
            written(x=["a", "b", "c"], y=[0, 1, 1]),
            Roles("y", embedding=Embedding.of("none")),
            "has no column that can be used as a feature",
        ),
        (
            written(x=[1, 2, "three"], y=[0, 1, 1]),
            Roles("y"),
            "must be all numbers or all text; 1 of 3 cells are not numbers, such as 'three' in row 2",
        ),
        (written(x=[1, "inf"], y=[0, 1]), Roles("y"), "must hold finite numbers; got inf in row 1"),
        (
            written(x=[1, ""], y=[0, 1]),
            Roles("y", missing="reject"),
            "must have no gaps with --missing reject; 1 of 2 cells are empty, the first in row 1",
        ),
        (
            written(x=["a", "b", "c"], y=[0, 1, 1]),
            Roles("y", features=["x"], embedding=Embedding.of("none")),
            "too many different values; omit --embed none",
        ),
        (
            written(x=["1,5", "2,5", "3,5"], y=[0, 1, 1]),
            Roles("y", features=["x"]),
            "cannot be a feature.*decimal comma",
        ),
        (
            written(x=range(1001), z=range(1001), y=[0, 1] * 500 + [0]),
            Roles("y", categorical=["x"]),
            "has 1001 different values, too many to one-hot encode",
        ),
        (
            typed(x=[[1.0], [1.0, 2.0]], y=[0, 1]),
            Roles("y"),
            r"vectors of one length; the first has 1 numbers, and that in row 1 \(0-based\) has 2",
        ),
        (
            typed(x=[[1.0], None], y=[0, 1]),
            Roles("y"),
            r"must hold a vector in every row; row 1 \(0-based\) has none",
        ),
        (
            typed(x=[[1.0], [float("nan")]], y=[0, 1]),
            Roles("y"),
            r"must hold finite numbers; row 1 \(0-based\) does not",
        ),
        (
            written(x=["[1]", "[a]"], y=[0, 1]),
            Roles("y"),
            r"must hold lists of numbers; row 1 \(0-based\) does not",
        ),
        (written(x=[1, 2], y=[0, ""]), Roles("y"), "must have a label in every row; 1 of 2 have none"),
        (typed(x=[1, 2], y=[0.0, float("nan")]), Roles("y"), "must have a label in every row"),
        (written(x=[1, 2, 3], y=[5, 7, 6]), Roles("y"), "different label in each of its 3 rows.*--utility regression"),
        (written(x=[1, 2, 3], y=list("abc")), Roles("y"), "choose another column with --label"),
        (
            written(x=[1, 2, 3], y=[0.5, 1, 1]),
            Roles("y"),
            "must name classes, and 0.5 in row 0 .* is a number; use --utility",
        ),
        (typed(x=[1, 2], y=[[1], [2]]), Roles("y"), "holds vectors and cannot be --label"),
        (written(x=[1, 2], k=["a", ""], y=[0, 1]), Roles("y", id="k"), "which --id names, must not have gaps; row 1"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(table, roles, message):
    with pytest.raises(ValueError, match=message):
        prepare(table, None, roles)


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (written(x=[1, 2], y=[0, 1]), written("test.csv", y=[0]), "test.csv has no column 'x', which train.csv has"),
        (written(x=[1, 2], y=[0, 1]), written("test.csv", x=[1]), "test.csv has no column 'y'"),
        (
            written(x=[1, 2], y=[0, 1]),
            written("test.csv", x=["one"], y=[0]),
            "column 'x' of test.csv must hold numbers, as in training; got 'one' in row 0",
        ),
        (
            typed(x=[[1.0], [2.0]], y=[0, 1]),
            typed("test.parquet", x=[[1.0, 2.0]], y=[0]),
            "vectors of one length; got 1 numbers in train.parquet and 2 in the test rows",
        ),
    ],
)
def test_test_rows_must_be_like_training_rows(train, test, message):
    with pytest.raises(ValueError, match=message):
        prepare(train, test, Roles("y"))


def test_labels_of_both_tables_are_of_one_kind():
    train, test = written(x=[1, 2], y=["1", "2"]), written("test.csv", x=[1, 2], y=["2", "three"])
    prepared = prepare(train, test, Roles("y"))
    assert prepared.y.tolist() == ["1", "2"]
    assert prepared.y_test is not None
    assert prepared.y_test.tolist() == ["2", "three"]


def test_numbers_to_be_predicted():
    prepared = prepare(written(x=[1, 2], y=["1.5", "2"]), None, Roles("y"), regression=True)
    assert prepared.y.tolist() == [1.5, 2.0]
    assert treated(prepared)["y"] == ("label", "predicted, a number")
    for wrong in ("two", "NA", "inf"):
        with pytest.raises(ValueError, match=f"must hold numbers for --utility regression; got '{wrong}' in row 1"):
            prepare(written(x=[1, 2], y=["1.5", wrong]), None, Roles("y"), regression=True)


def test_rows_are_held_out_by_class():
    table = written(x=range(40), y=["a", "b", "b", "b"] * 10)
    kept, held_out = split(table, "y", 0.2, 0)
    assert sorted([*kept, *held_out]) == list(range(40))
    labels = np.array(table.column("y").to_pylist())
    assert sorted(labels[held_out]) == ["a"] * 2 + ["b"] * 6
    assert np.array_equal(split(table, "y", 0.2, 0)[1], held_out)
    assert not np.array_equal(split(table, "y", 0.2, 1)[1], held_out)


def test_rows_are_held_out_where_classes_are_rare():
    kept, held_out = split(written(x=[1, 2, 3], y=["a", "b", "c"]), "y", 0.3, 0)
    assert (len(kept), len(held_out)) == (2, 1)


def test_rows_keep_the_numbers_they_had():
    table = written(nr=range(50), x=[*range(49), "z"], y=[0, 1] * 25)
    prepared = prepare(table.take(range(0, 48, 2)), None, Roles("y", ignore=["x"], features=["nr"]))
    assert prepared.ids.tolist() == list(range(0, 48, 2))
    assert kind_of(table.take([0, *range(3, 40, 2)]), "nr", (), 50) == "rows"
    with pytest.raises(ValueError, match=r"such as 'z' in row 49 \(0-based\)"):
        prepare(table.take([3, 4, 5, 49]), None, Roles("y"))


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, 2.0, float("nan")])
def test_a_share_is_between_0_and_1(share):
    with pytest.raises(ValueError, match="--split must be a share between 0 and 1"):
        split(written(x=[1, 2], y=[0, 1]), "y", share, 0)


def test_a_table_can_be_too_small_to_split():
    with pytest.raises(ValueError, match="too few rows to hold out 20% of them; got 1"):
        split(written(x=[1], y=[0]), "y", 0.2, 0)


numbers = st.one_of(st.floats(-1e6, 1e6), st.just(float("nan")))


@examples(25)
@given(st.lists(numbers, min_size=2, max_size=12).filter(lambda column: not all(np.isnan(column))))
def test_numbers_survive_being_written(column):
    cells = ["" if np.isnan(number) else repr(number) for number in column]
    one = prepare(written(x=cells, z=range(0, 3 * len(cells), 3), y=["a"] * len(cells)), None, Roles("y"))
    other = prepare(
        typed(x=pa.array(column, from_pandas=True), z=range(0, 3 * len(cells), 3), y=["a"] * len(cells)),
        None,
        Roles("y"),
    )
    assert np.array_equal(one.X, other.X)
    assert np.isfinite(one.X).all()
