"""The plurality vote, one vote each: right when the true class has strictly the most votes among the k nearest.

The push-out identity (see `pivotal.kernels.hard`) needs, for T drawn at random from the points nearer than m without
i, the chance that "T and one vote for class x" elects the true class y. T is described by its class counts. With a
members of y in T, the other classes must each stay below a, so the chance is a sum over a of

    (ways to draw a members of y) * [z^(k-1-a)] product over the wrong classes c of (1 + n_c z + ... up to their cap)

and the cap of class c is a - 1, one more for everybody when x = y, one less for class x. A cap of q is met for two
values of a, so there is one product for each q; products from both ends give the product without one class. From
q = (k-1)/2 on no cap is felt, and the product is a binomial. Only one class changes from rank to rank, so the ways to
draw from the others are kept. Ways are scaled by (scale)^count to stay in range: the factor is undone at the end.
"""

from __future__ import annotations

from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.draws import add_exactly


@kernel
def fill_ways(count: int, scale: float, k: int, ways: FloatArray) -> None:
    """Fill ways[j] with C(count, j) * scale^j for j < k."""
    ways[0] = 1.0
    for j in range(1, k):
        ways[j] = ways[j - 1] * ((count - j + 1.0) * scale / j) if j <= count else 0.0


@kernel
def multiply_capped(left: FloatArray, right: FloatArray, cap: int, degree: int, product: FloatArray) -> None:
    """Fill product[0..degree] with left times the terms of right up to z^cap; an impossible cap gives 0."""
    for d in range(degree + 1):
        total = 0.0
        for j in range(min(cap, d) + 1):
            total += left[d - j] * right[j]
        product[d] = total


@kernel
def sweep(
    ways: FloatArray,
    present: int,
    skip: int,
    skip_cap: int,
    cap: int,
    degree: int,
    prefix: FloatArray,
    suffix: FloatArray,
) -> None:
    """Products of the classes 1..present up to their caps, from both ends.

    prefix[c] holds the classes before c, suffix[c] those from c on. The class `skip` (0: none) has a cap of its own
    and stands at the head of the prefix, so that it is in every product without one of the others.
    """
    for d in range(degree + 1):
        prefix[1, d] = ways[skip, d] if skip > 0 and d <= skip_cap else 0.0
        suffix[present + 1, d] = 0.0
    if skip == 0:
        prefix[1, 0] = 1.0
    suffix[present + 1, 0] = 1.0
    for c in range(1, present + 1):
        if c == skip:
            prefix[c + 1, : degree + 1] = prefix[c, : degree + 1]
        else:
            multiply_capped(prefix[c], ways[c], cap, degree, prefix[c + 1])
    for c in range(present, 0, -1):
        if c == skip:
            suffix[c, : degree + 1] = suffix[c + 1, : degree + 1]
        else:
            multiply_capped(suffix[c + 1], ways[c], cap, degree, suffix[c])


@kernel
def without_class(
    prefix: FloatArray, suffix: FloatArray, c: int, own: FloatArray, low: int, cap: int, degree: int
) -> float:
    """Coefficient of z^degree of the product of all but class c with the terms z^low..z^cap of `own`."""
    total = 0.0
    for j in range(max(low, 0), min(cap, degree) + 1):
        rest = degree - j
        both = 0.0
        for d in range(rest + 1):
            both += prefix[c, d] * suffix[c + 1, rest - d]
        total += own[j] * both
    return total


@kernel
def undo_scale(others: int, draws: int, scale: float) -> float:
    """1 / (C(others, draws) * scale^draws)."""
    factor = 1.0
    for j in range(draws):
        factor *= (j + 1.0) / ((others - j) * scale)
    return factor


@kernel
def small_coalitions(
    present: int,
    n: int,
    k: int,
    sizes: FloatArray,
    counts: IndexArray,
    ways: FloatArray,
    reduced: FloatArray,
    prefix: FloatArray,
    suffix: FloatArray,
    small: FloatArray,
) -> None:
    """Fill small[c] with the expected marginal of a point of class c over the coalitions with fewer than k others."""
    scale = max(1.0, k / 3.0) / max(n - 1.0, 1.0)
    for c in range(present + 1):
        fill_ways(counts[c], scale, k, ways[c])
        fill_ways(counts[c] - 1, scale, k, reduced[c])
        small[c] = 0.0
    small[0] = sizes[0]  # alone, a right point is elected; the empty coalition earns 0
    most = min(k, n) - 1
    for a in range(most + 1):
        degree = most - a
        # One vote more for y: the caps rise from a - 1 to a.
        sweep(ways, present, 0, 0, a, degree, prefix, suffix)
        for s in range(max(a, 1), most + 1):
            small[0] += sizes[s] * undo_scale(n - 1, s, scale) * reduced[0, a] * prefix[present + 1, s - a]
        sweep(ways, present, 0, 0, a - 1, degree, prefix, suffix)
        for s in range(max(a, 1), most + 1):
            weight = sizes[s] * undo_scale(n - 1, s, scale)
            small[0] -= weight * reduced[0, a] * prefix[present + 1, s - a]
            for c in range(1, present + 1):
                # One vote more for c is one too many where c has a - 1 already.
                draw = without_class(prefix, suffix, c, reduced[c], a - 1, a - 1, s - a)
                small[c] -= weight * ways[0, a] * draw


@kernel
def products_without(
    out: int,
    present: int,
    cap: int,
    degree: int,
    degree_back: int,
    ways: FloatArray,
    prefix: FloatArray,
    suffix: FloatArray,
) -> None:
    """As `sweep`, without the class `out` (0: without none), up to one degree on the way there and one on the way back.

    The products from both ends start at 1.
    """
    for d in range(degree + 1):
        prefix[1, d] = 0.0
        suffix[present + 1, d] = 0.0
    prefix[1, 0] = 1.0
    suffix[present + 1, 0] = 1.0
    for c in range(1, present + 1):
        if c == out:
            for d in range(degree + 1):
                prefix[c + 1, d] = prefix[c, d]
        else:
            multiply_capped(prefix[c], ways[c], cap, degree, prefix[c + 1])
    for c in range(present, 0, -1):
        if c == out:
            for d in range(degree_back + 1):
                suffix[c, d] = suffix[c + 1, d]
        else:
            multiply_capped(suffix[c + 1], ways[c], cap, degree_back, suffix[c])


@kernel
def term_of_product(left: FloatArray, right: FloatArray, cap: int, degree: int) -> float:
    """Coefficient of z^degree of left times the terms of right up to z^cap."""
    total = 0.0
    for j in range(min(cap, degree) + 1):
        total += left[degree - j] * right[j]
    return total


@kernel
def push_right_out(
    present: int, k: int, ways: FloatArray, reduced: FloatArray, wrong: FloatArray, work: FloatArray, change: FloatArray
) -> None:
    """Fill change[c], c > 0, with the ways in which v(T + i) - v(T + m) is 1 less those in which it is -1; m is right.

    With cap q standing for the most votes that another class may have,

        change[c] = sum over q of  w[q+1] [z^(k-2-q)] (c up to q-1) (others up to q)
                                 - w[q]   [z^(k-1-q)] (c up to q)   (others up to q)

    where w are the ways of y. From q = (k-1)/2 on no cap is felt: any k-2-q, or k-1-q, of the wrong points will do.
    """
    prefix, suffix, rest = work[0], work[1], work[2, 0]
    free = k // 2  # the first q that is not felt
    common = 0.0
    for q in range(free, k):
        if q + 1 < k:
            common += ways[0, q + 1] * wrong[k - 2 - q]
        common -= ways[0, q] * wrong[k - 1 - q]
    for c in range(1, present + 1):
        change[c] = common
    for q in range(1, free):
        degree = k - 1 - q
        products_without(0, present, q, degree, degree, ways, prefix, suffix)
        for c in range(1, present + 1):
            for d in range(degree + 1):
                rest[d] = term_of_product(prefix[c], suffix[c + 1], d, d)
            gained = ways[0, q + 1] * term_of_product(rest, reduced[c], q - 1, degree - 1)
            change[c] += gained - ways[0, q] * term_of_product(rest, reduced[c], q, degree)


@kernel
def push_wrong_out(
    out: int,
    present: int,
    k: int,
    ways: FloatArray,
    reduced: FloatArray,
    wrong: FloatArray,
    work: FloatArray,
    change: FloatArray,
) -> None:
    """Fill change[c], c != out, likewise; m is of the wrong class `out`.

    For i of class y all caps rise to a where T has a votes for y, against a-1, and a-2 for class `out`:

        change[0] = sum over q of  r[q]   [z^(k-1-q)] (all up to q)
                                 - r[q+1] [z^(k-2-q)] (out up to q-1) (others up to q)

    with r the ways of y with i taken out. For i of another class what m and i both allow cancels, and there remains

        change[c] = sum over q of w[q+1] [z^(k-2-2q)] (others up to q) (out[q] (c up to q-1) - c[q] (out up to q-1))
    """
    prefix, suffix, rest, head = work[0], work[1], work[2, 0], ways[out]
    for c in range(present + 1):
        change[c] = 0.0
    for q in range(k // 2, k):
        change[0] += reduced[0, q] * wrong[k - 1 - q]
        if q + 1 < k:
            change[0] -= reduced[0, q + 1] * wrong[k - 2 - q]
    for q in range(1, k // 2):
        degree = k - 1 - q
        products_without(out, present, q, degree, max(0, k - 2 - 2 * q), ways, prefix, suffix)
        others = prefix[present + 1]
        change[0] += reduced[0, q] * term_of_product(others, head, q, degree)
        change[0] -= reduced[0, q + 1] * term_of_product(others, head, q - 1, degree - 1)
        degree = k - 2 - 2 * q
        if degree < 0:
            continue
        for c in range(1, present + 1):
            if c == out:
                continue
            for d in range(degree + 1):
                rest[d] = term_of_product(prefix[c], suffix[c + 1], d, d)
            gained = head[q] * term_of_product(rest, reduced[c], q - 1, degree)
            lost = reduced[c, q] * term_of_product(rest, head, q - 1, degree)
            change[c] += ways[0, q + 1] * (gained - lost)


@kernel
def plurality_values(
    codes: CodeArray,
    targets: CodeArray,
    k: int,
    push: FloatArray,
    sizes: FloatArray,
    slot_of_class: CodeArray,
    slots: CodeArray,
    counts: IndexArray,
    polynomials: FloatArray,
    sums: FloatArray,
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
    counts : int64 array of shape (width,)
        Scratch; width is 2 more than the number of classes that one list can hold.
    polynomials : float64 array of shape (5, width + 1, k)
        Scratch.
    sums : float64 array of shape (4, width)
        Scratch.
    """
    n_queries, depth = codes.shape
    ways, reduced, work = polynomials[0], polynomials[1], polynomials[2:]
    wrong = polynomials[4, 1]
    total, rest, small, change = sums[0], sums[1], sums[2], sums[3]
    for q in range(n_queries):
        present = 0
        slot_of_class[targets[q]] = 0
        counts[0] = 0
        for i in range(depth):
            code = codes[q, i]
            if slot_of_class[code] < 0:
                present += 1
                slot_of_class[code] = present
                counts[present] = 0
            slots[i] = slot_of_class[code]
            counts[slots[i]] += 1
        small_coalitions(present, depth, k, sizes, counts, ways, reduced, work[0], work[1], small)
        for c in range(present + 1):
            total[c] = 0.0
            rest[c] = 0.0
        in_scale = 2 * depth + 2  # rank for which the scale was chosen
        scale = 1.0
        for i in range(depth - 1, -1, -1):
            own = slots[i]
            out[q, i] = total[own] + (rest[own] + small[own])
            rank = i + 1
            if rank <= k:
                continue
            counts[own] -= 1
            if 2 * rank < in_scale:
                # All ways anew, with a scale that keeps them in range until half of the points have left.
                in_scale = rank
                scale = max(1.0, (k - 1.0) / 3.0) / max(rank - 2.0, 1.0)
                for c in range(present + 1):
                    fill_ways(counts[c], scale, k, ways[c])
                    fill_ways(counts[c] - 1, scale, k, reduced[c])
            else:
                fill_ways(counts[own], scale, k, ways[own])
                fill_ways(counts[own] - 1, scale, k, reduced[own])
            if own == 0:
                fill_ways(rank - 2 - counts[0], scale, k, wrong)  # of the wrong points, i is one
                push_right_out(present, k, ways, reduced, wrong, work, change)
            else:
                fill_ways(rank - 1 - counts[0], scale, k, wrong)
                push_wrong_out(own, present, k, ways, reduced, wrong, work, change)
            weight = push[rank] * undo_scale(rank - 2, k - 1, scale)
            for c in range(present + 1):
                if c != own and counts[c] > 0:
                    total[c], rest[c] = add_exactly(total[c], rest[c], weight * change[c])
        slot_of_class[targets[q]] = -1
        for i in range(depth):
            slot_of_class[codes[q, i]] = -1
