"""The straightforward estimate from random coalitions (eq. `bval-mc-naive`): the yardstick of section `sec:mc`.

Every player gets coalitions of its own, and every coalition is evaluated twice, from the first rank to the last:
O(m n^2) for m samples. The paper draws one coalition for all players and keeps its top k + 1, which is
O(m n log k); `pivotal.value(method="coalitions")` does that, and stops at the (k+1)-th member.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

from pivotal.research.paper._paper_game import as_integer, check_game, utility


def naive_sampling(votes: Sequence[int], k: int, n_samples: int, seed: int, p: float = 0.5) -> list[Fraction]:
    """Estimate the Banzhaf values from independent coalitions for every player, in O(m n^2).

    Parameters
    ----------
    votes : sequence of int, length n
        Signed votes, nearest first: positive for the right class, negative for the wrong one, zero for a third.
    k : int
        Number of neighbours that vote; may exceed n.
    n_samples : int
        Coalitions for each player.
    seed : int
        Where random numbers start.
    p : float
        Chance that another player is a member; 1/2 in the paper.

    Returns
    -------
    list of Fraction, length n
        Estimates, nearest first: integers over `n_samples`.

    Examples
    --------
    >>> [str(value) for value in naive_sampling([3, -2, 1, -1], k=2, n_samples=8, seed=0)]
    ['7/8', '0', '1/4', '-1/8']
    """
    votes, k = check_game(votes, k)
    samples = as_integer("n_samples", n_samples)
    if samples < 1:
        raise ValueError(f"n_samples must be at least 1; got n_samples={samples}.")
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"p must lie in [0, 1]; got p={p!r}.")
    chance = random.Random(as_integer("seed", seed))
    values = []
    for i in range(len(votes)):
        gained = 0
        for _ in range(samples):
            joined = [chance.random() < p for _ in votes]
            joined[i] = False
            without = utility([vote for vote, member in zip(votes, joined, strict=True) if member], k)
            joined[i] = True
            gained += utility([vote for vote, member in zip(votes, joined, strict=True) if member], k) - without
        values.append(Fraction(gained, samples))
    return values
