"""Chances of a binomial distribution, relatively accurate far out in its tails."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pivotal.core.types import FloatArray

__all__ = ["binomial_chance", "binomial_sizes"]

_UNDERFLOW = -760.0  # exp of less than this is 0 in double precision


def binomial_chance(n: npt.NDArray[np.int64], s: int, p: float) -> FloatArray:
    """P(Binomial(n, p) = s) for an array of n, relatively accurate down to the smallest normal number."""
    chance = np.zeros(n.shape)
    if p in (0.0, 1.0):
        chance[n == s if p == 1.0 else (n >= s) & (s == 0)] = 1.0
        return chance
    alive = (n >= s) & (n < _horizon(s, p))
    count = n[alive].astype(np.float64)
    log_absent = (count - s) * math.log1p(-p)
    # The power of 1-p is spread over the s factors, or the product would leave the range of a double on its way.
    factor = np.exp(log_absent / max(s, 1))
    product = np.ones(count.shape) if s else factor
    for j in range(s):
        product *= (count - j) * (p / (j + 1.0)) * factor
    chance[alive] = product
    return chance


def binomial_sizes(k: int, n: int, p: float) -> FloatArray:
    """P(Binomial(n - 1, p) = s) for s = 0..k-1: the likeliest s directly, the others by ratios from there."""
    chances = np.zeros(k)
    mode = min(k - 1, n - 1, int(n * p))
    chances[mode] = binomial_chance(np.array([n - 1]), mode, p).item()
    if 0.0 < p < 1.0:
        s = np.arange(min(k, n) - 1, dtype=np.float64)
        ratios = (n - 1.0 - s) / (s + 1.0) * (p / (1.0 - p))  # from s to s + 1
        chances[mode + 1 : s.size + 1] = chances[mode] * np.cumprod(ratios[mode:])
        chances[:mode] = chances[mode] * np.cumprod(1.0 / ratios[:mode][::-1])[::-1]
    return chances


def _horizon(s: int, p: float) -> float:
    """An n from which on P(Binomial(n, p) = s) is below the smallest double."""

    def log_bound(n: float) -> float:
        share = s / n
        divergence = (1.0 - share) * math.log((1.0 - share) / (1.0 - p))
        return -n * (divergence + (share * math.log(share / p) if s else 0.0))

    high = max(2.0, 2.0 * s / p)
    while log_bound(high) > _UNDERFLOW:
        high *= 2.0
    return high
