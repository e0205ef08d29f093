"""Hard votes of two classes, unweighted: one hypergeometric chance per rank.

All k-1 members of T vote (see `pivotal.kernels.hard`), so the parity of k leaves one lead at which i and m make a
difference, and this many members of T are right. That chance is a product of k-1 factors: for small k it is computed
for a span of ranks together, in vector code; for large k it follows from rank to rank by a ratio.
"""

from __future__ import annotations

from pivotal.core.types import CodeArray, FloatArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.draws import add_exactly, chance_of_composition
from pivotal.kernels.hard_small import small_coalitions

# Up to this k a chance is a product that is computed for each rank.
_SMALL = 24
# A chance that is updated rank by rank is computed afresh after this many steps, and while it is tiny.
_FRESH_EVERY = 256
_TINY = 1e-280
# Terms that are added up as they are before they join a sum that keeps what rounding loses.
_PART = 32


@kernel
def chance_of_balance(plus: int, minus: int, right: int, wrong: int) -> float:
    """Chance that right + wrong draws from plus + minus points are just that."""
    if plus < right or minus < wrong:
        return 0.0
    return chance_of_composition(plus, minus, 0, right, wrong, 0)


@kernel
def pass_by_ratios(
    votes: CodeArray, n: int, k: int, threshold: int, push: FloatArray, sizes: FloatArray, values: FloatArray
) -> None:
    """Fill `values`; each chance follows from the one of the next rank by a ratio, so O(n) whatever k is.

    Parameters as in `two_class_pass`.
    """
    plus = 0
    for i in range(n):
        if votes[i] > 0:
            plus += 1
    minus = n - plus
    small_plus = small_coalitions(plus - 1, minus, 0, 1, k, threshold, sizes) if plus > 0 else 0.0
    small_minus = small_coalitions(plus, minus - 1, 0, -1, k, threshold, sizes) if minus > 0 else 0.0
    # All k-1 members of T vote, so the parity of k leaves one of the two leads: this many of them are right.
    right = (k + threshold) // 2
    wrong = k - 1 - right
    sum_plus, rest_plus, sum_minus, rest_minus = 0.0, 0.0, 0.0, 0.0
    chance_plus, chance_minus = 0.0, 0.0  # of a balanced T when a right / a wrong point is the one that pushes
    age = _FRESH_EVERY
    for i in range(n - 1, -1, -1):
        if votes[i] > 0:
            values[i] = sum_plus + (rest_plus + small_plus)
        else:
            values[i] = -(sum_minus + (rest_minus - small_minus))
        rank = i + 1
        if rank <= k:
            continue
        # Now i is the one pushed out: it leaves the points from which T is drawn, and the chances follow.
        shrink = (rank - 1.0) / (rank - k)
        if votes[i] > 0:
            chance_plus *= (plus - 1.0 - right) * shrink / max(plus - 1.0, 1.0)
            chance_minus *= (plus - right) * shrink / plus
            plus -= 1
        else:
            chance_plus *= (minus - wrong) * shrink / minus
            chance_minus *= (minus - 1.0 - wrong) * shrink / max(minus - 1.0, 1.0)
            minus -= 1
        fresh = age >= _FRESH_EVERY
        if fresh or chance_plus < _TINY:
            chance_plus = chance_of_balance(plus - 1, minus, right, wrong)
        if fresh or chance_minus < _TINY:
            chance_minus = chance_of_balance(plus, minus - 1, right, wrong)
        age = 1 if fresh else age + 1
        if votes[i] > 0:
            sum_minus, rest_minus = add_exactly(sum_minus, rest_minus, push[rank] * chance_minus)
        else:
            sum_plus, rest_plus = add_exactly(sum_plus, rest_plus, push[rank] * chance_plus)


@kernel
def fill_chances(right: int, wrong: int, rows: FloatArray, length: int) -> None:
    """Fill rows[3] with the chance that this many draws from rows[0] right and rows[1] wrong points are just that.

    rows[2] holds their number. Factors are taken two at a time, as a division costs more than all else.
    """
    pool = rows[2]
    chance = rows[3]
    draws = right + wrong
    for p in range(length):
        chance[p] = 1.0
    t = 0
    while t < draws:
        one, two = t, t + 1
        first, second = rows[0 if one < right else 1], rows[0 if two < right else 1]
        less, less_too = float(one if one < right else one - right), float(two if two < right else two - right)
        times, times_too = (1.0, 1.0) if two < right else ((1.0 if one < right else one + 1.0), two + 1.0)
        over = 1.0 if one < right else one - right + 1.0
        over_too = 1.0 if two < right else two - right + 1.0
        gone = float(t)
        if two < draws:
            for p in range(length):
                up = ((first[p] - less) * times) * ((second[p] - less_too) * times_too)
                chance[p] *= up / (((pool[p] - gone) * over) * ((pool[p] - gone - 1.0) * over_too))
        else:
            for p in range(length):
                chance[p] *= ((first[p] - less) * times) / ((pool[p] - gone) * over)
        t += 2


@kernel
def pass_by_spans(
    votes: CodeArray,
    n: int,
    k: int,
    threshold: int,
    push: FloatArray,
    sizes: FloatArray,
    rows: FloatArray,
    values: FloatArray,
) -> None:
    """Fill `values`, a span of ranks at a time. Votes come as they please: there is no branch to guess wrong.

    Parameters as in `two_class_pass`.
    """
    span = rows.shape[1]
    plus = 0
    for i in range(n):
        plus += votes[i] > 0
    minus = n - plus
    small_plus = small_coalitions(plus - 1, minus, 0, 1, k, threshold, sizes) if plus > 0 else 0.0
    small_minus = small_coalitions(plus, minus - 1, 0, -1, k, threshold, sizes) if minus > 0 else 0.0
    right = (k + threshold) // 2
    wrong = k - 1 - right
    sum_plus, rest_plus, sum_minus, rest_minus = 0.0, 0.0, 0.0, 0.0
    stop = n
    while stop > 0:
        length = min(span, stop)
        # Who may be in T when one of the other class pushes out rank i + 1; the farthest comes first.
        for p in range(length):
            i = stop - 1 - p
            own = (votes[i] + 1) >> 1
            plus -= own
            rows[0, p] = plus - 1 + own
            rows[1, p] = i - plus - own
            rows[2, p] = max(i, k) - 1  # up to rank k no point is pushed out
            rows[4, p] = own
            rows[5, p] = push[i + 1] if i >= k else 0.0
        fill_chances(right, wrong, rows, length)
        for p in range(length):
            rows[3, p] *= rows[5, p]
        for start in range(0, length, _PART):
            base_plus, base_minus = sum_plus + (rest_plus + small_plus), sum_minus + (rest_minus - small_minus)
            part_plus, part_minus = 0.0, 0.0
            for p in range(start, min(start + _PART, length)):
                one = rows[4, p]
                values[stop - 1 - p] = one * (base_plus + part_plus) - (1.0 - one) * (base_minus + part_minus)
                part_plus += (1.0 - one) * rows[3, p]
                part_minus += one * rows[3, p]
            sum_plus, rest_plus = add_exactly(sum_plus, rest_plus, part_plus)
            sum_minus, rest_minus = add_exactly(sum_minus, rest_minus, part_minus)
        stop -= length


@kernel
def two_class_pass(
    votes: CodeArray,
    n: int,
    k: int,
    threshold: int,
    push: FloatArray,
    sizes: FloatArray,
    rows: FloatArray,
    values: FloatArray,
) -> None:
    """Fill `values` for a list of n points that all vote 1 or -1.

    Parameters
    ----------
    votes : int32 array of shape (>= n,)
        1 for the right class, -1 for the wrong one, nearest first.
    n, k, threshold : int
        Number of points; the nearest k count; a lead above the threshold wins.
    push : float64 array of shape (>= n + 1,)
        Chance that rank m is pushed out.
    sizes : float64 array of shape (k,)
        Chance that exactly s of the n - 1 others joined.
    rows : float64 array of shape (>= 6, span)
        Scratch.
    values : float64 array of shape (>= n,)
        Output, overwritten.
    """
    if k <= _SMALL:
        pass_by_spans(votes, n, k, threshold, push, sizes, rows, values)
    else:
        pass_by_ratios(votes, n, k, threshold, push, sizes, values)
