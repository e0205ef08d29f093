"""Hard votes with integer weights: who is pivotal when every other point joins with probability p.

One game is a list of signed votes w_0 .. w_{n-1}, nearest first: positive for the right class, negative for one wrong
class, zero for the rest. The k nearest that joined vote; the coalition is right when their sum is positive. Seen from
rank i, with s < k nearer points joined and summing to u, and t = k - s places left,

    value(i) = Σ f_i(s, u) · [ G_{i+1}(t - 1, x - w_i) - G_{i+1}(t, x) ],    x = -u

- f_i(s, u): chance that exactly s of the points nearer than i joined and sum to u;
- G_i(t, x): chance that the nearest t that joined among the ranks >= i sum to more than x (it is [x < 0] when t = 0).

Both tables are indexed by (t, x), and both need only the same few sums. Let P and N be the largest vote for and
against in the whole list, and P_i, N_i those among the ranks >= i. Then

- G_i(t, x) is 1 for x < -t·N_i and 0 for x >= t·P_i, and i changes nothing there;
- f_i(s, -x) is 0 unless -(k-t)·P <= x <= (k-t)·N.

So row t covers max(-t·N_i, -(k-t)·P) .. min(t·P_i - 1, (k-t)·N), and both recurrences stay inside: they read row t - 1
(backward) or t + 1 (forward) only where it is covered or constant. Row 0 is empty, row k is x = 0 alone; with P = N:

          G = 1    ┌───────┐     G = 0        t = 1
                ┌──┘       └──┐               t = 2
    f = 0       └──┐       ┌──┘      f = 0    t = 3
                   └───┬───┘                  t = 4 = k - 1
                       0

All entries are probabilities; the bracket is a difference of two of them, so the rounding error at rank i is a few ulp
times the chance that rank i is reached.
"""

from __future__ import annotations

import math

import numpy as np

from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels._signed_rows import SignedRows, lay_out, overlap, span, table_size
from pivotal.kernels._vote_tables import choose_stride, count_slots, mix, mix_constant, settle, total

__all__ = ["hard_scratch", "hard_weighted"]

_BESIDE = 3  # tables beside the backward ones: forward now, forward next, terms of one value


def hard_scratch(k: int, largest: int, ranks: int, n_classes: int) -> tuple[int, int]:
    """Say how much scratch `hard_weighted` wants.

    Parameters
    ----------
    k : int
        Number of neighbours that vote.
    largest : int
        Largest vote in any list.
    ranks : int
        Largest number of ranks any call will consider.
    n_classes : int
        Number of classes.

    Returns
    -------
    n_reals, n_integers : int
        Sizes of the float64 and the int64 scratch array. With fewer reals, but at least six tables' worth, the kernel
        gives the same values and works longer.
    """
    size = table_size(min(k, ranks), largest, largest)
    return (count_slots(size, ranks) + _BESIDE) * size, n_classes + k + 2 + 6 * (ranks + 2)


@kernel
def hard_weighted(
    codes: CodeArray,
    votes: CodeArray,
    targets: CodeArray,
    n_classes: int,
    k: int,
    p: float,
    weight: float,
    ranks: int,
    ties_win: bool,
    absent: bool,
    reals: FloatArray,
    integers: IndexArray,
    out: FloatArray,
) -> None:
    """Add weight times the values at inclusion probability p to `out`, summed over the wrong classes.

    Parameters
    ----------
    codes : int32 array of shape (n_queries, n_listed)
        Class of each neighbour, nearest first, below `n_classes`.
    votes : int32 array of shape (n_queries, n_listed)
        Their votes, not negative.
    targets : int32 array of shape (n_queries,)
        True class of each query.
    n_classes : int
        Number of classes. With a single class there is one game, against a class that has no members.
    k : int
        Number of neighbours that vote; may exceed `n_listed`.
    p : float
        Chance that a point joins, in [0, 1].
    weight : float
        Factor for what is added; for the mean over the wrong classes it includes 1 / max(1, n_classes - 1).
    ranks : int
        The game is played by the first `ranks` neighbours; the others get nothing.
    ties_win : bool
        Whether a sum of zero is right. The empty coalition is wrong in any case.
    absent : bool
        Whether points of third classes are taken off the list, before the first `ranks` are counted. Otherwise they
        vote for no class but occupy a place among the k.
    reals, integers : float64 and int64 arrays
        Scratch, see `hard_scratch`; contents do not matter.
    out : float64 array of shape (n_queries, n_listed)
        Added to.
    """
    n_queries, n_listed = codes.shape
    longest = min(ranks, n_listed)
    seen = integers[:n_classes]
    signed = integers[n_classes : n_classes + longest]
    member = integers[n_classes + longest : n_classes + 2 * longest]
    room = integers[n_classes + 2 * longest :]
    in_sight = n_listed if absent else longest
    for query in range(n_queries):
        code = codes[query]
        vote = votes[query]
        target = targets[query]
        for i in range(in_sight):
            seen[code[i]] = 0
        seen[target] = 1
        memberless = max(1, n_classes - 1)  # they all give one and the same game
        for i in range(in_sight):
            if seen[code[i]] == 0:
                seen[code[i]] = 1
                memberless -= 1
                n = list_players(code, vote, target, code[i], ties_win, absent, signed, member)
                play(signed[:n], member[:n], k, p, weight, ties_win, reals, room, out[query])
        if memberless > 0:
            n = list_players(code, vote, target, target, ties_win, absent, signed, member)
            play(signed[:n], member[:n], k, p, weight * memberless, ties_win, reals, room, out[query])


@kernel
def list_players(
    code: CodeArray,
    vote: CodeArray,
    target: int,
    rival: int,
    ties_win: bool,
    absent: bool,
    signed: IndexArray,
    member: IndexArray,
) -> int:
    """List the signed votes of the game target against rival, and the column of each player; return their number.

    A rival that is the target stands for a class without members. When ties win, all signs are turned: a coalition is
    then right unless its turned sum is positive. Votes are divided by their greatest common divisor, which changes no
    sign and makes the tables smaller.
    """
    n = 0
    divisor = 0
    for i in range(code.shape[0]):
        if n == signed.shape[0]:
            break
        w = 0
        if code[i] == target:
            w = -vote[i] if ties_win else vote[i]
        elif code[i] == rival:
            w = vote[i] if ties_win else -vote[i]
        elif absent:
            continue
        signed[n] = w
        member[n] = i
        n += 1
        if divisor != 1:
            divisor = math.gcd(divisor, w)
    if divisor > 1:
        for i in range(n):
            signed[i] //= divisor
    return n


@kernel
def play(
    signed: IndexArray,
    member: IndexArray,
    k: int,
    p: float,
    weight: float,
    ties_win: bool,
    reals: FloatArray,
    integers: IndexArray,
    out: FloatArray,
) -> None:
    """Add weight times the values of one game to out[member]."""
    n = signed.shape[0]
    if n == 0:
        return
    if ties_win:
        # With turned signs the empty coalition would be right, which costs each point the chance that no other joins.
        alone = (1.0 - p) ** (n - 1)
        for i in range(n):
            out[member[i]] += weight * alone
        weight = -weight
    if p == 1.0:
        n = min(n, k + 1)  # points farther away are never among the k
    k = min(k, n)
    rows = SignedRows(k, integers[: k + 2], integers[k + 2 : k + 2 * n + 4].reshape((n + 1, 2)))
    size = lay_out(signed[:n], rows)
    if size > 0:
        walk(signed[:n], member, p, weight, rows, size, reals, integers[k + 2 * n + 4 :], out)


@kernel
def walk(
    signed: IndexArray,
    member: IndexArray,
    p: float,
    weight: float,
    rows: SignedRows,
    size: int,
    reals: FloatArray,
    integers: IndexArray,
    out: FloatArray,
) -> None:
    """Go through the ranks, nearest first, with a forward table in hand and a stack of backward tables ahead."""
    n = signed.shape[0]
    slots = min(n + 2, reals.shape[0] // size - _BESIDE)
    tables = reals[: slots * size].reshape((slots, size))
    rest = reals[slots * size :]
    terms = rest[:size]
    forward = rest[size : 2 * size]
    following = rest[2 * size : 3 * size]
    forward[:] = 0.0
    following[:] = 0.0
    forward[rows.origin[rows.k]] = 1.0  # no point is nearer than the nearest

    slot = integers[:slots]
    position = integers[slots : 2 * slots]
    for i in range(slots):
        slot[i] = i
    position[0] = n  # behind the last rank every G is 1 or 0: its rows have no width
    top = 0
    for i in range(n):
        base = position[top]
        stride = choose_stride(base - i - 1, slots - 1 - top)
        while position[top] > i + 1:
            rank = position[top] - 1
            widen(tables[slot[top]], rows, rank)
            look_back(tables[slot[top]], tables[slot[top + 1]], signed[rank], p, rows, rank)
            top = settle(slot, position, top, base, i + 1, stride)
        widen(tables[slot[top]], rows, i)
        out[member[i]] += weight * merge(forward, tables[slot[top]], signed[i], rows, i, terms)
        look_ahead(forward, following, signed[i], p, rows, i)
        forward, following = following, forward
        top -= 1


@kernel
def widen(table: FloatArray, rows: SignedRows, i: int) -> None:
    """Write the constants of the backward table of rank i + 1 as far as the rows reach at rank i."""
    best = rows.best
    if best[i, 0] == best[i + 1, 0] and best[i, 1] == best[i + 1, 1]:
        return
    for t in range(1, rows.k + 1):
        low, high = span(rows, t, i + 1)
        wide_low, wide_high = span(rows, t, i)
        zero = rows.origin[t]
        table[zero + wide_low : zero + low] = 1.0
        table[zero + high + 1 : zero + wide_high + 1] = 0.0


@kernel
def look_back(old: FloatArray, new: FloatArray, w: int, p: float, rows: SignedRows, i: int) -> None:
    """Build the backward table of rank i: G_i(t, x) = p·G_{i+1}(t - 1, x - w) + (1 - p)·G_{i+1}(t, x).

    Row t is for k - t nearer points that joined. There are only i, so rows below k - i are omitted.
    """
    for t in range(max(1, rows.k - i), rows.k + 1):
        low, high = span(rows, t, i)
        inside, beyond = overlap(low, high, span(rows, t - 1, i), w)
        zero = rows.origin[t]
        less = rows.origin[t - 1] - w
        mix_constant(p, 1.0, old, zero + low, new, inside - low)
        mix(p, old, less + inside, old, zero + inside, new, beyond - inside)
        mix_constant(p, 0.0, old, zero + beyond, new, high + 1 - beyond)


@kernel
def look_ahead(old: FloatArray, new: FloatArray, w: int, p: float, rows: SignedRows, i: int) -> None:
    """Build the forward table of rank i + 1: f(s, u) = p·f(s - 1, u - w) + (1 - p)·f(s, u), with s = k - t, u = -x."""
    for t in range(max(1, rows.k - i - 1), rows.k + 1):
        low, high = span(rows, t, i + 1)
        inside, beyond = overlap(low, high, span(rows, t + 1, i), -w)
        zero = rows.origin[t]
        more = rows.origin[t + 1] + w
        mix_constant(p, 0.0, old, zero + low, new, inside - low)
        mix(p, old, more + inside, old, zero + inside, new, beyond - inside)
        mix_constant(p, 0.0, old, zero + beyond, new, high + 1 - beyond)


@kernel
def merge(forward: FloatArray, backward: FloatArray, w: int, rows: SignedRows, i: int, terms: FloatArray) -> float:
    """Return the value of rank i from the forward table of rank i and the backward table of rank i + 1."""
    width = 0
    for t in range(max(1, rows.k - i), rows.k + 1):
        low, high = span(rows, t, i)
        # Only the total counts, so all rows are added up from the same place; it is cleared as far as it is used.
        terms[width : max(width, high - low + 1)] = 0.0
        width = max(width, high - low + 1)
        inside, beyond = overlap(low, high, span(rows, t - 1, i), w)
        zero = rows.origin[t]
        less = rows.origin[t - 1] - w
        add_constant(forward, 1.0, backward, zero + low, terms, 0, inside - low)
        add(forward, backward, less + inside, zero + inside, terms, inside - low, beyond - inside)
        add_constant(forward, 0.0, backward, zero + beyond, terms, beyond - low, high + 1 - beyond)
    return total(terms[:width])


@kernel
def add(
    chance: FloatArray, table: FloatArray, joins: int, stays: int, terms: FloatArray, first: int, size: int
) -> None:
    """Add chance[stays + j]·(table[joins + j] - table[stays + j]) to terms[first + j] for j < size."""
    if size <= 0:
        return
    a = np.uintp(joins)
    b = np.uintp(stays)
    c = np.uintp(first)
    for j in range(np.uintp(size)):
        terms[c + j] += chance[b + j] * (table[a + j] - table[b + j])


@kernel
def add_constant(
    chance: FloatArray, joins: float, table: FloatArray, stays: int, terms: FloatArray, first: int, size: int
) -> None:
    """Do what `add` does where the row of those that join is one constant."""
    if size <= 0:
        return
    b = np.uintp(stays)
    c = np.uintp(first)
    for j in range(np.uintp(size)):
        terms[c + j] += chance[b + j] * (joins - table[b + j])
