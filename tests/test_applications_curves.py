"""Curves equal what fitting anew at every step gives, ties and all."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer, r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

from applied import accuracy, blobs, tasks
from effort import examples
from pivotal import Metric
from pivotal.analysis import Curve, removal_curve, repair, selection_curve
from pivotal.results.values import Values


@pytest.mark.kernels
@examples(60)
@given(task=tasks())
def test_removing_equals_starting_over_at_every_step(task):
    X, y, queries, targets, scores, k, weights = task
    lowest = np.argsort(-np.array(scores), kind="stable")[::-1]
    curve = removal_curve(scores, X, y, queries, targets, k=k, weights=weights)
    expected = [accuracy(X, y, lowest[c:], queries, targets, k, weights) for c in range(len(y) + 1)]
    assert curve.counts.tolist() == list(range(len(y) + 1))
    np.testing.assert_allclose(curve.scores, expected, rtol=0, atol=1e-15)


@pytest.mark.kernels
@examples(60)
@given(task=tasks(), n_warm=st.integers(0, 9), last=st.integers(0, 9))
def test_selecting_equals_starting_over_at_every_step(task, n_warm, last):
    X, y, queries, targets, scores, k, weights = task
    warm = np.arange(len(y))[: min(n_warm, len(y))][::-1]
    highest = [i for i in np.argsort(-np.array(scores), kind="stable") if i not in warm]
    counts = sorted({0, min(last, len(highest)), len(highest)})
    data = (X, y, queries, targets)
    curve = selection_curve(scores, *data, k=k, weights=weights, warm_start=warm, steps=counts)
    expected = [accuracy(X, y, [*warm, *highest[:c]], queries, targets, k, weights) for c in counts]
    assert curve.counts.tolist() == counts
    np.testing.assert_allclose(curve.scores, expected, rtol=0, atol=1e-15)


@pytest.fixture(scope="module")
def large():
    """More points than are admitted at once, more queries than a task has."""
    X, y, queries, targets = blobs(2300, 300)
    return (X, y, queries, targets), np.random.default_rng(1).permutation(2300)


LOOKS = [0, 1, 7, 1000, 1023, 1024, 1025, 1276, 2048, 2290, 2296, 2299, 2300]


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_large_sets_are_those_of_scikit_learn(large, weights):
    (X, y, queries, targets), order = large
    curve = removal_curve(None, *large[0], order=order, weights=weights, steps=LOOKS)
    expected = []
    for count in LOOKS[:-1]:
        left = np.sort(order[count:])
        model = KNeighborsClassifier(min(5, len(left)), weights=weights).fit(X[left], y[left])
        expected.append(model.score(queries, targets))
    assert curve.scores.tolist() == [*expected, 0.0]


def test_neither_threads_nor_steps_change_a_curve(large):
    data, order = large
    every = np.arange(2301)
    whole = removal_curve(None, *data, order=order, steps=every, n_jobs=1)
    again = removal_curve(None, *data, order=order, steps=every, n_jobs=3)
    np.testing.assert_array_equal(again.scores, whole.scores)
    some = removal_curve(None, *data, order=order, steps=LOOKS, n_jobs=2)
    np.testing.assert_array_equal(some.scores, whole.scores[LOOKS])
    forth = selection_curve(None, *data, order=order[::-1], steps=every)
    np.testing.assert_array_equal(forth.scores, whole.scores[::-1])


def test_numbers_too_are_the_same_to_the_last_bit(large):
    (X, _, queries, _), order = large
    data = (X, X.sum(axis=1), queries, queries.sum(axis=1))
    looks = (0, 1500, 2290)
    one, three = (removal_curve(None, *data, order=order, scoring="r2", steps=looks, n_jobs=jobs) for jobs in (1, 3))
    np.testing.assert_array_equal(one.scores, three.scores)
    for step, count in enumerate(looks):
        left = order[count:]
        model = KNeighborsRegressor(5).fit(X[left], data[1][left])
        assert one.scores[step] == pytest.approx(model.score(queries, data[3]), abs=1e-12)


@pytest.mark.kernels
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("scoring", ["r2", "neg_mean_squared_error", "neg_mean_absolute_error", "neg_max_error"])
def test_regression_equals_refitting(weights, scoring):
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(14, 2)), rng.normal(size=(6, 2))
    y, targets = X[:, 0] + 1.0, queries[:, 0] + 1.0
    order = rng.permutation(14)
    curve = removal_curve(None, X, y, queries, targets, order=order, k=3, weights=weights, scoring=scoring)
    model = KNeighborsRegressor(3, weights=weights)
    again = removal_curve(None, X, y, queries, targets, order=order, model=model, scoring=scoring)
    np.testing.assert_array_equal(curve.scores, again.scores)
    from sklearn.metrics import get_scorer

    for count in range(14):
        left = np.sort(order[count:])
        fitted = KNeighborsRegressor(min(3, len(left)), weights=weights).fit(X[left], y[left])
        assert curve.scores[count] == pytest.approx(get_scorer(scoring)(fitted, queries, targets), abs=1e-12)
    # Nobody left: zero is predicted.
    zeros = DecisionTreeRegressor().fit(X[:1], [0.0])
    assert curve.scores[14] == pytest.approx(get_scorer(scoring)(zeros, queries, targets), abs=1e-12)


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1_macro", make_scorer(f1_score, average="micro")])
def test_other_scores_are_those_of_scikit_learn(scoring):
    from sklearn.metrics import get_scorer

    X, y, queries, targets = blobs(60, 40)
    order = np.random.default_rng(3).permutation(60)
    curve = removal_curve(None, X, y, queries, targets, order=order, scoring=scoring, steps=np.arange(51))
    scorer = get_scorer(scoring)
    for count in range(51):
        left = np.sort(order[count:])
        model = KNeighborsClassifier(min(5, len(left))).fit(X[left], y[left])
        assert curve.scores[count] == pytest.approx(scorer(model, queries, targets), abs=1e-12)
    empty = selection_curve(None, X, y, queries, targets, order=order, scoring=scoring, steps=[0, 60])
    assert empty.scores[0] == 0.0


def test_a_score_of_targets_that_are_all_alike_follows_scikit_learn():
    X = np.arange(6.0)[:, np.newaxis]
    y = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
    curve = removal_curve(None, X, y, [[0.1], [0.2]], [1.0, 1.0], k=2, scoring="r2", order=[0, 1, 2])
    expected = [r2_score([1.0, 1.0], [p, p]) for p in (1.0, 1.0, 1.5, 2.0)]
    np.testing.assert_array_equal(curve.scores, expected)


def absolute(a, b):
    return float(np.abs(a - b).sum())


def test_a_metric_with_its_parameters_is_the_name_and_the_parameters():
    X, y, queries, targets = [[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]], [0, 1, 1], [[1.0, 0.5], [2.0, 0.0]], [0, 1]
    one, other = (
        removal_curve(None, X, y, queries, targets, order=[1, 2], k=1, **how)
        for how in ({"metric": Metric("minkowski", p=3)}, {"metric": "minkowski", "metric_params": {"p": 3}})
    )
    assert np.array_equal(one.scores, other.scores)
    assert one.settings["metric"] == other.settings["metric"] == "minkowski(p=3)"


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("manhattan", None),
        ("cosine", None),
        ("chebyshev", None),
        ("minkowski", {"p": 3}),
        ("minkowski", None),
        ("sqeuclidean", None),
        ("mahalanobis", None),
        (absolute, None),
    ],
)
def test_every_metric_goes_by_the_distances_of_a_search(metric, params):
    from pivotal.neighbors import BruteIndex

    X, y, queries, targets = blobs(40, 12)
    order = np.random.default_rng(2).permutation(40)
    curve = removal_curve(None, X, y, queries, targets, order=order, metric=metric, metric_params=params, k=3)
    ranked, _ = BruteIndex(X, metric, metric_params=params).search(queries, 40)
    for count in (0, 11, 30, 38, 39):
        left = set(order[count:].tolist())
        chosen = [[i for i in row if i in left][:3] for row in ranked.tolist()]
        predicted = np.array([np.bincount(y[rows]).argmax() for rows in chosen])
        assert curve.scores[count] == (predicted == targets).mean()


@pytest.mark.kernels
def test_sparse_and_precomputed_agree_with_dense():
    X, y, queries, targets = blobs(30, 9)
    X, queries = X.round(), queries.round()
    order = np.random.default_rng(4).permutation(30)
    dense = removal_curve(None, X, y, queries, targets, order=order)
    thin = removal_curve(None, sparse.csr_array(X), y, sparse.csr_array(queries), targets, order=order)
    np.testing.assert_array_equal(thin.scores, dense.scores)
    gaps = np.sqrt(((queries[:, np.newaxis] - X) ** 2).sum(axis=2))
    known = removal_curve(None, np.zeros((30, 30)), y, gaps, targets, order=order, metric="precomputed")
    np.testing.assert_array_equal(known.scores, dense.scores)
    single = removal_curve(None, X.astype(np.float32), y, queries, targets, order=order)
    np.testing.assert_array_equal(single.scores, dense.scores)


@pytest.mark.parametrize("weights", ["rbf", "linear", "rbf(0.5)"])
def test_weights_of_our_own_look_at_the_members_alone(weights):
    from pivotal.core.weights import as_weights
    from pivotal.neighbors import BruteIndex

    X, y, queries, targets = blobs(25, 8)
    order = np.random.default_rng(5).permutation(25)
    curve = removal_curve(None, X, y, queries, targets, order=order, k=3, weights=weights)
    for count in (0, 10, 20, 24):
        left = np.sort(order[count:])
        found, distances = BruteIndex(X[left]).search(queries, min(6, len(left)))
        loud = as_weights(weights)(distances, 3)[:, :3]
        votes = np.zeros((8, 3))
        for row in range(8):
            np.add.at(votes[row], y[left[found[row, :3]]], loud[row])
        assert curve.scores[count] == (votes.argmax(axis=1) == targets).mean()


def test_far_and_large_data_keep_their_order():
    rng = np.random.default_rng(6)
    X, queries = 1e6 + rng.integers(0, 3, size=(80, 2)), 1e6 + rng.integers(0, 3, size=(10, 2))
    y, targets = rng.integers(0, 2, 80), rng.integers(0, 2, 10)
    order = rng.permutation(80)
    curve = removal_curve(None, X, y, queries, targets, order=order, k=4, steps=np.arange(81))
    expected = [accuracy(X, y, order[c:], queries, targets, 4) for c in range(81)]
    assert curve.scores.tolist() == expected


@pytest.mark.parametrize("model", [GaussianNB(), LogisticRegression()])
def test_any_model_is_refitted(model):
    X, y, queries, targets = blobs(40, 10, n_classes=2)
    order = np.argsort(y, kind="stable")  # one class is left in the end
    curve = removal_curve(None, X, y, queries, targets, order=order, model=model, steps=4, n_jobs=1)
    assert curve.counts.tolist() == [0, 10, 20, 30, 40]
    assert curve.settings["model"] == type(model).__name__
    for count, score in zip(curve.counts[:-1], curve.scores, strict=False):
        left = np.sort(order[count:])
        if len(set(y[left])) == 1:
            assert score == (targets == y[left[0]]).mean()
        else:
            assert score == type(model)().fit(X[left], y[left]).score(queries, targets)
    assert curve.scores[-1] == 0.0
    assert len(removal_curve(None, X, y, queries, targets, order=order, model=model, n_jobs=1)) == 21


def test_models_fitted_side_by_side_are_the_same():
    data = blobs(40, 10, n_classes=2)
    one, two = (removal_curve(np.arange(40), *data, model=GaussianNB(), steps=3, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.scores, two.scores)


def test_a_pipeline_gets_its_data_frame():
    frame = pd.DataFrame({"colour": ["red", "blue"] * 6, "size": np.arange(12.0)})
    y = np.array(["hot", "cold"] * 6)
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder="passthrough"),
        GaussianNB(),
    )
    curve = removal_curve(np.arange(12), frame, y, frame, y, model=model, steps=[0, 6], n_jobs=1)
    assert curve.scores.tolist() == [1.0, 1.0]


def test_a_regression_model_is_refitted():
    X = np.arange(12.0)[:, np.newaxis]
    curve = removal_curve(
        None,
        X,
        X[:, 0],
        X,
        X[:, 0],
        model=DecisionTreeRegressor(),
        scoring="r2",
        order="random",
        steps=[0, 12],
        n_jobs=1,
    )
    assert curve.scores[0] == 1.0
    assert curve.scores[1] == pytest.approx(r2_score(X[:, 0], np.zeros(12)))


def test_scikit_learns_nearest_neighbours_need_no_refitting():
    X, y, queries, targets = blobs(50, 20)
    values = np.random.default_rng(7).normal(size=50)
    model = KNeighborsClassifier(3, weights="distance", p=1)
    curve = removal_curve(values, X, y, queries, targets, model=model)
    ours = removal_curve(values, X, y, queries, targets, k=3, weights="distance", metric="manhattan")
    assert len(curve) == 51
    np.testing.assert_array_equal(curve.scores, ours.scores)


def test_random_orders_repeat_and_differ():
    X, y, queries, targets = blobs(60, 20)
    data = (X, y, queries, targets)
    one, same, other = (removal_curve(None, *data, order="random", random_state=seed).scores for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(removal_curve(None, *data, order="random", random_state=rng).scores, one)
    # The same warm start, whatever comes after.
    first = selection_curve(y, *data, warm_start=0.2, random_state=3)
    second = selection_curve(None, *data, order="random", warm_start=12, random_state=3)
    assert first.settings["warm_start"] == second.settings["warm_start"] == 12
    assert first.scores[0] == second.scores[0]
    assert len(first) == len(second) == 49


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (None, list(range(11))),
        (2, [0, 5, 10]),
        (4, [0, 2, 5, 8, 10]),
        (40, list(range(11))),
        ([3, 1, 3], [1, 3]),
        ([0.0, 0.25, 1.0], [0, 2, 10]),
        (np.array([7]), [7]),
    ],
)
def test_steps_are_counts_shares_or_a_number(steps, expected):
    X, y, queries, targets = blobs(10, 3)
    whole = removal_curve(np.arange(10), X, y, queries, targets)
    curve = removal_curve(np.arange(10), X, y, queries, targets, steps=steps)
    assert curve.counts.tolist() == expected
    np.testing.assert_array_equal(curve.scores, whole.scores[expected])


def test_orders_mean_what_values_say():
    X, y, queries, targets = blobs(12, 6)
    values = Values(
        [0, 3, 1, 1, 5, -2, 0, 7, 1, 4, 9, 8], n_queries=1, settings={"semivalue": "banzhaf", "utility": "soft"}
    )
    data = (X, y, queries, targets)
    lowest = removal_curve(values, *data)
    np.testing.assert_array_equal(lowest.scores, removal_curve(None, *data, order=values.order()[::-1]).scores)
    highest = removal_curve(values, *data, order="highest")
    np.testing.assert_array_equal(highest.scores, removal_curve(None, *data, order=values.order()).scores)
    np.testing.assert_array_equal(selection_curve(values, *data).scores, lowest.scores[::-1])
    assert lowest.label == "banzhaf soft"
    assert removal_curve(values, *data, order="random").label == "random"
    assert removal_curve(values, *data, label="mine").label == "mine"
    assert lowest.settings["kind"] == "removal"
    assert lowest.settings["n_train"] == 12
    # Part of an order removes that part.
    assert len(removal_curve(None, *data, order=[4, 2])) == 3


def test_progress_is_shown_when_asked_for(capsys):
    data = blobs(12, 6, n_classes=2)
    removal_curve(np.arange(12), *data)
    assert capsys.readouterr().err == ""
    removal_curve(np.arange(12), *data, progress=True)
    removal_curve(np.arange(12), *data, model=GaussianNB(), steps=1, n_jobs=1, progress=True)
    repair(np.arange(12), *data, share=2, progress=True)
    shown = capsys.readouterr().err
    assert [shown.count(f"{word}: 100%") >= times for word, times in (("following", 2), ("fitting", 1))] == [True, True]


def test_labels_of_any_kind_vote_alike():
    X, y, queries, targets = blobs(20, 8)
    names = np.array(["ant", "bee", "cow"])
    plain = removal_curve(np.arange(20), X, y, queries, targets)
    for labels, truth in (
        (names[y], names[targets]),
        (pd.Categorical(names[y]), list(names[targets])),
        ([("x", 7, 9)[c] for c in y], [("x", 7, 9)[c] for c in targets]),
    ):
        curve = removal_curve(np.arange(20), X, labels, queries, truth)
        assert curve.scores[0] == plain.scores[0]


def median_error(model, X, y):
    return -float(np.median(np.abs(model.predict(X) - y)))


def test_a_score_of_your_own_tells_numbers_by_the_labels():
    X = np.arange(9.0)[:, np.newaxis]
    y = X[:, 0] / 2
    curve = removal_curve(np.arange(9), X, y, X, y, k=2, scoring=median_error, steps=[0, 3])
    model = KNeighborsRegressor(2).fit(X[3:], y[3:])
    assert curve.scores[1] == median_error(model, X, y)
    assert curve.settings["scoring"] == "median_error"


def test_a_curve_is_frozen_and_can_be_pickled():
    curve = Curve([0, 2, 4], [1.0, 0.5, 0.5], label="x", settings={"n_train": 8, "kind": "removal"})
    assert curve.area() == pytest.approx((1.5 + 1.0) / 4)
    assert Curve([3], [0.25]).area() == 0.25
    assert curve.to_frame()["share"].tolist() == [0.0, 0.25, 0.5]
    assert list(Curve([3], [0.25]).to_frame()) == ["count", "score"]
    with pytest.raises(ValueError, match="read-only"):
        curve.scores[0] = 2.0
    again = pickle.loads(pickle.dumps(curve))
    assert again.label == "x"
    assert dict(again.settings) == dict(curve.settings)
    np.testing.assert_array_equal(again.scores, curve.scores)
    assert repr(curve) == "Curve(x, removal of 0 to 4 points, score 1 to 0.5, mean 0.625)"
    with pytest.raises(ValueError, match="counts must be integers that grow"):
        Curve([1, 1], [0.0, 0.0])
    with pytest.raises(ValueError, match=r"scores must be one number per count, shape \(2,\)"):
        Curve([1, 2], [0.0])
