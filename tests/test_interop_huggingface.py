"""Columns of real Hugging Face datasets, in and out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pivotal
from pivotal import Values
from pivotal.interop import value_dataset, with_values

datasets = pytest.importorskip("datasets", reason="needs the extra datasets")


def arrays(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 3)) + y[:, np.newaxis], y


def as_dataset(X: np.ndarray, y: np.ndarray, names: tuple[str, ...] = ("no", "yes"), **more: Any) -> Any:
    kinds = {
        "embedding": datasets.Sequence(datasets.Value(str(X.dtype))),
        "label": datasets.ClassLabel(names=list(names)),
    }
    columns = {"embedding": list(X), "label": y, **more}
    kinds |= {name: datasets.Value("string") for name in more}
    return datasets.Dataset.from_dict(columns, features=datasets.Features(kinds))


def test_columns_in_and_a_column_out() -> None:
    (X, y), (Q, t) = arrays(30), arrays(10, 1)
    train, test = as_dataset(X, y), as_dataset(Q, t)
    values = value_dataset(train, test, k=3)
    np.testing.assert_array_equal(values.values, pivotal.value(X, y, Q, t, k=3).values)  # of all 64 bits
    valued = with_values(train, values)
    assert valued.column_names == ["embedding", "label", "value"]
    assert train.column_names == ["embedding", "label"]
    np.testing.assert_array_equal(valued.with_format("pandas")[:]["value"], values.values)


def test_without_a_test_set_rows_value_each_other() -> None:
    X, y = arrays(20)
    np.testing.assert_array_equal(value_dataset(as_dataset(X, y)).values, pivotal.value(X, y).values)


def test_the_order_is_that_of_the_rows_as_they_are_shown() -> None:
    X, y = arrays(24)
    shuffled = as_dataset(X, y).shuffle(seed=3).select(range(4, 20))
    order = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in np.array(shuffled["embedding"])]
    values = value_dataset(shuffled)
    np.testing.assert_array_equal(values.values, pivotal.value(X[order], y[order]).values)
    valued = with_values(shuffled, values, "worth")
    best = valued[int(np.argmax(valued["worth"]))]["embedding"]
    np.testing.assert_array_equal(best, X[order[int(values.order()[0])]])


def test_labels_are_compared_by_name() -> None:
    (X, y), (Q, t) = arrays(30), arrays(10, 1)
    turned = as_dataset(Q, 1 - t, ("yes", "no"))
    np.testing.assert_array_equal(
        value_dataset(as_dataset(X, y), turned).values, value_dataset(as_dataset(X, y), as_dataset(Q, t)).values
    )


def test_features_may_be_several_columns_and_of_any_kind() -> None:
    X, y = arrays(20)
    plain = datasets.Dataset.from_dict(
        {"a": X[:, 0], "bc": list(X[:, 1:]), "whole": (100 * X[:, 0]).astype(int), "answer": y.astype(str)}
    )
    got = value_dataset(plain, features=["a", "bc"], label="answer", k=2)
    np.testing.assert_array_equal(got.values, pivotal.value(X, y, k=2).values)
    one = value_dataset(plain, features="whole", label="a", utility="regression", k=2)
    expected = pivotal.value((100 * X[:, :1]).astype(int), X[:, 0], utility="regression", k=2)
    np.testing.assert_array_equal(one.values, expected.values)
    fixed = plain.cast_column("bc", datasets.Sequence(datasets.Value("float32"), length=2))
    single = value_dataset(fixed, features="bc", label="answer").values
    np.testing.assert_array_equal(single, pivotal.value(X[:, 1:].astype(np.float32), y).values)
    joined = datasets.concatenate_datasets([plain, plain])  # several chunks
    assert len(value_dataset(joined, features=["a", "bc"], label="answer")) == 40


def test_ids_come_from_a_column_or_from_outside() -> None:
    X, y = arrays(5)
    names = [f"row {i}" for i in range(5)]
    dataset = as_dataset(X, y, key=names)
    assert value_dataset(dataset, ids="key").ids.tolist() == names
    assert value_dataset(dataset, ids=names).ids.tolist() == names
    assert value_dataset(dataset).ids.tolist() == [0, 1, 2, 3, 4]


def test_sampled_values_bring_their_standard_errors() -> None:
    X, y = arrays(8)
    values = value_dataset(as_dataset(X, y), method="coalitions(n_samples=20, random_state=0)")
    valued = with_values(as_dataset(X, y), values)
    assert valued["value_standard_error"][:] == values.standard_error.tolist()


def test_datasets_that_do_not_fit_are_refused() -> None:
    X, y = arrays(6)
    dataset = as_dataset(X, y)
    with pytest.raises(TypeError, match=r"train must be a datasets\.Dataset; got DatasetDict\. Choose one split"):
        value_dataset(datasets.DatasetDict(train=dataset))
    with pytest.raises(TypeError, match="got IterableDataset"):
        value_dataset(dataset, dataset.to_iterable_dataset())
    with pytest.raises(TypeError, match=r"train must be .* got ndarray"):
        value_dataset(X)
    with pytest.raises(ValueError, match="train must have a column 'text'; it has 'embedding', 'label'"):
        value_dataset(dataset, features="text")
    with pytest.raises(ValueError, match="train must have a column 'key'"):
        value_dataset(dataset, ids="key")
    with pytest.raises(ValueError, match="test must have a column 'label'; it has 'embedding'"):
        value_dataset(dataset, dataset.remove_columns("label"))
    with pytest.raises(ValueError, match="features must name at least one column; got none"):
        value_dataset(dataset, features=[])
    with pytest.raises(ValueError, match="train must have at least one row; got none"):
        value_dataset(dataset.select([]))
    with pytest.raises(ValueError, match="test must have a label in every row; column 'label' has none in some"):
        value_dataset(dataset, as_dataset(X, np.full(6, -1)))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", "b"], "columns of numbers or of vectors; 'embedding' holds .*string"),
        ([[1.0], [1.0, 2.0]], "vectors of one length; column 'embedding' has lengths from 1 to 2"),
        ([[1.0], None], "features must be complete; column 'embedding' has missing entries"),
        ([[1.0], [None]], "features must be complete; column 'embedding' has missing entries"),
        ([[1.0], [float("nan")]], "X_train must be finite"),
        ([[[1.0]], [[2.0]]], "columns of numbers or of vectors; 'embedding' holds list"),
    ],
    ids=str,
)
def test_features_that_are_no_points_are_refused(column: list[Any], message: str) -> None:
    dataset = datasets.Dataset.from_dict({"embedding": column, "label": [0, 1]})
    with pytest.raises(ValueError, match=message):
        value_dataset(dataset, k=1)


def test_values_that_do_not_fit_are_refused() -> None:
    dataset = as_dataset(*arrays(3))
    values = Values([0.1, 0.2], n_queries=1)
    with pytest.raises(ValueError, match="dataset must hold the rows that were valued, 2; got 3"):
        with_values(dataset, values)
    with pytest.raises(ValueError, match="dataset has a column 'label' already"):
        with_values(dataset.select([0, 1]), values, "label")
    with pytest.raises(TypeError, match=r"values must be pivotal\.Values; got list"):
        with_values(dataset, [1, 2, 3])  # type: ignore[arg-type]
