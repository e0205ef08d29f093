"""Influence: derivatives of the test loss, checked by refitting with other weights and without single points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from pivotal.baselines import influence as module
from pivotal.baselines.influence import influence


def split(load, n_train, n_test, seed=0):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    return X[train], y[train], X[test], y[test]


def test_loss(task, C, weight):
    """Mean log loss of a model refitted with these weights of the training points."""
    X_train, y_train, X_test, y_test = task
    scaler = StandardScaler().fit(X_train)
    model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    kept = weight > 0
    model.fit(scaler.transform(X_train[kept]), y_train[kept], sample_weight=weight[kept])
    chances = model.predict_log_proba(scaler.transform(X_test))
    return -chances[np.arange(y_test.size), np.searchsorted(model.classes_, y_test)].mean()


test_loss.__test__ = False  # type: ignore[attr-defined]  # named for what it is, not a test


def with_weight(i, n, weight):
    weights = np.ones(n)
    weights[i] = weight
    return weights


BINARY, THREE = (load_breast_cancer, 60, 30), (load_iris, 60, 30)


# ----------------------------------------------------------------------------------------------- the definition


@pytest.mark.parametrize("data", [BINARY, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_values_are_derivatives_of_the_test_loss(data, C):
    task, step = split(*data), 1e-3
    values = influence(*task, C=C).values
    for i in range(0, 60, 7):
        up, down = (test_loss(task, C, with_weight(i, 60, 1 + sign * step)) for sign in (1, -1))
        assert values[i] == pytest.approx((down - up) / (2 * step), rel=1e-4, abs=1e-8)


@pytest.mark.parametrize("data", [BINARY, THREE], ids=["two classes", "three classes"])
def test_values_come_close_to_leaving_points_out(data):
    task, C = split(*data), 0.1
    values = influence(*task, C=C).values
    whole = test_loss(task, C, np.ones(60))
    left_out = np.array([test_loss(task, C, with_weight(i, 60, 0.0)) - whole for i in range(60)])
    assert np.corrcoef(values, left_out)[0, 1] > 0.99
    assert spearmanr(values, left_out).statistic > 0.97
    assert np.median(np.abs(values / left_out - 1)) < 0.1


def test_less_of_a_point_comes_closer_to_the_first_order():
    """What first order misses is of second order: a tenth of the step misses a hundredth."""
    task, C, i = split(*BINARY), 1.0, 3
    value, whole = influence(*task, C=C).values[i], test_loss(task, C, np.ones(60))
    missed = [test_loss(task, C, with_weight(i, 60, 1 - step)) - whole - step * value for step in (0.1, 0.01)]
    assert missed[1] == pytest.approx(missed[0] / 100, rel=0.15)


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_conjugate_gradients_find_the_same(load, C):
    task = split(load, 100, 40)
    exact, iterated = (influence(*task, C=C, solver=solver) for solver in ("exact", "cg"))
    assert (exact.settings["solver"], iterated.settings["solver"]) == ("exact", "cg")
    np.testing.assert_allclose(iterated.values, exact.values, atol=1e-7 * np.abs(exact.values).max())


def test_many_parameters_are_solved_by_conjugate_gradients(monkeypatch):
    task = split(load_iris, 60, 30)
    exact = influence(*task)
    assert exact.settings["solver"] == "exact"
    monkeypatch.setattr(module, "_MOST_EXACT", 14)  # four features and an intercept for each of three classes: 15
    many = influence(*task)
    assert many.settings["solver"] == "cg"
    np.testing.assert_allclose(many.values, exact.values, rtol=1e-5, atol=1e-9)


# ----------------------------------------------------------------------------------------------- what must follow


def test_under_a_heavy_penalty_only_the_shares_of_classes_matter():
    """What is left of the model is its intercepts: a point more of class c makes c more likely everywhere."""
    X_train, y_train, X_test, y_test = split(*THREE)
    values = influence(X_train, y_train, X_test, y_test, C=1e-9).values
    have, want = (np.bincount(y) / y.size for y in (y_train, y_test))
    # With shares p of the classes, the loss -Σ want log p falls by (want / have - 1) / n for a point more of a class.
    np.testing.assert_allclose(values, ((want / have - 1) / 60)[y_train], atol=1e-6)


def test_wrong_labels_are_found():
    X_train, y_train, X_test, y_test = split(load_breast_cancer, 200, 100)
    wrong = np.arange(0, 200, 10)
    y_train[wrong] = 1 - y_train[wrong]
    values = influence(X_train, y_train, X_test, y_test).values
    assert roc_auc_score(np.isin(np.arange(200), wrong), -values) > 0.9


def test_the_order_of_points_does_not_matter():
    X_train, y_train, X_test, y_test = split(*THREE)
    order, other = np.random.default_rng(1).permutation(60), np.random.default_rng(2).permutation(30)
    moved = influence(X_train[order], y_train[order], X_test[other], y_test[other]).values
    np.testing.assert_allclose(moved, influence(X_train, y_train, X_test, y_test).values[order], atol=1e-9)


def test_twins_are_worth_the_same():
    X_train, y_train, X_test, y_test = split(*BINARY)
    values = influence(np.vstack([X_train, X_train[:1]]), np.append(y_train, y_train[0]), X_test, y_test).values
    assert values[0] == pytest.approx(values[-1], abs=1e-14)


def test_scaling_is_done_here_unless_it_was_done_before():
    X_train, y_train, X_test, y_test = split(*THREE)
    values = influence(X_train, y_train, X_test, y_test).values
    again = influence(1000 * X_train - 5, y_train, 1000 * X_test - 5, y_test).values
    np.testing.assert_allclose(again, values, atol=1e-9)
    scaler = StandardScaler().fit(X_train)
    own = influence(scaler.transform(X_train), y_train, scaler.transform(X_test), y_test, scale=False).values
    np.testing.assert_allclose(own, values, atol=1e-12)
    assert not np.allclose(influence(X_train, y_train, X_test, y_test, scale=False).values, values, atol=1e-4)


# ----------------------------------------------------------------------------------------------- what may come in


@pytest.mark.parametrize("solver", ["exact", "cg"])
@pytest.mark.parametrize("data", [BINARY, THREE], ids=["two classes", "three classes"])
def test_sparse_points_are_points(solver, data):
    X_train, y_train, X_test, y_test = split(*data)
    spread = X_train.std(axis=0)
    dense = influence(X_train / spread, y_train, X_test / spread, y_test, scale=False, solver=solver).values
    for one, other in ((sparse.csr_matrix, sparse.csc_array), (sparse.csr_array, np.asarray)):
        thin = influence(one(X_train), y_train, other(X_test), y_test, solver=solver).values
        np.testing.assert_allclose(thin, dense, rtol=1e-4, atol=1e-8)


def test_labels_may_have_any_names():
    for data, names in ((BINARY, ["sick", "well"]), (THREE, ["setosa", "versicolor", "virginica"])):
        X_train, y_train, X_test, y_test = split(*data)
        names = np.array(names)
        numbers = influence(X_train, y_train, X_test, y_test).values
        np.testing.assert_array_equal(influence(X_train, names[y_train], X_test, names[y_test]).values, numbers)
        other_way = names[::-1]
        turned = influence(X_train, other_way[y_train], X_test, other_way[y_test]).values
        np.testing.assert_allclose(turned, numbers, atol=1e-9)


def test_a_label_nobody_has_adds_nothing():
    X_train, y_train, X_test, y_test = split(*BINARY)
    known = influence(X_train, y_train, X_test, y_test).values
    strange = influence(X_train, y_train, np.vstack([X_test, X_test]), np.append(y_test, np.full(30, 7)))
    assert strange.n_queries == 60
    np.testing.assert_allclose(strange.values, known / 2, atol=1e-12)
    with pytest.raises(ValueError, match="y_test must hold labels that y_train has too"):
        influence(X_train, y_train, X_test, np.full(30, 7))


def test_a_class_missing_among_the_queries_is_no_trouble():
    X_train, y_train, X_test, y_test = split(*THREE)
    some = y_test != 1
    values = influence(X_train, y_train, X_test[some], y_test[some]).values
    assert np.isfinite(values).all()
    assert values.any()


def test_one_class_leaves_nothing_to_fit():
    assert influence([[1.0], [2.0]], ["a", "a"], [[1.5]], ["a"]).values.tolist() == [0.0, 0.0]
    alone = influence([[1.0]], ["a"], [[1.5], [2.0]], ["a", "b"])
    assert alone.values.tolist() == [0.0]
    assert alone.settings["solver"] == "none"


def test_a_constant_feature_is_no_trouble():
    X_train, y_train, X_test, y_test = split(*THREE)
    wider = [np.hstack([X, np.full((len(X), 1), 3.0)]) for X in (X_train, X_test)]
    plain = influence(X_train, y_train, X_test, y_test).values
    np.testing.assert_allclose(influence(wider[0], y_train, wider[1], y_test).values, plain, atol=1e-9)


def test_the_result_says_what_it_is():
    values = influence(*split(*THREE), ids=np.arange(100, 160), C=0.5, random_state=0, n_jobs=1)
    assert values.ids.tolist() == list(range(100, 160))
    assert (values.full_utility, values.empty_utility, values.error_bound, values.standard_error) == (None,) * 4
    assert values.n_queries == 30
    assert values.settings["method"] == "influence"
    assert (values.settings["C"], values.settings["scale"]) == (0.5, True)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"C": 0}, r"C must be a finite number above 0; got 0"),
    ({"C": -1.0}, r"C must be a finite number above 0; got -1.0"),
    ({"C": np.nan}, r"C must be a finite number above 0; got nan"),
    ({"C": True}, r"C must be a finite number above 0; got True"),
    ({"scale": "yes"}, r"scale must be True or False; got 'yes'"),
    ({"solver": "lissa"}, r"solver must be one of auto, exact, cg; got 'lissa'"),
    ({"max_iter": 0}, r"max_iter must be an integer of at least 1; got max_iter=0"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_parameters_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        influence([[0.0], [1.0]], [0, 1], [[0.5]], [0], **change)


def test_a_fit_cut_short_is_reported():
    with pytest.warns(ConvergenceWarning):
        influence(*split(*BINARY), max_iter=1)


def test_a_system_cut_short_is_reported():
    design, right = np.random.default_rng(0).normal(size=(20, 6)), np.ones((6, 1))
    with pytest.warns(ConvergenceWarning, match=r"have not converged after 1 steps; lower C or raise max_iter"):
        module._solve(design, np.zeros((6, 1)), right, 1.0, exact=False, max_iter=1)


def test_a_singular_system_is_reported():
    with pytest.raises(ValueError, match=r"needs a Hessian that can be inverted; .* Lower C"):
        module._solve_exactly(np.zeros((3, 2)), np.full((3, 1), 0.5), np.zeros((2, 1)), np.ones((2, 1)))
