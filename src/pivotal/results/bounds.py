"""The two parts of an error bound: what is proved, and what tests allow rounding to add."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from pivotal.core.types import FloatArray

__all__ = ["Bound", "from_before_bounds_had_parts", "scaled_bound"]

_EPS: Final = float(np.finfo(np.float64).eps)
# What settings call the neighbours that are the nearest for certain, in files that do not say so themselves.
_EXACT_NAMES: Final = ("auto", "brute", "kd_tree", "ball_tree", "faiss-flat", "FaissFlat", "precomputed")


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


def from_before_bounds_had_parts(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of values, also if it was written when there was one bound that took all neighbours as true."""
    if "error_bound" not in state or "proved_bound" in state:
        return dict(state)
    state = dict(state)
    settings = state.get("settings")
    neighbors = settings.get("neighbors") if isinstance(settings, Mapping) else None
    exact = True if neighbors is None or (isinstance(neighbors, str) and neighbors in _EXACT_NAMES) else None
    # The part that is proved was not kept: all of it counts as an allowance.
    old = state.pop("error_bound")
    split = {"proved_bound": None if old is None else 0.0, "rounding_allowance": old or 0.0}
    return {**state, **split, "neighbors_exact": False if state.get("recall") is not None else exact}
