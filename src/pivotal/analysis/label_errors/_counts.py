"""How many labels are wrong, and how likely each is to be among them.

Among the rows that the votes are surest of, those whose label disagrees are wrong, as a rule. Their share is that of
all rows, if wrong labels are as frequent elsewhere. It is too high where classes overlap, and there many labels are
outvoted, but few of them by far: the share of the outvoted that are so by far corrects it, and so does how well
features tell the classes apart at all, Cohen's kappa between votes and labels. No part of the surest rows may disagree
less than the estimate has it: that bounds it, and its interval, from above and below. How far the estimate can be off
depends on the same things. Where features hardly predict the labels, nothing in the data tells a rare label from a
wrong one: what is said then is how many are wrong at most.

The constants were fitted to tasks with errors planted in known labels: 17 data sets, flips to any class and to the
next one, 1 to 20 % of the labels. `docs/cleaning.md` says how well that does on data sets that were never in view.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import betaincinv, expit

from pivotal.core.types import CodeArray, FloatArray

LEVEL: Final = 0.9
_SURE: Final = 0.5  # share of the rows that are surest
_BY_FAR: Final = 2.0
_FLOOR: Final = 0.02  # votes below this share say no more than this
_SLOPE: Final = 3.0  # of the log odds of being wrong, by the log ratio of the votes
# On a log scale. Of the estimate: a constant, per log share of the outvoted that are so by far, per 1 - kappa.
_CORRECTION: Final = (0.3, 0.4, -0.5)
# Of the ends of the interval: a constant, per 1 - kappa, per log ratio of all outvoted labels to the estimate.
_LOW: Final = (0.0, -2.3)
_HIGH: Final = (-0.1, 0.4, 0.35)
# Where labels are outvoted for other reasons, too, those may explain all: at this log ratio, the interval starts
# at 0. At 1 less, it starts where it would without them.
_EXPLAINED: Final = 1.1
_LEAST: Final = 0.1
_OF_OUTVOTED: Final = 0.9  # where classes are far apart, nearly all outvoted labels are wrong, and never more
_NONE: Final = 1e-9  # fewer wrong labels than that count as zero
_SAMPLING: Final = 1.5  # times 1 / sqrt(count), for what chance adds
_PARTS: Final = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0)  # shares of the surest rows, none of which may disagree less
_FEWEST: Final = 100  # rows of such a part
_TAIL: Final = 0.1  # chance that a part of the rows disagrees less, or more, by luck
_HARDLY: Final = 0.5  # kappa below which features hardly predict the labels


@dataclass(frozen=True)
class ErrorCount:
    """An estimated number of wrong labels, and the interval that holds it in nine cases of ten.

    Parameters
    ----------
    count, low, high : float
    level : float, default=0.9
    upper_bound_only : bool, default=False
        Whether features hardly predict the labels. Rare labels cannot be told from wrong ones then: the interval
        starts at 0, its end says how many are wrong at most, and the count is a guess that tends to be too high.
    what : str, default="wrong"
        What is counted.
    """

    count: float
    low: float
    high: float
    level: float = LEVEL
    upper_bound_only: bool = False
    what: str = "wrong"

    def __str__(self) -> str:
        if self.upper_bound_only:
            return f"at most {math.ceil(self.high)}"
        return f"{self.count:.0f} ({self.low:.0f} to {self.high:.0f})"

    @property
    def sentence(self) -> str:
        """How many are wrong, in words."""
        if self.upper_bound_only:
            return f"{self} are {self.what}: features hardly predict the labels, and rare ones look like wrong ones"
        verb = "is" if round(self.count) == 1 else "are"
        return f"an estimated {self.count:.0f} {verb} {self.what} ({self.low:.0f} to {self.high:.0f})"


def sum_of_counts(counts: Sequence[ErrorCount]) -> ErrorCount:
    """Add estimates and the ends of their intervals, as if all were off to the same side.

    The sum is an upper bound if most of it is made of such.
    """
    total = sum(one.count for one in counts)
    bounded = sum(one.count for one in counts if one.upper_bound_only)
    return ErrorCount(
        total,
        sum(one.low for one in counts),
        sum(one.high for one in counts),
        upper_bound_only=bounded > 0.5 * total,
    )


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
    half = 0.5 / n_rows  # a count of none says less than half a row
    surest_first = outvoted[np.argsort(-np.maximum(own, rival), kind="stable")]
    among_sure = float(surest_first[: math.ceil(_SURE * n_rows)].mean()) + half
    by_far = math.log((float((rival >= _BY_FAR * own)[outvoted].sum()) + 0.5) / (float(outvoted.sum()) + 0.5))
    doubt = 1.0 - _kappa(given, predicted)
    count = n_rows * among_sure * math.exp(_CORRECTION[0] + _CORRECTION[1] * by_far + _CORRECTION[2] * doubt)
    count = min(count, _OF_OUTVOTED * float(outvoted.sum()))
    others = math.log((float(outvoted.sum()) + 0.5) / count)
    chance = _SAMPLING / math.sqrt(count + 1.0)
    below = min(-_LEAST, _LOW[0] + _LOW[1] * doubt) - chance
    unexplained = min(max(_EXPLAINED - others, 0.0), 1.0)
    above = max(_LEAST, _HIGH[0] + _HIGH[1] * doubt + _HIGH[2] * others) + chance
    high = min(count * math.exp(above), float(n_rows))
    fewest, most = _least_disagreement(surest_first)
    count = min(count, most)
    if doubt > 1.0 - _HARDLY:
        return ErrorCount(count, 0.0, high, upper_bound_only=True)
    return ErrorCount(count, min(unexplained * count * math.exp(below), fewest), high)


def _least_disagreement(surest_first: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Return how many labels would be wrong at least and at most, if all rows were like the part that disagrees least.

    Wrong labels that lie anywhere are as frequent in each part of the rows; disagreement for other reasons is rarer
    among the surest. Limits of Clopper and Pearson.
    """
    n_rows = len(surest_first)
    sizes = np.unique([max(math.ceil(part * n_rows), min(_FEWEST, n_rows)) for part in _PARTS])
    hits = np.cumsum(surest_first)[sizes - 1]
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), sizes - hits + 1, _TAIL), 0.0)
    high = np.where(hits < sizes, betaincinv(hits + 1, np.maximum(sizes - hits, 1), 1.0 - _TAIL), 1.0)
    return n_rows * float(low.min()), n_rows * float(high.min())


def error_chances(own: FloatArray, rival: FloatArray, count: float) -> FloatArray:
    """Return how likely each label is to be wrong, if this many are, by shares of the votes as in `count_errors`."""
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
