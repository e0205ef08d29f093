"""Queries far from all points: weights of a fixed bandwidth underflow there, their ratios do not."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

import flat
import pivotal
import reference
from pivotal import RBF, Linear
from pivotal.analysis import removal_curve

STEPS = 2.0**-13 * np.array([0.0, 1.0, 2.0, 5.0, 9.0, 14.0, 30.0])
Y = np.array([1, 0, 1, 1, 0, 2, 0])
K, BITS = 2, 5
RULES: dict[str, tuple[Any, Callable[[Decimal], Decimal]]] = {
    # Weights, and the logarithm of a weight at a distance.
    "rbf": (RBF(0.5), lambda d: -d * d / 2 / Decimal("0.25")),
    "narrow rbf": ("rbf(0.125)", lambda d: -d * d / 2 * 64),
    "distance": ("distance", lambda d: -d.ln()),
    "function": (lambda d: np.exp(1000.0 * (d[:, :1] - d)), lambda d: -1000 * d),
}


def true_votes(rule: str, distances: np.ndarray) -> list[int]:
    """Votes of the exact weights, none of which a float could hold."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 50, -(10**15), 10**15
        logs = [RULES[rule][1](Decimal(float(d))) for d in distances]
        shares = [(log - logs[0]).exp() * (2**BITS - 1) for log in logs]
        return [int(share.to_integral_value()) for share in shares]


@pytest.fixture(params=[1000.0, 2.0**30 / 1000.0 // 1.0])
def far(request: Any) -> tuple[np.ndarray, np.ndarray]:
    """Points in a cluster far from the query at 0; distances are exact."""
    X = request.param + STEPS
    return X[:, np.newaxis], X


def check(values: pivotal.Values, expected: list[Any]) -> None:
    np.testing.assert_allclose(values.values, [float(v) for v in expected], rtol=0, atol=1e-13)
    assert np.abs(values.values).max() > 0.01
    assert values.vote_resolution == pytest.approx(0.5 / (2**BITS - 1))
    assert np.abs(values.values - [float(v) for v in expected]).max() <= values.error_bound


@pytest.mark.parametrize("utility", ["hard", "soft", "regression"])
@pytest.mark.parametrize("rule", RULES)
def test_values_of_far_queries_are_those_of_the_exact_weights(far: Any, rule: str, utility: str) -> None:
    X, distances = far
    votes = true_votes(rule, distances)
    for semivalue, measure in (("banzhaf", ("banzhaf",)), ("shapley", ("shapley",))):
        how: dict[str, Any] = {"k": K, "utility": utility, "semivalue": semivalue}
        classes = None if utility == "regression" else range(3)
        expected = reference.semivalues(Y.tolist(), 1, K, utility, measure, votes=votes, classes=classes)
        how |= {"weights": RULES[rule][0], "bits": BITS, "classes": classes}
        check(flat.value(X, Y, [[0.0]], [1], **how), expected)
        check(flat.value(X, Y, [[0.0]], [1], method="bf", **how), expected)
        editable = flat.KNNValuation(editable=True, **how).fit(X, Y).update([[0.0]], [1])
        check(editable.result_, expected)
        owned = flat.value_owners(X, Y, [[0.0]], [1], np.arange(len(Y)), **how)
        np.testing.assert_allclose(owned.values, [float(v) for v in expected], rtol=0, atol=1e-13)


@pytest.mark.parametrize("rule", ["rbf", "function"])
def test_blocks_shards_and_neighbours_in_other_places_change_nothing(far: Any, rule: str) -> None:
    da = pytest.importorskip("dask.array")
    X, _ = far
    near = X - X[0] + 0.25
    queries, targets = np.array([[0.0], [X[0, 0]], [0.0], [X[3, 0]]]), [1, 0, 2, 1]
    points, labels = np.concatenate([X, near]), np.concatenate([Y, Y[::-1]])
    how: dict[str, Any] = {"k": K, "weights": RULES[rule][0], "bits": BITS, "utility": "soft"}
    whole = flat.value(points, labels, queries, targets, **how)
    for block_size in (1, 3):
        again = flat.value(points, labels, queries, targets, block_size=block_size, **how)
        np.testing.assert_array_equal(again.values, whole.values)
    shards = da.from_array(points, chunks=(5, 1))
    spread = flat.value(shards, da.from_array(labels, chunks=5), queries, targets, **how).compute()
    np.testing.assert_allclose(spread.values, whole.values, rtol=0, atol=1e-15)


def test_near_queries_have_the_votes_that_they_had() -> None:
    rng = np.random.default_rng(0)
    X, y, queries, targets = rng.normal(size=(60, 2)), rng.integers(0, 3, 60), rng.normal(size=(20, 2)), [1] * 20
    for kernel, plain in (
        (RBF(0.7), lambda d: np.exp(-0.5 * (d / 0.7) ** 2)),
        (Linear(9.0), lambda d: 1.0 - d / 9.0),
        ("distance", lambda d: 1.0 / d),
    ):
        ours = pivotal.value(X, y, queries, targets, k=3, weights=kernel, bits=7)
        np.testing.assert_array_equal(
            ours.values, pivotal.value(X, y, queries, targets, k=3, weights=plain, bits=7).values
        )


def test_predictions_of_far_queries_follow_the_weights() -> None:
    X = 1000.0 + np.array([[0.0], [0.004], [0.004], [0.0041]])
    for removed, score in ((0, 1.0), (1, 0.0)):
        # The nearest outweighs the two of the other class together; without it they win.
        curve = removal_curve(None, X, [0, 1, 1, 1], [[0.0]], [0], order=[0], k=3, weights=RBF(0.5), steps=[removed])
        assert curve.scores.tolist() == [score]


def narrow(distances: Any) -> Any:
    return np.exp(-(distances**2))


CALLS: dict[str, Callable[..., Any]] = {
    "value": pivotal.value,
    "small blocks": lambda *data, **how: flat.value(*data, block_size=2, **how),
    "sampled": lambda *data, **how: flat.value(*data, method="coalitions", n_samples=9, random_state=0, **how),
    "enumeration": lambda *data, **how: flat.value(*data, method="bf", **how),
    "editable": lambda X, y, *queries, **how: flat.KNNValuation(editable=True, **how).fit(X, y).update(*queries),
    "owners": lambda *data, **how: flat.value_owners(*data, np.arange(len(data[1])), **how),
    "sweep": lambda *data, **how: flat.sweep(*data, **how),
    "curve": lambda *data, **how: removal_curve(None, *data, order=[0], **how),
    "dask": lambda *data, **how: _in_chunks(*data, **how).compute(),
}


def _in_chunks(X: Any, y: Any, queries: Any, targets: Any, **how: Any) -> Any:
    da = pytest.importorskip("dask.array")
    return flat.value(da.from_array(np.asarray(X), chunks=(3, 1)), y, da.from_array(queries, (2, 1)), targets, **how)


@pytest.mark.parametrize("weights", [Linear(2.0), narrow], ids=["linear", "narrow"])
@pytest.mark.parametrize("call", CALLS)
def test_a_query_without_votes_is_an_error_that_names_it(call: str, weights: Any) -> None:
    X, queries = STEPS[:, np.newaxis], np.array([[0.0], [1.0], [0.5], [-30.0], [0.1]])
    name = "narrow" if weights is narrow else r"linear\(2.0\)"
    message = (
        rf"{name} must give the nearest neighbour of every query some weight; got 0.0 at distance 30.0\S* for query 3"
    )
    with pytest.raises(ValueError, match=message):
        CALLS[call](X, Y, queries, np.array([1, 0, 1, 0, 1]), k=K, weights=weights)


def test_a_point_without_votes_from_the_others_is_named() -> None:
    X = np.append(STEPS, 50.0)[:, np.newaxis]
    with pytest.raises(ValueError, match=r"got 0.0 at distance 49.99.* for query 7"):
        flat.value(X, np.append(Y, 1), weights="linear(1.0)", block_size=3)
