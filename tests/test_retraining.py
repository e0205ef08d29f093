"""Any model by retraining: against full enumeration, neighbour games, and the definitions of odd coalitions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import pivotal
import reference
from effort import examples
from pivotal.baselines.retraining import retrain, retrain_msr, value_by_retraining
from pivotal.results.values import Values

Data = tuple[Any, Any, Any, Any]


def blobs(n: int, n_classes: int = 2, n_test: int = 20, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    y, y_test = np.arange(n) % n_classes, np.arange(n_test) % n_classes
    X, X_test = rng.normal(size=(n, 2)), rng.normal(size=(n_test, 2))
    X[:, 0] += 2.0 * y
    X_test[:, 0] += 2.0 * y_test
    return X, y, X_test, y_test


def by_definition(model: Any, data: Data, semivalue: Sequence[Any] = ("shapley",), empty: float = 0.5) -> list[float]:
    """Enumerate in fractions, with utilities spelled out for accuracy."""
    X, y, X_test, y_test = map(np.asarray, data)

    def earned(members: tuple[int, ...]) -> Fraction:
        chosen = list(members)
        if not chosen:
            return Fraction(empty)
        if len(set(y[chosen])) == 1:
            return Fraction(float(np.mean(y_test == y[chosen[0]])))
        return Fraction(accuracy_score(y_test, clone(model).fit(X[chosen], y[chosen]).predict(X_test)))

    return [float(value) for value in reference.enumerate_values(len(y), earned, semivalue)]


def exactly(model: Any, data: Data, **options: Any) -> Values:
    return value_by_retraining(model, *data, sampler="exact", n_jobs=1, **options)


@pytest.mark.parametrize(
    ("model", "semivalue"),
    [
        (LogisticRegression(), ("shapley",)),
        (DecisionTreeClassifier(random_state=0), ("banzhaf",)),
        (make_pipeline(StandardScaler(), GaussianNB()), ("loo",)),
    ],
    ids=["logistic", "tree", "pipeline"],
)
def test_enumeration_equals_the_definition(model: Any, semivalue: Sequence[Any]) -> None:
    data = blobs(6)
    values = exactly(model, data, semivalue=semivalue[0])
    assert_allclose(values.values, by_definition(model, data, semivalue), atol=values.error_bound)
    assert values.standard_error is None
    assert values.empty_utility == 0.5
    assert values.full_utility == clone(model).fit(*data[:2]).score(*data[2:])


@pytest.mark.parametrize("sampler", ["permutations", "coalitions", "msr"])
@pytest.mark.parametrize("semivalue", ["shapley", "banzhaf", "beta(4,1)"])
def test_samples_agree_with_enumeration(sampler: str, semivalue: str) -> None:
    data, model = blobs(6, seed=1), GaussianNB()
    exact = exactly(model, data, semivalue=semivalue).values
    sampled = value_by_retraining(
        model, *data, semivalue=semivalue, sampler=sampler, n_samples=300, random_state=0, n_jobs=1
    )
    assert (np.abs(sampled.values - exact) <= 5.0 * sampled.standard_error).all()
    assert sampled.standard_error.max() < 0.1
    assert sampled.settings["n_samples"] == 300


@examples(15)
@given(
    labels=st.lists(st.integers(0, 1), min_size=1, max_size=5).map(lambda labels: [*labels, 1]),
    k=st.integers(1, 7),
    semivalue=st.sampled_from([("shapley",), ("banzhaf",), ("beta", 2, 1)]),
)
def test_a_neighbour_model_plays_the_plurality_game(labels: list[int], k: int, semivalue: Sequence[Any]) -> None:
    # Ties go to the smaller class, so that class 1 wins with strictly more votes only.
    name = "beta(2,1)" if semivalue[0] == "beta" else semivalue[0]
    X = np.arange(1.0, len(labels) + 1.0).reshape(-1, 1)
    values = exactly(KNeighborsClassifier(k), (X, labels, [[0.0]], [1]), semivalue=name, empty=0.0)
    expected = reference.semivalues(labels, 1, k, "plurality", semivalue)
    assert_allclose(values.values, [float(value) for value in expected], atol=1e-12)
    engine = pivotal.value(X, labels, [[0.0]], [1], k=k, utility="plurality", semivalue=name, n_jobs=1)
    assert_allclose(values.values, engine.values, atol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 9])
def test_a_neighbour_regression_plays_the_regression_game(k: int) -> None:
    rng = np.random.default_rng(0)
    X, y = np.arange(1.0, 7.0).reshape(-1, 1), rng.normal(size=6)
    values = exactly(KNeighborsRegressor(k), (X, y, [[0.0]], [0.7]), scoring="neg_mean_squared_error")
    engine = pivotal.value(X, y, [[0.0]], [0.7], k=k, utility="regression", semivalue="shapley", n_jobs=1)
    assert_allclose(values.values, engine.values, atol=1e-12)
    assert values.empty_utility == pytest.approx(-0.49)


def test_shapley_values_of_any_sample_sum_to_the_gain() -> None:
    data = blobs(7, n_classes=3)
    values = value_by_retraining(GaussianNB(), *data, n_samples=2, random_state=0, n_jobs=1)
    assert values.values.sum() == pytest.approx(values.full_utility - values.empty_utility)
    assert values.empty_utility == pytest.approx(1 / 3)


def test_truncation_spares_fits_and_keeps_the_sum_close() -> None:
    X, y, X_test, y_test = blobs(30, seed=3)
    options: dict[str, Any] = {"n_samples": 10, "random_state": 0, "n_jobs": 1}
    full = CountingTree.count(X, y, X_test, y_test, **options)
    short = CountingTree.count(X, y, X_test, y_test, truncation=0.2, **options)
    assert short[1] < full[1] / 2
    gain = full[0].full_utility - full[0].empty_utility
    assert abs(short[0].values.sum() - gain) <= 0.2 * gain
    assert short[0].bias_bound is None
    assert full[0].bias_bound == 0.0
    assert short[0].error_bound is full[0].error_bound is None


def test_no_truncation_is_truncation_at_zero() -> None:
    data = blobs(6)
    one, other = (
        value_by_retraining(GaussianNB(), *data, n_samples=5, truncation=share, random_state=0, n_jobs=1)
        for share in (None, 0.0)
    )
    assert one.values.tolist() == other.values.tolist()


class CountingTree(DecisionTreeClassifier):
    """A tree that counts how often any of its kind is fitted."""

    fits = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Any:
        CountingTree.fits += 1
        return super().fit(X, y, sample_weight, check_input)

    @classmethod
    def count(cls, *data: Any, **options: Any) -> tuple[Values, int]:
        before = cls.fits
        values = value_by_retraining(cls(max_depth=2), *data, **options)
        return values, cls.fits - before


def test_no_coalition_is_fitted_twice() -> None:
    data = blobs(4)
    coalitions = 2**4 - 1 - 2 * (2**2 - 1)  # neither nobody nor one class alone needs a fit
    _, fits = CountingTree.count(*data, n_samples=60, random_state=0, n_jobs=1)
    assert fits == coalitions
    _, forgetful = CountingTree.count(*data, n_samples=60, random_state=0, n_jobs=1, cache=False)
    assert forgetful > 2 * coalitions
    _, exact = CountingTree.count(*data, sampler="exact", n_jobs=1, cache=False)
    assert exact == coalitions


def test_nobody_earns_what_a_guess_earns() -> None:
    data = blobs(6, n_classes=3, n_test=9)
    guess = {
        None: 1 / 3,
        "accuracy": 1 / 3,
        "neg_log_loss": -np.log(3.0),
        "balanced_accuracy": 1 / 3,
        "roc_auc_ovr": 0.5,
    }
    for scoring, expected in guess.items():
        values = value_by_retraining(GaussianNB(), *data, scoring=scoring, n_samples=2, random_state=0, n_jobs=1)
        assert values.empty_utility == pytest.approx(expected)
        assert values.settings["scoring"] == scoring
    assert exactly(GaussianNB(), blobs(3), empty=0.125).empty_utility == 0.125


def test_a_scorer_of_ones_own() -> None:
    def recall_of_ones(model: Any, X: Any, y: Any) -> float:
        return float(np.mean(model.predict(X)[y == 1] == 1))

    values = exactly(GaussianNB(), blobs(4), scoring=recall_of_ones)
    assert values.settings["scoring"] == "recall_of_ones"
    assert values.empty_utility == 0.5


def test_one_class_names_that_class() -> None:
    X, _, X_test, y_test = blobs(4)
    values = exactly(LogisticRegression(), (X, [1, 1, 1, 1], X_test, y_test), semivalue="banzhaf")
    assert values.full_utility == 0.5
    assert values.values.tolist() == [0.0] * 4


def test_test_labels_never_seen() -> None:
    X, y, X_test, _ = blobs(4)
    values = exactly(GaussianNB(), (X, y, X_test[:3], [2, 2, 2]))
    assert values.full_utility == 0.0
    assert values.empty_utility == pytest.approx(1 / 3)
    assert values.values.sum() == pytest.approx(-1 / 3)


def test_one_point() -> None:
    values = exactly(GaussianNB(), ([[0.0]], ["a"], [[1.0], [2.0]], ["a", "b"]))
    assert values.values.tolist() == [0.0]
    sampled = value_by_retraining(GaussianNB(), [[0.0]], ["a"], [[1.0]], ["a"], n_samples=2, n_jobs=1)
    assert sampled.values.tolist() == [0.0]


@pytest.mark.parametrize(
    "rename",
    [
        lambda y: np.where(y, "yes", "no"),
        lambda y: ["yes" if label else "no" for label in y],
        lambda y: pd.Series(y).map({0: "no", 1: "yes"}).astype("category"),
        lambda y: y.astype(bool),
        lambda y: y.astype(float),
    ],
    ids=["text", "list of text", "categories", "booleans", "whole floats"],
)
def test_labels_of_any_type(rename: Any) -> None:
    X, y, X_test, y_test = blobs(5)
    named = exactly(GaussianNB(), (X, rename(y), X_test, rename(y_test)))
    assert_allclose(named.values, exactly(GaussianNB(), (X, y, X_test, y_test)).values)


def test_sparse_features() -> None:
    X, y, X_test, y_test = blobs(5)
    dense = exactly(LogisticRegression(), (X, y, X_test, y_test))
    thin = exactly(LogisticRegression(), (sparse.coo_matrix(X), y, sparse.csr_array(X_test), y_test))
    assert_allclose(thin.values, dense.values, atol=1e-12)
    assert retrain(sparse.csr_matrix(X), y, sparse.csr_matrix(X_test), y_test, n_samples=2, n_jobs=1).n_queries == 20


def test_data_frames_reach_the_pipeline_as_they_are() -> None:
    frame = pd.DataFrame({"colour": ["red", "red", "blue", "blue"], "size": [1.0, 2.0, 3.0, 4.0]}, index=list("abcd"))
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder="passthrough"),
        LogisticRegression(),
    )
    values = exactly(pipeline, (frame, [0, 0, 1, 1], frame, [0, 0, 1, 1]))
    assert values.ids.tolist() == ["a", "b", "c", "d"]
    assert values.full_utility == 1.0
    named = exactly(pipeline, (frame, [0, 0, 1, 1], frame, [0, 0, 1, 1]), ids=[4, 3, 2, 1])
    assert named.ids.tolist() == [4, 3, 2, 1]


def test_polars_frames() -> None:
    polars = pytest.importorskip("polars")
    X, y, X_test, y_test = blobs(4)
    frames = (polars.DataFrame(X), polars.Series(y), polars.DataFrame(X_test), polars.Series(y_test))
    assert (
        exactly(GaussianNB(), frames).values.tolist() == exactly(GaussianNB(), (X, y, X_test, y_test)).values.tolist()
    )


def test_regressors() -> None:
    rng = np.random.default_rng(0)
    X, X_test = rng.normal(size=(7, 1)), rng.normal(size=(10, 1))
    y, y_test = 3.0 * X[:, 0] + 1.0, 3.0 * X_test[:, 0] + 1.0
    values = exactly(LinearRegression(), (X, y, X_test, y_test), scoring="neg_mean_absolute_error")
    assert values.full_utility == pytest.approx(0.0, abs=1e-12)
    assert values.empty_utility == pytest.approx(-np.abs(y_test).mean())
    own_score = value_by_retraining(LinearRegression(), X, y, X_test, y_test, n_samples=2, n_jobs=1)
    assert own_score.full_utility == pytest.approx(1.0)


def test_models_that_draw_at_random_earn_the_same_again() -> None:
    data = blobs(4)
    forest = RandomForestClassifier(n_estimators=2)
    one, other = (exactly(forest, data, cache=False) for _ in range(2))
    assert one.equals(other)
    assert forest.random_state is None


def test_chances_have_a_column_for_classes_that_a_coalition_lacks() -> None:
    data = blobs(6, n_classes=3, n_test=9)
    values = exactly(KNeighborsClassifier(2), data, scoring="neg_log_loss")
    assert np.isfinite(values.values).all()


def test_the_default_model_and_its_wrappers() -> None:
    data = blobs(6)
    shapley = retrain(*data, sampler="exact", n_jobs=1)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    assert_allclose(shapley.values, exactly(model, data).values)
    assert "LogisticRegression" in shapley.settings["model"]
    banzhaf = retrain_msr(*data, n_samples=100, random_state=0, n_jobs=1)
    assert (banzhaf.settings["semivalue"], banzhaf.settings["sampler"]) == ("banzhaf", "msr")
    other = retrain_msr(*data, estimator=DummyClassifier(), semivalue="shapley", n_samples=100, n_jobs=1)
    assert (other.settings["semivalue"], other.settings["model"]) == ("shapley", "DummyClassifier()")


def test_results_can_be_saved_and_come_with_intervals(tmp_path: Any) -> None:
    values = value_by_retraining(GaussianNB(), *blobs(5), n_samples=20, random_state=0, n_jobs=1)
    values.save(tmp_path / "values.parquet")
    assert Values.load(tmp_path / "values.parquet").equals(values)
    low, high = values.interval()
    assert (low <= values.values).all()
    assert (values.values <= high).all()
