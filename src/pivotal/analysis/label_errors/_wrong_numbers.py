"""Wrong numbers: targets of a regression that are too far from what all others make of them.

Voters predict each number without having seen it, in two rounds, the second of which pays less heed to numbers that the
first could not explain. How far off a right number may be differs from row to row, and is itself predicted. A number is
then either right, and as far off as a Student t distribution of that width has it, or wrong, and anywhere. The score is
the chance that it is right, if both were as likely beforehand; how many are wrong is estimated from all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, SupportsIndex

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from pivotal.analysis.label_errors._blend import mixture_weights
from pivotal.analysis.label_errors._counts import ErrorCount, chances_that_sum
from pivotal.analysis.label_errors._errors import LabelErrors
from pivotal.analysis.label_errors._model import ask_model_for_numbers
from pivotal.analysis.label_errors._request import Request
from pivotal.analysis.label_errors._ridge import LeaveOneOutRidge
from pivotal.core.games import Regression
from pivotal.core.types import FloatArray

_FAR: Final = 4.0  # numbers farther than this many spreads from the median are taken for that far
_UNEXPLAINED: Final = 3.0  # in the second round, the same about what the first predicted
_SMALL: Final = 0.1  # share of the usual error below which errors are equally small
_RIGHT: Final = 5.0  # degrees of freedom of right numbers
_WRONG: Final = (3.0, 1.5)  # degrees of freedom of wrong ones, and their spread, times that of all
_OF_VOTERS: Final = 3.0  # degrees of freedom by which voters are weighed
_ROUNDS: Final = 100
_PRIOR: Final = (0.5, 20.0)  # rows that speak for few wrong ones
# Numbers count that are off by more than three times the usual error: smaller errors cannot be told from it. On a log
# scale, nineteen in twenty of 102 tasks with wrong numbers planted had no more of those than this above the estimate.
# Columns have far-off numbers of their own, which nothing tells from wrong ones, so the interval starts at 0.
_HIGH: Final = 1.5
_WHAT: Final = "wrong or rare, off by more than three times the usual error"


@dataclass(frozen=True, eq=False, repr=False)
class NumberErrors(LabelErrors):
    """Rows whose number is in doubt, and why. Made by `find_label_errors`; all arrays are read-only.

    What is said of labels in `LabelErrors` is said of numbers here. `scores` are chances that a number is right, if
    beforehand right and wrong were as likely; `rivals` holds what the others make of each number, and `suggested` that
    number where the given one is rather wrong than right; `confidence` is the chance that this is so. `n_wrong` counts
    numbers that are off by more than about three times the usual error: smaller ones cannot be told. They may be rare
    rather than wrong, so its interval starts at 0.

    Parameters
    ----------
    scale : float64 array of shape (n_rows,)
        How far off a right number of such a row is, as a standard deviation.
    """

    scale: FloatArray

    def explain(self, row: SupportsIndex) -> str:
        """Say in a sentence what speaks for or against the number of a row.

        Parameters
        ----------
        row : int
            Position of the row, suspect or not.
        """
        i = self._position(row)
        near = self.given[self.nearest[i]]
        lie = f"{near.min():.6g} to {near.max():.6g}"
        others = f"its nearest neighbour has {near[0]:.6g}" if len(near) == 1 else f"its {len(near)} nearest have {lie}"
        expected = f"{self.rivals[i]:.6g} is expected, give or take {self.scale[i]:.3g}"
        return f"row {self.ids[i]} has {self.given[i]:.6g}; {expected}; {others}; {self._harm(i)}"

    def confusion(self) -> pd.DataFrame:
        """Raise: there are no classes."""
        raise ValueError("numbers are not taken for each other as classes are; use to_frame, or by_group.")

    def by_class(self) -> pd.DataFrame:
        """Raise: there are no classes."""
        raise ValueError("numbers have no classes; use by_group with custom groups, such as annotators.")

    def _chances(self, count: float) -> FloatArray:
        tiny = np.finfo(np.float64).tiny
        return chances_that_sum(-logit(np.clip(self.scores, tiny, 1.0 - 1e-16)), count)


def find_wrong_numbers(request: Request, y: FloatArray) -> NumberErrors:
    """Find rows whose number is in doubt."""
    middle, overall_scale = float(np.median(y)), robust_scale(y)
    clipped = np.clip(y, middle - _FAR * overall_scale, middle + _FAR * overall_scale)
    voted = np.column_stack([clipped, np.ones(len(y))])
    near, verdict = request.ask_nearest(y, voted, Regression(empty=float(clipped.mean())))
    predicted, scale, weights = _predict(request, y, voted, near.votes)
    log_right, log_wrong = _likelihoods(y - predicted, scale, (y - middle) / overall_scale, overall_scale)
    doubt = log_wrong - log_right
    chances = _chances_of_error(doubt)
    scores: FloatArray = expit(-doubt)
    probable = chances >= request.odds * (1.0 - chances)
    if (y == np.floor(y)).all():
        predicted = np.round(predicted)  # counts are suggested as counts
    count = float(chances.sum())
    return NumberErrors(
        **request.judged(near, scores, probable),
        given=y.copy(),
        suggested=np.where(chances > 0.5, predicted, y),
        confidence=np.maximum(chances, 1.0 - chances),
        settings=request.settings("regression", weights, **verdict),
        support=scores,
        rival_support=1.0 - scores,
        rivals=predicted,
        estimate=ErrorCount(count, 0.0, min(count * math.exp(_HIGH), float(len(y))), what=_WHAT),
        scale=scale,
    )


def robust_scale(numbers: FloatArray) -> float:
    """Return a standard deviation that a few wrong numbers do not move; 1 where all are the same."""
    apart = np.abs(numbers - np.median(numbers))
    return 1.4826 * float(np.median(apart)) or 1.2533 * float(apart.mean()) or 1.0


def _predict(
    request: Request, y: FloatArray, voted: FloatArray, nearest: FloatArray
) -> tuple[FloatArray, FloatArray, dict[str, float]]:
    """Return what the others make of each number, how far off is usual for such a row, and the voters' weights."""
    clipped = np.ascontiguousarray(voted[:, 0])
    said: dict[str, FloatArray] = {}
    if "neighbors" in request.voters:
        said["neighbors"] = nearest[:, 0] / nearest[:, 1]
    leaves, importance, _ = request.ask_leaves(clipped, voted)
    if leaves is not None:
        said["forest"] = leaves[:, 0] / leaves[:, 1]
    regressions = request.regressions(importance, clipped[:, np.newaxis])
    if request.model is not None:
        how: dict[str, Any] = {"seed": request.seed, "progress": request.resources.progress}
        said["model"] = ask_model_for_numbers(request.model, request.X, clipped, **how)
    for name, regression in regressions.items():
        first = regression.predict(clipped[:, np.newaxis])[:, 0]
        reach = _UNEXPLAINED * robust_scale(y - first)
        heeded = np.clip(y, first - reach, first + reach)
        said[name] = regression.predict(heeded[:, np.newaxis])[:, 0]
    predicted, weights = _blend(said, y)
    return predicted, _usual_error(y - predicted, regressions), weights


def _blend(said: dict[str, FloatArray], y: FloatArray) -> tuple[FloatArray, dict[str, float]]:
    """Return the mean of all voters, weighed by how likely they make the numbers, and the weights."""
    from scipy.stats import t as student  # here, as it takes long to be loaded

    likely = []
    for each in said.values():
        usual = robust_scale(y - each)
        likely.append(student.pdf((y - each) / usual, _OF_VOTERS) / usual)
    weights = mixture_weights(np.maximum(np.column_stack(likely), 1e-300))
    predicted: FloatArray = np.column_stack(list(said.values())) @ weights
    return predicted, {name: float(weight) for name, weight in zip(said, weights, strict=True)}


def _usual_error(left: FloatArray, regressions: dict[str, LeaveOneOutRidge]) -> FloatArray:
    """Return how far off a right number is, as a standard deviation, from how far off those of similar rows are."""
    usual = robust_scale(left)
    name = next((name for name in ("laplace", "rbf", "linear") if name in regressions), None)
    if name is None:
        return np.full(len(left), usual)
    size = np.log(np.minimum(np.abs(left), _UNEXPLAINED * usual) + _SMALL * usual)
    local = np.exp(regressions[name].predict(size[:, np.newaxis])[:, 0])
    return local * (1.4826 * float(np.median(np.abs(left) / local)) or 1.0)


def _likelihoods(
    left: FloatArray, scale: FloatArray, apart: FloatArray, overall_scale: float
) -> tuple[FloatArray, FloatArray]:
    """Return how likely each number is if it is right, and if it is wrong; logarithms."""
    from scipy.stats import t as student

    width = scale * 0.6745 / float(student.ppf(0.75, _RIGHT))  # half of the right ones are as near as scale says
    right = student.logpdf(left / width, _RIGHT) - np.log(width)
    degrees, times = _WRONG
    wrong = student.logpdf(apart / times, degrees) - math.log(times * overall_scale)
    return right, wrong


def _chances_of_error(doubt: FloatArray) -> FloatArray:
    """Return how likely each number is wrong, given how many are, by expectation maximisation."""
    share = 0.05
    for _ in range(_ROUNDS):
        chances = expit(doubt + math.log(share / (1.0 - share)))
        fresh = (float(chances.sum()) + _PRIOR[0]) / (len(doubt) + _PRIOR[1])
        if abs(fresh - share) < 1e-9:
            break
        share = min(max(fresh, 1e-12), 1.0 - 1e-12)
    result: FloatArray = chances
    return result
