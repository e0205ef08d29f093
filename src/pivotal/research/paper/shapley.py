"""`sv` and `sv-uw`: the weighted hard-label Shapley value of Wang, Mittal & Jia (2024), which the paper compares with.

The Shapley value weighs a coalition of size s by 1 / (n C(n-1, s)) (eq. 3). Below size k that is
one division per size of the same table f_i(w, s, m) as for Banzhaf. From size k on, of the coalitions with the same k
nearest members, the last of them z_m, C(n-m, j) have the size k + j, and the binomials cancel:

    sum_j C(n-m, j) / (n C(n-1, k+j))  =  1 / (m C(m-1, k))                                    for m > i, hence m > k.

(In words: in a random order of the players, the first m ranks alone decide; i comes after exactly these k and before
the m - 1 - k others of the first m.) So one number per m replaces the g(m) of `fast`, and the rest is `fast`.

Wang et al. state O(W k^2 n^2). With the partial sums of `fast` and the paper's W, the largest sum of k votes, it is
O(W k n^2), the cost of `fast`. (As we read them, their W is 2^b, the number of votes one point can have:
k times smaller, so that the two statements agree.)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from pivotal.research.paper._paper_game import check_game, check_unit_game, swing
from pivotal.research.paper.fast import subset_counts


def size_weight(n: int, s: int) -> Fraction:
    """Return the weight of one coalition of size s among n players, 1 / (n C(n-1, s))."""
    return Fraction(1, n * comb(n - 1, s))


def push_weight(m: int, k: int) -> Fraction:
    """Return the weight of all coalitions with the same k nearest, the last of rank m > k: 1 / (m C(m-1, k))."""
    return Fraction(1, m * comb(m - 1, k))


def shapley_dp(votes: Sequence[int], k: int) -> list[Fraction]:
    """Compute the Shapley values by dynamic programming, in O(W k n^2).

    Parameters and values are those of `brute_force`; they sum to the utility of all n players.

    Examples
    --------
    >>> [str(value) for value in shapley_dp([3, -2, 1, -1], k=2)]
    ['11/12', '-1/12', '1/4', '-1/12']
    """
    votes, k = check_game(votes, k)
    n = len(votes)
    w = [0, *votes]
    values = []
    for i in range(1, n + 1):
        f = subset_counts(votes, k, i)
        value = Fraction(0)
        for s in range(k):
            count = sum(count * swing(weight, w[i]) for entries in f[s] for weight, count in entries.items())
            value += count * size_weight(n, s)
        # k members other than i among the first m ranks: m starts at k + 1.
        for m in range(max(i, k) + 1, n + 1):
            count = sum(count * swing(weight, w[i] - w[m]) for weight, count in f[k][m].items())
            value += count * push_weight(m, k)
        values.append(value)
    return values


def shapley_unweighted_dp(votes: Sequence[int], k: int) -> list[Fraction]:
    """Compute the Shapley values for unit votes, in O(k^2 n^2): `shapley_dp`, where W is no more than k.

    Parameters and values are those of `brute_force`; votes are +1, -1 or 0.
    """
    return shapley_dp(*check_unit_game(votes, k, instead="shapley_dp"))
