"""From features to values: means over queries, labels and tables of every kind, blocks and threads."""

from __future__ import annotations

import pickle
import sys
from collections import Counter
from fractions import Fraction
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import flat
import pivotal
import reference
from effort import examples
from pivotal import KNNValuation, value, value_from_neighbors
from strategies import semivalues


@pytest.fixture
def data() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(300, 4)), rng.normal(size=(40, 4))
    return X, rng.integers(0, 3, 300), queries, rng.integers(0, 3, 40)


def naive_order(X: np.ndarray, query: np.ndarray) -> np.ndarray:
    return np.argsort(((X - query) ** 2).sum(axis=1), kind="stable")


@pytest.mark.kernels
@given(
    seed=st.integers(0, 2**32 - 1),
    semivalue=semivalues(),
    utility=st.sampled_from(["hard", "plurality", "soft", "soft-k", "regression"]),
)
@examples(60)
def test_value_is_the_mean_of_enumerated_games(seed: int, semivalue: tuple, utility: str) -> None:
    rng = np.random.default_rng(seed)
    n, n_queries, k = rng.integers(1, 8), rng.integers(1, 4), int(rng.integers(1, 9))
    X, queries = rng.integers(0, 4, (n, 2)), rng.integers(0, 4, (n_queries, 2))  # a small grid is full of ties
    y, targets = rng.integers(0, 3, n), rng.integers(0, 4, n_queries)  # class 3 is never seen in training
    classes = None if utility == "regression" else range(4)
    exact = np.zeros(n)
    for query, target in zip(queries, targets, strict=True):
        order = naive_order(X, query)
        labels = [int(label) for label in y[order]]
        values = reference.semivalues(labels, int(target), k, utility, semivalue[1], classes=classes)
        exact[order] += [float(v) / n_queries for v in values]
    got = value(X, y, queries, targets, k=k, utility=utility, semivalue=semivalue[0], classes=classes)
    np.testing.assert_allclose(got.values, exact, rtol=0, atol=got.error_bound)
    assert got.error_bound < 1e-11
    assert got.n_queries == n_queries


@pytest.mark.parametrize("weights", ["distance", "rbf", "linear", lambda d: 1.0 / (1.0 + d)])
@pytest.mark.parametrize("utility", ["hard", "soft", "regression"])
def test_weighted_values_are_those_of_their_votes(weights: Any, utility: str) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(7, 2)), rng.integers(0, 3, 7)
    query = X[3] if weights == "distance" else rng.normal(size=2)  # a zero distance
    k, bits = 2, 4
    order = naive_order(X, query)
    distances = np.sqrt(((X[order] - query) ** 2).sum(axis=1))
    if weights == "distance":
        real = (distances == 0).astype(float)
    elif weights == "rbf":
        real = np.exp(-0.5 * (distances / distances[2 * k - 1]) ** 2)
    elif weights == "linear":
        real = np.maximum(0.0, 1 - distances / (2 * distances[2 * k - 1]))
    else:
        real = weights(distances)
    votes = np.rint(real / real.max() * (2**bits - 1)).astype(int)
    labels = [int(label) for label in y[order]]
    exact = reference.semivalues(
        labels,
        1,
        k,
        utility,
        ("shapley",),
        votes=[int(v) for v in votes],
        classes=None if utility == "regression" else range(3),
    )
    got = value(
        X,
        y,
        [query],
        [1],
        k=k,
        weights=weights,
        bits=bits,
        utility=utility,
        semivalue="shapley",
        classes=None if utility == "regression" else range(3),
    )
    np.testing.assert_allclose(got.values[order], [float(v) for v in exact], atol=1e-13)
    assert got.vote_resolution == pytest.approx(0.5 / 15)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": "distance"},
        {"semivalue": "shapley"},
        {"utility": "plurality"},
        {"weights": "rbf", "utility": "soft"},
    ],
    ids=str,
)
def test_results_are_bit_identical_whatever_the_blocks_and_threads(data: tuple, options: dict) -> None:
    whole = flat.value(*data, n_jobs=1, **options)
    for n_jobs in (2, 3):
        for block_size in (None, 1, 7, 40):
            again = flat.value(*data, n_jobs=n_jobs, block_size=block_size, **options)
            assert np.array_equal(again.values, whole.values)
            assert again.full_utility == whole.full_utility


def test_batches_are_bit_identical_to_one_call(data: tuple) -> None:
    X, y, queries, targets = data
    model = KNNValuation(k=3, semivalue="beta(4,1)").fit(X, y)
    assert model.n_queries_ == 0
    for start in range(0, 40, 9):
        model.update(queries[start : start + 9], targets[start : start + 9])
    whole = value(*data, k=3, semivalue="beta(4,1)")
    assert np.array_equal(model.values_, whole.values)
    assert model.result_.settings == whole.settings
    assert model.n_queries_ == 40
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.update(queries, targets).values_, model.update(queries, targets).values_)


def test_an_interrupted_update_keeps_the_blocks_it_finished(data: tuple) -> None:
    X, y, queries, targets = data

    class Impatient:
        calls = 0

        def __init__(self, index: Any) -> None:
            self.index = index

        def search(self, block: Any, depth: int) -> Any:
            Impatient.calls += 1
            if Impatient.calls == 3:
                raise KeyboardInterrupt
            return self.index.search(block, depth)

    from pivotal.neighbors import BruteIndex

    model = KNNValuation(k=3, neighbors=Impatient(BruteIndex(X)), block_size=10).fit(X, y)
    with pytest.raises(KeyboardInterrupt):
        model.update(queries, targets)
    assert model.n_queries_ == 20
    np.testing.assert_array_equal(model.values_, value(X, y, queries[:20], targets[:20], k=3).values)
    model.update(queries[20:], targets[20:])
    np.testing.assert_array_equal(model.values_, value(X, y, queries, targets, k=3).values)


# --- truncation -----------------------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1),
    tol=st.sampled_from([1e-16, 1e-6, 1e-3, 0.05, 0.5]),
    semivalue=st.sampled_from(["banzhaf", "banzhaf(0.1)", "shapley", "beta(1,4)", "loo"]),
    utility=st.sampled_from(
        ["hard", "plurality", "soft", "soft-k", "regression", pivotal.Hard(tie="win", scale="sum")]
    ),
    weights=st.sampled_from(["uniform", "distance", lambda d: np.exp(-d)]),
    n_classes=st.integers(1, 4),
    k=st.integers(1, 6),
)
@examples(150)
def test_the_error_bound_holds(
    seed: int, tol: float, semivalue: str, utility: Any, weights: Any, n_classes: int, k: int
) -> None:
    rng = np.random.default_rng(seed)
    if utility in ("plurality", "soft-k"):
        weights = "uniform"
    X, y = rng.normal(size=(60, 1)), rng.integers(0, n_classes, 60)
    queries, targets = rng.normal(size=(3, 1)), rng.integers(0, n_classes, 3)
    options = {"k": k, "semivalue": semivalue, "utility": utility, "weights": weights}
    options["bits"] = None if weights == "uniform" else 4
    exact, cut = (
        flat.value(X, y, queries, targets, tol=0, **options),
        flat.value(X, y, queries, targets, tol=tol, **options),
    )
    assert np.abs(exact.values - cut.values).max() <= cut.error_bound + exact.error_bound
    assert exact.details["depth"] == 60
    spread = {"regression": max(9.0, 1.0)}.get(str(utility), 3.0)
    assert cut.error_bound <= spread * (2 * tol + 3e-14)


@given(
    seed=st.integers(0, 2**32 - 1),
    depth=st.integers(1, 30),
    third=st.sampled_from(["count", "ignore"]),
    k=st.integers(1, 4),
    semivalue=st.sampled_from(["banzhaf", "shapley"]),
)
@examples(150)
def test_short_lists_cost_what_the_bound_says(seed: int, depth: int, third: Any, k: int, semivalue: str) -> None:
    rng = np.random.default_rng(seed)
    y, targets = rng.integers(0, 4, 30), rng.integers(0, 4, 5)
    lists = np.array([rng.permutation(30) for _ in targets])
    game = pivotal.Hard(other_classes=third)
    whole = value_from_neighbors(lists, y, targets, k=k, utility=game, semivalue=semivalue)
    short = value_from_neighbors(lists[:, :depth], y, targets, k=k, utility=game, semivalue=semivalue)
    assert whole.error_bound < 1e-13
    assert np.abs(whole.values - short.values).max() <= short.error_bound + whole.error_bound


def test_the_bound_is_not_vacuous() -> None:
    y, targets = np.arange(30) % 2, [0]
    short = value_from_neighbors([np.arange(10)], y, targets, k=1)
    assert 1e-4 < short.error_bound < 2e-3  # 2^-9


@pytest.mark.parametrize("options", [{}, {"weights": "rbf", "bits": 4}], ids=str)
def test_lists_double_until_a_game_of_two_classes_has_enough(options: dict) -> None:
    rng = np.random.default_rng(3)
    # Class 9 is rare and far away, and its games see little of any list.
    X, y = rng.normal(size=(6000, 2)), rng.integers(0, 3, 6000)
    y[np.argsort(-np.abs(X).sum(axis=1))[:5]] = 9
    queries, targets = np.r_[rng.normal(size=(12, 2)), [[40.0, 40.0]]], np.r_[rng.integers(0, 3, 12), 9]
    game = pivotal.Hard(other_classes="ignore")
    exact = flat.value(X, y, queries, targets, k=2, utility=game, tol=0, **options)
    cut = flat.value(X, y, queries, targets, k=2, utility=game, tol=1e-9, **options)
    assert exact.details["depth"] == 6000
    assert 100 < cut.details["depth"] < 6000
    assert cut.error_bound <= 1e-9 + 2e-14
    assert np.abs(exact.values - cut.values).max() <= cut.error_bound + exact.error_bound
    for block_size in (1, 5):
        again = flat.value(X, y, queries, targets, k=2, utility=game, tol=1e-9, block_size=block_size, **options)
        np.testing.assert_array_equal(again.values, cut.values)


def test_banzhaf_looks_at_a_constant_number_of_points() -> None:
    rng = np.random.default_rng(0)
    for n in (1000, 5000):
        got = value(rng.normal(size=(n, 2)), rng.integers(0, 2, n), rng.normal(size=(5, 2)), rng.integers(0, 2, 5))
        assert got.details["depth"] == 75
        assert got.error_bound < 2e-14


# --- self-valuation -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_points_value_each_other_without_themselves(weights: str) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 3, (12, 2)).astype(float), rng.integers(0, 2, 12)  # duplicates stay neighbours
    expected = np.zeros(12)
    full = 0.0
    for i in range(12):
        others = np.delete(np.arange(12), i)
        one = value(
            X[others], y[others], X[i : i + 1], y[i : i + 1], k=3, weights=weights, semivalue="shapley", classes=[0, 1]
        )
        expected[others] += one.values / 12
        full += one.full_utility / 12
    got = value(X, y, k=3, weights=weights, semivalue="shapley")
    np.testing.assert_allclose(got.values, expected, atol=1e-14)
    assert got.full_utility == pytest.approx(full)
    assert got.values.sum() == pytest.approx(got.full_utility - got.empty_utility)
    assert got.details["self_valuation"]
    blocked = KNNValuation(k=3, weights=weights, semivalue="shapley", block_size=5).fit(X, y).update()
    np.testing.assert_array_equal(blocked.values_, got.values)


def test_one_point_cannot_value_itself() -> None:
    with pytest.raises(ValueError, match=r"at least two points; got 1\. Pass a test set"):
        value([[0.0]], [1])


def test_both_kinds_of_queries_cannot_be_mixed(data: tuple) -> None:
    X, y, queries, targets = data
    model = KNNValuation().fit(X, y).update(queries, targets)
    with pytest.raises(ValueError, match="different games and cannot be mixed"):
        model.update()


# --- edges ----------------------------------------------------------------------------------------------------------


def test_a_single_training_point() -> None:
    assert value([[0.0]], ["a"], [[1.0]], ["a"], k=3).values.tolist() == [1.0]
    assert value([[0.0]], ["a"], [[1.0]], ["b"], k=3).values.tolist() == [0.0]


def test_more_neighbours_than_points() -> None:
    X, y = [[0.0], [1.0], [2.0]], [1, 0, 1]
    exact = reference.semivalues(y, 1, 50, "hard", ("banzhaf", Fraction(1, 2)), classes=[0, 1])
    np.testing.assert_allclose(value(X, y, [[-1.0]], [1], k=50).values, [float(v) for v in exact])


def test_one_class_only() -> None:
    values = value(np.arange(6.0)[:, np.newaxis], ["a"] * 6, [[0.0]], ["a"], k=1, semivalue="shapley").values
    np.testing.assert_allclose(values, 1 / 6)


def test_all_points_equal_are_ordered_by_index() -> None:
    values = value(np.zeros((5, 2)), [1, 0, 1, 0, 1], np.zeros((1, 2)), [1], k=1)
    exact = value_from_neighbors([[0, 1, 2, 3, 4]], [1, 0, 1, 0, 1], [1], k=1)
    np.testing.assert_array_equal(values.values, exact.values)
    weighted = value(np.zeros((5, 2)), [1, 0, 1, 0, 1], np.zeros((1, 2)), [1], k=1, weights="distance")
    np.testing.assert_allclose(weighted.values, exact.values, atol=1e-15)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1, 1, 0], dtype=np.int8),
        np.array([False, True, True, False]),
        np.array(["no", "yes", "yes", "no"]),
        ["no", "yes", "yes", "no"],
        np.array(["no", "yes", "yes", "no"], dtype=object),
        pd.Series(["no", "yes", "yes", "no"], dtype="category"),
        pd.Series([0, 1, 1, 0], index=[7, 8, 9, 10]),
        pd.array([0, 1, 1, 0], dtype="Int64"),
        pl.Series(["no", "yes", "yes", "no"]),
        np.array([0.0, 1.0, 1.0, 0.0], dtype=np.float32),
        np.array(["2020-01-01", "2021-01-01", "2021-01-01", "2020-01-01"], dtype="datetime64[D]"),
        (0, 1, 1, 0),
    ],
    ids=lambda labels: f"{type(labels).__name__}-{getattr(labels, 'dtype', '')}",
)
def test_labels_of_any_type(labels: Any) -> None:
    X = np.arange(4.0)[:, np.newaxis]
    expected = value(X, [0, 1, 1, 0], [[0.1], [2.2]], [0, 1], k=2).values
    test = labels[:2] if not isinstance(labels, pd.Series) else labels.iloc[:2]
    np.testing.assert_array_equal(value(X, labels, [[0.1], [2.2]], test, k=2).values, expected)


@pytest.mark.parametrize(
    "kind", [list, np.float32, np.int64, pd.DataFrame, pl.DataFrame, sparse.csr_matrix, sparse.coo_array, "fortran"]
)
def test_tables_of_any_kind(kind: Any) -> None:
    rng = np.random.default_rng(4)
    X, y, queries = rng.integers(0, 5, (20, 3)), rng.integers(0, 2, 20), rng.integers(0, 5, (4, 3))

    def convert(table: np.ndarray) -> Any:
        if kind is list:
            return table.tolist()
        if kind == "fortran":
            return np.asfortranarray(table, dtype=float)
        return table.astype(kind) if kind in (np.float32, np.int64) else kind(table)

    expected = value(X.astype(float), y, queries.astype(float), y[:4], k=3)
    got = value(convert(X), y, convert(queries), y[:4], k=3)
    np.testing.assert_array_equal(got.values, expected.values)


@pytest.mark.parametrize(
    "metric", ["manhattan", "cosine", "chebyshev", "sqeuclidean", "minkowski", lambda a, b: float(abs(a - b).max())]
)
def test_any_metric(metric: Any) -> None:
    rng = np.random.default_rng(5)
    X, y, queries = rng.normal(size=(30, 3)), rng.integers(0, 2, 30), rng.normal(size=(4, 3))
    model = KNeighborsClassifier(30, metric=metric).fit(X, y)
    lists = model.kneighbors(queries, return_distance=False)
    np.testing.assert_array_equal(
        value(X, y, queries, y[:4], k=3, metric=metric).values, value_from_neighbors(lists, y, y[:4], k=3).values
    )


def test_ids_travel_with_the_points() -> None:
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0]}, index=["a", "b", "c"])
    values = value(frame, [1, 0, 1], [[0.0]], [1])
    assert values.ids.tolist() == ["a", "b", "c"]
    assert value(frame, [1, 0, 1], [[0.0]], [1], ids=[10, 20, 30]).ids.tolist() == [10, 20, 30]
    assert value([[0.0], [1.0]], [1, 0], [[0.0]], [1]).ids.tolist() == [0, 1]
    assert KNNValuation().fit(frame, [1, 0, 1]).update(pd.DataFrame({"x": [0.5]}), [1]).result_.ids.tolist() == [
        "a",
        "b",
        "c",
    ]
    assert value_from_neighbors([[0, 1]], pd.Series([1, 0], index=["u", "v"]), [1]).ids.tolist() == ["u", "v"]


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", ["minkowski", "manhattan"])
def test_a_fitted_model_in_place_of_the_settings(weights: str, metric: str) -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = KNeighborsClassifier(7, weights=weights, metric=metric).fit(X, names)
    expected = value(
        X,
        names,
        X[:9] + 0.01,
        names[:9],
        k=7,
        weights=weights,
        metric="manhattan" if metric == "manhattan" else "euclidean",
    )
    by_model = value(X_test=X[:9] + 0.01, y_test=names[:9], model=model)
    np.testing.assert_allclose(by_model.values, expected.values, atol=1e-15)
    np.testing.assert_allclose(
        value(X, names, X[:9] + 0.01, names[:9], model=model).values, expected.values, atol=1e-15
    )


def test_a_fitted_regressor() -> None:
    X, y = load_iris(return_X_y=True)
    model = KNeighborsRegressor(3).fit(X, y.astype(float))
    values = value(X_test=X[:5] + 0.01, y_test=y[:5], model=model, utility="regression", semivalue="shapley")
    error = ((model.predict(X[:5] + 0.01) - y[:5]) ** 2).mean()
    assert values.full_utility == pytest.approx(-error)


def test_hard_full_utility_is_the_accuracy_of_the_model() -> None:
    X, y = load_iris(return_X_y=True)
    two = y > 0
    model = KNeighborsClassifier(5).fit(X[::2], two[::2])
    values = value(X_test=X[1::2], y_test=two[1::2], model=model)
    assert values.full_utility == pytest.approx(model.score(X[1::2], two[1::2]))


def test_settings_say_how_it_was_done(data: tuple) -> None:
    said = dict(value(*data, k=3, weights="distance", bits=5, utility="jia2019" if False else "soft").settings)
    assert said["k"] == 3
    assert said["bits"] == 5
    assert said["weights"] == "distance"
    assert said["semivalue"] == "banzhaf"
    assert value(*data).details["version"] == pivotal.__version__
    assert value(*data).settings["bits"] is None


def test_progress_is_shown_on_request(data: tuple, capsys: pytest.CaptureFixture[str]) -> None:
    flat.value(*data, progress=True, block_size=10)
    shown = capsys.readouterr()
    assert "valuing" in shown.err
    assert "40/40" in shown.err
    value(*data)
    assert capsys.readouterr().err == ""


def test_an_index_of_ones_own(data: tuple) -> None:
    X, y, queries, targets = data

    class Plain:
        def search(self, block: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
            order = np.array([naive_order(X, query)[:depth] for query in block])
            return order, np.sqrt(((X[order] - block[:, np.newaxis]) ** 2).sum(axis=2))

    np.testing.assert_array_equal(value(X, y, queries, targets, neighbors=Plain()).values, value(*data).values)


@parametrize_with_checks([KNNValuation(), KNNValuation(k=2, weights="distance", semivalue="shapley", bits=3)])
def test_scikit_learn_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_lists_of_neighbours_for_regression() -> None:
    responses, target = [1.5, -2.0, 0.25, 3.0], 0.5
    exact = reference.semivalues(responses, target, 2, "regression", ("shapley",), votes=[3, 2, 2, 1])
    got = value_from_neighbors(
        [[0, 1, 2, 3]], responses, [target], k=2, votes=[[3, 2, 2, 1]], utility="regression", semivalue="shapley"
    )
    np.testing.assert_allclose(got.values, [float(v) for v in exact], rtol=0, atol=got.error_bound)


def test_votes_of_one_each_are_no_weights() -> None:
    ones = value_from_neighbors([[0, 1, 2]], [0, 1, 0], [0], k=2, votes=np.ones((1, 3), dtype=int), utility="plurality")
    np.testing.assert_array_equal(
        ones.values, value_from_neighbors([[0, 1, 2]], [0, 1, 0], [0], k=2, utility="plurality").values
    )


def test_a_game_without_a_solver_is_enumerated_or_refused() -> None:
    class Unanimous(pivotal.Game):
        def utility(self, labels: Any, votes: Any, target: Any, classes: Any, k: int) -> Fraction:
            return Fraction(int(len(labels) > 0 and all(label == target for label in labels[:k])))

        def full_utility(self, labels: Any, votes: Any, targets: Any, n_classes: int, k: int) -> Any:
            return (labels[:, :k] == targets[:, np.newaxis]).all(axis=1).astype(float)

    data = [[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1]
    values = value(*data, k=2, utility=Unanimous(), method="enumeration").values
    np.testing.assert_allclose(values, pivotal.verify([1, 0, 1], 1, k=2, utility=Unanimous()).exact)
    for weights in ("uniform", "distance"):
        with pytest.raises(TypeError, match="no solver for the game"):
            value(*data, k=2, utility=Unanimous(), weights=weights)


@pytest.mark.parametrize(
    "how",
    [{}, {"semivalue": "shapley"}, {"weights": "distance"}, {"tol": 0.1}, {"neighbors": "kd_tree"}],
    ids=str,
)
def test_a_block_computes_nothing_that_the_call_knows(how: dict[str, Any]) -> None:
    """How coalitions are drawn, rules over p, solvers, label codes and settings are made once, however many blocks."""
    made_once = ("semivalues.py", "quadrature.py", "solvers.py", "label_encoding.py", "spec.py")
    X, y = np.random.default_rng(3).normal(size=(60, 3)), np.arange(60) % 3

    def calls(block_size: int) -> Counter[str]:
        seen: Counter[str] = Counter()

        def note(frame: FrameType, event: str, _: object) -> None:
            code = frame.f_code
            if event == "call" and code.co_filename.endswith(made_once):
                seen[code.co_qualname] += 1

        with pivotal.config_context(block_size=block_size, n_jobs=1):
            value(X, y, X[:32] + 0.1, y[:32], **how)  # what is remembered between calls is remembered now
            sys.setprofile(note)
            try:
                value(X, y, X[:32] + 0.1, y[:32], **how)
            finally:
                sys.setprofile(None)
        return seen

    few, many = (calls(size) for size in (32, 4))
    more = {name for name, count in (many - few).items() if count > 0}
    assert {name for name in more if name.rpartition(".")[2] not in ("votes", "solve", "solve_orders", "_add")} == set()
