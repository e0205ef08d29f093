"""Detection, payouts and redundancy, each against what it is defined by."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
)

import pivotal
from effort import examples
from pivotal.analysis import detection, payouts, redundancy
from pivotal.results.values import Values


@st.composite
def marked_scores(draw):
    scores = draw(st.lists(st.integers(-3, 3), min_size=2, max_size=12))
    wrong = draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    assume(0 < sum(wrong) < len(wrong))
    return np.array(scores) / 4, np.array(wrong)


@examples(40)
@given(marked=marked_scores(), inspected=st.integers(1, 12))
def test_detection_equals_scikit_learns_metrics(marked, inspected):
    scores, wrong = marked
    inspected = min(inspected, len(scores))
    result = detection(scores, wrong, share=inspected)
    suspected = np.zeros(len(scores), bool)
    suspected[np.argsort(-scores, kind="stable")[::-1][:inspected]] = True
    assert result.precision == pytest.approx(precision_score(wrong, suspected))
    assert result.recall == pytest.approx(recall_score(wrong, suspected))
    assert result.f1 == pytest.approx(f1_score(wrong, suspected))
    assert result.roc_auc == roc_auc_score(wrong, -scores)
    assert result.average_precision == average_precision_score(wrong, -scores)
    assert result.found[inspected] == (wrong & suspected).sum()
    np.testing.assert_array_equal(result.order, np.argsort(-scores, kind="stable")[::-1])


def test_as_many_are_inspected_as_are_wrong_and_twice_as_many():
    scores = np.array([-4.0, -3, -2, -1, 0, 1, 2, 3, 4, 5])
    result = detection(scores, [0, 2, 9])
    assert result.inspected == 3
    assert result.precision == result.recall == result.f1 == pytest.approx(2 / 3)
    told = result.to_dict()
    assert json.loads(json.dumps(told)) == told
    assert (told["inspected_at_twice"], told["found_at_twice"]) == (6, 2)
    assert told["precision_at_twice"] == pytest.approx(1 / 3)
    assert told["f1_at_twice"] == pytest.approx(2 * 2 / 9)
    assert result.at(0.6) == result.at(6)
    assert result.at(0).precision == result.at(0).f1 == 0.0
    frame = result.to_frame()
    assert frame["found"].tolist() == [1, 1, 2, 2, 2, 2, 2, 2, 2, 3]
    assert frame.iloc[5][["precision", "recall", "f1"]].tolist() == pytest.approx(
        [told[f"{name}_at_twice"] for name in ("precision", "recall", "f1")]
    )
    with pytest.raises(ValueError, match="read-only"):
        result.found[0] = 1


def test_detection_takes_values_and_masks():
    values = Values([0.3, -0.2, 0.1, -0.1], n_queries=1)
    mask = np.array([False, True, True, False])
    assert detection(values, mask).to_dict() == detection(values.values, [1, 2]).to_dict()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mislabelled": []}, "mislabelled must name some of the 4 training points, and not all; got 0"),
        ({"mislabelled": [0, 1, 2, 3]}, "and not all; got 4"),
        ({"mislabelled": [4]}, "mislabelled must hold training indices from 0 to 3; got 4"),
        ({"mislabelled": [True, False]}, r"a boolean mask of shape \(4,\)"),
        ({"share": 0}, "share must make at least one point to inspect; got 0 of 4 points"),
        ({"share": 5}, "share must be an integer up to the 4 training points"),
        ({"share": 1.2}, "share must be an integer up to"),
        ({"values": []}, "values must be one number per training point, at least one"),
        ({"values": [1.0, np.inf, 0.0, 0.0]}, "values must be finite; got inf at training index 1"),
    ],
)
def test_detection_explains_itself(change, message):
    with pytest.raises(ValueError, match=message):
        detection(**{"values": [0.3, -0.2, 0.1, -0.1], "mislabelled": [1], **change})


values_of_points = st.lists(
    st.tuples(st.sampled_from("abcd"), st.floats(-1, 1, allow_subnormal=False)), min_size=1, max_size=12
)


@given(points=values_of_points, budget=st.integers(1, 10**7), decimals=st.integers(0, 4), non_negative=st.booleans())
def test_payouts_add_up_to_the_cent(points, budget, decimals, non_negative):
    owners, scores = zip(*points, strict=True)
    budget = budget / 100 if decimals >= 2 else float(budget)
    try:
        frame = payouts(scores, owners, budget=budget, non_negative=non_negative, decimals=decimals)
    except ValueError as error:
        assert "more than 0" in str(error)  # noqa: PT017  # nothing to share is tested elsewhere
        return
    assert sum(frame["payout"]) == Decimal(repr(budget))
    assert frame["points"].sum() == len(points)
    claims = {owner: Fraction(math.fsum(s for o, s in points if o == owner)) for owner in set(owners)}
    if non_negative:
        claims = {owner: max(claim, Fraction(0)) for owner, claim in claims.items()}
        assert min(frame["payout"]) >= 0
    total = sum(claims.values())
    unit = Fraction(1, 10**decimals)
    for owner, payout in frame["payout"].items():
        # The rounding of a fair share never moves it by a whole unit.
        assert abs(Fraction(payout) - Fraction(Decimal(repr(budget))) * claims[owner] / total) < unit


@given(points=values_of_points, budget=st.floats(1e-3, 1e9))
def test_payouts_add_up_without_rounding_too(points, budget):
    owners, scores = zip(*points, strict=True)
    try:
        frame = payouts(scores, owners, budget=budget, non_negative=True)
    except ValueError as error:
        assert "more than 0" in str(error)  # noqa: PT017
        return
    assert math.fsum(frame["payout"]) == budget
    assert (frame["payout"] >= 0).all()
    positive = frame["value"].clip(lower=0)
    np.testing.assert_allclose(frame["payout"], budget * positive / positive.sum(), rtol=1e-12, atol=1e-12 * budget)


def test_the_largest_remainders_get_the_last_cents():
    frame = payouts([1.0, 1.0, 1.0], ["a", "b", "c"], budget=1, decimals=2)
    assert frame["payout"].tolist() == [Decimal("0.34"), Decimal("0.33"), Decimal("0.33")]
    frame = payouts([5.0, 3.0, 1.0], ["a", "b", "c"], budget=10, decimals=0)
    assert frame["payout"].tolist() == [Decimal(6), Decimal(3), Decimal(1)]
    # A tenth is a tenth, though no double is.
    assert sum(payouts([2.0, 1.0], ["a", "b"], budget=0.1, decimals=1)["payout"]) == Decimal("0.1")


def test_debts_beyond_the_budget_are_paid_up_to_rounding():
    frame = payouts([3.0, -1.0, -1.9999999], ["a", "b", "c"], budget=0.7)
    assert math.fsum(frame["payout"]) == pytest.approx(0.7, rel=1e-6)
    assert frame["payout"]["a"] == pytest.approx(0.7 * 3.0 / 1e-7, rel=1e-6)


def test_owners_who_do_harm_owe_or_get_nothing():
    scores, owners = [0.5, 0.5, -0.25], ["north", "south", "west"]
    owing = payouts(scores, owners, budget=3.0)
    assert owing["payout"].to_dict() == {"north": 2.0, "south": 2.0, "west": -1.0}
    assert owing.index.name == "owner"
    spared = payouts(scores, owners, budget=3.0, non_negative=True)
    assert spared["payout"].to_dict() == {"north": 1.5, "south": 1.5, "west": 0.0}


def test_payouts_are_those_of_by_owner():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    values = pivotal.value(X, y, X[:9] + 0.1, y[:9], k=3, semivalue="shapley")
    owners = np.array(["x", "y", "z"])[np.arange(40) % 3]
    frame = payouts(values, pd.Series(owners), budget=values.full_utility - values.empty_utility)
    sums = values.by_owner(owners)
    assert frame.index.tolist() == sums.index.tolist()
    np.testing.assert_allclose(frame["payout"], sums, rtol=1e-9)
    assert payouts([1.0, 2.0], [7, "x"]).index.tolist() == ["x", 7]


@given(
    points=values_of_points,
    budget=st.floats(1e-320, 1e308) | st.sampled_from([1e15, 1e16, 1e17, 1e22, 1e27, 1e28, 1e100, 1.7e308]),
    decimals=st.none() | st.integers(0, 12),
    non_negative=st.booleans(),
)
def test_payouts_of_any_budget_add_up_or_are_refused(points, budget, decimals, non_negative):
    owners, scores = zip(*points, strict=True)
    try:
        frame = payouts(scores, owners, budget=budget, non_negative=non_negative, decimals=decimals)
    except ValueError as error:
        assert re.search("add up to more than 0|budget must|payouts of", str(error))  # noqa: PT017
        return
    if decimals is not None:
        assert sum(frame["payout"]) == Decimal(repr(budget))
        assert all(payout == round(payout, decimals) for payout in frame["payout"])
    else:
        # Beyond exact sums, every payout is rounded once.
        slack = len(frame) * 2.0**-53 * math.fsum(np.abs(frame["payout"]))
        assert abs(math.fsum(frame["payout"]) - budget) <= slack


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": 1e17, "decimals": 12}, "exact up to 28 digits in all; got budget=1e.17. Use fewer decimals"),
        ({"budget": 1e308, "decimals": 2}, "exact up to 28 digits in all; got budget=1e.308"),
        ({"values": [3.0, 0.0, -2.0], "budget": 1e308}, "budget must leave payouts that a double can hold"),
        ({"owners": ["a", "b"]}, r"owners must have one entry per training point, shape \(3,\); got shape \(2,\)"),
        ({"owners": ["a", None, "b"]}, "owners must name an owner for every training point; got 1 missing"),
        ({"budget": 0}, "budget must be a finite number above 0; got 0"),
        ({"budget": float("nan")}, "budget must be a finite number above 0; got nan"),
        ({"budget": "all"}, "budget must be a finite number above 0; got 'all'"),
        ({"decimals": -1}, "decimals must be an integer from 0 to 12, or None; got -1"),
        ({"decimals": 2, "budget": 0.005}, "budget must be a multiple of 0.01 to be paid in that; got 0.005"),
        ({"values": [0.5, -0.5, 0.0]}, "more than 0; got 0, which is 0 within the error bound.*non_negative=True"),
        ({"values": [-1.0, 0.5, 0.0]}, "got -0.5, which is below 0"),
        ({"values": [-1.0, -0.5, 0.0], "non_negative": True}, "No owner can be paid by these values"),
        ({"values": Values([1e-9] * 3, n_queries=1, error_bound=1e-8)}, "is 0 within the error bound of 3e-08"),
        ({"values": [1.0, 2.0]}, "owners must have one entry per training point"),
    ],
)
def test_payouts_explain_themselves(change, message):
    with pytest.raises(ValueError, match=message):
        payouts(**{"values": [0.2, 0.3, 0.5], "owners": ["a", "a", "b"], **change})


@given(
    cells=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=1, max_size=14),
    labels=st.data(),
    radius=st.sampled_from([0.0, 1.0, 1.5]),
)
def test_copies_are_the_components_of_the_graph_of_near_points(cells, labels, radius):
    X = np.array(cells, dtype=float)
    y = np.array(labels.draw(st.lists(st.integers(0, 1), min_size=len(X), max_size=len(X))))
    result = redundancy(np.ones(len(X)), X, y, radius=radius)
    gaps = np.sqrt(((X[:, np.newaxis] - X) ** 2).sum(axis=2))
    together = np.linalg.matrix_power((gaps <= radius).astype(int) + np.eye(len(X), dtype=int), len(X)) > 0
    groups = {tuple(np.flatnonzero(row).tolist()) for row in together if row.sum() > 1}
    assert [tuple(group.tolist()) for group in result.groups] == sorted(groups)
    assert result.copies.tolist() == sorted(i for group in groups for i in group[1:])
    expected = {i for group in groups if len(set(y[list(group)].tolist())) > 1 for i in group}
    assert set(np.flatnonzero(result.conflicting).tolist()) == expected


def test_many_near_copies_are_found_however_many():
    rng = np.random.default_rng(0)
    # A crowd wider than the first list of neighbours, a pair, and loners; far from the origin.
    X = 1e6 + np.concatenate([rng.uniform(0, 0.01, (1200, 3)), [[5.0] * 3, [5.0, 5.0, 5.005]], 100 + 9.0 * np.eye(3)])
    result = redundancy(np.zeros(len(X)), X, np.zeros(len(X), int), radius=0.01)
    assert [len(group) for group in result.groups] == [1200, 2]
    assert repr(result).startswith("Redundancy(2 groups of copies with 1202 points, 0 in conflict;")


def test_what_nobody_looks_at_can_go_at_once():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 3, 200)
    queries, targets = rng.normal(size=(15, 2)), rng.integers(0, 3, 15)
    values = pivotal.value(X, y, queries, targets, k=3)
    for weights in ("uniform", "distance", "rbf"):
        result = redundancy(values, X, y, queries, k=3, weights=weights)
        gone = result.droppable
        assert len(gone) > 100
        curve = pivotal.analysis.removal_curve(
            values, X, y, queries, targets, order=gone, k=3, weights=weights, steps=[0, len(gone)]
        )
        assert curve.scores[0] == curve.scores[1]
        # Every other point is among the nearest of some query.
        near = pivotal.neighbors.BruteIndex(X).search(queries, 6 if weights == "rbf" else 3)[0]
        assert set(gone.tolist()) == set(range(200)) - set(near.ravel().tolist())


def test_no_value_is_a_value_within_the_bound():
    X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    values = Values([0.5, 1e-12, -1e-12, 1e-3], n_queries=1, error_bound=1e-10, ids=["p", "q", "r", "s"])
    result = redundancy(values, X, y)
    assert result.worthless.tolist() == [1, 2]
    assert redundancy(values, X, y, threshold=0.01).worthless.tolist() == [1, 2, 3]
    assert redundancy(values.values, X, y).worthless.tolist() == []
    assert redundancy(Values([0.0, 1.0, 1.0, 1.0], n_queries=1, error_bound=None), X, y).worthless.tolist() == [0]
    frame = result.to_frame()
    assert list(frame) == ["id", "value", "group", "conflicting", "worthless"]
    assert frame["id"].tolist() == ["p", "q", "r", "s"]
    assert list(redundancy(values, X, y, [[0.2]], k=1).to_frame())[-1] == "idle"
    with pytest.raises(AttributeError, match="what can be dropped depends on the queries; pass X_test"):
        result.droppable  # noqa: B018


def test_sparse_rows_and_numbers_have_copies_too():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 0.0], [2.0, 0.0]])
    thin = sparse.csr_array(X)
    thin.data[:] = thin.data
    for rows in (X, thin, X.astype(np.float32)):
        result = redundancy(np.ones(4), rows, [0.5, 0.5, 1.0, 2.5])
        assert result.group.tolist() == [0, 0, 1, 1]
        assert result.conflicting.tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": [1.0]}, "values must be one number for each of the 2 training points; got 1"),
        ({"y_train": [0]}, "X_train and y_train must have the same length"),
        ({"y_train": [0, None]}, "y_train must have a label for every point"),
        ({"radius": -1}, "radius must be a finite number of at least 0; got -1"),
        ({"threshold": np.nan}, "threshold must be a finite number of at least 0; got nan"),
        ({"metric": "precomputed"}, "redundancy compares rows of features"),
        ({"X_train": [[np.nan], [1.0]]}, "X_train must be finite"),
        ({"X_test": [[1.0, 2.0]]}, "X_test must have as many columns"),
        ({"X_test": [[1.0]], "k": 0}, "k must be an integer of at least 1"),
        ({"X_test": [[1.0]], "weights": "loud"}, "weights must be one of"),
        ({"radius": 1.0, "metric": "taxi"}, "metric must be"),
    ],
)
def test_redundancy_explains_itself(change, message):
    with pytest.raises(ValueError, match=message):
        redundancy(**{"values": [0.5, 0.1], "X_train": [[0.0], [1.0]], "y_train": [0, 1], **change})
