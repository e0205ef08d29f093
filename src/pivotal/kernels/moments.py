"""Weighted soft label and weighted regression: ratios of vote sums, when every other point joins with probability p.

The k nearest that joined have votes that sum to U and marks that sum to A. A coalition has utility A/U (soft label: the
mark is the vote of a right point, zero of a wrong one) or -(A/U)² (regression: the mark is the vote times the
residual). Backward induction runs on the payoff itself. With t places left, u votes so far, and X, A_X the votes and
marks of the nearest t that joined among the ranks >= i, the backward table holds

    V_m(t, u) = E[ A_X^m / (u + X)^d ],      m = 0..d,  d = 1 (soft label) or 2 (regression)

and the forward table F_m(s, u) = E[ A^m ; exactly s nearer points joined, with u votes ]. A point of mark a that joins
turns the moments (1, A, A²) into (1, A + a, A² + 2aA + a²) in either table, and binomially the two tables give

    value(i) = Σ_{s<k, u} Σ_m C(d, m) · F_{d-m}(s, u) · [ what V_m(k-1-s, u + w_i) becomes by i  -  V_m(k-s, u) ]

A coalition without votes has utility `empty`; V_0 = 0 and V_d = ±empty at u = 0 make the formulas hold there.

Only sums that can occur have a place. The votes of a list are smallest + g·o_i with the largest such g, so a sum of
s votes is s·smallest + g·j; the tables are indexed by (t, j) with s = k - t, and at rank i they cover j between s times
the smallest and s times the largest o among the nearer ranks. For votes that vary little this is a narrow band, and
for equal votes one number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels._moment_rows import add_gains, mix_moments
from pivotal.kernels._vote_tables import choose_stride, count_slots, mix_constant, settle, total

__all__ = ["regression_scratch", "regression_weighted", "soft_scratch", "soft_weighted"]


class MomentRows(NamedTuple):
    """Which sums each row of a table covers, and where."""

    k: int
    """Number of rows; row t is for t places left. Row 0 lies in a table of its own."""

    degree: int
    """Highest moment. A table holds all rows of moment 0, then all rows of moment 1, ..."""

    origin: IndexArray
    """Place of j = 0 in each of the rows 0 to k."""

    band: IndexArray
    """Smallest and largest offset of the i nearest votes, of shape (n + 1, 2)."""


def soft_scratch(k: int, largest: int, ranks: int) -> tuple[int, int]:
    """Say how much scratch `soft_weighted` wants.

    Parameters
    ----------
    k : int
        Number of neighbours that vote.
    largest : int
        Largest difference of two votes in any list; the largest vote will do.
    ranks : int
        Largest number of ranks any call will consider.

    Returns
    -------
    n_reals, n_integers : int
        Sizes of the float64 and the int64 scratch array. With room for only three backward tables the kernel gives the
        same values and works longer.
    """
    return _scratch(k, largest, ranks, 1)


def regression_scratch(k: int, largest: int, ranks: int) -> tuple[int, int]:
    """Say how much scratch `regression_weighted` wants; see `soft_scratch`."""
    return _scratch(k, largest, ranks, 2)


def _scratch(k: int, largest: int, ranks: int, degree: int) -> tuple[int, int]:
    k = max(1, min(k, ranks))
    table = (degree + 1) * table_size(k, largest)
    beside = ranks + (degree + 2) * (k * largest + 1) + 2 * table
    return beside + count_slots(table, ranks) * table, k + 1 + 5 * (ranks + 2)


@kernel
def soft_weighted(
    right: AnyArray,
    votes: CodeArray,
    empty: FloatArray,
    k: int,
    p: float,
    weight: float,
    ranks: int,
    reals: FloatArray,
    integers: IndexArray,
    out: FloatArray,
) -> None:
    """Add weight times the soft-label values at inclusion probability p to `out`.

    Parameters
    ----------
    right : bool or uint8 array of shape (n_queries, n_listed)
        Whether each neighbour has the query's class, nearest first.
    votes : int32 array of shape (n_queries, n_listed)
        Their votes, not negative.
    empty : float64 array of shape (n_queries,)
        Utility of a coalition without votes.
    k : int
        Number of neighbours that vote; may exceed `n_listed`.
    p : float
        Chance that a point joins, in (0, 1].
    weight : float
        Factor for what is added.
    ranks : int
        The game is played by the first `ranks` neighbours; the others get nothing.
    reals, integers : float64 and int64 arrays
        Scratch, see `soft_scratch`; contents do not matter.
    out : float64 array of shape (n_queries, n_listed)
        Added to.
    """
    n_queries, n_listed = votes.shape
    n = min(ranks, n_listed)
    marks = reals[:n]
    for query in range(n_queries):
        for i in range(n):
            marks[i] = votes[query, i] if right[query, i] else 0.0
        play(marks, votes[query], empty[query], k, p, weight, 1, reals[n:], integers, out[query])


@kernel
def regression_weighted(
    residuals: FloatArray,
    votes: CodeArray,
    empty: FloatArray,
    k: int,
    p: float,
    weight: float,
    ranks: int,
    reals: FloatArray,
    integers: IndexArray,
    out: FloatArray,
) -> None:
    """Add weight times the regression values at inclusion probability p to `out`.

    Parameters
    ----------
    residuals : float64 array of shape (n_queries, n_listed)
        Response of each neighbour minus the query's target, nearest first.
    votes, empty, k, p, weight, ranks, reals, integers, out
        As for `soft_weighted`; `empty` is minus the squared target, and the scratch `regression_scratch`.
    """
    n_queries, n_listed = votes.shape
    n = min(ranks, n_listed)
    marks = reals[:n]
    for query in range(n_queries):
        for i in range(n):
            marks[i] = votes[query, i] * residuals[query, i]
        # Tables hold squared errors: what is earned is their negative.
        play(marks, votes[query], -empty[query], k, p, -weight, 2, reals[n:], integers, out[query])


@kernel
def play(
    marks: FloatArray,
    votes: CodeArray,
    empty: float,
    k: int,
    p: float,
    weight: float,
    degree: int,
    reals: FloatArray,
    integers: IndexArray,
    out: FloatArray,
) -> None:
    """Add weight times the values of the game (A/U)^degree to `out`; one player per mark."""
    n = marks.shape[0]
    if p == 1.0:
        n = min(n, k + 1)  # points farther away are never among the k
    if n == 0:
        return
    k = min(k, n)
    offset = integers[:n]
    origin = integers[n : n + k + 1]
    band = integers[n + k + 1 : 3 * n + k + 3].reshape((n + 1, 2))
    rows = MomentRows(k, degree, origin, band)
    smallest_vote, grain = place_votes(votes, offset, band)
    vote_range = band[n, 1]
    origin[0] = 0
    start = 0
    for t in range(1, k + 1):
        origin[t] = start
        start += (k - t) * vote_range + 1

    wide = k * vote_range + 1
    full = reals[: (degree + 1) * wide]
    terms = reals[(degree + 1) * wide : (degree + 2) * wide]
    room = reals[(degree + 2) * wide :]
    size = (degree + 1) * table_size(k, vote_range)
    slots = min(n + 2, room.shape[0] // size - 2)
    tables = room[: (slots + 2) * size].reshape((slots + 2, size))
    pay(full, 0, wide, k * smallest_vote, grain, degree, empty)
    for t in range(1, k + 1):
        pay(tables[0], origin[t], (k - t) * vote_range + 1, (k - t) * smallest_vote, grain, degree, empty)
    walk(marks, offset, p, weight, rows, full, tables, terms, integers[3 * n + k + 3 :], out)


@kernel
def table_size(k: int, vote_range: int) -> int:
    """Return the number of entries of rows 1 to k for one moment."""
    return k * (k - 1) // 2 * vote_range + k


@kernel
def place_votes(votes: CodeArray, offset: IndexArray, band: IndexArray) -> tuple[int, int]:
    """Write votes as smallest_vote + grain·offset, and fill the band of offsets; return smallest_vote and grain."""
    n = offset.shape[0]
    smallest_vote = votes[:n].min()
    grain = 0
    for i in range(n):
        offset[i] = votes[i] - smallest_vote
        if grain != 1:
            grain = math.gcd(grain, offset[i])
    grain = max(grain, 1)
    for i in range(n):
        offset[i] //= grain
    band[0] = offset[0]  # of no votes: never read but as a factor of zero
    for i in range(n):
        band[i + 1, 0] = min(band[i, 0], offset[i])
        band[i + 1, 1] = max(band[i, 1], offset[i])
    return smallest_vote, grain


@kernel
def pay(table: FloatArray, start: int, width: int, smallest_vote: int, grain: int, degree: int, empty: float) -> None:
    """Fill a row with the utility if no other joins, so that there are no marks: V_0 = 1/u^degree, others zero."""
    plane = table.shape[0] // (degree + 1)
    for j in range(width):
        u = float(smallest_vote + grain * j)
        for m in range(1, degree + 1):
            table[m * plane + start + j] = 0.0
        if u == 0.0:
            table[start + j] = 0.0
            table[degree * plane + start + j] = empty
        else:
            table[start + j] = 1.0 / u**degree


@kernel
def walk(
    marks: FloatArray,
    offset: IndexArray,
    p: float,
    weight: float,
    rows: MomentRows,
    full: FloatArray,
    tables: FloatArray,
    terms: FloatArray,
    integers: IndexArray,
    out: FloatArray,
) -> None:
    """Go through the ranks, nearest first, with a forward table in hand and a stack of backward tables ahead.

    `full` is row 0 of all backward tables, when no place is left; tables[0] is the table behind the last rank.
    """
    n = offset.shape[0]
    slots = tables.shape[0] - 2
    forward = tables[slots]
    following = tables[slots + 1]
    forward[:] = 0.0
    following[:] = 0.0
    forward[rows.origin[rows.k]] = 1.0  # no point is nearer than the nearest

    slot = integers[:slots]
    position = integers[slots : 2 * slots]
    for i in range(slots):
        slot[i] = i
    position[0] = n
    top = 0
    for i in range(n):
        base = position[top]
        stride = choose_stride(base - i - 1, slots - 1 - top)
        while position[top] > i + 1:
            rank = position[top] - 1
            look_back(full, tables[slot[top]], tables[slot[top + 1]], offset[rank], marks[rank], p, rows, rank)
            top = settle(slot, position, top, base, i + 1, stride)
        out[i] += weight * merge(forward, full, tables[slot[top]], offset[i], marks[i], rows, i, terms)
        look_ahead(forward, following, offset[i], marks[i], p, rows, i)
        forward, following = following, forward
        top -= 1


@kernel
def look_back(
    full: FloatArray, old: FloatArray, new: FloatArray, offset: int, mark: float, p: float, rows: MomentRows, i: int
) -> None:
    """Build the backward table of rank i from that of rank i + 1.

    Row t is for k - t nearer points that joined. There are only i, so rows below k - i are omitted.
    """
    for t in range(max(1, rows.k - i), rows.k + 1):
        low = (rows.k - t) * rows.band[i, 0]
        size = (rows.k - t) * rows.band[i, 1] + 1 - low
        joins = rows.origin[t - 1] + low + offset
        stays = rows.origin[t] + low
        mix_moments(p, mark, rows.degree, full if t == 1 else old, joins, old, stays, new, size)


@kernel
def look_ahead(old: FloatArray, new: FloatArray, offset: int, mark: float, p: float, rows: MomentRows, i: int) -> None:
    """Build the forward table of rank i + 1 from that of rank i."""
    plane = old.shape[0] // (rows.degree + 1)
    for t in range(max(1, rows.k - i - 1), rows.k + 1):
        s = rows.k - t
        low = s * rows.band[i + 1, 0]
        high = s * rows.band[i + 1, 1]
        # If i is one of the s, the others are s - 1 of the points before it.
        inside = (s - 1) * rows.band[i, 0] + offset if s > 0 else high + 1
        beyond = (s - 1) * rows.band[i, 1] + offset + 1 if s > 0 else high + 1
        zero = rows.origin[t]
        for m in range(rows.degree + 1):
            mix_constant(p, 0.0, old, m * plane + zero + low, new, inside - low)
            mix_constant(p, 0.0, old, m * plane + zero + beyond, new, high + 1 - beyond)
        if s > 0:
            joins = rows.origin[t + 1] + inside - offset
            mix_moments(p, mark, rows.degree, old, joins, old, zero + inside, new, beyond - inside)


@kernel
def merge(
    forward: FloatArray,
    full: FloatArray,
    backward: FloatArray,
    offset: int,
    mark: float,
    rows: MomentRows,
    i: int,
    terms: FloatArray,
) -> float:
    """Return the value of rank i from the forward table of rank i and the backward table of rank i + 1."""
    # Only the total counts, so all rows are added up from the same place. The lowest is the widest.
    terms = terms[: min(rows.k - 1, i) * (rows.band[i, 1] - rows.band[i, 0]) + 1]
    terms[:] = 0.0
    for t in range(max(1, rows.k - i), rows.k + 1):
        low = (rows.k - t) * rows.band[i, 0]
        size = (rows.k - t) * rows.band[i, 1] + 1 - low
        joins = rows.origin[t - 1] + low + offset
        stays = rows.origin[t] + low
        add_gains(forward, mark, rows.degree, full if t == 1 else backward, joins, backward, stays, terms, size)
    return total(terms)
