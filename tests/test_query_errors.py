"""Standard errors over queries: the same number from sums as from single rows, however they are added up."""

from __future__ import annotations

import numpy as np
import pytest

import flat
import pivotal
from pivotal.engine.point_sums import PointSums
from pivotal.results.values import Values

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((60, 3)), RNG.integers(0, 3, 60)
X_TEST, Y_TEST = RNG.standard_normal((40, 3)), RNG.integers(0, 3, 40)
WEIGHTS = RNG.random(40) + 0.2

GAMES = [
    {"utility": "hard"},
    {"utility": "soft", "semivalue": "shapley"},
    {"utility": "plurality", "k": 3},
    {"utility": "soft", "weights": "distance"},
    {"utility": "soft", "semivalue": "loo"},
]


def by_hand(rows: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The sandwich, from the values of single queries; with equal weights the usual standard error of a mean."""
    w = np.ones(len(rows)) if weights is None else weights
    mean = w @ rows / w.sum()
    effective = w.sum() ** 2 / (w**2).sum()
    return np.sqrt((w**2) @ (rows - mean) ** 2 * effective / (effective - 1)) / w.sum()


@pytest.mark.parametrize("game", GAMES, ids=str)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_errors_are_those_of_the_single_rows(game, weights):
    values = flat.value(X, Y, X_TEST, Y_TEST, query_weights=weights, per_query=True, **game)
    rows = values.per_query.toarray()
    np.testing.assert_allclose(values.query_standard_error, by_hand(rows, weights), rtol=1e-9, atol=1e-13)
    if weights is None:
        usual = rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
        np.testing.assert_allclose(values.query_standard_error, usual, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("game", GAMES, ids=str)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_blocks_threads_and_batches_make_no_difference_to_a_bit(game, weights):
    whole = flat.value(X, Y, X_TEST, Y_TEST, query_weights=weights, n_jobs=1, **game)
    for how in ({"block_size": 7, "n_jobs": 2}, {"block_size": 1, "n_jobs": 1}):
        other = flat.value(X, Y, X_TEST, Y_TEST, query_weights=weights, **how, **game)
        np.testing.assert_array_equal(other.query_standard_error, whole.query_standard_error)
    kept = flat.value(X, Y, X_TEST, Y_TEST, query_weights=weights, per_query=True, **game)
    np.testing.assert_array_equal(kept.query_standard_error, whole.query_standard_error)


def test_batches_with_and_without_weights_are_one_sample():
    model = pivotal.KNNValuation(utility="soft").fit(X, Y)
    model.update(X_TEST[:15], Y_TEST[:15]).update(X_TEST[15:], Y_TEST[15:], query_weights=WEIGHTS[15:])
    model_rows = flat.value(X, Y, X_TEST, Y_TEST, utility="soft", per_query=True).per_query.toarray()
    weights = np.r_[np.ones(15), WEIGHTS[15:]]
    np.testing.assert_allclose(model.result_.query_standard_error, by_hand(model_rows, weights), rtol=1e-9, atol=1e-13)


def test_a_weight_of_zero_is_no_query():
    weights = np.r_[WEIGHTS[:30], np.zeros(10)]
    some = pivotal.value(X, Y, X_TEST[:30], Y_TEST[:30], query_weights=WEIGHTS[:30])
    padded = pivotal.value(X, Y, X_TEST, Y_TEST, query_weights=weights)
    np.testing.assert_allclose(padded.query_standard_error, some.query_standard_error, rtol=1e-12)


def test_one_query_has_no_error():
    assert pivotal.value(X, Y, X_TEST[:1], Y_TEST[:1]).query_standard_error is None


def test_points_that_value_each_other():
    values = flat.value(X, Y, utility="soft", per_query=True)
    np.testing.assert_allclose(values.query_standard_error, by_hand(values.per_query.toarray()), rtol=1e-9, atol=1e-13)


def test_within_a_radius_and_mixtures():
    for utility in ("threshold(1.5)", 0.5 * pivotal.Threshold(1.0) + 0.5 * pivotal.Threshold(2.0)):
        values = pivotal.value(X, Y, X_TEST, Y_TEST, utility=utility)
        rows = np.array(
            [
                pivotal.value(X, Y, X_TEST[[q]], Y_TEST[[q]], utility=utility, classes=[0, 1, 2]).values
                for q in range(40)
            ]
        )
        np.testing.assert_allclose(values.query_standard_error, by_hand(rows), rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(values.values, rows.mean(axis=0), atol=1e-13)


def test_many_labels():
    labels, targets = RNG.integers(0, 2, (60, 3)), RNG.integers(0, 2, (40, 3))
    for utility in ("soft", "threshold(1.5)"):
        values = pivotal.value(X, labels, X_TEST, targets, utility=utility)
        rows = np.array(
            [pivotal.value(X, labels, X_TEST[[q]], targets[[q]], utility=utility).values for q in range(40)]
        )
        np.testing.assert_allclose(values.query_standard_error, by_hand(rows), rtol=1e-9, atol=1e-13)


def test_owners():
    owners = np.arange(60) % 4
    values = flat.value_owners(X, Y, X_TEST, Y_TEST, owners, k=3)
    rows = np.array([flat.value_owners(X, Y, X_TEST[[q]], Y_TEST[[q]], owners, k=3).values for q in range(40)])
    np.testing.assert_allclose(values.query_standard_error, by_hand(rows), rtol=1e-9, atol=1e-12)


def test_estimates_of_sampled_values_are_near_the_exact_ones():
    exact = pivotal.value(X, Y, X_TEST, Y_TEST, utility="soft")
    sampled = flat.value(X, Y, X_TEST, Y_TEST, utility="soft", method="coalitions", n_samples=4000, random_state=0)
    ratio = sampled.query_standard_error.mean() / exact.query_standard_error.mean()
    assert 0.9 < ratio < 1.1
    assert (sampled.standard_error < 0.3 * sampled.query_standard_error.mean()).all()


def test_after_edits_the_same_number():
    rng = np.random.default_rng(3)
    for weights in (None, WEIGHTS):
        points, labels = X.copy(), Y.copy()
        model = flat.KNNValuation(utility="soft", editable=True).fit(points, labels)
        model.update(X_TEST, Y_TEST, query_weights=weights)
        for _ in range(6):
            gone = int(rng.integers(len(points)))
            new, told = rng.standard_normal((2, 3)), rng.integers(0, 3, 2)
            points = np.concatenate([np.delete(points, gone, axis=0), new])
            labels = np.concatenate([np.delete(labels, gone), told])
            model.remove([gone]).add(new, told).relabel(0, int(labels[0] + 1) % 3)
            labels[0] = (labels[0] + 1) % 3
        model.drop_queries([0, 5])
        stay = np.setdiff1d(np.arange(40), [0, 5])
        kept = None if weights is None else weights[stay]
        again = pivotal.value(points, labels, X_TEST[stay], Y_TEST[stay], query_weights=kept, utility="soft")
        np.testing.assert_allclose(model.values_, again.values, atol=1e-13)
        np.testing.assert_allclose(
            model.result_.query_standard_error, again.query_standard_error, rtol=1e-9, atol=1e-12
        )


def test_dask_gives_the_same_number_to_a_bit():
    da = pytest.importorskip("dask.array")
    for weights in (None, WEIGHTS):
        here = pivotal.value(X, Y, X_TEST, Y_TEST, utility="soft", query_weights=weights)
        lazy = pivotal.value(
            da.from_array(X, chunks=(25, 3)),
            da.from_array(Y, chunks=25),
            da.from_array(X_TEST, chunks=(17, 3)),
            da.from_array(Y_TEST, chunks=17),
            utility="soft",
            query_weights=weights,
        )
        np.testing.assert_array_equal(
            lazy.compute(scheduler="synchronous").query_standard_error, here.query_standard_error
        )


def test_sums_can_be_taken_back():
    sums = PointSums.nothing(5)
    indices = np.array([[0, 1], [2, 0]])
    sums.add(indices, np.array([[1e8, 0.3], [0.1, -7.0]]), np.array([2.0, 0.5]))
    before = sums.copy()
    extra = np.array([[4, 0]]), np.array([[1e9, 1e-3]]), np.array([3.0])
    sums.add(*extra)
    sums.take_back(*extra)
    np.testing.assert_allclose(sums.sums[::2] + sums.sums[1::2], before.sums[::2] + before.sums[1::2], rtol=1e-15)


def test_files_keep_them(tmp_path):
    values = pivotal.value(X, Y, X_TEST, Y_TEST)
    values.save(tmp_path / "values.parquet")
    assert Values.load(tmp_path / "values.parquet").equals(values)
    shapley = pivotal.value(X, X[:, 0] > 0, X_TEST, X_TEST[:, 0] > 0, semivalue="shapley", utility="soft")
    scaled = shapley.normalized()
    np.testing.assert_allclose(
        scaled.query_standard_error * shapley.values[0], shapley.query_standard_error * scaled.values[0]
    )
    with pytest.raises(ValueError, match="query_standard_error must not be negative"):
        Values([0.0], n_queries=2, query_standard_error=[-1.0])


@pytest.mark.parametrize("weighted", [False, True])
def test_far_points_by_shells(weighted):
    """Points that are counted by shells rather than sorted have errors to the tolerance as well."""
    rng = np.random.default_rng(8)
    points, labels = rng.standard_normal((20_000, 12)), rng.integers(0, 2, 20_000)
    queries, targets = rng.standard_normal((12, 12)), rng.integers(0, 2, 12)
    weights = rng.random(12) + 0.5 if weighted else None
    how = {"utility": "soft", "semivalue": "shapley", "query_weights": weights}
    near = flat.value(points, labels, queries, targets, tol=1e-3, **how)
    exact = flat.value(points, labels, queries, targets, tol=0.0, **how)
    np.testing.assert_allclose(near.query_standard_error, exact.query_standard_error, atol=2e-3)
    ratio = near.query_standard_error.sum() / exact.query_standard_error.sum()
    assert ratio == pytest.approx(1.0, abs=0.05)
