"""How many labels are wrong, and how likely each is to be among them.

Two counts bracket the truth. Among the rows that the votes are surest of, those whose label disagrees are wrong, as a
rule: their share, of all rows, misses errors near the boundaries between classes. Rows whose label another one outvotes
by far are wrong or rare: their number counts some that are right. The estimate is the geometric mean of the two. How
far it can be off depends on how well features tell the classes apart at all, which is known: Cohen's kappa between
votes and labels. The constants were fitted to 259 tasks with errors planted in known labels: 16 data sets; flips to any
class, to one class, and near boundaries; 1 to 20 % of the labels (`benchmarks/cleaning.py` checks them on other draws,
the tests on other data).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from pivotal.core.types import CodeArray, FloatArray

__all__ = ["ErrorCount", "chances_that_sum", "count_errors", "error_chances"]

LEVEL: Final = 0.9
_SURE: Final = 0.5  # share of each predicted class that is surest
_BY_FAR: Final = 2.0
_FLOOR: Final = 0.02  # votes below this share say no more than this
_SLOPE: Final = 2.2  # of the log odds of being wrong, by the log ratio of the votes
# The interval on a log scale: a constant, per 1 - kappa, per log ratio of all outvoted labels to the estimate.
_LOW: Final = (0.45, -2.5, -0.9)
_HIGH: Final = (0.2, 0.0, 0.65)
_NONE: Final = 1e-9  # fewer wrong labels than that count as zero
_SAMPLING: Final = 0.5  # times 1 / sqrt(count), for what chance adds


@dataclass(frozen=True)
class ErrorCount:
    """An estimated number of wrong labels, and the interval that holds it in nine cases of ten."""

    count: float
    low: float
    high: float
    level: float = LEVEL

    def __str__(self) -> str:
        return f"{self.count:.0f} ({self.low:.0f} to {self.high:.0f})"

    def __add__(self, other: ErrorCount) -> ErrorCount:
        """Add the estimates and the ends of the intervals, as if both were off to the same side."""
        return ErrorCount(self.count + other.count, self.low + other.low, self.high + other.high, self.level)


def count_errors(own: FloatArray, rival: FloatArray, given: CodeArray, predicted: CodeArray) -> ErrorCount:
    """Estimate how many labels are wrong.

    Parameters
    ----------
    own, rival : float64 arrays of shape (n_rows,)
        Share of the votes for the label as given, and for the other label that has the most.
    given, predicted : int32 arrays of shape (n_rows,)
        Class codes of the labels as given, and of those with the most votes.
    """
    n_rows = len(own)
    outvoted = rival > own
    if not outvoted.any():
        return ErrorCount(0.0, 0.0, 0.0)
    sure = _surest(np.maximum(own, rival), predicted)
    among_sure = float(outvoted[sure].mean())
    by_far = float((rival >= _BY_FAR * own)[outvoted].sum()) / n_rows
    half = 0.5 / n_rows  # a count of none says less than half a row
    count = n_rows * math.sqrt((among_sure + half) * (by_far + half))
    all_outvoted = math.log((float(outvoted.sum()) + 0.5) / count)
    doubt = 1.0 - _kappa(given, predicted)
    chance = _SAMPLING / math.sqrt(count + 1.0)
    below = min(-0.1, _LOW[0] + _LOW[1] * doubt + _LOW[2] * all_outvoted) - chance
    above = max(0.1, _HIGH[0] + _HIGH[1] * doubt + _HIGH[2] * all_outvoted) + chance
    return ErrorCount(min(count, n_rows), count * math.exp(below), min(count * math.exp(above), float(n_rows)))


def error_chances(own: FloatArray, rival: FloatArray, count: float) -> FloatArray:
    """Return how likely each label is to be wrong, if this many are; shape (n_rows,).

    Parameters
    ----------
    own, rival : float64 arrays of shape (n_rows,)
        As in `count_errors`.
    count : float
        What the chances sum to.
    """
    return chances_that_sum(_SLOPE * np.log((rival + _FLOOR) / (own + _FLOOR)), count)


def chances_that_sum(doubt: FloatArray, count: float) -> FloatArray:
    """Return chances with these log odds, up to a constant, that sum to a count; shape (n_rows,)."""
    n_rows = len(doubt)
    if count <= _NONE:
        return np.zeros(n_rows)
    if count >= n_rows - _NONE:
        return np.ones(n_rows)
    reach = float(np.abs(doubt).max()) + 60.0
    shift = brentq(lambda shift: float(expit(doubt + shift).sum()) - count, -reach, reach, xtol=1e-10)
    chances: FloatArray = expit(doubt + shift)
    return chances


def _surest(confidence: FloatArray, predicted: CodeArray) -> FloatArray:
    """Return the rows of each predicted class with the largest share of the votes, half of them."""
    order = np.lexsort((-confidence, predicted))
    codes = predicted[order]
    place = np.arange(len(codes)) - np.searchsorted(codes, codes)
    size = np.bincount(predicted)[codes]
    rows: FloatArray = order[place < np.ceil(_SURE * size)]
    return rows


def _kappa(given: CodeArray, predicted: CodeArray) -> float:
    """Return how much more often votes and labels agree than by chance, from 0 to 1."""
    n_classes = int(max(given.max(), predicted.max())) + 1
    shares = (
        np.bincount(given, minlength=n_classes) / len(given),
        np.bincount(predicted, minlength=n_classes) / len(given),
    )
    by_chance = float(shares[0] @ shares[1])
    if by_chance >= 1.0:
        return 1.0
    return min(max((float((given == predicted).mean()) - by_chance) / (1.0 - by_chance), 0.0), 1.0)
