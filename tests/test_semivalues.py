"""Semivalues: their chances against exact fractions, their names, their messages."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from pivotal.core.binomials import binomial_sizes
from pivotal.core.semivalues import (
    Banzhaf,
    BetaShapley,
    LeaveOneOut,
    Measure,
    Semivalue,
    Shapley,
    as_semivalue,
)
from strategies import measures, semivalues

EXACT = [
    (Banzhaf(), ("banzhaf", Fraction(1, 2))),
    (Banzhaf(0.25), ("banzhaf", Fraction(1, 4))),
    (Shapley(), ("shapley",)),
    (BetaShapley(4, 1), ("beta", 4, 1)),
    (BetaShapley(1, 16), ("beta", 1, 16)),
    (LeaveOneOut(), ("loo",)),
    (
        Measure([0.0, 0.5, 1.0], [0.25, 0.5, 0.25]),
        ("nodes", [(0, Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 2)), (1, Fraction(1, 4))]),
    ),
]


def exact_joined(law: tuple, n: int, s: int) -> Fraction:
    return math.comb(n, s) * reference.mass(law, s, n - s) if s <= n else Fraction(0)


@pytest.mark.parametrize(("semivalue", "law"), EXACT, ids=str)
@pytest.mark.parametrize("n", [0, 1, 2, 31, 33, 300, 2000])
def test_joined_is_relatively_accurate_however_small(semivalue: Semivalue, law: tuple, n: int) -> None:
    for s in (0, 1, 2, 5, 40, 200):
        exact = exact_joined(law, n, s)
        got = semivalue.joined(n, s).item()
        if exact < Fraction(1, 10**290):
            assert got <= 1e-289
        else:
            assert abs(Fraction(got) / exact - 1) < Fraction(5, 10**13)


@given(st.one_of(semivalues(), measures()), st.integers(0, 12), st.integers(0, 12))
def test_mass_is_the_integral(pair: tuple, a: int, b: int) -> None:
    spoken, law = pair
    semivalue = as_semivalue(spoken) if isinstance(spoken, str) else Measure(*spoken)
    assert semivalue.mass(a, b) == pytest.approx(float(reference.mass(law, a, b)), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(("semivalue", "law"), EXACT, ids=str)
@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_sizes_push_and_reach_follow_from_joined(semivalue: Semivalue, law: tuple, k: int) -> None:
    n = 30
    sizes = [float(exact_joined(law, n - 1, s)) for s in range(k)]
    np.testing.assert_allclose(semivalue.sizes(k, n), sizes, rtol=1e-12)
    reach = [float(sum(exact_joined(law, j, s) for s in range(k))) for j in range(n)]
    np.testing.assert_allclose(semivalue.reach(k, n), reach, rtol=1e-12)
    push = semivalue.push(k, n)
    assert push.shape == (n + 1,)
    assert not push[: k + 1].any()
    for m in range(k + 1, n + 1):
        exact = math.comb(m - 2, k - 1) * reference.mass(law, k, m - 1 - k)
        assert push[m] == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("semivalue", [pair[0] for pair in EXACT], ids=str)
def test_reach_starts_at_one_and_never_rises(semivalue: Semivalue) -> None:
    reach = semivalue.reach(4, 500)
    assert reach[:4] == pytest.approx([1.0] * 4)
    assert (np.diff(reach) <= 1e-16).all()


@pytest.mark.parametrize(("k", "depth"), [(1, 54), (5, 74), (10, 94), (20, 128), (50, 217)])
def test_banzhaf_reaches_a_constant_number_of_ranks(k: int, depth: int) -> None:
    # Dropping all ranks beyond m costs reach(m - 1), so m is one more than the rank of that reach.
    for n in (1000, 10**7):
        assert Banzhaf().depth(k, 1e-16, n) == depth + 1
        assert Banzhaf().reach(k, depth + 1)[depth] <= 1e-16 < Banzhaf().reach(k, depth)[depth - 1]


@pytest.mark.parametrize("semivalue", [Banzhaf(), Banzhaf(0.01), BetaShapley(1, 4), Shapley(), LeaveOneOut()], ids=str)
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_depth_is_the_smallest_that_keeps_the_promise(semivalue: Semivalue, tol: float) -> None:
    k, n, factor = 3, 20_000, 2.0
    depth = semivalue.depth(k, tol, n, factor)
    reach = factor * semivalue.reach(k, n)
    assert depth == n or reach[depth - 1] <= tol
    assert reach[depth - 2] > tol


def test_depth_keeps_every_rank_at_zero_tolerance() -> None:
    assert Banzhaf().depth(1, 0.0, 12345) == 12345
    assert Shapley().depth(1, 0.0, 12345) == 12345
    assert Shapley().depth(5, 1e-3, 10**6) == 5000


def test_nothing_overflows_at_a_million_points() -> None:
    n, k = 10**6, 200
    for semivalue in (Banzhaf(), Banzhaf(1e-4), Shapley()):
        push = semivalue.push(k, n)
        assert np.isfinite(push).all()
        assert push.sum() + math.fsum(semivalue.sizes(k, n)) == pytest.approx(1.0, abs=1e-9)
    # Two independent roads to the same chance: gamma functions against the ratio of the next two sizes.
    beta = BetaShapley(2.5, 0.5)
    ratio = beta.joined(n, 7).item() / beta.joined(n, 6).item()
    assert ratio == pytest.approx((n - 6) * (0.5 + 6) / (7 * (2.5 + n - 7)), rel=1e-12)
    law = beta.joined(np.array([n - 1, n]), 0)
    assert law[1] / law[0] == pytest.approx((2.5 + n - 1) / (3.0 + n - 1), rel=1e-14)


def test_beta_one_one_is_shapley() -> None:
    n = np.array([0, 1, 7, 100, 10**6])
    for s in (0, 1, 5):
        np.testing.assert_allclose(BetaShapley(1, 1).joined(n, s), Shapley().joined(n, s), rtol=1e-13)


@given(st.integers(1, 40), st.integers(1, 60), st.sampled_from([0.0, 1e-3, 0.3, 0.5, 0.99, 1.0]))
def test_binomial_sizes_by_ratios_equal_the_direct_ones(k: int, n: int, p: float) -> None:
    direct = [Banzhaf(p).joined(n - 1, s).item() for s in range(k)]
    np.testing.assert_allclose(binomial_sizes(k, n, p), direct, rtol=1e-12)


@pytest.mark.parametrize(
    ("spoken", "meant"),
    [
        ("banzhaf", Banzhaf(0.5)),
        ("Banzhaf(0.3)", Banzhaf(0.3)),
        (" shapley ", Shapley()),
        ("loo", LeaveOneOut()),
        ("leave-one-out", LeaveOneOut()),
        ("beta(4, 1)", BetaShapley(4.0, 1.0)),
        ("beta(0.5,2.25)", BetaShapley(0.5, 2.25)),
    ],
)
def test_strings_are_read(spoken: str, meant: Semivalue) -> None:
    semivalue = as_semivalue(spoken)
    assert semivalue == meant
    assert type(semivalue) is type(meant)
    assert as_semivalue(str(semivalue)) == meant  # the name is read back
    assert as_semivalue(meant) is meant
    assert hash(semivalue) == hash(meant)


def test_reprs_show_how_to_make_them() -> None:
    assert repr(Banzhaf(0.3)) == "Banzhaf(p=0.3)"
    assert repr(Shapley()) == "Shapley()"
    assert repr(LeaveOneOut()) == "LeaveOneOut()"
    assert repr(BetaShapley(4, 1)) == repr(BetaShapley(4.0, np.float64(1))) == "BetaShapley(alpha=4, beta=1)"
    assert as_semivalue("beta(4.0,1)").name == "beta(4,1)"
    assert str(Measure([0.5], [1.0])) == "measure([0.5],[1.0])"


@pytest.mark.parametrize("spoken", ["owen", "beta(4)", "beta", "banzhaf(1,2)", "shapley(1)", "beta(4,1", ""])
def test_unknown_names_are_refused(spoken: str) -> None:
    with pytest.raises(ValueError, match=r'semivalue must be one of "banzhaf".*got'):
        as_semivalue(spoken)


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="semivalue must be a Semivalue or a string; got int"):
        as_semivalue(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("p", [-0.1, 1.5, math.nan, "half"])
def test_p_outside_the_unit_interval_is_refused(p: object) -> None:
    with pytest.raises(ValueError, match=r"p must lie in \[0, 1\]; got"):
        Banzhaf(p)  # type: ignore[arg-type]


def test_text_where_a_number_is_due_is_refused() -> None:
    with pytest.raises(ValueError, match=r"p must lie in \[0, 1\]; got 'half'"):
        as_semivalue("banzhaf(half)")


def test_arguments_in_text_go_by_place_or_by_name() -> None:
    assert as_semivalue("banzhaf(p=0.3)") == as_semivalue("banzhaf(0.3)") == Banzhaf(0.3)
    assert as_semivalue("beta(beta=4, alpha=2)") == as_semivalue("beta(2,4)")
    for wrong in ("banzhaf(q=0.3)", "shapley(1)", "beta(1)", "banzhaf(0.3", "(0.3)", ""):
        with pytest.raises(ValueError, match="semivalue must be one of"):
            as_semivalue(wrong)


@pytest.mark.parametrize(("alpha", "beta"), [(0, 1), (1, -1), (math.inf, 1), (1, math.nan)])
def test_beta_needs_positive_parameters(alpha: float, beta: float) -> None:
    with pytest.raises(ValueError, match="must be a positive number; got"):
        BetaShapley(alpha, beta)


@pytest.mark.parametrize(
    ("nodes", "weights", "message"),
    [
        ([], [], "as many weights as nodes, at least one; got 0 nodes"),
        ([0.5, 0.2], [1.0], "got 2 nodes and 1"),
        ([0.5], [0.9], "sum to 1; they sum to 0.9"),
        ([0.5, 0.5], [1.5, -0.5], "must be non-negative"),
        ([1.5], [1.0], "every node must lie in"),
    ],
)
def test_measures_are_checked(nodes: list, weights: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Measure(nodes, weights)


@pytest.mark.parametrize("law", ["push", "sizes", "reach"])
def test_who_changes_an_answer_changes_no_later_one(law: str) -> None:
    semivalue = Banzhaf(0.37)
    first = getattr(semivalue, law)(3, 20)
    kept = first.copy()
    first[...] = -1.0
    np.testing.assert_array_equal(getattr(Banzhaf(0.37), law)(3, 20), kept)
    assert first.flags.writeable
    assert not np.array_equal(getattr(Banzhaf(0.38), law)(3, 20), kept)
    assert not np.array_equal(getattr(Shapley(), law)(3, 20), kept)


class _Changeable(Semivalue):
    """A semivalue that its owner changes between calls."""

    name = "changeable"
    law = Banzhaf(0.5)

    def joined(self, n: object, s: int) -> np.ndarray:
        return self.law.joined(n, s)

    def mass(self, a: int, b: int) -> float:
        return self.law.mass(a, b)


def test_a_semivalue_of_the_users_is_asked_every_time() -> None:
    own = _Changeable()
    for law in (Banzhaf(0.5), Banzhaf(0.1), Shapley()):
        own.law = law
        np.testing.assert_allclose(own.push(2, 9), law.push(2, 9), rtol=1e-12)
        np.testing.assert_allclose(own.reach(2, 9), law.reach(2, 9), rtol=1e-12)
        np.testing.assert_allclose(own.sizes(2, 9), law.sizes(2, 9), rtol=1e-12)
        assert own.depth(2, 1e-3, 60) == law.depth(2, 1e-3, 60)


def test_laws_take_their_numbers_by_name_as_well() -> None:
    np.testing.assert_array_equal(Banzhaf().reach(k=3, size=9), Banzhaf().reach(3, 9))
    assert Banzhaf().depth(k=3, tol=1e-9, n=500) == Banzhaf().depth(3, 1e-9, 500)
