"""Hard votes of two and of many classes: two algorithms for each, one answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from pivotal.core.games import Hard
from pivotal.core.semivalues import Banzhaf, BetaShapley, Semivalue, Shapley
from pivotal.engine.solver import Block
from pivotal.engine.solvers import make_solver
from pivotal.kernels.hard import many_class_terms
from pivotal.kernels.many_classes import MOST_DRAWS, SPAN, make_span, many_class_pass
from pivotal.kernels.two_classes import pass_by_ratios, pass_by_spans

SEMIVALUES = [Shapley(), BetaShapley(4, 1), BetaShapley(1, 16), Banzhaf(0.3)]


@pytest.mark.kernels
@given(
    st.integers(1, 300),
    st.integers(1, 12),
    st.integers(0, 3),
    st.integers(1, 12),
    st.sampled_from([0, -1]),
    st.sampled_from(SEMIVALUES),
    st.integers(0, 10**6),
)
@examples(60)
def test_spans_of_ranks_and_single_chances_agree(
    n: int, present: int, memberless: int, k: int, threshold: int, semivalue: Semivalue, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    # Some classes are rare, and some have left before the nearest points come.
    slots = np.minimum(rng.integers(0, present + 1, n), rng.integers(0, present + 1, n)).astype(np.int32)
    push, sizes = semivalue.push(k, n), semivalue.sizes(k, n)
    fast, plain = np.full(n, np.nan), np.full(n, np.nan)
    span = make_span(present + memberless + 1, k)
    many_class_pass(slots, n, present, memberless, k, threshold, push, sizes, span, fast)
    counts, sums = np.zeros(present + 2, np.int64), np.zeros((5, present + 2))
    many_class_terms(slots, n, present, memberless, k, threshold, push, sizes, counts, sums, plain)
    np.testing.assert_allclose(fast, plain, rtol=1e-11, atol=1e-15 * (present + memberless))


@pytest.mark.parametrize(("n", "k"), [(513, 5), (1024, 5), (1300, 3), (1300, 12), (900, 25)])
def test_many_classes_over_spans_of_every_width(n: int, k: int) -> None:
    present, memberless = 6, 2
    votes = np.random.default_rng(n + k).integers(0, present + 1, n).astype(np.int32)
    push, sizes = Shapley().push(k, n), Shapley().sizes(k, n)
    span = make_span(present + memberless + 1, k)
    assert n > span.places.size
    fast, plain = np.full(n, np.nan), np.full(n, np.nan)
    many_class_pass(votes, n, present, memberless, k, 0, push, sizes, span, fast)
    counts, sums = np.zeros(present + 2, np.int64), np.zeros((5, present + 2))
    many_class_terms(votes, n, present, memberless, k, 0, push, sizes, counts, sums, plain)
    np.testing.assert_allclose(fast, plain, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("k", [70, MOST_DRAWS + 1, MOST_DRAWS + 2])
def test_many_classes_with_a_large_k(k: int) -> None:
    n, n_classes = k + SPAN + 50, 4
    labels = np.random.default_rng(k).integers(0, n_classes, (1, n)).astype(np.int32)
    solver = make_solver(Hard(), Shapley(), k, n, n_classes)
    got = np.empty((1, n))
    solver.solve(Block(labels, None, np.zeros(1, np.int32)), solver.scratch(), got)
    plain = np.empty(n)
    counts, sums = np.zeros(n_classes + 1, np.int64), np.zeros((5, n_classes + 1))
    push, sizes = Shapley().push(k, n), Shapley().sizes(k, n)
    many_class_terms(labels[0], n, n_classes - 1, 0, k, 0, push, sizes, counts, sums, plain)
    np.testing.assert_allclose(got[0], plain / (n_classes - 1), rtol=1e-10, atol=1e-16)
    # Efficiency: the utility of the full training set is divided among all.
    full_utility = Hard().full_utility(labels, None, np.zeros(1, np.int32), n_classes, k)
    assert got.sum() == pytest.approx(full_utility.item(), abs=1e-12)


@pytest.mark.kernels
@given(
    st.integers(1, 400),
    st.floats(0, 1),
    st.integers(1, 24),
    st.sampled_from([0, -1]),
    st.sampled_from(SEMIVALUES),
    st.integers(0, 10**6),
)
@examples(60)
def test_spans_of_ranks_and_ratios_agree(
    n: int, share: float, k: int, threshold: int, semivalue: Semivalue, seed: int
) -> None:
    votes = np.where(np.random.default_rng(seed).random(n) < share, 1, -1).astype(np.int32)
    push, sizes = semivalue.push(k, n), semivalue.sizes(k, n)
    spans, ratios = np.full(n, np.nan), np.full(n, np.nan)
    pass_by_spans(votes, n, k, threshold, push, sizes, np.zeros((7, SPAN)), spans)
    pass_by_ratios(votes, n, k, threshold, push, sizes, ratios)
    np.testing.assert_allclose(spans, ratios, rtol=1e-11, atol=1e-280)
