"""Many labels per point: means over the games of single labels, from one search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier

import flat
import reference
from effort import examples
from pivotal import Hard, value, value_from_neighbors
from pivotal.neighbors import BruteIndex
from strategies import semivalues

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 2)), RNG.integers(0, 2, (40, 3))
QUERIES, TARGETS = RNG.normal(size=(7, 2)), RNG.integers(0, 2, (7, 3))
Y[:, 2] = 1  # a label that everybody has
DATA = (X, Y, QUERIES, TARGETS)


@pytest.mark.kernels
@given(seed=st.integers(0, 2**32 - 1), semivalue=semivalues(), utility=st.sampled_from(["hard", "plurality", "soft"]))
@examples(25)
def test_values_are_means_of_enumerated_games(seed: int, semivalue: tuple, utility: str) -> None:
    rng = np.random.default_rng(seed)
    n, n_queries, n_labels, k = (int(rng.integers(1, most)) for most in (7, 3, 4, 5))
    n_labels += 1  # one column is no table
    lists = np.stack([rng.permutation(n) for _ in range(n_queries)])
    y, targets = rng.integers(0, 2, (n, n_labels)), rng.integers(0, 2, (n_queries, n_labels))
    exact = np.zeros(n)
    for order, truth in zip(lists, targets, strict=True):
        for label in range(n_labels):
            column = [int(has) for has in y[order, label]]
            values = reference.semivalues(column, int(truth[label]), k, utility, semivalue[1], classes=(0, 1))
            exact[order] += [float(v) / (n_queries * n_labels) for v in values]
    got = value_from_neighbors(lists, y, targets, k=k, utility=utility, semivalue=semivalue[0])
    np.testing.assert_allclose(got.values, exact, rtol=0, atol=got.error_bound)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"semivalue": "shapley", "utility": "soft-k"},
        {"utility": Hard(tie="win", other_classes="ignore"), "tol": 1e-3},
        {"utility": "soft", "weights": "distance", "bits": 4},
        {"utility": "threshold(0.8)"},
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_everything_is_the_mean_over_labels(how: dict[str, Any], weighted: bool) -> None:
    how = {**how, "query_weights": [1, 0, 2, 3, 1, 1, 0.5] if weighted else None}
    single = [flat.value(X, Y[:, i], QUERIES, TARGETS[:, i], k=3, classes=[0, 1], **how) for i in range(3)]
    together = flat.value(*DATA, k=3, **how)
    for name in ("values", "full_utility", "empty_utility", "error_bound"):
        mean = np.mean([getattr(one, name) for one in single], axis=0)
        np.testing.assert_allclose(getattr(together, name), mean, rtol=1e-12, atol=1e-16)
    assert together.details["n_labels"] == 3
    assert together.details["n_classes"] == 2
    assert together.n_queries == 7


def test_tables_of_every_kind() -> None:
    plain = value(*DATA)
    kinds = [
        (Y.astype(bool), TARGETS.astype(bool)),
        (Y.astype(float), TARGETS.astype(float)),
        (Y.tolist(), TARGETS.tolist()),
        (sparse.csr_array(Y), sparse.csc_matrix(TARGETS)),
        (pd.DataFrame(Y, columns=["a", "b", "c"]), TARGETS),
    ]
    for y, targets in kinds:
        assert value(X, y, QUERIES, targets).equals(plain)


def test_one_sparse_column_is_one_label() -> None:
    got = value(X, sparse.csr_array(Y[:, :1]), QUERIES, sparse.csr_array(TARGETS[:, :1]))
    assert np.array_equal(got.values, value(X, Y[:, 0], QUERIES, TARGETS[:, 0], classes=[0, 1]).values)


@pytest.mark.parametrize("how", [{}, {"utility": "threshold(0.8)"}], ids=str)
def test_blocks_batches_and_threads_make_no_difference(how: dict[str, Any]) -> None:
    whole = flat.value(*DATA, n_jobs=1, **how)
    assert flat.value(*DATA, n_jobs=2, block_size=2, **how).equals(whole)
    model = flat.KNNValuation(**how).fit(X, Y).update(QUERIES[:3], TARGETS[:3]).update(QUERIES[3:], TARGETS[3:])
    assert np.array_equal(model.values_, whole.values)
    assert model.result_.full_utility == whole.full_utility


def test_a_fitted_model_brings_its_tables() -> None:
    model = KNeighborsClassifier(3).fit(X, Y)
    assert value(model=model, X_test=QUERIES, y_test=TARGETS).equals(value(*DATA, k=3))


def test_points_may_value_each_other() -> None:
    single = [value(X, Y[:, i], classes=[0, 1]).values for i in range(3)]
    np.testing.assert_allclose(value(X, Y).values, np.mean(single, axis=0), atol=1e-16)


def test_one_search_serves_all_labels() -> None:
    class Counting(BruteIndex):
        searches = 0

        def _find(self, queries: Any, depth: int) -> Any:
            self.searches += 1
            return super()._find(queries, depth)

        def orders(self, *labels: Any, **how: Any) -> Any:
            self.searches += 1
            return super().orders(*labels, **how)

    for how in ({"tol": 0.1}, {"semivalue": "shapley"}):  # short lists, and whole orders
        two, three = Counting(X), Counting(X)
        value(X, Y[:, :2], QUERIES, TARGETS[:, :2], neighbors=two, **how)
        value(*DATA, neighbors=three, **how)
        assert three.searches == two.searches > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_train": Y + 1}, "y_train with several columns must hold 0 and 1, whether .*; got 2. Use one column for"),
        ({"y_train": np.where(Y, "a", "b")}, "y_train with several columns must hold 0 and 1.*got '?[ab]'?"),
        ({"y_train": np.where(Y, np.nan, 0)}, "y_train with several columns must hold 0 and 1.*got nan"),
        ({"y_train": Y[:, :0]}, r"y_train must have a row per point and a column per label.*got shape \(40, 0\)"),
        ({"y_train": Y[:-1]}, "X_train and y_train must have the same length; got 40 rows and 39 labels"),
        ({"y_test": TARGETS[:, :2]}, r"y_test must have .*3 columns, as y_train has; got shape \(7, 2\)"),
        ({"y_test": TARGETS[:, 0]}, r"y_test must have .*3 columns, as y_train has; got shape \(7,\)"),
        ({"y_test": TARGETS[:-1]}, "X_test and y_test must have the same length; got 7 rows and 6 labels"),
        ({"y_test": TARGETS - 1}, "y_test with several columns must hold 0 and 1"),
        ({"y_train": Y[:, 0]}, r"y_test must be one-dimensional, a label per point; got shape \(7, 3\)"),
        ({"classes": [0, 1]}, "classes are for one label per point; got them with a table of labels"),
        ({"class_weight": "balanced"}, "weights of classes need one class per query; got many labels per point"),
        ({"method": "coalitions"}, "many labels per point are valued exactly .* got method='coalitions'"),
        ({"per_query": True}, "many labels per point are valued exactly .* got method='exact' and per_query=True"),
        ({"utility": "regression"}, r"y_train must be one-dimensional, a label per point; got shape \(40, 3\)"),
    ],
    ids=str,
)
def test_bad_input(change: dict[str, Any], message: str) -> None:
    call = {"X_train": X, "y_train": Y, "X_test": QUERIES, "y_test": TARGETS, **change}
    with pytest.raises(ValueError, match=message):
        flat.value(**call)
