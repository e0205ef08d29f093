"""The plurality vote, unweighted: right when the true class has strictly the most votes among the k nearest.

The push-out identity (see `pivotal.kernels.hard`) needs, for T drawn at random from the points nearer than m without
i, the chance that "T and one vote for class x" elects the true class y. T is described by its class counts. With a
members of y in T, the other classes must each stay below a, so the chance is a sum over a of

    (ways to draw a members of y) * [z^(k-1-a)] product over the wrong classes c of (1 + n_c z + ... up to their cap)

and the cap of class c is a - 1, one more for all when x = y, one less for class x. A cap of q is met for two
values of a, so there is one product for each q; products from both ends give the product without one class. From
q = (k-1)/2 on no cap is felt, and the product is a binomial.

All that a rank brings are its class counts, so a span of ranks is computed together, each step a loop over the ranks
of the span, as in `pivotal.kernels.many_classes`. Ways are scaled by scale^count to stay in range, with one scale for
a span: the factor is undone at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.many_classes import SPAN, count_nearer, fill_ways, run_sums
from pivotal.kernels.plurality_small import small_coalitions

# A multiple of ranks that vector code likes; and entries of a table of products, beyond which spans are shorter.
_FULL = 8
_MOST_ENTRIES = 2**19


class PluralityScratch(NamedTuple):
    """Scratch for one thread: tables over the ranks of a span, the farthest first, and sums over all ranks so far.

    Slot 0 is the true class, the slots from 1 on are the wrong classes that have members.
    """

    members: IndexArray
    """Points of each class among those before the span, shape (n_slots,)."""
    sums: FloatArray
    """Running sums, what rounding lost of them, and small coalitions; shape (3, n_slots)."""
    nearer: FloatArray
    """Points of each class nearer than each rank, shape (n_slots, span)."""
    terms: FloatArray
    """What each rank adds to the sums, then the sums; shape (n_slots, span)."""
    rows: FloatArray
    """Five rows over the ranks, shape (5, span)."""
    right: FloatArray
    """Ways to draw from the true class, from it without i, and from all wrong ones; shape (3, k, span)."""
    ways: FloatArray
    """Ways to draw from each wrong class, as far as caps reach; shape (n_slots, half, span)."""
    less: FloatArray
    """The same without i."""
    heads: FloatArray
    """Ways to draw from the class of the one pushed out, shape (half, span)."""
    products: FloatArray
    """Products of classes from both ends, shape (2, n_slots + 1, k, span)."""
    rest: FloatArray
    """Product of all wrong classes but one, shape (k, span)."""
    step: FloatArray
    """scale / j; shape (k,)."""
    places: IndexArray
    """Places in the span of the true class, shape (span,)."""
    scalars: FloatArray
    """Polynomials for small coalitions, shape (4, n_slots + 1, k)."""


def make_plurality_scratch(n_slots: int, k: int) -> PluralityScratch:
    """Scratch for this many classes."""
    span = max(_FULL, min(SPAN, _MOST_ENTRIES // ((n_slots + 1) * k) // _FULL * _FULL))
    half = max(2, k // 2)
    return PluralityScratch(
        members=np.zeros(n_slots, np.int64),
        sums=np.zeros((3, n_slots)),
        nearer=np.zeros((n_slots, span)),
        terms=np.zeros((n_slots, span)),
        rows=np.zeros((5, span)),
        right=np.zeros((3, k, span)),
        ways=np.zeros((n_slots, half, span)),
        less=np.zeros((n_slots, half, span)),
        heads=np.zeros((half, span)),
        products=np.zeros((2, n_slots + 1, k, span)),
        rest=np.zeros((k, span)),
        step=np.zeros(k),
        places=np.zeros(span, np.int64),
        scalars=np.zeros((4, n_slots + 1, k)),
    )


@kernel
def multiply_capped(
    left: FloatArray, right: FloatArray, cap: int, degree: int, length: int, product: FloatArray
) -> None:
    """Fill product[0..degree] with left times the terms of right up to z^cap, of which the first is 1; cap >= 1."""
    for p in range(length):
        product[0, p] = left[0, p]
    for d in range(1, degree + 1):
        for p in range(length):
            product[d, p] = left[d, p] + left[d - 1, p] * right[1, p]
        for j in range(2, min(cap, d) + 1):
            for p in range(length):
                product[d, p] += left[d - j, p] * right[j, p]


@kernel
def fill_term(left: FloatArray, right: FloatArray, cap: int, degree: int, length: int, term: FloatArray) -> None:
    """Fill `term` with the coefficient of z^degree of left times the terms of right up to z^cap; the first is 1."""
    for p in range(length):
        term[p] = left[degree, p]
    for j in range(1, min(cap, degree) + 1):
        for p in range(length):
            term[p] += left[degree - j, p] * right[j, p]


@kernel
def fill_prefix(ways: FloatArray, present: int, cap: int, degree: int, length: int, prefix: FloatArray) -> None:
    """Fill prefix[c] with the product of the classes before c, up to their cap."""
    for d in range(degree + 1):
        for p in range(length):
            prefix[1, d, p] = 0.0 if d else 1.0
    for c in range(1, present + 1):
        multiply_capped(prefix[c], ways[c], cap, degree, length, prefix[c + 1])


@kernel
def fill_suffix(ways: FloatArray, present: int, cap: int, degree: int, length: int, suffix: FloatArray) -> None:
    """Fill suffix[c] with the product of the classes from c on, up to their cap."""
    for d in range(degree + 1):
        for p in range(length):
            suffix[present + 1, d, p] = 0.0 if d else 1.0
    for c in range(present, 1, -1):
        multiply_capped(suffix[c + 1], ways[c], cap, degree, length, suffix[c])


@kernel
def push_wrong(present: int, k: int, ballots: PluralityScratch) -> None:
    """Fill terms[c] with the ways in which v(T + i) - v(T + m) is 1 less those in which it is -1; i is of class c.

    As if a wrong point m were pushed out at each rank; its class has no ways of its own, they are in `heads`. For i of
    class y all caps rise to a where T has a votes for y, against a-1, and a-2 for the class of m:

        terms[0] = sum over q of  r[q]   [z^(k-1-q)] (all up to q)
                                - r[q+1] [z^(k-2-q)] (class of m up to q-1) (others up to q)

    with r the ways of y with i taken out. For i of another class what m and i both allow cancels, and there remains

        terms[c] = sum over q of w[q+1] [z^(k-2-2q)] (others up to q) (m[q] (c up to q-1) - c[q] (m up to q-1))

    with w the ways of y, and m[q] and c[q] those of the two classes.
    """
    terms, ways, less, heads, rest = ballots.terms, ballots.ways, ballots.less, ballots.heads, ballots.rest
    right, right_less, wrong = ballots.right[0], ballots.right[1], ballots.right[2]
    prefix, suffix = ballots.products[0], ballots.products[1]
    one, two = ballots.rows[3], ballots.rows[4]
    length = terms.shape[1]
    for c in range(present + 1):
        for p in range(length):
            terms[c, p] = 0.0
    for q in range(k // 2, k):
        for p in range(length):
            terms[0, p] += right_less[q, p] * wrong[k - 1 - q, p]
        if q + 1 < k:
            for p in range(length):
                terms[0, p] -= right_less[q + 1, p] * wrong[k - 2 - q, p]
    for q in range(1, k // 2):
        degree = k - 1 - q
        fill_prefix(ways, present, q, degree, length, prefix)
        fill_term(prefix[present + 1], heads, q, degree, length, one)
        fill_term(prefix[present + 1], heads, q - 1, degree - 1, length, two)
        for p in range(length):
            terms[0, p] += right_less[q, p] * one[p] - right_less[q + 1, p] * two[p]
        degree = k - 2 - 2 * q
        if degree < 0:
            continue
        fill_suffix(ways, present, q, degree, length, suffix)
        for c in range(1, present + 1):
            for d in range(degree + 1):
                fill_term(prefix[c], suffix[c + 1], d, d, length, rest[d])
            fill_term(rest, less[c], q - 1, degree, length, one)
            fill_term(rest, heads, q - 1, degree, length, two)
            for p in range(length):
                terms[c, p] += right[q + 1, p] * (heads[q, p] * one[p] - less[c, q, p] * two[p])


@kernel
def push_right(present: int, k: int, count: int, ballots: PluralityScratch) -> None:
    """Fill in the terms of the `count` ranks at which a point of the true class is pushed out; they are at `places`.

    With cap q standing for the most votes that another class may have,

        terms[c] = sum over q of  w[q+1] [z^(k-2-q)] (c up to q-1) (others up to q)
                                - w[q]   [z^(k-1-q)] (c up to q)   (others up to q)

    where w are the ways of y. From q = (k-1)/2 on no cap is felt: any k-2-q, or k-1-q, of the wrong points will do.
    """
    terms, ways, less, rest, places = ballots.terms, ballots.ways, ballots.less, ballots.rest, ballots.places
    right, wrong, changes = ballots.right[0], ballots.right[2], ballots.nearer
    prefix, suffix = ballots.products[0], ballots.products[1]
    common, one, two = ballots.rows[2], ballots.rows[3], ballots.rows[4]
    # Brought together at the front, as many as vector code likes; those behind are computed and not looked at.
    length = -(-count // _FULL) * _FULL
    for t in range(count):
        p = places[t]
        for j in range(k):
            right[j, t] = right[j, p]
        common[t] = common[p]
        for c in range(1, present + 1):
            for j in range(1, k // 2):
                ways[c, j, t] = ways[c, j, p]
                less[c, j, t] = less[c, j, p]
    fill_ways(common, 1.0, k - 1, ballots.step, length, wrong)  # of the wrong points, i is one
    for p in range(length):
        common[p] = 0.0
    for q in range(k // 2, k):
        if q + 1 < k:
            for p in range(length):
                common[p] += right[q + 1, p] * wrong[k - 2 - q, p]
        for p in range(length):
            common[p] -= right[q, p] * wrong[k - 1 - q, p]
    for c in range(1, present + 1):
        for p in range(length):
            changes[c, p] = common[p]
    for q in range(1, k // 2):
        degree = k - 1 - q
        fill_prefix(ways, present, q, degree, length, prefix)
        fill_suffix(ways, present, q, degree, length, suffix)
        for c in range(1, present + 1):
            for d in range(degree + 1):
                fill_term(prefix[c], suffix[c + 1], d, d, length, rest[d])
            fill_term(rest, less[c], q - 1, degree - 1, length, one)
            fill_term(rest, less[c], q, degree, length, two)
            for p in range(length):
                changes[c, p] += right[q + 1, p] * one[p] - right[q, p] * two[p]
    for c in range(1, present + 1):
        for t in range(count):
            terms[c, places[t]] = changes[c, t]


@kernel
def fill_span(
    slots: CodeArray, start: int, stop: int, present: int, k: int, push: FloatArray, ballots: PluralityScratch
) -> None:
    """Fill `terms` with what the ranks start + 1, ..., stop add to the sums of each class, the farthest first."""
    nearer, terms, ways, less, step = ballots.nearer, ballots.terms, ballots.ways, ballots.less, ballots.step
    right, right_less, wrong, heads = ballots.right[0], ballots.right[1], ballots.right[2], ballots.heads
    weight, points, wrongs = ballots.rows[0], ballots.rows[1], ballots.rows[2]
    length, most = terms.shape[1], k // 2 - 1
    count_nearer(slots, start, stop, present, length, ballots.members, nearer)
    scale = max(1.0, (k - 1.0) / 3.0) / max(stop - 2.0, 1.0)
    for j in range(1, k):
        step[j] = scale / j
    for p in range(length):
        points[p] = stop - 1.0 - p
        wrongs[p] = points[p] - nearer[0, p]
    fill_ways(points, 1.0, k - 1, step, length, right)  # to draw T
    n_right = 0
    for p in range(length):
        i = stop - 1 - p
        weight[p] = push[i + 1] / right[k - 1, p] if i >= max(start, k) else 0.0
        if i >= max(start, k) and slots[i] == 0:
            ballots.places[n_right] = p
            n_right += 1
    fill_ways(nearer[0], 0.0, k - 1, step, length, right)
    fill_ways(nearer[0], 1.0, k - 1, step, length, right_less)
    fill_ways(wrongs, 0.0, k - 1, step, length, wrong)
    for c in range(1, present + 1):
        fill_ways(nearer[c], 0.0, most, step, length, ways[c])
        fill_ways(nearer[c], 1.0, most, step, length, less[c])
    for p in range(length):
        own = slots[max(stop - 1 - p, start)]
        for j in range(1, most + 1):
            heads[j, p] = ways[own, j, p] if own > 0 else 0.0
            if own > 0:
                ways[own, j, p] = 0.0
    push_wrong(present, k, ballots)
    if n_right > 0:
        push_right(present, k, n_right, ballots)
    for c in range(present + 1):
        for p in range(length):
            terms[c, p] *= weight[p]
    for i in range(start, stop):
        terms[slots[i], stop - 1 - i] = 0.0  # no point gains by pushing out one of its own class


@kernel
def plurality_values(
    codes: CodeArray,
    targets: CodeArray,
    k: int,
    push: FloatArray,
    sizes: FloatArray,
    slot_of_class: CodeArray,
    slots: CodeArray,
    ballots: PluralityScratch,
    out: FloatArray,
) -> None:
    """Fill `out` with the values of each query's neighbours.

    Parameters
    ----------
    codes, targets, k, push, slot_of_class, out : as in `pivotal.kernels.hard.hard_values`
    sizes : float64 array of shape (k,)
        Chance that exactly s others joined.
    slots : int32 array of shape (depth,)
        Scratch.
    ballots : PluralityScratch
        Scratch; it has slots for the classes that one list can hold, and the true one.
    """
    n_queries, depth = codes.shape
    members, terms, scalars = ballots.members, ballots.terms, ballots.scalars
    total, rest, small = ballots.sums[0], ballots.sums[1], ballots.sums[2]
    for q in range(n_queries):
        present = 0
        slot_of_class[targets[q]] = 0
        members[0] = 0
        for i in range(depth):
            code = codes[q, i]
            if slot_of_class[code] < 0:
                present += 1
                slot_of_class[code] = present
                members[present] = 0
            slots[i] = slot_of_class[code]
            members[slots[i]] += 1
        small_coalitions(present, depth, k, sizes, members, scalars[0], scalars[1], scalars[2], scalars[3], small)
        for c in range(present + 1):
            total[c], rest[c] = 0.0, 0.0
        stop = depth
        while stop > 0:
            start = max(0, stop - terms.shape[1])
            fill_span(slots, start, stop, present, k, push, ballots)
            for c in range(present + 1):
                total[c], rest[c] = run_sums(total[c], rest[c], small[c], terms[c], stop - start)
            for i in range(start, stop):
                out[q, i] = terms[slots[i], stop - 1 - i]
            stop = start
        slot_of_class[targets[q]] = -1
        for i in range(depth):
            slot_of_class[codes[q, i]] = -1
