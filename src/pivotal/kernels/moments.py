"""Weighted soft label and weighted regression: ratios of vote sums, when every other point joins with probability p.

The k nearest who joined have votes that sum to U and marks that sum to A. A coalition earns A/U (soft label: the mark
is the vote of a right point, zero of a wrong one) or -(A/U)² (regression: the mark is the vote times the residual).
Backward induction runs on the payoff itself. With t places left, u votes so far, and X, A_X the votes and marks of the
nearest t who joined among the ranks >= i, the backward table holds

    V_m(t, u) = E[ A_X^m / (u + X)^d ],      m = 0..d,  d = 1 (soft label) or 2 (regression)

and the forward table F_m(s, u) = E[ A^m ; exactly s nearer points joined, with u votes ]. A point of mark a that joins
turns the moments (1, A, A²) into (1, A + a, A² + 2aA + a²) in either table, and binomially the two tables give

    value(i) = Σ_{s<k, u} Σ_m C(d, m) · F_{d-m}(s, u) · [ what V_m(k-1-s, u + w_i) becomes by i  -  V_m(k-s, u) ]

A coalition without votes earns `empty`; V_0 = 0 and V_d = ±empty at u = 0 make the formulas hold there.

Only sums that can occur have a place. The votes of a list are least + g·o_i with the largest such g, so that the sum of
s votes is s·least + g·j; the tables are indexed by (t, j) with s = k - t, and at rank i they cover j between s times
the smallest and s times the largest o among the nearer ranks. For votes that vary little this is a narrow band, and
for equal votes one number.
"""

from __future__ import annotations

import math

import numpy as np

from pivotal._types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels._tables import (
    blend,
    choose_stride,
    count_slots,
    mix,
    mix_constant,
    settle,
    total,
)


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
    beside = ranks + fixed_size(min(k, ranks), largest, degree)
    table = (degree + 1) * table_size(min(k, ranks), largest)
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
        What a coalition without votes earns.
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
        n = min(n, k + 1)  # whoever is farther is never among the k
    if n == 0:
        return
    k = min(k, n)
    offset = integers[:n]
    lowest = integers[n : 2 * n + 1]
    highest = integers[2 * n + 1 : 3 * n + 2]
    origin = integers[3 * n + 2 : 3 * n + k + 3]
    slots_at = 3 * n + k + 3
    least, grain = place_votes(votes, offset, lowest, highest)
    spread = highest[n]
    plane = table_size(k, spread)
    wide = k * spread + 1
    fixed = fixed_size(k, spread, degree)
    table = (degree + 1) * plane
    slots = min(n + 2, (reals.shape[0] - fixed) // table)
    slot = integers[slots_at : slots_at + slots]
    position = integers[slots_at + slots : slots_at + 2 * slots]
    for i in range(slots):
        slot[i] = i

    # Row 0, where no place is left, has its own table: it is the same at all ranks.
    full = reals[: (degree + 1) * wide]
    terms = reals[(degree + 1) * wide : (degree + 2) * wide]
    forward = reals[fixed - 2 * table : fixed - table]
    following = reals[fixed - table : fixed]
    tables = reals[fixed : fixed + slots * table].reshape((slots, table))
    pay(full, 0, wide, wide, k * least, grain, degree, empty)
    origin[0] = 0
    start = 0
    for t in range(1, k + 1):
        origin[t] = start
        width = (k - t) * spread + 1
        pay(tables[0], start, width, plane, (k - t) * least, grain, degree, empty)
        start += width
    forward[:] = 0.0
    following[:] = 0.0
    forward[origin[k]] = 1.0  # nobody is nearer than the nearest

    position[0] = n
    top = 0
    for i in range(n):
        base = position[top]
        stride = choose_stride(base - i - 1, slots - 1 - top)
        while position[top] > i + 1:
            step = position[top] - 1
            old = tables[slot[top]]
            new = tables[slot[top + 1]]
            look_back(full, old, new, offset[step], marks[step], p, degree, origin, k, lowest, highest, step)
            top = settle(slot, position, top, base, i + 1, stride)
        backward = tables[slot[top]]
        value = merge(forward, full, backward, offset[i], marks[i], degree, origin, k, lowest, highest, i, terms)
        out[i] += weight * value
        look_ahead(forward, following, offset[i], marks[i], p, degree, origin, k, lowest, highest, i)
        forward, following = following, forward
        top -= 1


@kernel
def table_size(k: int, spread: int) -> int:
    """Return the number of entries of rows 1 to k for one moment."""
    return spread * (k * (k - 1) // 2) + k


@kernel
def fixed_size(k: int, spread: int, degree: int) -> int:
    """Return the number of reals needed beside the backward tables: row 0, terms of one value, two forward tables."""
    return (degree + 2) * (k * spread + 1) + 2 * (degree + 1) * table_size(k, spread)


@kernel
def place_votes(votes: CodeArray, offset: IndexArray, lowest: IndexArray, highest: IndexArray) -> tuple[int, int]:
    """Write votes as least + grain·offset; return least and grain.

    lowest[i] and highest[i] become the smallest and the largest offset of the i nearest ranks.
    """
    n = offset.shape[0]
    least = int(votes[0])
    for i in range(n):
        least = min(least, int(votes[i]))
    grain = 0
    for i in range(n):
        offset[i] = votes[i] - least
        if grain != 1:
            grain = math.gcd(grain, offset[i])
    grain = max(grain, 1)
    lowest[0] = 0
    highest[0] = 0
    for i in range(n):
        offset[i] //= grain
        lowest[i + 1] = offset[i] if i == 0 else min(lowest[i], offset[i])
        highest[i + 1] = offset[i] if i == 0 else max(highest[i], offset[i])
    return least, grain


@kernel
def pay(table: FloatArray, start: int, width: int, plane: int, least: int, grain: int, degree: int, empty: float) -> None:
    """Fill a row with the payoff when nobody else joins: V_0 = 1/u^degree, and the mark sum of nobody is zero."""
    for j in range(width):
        u = float(least + grain * j)
        for m in range(1, degree + 1):
            table[start + m * plane + j] = 0.0
        if u == 0.0:
            table[start + j] = 0.0
            table[start + degree * plane + j] = empty
        else:
            table[start + j] = 1.0 / u if degree == 1 else 1.0 / (u * u)


@kernel
def look_back(
    full: FloatArray,
    old: FloatArray,
    new: FloatArray,
    offset: int,
    mark: float,
    p: float,
    degree: int,
    origin: IndexArray,
    k: int,
    lowest: IndexArray,
    highest: IndexArray,
    i: int,
) -> None:
    """Build the backward table of rank i from that of rank i + 1; rows below k - i are not wanted."""
    plane = old.shape[0] // (degree + 1)
    for t in range(max(1, k - i), k + 1):
        low = (k - t) * lowest[i]
        size = (k - t) * highest[i] + 1 - low
        joins = origin[t - 1] + low + offset
        stays = origin[t] + low
        if t == 1:
            mix_moments(p, mark, degree, full, joins, full.shape[0] // (degree + 1), old, stays, plane, new, size)
        else:
            mix_moments(p, mark, degree, old, joins, plane, old, stays, plane, new, size)


@kernel
def look_ahead(
    old: FloatArray,
    new: FloatArray,
    offset: int,
    mark: float,
    p: float,
    degree: int,
    origin: IndexArray,
    k: int,
    lowest: IndexArray,
    highest: IndexArray,
    i: int,
) -> None:
    """Build the forward table of rank i + 1 from that of rank i; more than i + 1 cannot have joined."""
    plane = old.shape[0] // (degree + 1)
    for t in range(max(1, k - i - 1), k + 1):
        s = k - t
        low = s * lowest[i + 1]
        high = s * highest[i + 1] + 1
        # With s of them at rank i + 1, and i among them, the others were s - 1 at rank i.
        inside = (s - 1) * lowest[i] + offset if s > 0 else high
        right = (s - 1) * highest[i] + offset + 1 if s > 0 else high
        stays = origin[t]
        for m in range(degree + 1):
            mix_constant(p, 0.0, old, m * plane + stays + low, new, inside - low)
            mix_constant(p, 0.0, old, m * plane + stays + right, new, high - right)
        if s > 0:
            joins = origin[t + 1] - offset + inside
            mix_moments(p, mark, degree, old, joins, plane, old, stays + inside, plane, new, right - inside)


@kernel
def merge(
    forward: FloatArray,
    full: FloatArray,
    backward: FloatArray,
    offset: int,
    mark: float,
    degree: int,
    origin: IndexArray,
    k: int,
    lowest: IndexArray,
    highest: IndexArray,
    i: int,
    terms: FloatArray,
) -> float:
    """Return the value of rank i from the forward table of rank i and the backward table of rank i + 1."""
    plane = backward.shape[0] // (degree + 1)
    terms = terms[: min(k - 1, i) * (highest[i] - lowest[i]) + 1]
    terms[:] = 0.0
    for t in range(max(1, k - i), k + 1):
        low = (k - t) * lowest[i]
        size = (k - t) * highest[i] + 1 - low
        joins = origin[t - 1] + low + offset
        stays = origin[t] + low
        if t == 1:
            wide = full.shape[0] // (degree + 1)
            add_gains(forward, mark, degree, full, joins, wide, backward, stays, plane, terms, size)
        else:
            add_gains(forward, mark, degree, backward, joins, plane, backward, stays, plane, terms, size)
    return total(terms)


@kernel
def mix_moments(
    p: float,
    mark: float,
    degree: int,
    other: FloatArray,
    joins: int,
    other_plane: int,
    old: FloatArray,
    stays: int,
    plane: int,
    new: FloatArray,
    size: int,
) -> None:
    """Mix a row with another whose points are joined by one of mark `mark`; moment m lies m planes further on."""
    mix(p, other, joins, old, stays, new, size)
    if size <= 0:
        return
    a = np.uintp(joins)
    a1 = np.uintp(joins + other_plane)
    b1 = np.uintp(stays + plane)
    for j in range(np.uintp(size)):
        new[b1 + j] = blend(p, other[a1 + j] + mark * other[a + j], old[b1 + j])
    if degree == 1:
        return
    a2 = np.uintp(joins + 2 * other_plane)
    b2 = np.uintp(stays + 2 * plane)
    for j in range(np.uintp(size)):
        joined = other[a2 + j] + mark * (2.0 * other[a1 + j] + mark * other[a + j])
        new[b2 + j] = blend(p, joined, old[b2 + j])


@kernel
def add_gains(
    forward: FloatArray,
    mark: float,
    degree: int,
    other: FloatArray,
    joins: int,
    other_plane: int,
    backward: FloatArray,
    stays: int,
    plane: int,
    terms: FloatArray,
    size: int,
) -> None:
    """Add what a point of mark `mark` changes in one row to `terms`; arguments as for `mix_moments`."""
    a0 = np.uintp(joins)
    a1 = np.uintp(joins + other_plane)
    b0 = np.uintp(stays)
    b1 = np.uintp(stays + plane)
    if degree == 1:
        for j in range(np.uintp(size)):
            gain0 = other[a0 + j] - backward[b0 + j]
            gain1 = other[a1 + j] + mark * other[a0 + j] - backward[b1 + j]
            terms[j] += forward[b1 + j] * gain0 + forward[b0 + j] * gain1
        return
    a2 = np.uintp(joins + 2 * other_plane)
    b2 = np.uintp(stays + 2 * plane)
    for j in range(np.uintp(size)):
        gain0 = other[a0 + j] - backward[b0 + j]
        gain1 = other[a1 + j] + mark * other[a0 + j] - backward[b1 + j]
        gain2 = other[a2 + j] + mark * (2.0 * other[a1 + j] + mark * other[a0 + j]) - backward[b2 + j]
        terms[j] += forward[b2 + j] * gain0 + 2.0 * forward[b1 + j] * gain1 + forward[b0 + j] * gain2
