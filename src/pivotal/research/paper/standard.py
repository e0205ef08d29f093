"""`bv`: the standard dynamic program, O(W n^4).

Algorithm "DP framework for kNN-Banzhaf values" calls algorithm "Standard dynamic programming algorithm" for each
player i. The latter sorts the coalitions without i by what decides whether i is pivotal, and counts each sort once:

    f_i(w, s, m) = number of S without i with |S| = s, whose min(s, k) nearest members sum to w and end with z_m

(eq. `dp:f`). W bounds |w|: the sum of the k largest |votes|.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb
from typing import TypeAlias

from pivotal.research.paper._paper_game import check_game, check_rank, swing

Counts: TypeAlias = dict[tuple[int, int, int], int]
"""{(w, s, m): f_i(w, s, m)}, zeros omitted."""


def subset_counts(votes: Sequence[int], k: int, i: int) -> Counts:
    """Fill the table f_i by Lemma `dp:standard`.

    Parameters
    ----------
    votes : sequence of int, length n
        Signed votes, nearest first.
    k : int
        Number of neighbours that vote.
    i : int
        Rank of the player omitted, 1..n.

    Returns
    -------
    dict of (w, s, m) to int
        The entries that are not zero. As in the paper, sizes s > k are counted for m > i only: if the k nearest
        members are all nearer than i, then i changes nothing.

    Examples
    --------
    >>> subset_counts([3, -2, 1, -1], k=2, i=2)[0, 2, 4]
    1
    """
    votes, k = check_game(votes, k)
    n = len(votes)
    i = check_rank(i, n)
    w = [0, *votes]  # w[m] is w(z_m): the paper counts from 1
    others = [m for m in range(1, n + 1) if m != i]
    bound = sum(sorted(map(abs, votes))[-k:])  # W

    f: Counts = {(0, 0, 0): 1}
    for m in others:
        f[w[m], 1, m] = 1
    for s in range(2, n):
        for weight in range(-bound, bound + 1):
            for m in others:
                count = 0
                if s <= k:
                    # Take z_m away: what is left has one member less and ends nearer.
                    count = sum(f.get((weight - w[m], s - 1, nearer), 0) for nearer in others if nearer < m)
                elif m > i:
                    # The k-th member is z_m; the other s - k are any of the n - m points beyond it.
                    count = f.get((weight, k, m), 0) * comb(n - m, s - k)
                if count:
                    f[weight, s, m] = count
    return f


def standard_dp(votes: Sequence[int], k: int) -> list[Fraction]:
    """Compute the Banzhaf values by the paper's first dynamic program, in O(W n^4).

    Parameters and values are those of `brute_force`.

    Examples
    --------
    >>> [str(value) for value in standard_dp([3, -2, 1, -1], k=2)]
    ['7/8', '-1/8', '1/8', '-1/8']
    """
    votes, k = check_game(votes, k)
    n = len(votes)
    w = [0, *votes]
    values = []
    for i in range(1, n + 1):
        below = reached = 0  # C_{<k} and C_{>=k}
        for (weight, s, m), count in subset_counts(votes, k, i).items():
            if s < k:
                below += count * swing(weight, w[i])
            elif m > i:
                reached += count * swing(weight, w[i] - w[m])  # i joins the top-k and pushes out z_m
        # eqs. `dp:bval-positive` and `dp:bval-negative` in one: `swing` carries the sign. Printed, each counts one
        # direction only, which fails for third-class points and for votes that grow with the rank.
        values.append(Fraction(below + reached, 2 ** (n - 1)))
    return values
