"""LAVA: slopes of the transport cost, checked against transport with other masses, and what follows from them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import ot
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances, roc_auc_score

from effort import examples
from pivotal.baselines.lava import lava


def ground_cost(X_train, y_train, X_test, y_test, *, label_weight=1.0, p=2.0, metric="euclidean"):
    """The cost of moving each training point to each test point, written out."""
    cost = pairwise_distances(X_train, X_test, metric=metric) ** p
    y_train, y_test = np.asarray(y_train), np.asarray(y_test)
    labels = np.empty_like(cost)
    for one in np.unique(y_train):
        for other in np.unique(y_test):
            block = np.ix_(y_train == one, y_test == other)
            labels[block] = ot.emd2([], [], cost[block])
    return cost + label_weight * labels


def slopes(cost, step=1e-3):
    """Minus the calibrated gradient, from the cost of transport with a little mass moved between two points.

    A central difference of a piecewise linear function at a kink is the mean of the slopes to both sides.
    """
    n, m = cost.shape
    mass, target = np.full(n, 1 / n), np.full(m, 1 / m)

    def moved(i, k, amount):
        shifted = mass.copy()
        shifted[i] += amount
        shifted[k] -= amount
        return ot.emd2(shifted, target, cost)

    table = np.array([[(moved(i, k, step) - moved(i, k, -step)) / (2 * step) for k in range(n)] for i in range(n)])
    return -table.sum(axis=1) / (n - 1)


@st.composite
def small_tasks(draw, *, max_train=6, max_test=5):
    """Points on a coarse grid, so that equal costs and equal points are common."""
    n, m = draw(st.integers(2, max_train)), draw(st.integers(1, max_test))
    grid = st.lists(st.integers(0, 3), min_size=n + m, max_size=n + m)
    X = np.array([draw(grid), draw(grid)], dtype=float).T
    y = np.array(draw(st.lists(st.sampled_from("abc"), min_size=n + m, max_size=n + m)))
    return X[:n], y[:n], X[n:], y[n:]


# ----------------------------------------------------------------------------------------------- the definition


@examples(60)
@given(task=small_tasks(), label_weight=st.sampled_from([0.0, 1.0, 2.5]), p=st.sampled_from([1.0, 2.0, 1.5]))
def test_values_are_slopes_of_the_distance(task, label_weight, p):
    got = lava(*task, label_weight=label_weight, p=p).values
    cost = ground_cost(*task, label_weight=label_weight, p=p)
    np.testing.assert_allclose(got, slopes(cost), atol=1e-8 * max(1.0, cost.max()))


def test_values_are_slopes_on_real_data():
    X, y = load_iris(return_X_y=True)
    task = X[::10], y[::10], X[3::25], y[3::25]  # 15 and 6: a kink at every third point
    np.testing.assert_allclose(lava(*task).values, slopes(ground_cost(*task)), atol=1e-8)


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev"])
def test_any_metric_will_do(metric):
    X, y = load_iris(return_X_y=True)
    task = X[::15], y[::15], X[3::30], y[3::30]
    got = lava(*task, metric=metric, p=1).values
    np.testing.assert_allclose(got, slopes(ground_cost(*task, metric=metric, p=1)), atol=1e-8)


def test_what_a_metric_estimates_comes_from_the_training_points():
    X, y = load_iris(return_X_y=True)
    X_train, y_train, X_test, y_test = X[::15], y[::15], X[3::30], y[3::30]
    spread = X_train.std(axis=0, ddof=1)
    scaled = lava(X_train / spread, y_train, X_test / spread, y_test).values
    np.testing.assert_allclose(lava(X_train, y_train, X_test, y_test, metric="seuclidean").values, scaled, atol=1e-9)


def test_metrics_of_yes_and_no_ask_what_is_not_zero():
    X, y = load_digits(return_X_y=True)
    X_train, y_train, X_test, y_test = X[:40], y[:40], X[600:615], y[600:615]
    values = lava(X_train, y_train, X_test, y_test, metric="jaccard").values
    np.testing.assert_array_equal(lava(X_train > 0, y_train, X_test > 0, y_test, metric="jaccard").values, values)
    assert np.ptp(values) > 0


def test_a_metric_of_ones_own_is_named_in_the_settings():
    def apart(a, b):
        return float(np.abs(a - b).max())

    X, y = load_iris(return_X_y=True)
    task = X[::15], y[::15], X[3::30], y[3::30]
    values = lava(*task, metric=apart)
    assert values.settings["metric"] == "<apart>"
    np.testing.assert_allclose(values.values, lava(*task, metric="chebyshev").values, atol=1e-9)


# ----------------------------------------------------------------------------------------------- what must follow


@pytest.mark.parametrize("copies", [1, 2])
def test_a_training_set_like_the_test_set_has_no_better_and_worse_points(copies):
    X, y = load_iris(return_X_y=True)
    X, y = X[::4] + 1e-3 * np.arange(38)[:, np.newaxis], y[::4]  # no two points alike
    np.testing.assert_allclose(lava(X, y, np.tile(X, (copies, 1)), np.tile(y, copies)).values, 0.0, atol=1e-9)
    np.testing.assert_allclose(lava(np.tile(X, (copies, 1)), np.tile(y, copies), X, y).values, 0.0, atol=1e-9)


@given(task=small_tasks(), data=st.data())
def test_the_order_of_points_does_not_matter(task, data):
    X_train, y_train, X_test, y_test = task
    one, other = (data.draw(st.permutations(range(len(y)))) for y in (y_train, y_test))
    moved = lava(X_train[one], y_train[one], X_test[other], y_test[other]).values
    np.testing.assert_allclose(moved, lava(*task).values[one], atol=1e-9)


@given(task=small_tasks())
def test_values_add_up_to_nothing_and_twins_are_worth_the_same(task):
    X_train, y_train, X_test, y_test = task
    values = lava(np.vstack([X_train, X_train[:1]]), np.append(y_train, y_train[0]), X_test, y_test).values
    assert values.sum() == pytest.approx(0.0, abs=1e-9)
    assert values[0] == pytest.approx(values[-1], abs=1e-9)


@given(task=small_tasks())
def test_values_scale_with_the_cost_and_forget_the_origin(task):
    X_train, y_train, X_test, y_test = task
    values = lava(*task).values
    larger = lava(1000 * X_train + 7, y_train, 1000 * X_test + 7, y_test).values
    np.testing.assert_allclose(larger, 1e6 * values, atol=1e-2)
    tiny = lava(2**-60 * X_train, y_train, 2**-60 * X_test, y_test).values
    np.testing.assert_allclose(tiny * 2.0**120, values, atol=1e-9)


def test_a_mislabelled_point_is_the_worst():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [6.0, 0.0]])
    y_train, y_test = np.repeat([0, 1], 20), np.repeat([0, 1], 10)
    X_train, X_test = (centres[y] + rng.normal(size=(y.size, 2)) for y in (y_train, y_test))
    y_train[7] = 1
    assert lava(X_train, y_train, X_test, y_test).order()[-1] == 7


def test_wrong_digits_are_found():
    X, y = load_digits(return_X_y=True)
    X_train, y_train, X_test, y_test = X[:400] / 16, y[:400].copy(), X[1000:1200] / 16, y[1000:1200]
    wrong = np.arange(0, 400, 10)
    y_train[wrong] = (y_train[wrong] + 1 + np.arange(40) % 9) % 10
    is_wrong = np.isin(np.arange(400), wrong)
    assert roc_auc_score(is_wrong, -lava(X_train, y_train, X_test, y_test).values) > 0.7
    assert roc_auc_score(is_wrong, -lava(X_train, y_train, X_test, y_test, label_weight=0.0).values) < 0.6


def test_without_weight_labels_do_not_count():
    X, y = load_iris(return_X_y=True)
    values = lava(X[::5], y[::5], X[2::7], y[2::7], label_weight=0.0).values
    np.testing.assert_allclose(values, lava(X[::5], [0] * 30, X[2::7], [0] * 22).values, atol=1e-9)


# ----------------------------------------------------------------------------------------------- smoothed


def test_little_smoothing_changes_little_and_needs_no_kinks():
    X, y = load_iris(return_X_y=True)
    task = X[::10], y[::10], X[3::22], y[3::22]  # 15 and 7: nothing in common
    exact, smooth = lava(*task).values, lava(*task, regularization=0.05, max_iter=5000).values
    np.testing.assert_allclose(smooth, exact, atol=0.2)
    assert np.corrcoef(exact, smooth)[0, 1] > 0.999


def test_smoothed_values_meet_their_masses():
    """The potentials of a smoothed problem fit its definition: rows of the plan have the mass of their points."""
    X, y = load_iris(return_X_y=True)
    task = X[::6], y[::6], X[3::10], y[3::10]
    values = lava(*task, regularization=0.5, label_weight=0.0).values
    cost = ground_cost(*task, label_weight=0.0)
    plan, log = ot.sinkhorn([], [], cost, 0.5, method="sinkhorn_log", stopThr=1e-12, numItermax=5000, log=True)
    np.testing.assert_allclose(plan.sum(axis=1), 1 / 25)
    potentials = 0.5 * log["log_u"]
    others = (potentials.sum() - potentials) / 24
    np.testing.assert_allclose(values, others - potentials, atol=1e-4)


def test_too_few_rounds_are_reported():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(
        ConvergenceWarning, match=r"masses are still off by .* after 2 rounds .*; raise regularization or"
    ):
        lava(X[::5], y[::5], X[2::7], y[2::7], regularization=0.01, max_iter=2)


# ----------------------------------------------------------------------------------------------- large sets


@pytest.mark.parametrize("options", [{}, {"regularization": 2.0, "label_weight": 0.0}])
def test_samples_stand_for_large_sets(options):
    X, y = load_digits(return_X_y=True)
    task = X[:160] / 16, y[:160], X[600:690] / 16, y[600:690]
    whole = lava(*task, **options)
    assert whole.settings["sampled"] is None
    assert lava(*task, **options, max_pairs=160 * 90).equals(whole)
    drawn = lava(*task, **options, max_pairs=6400, random_state=0)
    assert drawn.settings["sampled"] == (80, 80)
    assert np.corrcoef(drawn.values, whole.values)[0, 1] > 0.9
    assert drawn.equals(lava(*task, **options, max_pairs=6400, random_state=0))
    assert not drawn.equals(lava(*task, **options, max_pairs=6400, random_state=1))


def test_samples_keep_the_shares_of_classes():
    """Two far groups in equal shares on both sides: a sample that leaned to one would make its points worthless."""
    y_train, y_test = np.repeat([0, 1], 50), np.repeat([0, 1], 25)
    rng = np.random.default_rng(0)
    X_train, X_test = (100.0 * y[:, np.newaxis] + rng.normal(size=(y.size, 2)) for y in (y_train, y_test))
    values = lava(X_train, y_train, X_test, y_test, max_pairs=99, random_state=0)
    assert values.settings["sampled"] == (11, 9)
    assert np.abs(values.values).max() < 1000


def test_samples_keep_all_of_the_smaller_set():
    X, y = load_iris(return_X_y=True)
    drawn = lava(X[::2], y[::2], X[1::30], y[1::30], max_pairs=200, random_state=np.random.default_rng(0))
    assert drawn.settings["sampled"] == (40, 5)
    assert len(drawn) == 75
    drawn = lava(X[1::30], y[1::30], X[::2], y[::2], max_pairs=200, random_state=0)
    assert drawn.settings["sampled"] == (5, 40)


def test_one_pair_at_a_time_still_answers():
    X, y = load_iris(return_X_y=True)
    drawn = lava(X[::10], y[::10], X[1::30], y[1::30], max_pairs=1, random_state=0)
    assert drawn.settings["sampled"] == (1, 1)
    assert np.isfinite(drawn.values).all()


def test_threads_make_no_difference():
    X, y = load_digits(return_X_y=True)
    task = X[:600], y[:600], X[600:650], y[600:650]
    assert lava(*task, n_jobs=1).equals(lava(*task, n_jobs=2))
    thin = sparse.csr_matrix(task[0]), task[1], sparse.csr_matrix(task[2]), task[3]
    assert lava(*thin, n_jobs=1).equals(lava(*thin, n_jobs=2))


# ----------------------------------------------------------------------------------------------- what may come in


def test_sparse_points_are_points():
    X, y = load_digits(return_X_y=True)
    task = X[:100], y[:100], X[600:630], y[600:630]
    dense = lava(*task).values
    for kinds in (
        (sparse.csr_matrix, sparse.csc_matrix),
        (sparse.csr_array, np.asarray),
        (np.asarray, sparse.coo_matrix),
    ):
        thin = lava(kinds[0](task[0]), task[1], kinds[1](task[2]), task[3]).values
        np.testing.assert_allclose(thin, dense, atol=1e-6)


def test_labels_may_have_any_names():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    numbers = lava(X[::5], y[::5], X[2::7], y[2::7]).values
    np.testing.assert_array_equal(lava(X[::5], names[y[::5]], X[2::7], names[y[2::7]]).values, numbers)
    objects = names.astype(object)
    np.testing.assert_array_equal(lava(X[::5], objects[y[::5]], X[2::7], objects[y[2::7]]).values, numbers)


def test_a_class_may_be_missing_on_either_side():
    X, y = load_iris(return_X_y=True)
    train, test = y[::5] != 2, y[2::7] != 0
    task = X[::5][train], y[::5][train], X[2::7][test], y[2::7][test]
    np.testing.assert_allclose(lava(*task).values, slopes(ground_cost(*task)), atol=1e-8)


def test_one_point_and_one_class():
    assert lava([[1.0]], ["a"], [[0.0], [2.0]], ["a", "b"]).values.tolist() == [0.0]
    assert lava([[1.0], [9.0]], [0, 0], [[0.0]], [0]).order().tolist() == [0, 1]
    assert lava([[1.0], [1.0]], [0, 0], [[1.0]], [0]).values.tolist() == [0.0, 0.0]


def test_the_result_says_what_it_is():
    frame = pd.DataFrame({"a": [0.0, 1.0, 5.0]}, index=["x", "y", "z"])
    values = lava(frame, [0, 0, 1], [[0.5], [4.0]], [0, 1], progress=False)
    assert values.ids.tolist() == ["x", "y", "z"]
    assert (values.full_utility, values.empty_utility, values.error_bound, values.standard_error) == (None,) * 4
    assert values.n_queries == 2
    assert values.settings["method"] == "lava"
    assert {"label_weight", "regularization", "p", "metric"} <= set(values.settings)
    assert lava(frame, [0, 0, 1], [[0.5], [4.0]], [0, 1], ids=[7, 8, 9]).ids.tolist() == [7, 8, 9]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"label_weight": -1}, r"label_weight must be a finite number of at least 0; got -1"),
    ({"label_weight": np.inf}, r"label_weight must be a finite number of at least 0; got inf"),
    ({"regularization": -0.1}, r"regularization must be a finite number of at least 0; got -0.1"),
    ({"regularization": "some"}, r"regularization must be a finite number of at least 0; got 'some'"),
    ({"p": 0}, r"p must be a finite number above 0; got 0"),
    ({"p": 0.5}, r"p must be at least 1, or the cost is no distance; got 0.5"),
    ({"metric": "taxi"}, r"metric must be a callable or one of .*; got 'taxi'"),
    ({"metric": "precomputed"}, r"lava needs features, not distances; got metric='precomputed'. Pass the features"),
    ({"max_pairs": 0}, r"max_pairs must be an integer of at least 1; got max_pairs=0"),
    ({"max_iter": 1.5}, r"max_iter must be an integer of at least 1; got max_iter=1.5"),
    ({"X_train": [[1e200], [0.0]]}, r"X_train must stay within .* Rescale the features"),
    ({"X_train": [[1e120], [0.0]], "p": 3}, r"cost of moving a point must be finite; got inf .* p=3. Rescale the"),
    ({"metric": lambda *_: np.nan}, r"cost of moving a point must be finite; got nan from the metric and p=2"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_parameters_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        lava(**({"X_train": [[0.0], [1.0]], "y_train": [0, 1], "X_test": [[0.5]], "y_test": [0]} | change))


def test_a_missing_solver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(ImportError, match=r"^LAVA needs POT; install it with: pip install 'pivotal\[lava\]'$"):
        lava([[0.0], [1.0]], [0, 1], [[0.5]], [0])
