"""The tables inside the paper's algorithms: their definitions, their lemmas, and the two worked examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from pivotal.research.paper import fast, fast_dp, shapley, standard, standard_dp, unweighted, unweighted_dp
from pivotal.research.paper._paper_game import swing

weighted_votes = st.lists(st.integers(-4, 4), min_size=1, max_size=6)
unit_votes = st.lists(st.integers(-1, 1), min_size=1, max_size=6)
beyond = st.integers(1, 9)

WEIGHTED = [3, -2, 1, -1]  # example `dp:standard`
UNIT = [1, -1, 1, -1]  # example `dp:unweighted`


def subsets(ranks: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(ranks) + 1):
        yield from combinations(ranks, size)


def count_subsets(votes: Sequence[int], k: int, i: int) -> dict[tuple[int, int, int], int]:
    """Count f_i(w, s, m) by eq. `dp:f`, for all s and m."""
    n = len(votes)
    counts: Counter[tuple[int, int, int]] = Counter()
    for members in subsets([rank for rank in range(1, n + 1) if rank != i]):
        top = members[:k]
        counts[sum(votes[rank - 1] for rank in top), len(members), top[-1] if top else 0] += 1
    return dict(counts)


# ---- example `dp:standard` ----------------------------------------------------------------------------------------


def test_first_worked_example_table() -> None:
    f = standard.subset_counts(WEIGHTED, 2, 2)
    assert f == {
        (0, 0, 0): 1,
        (3, 1, 1): 1,
        (1, 1, 3): 1,
        (-1, 1, 4): 1,
        (4, 2, 3): 1,
        (2, 2, 4): 1,
        (0, 2, 4): 1,
        (4, 3, 3): 1,  # and f_2(., 3, 4) = 0
    }
    below = sum(count for (w, s, m), count in f.items() if 0 < w <= 2 and s <= 1)
    reached = sum(count for (w, s, m), count in f.items() if m > 2 and s >= 2 and 0 < w <= 2 + WEIGHTED[m - 1])
    assert (below, reached) == (1, 0)


def test_first_worked_example_values() -> None:
    values = [Fraction(7, 8), Fraction(-1, 8), Fraction(1, 8), Fraction(-1, 8)]
    assert standard_dp(WEIGHTED, 2) == values
    assert fast_dp(WEIGHTED, 2) == values


def test_first_worked_example_in_the_fast_tables() -> None:
    f = fast.subset_counts(WEIGHTED, 2, 2)
    assert f == [
        [{0: 1}, {}, {}, {}, {}],
        [{}, {3: 1}, {}, {1: 1}, {-1: 1}],
        [{}, {}, {}, {4: 1}, {2: 1, 0: 1}],
    ]
    # M_2(., 1, m) for m = 1..4; it is carried past m = 2
    assert list(fast.partial_sums(f[1])) == [{}, {3: 1}, {3: 1}, {3: 1, 1: 1}]
    g = fast.tail_counts(4, 2)
    assert g == {4: 1, 3: 2, 2: 3, 1: 4}
    assert list(fast.tail_sums(f[2], g, 2)) == [(4, 3, 2), (2, 4, 1), (0, 4, 1)]


# ---- example `dp:unweighted` --------------------------------------------------------------------------------------


def test_second_worked_example_tables() -> None:
    # The player is z_3: f_2 before it, b_4 behind it.
    f, b = unweighted.forward(UNIT, 2), unweighted.backward(UNIT, 2)
    assert f[2] == {(0, 0): 1, (1, 1): 1, (-1, 1): 1, (0, 2): 1}
    assert b[4] == {(0, 0): 1, (-1, 1): 1}
    minus, plus = unweighted.signed_backward(UNIT, 2, -1), unweighted.signed_backward(UNIT, 2, +1)
    assert minus[4] == {(-1, 1): 1}
    assert plus[4] == {}
    sums = unweighted.backward_sums(UNIT, 2)
    assert sums[4] == {(0, 0): 1, (0, 1): 1, (-1, 1): 1}

    pushed = sum(
        count * minus[4].get((total - w, 2 - s), 0) for (w, s), count in f[2].items() if s < 2 for total in (-1, 0)
    )
    below = sum(count * sums[4].get((-w, 1 - s), 0) for (w, s), count in f[2].items() if s < 2)
    assert (pushed, below) == (1, 1)
    assert unweighted_dp(UNIT, 2)[2] == Fraction(1, 4)


def test_second_worked_example_whole_signed_tables() -> None:
    assert unweighted.signed_backward(UNIT, 2, -1) == {
        5: {},
        4: {(-1, 1): 1},
        3: {(-1, 1): 1, (0, 2): 1},  # b_3^-(-1, 1) is b_4^-(-1, 1), carried over z_3
        2: {(-1, 1): 5, (0, 2): 1, (-2, 2): 1},
        1: {(-1, 1): 5, (0, 2): 6, (-2, 2): 1},
    }
    assert unweighted.signed_backward(UNIT, 2, +1) == {
        5: {},
        4: {},
        3: {(1, 1): 2},
        2: {(1, 1): 2, (0, 2): 2},
        1: {(1, 1): 10, (0, 2): 2, (2, 2): 2},
    }


# ---- definitions --------------------------------------------------------------------------------------------------


@examples(60)
@given(votes=weighted_votes, k=beyond)
def test_standard_table_is_its_definition(votes: list[int], k: int) -> None:
    for i in range(1, len(votes) + 1):
        wanted = {key: count for key, count in count_subsets(votes, k, i).items() if key[1] <= k or key[2] > i}
        assert standard.subset_counts(votes, k, i) == wanted


@examples(60)
@given(votes=weighted_votes, k=beyond)
def test_fast_tables_are_their_definitions(votes: list[int], k: int) -> None:
    n = len(votes)
    g = fast.tail_counts(n, k)
    for i in range(1, n + 1):
        defined = count_subsets(votes, k, i)
        f = fast.subset_counts(votes, k, i)
        assert len(f) == min(k, n) + 1
        listed = {(w, s, m): count for s, layer in enumerate(f) for m in range(n + 1) for w, count in layer[m].items()}
        assert listed == {key: count for key, count in defined.items() if key[1] <= k}

        for s, layer in enumerate(f):
            for m, total in enumerate(fast.partial_sums(layer), start=1):
                below: Counter[int] = Counter()
                for (w, size, last), count in defined.items():
                    if size == s and last < m:
                        below[w] += count
                assert total == below

        if k <= n:
            tail: Counter[tuple[int, int]] = Counter()
            for (w, s, m), count in defined.items():
                if s >= k and m > i:
                    tail[w, m] += count
            assert {(w, m): count for w, m, count in fast.tail_sums(f[k], g, i)} == tail


@pytest.mark.parametrize("n", range(1, 12))
@pytest.mark.parametrize("k", range(1, 14))
def test_g_recurrence_is_its_definition(n: int, k: int) -> None:
    g = fast.tail_counts(n, k)
    assert g == {m: sum(comb(n - m, j) for j in range(n - k)) for m in range(1, n + 1)}
    # Only m > k is ever multiplied by a count that is not zero, and there the sum is complete.
    assert all(g[m] == 2 ** (n - m) for m in range(k + 1, n + 1))


@examples(60)
@given(votes=unit_votes, k=beyond)
def test_unweighted_tables_are_their_definitions(votes: list[int], k: int) -> None:
    n = len(votes)
    f, b, sums = unweighted.forward(votes, k), unweighted.backward(votes, k), unweighted.backward_sums(votes, k)
    signed = {sign: unweighted.signed_backward(votes, k, sign) for sign in (-1, 0, 1)}
    assert sorted(f) == list(range(n + 1))
    assert sorted(b) == sorted(sums) == sorted(signed[0]) == list(range(1, n + 2))

    def by_size(ranks: Sequence[int]) -> Counter[tuple[int, int]]:
        return Counter(
            (sum(votes[rank - 1] for rank in members), len(members))
            for members in subsets(ranks)
            if len(members) <= min(k, n)
        )

    for i in range(n + 1):
        assert f[i] == by_size(range(1, i + 1))
    for i in range(1, n + 2):
        defined = by_size(range(i, n + 1))
        assert b[i] == defined
        bound = min(k, n)
        totals = {
            (w, t): sum(defined[w, size] for size in range(t + 1))
            for w in range(-bound, bound + 1)
            for t in range(bound)
        }
        assert sums[i] == {key: total for key, total in totals.items() if total}
        for sign in (-1, 0, 1):
            counts: Counter[tuple[int, int]] = Counter()
            for members in subsets(range(i, n + 1)):
                for t in range(1, min(k, len(members)) + 1):
                    if votes[members[t - 1] - 1] == sign:
                        counts[sum(votes[rank - 1] for rank in members[:t]), t] += 1
            assert signed[sign][i] == counts


@pytest.mark.parametrize("k", range(1, 6))
@pytest.mark.parametrize("n", range(2, 10))
def test_shapley_binomials_cancel(n: int, k: int) -> None:
    for m in range(k + 1, n + 1):
        defined = sum(comb(n - m, j) * shapley.size_weight(n, k + j) for j in range(n - m + 1))
        assert shapley.push_weight(m, k) == defined


@given(weight=st.integers(-9, 9), shift=st.integers(-9, 9))
def test_swing_is_the_two_printed_intervals(weight: int, shift: int) -> None:
    assert swing(weight, shift) == int(-shift < weight <= 0) - int(0 < weight <= -shift)


# ---- inputs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [standard, fast])
@pytest.mark.parametrize("i", [0, 5, -1])
def test_tables_refuse_ranks_outside_the_players(module: object, i: int) -> None:
    with pytest.raises(ValueError, match=rf"the rank i must lie in 1\.\.4, as ranks are counted from 1; got i={i}"):
        module.subset_counts(WEIGHTED, 2, i)  # type: ignore[attr-defined]


def test_signed_tables_refuse_other_signs() -> None:
    with pytest.raises(ValueError, match=r"sign must be -1, 0 or \+1; got 2"):
        unweighted.signed_backward(UNIT, 2, 2)


def test_unweighted_tables_refuse_weighted_votes() -> None:
    for table in (unweighted.forward, unweighted.backward, unweighted.backward_sums):
        with pytest.raises(ValueError, match="Use fast_dp for weighted votes"):
            table([2, 1], 1)
