"""The paper's yardstick: coalitions of its own for every player."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import flat
from pivotal.research.paper import naive_sampling
from pivotal.research.paper.paper_enumeration import brute_force

VOTES = [3, -2, 0, 1, -1, 2]


@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_it_estimates_the_banzhaf_values(k: int) -> None:
    n_samples = 4000
    estimates = naive_sampling(VOTES, k, n_samples, seed=1)
    for estimate, exact in zip(estimates, brute_force(VOTES, k), strict=True):
        assert abs(float(estimate - exact)) <= 5 * 0.5 / n_samples**0.5 * 2


def test_it_agrees_with_common_coalitions() -> None:
    labels, votes = [int(v > 0) for v in VOTES], [[abs(v) for v in VOTES]]
    common = flat.value_from_neighbors(
        [range(6)], labels, [1], k=3, votes=votes, method="coalitions", n_samples=4000, random_state=0
    )
    naive = [float(v) for v in naive_sampling(VOTES, 3, 4000, seed=0)]
    assert common.values == pytest.approx(naive, abs=5 * 2**0.5 / 4000**0.5)


def test_it_is_reproducible() -> None:
    assert naive_sampling(VOTES, 2, 50, seed=3) == naive_sampling(VOTES, 2, 50, seed=3)
    assert naive_sampling(VOTES, 2, 50, seed=3) != naive_sampling(VOTES, 2, 50, seed=4)


def test_certain_coalitions() -> None:
    alone = naive_sampling([2, -1, 1], 1, 3, seed=0, p=0.0)
    assert alone == [Fraction(1), Fraction(0), Fraction(1)]
    with_all = naive_sampling([2, -1, 1], 1, 3, seed=0, p=1.0)
    assert with_all == [Fraction(1), Fraction(0), Fraction(0)]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_samples": 0}, ValueError, "n_samples must be at least 1; got n_samples=0"),
        ({"n_samples": 2.5}, TypeError, "n_samples must be an integer; got 2.5"),
        ({"seed": 1.5}, TypeError, "seed must be an integer; got 1.5"),
        ({"p": 1.5}, ValueError, r"p must lie in \[0, 1\]; got p=1.5"),
        ({"p": float("nan")}, ValueError, r"p must lie in \[0, 1\]; got p=nan"),
        ({"votes": []}, ValueError, "votes must hold at least one vote"),
        ({"k": 0}, ValueError, "k must be at least 1"),
    ],
    ids=str,
)
def test_bad_input(change: dict[str, Any], error: type[Exception], message: str) -> None:
    given: dict[str, Any] = {"votes": VOTES, "k": 2, "n_samples": 5, "seed": 0, **change}
    with pytest.raises(error, match=message):
        naive_sampling(**given)
