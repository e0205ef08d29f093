"""The two parts of an error bound: what is proved, and what tests allow rounding to add."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from pivotal.core.types import FloatArray

_EPS: Final = float(np.finfo(np.float64).eps)


class Bound(NamedTuple):
    """How far a value can be off, besides chance and given its neighbours."""

    proved: float | None
    """Truncation and integration; None where no bound is known."""

    rounding: float
    """Tested allowance for rounding."""

    @property
    def total(self) -> float | None:
        """Both together; None where no bound is known."""
        return None if self.proved is None else self.proved + self.rounding


def scaled_bound(bound: Bound, values: FloatArray, *, total: float, gain: float) -> Bound:
    """Return the bound of values that are scaled so that their sum, `total`, becomes `gain`.

    |v/s - v'/s'| <= (|v - v'| + |v/s| |s - s'|) / |s'| for a value v, a sum s and the true v' and s'; the result itself
    takes a few roundings more.
    """
    if bound.proved is None:
        return bound
    n, largest = len(values), float(np.abs(values).max())
    sums = n * bound.proved, n * bound.rounding + _EPS * math.fsum(np.abs(values))  # how far the sum can be off
    factor = abs(gain) / (abs(total) - sum(sums))
    proved, rounding = (
        factor * (part + largest / abs(total) * sum_part)
        for part, sum_part in zip((bound.proved, bound.rounding), sums, strict=True)
    )
    return Bound(proved, rounding + 4 * _EPS * abs(gain / total) * largest)
