"""Regression with a prediction of the empty set: against enumeration, and bounds that fit the responses."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flat
import pivotal
from effort import examples
from pivotal import Regression, value, value_from_neighbors
from pivotal.core.games import as_game

RESPONSES = st.lists(st.integers(-8, 8), min_size=1, max_size=6)


def banzhaf(responses: list[Fraction], votes: list[int], target: Fraction, k: int, empty: Fraction) -> list[Fraction]:
    """Banzhaf values by their definition: the mean over all coalitions of the others."""

    def utility(members: tuple[int, ...]) -> Fraction:
        top = sorted(members)[:k]
        total = sum(votes[i] for i in top)
        mean = sum((votes[i] * responses[i] for i in top), Fraction(0)) / total if total else empty
        return -((mean - target) ** 2)

    n = len(responses)
    found = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        gains = [utility((*some, i)) - utility(some) for size in range(n) for some in combinations(others, size)]
        found.append(sum(gains, Fraction(0)) / 2 ** (n - 1))
    return found


def shapley(responses: list[Fraction], target: Fraction, k: int, empty: Fraction) -> list[Fraction]:
    n = len(responses)

    def utility(members: tuple[int, ...]) -> Fraction:
        top = sorted(members)[:k]
        mean = sum((responses[i] for i in top), Fraction(0)) / len(top) if top else empty
        return -((mean - target) ** 2)

    found = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        gains = [
            (utility((*some, i)) - utility(some)) / (n * comb(n - 1, size))
            for size in range(n)
            for some in combinations(others, size)
        ]
        found.append(sum(gains, Fraction(0)))
    return found


@examples(40)
@given(
    responses=RESPONSES,
    target=st.integers(-8, 8),
    k=st.integers(1, 4),
    empty=st.sampled_from([-3.5, 0.25, 7]),
    shift=st.sampled_from([0, 10**8]),
    data=st.data(),
)
def test_values_are_those_of_the_definition(
    responses: list[int], target: int, k: int, empty: float, shift: int, data: st.DataObject
) -> None:
    n = len(responses)
    y, t, e = [float(r + shift) for r in responses], float(target + shift), empty + shift
    exact = [Fraction(one) for one in y]
    lists = [list(range(n))]
    got = value_from_neighbors(lists, y, [t], k=k, utility=Regression(empty=e))
    truth = banzhaf(exact, [1] * n, Fraction(t), k, Fraction(e))
    np.testing.assert_allclose(got.values, [float(v) for v in truth], rtol=0, atol=got.error_bound)
    assert got.error_bound <= 1e-14 * 16.0**2 + (got.proved_bound or 0.0)  # whatever the responses are shifted by
    assert got.empty_utility == -((e - t) ** 2)
    got = value_from_neighbors(lists, y, [t], k=k, utility=Regression(empty=e), semivalue="shapley")
    truth = shapley(exact, Fraction(t), k, Fraction(e))
    np.testing.assert_allclose(got.values, [float(v) for v in truth], rtol=0, atol=got.error_bound)
    assert got.values.sum() == pytest.approx(got.full_utility - got.empty_utility, abs=n * got.error_bound)
    votes = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    got = value_from_neighbors(lists, y, [t], k=k, utility=Regression(empty=e), votes=[votes])
    truth = banzhaf(exact, votes, Fraction(t), k, Fraction(e))
    np.testing.assert_allclose(got.values, [float(v) for v in truth], rtol=0, atol=got.error_bound)


def test_owners_and_samples_know_what_the_empty_set_predicts() -> None:
    y, target, empty = [2.0, 5.0, 3.0, 9.0], 4.0, 6.5
    game: Any = Regression(empty=empty)
    truth = [float(v) for v in banzhaf([Fraction(r) for r in y], [1] * 4, Fraction(target), 2, Fraction(empty))]
    owners = flat.value_owners_from_neighbors([[0, 1, 2, 3]], list("abcd"), y, [target], k=2, utility=game)
    np.testing.assert_allclose(owners.values, truth, atol=1e-12)
    for method in ("coalitions", "permutations"):
        how: dict[str, Any] = {"semivalue": "shapley"} if method == "permutations" else {}
        exact = flat.value_from_neighbors([[0, 1, 2, 3]], y, [target], k=2, utility=game, **how).values
        drawn = flat.value_from_neighbors(
            [[0, 1, 2, 3]], y, [target], k=2, utility=game, method=method, n_samples=4000, random_state=0, **how
        )
        assert drawn.standard_error is not None
        assert (np.abs(drawn.values - exact) <= 5 * drawn.standard_error).all()


def test_the_bound_fits_responses_that_are_far_from_zero() -> None:
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(60, 2)), rng.normal(size=(15, 2))
    y, t = X[:, 0] + 1e8, Q[:, 0] + 1e8
    far = value(X, y, Q, t, utility="regression", k=3)
    assert (far.error_bound or 0.0) > 10  # predicting 0 is off by 1e8
    near = value(X, y, Q, t, utility=Regression(empty=1e8), k=3)
    assert (near.error_bound or 1.0) < 1e-12
    # Shifting responses and prediction alike changes nothing but the rounding of the responses themselves.
    plain = value(X, y - 1e8, Q, t - 1e8, utility=Regression(empty=0.0), k=3)
    np.testing.assert_allclose(near.values, plain.values, rtol=0, atol=near.error_bound + plain.error_bound)
    owners = flat.value_owners(X, y, Q, t, np.arange(60) % 3, utility=Regression(empty=1e8), k=3)
    assert (owners.error_bound or 1.0) < 1e-11


def test_games_by_name() -> None:
    assert as_game("regression") == Regression()
    assert as_game("regression(1e8)") == Regression(empty=1e8)
    assert str(Regression()) == "regression"
    assert as_game(str(Regression(empty=-2.5))) == Regression(empty=-2.5)
    for wrong in ("nan", "inf", "much"):
        with pytest.raises(ValueError, match="Regression: empty must be a finite number or None; got"):
            as_game(f"regression({wrong})")
    assert pivotal.value([[0.0], [1.0]], [1.0, 3.0], [[0.0]], [2.0], utility="regression(2)", k=1).empty_utility == 0.0
