"""How close chance brings rows: from which distance on two rows are nearly equal rather than neighbours.

In data of dimension D, the nearest of k rows is within a part t of the distance of the k-th with chance
1 - (1 - t^D)^(k-1). D is estimated from the distances (Levina and Bickel 2004), without the two nearest of each row,
which may be copies.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from scipy.stats import poisson

from pivotal.analysis.checkup._nearest_rows import N_NEAR
from pivotal.core.types import FloatArray, IndexArray

_LARGEST: Final = 0.13  # nearly equal rows are at most this part of the usual distance apart
_FEW: Final = 0.05  # part of the rows found that chance alone may bring so close
_HALF: Final = 0.5  # the same within the usual distance, where copies are certain to be among them
_CERTAIN: Final = 0.001
_RADII: Final = 200  # distances that are tried
_PLACES: Final = np.arange(N_NEAR)
_SKIPPED: Final = 2  # nearest rows that say nothing about the dimension, as they may be copies


class Closeness(NamedTuple):
    """When rows are nearly equal: within `part` of the distance to the tenth nearest, or of `floor` if that is more."""

    part: float
    floor: float


def closeness_by_chance(
    distances: FloatArray, start: IndexArray, closest: FloatArray, scale: FloatArray, n_rows: int
) -> Closeness:
    """Return the distance within which rows are too close for chance.

    Two rules, and a row is found by either. Within the largest part of the distance to the tenth at which chance
    explains at most a twentieth of the rows that are so close (Benjamini and Hochberg 1995), and at most 0.13; where no
    row is, chance would bring one so close in one table of twenty. And within the largest distance, at most 0.13 of the
    usual one to the nearest, at which chance explains at most half of them, if there are more than chance brings in one
    table of a thousand.

    In each list of distances, shape (n_known, depth), the nearest that is not equal is at `start`; `closest` is the
    distance to it, and `scale` that to the tenth from there. The table has n_rows.
    """
    enough = start + N_NEAR <= distances.shape[1]
    if not enough.any():
        return Closeness(0.0, 0.0)  # too few rows to say what is usual
    dimension = _dimension(distances[enough], start[enough])
    ratio = np.sort(closest / scale)
    few = np.flatnonzero(_chance(ratio, dimension) * n_rows <= _FEW * np.arange(1, len(ratio) + 1))
    if len(few):
        part = float(min(_LARGEST, np.nextafter(ratio[few[-1]], 1.0)))
    else:
        alone = -np.expm1(np.log1p(-_FEW / n_rows) / (N_NEAR - 1))
        part = float(min(_LARGEST, alone ** (1.0 / dimension)))
    return Closeness(part, _radius(closest, scale, dimension) / part if part else 0.0)


def _radius(closest: FloatArray, scale: FloatArray, dimension: float) -> float:
    """Return the largest distance within which at least half of the rows are more than chance explains; 0 for none."""
    found = np.sort(closest)
    within = found[found <= _LARGEST * float(np.median(found))]
    if not len(within):
        return 0.0
    tried = within[np.unique(np.linspace(0, len(within) - 1, _RADII).astype(np.int64))]
    counts = np.searchsorted(found, tried, side="right")
    expected = np.array([_chance(np.minimum(radius / scale, 1.0), dimension).sum() for radius in tried])
    # Two rows that are close to each other are one event.
    certain = poisson.sf(np.ceil(counts / 2) - 1, expected / 2) < _CERTAIN
    passed = np.flatnonzero((expected <= _HALF * counts) & certain)
    return float(np.nextafter(tried[passed[-1]], np.inf)) if len(passed) else 0.0


def _dimension(distances: FloatArray, start: IndexArray) -> float:
    lists = distances[np.arange(len(distances))[:, np.newaxis], start[:, np.newaxis] + _PLACES]
    logs = np.log(lists[:, -1:] / lists[:, _SKIPPED:-1]).mean(axis=0)
    # The j-th of k nearest is at exp(-H / D) of the distance of the k-th, with H the sum of 1/m for m from j to k - 1.
    expected = np.cumsum(1.0 / np.arange(N_NEAR - 1, _SKIPPED, -1))[::-1]
    return float(expected.sum() / logs.sum()) if logs.sum() > 0.0 else np.inf


def _chance(part: FloatArray, dimension: float) -> FloatArray:
    """Return the chance that the nearest is within such a part of the distance of the tenth."""
    with np.errstate(divide="ignore"):
        chance: FloatArray = -np.expm1((N_NEAR - 1) * np.log1p(-(part**dimension)))
    return chance
