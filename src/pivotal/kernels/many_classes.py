r"""Hard votes of many classes, unweighted: a span of ranks at a time, side by side in vector registers.

The game is the mean over the wrong classes c of the two-class games (see `pivotal.kernels.hard`). With r right points,
n_c of class c and z_c of third classes among the points nearer than m, i taken out of its own kind, the chance of a
lead of T, which are k-1 of these points, is

    sum over x of  C(r, x) C(n_c, x - lead) C(z_c, k-1-2x+lead) / C(all of them, k-1)

All it needs of a rank are three counts, and those follow from rank to rank by subtracting one. So the chances of a
span of ranks are computed together, each step a loop over the ranks of the span. Every binomial is a product of exact
factors and only positive numbers are added: errors neither build up from rank to rank nor cancel.

Binomials are scaled by scale^count to stay in range, with one scale for a span.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.hard_small import small_coalitions

# Ranks of a span, at least and at most: long ones lose less between spans, as long as the tables fit a core's cache.
SPAN = 128
_LONGEST = 512
_MOST_ENTRIES = 2**15
# A multiple of ranks that vector code likes.
_FULL = 16
# The ways to draw more points than this may leave the range of a double, scaled or not.
MOST_DRAWS = 500


class Span(NamedTuple):
    """Scratch for one thread: tables over the ranks of a span, the farthest first, and sums over all ranks so far.

    A wrong class is known by its slot, 1 or more; the slot behind the last stands for all classes without members.
    `width` below is how many ranks a span has; of few points, only those are computed.
    """

    members: IndexArray
    """Points of each class among those before the span, shape (n_slots,)."""
    games: FloatArray
    """How many games a slot stands for, shape (n_slots,)."""
    sums: FloatArray
    """Running sums, what rounding lost of them, and small coalitions; shape (3, n_slots)."""
    nearer: FloatArray
    """Points of each class nearer than each rank, shape (n_slots, width)."""
    terms: FloatArray
    """What each rank adds to the sums, then the sums; shape (n_slots, width)."""
    rows: FloatArray
    """Seven rows over the ranks, shape (7, width)."""
    ways: FloatArray
    """Scaled binomials; shape (6, k, width)."""
    step: FloatArray
    """scale / j; shape (k,)."""
    places: IndexArray
    """Places in the span of the right points, shape (width,)."""


def make_span(n_classes: int, k: int) -> Span:
    """Scratch for this many classes."""
    n_slots = n_classes + 1
    fitting = _MOST_ENTRIES // (6 * k + 2 * n_slots) // _FULL * _FULL
    width = SPAN if n_classes <= 2 else min(_LONGEST, max(SPAN, fitting))
    return Span(
        members=np.zeros(n_slots, np.int64),
        games=np.zeros(n_slots),
        sums=np.zeros((3, n_slots)),
        nearer=np.zeros((n_slots, width)),
        terms=np.zeros((n_slots, width)),
        rows=np.zeros((7, width)),
        ways=np.zeros((6, k, width)),
        step=np.zeros(k),
        places=np.zeros(width, np.int64),
    )


@kernel
def fill_ways(counts: FloatArray, less: float, max_size: int, step: FloatArray, length: int, ways: FloatArray) -> None:
    """Fill ways[j] with C(counts - less, j) * scale^j, for j up to `max_size`."""
    for p in range(length):
        ways[0, p] = 1.0
    for j in range(1, max_size + 1):
        factor, taken = step[j], less + (j - 1.0)
        for p in range(length):
            ways[j, p] = ways[j - 1, p] * ((counts[p] - taken) * factor)


@kernel
def add_leads(
    rights: FloatArray, owns: FloatArray, thirds: FloatArray, lead: int, length: int, chances: FloatArray
) -> None:
    """Add to `chances` the ways to draw k-1 points with this many more right ones than own ones."""
    draws = rights.shape[0] - 1
    for x in range(max(0, lead), (draws + lead) // 2 + 1):
        y, r = x - lead, draws - 2 * x + lead
        for p in range(length):
            chances[p] += rights[x, p] * (owns[y, p] * thirds[r, p])


@kernel
def count_nearer(
    slots: CodeArray, start: int, stop: int, last: int, length: int, members: IndexArray, nearer: FloatArray
) -> None:
    """Fill `nearer` up to `length` from the members before `stop`, which become those before `start`.

    Places behind the span repeat its last: they are computed with the others, and not looked at.
    """
    for c in range(last + 1):
        count = members[c]
        for p in range(stop - start):
            count -= slots[stop - 1 - p] == c
            nearer[c, p] = count
        for p in range(stop - start, length):
            nearer[c, p] = count
        members[c] = count


@kernel
def push_wrong(slots: CodeArray, stop: int, last: int, length: int, threshold: int, span: Span) -> None:
    """Fill in the terms of the ranks as if a wrong point were pushed out at each."""
    nearer, terms, step, games = span.nearer, span.terms, span.step, span.games
    right, weight, own, third, gained, lost, here = (
        span.rows[0], span.rows[1], span.rows[2], span.rows[3], span.rows[4], span.rows[5], span.rows[6]
    )  # fmt: skip
    rights, rights_less, owns, owns_less, thirds = span.ways[0], span.ways[1], span.ways[2], span.ways[3], span.ways[4]
    points = stop - 1.0
    draws = rights.shape[0] - 1
    half = min(draws, (draws - threshold) // 2)  # as many own ones can there be at these leads
    # The class of the one pushed out.
    for p in range(length):
        own[p] = nearer[slots[max(stop - 1 - p, 0)], p]
        third[p] = (points - p) - right[p] - own[p]
        gained[p] = 0.0
        lost[p] = 0.0
    fill_ways(own, 0.0, half, step, length, owns)
    fill_ways(third, 0.0, draws, step, length, thirds)
    add_leads(rights_less, owns, thirds, threshold + 1, length, lost)
    # A point of another class was a third in the game against it.
    fill_ways(third, 1.0, draws, step, length, thirds)
    add_leads(rights, owns, thirds, threshold + 1, length, gained)
    for c in range(1, last + 1):
        own = nearer[c]
        for p in range(length):
            third[p] = (points - p) - right[p] - own[p]
            here[p] = 0.0
        fill_ways(own, 0.0, half, step, length, owns)
        fill_ways(own, 1.0, half, step, length, owns_less)
        fill_ways(third, 0.0, draws, step, length, thirds)
        add_leads(rights_less, owns, thirds, threshold, length, here)
        stands_for = games[c]
        for p in range(length):
            lost[p] += stands_for * here[p]
            here[p] = 0.0
        add_leads(rights, owns_less, thirds, threshold + 1, length, here)
        for p in range(length):
            terms[c, p] = weight[p] * (gained[p] - here[p])
    for p in range(length):
        terms[0, p] = weight[p] * lost[p]


@kernel
def push_right(stop: int, last: int, count: int, threshold: int, span: Span) -> None:
    """Fill in the terms of the `count` ranks at which a right point is pushed out; they are at `places`.

    In the game against another class, a wrong point is a third-class one. Sums over the games run from both ends, so
    that omitting its own game needs no subtraction.
    """
    nearer, terms, step, games, places = span.nearer, span.terms, span.step, span.games, span.places
    right, weight, own, third, others, lost, here = (
        span.rows[0], span.rows[1], span.rows[2], span.rows[3], span.rows[4], span.rows[5], span.rows[6]
    )  # fmt: skip
    rights, owns, owns_less, thirds, thirds_less = span.ways[0], span.ways[2], span.ways[3], span.ways[4], span.ways[5]
    draws = rights.shape[0] - 1
    half = min(draws, (draws - threshold) // 2)
    # Brought together at the front, as many as vector code likes; those behind are computed and not looked at.
    length = -(-count // _FULL) * _FULL
    for q in range(count):
        right[q] = nearer[0, places[q]]
        weight[q] = weight[places[q]]
    for q in range(length):
        others[q] = 0.0
    fill_ways(right, 0.0, draws, step, length, rights)
    for c in range(1, last + 1):
        for q in range(count):
            own[q] = nearer[c, places[q]]
            third[q] = (stop - 1.0 - places[q]) - right[q] - own[q]
        for q in range(length):
            here[q] = 0.0
            lost[q] = others[q]
        fill_ways(own, 0.0, half, step, length, owns)
        fill_ways(own, 1.0, half, step, length, owns_less)
        fill_ways(third, 0.0, draws, step, length, thirds)
        fill_ways(third, 1.0, draws, step, length, thirds_less)
        add_leads(rights, owns, thirds_less, threshold, length, here)
        add_leads(rights, owns_less, thirds, threshold, length, lost)
        add_leads(rights, owns_less, thirds, threshold + 1, length, lost)
        for q in range(length):
            nearer[c, q] = games[c] * here[q]
            others[q] += nearer[c, q]
        for q in range(count):
            terms[c, places[q]] = lost[q]
    for q in range(length):
        others[q] = 0.0
    for c in range(last, 0, -1):
        for q in range(count):
            terms[c, places[q]] = -weight[q] * (terms[c, places[q]] + others[q])
            others[q] += nearer[c, q]


@kernel
def run_sums(total: float, rest: float, small: float, terms: FloatArray, length: int) -> tuple[float, float]:
    """Replace each term by the sum of those before it and `small`; return the sum of all, and what rounding lost."""
    for p in range(length):
        term = terms[p]
        terms[p] = total + (rest + small)
        new = total + term
        shadow = new - total
        rest += (total - (new - shadow)) + (term - shadow)
        total = new
    return total, rest


@kernel
def many_class_pass(
    slots: CodeArray,
    n: int,
    present: int,
    memberless: int,
    k: int,
    threshold: int,
    push: FloatArray,
    sizes: FloatArray,
    span: Span,
    values: FloatArray,
) -> None:
    """Fill `values` with the sum over the wrong classes of the two-class games, all classes in one pass.

    Parameters
    ----------
    slots : int32 array of shape (>= n,)
        0 for the right class, 1..present for the wrong classes that have members, nearest first.
    n, present, memberless : int
        Number of points, of wrong classes with members, and of wrong classes without.
    k, threshold, push, sizes : as in `pivotal.kernels.hard.two_class_pass`
        With k - 1 of at most `MOST_DRAWS`.
    span : Span
        Scratch.
    values : float64 array of shape (>= n,)
        Output, overwritten.
    """
    members, games, terms, step, places = span.members, span.games, span.terms, span.step, span.places
    total, rest, small = span.sums[0], span.sums[1], span.sums[2]
    right, weight, points = span.rows[0], span.rows[1], span.rows[2]
    ways = span.ways[0]
    last = present + (memberless > 0)
    for c in range(last + 1):
        members[c] = 0
        games[c] = 1.0 if c <= present else memberless
        total[c], rest[c], small[c] = 0.0, 0.0, 0.0
    for i in range(n):
        members[slots[i]] += 1
    # Small coalitions. A third-class point changes nothing there, save that alone it ties with no class.
    bystander = (present + memberless - 1) * (sizes[0] if threshold < 0 else 0.0)
    for c in range(1, last + 1):
        zero = n - members[0] - members[c]
        small[0] += games[c] * small_coalitions(members[0] - 1, members[c], zero, 1, k, threshold, sizes)
        small[c] = bystander + small_coalitions(members[0], members[c] - 1, zero, -1, k, threshold, sizes)

    stop = n
    while stop > 0:
        start = max(0, stop - terms.shape[1])
        length = -(-(stop - start) // _FULL) * _FULL
        count_nearer(slots, start, stop, last, length, members, span.nearer)
        scale = max(1.0, (k - 1.0) / 3.0) / max(stop - 1.0, 1.0)
        for j in range(1, k):
            step[j] = scale / j
        for p in range(length):
            right[p] = span.nearer[0, p]
            points[p] = stop - 1.0 - p
        fill_ways(points, 1.0, k - 1, step, length, ways)  # to draw T
        n_right = 0
        for p in range(length):
            i = stop - 1 - p
            weight[p] = push[i + 1] / ways[k - 1, p] if i >= max(start, k) else 0.0
            if i >= max(start, k) and slots[i] == 0:
                places[n_right] = p
                n_right += 1
        fill_ways(right, 0.0, k - 1, step, length, ways)
        fill_ways(right, 1.0, k - 1, step, length, span.ways[1])
        push_wrong(slots, stop, last, length, threshold, span)
        if n_right > 0:
            push_right(stop, last, n_right, threshold, span)
        for i in range(start, stop):
            terms[slots[i], stop - 1 - i] = 0.0  # no point gains by pushing out one of its own class
        for c in range(last + 1):
            total[c], rest[c] = run_sums(total[c], rest[c], small[c], terms[c], stop - start)
        for i in range(start, stop):
            values[i] = terms[slots[i], stop - 1 - i]
        stop = start
