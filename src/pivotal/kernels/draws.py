"""Chances of drawing without replacement, and sums that keep their digits."""

from __future__ import annotations

from pivotal.kernels._compile import kernel

# Partial products of a chance may be far smaller than the chance itself. Starting this high (a power of two, so
# nothing is rounded) keeps them in the range of a double wherever the result is.
_HEADROOM = 2.0**830


@kernel
def chance_of_composition(plus: int, minus: int, zero: int, x: int, y: int, r: int) -> float:
    """Chance that x + y + r draws from `plus` + `minus` + `zero` points are x, y and r of each kind."""
    left = plus + minus + zero
    chance = _HEADROOM
    drawn = 0
    for j in range(x):
        chance *= ((plus - j) * (drawn + 1.0)) / ((left - drawn) * (j + 1.0))
        drawn += 1
    for j in range(y):
        chance *= ((minus - j) * (drawn + 1.0)) / ((left - drawn) * (j + 1.0))
        drawn += 1
    for j in range(r):
        chance *= ((zero - j) * (drawn + 1.0)) / ((left - drawn) * (j + 1.0))
        drawn += 1
    return chance / _HEADROOM


@kernel
def chance_of_lead(plus: int, minus: int, zero: int, draws: int, lead: int) -> float:
    """Chance that `draws` draws hold exactly `lead` more plus than minus points.

    A sum of positive terms, started near the largest one and continued by ratios to both sides, so the result is
    right to a few units in the last place however small it is.
    """
    low = max(0, lead, (draws + lead - zero + 1) // 2)
    high = min(plus, minus + lead, (draws + lead) // 2)
    if low > high or draws < 0:
        return 0.0
    n_points = plus + minus + zero
    start = int((draws * (1.0 - zero / n_points) + lead) / 2.0) if n_points > 0 else low
    start = min(max(start, low), high)
    y = start - lead
    r = draws - start - y
    middle = chance_of_composition(plus, minus, zero, start, y, r)
    total = middle
    term = middle
    for x in range(start, high):
        y = x - lead
        r = draws - x - y
        term *= (plus - x) / (x + 1.0) * ((minus - y) / (y + 1.0))
        term *= r / (zero - r + 1.0) * ((r - 1.0) / (zero - r + 2.0))
        total += term
    term = middle
    for x in range(start, low, -1):
        y = x - lead
        r = draws - x - y
        term *= x / (plus - x + 1.0) * (y / (minus - y + 1.0))
        term *= (zero - r) / (r + 1.0) * ((zero - r - 1.0) / (r + 2.0))
        total += term
    return total


@kernel
def add_exactly(total: float, rest: float, term: float) -> tuple[float, float]:
    """Add `term` to the unevaluated sum total + rest, carrying along what rounding would lose (Knuth's two-sum)."""
    new = total + term
    shadow = new - total
    lost = (total - (new - shadow)) + (term - shadow)
    return new, rest + lost
