"""Weights of queries: weighted means of single queries, exact or sampled, whatever the blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier

import flat
import reference
from effort import examples
from pivotal import KNNValuation, value, value_from_neighbors
from pivotal.core.spec import Spec
from pivotal.engine.owners.owner_engines import ExactOwners
from pivotal.engine.owners.owner_game import OwnerGame
from pivotal.engine.totals import QueryTotals, Utilities
from pivotal.results.owner_codes import Owners
from pivotal.results.values import Values
from strategies import semivalues

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 2)), RNG.integers(0, 3, 40)
QUERIES, TARGETS = RNG.normal(size=(9, 2)), RNG.integers(0, 3, 9)
WEIGHTS = RNG.random(9)
DATA = (X, Y, QUERIES, TARGETS)
LISTS = np.stack([np.argsort(((X - query) ** 2).sum(axis=1), kind="stable") for query in QUERIES])


@pytest.mark.kernels
@given(seed=st.integers(0, 2**32 - 1), semivalue=semivalues(), utility=st.sampled_from(["hard", "soft", "regression"]))
@examples(30)
def test_values_are_weighted_means_of_enumerated_games(seed: int, semivalue: tuple, utility: str) -> None:
    rng = np.random.default_rng(seed)
    n, n_queries, k = int(rng.integers(1, 7)), int(rng.integers(1, 4)), int(rng.integers(1, 5))
    lists = np.stack([rng.permutation(n) for _ in range(n_queries)])
    y, targets = rng.integers(0, 3, n), rng.integers(0, 3, n_queries)
    weights = rng.integers(0, 4, n_queries) / 2
    weights[rng.integers(n_queries)] = 0.25  # not all are 0
    classes = None if utility == "regression" else range(3)
    exact = np.zeros(n)
    for order, target, weight in zip(lists, targets, weights, strict=True):
        labels = [int(label) for label in y[order]]
        values = reference.semivalues(labels, int(target), k, utility, semivalue[1], classes=classes)
        exact[order] += weight / weights.sum() * np.array([float(v) for v in values])
    how = {"k": k, "utility": utility, "semivalue": semivalue[0], "classes": classes}
    got = flat.value_from_neighbors(lists, y, targets, query_weights=weights, **how)
    np.testing.assert_allclose(got.values, exact, rtol=0, atol=got.error_bound)


GAMES: list[dict[str, Any]] = [
    {},
    {"semivalue": "shapley", "utility": "soft"},
    {"utility": "hard", "weights": "distance", "bits": 4},
    {"utility": "threshold(0.7)", "semivalue": "shapley"},
    {"utility": "regression"},
    {"semivalue": "banzhaf", "tol": 1e-3},
]


@pytest.mark.parametrize("how", GAMES, ids=str)
def test_everything_is_linear_in_single_queries(how: dict[str, Any]) -> None:
    how = how if how.get("utility") == "regression" else {"classes": range(3), **how}
    single = [flat.value(X, Y, QUERIES[i : i + 1], TARGETS[i : i + 1], k=3, **how) for i in range(9)]
    together = flat.value(*DATA, k=3, query_weights=WEIGHTS, **how)
    for name in ("values", "full_utility", "empty_utility"):
        mean = sum(w * getattr(one, name) for w, one in zip(WEIGHTS, single, strict=True)) / WEIGHTS.sum()
        np.testing.assert_allclose(getattr(together, name), mean, rtol=1e-12, atol=1e-15)
    bounds = [one.error_bound for one in single]
    assert together.error_bound is not None
    assert together.error_bound >= np.average(bounds, weights=WEIGHTS) * (1 - 1e-12)  # with the largest range of all
    assert together.error_bound <= max(bounds) * (1 + 1e-12)
    assert together.n_queries == 9
    assert together.details["query_weight"] == pytest.approx(WEIGHTS.sum())


@pytest.mark.parametrize("how", [{}, {"utility": "threshold(0.7)"}, {"method": "coalitions"}], ids=str)
def test_all_the_same_weight_is_no_weight(how: dict[str, Any]) -> None:
    if "method" in how:
        how = {**how, "n_samples": 40, "random_state": 0}
    plain = flat.value(*DATA, **how)
    assert flat.value(*DATA, query_weights=np.ones(9), **how).equals(plain)
    louder = flat.value(*DATA, query_weights=np.full(9, 4), **how)  # a power of 2 loses no bit
    assert np.array_equal(louder.values, plain.values)
    assert louder.error_bound == plain.error_bound
    if plain.standard_error is not None:
        assert np.array_equal(louder.standard_error, plain.standard_error)
    assert "query_weight" not in plain.settings
    assert louder.details["query_weight"] == 36.0


@pytest.mark.parametrize("how", [{}, {"utility": "threshold(0.7)"}], ids=str)
def test_queries_without_weight_might_as_well_not_be_there(how: dict[str, Any]) -> None:
    weights = np.array([1, 0, 1, 1, 0, 0, 1, 0, 1])
    kept = np.flatnonzero(weights)
    some = flat.value(X, Y, QUERIES[kept], TARGETS[kept], classes=range(3), **how)
    weighted = flat.value(*DATA, query_weights=weights, classes=range(3), **how)
    assert np.array_equal(weighted.values, some.values)
    assert weighted.full_utility == some.full_utility


@pytest.mark.parametrize("how", [{}, {"method": "permutations", "n_samples": 20, "random_state": 1}], ids=str)
def test_results_do_not_depend_on_blocks_threads_or_batches(how: dict[str, Any]) -> None:
    whole = flat.value(*DATA, query_weights=WEIGHTS, n_jobs=1, **how)
    for n_jobs, block_size in ((2, 2), (1, 4)):
        assert flat.value(*DATA, query_weights=WEIGHTS, n_jobs=n_jobs, block_size=block_size, **how).equals(whole)
    model = flat.KNNValuation(**how).fit(X, Y)
    for part in (slice(0, 2), slice(2, 9)):
        model.update(QUERIES[part], TARGETS[part], query_weights=WEIGHTS[part])
    assert np.array_equal(model.values_, whole.values)
    assert model.result_.full_utility == whole.full_utility


def test_batches_with_and_without_weights_go_together() -> None:
    model = KNNValuation(classes=range(3)).fit(X, Y)
    model.update(QUERIES[:4], TARGETS[:4]).update(QUERIES[4:], TARGETS[4:], query_weights=[2.0] * 5)
    whole = value(*DATA, query_weights=[1] * 4 + [2] * 5, classes=range(3))
    assert np.array_equal(model.values_, whole.values)


def test_lists_and_points_agree() -> None:
    how: dict[str, Any] = {"query_weights": WEIGHTS, "class_weight": {0: 3.0}}
    from_lists, from_points = flat.value_from_neighbors(LISTS, Y, TARGETS, **how), flat.value(*DATA, **how)
    assert np.array_equal(from_lists.values, from_points.values)


def test_points_that_value_each_other_may_have_weights() -> None:
    weights = RNG.random(40)
    lists = np.stack([np.delete(order, np.flatnonzero(order == i)) for i, order in enumerate(all_orders())])
    got = value(X, Y, query_weights=weights)
    assert np.array_equal(got.values, value_from_neighbors(lists, Y, query_weights=weights).values)
    assert not np.array_equal(got.values, value(X, Y).values)


def all_orders() -> np.ndarray:
    return np.argsort(((X[:, np.newaxis] - X) ** 2).sum(axis=2), axis=1, kind="stable")


def test_balanced_classes_make_the_balanced_accuracy_the_utility() -> None:
    y, targets = Y == 0, np.array([True] * 2 + [False] * 7)
    predicted = KNeighborsClassifier(3).fit(X, y).predict(QUERIES)
    balanced = flat.value(X, y, QUERIES, targets, k=3, class_weight="balanced")
    assert balanced.full_utility == pytest.approx(balanced_accuracy_score(targets, predicted), abs=1e-15)
    by_class = [value(X, y, QUERIES[targets == t], targets[targets == t], k=3) for t in (True, False)]
    np.testing.assert_allclose(balanced.values, (by_class[0].values + by_class[1].values) / 2, atol=1e-16)


def test_classes_without_queries_have_no_part_in_the_balance() -> None:
    two = np.where(TARGETS == 2, 0, TARGETS)
    assert flat.value(X, Y, QUERIES, two, class_weight="balanced").details["query_weight"] == pytest.approx(9.0)


def test_class_weights_by_name() -> None:
    names = np.array(["cat", "dog", "eel"])
    data = X, names[Y], QUERIES, names[TARGETS]
    got = flat.value(*data, class_weight={"dog": 0.0, "eel": 5})
    assert np.array_equal(got.values, value(*data, query_weights=np.array([1.0, 0.0, 5.0])[TARGETS]).values)
    both = flat.value(*data, class_weight={"dog": 0.0, "eel": 5}, query_weights=WEIGHTS)
    expected = value(*data, query_weights=np.array([1.0, 0.0, 5.0])[TARGETS] * WEIGHTS)
    assert np.array_equal(both.values, expected.values)


def sampled(**how: Any) -> Values:
    return flat.value(*DATA, k=2, query_weights=WEIGHTS**2, random_state=0, **how)


@pytest.mark.parametrize("method", ["coalitions", "permutations"])
def test_sampled_means_scatter_as_their_standard_errors_say(method: str) -> None:
    exact = value(*DATA, k=2, query_weights=WEIGHTS**2, tol=0)
    estimate = sampled(method=method, n_samples=400, tol=0)
    assert estimate.standard_error is not None
    z = (estimate.values - exact.values) / estimate.standard_error
    assert np.abs(z).max() < 5.0
    assert 0.5 < np.sqrt(np.mean(z**2)) < 1.5
    assert estimate.full_utility == exact.full_utility


def test_variances_add_up_with_squared_weights() -> None:
    single = [
        flat.value(X, Y, QUERIES[i : i + 1], TARGETS[i : i + 1], classes=range(3), method="coalitions", n_samples=2000)
        for i in range(9)
    ]
    errors = np.array([one.standard_error for one in single])
    shares = WEIGHTS / WEIGHTS.sum()
    expected = np.sqrt(((shares[:, np.newaxis] * errors) ** 2).sum(axis=0))
    whole = flat.value(*DATA, query_weights=WEIGHTS, method="coalitions", n_samples=2000, random_state=2)
    seen = expected > np.median(expected)
    np.testing.assert_allclose(whole.standard_error[seen], expected[seen], rtol=0.25)


def test_a_standard_error_that_is_asked_for_is_reached() -> None:
    got = sampled(method="coalitions", target_se=0.004)
    assert got.standard_error is not None
    assert 0.001 < got.standard_error.max() <= 0.004


def test_tiny_weights_keep_their_standard_errors() -> None:
    plain, tiny = (
        flat.value(*DATA, query_weights=np.full(9, w), method="coalitions", n_samples=50, random_state=0)
        for w in (1.0, 2.0**-300)
    )
    assert np.array_equal(tiny.values, plain.values)
    assert (tiny.standard_error >= plain.standard_error).all()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0] * 8, r"query_weights must have one number per query, shape \(9,\); got shape \(8,\)"),
        (np.ones((9, 1)), r"query_weights must have one number per query"),
        ([-1.0] + [1.0] * 8, r"query_weights must be finite and at least 0; got -1.0 at position 0. Use 0"),
        ([1.0] * 8 + [np.nan], "query_weights must be finite and at least 0; got nan at position 8"),
        ([np.inf] * 9, "query_weights must be finite and at least 0; got inf"),
        (["1"] * 9, "query_weights must be numbers; got dtype"),
        ([0.0] * 9, "must add up to a number above 0, from 1e-100 to 1e.100; got 0"),
        ([1e308] * 9, "must add up to a number above 0, .* got inf"),
    ],
)
def test_bad_weights(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        value(*DATA, query_weights=weights)
    with pytest.raises(ValueError, match=message):
        value_from_neighbors(LISTS, Y, TARGETS, query_weights=weights)
    with pytest.raises(ValueError, match=message):
        KNNValuation().fit(X, Y).update(QUERIES, TARGETS, query_weights=weights)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        (
            "balance",
            'must be "balanced", a mapping of classes to numbers, or a number per query; got',
        ),
        (3, 'must be "balanced"'),
        ({7: 1.0}, "query_weights must name classes; got 7, which no point has"),
        ({0: -1.0}, "query_weights must be finite and at least 0; got -1.0"),
        ({0: "much"}, "query_weights must map classes to numbers; got {0: 'much'}"),
        ({0: 0, 1: 0, 2: 0}, "must add up to a number above 0"),
    ],
)
def test_bad_class_weights(class_weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flat.value(*DATA, class_weight=class_weight)


def test_who_has_no_classes_or_no_queries_says_so() -> None:
    with pytest.raises(ValueError, match=r"weights of classes need one class per query; got regression"):
        flat.value(*DATA, utility="regression", class_weight="balanced")
    for chosen in ({"query_weights": WEIGHTS}, {"class_weight": "balanced"}):
        with pytest.raises(ValueError, match=r"are for nearest-neighbour models.*method='random'. Omit them"):
            flat.value(*DATA, method="rand", **chosen)


def test_owners_count_weighted_queries() -> None:
    owners = Owners.of(np.arange(40) % 3, 40)
    players = OwnerGame(Spec.of(utility="hard", semivalue="shapley", k=2, tol=0.0), owners, Y, 3)

    def played(targets: np.ndarray, lists: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        engine = ExactOwners(Spec.of(k=2), Y, players, n_classes=3, n_jobs=1)
        engine.add(lists, None, targets, weights)
        return engine.values()

    single = [played(TARGETS[i : i + 1], LISTS[i : i + 1], None) for i in range(9)]
    np.testing.assert_allclose(played(TARGETS, LISTS, WEIGHTS), np.average(single, axis=0, weights=WEIGHTS), atol=1e-16)


def test_while_nothing_has_weight_values_are_zero() -> None:
    totals = QueryTotals().add(Utilities(np.ones(2), np.zeros(2), np.zeros(2), 1.0), np.zeros(2))
    assert totals.n_queries == 2
    assert totals.result(np.zeros(1), {}).full_utility == 0.0
