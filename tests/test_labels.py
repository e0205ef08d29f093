"""Labels: classes that are told from amounts, integers that stay apart, and labels that training does not know."""

from __future__ import annotations

import decimal
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pivotal import find_label_errors, value
from pivotal.cli import main
from pivotal.core.label_encoding import LabelEncoding
from pivotal.core.labels import ClassCodes, as_labels, look_like_amounts
from pivotal.tables import Roles, Table, prepare

RNG = np.random.default_rng(0)
AMOUNTS = {
    "prices": RNG.integers(50_000, 900_000, 300),
    "ages": RNG.integers(18, 90, 500),
    "scores": RNG.integers(0, 101, 200),
    "many ages": RNG.integers(17, 91, 5000),
    "mostly zero": np.where(RNG.random(600) < 0.8, 0, RNG.integers(1, 10**6, 600)),
    "floats": RNG.integers(100, 400, 200).astype(float),
    "one by one": RNG.integers(50_000, 900_000, 300).astype(object),
    "decimals": np.array([decimal.Decimal(int(n)) for n in RNG.integers(100, 9999, 100)], dtype=object),
    "unsigned": RNG.integers(0, 2**40, 60).astype(np.uint64),
}
CLASSES = {
    "two": np.arange(300) % 2,
    "from 1": 1 + np.arange(300) % 7,
    "a hundred of five": np.arange(500) % 100,
    "a thousand": np.arange(20_000) % 1000,
    "few of any numbers": np.array([3, 17, 99, 1000])[np.arange(40) % 4],
    "30 of any numbers": 1000 + 7 * (np.arange(300) % 30),
    "three points": np.arange(3),
    "fifteen points": 10 * np.arange(15),
}


def features(y):
    return np.random.default_rng(1).normal(size=(len(y), 2))


@pytest.mark.parametrize("name", AMOUNTS)
def test_amounts_are_not_classes(name, tmp_path, capsys):
    y = AMOUNTS[name]
    X = features(y)
    for compute, fix in ((value, "utility"), (find_label_errors, "task")):
        with pytest.raises(ValueError, match=rf"look like amounts.*{fix}=\"regression\".*y\.astype\(str\)"):
            compute(X, y)
    pd.DataFrame(X, columns=["a", "b"]).assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    for command in ("value", "clean"):
        assert main([command, str(tmp_path / "t.csv"), "--label", "y", "--quiet"]) == 2
        assert re.search("say --classes|different label in each", capsys.readouterr().err)


@pytest.mark.parametrize("name", CLASSES)
def test_classes_are_not_amounts(name):
    numbers, counts = np.unique(CLASSES[name], return_counts=True)
    assert not look_like_amounts(numbers, counts)
    assert len(ClassCodes.of(as_labels(CLASSES[name], "y")).classes) == len(numbers)


def test_amounts_that_are_classes_can_be_said_to_be(tmp_path):
    y = np.repeat(RNG.choice(10**6, 100, replace=False), 5)
    X = features(y)
    by_text = value(X, y.astype(str)).values
    assert np.array_equal(value(X, y, classes=np.unique(y)).values, by_text)
    assert find_label_errors(X, y.astype(str), n_trees=0).scores.shape == (500,)
    assert find_label_errors(X, y, n_trees=0, task="classification").scores.shape == (500,)
    pd.DataFrame(X, columns=["a", "b"]).assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    arguments = [str(tmp_path / "t.csv"), "--label", "y", "--classes", "--quiet"]
    assert main(["value", *arguments, "--scale", "none", "-o", str(tmp_path / "v.csv")]) == 0
    assert np.allclose(pd.read_csv(tmp_path / "v.csv")["value"], by_text, atol=1e-9)
    assert main(["clean", *arguments, "--trees", "0", "--fix", str(tmp_path / "f.csv")]) == 0
    assert set(pd.read_csv(tmp_path / "f.csv")["y"]) <= set(y.tolist())


BIG = 2**53
PAIRS = {
    "int64": pa.array([BIG, BIG + 1] * 3),
    "uint64": pa.array([2**64 - 1, 2**64 - 2] * 3, pa.uint64()),
    "text": pa.array([str(BIG), str(BIG + 1)] * 3),
    "longer text": pa.array([str(10**30), str(10**30 + 1)] * 3),
    "decimals": pa.array([decimal.Decimal(BIG), decimal.Decimal(BIG + 1)] * 3, pa.decimal128(38, 0)),
    "longer decimals": pa.array([decimal.Decimal(10**30), decimal.Decimal(10**30 + 1)] * 3, pa.decimal128(38, 0)),
    "text with points": pa.array([f"{BIG}.0", f"{BIG + 1}.0"] * 3),
}


@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_large_labels_stay_apart(kind, form):
    cells = PAIRS[kind].cast(pa.string()) if form == "csv" else PAIRS[kind]
    table = Table(pa.table({"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "y": cells}), "t", form)
    y = prepare(table, None, Roles("y")).y
    assert len(set(y.tolist())) == 2
    expected = [str(cell).removesuffix(".0") for cell in PAIRS[kind].to_pylist()]
    assert [str(label).removesuffix(".0") for label in y] == expected


def test_large_labels_stay_apart_in_python():
    X = np.arange(4.0)[:, np.newaxis]
    for labels in ([BIG, BIG + 1] * 2, [2**63, -1] * 2, [2**70, 2**70 + 1] * 2, np.array([2**64 - 1, 2**64 - 2] * 2)):
        assert len(ClassCodes.of(as_labels(labels, "y")).classes) == 2
        assert np.array_equal(value(X, labels, k=1).values, value(X, [0, 1] * 2, k=1).values)
    mixed = value(X, np.array([BIG, BIG + 1] * 2), X, np.array([BIG, BIG + 1] * 2, np.uint64), k=1).values
    assert np.array_equal(mixed, value(X, [0, 1] * 2, X, [0, 1] * 2, k=1).values)
    beside_floats = value(X, np.array([BIG, BIG + 1] * 2), X[:1], np.array([float(BIG)]), k=1).values
    assert np.array_equal(beside_floats, value(X, [0, 1] * 2, X[:1], [0], k=1).values)


@pytest.mark.parametrize("label", [1.5, decimal.Decimal("1.5"), np.inf])
@pytest.mark.parametrize("kind", [float, object])
def test_fractions_are_no_classes_whatever_holds_them(label, kind):
    with pytest.raises(ValueError, match=rf"Unknown label type.*such as {label}"):
        as_labels(np.array([label, 2] * 20, dtype=kind), "y")


def test_a_test_set_of_unknown_labels_is_an_error(tmp_path, capsys, caplog):
    X = features(np.arange(12))
    with pytest.raises(ValueError, match="none of them is known there: y_train has 'a', 'b', and y_test has 'p', 'q'"):
        value(X, ["a", "b"] * 6, X, ["p", "q"] * 6)
    with pytest.raises(ValueError, match="none of them is known there"):
        value(X, [0, 1] * 6, X, [2, 3] * 6)
    for name, labels in (("t", [0, 1] * 3), ("q", list("pq") * 3), ("half", [1, 7] * 3)):
        pd.DataFrame({"x": X[:6, 0], "y": labels}).to_csv(tmp_path / f"{name}.csv", index=False)
    command = ["value", str(tmp_path / "t.csv"), "--label", "y", "--quiet", "--test"]
    assert main([*command, str(tmp_path / "q.csv")]) == 2
    assert "none of them is known there" in capsys.readouterr().err
    assert main([*command, str(tmp_path / "half.csv")]) == 0
    assert "3 of 6 test labels are not among the training labels, such as 7" in caplog.text


def test_some_unknown_test_labels_are_said(caplog):
    X = features(np.arange(4))
    assert value(X, ["a", "b"] * 2, X[:2], ["a", "c"]).n_queries == 2
    assert "1 of 2 test labels are not among the training labels, such as 'c'" in caplog.text
    caplog.clear()
    value(X, ["a", "b"] * 2, X[:2], ["b", "a"])
    assert not caplog.records


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (pa.array([{"a": 1}] * 3), "holds structs and cannot be --label"),
        (pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64())), "holds maps and cannot be --label"),
        (pa.array([[1.0]] * 3), "holds vectors and cannot be --label"),
        (pa.array([["a"]] * 3), "holds lists and cannot be --label"),
        (pa.array([b"a"] * 3), "holds bytes and cannot be --label"),
    ],
)
def test_labels_of_other_types_are_one_sentence(cells, message):
    with pytest.raises(ValueError, match=message):
        prepare(Table(pa.table({"x": [1.0, 2.0, 3.0], "y": cells}), "t.parquet", "parquet"), None, Roles("y"))


@pytest.mark.parametrize("labels", [[True, False] * 3, ["true", "FALSE"] * 3])
def test_truth_values_are_the_same_labels_in_every_format(labels):
    table = Table(pa.table({"x": np.arange(6.0), "y": labels}), "t", "parquet")
    assert prepare(table, None, Roles("y")).y.tolist() == ["True", "False"] * 3


KINDS = {
    "integers": ([5, 3, 5, 4], [3, 4]),
    "text": (["b", "a", "b", "c"], ["a", "c"]),
    "numbers beside text": ([1, "1", "x", 1], ["1", 1]),
    "truth values": ([True, False, True, True], [False, True]),
    "whole floats": ([2.0, 1.0, 2.0, 3.0], [1.0, 3.0]),
    "dates": (np.array(["2024-01-02", "2024-01-01"] * 2, "M8[D]"), np.array(["2024-01-01"], "M8[D]")),
    "two integer types": (np.array([2**63 + 1, 3, 3, 4], np.uint64), np.array([3, 4], np.int64)),
    "a class that training lacks": (["b", "a"] * 3, ["a", "z"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_labels_encoded_together_are_those_encoded_apart(kind):
    y_train, y_test = KINDS[kind]
    labels, targets, encoding = LabelEncoding.of("classification", y_train, y_test)
    np.testing.assert_array_equal(encoding.encode(y_train, "y"), labels)
    np.testing.assert_array_equal(encoding.encode(y_test, "y"), targets)
    assert labels.dtype == targets.dtype == np.int32
    assert list(dict.fromkeys([*labels, *targets])) == list(range(encoding.n_classes)), "in order of appearance"
    classes = encoding.classes[::-1]
    again = LabelEncoding.of("classification", y_train, y_test, classes=classes)
    np.testing.assert_array_equal(again.labels, encoding.n_classes - 1 - labels)
    np.testing.assert_array_equal(again.targets, encoding.n_classes - 1 - targets)


def test_classes_in_order_are_sorted_text_beside_numbers_too():
    assert list(ClassCodes.of(as_labels([10, 9, 10], "y")).in_order().classes) == [9, 10]
    assert list(ClassCodes.of(as_labels(["b", 2, "a"], "y")).in_order().classes) == [2, "a", "b"]
