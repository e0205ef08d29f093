"""`bf`: the definition itself, all 2^n coalitions one by one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from pivotal.research.paper._paper_game import check_game, utility


def brute_force(votes: Sequence[int], k: int, semivalue: str = "banzhaf") -> list[Fraction]:
    """Compute the values by enumerating every coalition, in O(2^n n).

    Parameters
    ----------
    votes : sequence of int, length n
        Signed votes, nearest first: positive for the right class, negative for the wrong one, zero for a third.
    k : int
        Number of neighbours that vote; may exceed n.
    semivalue : {"banzhaf", "shapley"}
        "banzhaf" is eq. 6, all coalitions alike; "shapley" is eq. 3, all sizes alike.

    Returns
    -------
    list of Fraction, length n
        Values, nearest first.

    Examples
    --------
    >>> [str(value) for value in brute_force([3, -2, 1, -1], k=2)]
    ['7/8', '-1/8', '1/8', '-1/8']
    """
    votes, k = check_game(votes, k)
    n = len(votes)
    if semivalue == "banzhaf":
        chance = [Fraction(1, 2 ** (n - 1))] * n
    elif semivalue == "shapley":
        chance = [Fraction(1, n * comb(n - 1, size)) for size in range(n)]
    else:
        raise ValueError(f"semivalue must be 'banzhaf' or 'shapley'; got {semivalue!r}.")

    # A coalition is a number whose bit i says whether the player of rank i + 1 is a member.
    utilities = bytearray(1 << n)
    for coalition in range(1 << n):
        utilities[coalition] = utility([votes[i] for i in range(n) if coalition >> i & 1], k)

    values = []
    for i in range(n):
        pivotal = [0] * n  # gains minus losses among the coalitions of each size
        for coalition in range(1 << n):
            if not coalition >> i & 1:
                pivotal[coalition.bit_count()] += utilities[coalition | 1 << i] - utilities[coalition]
        values.append(sum((weight * count for weight, count in zip(chance, pivotal, strict=True)), Fraction(0)))
    return values
