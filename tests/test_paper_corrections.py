"""Each correction is needed: with the formula as printed in its place, the values are wrong.

The printed algorithms are written out here once more, with one switch per correction. All switches on, they agree with
the enumeration; with any one off, they do not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction

import pytest

from pivotal.research.paper import brute_force, fast_dp, standard, standard_dp, unweighted_dp

UNWEIGHTED_CORRECTIONS = frozenset({"C+ takes b+", "C<k takes B of i + 1", "t = 1 is carried over", "f starts at 0"})
EXAMPLE = ([1, -1, 1, -1], 2)  # the paper's; too small to tell B_i from B_{i+1}, or to miss what t = 1 forgets
GAMES = [([1, 1, -1, 1, -1, -1], 3), ([-1, 1, -1, -1, 1, 1, -1], 3), ([-1, 1, -1, 1, -1, 1], 3)]


def unweighted_as_printed(votes: list[int], k: int, corrected: frozenset[str]) -> list[Fraction]:
    """Follow algorithm "Specialized dynamic programming algorithm for unweighted kNN" line by line."""
    n, bound = len(votes), k + 1
    w = dict(enumerate(votes, start=1))
    weights = range(-bound, bound + 1)
    f: defaultdict[tuple[int, int, int], int] = defaultdict(int)  # f[i, w, s]
    b: defaultdict[tuple[int, int, int], int] = defaultdict(int)
    signed: dict[int, defaultdict[tuple[int, int, int], int]] = {+1: defaultdict(int), -1: defaultdict(int)}

    for i in range(0 if "f starts at 0" in corrected else 1, n + 1):
        f[i, 0, 0] = 1
    f[1, w[1], 1] = 1
    for i in range(2, n + 1):
        for weight in weights:
            for s in range(1, k + 1):
                f[i, weight, s] = f[i - 1, weight - w[i], s - 1] + f[i - 1, weight, s]

    for i in range(1, n + 2):
        b[i, 0, 0] = 1
    b[n, w[n], 1] = 1
    for i in range(n - 1, 0, -1):
        for weight in weights:
            for s in range(1, k + 1):
                b[i, weight, s] = b[i + 1, weight - w[i], s - 1] + b[i + 1, weight, s]

    for t in range(1, k + 1):
        for i in range(n, 0, -1):
            for sign, table in signed.items():
                if t > 1:
                    for weight in weights:
                        table[i, weight, t] = table[i + 1, weight - w[i], t - 1] + table[i + 1, weight, t]
                else:
                    if "t = 1 is carried over" in corrected:
                        for weight in weights:
                            table[i, weight, 1] = table[i + 1, weight, 1]
                    table[i, w[i], 1] = table[i + 1, w[i], 1] + (2 ** (n - i) if w[i] == sign else 0)

    values = []
    for i in range(1, n + 1):
        right = w[i] > 0
        pushed_sign = -1 if right or "C+ takes b+" not in corrected else +1
        behind = i + 1 if "C<k takes B of i + 1" in corrected else i
        count = 0
        for weight in weights:
            for s in range(k):
                for total in (-1, 0) if right else (1, 2):
                    count += f[i - 1, weight, s] * signed[pushed_sign][i + 1, total - weight, k - s]
                other = (0 if right else 1) - weight
                count += f[i - 1, weight, s] * sum(b[behind, other, t] for t in range(k - s))
        values.append(Fraction(count if right else -count, 2 ** (n - 1)))
    return values


@pytest.mark.parametrize(("votes", "k"), [EXAMPLE, *GAMES])
def test_unweighted_algorithm_line_by_line_with_all_corrections(votes: list[int], k: int) -> None:
    wanted = brute_force(votes, k)
    assert unweighted_as_printed(votes, k, UNWEIGHTED_CORRECTIONS) == wanted
    assert unweighted_dp(votes, k) == wanted


@pytest.mark.parametrize(("votes", "k"), GAMES)
@pytest.mark.parametrize("omitted", sorted(UNWEIGHTED_CORRECTIONS))
def test_each_correction_of_the_unweighted_algorithm_is_needed(omitted: str, votes: list[int], k: int) -> None:
    assert unweighted_as_printed(votes, k, UNWEIGHTED_CORRECTIONS - {omitted}) != brute_force(votes, k)


def one_direction(votes: list[int], k: int, right: list[bool]) -> list[Fraction]:
    """Follow eqs. `dp:bval-positive` and `dp:bval-negative` as printed: gains of right points, losses of all others."""
    n = len(votes)
    w = [0, *votes]
    values = []
    for i in range(1, n + 1):
        count = 0
        for (weight, s, m), number in standard.subset_counts(votes, k, i).items():
            if s >= k and m < i:
                continue
            shift = w[i] if s < k else w[i] - w[m]
            if right[i - 1]:
                count += number * (-shift < weight <= 0)
            else:
                count -= number * (0 < weight <= -shift)
        values.append(Fraction(count, 2 ** (n - 1)))
    return values


def test_one_direction_is_enough_when_votes_do_not_grow_with_the_rank() -> None:
    votes = [3, -2, 1, -1]
    assert one_direction(votes, 2, [vote > 0 for vote in votes]) == brute_force(votes, 2)


@pytest.mark.parametrize(
    ("votes", "k"),
    [
        ([0, 0, 1, -1], 2),  # third-class points help (the tie of {z_3, z_4}) and hurt (the win of {z_2, z_3})
        ([1, -1, 6], 2),  # votes that grow: the right point z_1 breaks the win of {z_2, z_3}
    ],
)
def test_both_directions_are_needed_otherwise(votes: list[int], k: int) -> None:
    wanted = brute_force(votes, k)
    assert one_direction(votes, k, [vote > 0 for vote in votes]) != wanted
    assert standard_dp(votes, k) == fast_dp(votes, k) == wanted


@pytest.mark.parametrize("skip", [True, False])
def test_partial_sums_must_be_carried_past_the_player(skip: bool) -> None:
    """Algorithm "Efficient dynamic programming algorithm" loops over m != i, and reads M_i(., ., i) at m = i + 1."""
    votes, k, i = [3, -2, 1, -1], 2, 2
    n = len(votes)
    singles = {m: votes[m - 1] for m in range(1, n + 1) if m != i}  # f_i(w(z_m), 1, m) = 1
    sums: defaultdict[int, Counter[int]] = defaultdict(Counter)  # sums[m][w] = M_i(w, 1, m)
    for m in range(2, n + 1):
        if skip and m == i:
            continue
        sums[m] = sums[m - 1] + (Counter([singles[m - 1]]) if m - 1 in singles else Counter())
    pairs = {
        (weight + singles[m], 2, m): count for m in singles for weight, count in sums[m].items()
    }  # f_i(w, 2, m) = M_i(w - w(z_m), 1, m)
    wanted = {key: count for key, count in standard.subset_counts(votes, k, i).items() if key[1] == 2}
    assert (pairs == wanted) is not skip
