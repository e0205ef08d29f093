"""Closed forms of the retrieval games: the coefficients that `kernels.retrieval` sums up.

Let every other document join with probability p, integrated over the measure of a semivalue. For a function f of the
position with f(j) = 0 beyond k,

    A[f; u, w](a) = integral of p^u (1-p)^w E f(1 + Bin(a, p))
                  = sum over s < k of C(a, s) mass(s + u, a - s + w) f(s + 1)

is what a document adds on average that comes after those that join of a nearer ones, while u given documents are in
and w given ones are out. As C(n, t) mass(t, n - t) is the chance `joined(n, t)`, which semivalues know to thirteen
digits at any n, only ratios of binomials remain, and they are products of k factors at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pivotal.core.games import RetrievalGame
from pivotal.core.semivalues import Semivalue
from pivotal.core.types import FloatArray, IndexArray


class Coefficients(NamedTuple):
    """What `kernels.retrieval.add_suffix_sums` takes: relevant documents, game by game, nearest first."""

    rows: IndexArray
    starts: IndexArray
    places: IndexArray
    own: FloatArray
    same: FloatArray
    other: FloatArray


def average_at(
    semivalue: Semivalue, a: IndexArray, f: FloatArray, *, u: int = 0, w: IndexArray | int = 0
) -> FloatArray:
    """Return A[f; u, w](a) for arrays of a and w.

    Parameters
    ----------
    semivalue : Semivalue
        How coalitions are drawn.
    a : int array of shape (n,)
        Number of nearer documents that may be in or out; the result is 0 where it is negative.
    f : float64 array of shape (k,)
        Gains of positions 1..k.
    u : {0, 1}
        Documents that are in for certain.
    w : int or int array of shape (n,)
        Documents that are out for certain.

    Examples
    --------
    >>> from pivotal import Shapley
    >>> average_at(Shapley(), np.array([0, 1, 2]), np.array([1.0]))  # one place: none of the nearer documents is in
    array([1.        , 0.5       , 0.33333333])
    """
    total = np.zeros(a.shape)
    if not a.size:
        return total
    n = np.maximum(a, 0) + u + w
    ratio = np.where(a >= 0, 1.0, 0.0)  # C(a, s) / C(n, s + u), but for what the document that is in adds
    for s in range(min(len(f), max(0, int(a.max()) + 1))):
        left = np.maximum(n - s, 1)
        chance = semivalue.joined(n, s + u) * ratio
        total += f[s] * (chance * ((s + 1.0) / left) if u else chance)
        ratio = ratio * (np.maximum(a - s, 0) / left)
    return total


def coefficients(
    game: RetrievalGame, semivalue: Semivalue, k: int, gains: FloatArray, scale: FloatArray
) -> Coefficients:
    """Return the coefficients of the relevant documents of some queries.

    `gains`, shape (n_queries, depth), are those of the listed documents, best ranked first; `scale`, shape
    (n_queries,), is what the utility of each query is multiplied with.
    """
    rows, places = np.nonzero(gains > 0.0)
    f = game.discounts(k)
    if game.kind == "discounted":
        starts = _starts(rows, len(gains))
        weight = gains[rows, places] * scale[rows]
        ranks = np.arange(int(places.max(initial=-1)) + 1)
        earned = average_at(semivalue, ranks, f)
        pushed = average_at(semivalue, ranks - 1, _falls(f), u=1)
        push = weight * pushed[places]
        return Coefficients(np.arange(len(gains)), starts, places, weight * earned[places], push, push)
    if game.kind == "first":
        games, weight, owners = rows, scale[rows], np.arange(len(gains))
    else:
        games, places, weight, owners = _levels(rows, places, gains[rows, places])
        weight = weight * scale[owners[games]]
    starts = _starts(games, len(owners))
    nearer = np.arange(len(games)) - starts[games]  # relevant ones
    # The same pair of counts comes up repeatedly.
    width = int(places.max(initial=0)) + 1
    pairs, which = np.unique(places * width + nearer, return_inverse=True)
    place, before = pairs // width, pairs % width
    free = place - before
    own = average_at(semivalue, free, f, w=before)
    same = np.where(before > 0, average_at(semivalue, free, f, u=1, w=np.maximum(before - 1, 0)), 0.0)
    other = average_at(semivalue, free - 1, _falls(f), u=1, w=before)
    return Coefficients(owners, starts, places, weight * own[which], weight * same[which], weight * other[which])


def _falls(f: FloatArray) -> FloatArray:
    """Return f(j) - f(j + 1), which is what a document loses that is pushed down by one place."""
    falls: FloatArray = f - np.append(f[1:], 0.0)
    return falls


def _starts(rows: IndexArray, n_rows: int) -> IndexArray:
    return np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n_rows)))).astype(np.int64)


def _levels(
    rows: IndexArray, places: IndexArray, gains: FloatArray
) -> tuple[IndexArray, IndexArray, FloatArray, IndexArray]:
    """Cut the best of the retrieved into games of hit or miss, one for each gain that occurs in a query.

    The largest gain is the sum of the steps between gains that it reaches: it reaches a gain when a document of this
    gain or more is retrieved.

    Returned are, for each document that is relevant in a game, that game, its place and what the game counts, games in
    order and places rising within a game; and the query of each game.
    """
    by_gain = np.lexsort((gains, rows))
    new_row = np.ones(len(rows), dtype=np.bool_)
    new_row[1:] = rows[by_gain][1:] != rows[by_gain][:-1]
    new_level = new_row.copy()
    new_level[1:] |= gains[by_gain][1:] != gains[by_gain][:-1]
    level = np.empty(len(rows), dtype=np.int64)
    level[by_gain] = np.cumsum(new_level) - 1  # numbered through all queries
    of_level = by_gain[new_level]
    below = np.where(new_row[new_level], 0.0, np.concatenate(([0.0], gains[of_level][:-1])))
    first_level = np.full(int(rows.max(initial=-1)) + 1, -1, dtype=np.int64)
    first_level[rows[by_gain][new_row]] = np.flatnonzero(new_row[new_level])
    # A document takes part in the game of its own gain and of all smaller ones.
    times = level - first_level[rows] + 1
    entry = np.repeat(np.arange(len(rows)), times)
    within = np.arange(len(entry)) - np.repeat(np.cumsum(times) - times, times)
    games = first_level[rows[entry]] + within
    order = np.lexsort((places[entry], games))
    games, entry = games[order], entry[order]
    steps = gains[of_level] - below
    return games, places[entry], steps[games], rows[of_level].astype(np.int64)
