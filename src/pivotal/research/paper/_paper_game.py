"""The two-class game every algorithm of this package plays, and the checks of its inputs.

The n training points are players, ranked 1..n from the nearest to the farthest of one query. Player m has a signed
integer vote w(z_m): positive for the query's class, negative for the class it is distinguished from, zero for a third
class. A coalition has utility 1 when the signed votes of its min(k, |S|) nearest members sum to more than zero
(eq. 5), else 0; the empty coalition has utility 0, and so does a tie.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

Algorithm: TypeAlias = Callable[[Sequence[int], int], list[Fraction]]
"""Signed votes, nearest first, and k; the value of every player."""


def utility(votes: Sequence[int], k: int) -> int:
    """Return the utility of a coalition, given the votes of all its members, nearest first."""
    return int(sum(votes[:k]) > 0)


def swing(weight: int, shift: int) -> int:
    """Say how the outcome changes when the sum of the top-k moves from `weight` to `weight + shift`.

    It is +1 for weight in (-shift, 0], the interval the paper sums over for a player of the right class
    (eq. `dp:bval-positive`), and -1 for weight in (0, -shift], its interval for the wrong class
    (eq. `dp:bval-negative`).

    Lemma 2 lets the paper look at one interval only: a right point never hurts, a wrong one never
    helps. That needs votes whose size does not grow with the rank, and it is false for a third-class point, which
    can push out a vote of either sign. Counting gains minus losses needs no lemma: of the two intervals the sign of
    `shift` leaves one, so for the votes the lemma speaks of this is the printed sum, and for all others it is right.
    """
    return int(weight + shift > 0) - int(weight > 0)


def as_integer(name: str, value: object) -> int:
    """Return `value` as a Python int; numpy integers pass, bools and floats do not."""
    # A bool is an int to Python, but a mask "is of the right class" is not a list of votes: False would abstain.
    if not isinstance(value, bool):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            pass
    raise TypeError(f"{name} must be an integer; got {value!r}. Convert it with int() or round the weights first.")


def check_game(votes: Sequence[int], k: int) -> tuple[list[int], int]:
    """Return the votes as Python ints and k, no larger than the number of players.

    k > n is the same game as k = n: a coalition of n players has no more than n nearest members.
    """
    players = [as_integer("every vote", vote) for vote in votes]
    if not players:
        raise ValueError("votes must hold at least one vote; got none. Pass the signed votes, nearest first.")
    neighbors = as_integer("k", k)
    if neighbors < 1:
        raise ValueError(f"k must be at least 1; got k={neighbors}.")
    return players, min(neighbors, len(players))


def check_unit_game(votes: Sequence[int], k: int, instead: str) -> tuple[list[int], int]:
    """Do as `check_game`, refuse votes other than -1, 0 and +1, and name the algorithm that takes them."""
    players, neighbors = check_game(votes, k)
    for vote in players:
        if vote not in (-1, 0, 1):
            raise ValueError(
                f"an unweighted algorithm takes votes of -1, 0 or +1; got {vote}. Use {instead} for weighted votes."
            )
    return players, neighbors


def check_rank(i: int, n: int) -> int:
    """Return the rank i as a Python int."""
    rank = as_integer("the rank i", i)
    if not 1 <= rank <= n:
        raise ValueError(f"the rank i must lie in 1..{n}, as ranks are counted from 1; got i={rank}.")
    return rank
