"""`bv-fast`: the efficient dynamic program, O(W k n^2).

Algorithm "Efficient dynamic programming algorithm" fills the same table f_i(w, s, m) as `standard`, but

- only for s <= k, each entry in O(1) from partial sums M_i(w, s, m) over the nearer last members;
- all larger coalitions at once, F_i(w, m) = f_i(w, k, m) g(m), where g(m) counts the ways to add points beyond z_m;
- only for weights that occur ("enumeration of active weights only"): tables are dictionaries keyed by weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

from pivotal.research.paper._paper_game import as_integer, check_game, check_rank, swing

Layer: TypeAlias = list[dict[int, int]]
"""One size s of the table: layer[m][w] = f_i(w, s, m) for m = 0..n, zeros omitted."""


def tail_counts(n: int, k: int) -> dict[int, int]:
    """Compute g(m) = sum over j in 0..n-k-1 of C(n-m, j), for m = 1..n, in O(n).

    Parameters
    ----------
    n : int
        Number of players.
    k : int
        Number of neighbours that vote; for k >= n the sum is empty and g is zero.

    Returns
    -------
    dict of int to int
        {m: g(m)}, m = 1..n. (Wherever f_i(w, k, m) is not zero for an m > i, m exceeds k and g(m) is just 2^(n-m).)

    Examples
    --------
    >>> tail_counts(n=5, k=2)
    {5: 1, 4: 2, 3: 4, 2: 7, 1: 11}
    """
    n, k = as_integer("n", n), as_integer("k", k)
    # Printed: g(n) = 1. That is the j = 0 term, which is there only if n - k - 1 >= 0.
    g = {n: int(k < n)}
    coefficient = 0  # C(n-m-1, n-k-1) is zero for m > k, ...
    for m in range(n - 1, 0, -1):
        if m == k:
            coefficient = 1
        elif m < k:  # ... and changes by one factor per step: the paper's identity, read from right to left
            coefficient = coefficient * (n - m - 1) // (k - m)
        g[m] = 2 * g[m + 1] - coefficient  # Lemma `dp:g-recurrence`
    return g


def partial_sums(layer: Layer) -> Iterator[dict[int, int]]:
    """Yield M_i(., s, m) = sum over m' < m of f_i(., s, m') for m = 1..n, given the layer of size s."""
    total: dict[int, int] = {}
    # Printed: a loop over m != i. M_i must be carried past m = i (where f_i is zero): M_i(w, s, i + 1) stands on it.
    for nearer in layer[:-1]:
        for weight, count in nearer.items():
            total[weight] = total.get(weight, 0) + count
        yield dict(total)


def subset_counts(votes: Sequence[int], k: int, i: int) -> list[Layer]:
    """Fill the table f_i for the sizes s <= k.

    Parameters
    ----------
    votes : sequence of int, length n
        Signed votes, nearest first.
    k : int
        Number of neighbours that vote; a k beyond n is taken as n.
    i : int
        Rank of the player omitted, 1..n.

    Returns
    -------
    list of Layer, length k + 1
        table[s][m][w] = f_i(w, s, m), zeros omitted.

    Examples
    --------
    >>> subset_counts([3, -2, 1, -1], k=2, i=2)[2]
    [{}, {}, {}, {4: 1}, {2: 1, 0: 1}]
    """
    votes, k = check_game(votes, k)
    n = len(votes)
    i = check_rank(i, n)
    empty: Layer = [{0: 1}] + [{} for _ in votes]  # f_i(0, 0, 0) = 1; the printed base case s = 1 follows from it
    table = [empty]
    for _ in range(k):
        layer: Layer = [{}]
        for m, nearer in enumerate(partial_sums(table[-1]), start=1):
            vote = votes[m - 1]
            # eq. `dp:f-improved:leqk`: f_i(w, s, m) = M_i(w - w(z_m), s - 1, m)
            layer.append({} if m == i else {weight + vote: count for weight, count in nearer.items()})
        table.append(layer)
    return table


def tail_sums(layer: Layer, g: dict[int, int], i: int) -> Iterator[tuple[int, int, int]]:
    """Yield (w, m, F_i(w, m)) for m > i, given the layer s = k: how many S of size k or more have these w and m."""
    for m in range(i + 1, len(layer)):
        for weight, count in layer[m].items():
            yield weight, m, count * g[m]


def fast_dp(votes: Sequence[int], k: int) -> list[Fraction]:
    """Compute the Banzhaf values by the paper's efficient dynamic program, in O(W k n^2).

    Parameters and values are those of `brute_force`.

    Examples
    --------
    >>> [str(value) for value in fast_dp([3, -2, 1, -1], k=2)]
    ['7/8', '-1/8', '1/8', '-1/8']
    """
    votes, k = check_game(votes, k)
    n = len(votes)
    w = [0, *votes]
    g = tail_counts(n, k)
    values = []
    for i in range(1, n + 1):
        f = subset_counts(votes, k, i)
        below = sum(
            count * swing(weight, w[i]) for layer in f[:k] for entries in layer for weight, count in entries.items()
        )
        # eq. `dp:efficient:c-geqk`; `swing` counts gains minus losses where the paper counts one direction.
        reached = sum(count * swing(weight, w[i] - w[m]) for weight, m, count in tail_sums(f[k], g, i))
        values.append(Fraction(below + reached, 2 ** (n - 1)))
    return values
