"""The rules over p: their certificate must hold, and cost must stay near-linear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pivotal.core.quadrature import quadrature
from pivotal.core.semivalues import Banzhaf, BetaShapley, LeaveOneOut, Measure, Semivalue, Shapley

SMOOTH = [
    Shapley(),
    BetaShapley(4, 1),
    BetaShapley(1, 4),
    BetaShapley(16, 1),
    BetaShapley(0.5, 0.5),
    BetaShapley(2.5, 0.7),
]


@pytest.mark.parametrize("semivalue", SMOOTH, ids=str)
@pytest.mark.parametrize(("k", "n"), [(1, 1), (5, 3), (5, 20), (1, 400), (5, 1500), (30, 700)])
def test_certified_error_is_at_the_level_of_rounding(semivalue: Semivalue, k: int, n: int) -> None:
    rule = quadrature(semivalue, k, n)
    assert rule.error < 2e-14
    assert rule.weights.sum() == pytest.approx(1.0, abs=1e-13)
    assert ((rule.nodes > 0) & (rule.nodes < 1)).all()
    assert (rule.weights > 0).all()


@pytest.mark.parametrize("semivalue", SMOOTH, ids=str)
def test_certificate_bounds_the_error_of_polynomials(semivalue: BetaShapley) -> None:
    # p^a (1-p)^b * C(a+b, a) with a < k is one of the functions of which values are made.
    k, n = 4, 600
    rule = quadrature(semivalue, k, n)
    for a in range(k):
        integral = semivalue.joined(n - 1, a).item()
        by_rule = sum(w * Banzhaf(p).joined(n - 1, a).item() for p, w in zip(rule.nodes, rule.weights, strict=True))
        assert abs(by_rule - integral) <= rule.error + 1e-16


def test_a_coarse_tolerance_takes_fewer_nodes_and_says_so() -> None:
    fine, coarse = quadrature(Shapley(), 5, 3000), quadrature(Shapley(), 5, 3000, 1e-4)
    assert len(coarse.nodes) < len(fine.nodes)
    assert fine.error < coarse.error <= 1e-4


def test_cost_grows_linearly_with_the_number_of_points() -> None:
    steps = [quadrature(Shapley(), 5, n).ranks.sum() / n for n in (1000, 10_000, 50_000)]
    assert max(steps) < 130


@pytest.mark.parametrize(
    "semivalue", [Banzhaf(), Banzhaf(0.01), LeaveOneOut(), Measure([0.0, 0.25, 1.0], [0.5, 0.25, 0.25])], ids=str
)
def test_finite_measures_are_their_own_rule(semivalue: Measure) -> None:
    rule = quadrature(semivalue, 5, 1000)
    assert sorted(rule.nodes) == sorted(semivalue.nodes)
    assert rule.error < 1e-18
    assert rule.ranks.max() <= 1000
    order = np.argsort(rule.nodes)
    assert (np.diff(rule.ranks[order]) <= 0).all()  # larger coalitions reach fewer ranks


def test_other_semivalues_are_refused_with_a_way_out() -> None:
    class Odd(Semivalue):
        name = "odd"

        def joined(self, n: object, s: int) -> np.ndarray:
            return np.zeros(np.shape(n))

        def mass(self, a: int, b: int) -> float:
            return 0.0

    with pytest.raises(TypeError, match=r"weighted games need a semivalue whose integral over p is known.*Measure"):
        quadrature(Odd(), 5, 10)


def test_a_semivalue_that_cannot_be_hashed_is_explained() -> None:
    @dataclass
    class Unhashable(Semivalue):
        q: float = 0.5
        name = "mine"

        def joined(self, n: Any, s: int) -> Any:
            return np.asarray(n) * self.q

        def mass(self, a: int, b: int) -> float:
            return self.q

    with pytest.raises(TypeError, match="weighted games need a semivalue whose integral over p is known"):
        quadrature(Unhashable(), 5, 10)


def test_rules_are_told_apart_by_what_they_depend_on() -> None:
    class Same(BetaShapley):
        """Says that it equals all others of its kind."""

        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Same)

        def __hash__(self) -> int:
            return 0

    for one, other in [(Same(4, 1), Same(1, 4)), (Measure([0.1], [1.0]), Measure([0.2], [1.0]))]:
        first, second = quadrature(one, 3, 50), quadrature(other, 3, 50)
        assert not np.array_equal(first.nodes, second.nodes) or not np.array_equal(first.weights, second.weights)


def test_rules_are_shared_and_cannot_be_changed() -> None:
    rule = quadrature(BetaShapley(2, 3), 3, 50)
    assert quadrature(BetaShapley(2, 3), 3, 50) is rule
    for array in (rule.nodes, rule.weights, rule.ranks):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
