"""Bad input gets one clear sentence: the rule, what was received, how to fix it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier

import flat
from pivotal import KNNValuation, value

X, Y = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [0, 1, 1]
QUERY, TARGET = [[0.5, 0.5]], [1]
LARGE = {"X_train": np.zeros((900, 2)), "y_train": np.arange(900) % 2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be an integer of at least 1; got k=0"),
        ({"k": -3}, "k must be an integer of at least 1; got k=-3"),
        ({"k": 2.5}, "k must be an integer of at least 1; got k=2.5"),
        ({"k": True}, "k must be an integer of at least 1; got k=True"),
        ({"tol": -1e-3}, "tol must be a finite number of at least 0; got tol=-0.001. Use tol=0"),
        ({"tol": float("nan")}, "tol must be a finite number of at least 0; got tol=nan"),
        ({"bits": 0, "weights": "distance"}, "bits must be"),
        ({"bits": 17, "weights": "distance"}, "bits must be"),
        ({"utility": "accuracy"}, "utility must name a game; got 'accuracy'. Use one of hard"),
        ({"semivalue": "owen"}, "semivalue must be one of"),
        ({"weights": "loud"}, "weights must be"),
        ({"neighbors": "magic"}, "neighbors must be"),
        ({"metric": "taxi"}, "metric must be"),
        (
            {"X_train": [[0.0, np.nan], [1, 1], [2, 2]]},
            r"X_train must be finite \(no NaN, no infinity\); got 1 such entries",
        ),
        ({"X_train": [[0.0, np.inf], [1, 1], [2, 2]]}, r"X_train must be finite \(no NaN, no infinity\)"),
        ({"X_test": [[np.nan, 0.0]]}, r"X_test must be finite"),
        ({"X_train": sparse.csr_matrix([[0.0, np.nan], [1, 1], [2, 2]])}, r"X_train must be finite"),
        (
            {"X_train": [1.0, 2.0, 3.0]},
            r"X_train must be two-dimensional.*got shape \(3,\). Use X_train.reshape\(-1, 1\)",
        ),
        ({"X_train": np.zeros((3, 2, 2))}, r"X_train must be two-dimensional.*got shape \(3, 2, 2\)\."),
        ({"X_train": np.zeros((0, 2))}, r"X_train must have at least one row and one column; got shape \(0, 2\)"),
        ({"X_test": np.zeros((0, 2))}, r"X_test must have at least one row and one column"),
        ({"X_train": [[1.0], [1.0, 2.0], [3.0]]}, "X_train must be a table with rows of one length"),
        ({"X_train": [["a", "b"], ["c", "d"], ["e", "f"]]}, "X_train must hold numbers; got dtype"),
        ({"X_train": np.array([[1j, 0], [0, 0], [0, 0]])}, "X_train must hold real numbers; got dtype complex128"),
        ({"X_train": pd.DataFrame({"a": [1, 2, 3], "city": ["x", "y", "z"]})}, "the columns city do not. Encode them"),
        ({"X_test": [[1.0, 2.0, 3.0]]}, "X_test must have as many columns as the training points, 2; got 3"),
        ({"y_train": [0, 1]}, "X_train and y_train must have the same length; got 3 rows and 2 labels"),
        ({"y_test": [0, 1]}, "X_test and y_test must have the same length; got 1 rows and 2 labels"),
        (
            {"y_train": [0, None, 1]},
            "y_train must have a label for every point; got 1 missing, the first at position 1",
        ),
        ({"y_train": [0, np.nan, 1]}, "y_train must have a label for every point"),
        ({"y_train": [[0], [1], [1]]}, r"y_train must be one-dimensional.*got shape \(3, 1\). Use y_train.ravel\(\)"),
        ({"y_train": []}, "y_train must hold at least one label; got none"),
        ({"y_train": [0.5, 1.0, 2.0]}, 'y_train must hold class labels; got fractions such as 0.5.*"regression"'),
        ({"y_test": ["yes"]}, "labels of one type; got numbers such as .* and text such as 'yes'. Convert one"),
        (
            {"y_train": ["a", "b", "b"], "y_test": ["a"], "utility": "regression"},
            "y_train must hold numbers for regression",
        ),
        ({"y_train": [0, 1, np.inf], "utility": "regression"}, "y_train must be finite.*got inf at position 2"),
        ({"y_train": [0, 1, 1j], "utility": "regression"}, "Complex data not supported: y_train"),
        ({"y_train": [0, 1, 1j]}, "Complex data not supported: y_train"),
        ({"classes": [0, 2]}, "classes must name every label that occurs; 1 occur but are not"),
        ({"classes": [0, 1, 1]}, "classes must name each label once; got 1 twice"),
        ({"utility": "plurality", "weights": "distance"}, 'utility="plurality" takes unweighted.*utility="hard"'),
        ({"utility": "soft-k", "weights": "distance"}, 'utility="soft-k" takes unweighted.*utility="soft"'),
        (
            {"k": 200, "bits": 16, "weights": "distance", **LARGE},
            "k=200 and votes up to 65535 need tables of .* GiB per",
        ),
        ({"ids": ["a"]}, r"ids must have one entry per training point"),
        ({"block_size": 0}, "block_size must be"),
        ({"X_test": None}, "X_test and y_test go together; got only one of them"),
        ({"y_test": None}, "X_test and y_test go together; got only one of them"),
        ({"X_train": None}, "value needs training points and their labels"),
    ],
    ids=lambda change: next(iter(change)) if isinstance(change, dict) else "",
)
def test_value_explains_itself(change: dict[str, Any], message: str) -> None:
    given = {"X_train": X, "y_train": Y, "X_test": QUERY, "y_test": TARGET, **change}
    with pytest.raises(ValueError, match=message) as caught:
        flat.value(**given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": [0, 1, 2]}, r"indices must have a row per query.*shape \(1, depth\); got shape \(3,\)"),
        ({"indices": [[0, 1], [1, 2]]}, r"got shape \(2, 2\)"),
        ({"indices": [[]]}, r"got shape \(1, 0\)"),
        ({"indices": [[0.0, 1.0]]}, "indices must be integers; got dtype float64"),
        ({"indices": [[0, 3]]}, "indices must lie between 0 and 2, the last training point; got 3"),
        ({"indices": [[-1, 1]]}, "indices must lie between 0 and 2, the last training point; got -1"),
        ({"indices": [[0, 1, 0]]}, "indices must name each training point at most once per query; query 0 does not"),
        ({"votes": [[1, 2]]}, r"votes must have the shape of indices, \(1, 3\); got \(1, 2\)"),
        ({"votes": [[1, -2, 3]]}, "votes must be integers from 0 to 65535; got dtype int64 between -2 and 3"),
        ({"votes": [[1.5, 2, 3]]}, "votes must be integers from 0 to 65535; got dtype float64"),
        ({"votes": [[70000, 2, 3]]}, "votes must be integers from 0 to 65535"),
        ({"votes": [[3, 2, 1]], "utility": "plurality"}, 'utility="plurality" takes unweighted'),
        ({"k": 0}, "k must be an integer"),
    ],
    ids=lambda change: next(iter(change)) if isinstance(change, dict) else "",
)
def test_lists_of_neighbours_are_checked(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"indices": [[0, 1, 2]], "y_train": Y, "y_test": TARGET, **change}
    with pytest.raises(ValueError, match=message):
        flat.value_from_neighbors(**given)


def test_models_are_checked() -> None:
    with pytest.raises(
        TypeError, match=r"model must be a fitted KNeighborsClassifier.*got KNeighborsClassifier\. Fit it"
    ):
        value(X_test=QUERY, y_test=TARGET, model=KNeighborsClassifier())
    with pytest.raises(TypeError, match="got str"):
        value(X_test=QUERY, y_test=TARGET, model="knn")
    model = KNeighborsClassifier(2).fit(X, Y)
    with pytest.raises(ValueError, match="k is taken from the model, which has k=2; got k=3 as well"):
        value(X_test=QUERY, y_test=TARGET, model=model, k=3)


def test_estimator_explains_itself() -> None:
    model = KNNValuation()
    with pytest.raises(NotFittedError):
        model.update(QUERY, TARGET)
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X, None)
    model.fit(X, Y)
    with pytest.raises(AttributeError, match="no values before the first query; call update"):
        model.values_  # noqa: B018
    with pytest.raises(ValueError, match="update needs both X and y, or neither"):
        model.update(QUERY)
    with pytest.raises(ValueError, match=r"y must hold labels known from training; got 7\. Pass classes="):
        model.update(QUERY, [7])
    assert KNNValuation(classes=[0, 1, 7]).fit(X, Y).update(QUERY, [7]).n_queries_ == 1


def test_a_bad_batch_loses_nothing() -> None:
    model = KNNValuation(k=1).fit(X, Y).update(QUERY, TARGET)
    before = model.values_
    with pytest.raises(ValueError, match="X contains NaN"):
        model.update([[np.nan, 0.0]], TARGET)
    with pytest.raises(ValueError, match="same length"):
        model.update(QUERY, [0, 1])
    np.testing.assert_array_equal(model.values_, before)
    assert model.n_queries_ == 1
