"""What the plurality vote makes of coalitions with fewer than k others, and polynomials of ways to draw for one rank.

The chance that T and one vote more elect the true class is a sum over products of polynomials, see
`pivotal.kernels.plurality`; here T is smaller than k - 1 and drawn from all others, once for a list.
"""

from __future__ import annotations

from pivotal.core.types import FloatArray, IndexArray
from pivotal.kernels._compile import kernel


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
    small[0] = sizes[0]  # alone, a right point is elected; the empty coalition has utility 0
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
