"""How many wrong labels are left, how sure that is, and when to stop.

Every suspect has odds, by its score: what speaks against its label over what speaks for it. How often labels with such
odds are wrong is a logistic regression on the decisions so far. Its prior is what was seen in reviews of other tables:
how far tables differ from each other is how wide it is (`benchmarks/stopping.py --fit` finds it, `docs/stopping.md`
tests it on tables that had no part in it). That the chance follows the odds in this way is an assumption, which is
wrong first where few wrong labels are left. So the interval also holds what the decisions nearest by their odds allow,
with no model but that these rows are alike (beta-binomial). Rows that are no suspects are judged by the random ones
among them that were looked at, and by nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.stats import beta, betabinom

from pivotal.core.types import FloatArray

LATEST: Final = 20  # decisions whose precision is shown
_ALIKE: Final = 20  # decided suspects, nearest by their odds, that tell of those left without the regression
_FEW_WRONG: Final = 0.2  # a precision below this means that most suspects are right by now
_FLOOR: Final = 0.02  # shares of votes below this say no more than this
_MIDDLE: Final = 1.5  # log odds at which the intercept is taken
_PRIOR_MEAN: Final = np.array([1.92, 3.42])
_PRIOR_COVARIANCE: Final = np.array([[5.17, 2.06], [2.06, 2.33]])
_BINS: Final = 40  # of the odds
_DRAWS: Final = np.random.default_rng(0).standard_normal((2000, 3))
_MANY: Final = 2000  # suspects from which on the share among them is that of all alike


@dataclass(frozen=True)
class ErrorsLeft:
    """Wrong labels that are left, with a 95 % interval."""

    count: float
    low: float
    high: float


def log_odds(scores: FloatArray) -> FloatArray:
    """Return the logarithm of what speaks against a label over what speaks for it, from its score."""
    odds: FloatArray = np.log((1.0 - scores + _FLOOR) / (scores + _FLOOR))
    return odds


def estimate_left(
    odds: FloatArray, seen_odds: FloatArray, seen_wrong: FloatArray, n_others: int, sample: tuple[int, int]
) -> tuple[ErrorsLeft, ErrorsLeft | None]:
    """Estimate the wrong labels among the suspects that are left, and among the rows that are no suspects.

    Of the former, `odds` are log odds; `seen_odds` are those of the suspects that were decided, and `seen_wrong` says
    whether their label was wrong, 0 or 1. Of the latter, `n_others` were not looked at; `sample` has how many random
    ones were, and how many of these were wrong. The second estimate is None before any random row was looked at.
    """
    center, covariance = logistic_fit(seen_odds, seen_wrong, _PRIOR_MEAN, _PRIOR_COVARIANCE)
    count, low, high = _predict(odds, center, covariance)
    if len(odds) and len(seen_odds) >= _ALIKE:
        fewest, most = _by_those_alike(odds, seen_odds, seen_wrong)
        low, high = min(low, fewest), max(high, most)
    suspects = ErrorsLeft(count, low, high)
    looked_at, wrong = sample
    if looked_at == 0:
        return suspects, None
    belief = beta(wrong + 0.5, looked_at - wrong + 0.5)
    least, largest = (0.0 if wrong == 0 else belief.ppf(0.025)), (1.0 if wrong == looked_at else belief.ppf(0.975))
    return suspects, ErrorsLeft(n_others * wrong / looked_at, n_others * float(least), n_others * float(largest))


def _predict(odds: FloatArray, center: FloatArray, covariance: FloatArray) -> tuple[float, float, float]:
    """Return how many of some suspects are wrong, and the 95 % interval, over what the regression may be.

    Chances near 0 and 1 bend the law of the sum, so that it is drawn, always from the same numbers: regressions, and
    for each a number of wrong labels about its mean. Suspects of much the same odds are counted together.
    """
    if not len(odds):
        return 0.0, 0.0, 0.0
    counts, edges = np.histogram(odds, _BINS)
    there = counts > 0
    middles = 0.5 * (edges[:-1] + edges[1:])[there]
    regressions = center + _DRAWS[:, :2] @ np.linalg.cholesky(covariance).T
    chances = _logistic(regressions @ _design(middles).T)
    means, variances = chances @ counts[there], (chances * (1.0 - chances)) @ counts[there]
    low, high = np.quantile(means + np.sqrt(variances) * _DRAWS[:, 2], [0.025, 0.975])
    return float(means.mean()), max(0.0, float(low)), min(float(len(odds)), float(high))


def _by_those_alike(odds: FloatArray, seen_odds: FloatArray, seen_wrong: FloatArray) -> tuple[float, float]:
    """Return the 95 % interval of a beta-binomial law: of the suspects left, as many are wrong as of those alike."""
    alike = np.argsort(np.abs(seen_odds - np.median(odds)), kind="stable")[:_ALIKE]
    wrong = float(seen_wrong[alike].sum())
    parameters = wrong + 0.5, len(alike) - wrong + 0.5
    n_left = len(odds)
    law, scale = (beta(*parameters), n_left) if n_left > _MANY else (betabinom(n_left, *parameters), 1)
    return scale * float(law.ppf(0.025)), scale * float(law.ppf(0.975))


def together(suspects: ErrorsLeft, others: ErrorsLeft | None) -> ErrorsLeft:
    """Return the sum of both; each side of the interval from the squares of the two sides."""
    if others is None:
        return suspects
    count = suspects.count + others.count
    below = math.hypot(suspects.count - suspects.low, others.count - others.low)
    above = math.hypot(suspects.high - suspects.count, others.high - others.count)
    return ErrorsLeft(count, max(0.0, count - below), count + above)


def suggest_stop(n_suspects: int, latest: tuple[int, int], n_sampled: int) -> str:
    """Say why it is time to stop, or nothing.

    By the suspects that are left, how many of the latest decisions there are and how many of them found a wrong label,
    and the random rows that were looked at.
    """
    decided, wrong = latest
    check = " Look at some random rows to learn what was missed." if n_sampled == 0 else ""
    if n_suspects == 0:
        return f"No suspect is left.{check}"
    if decided >= LATEST and wrong < _FEW_WRONG * decided:
        found = "none had a wrong label" if wrong == 0 else f"only {wrong} had a wrong label"
        return f"Of the last {decided} suspects {found}: a good place to stop.{check}"
    return ""


def logistic_fit(
    odds: FloatArray, wrong: FloatArray, mean: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Fit the chance to be wrong, 0 or 1, by the log odds, under a normal prior with this mean and covariance.

    Returned are the most probable intercept, at log odds of 1.5, and slope, as an array, and their covariance.
    """
    design = _design(odds)
    prior = np.linalg.inv(covariance)
    center = mean.copy()
    precision = prior
    for _ in range(50):
        chance = _logistic(design @ center)
        gradient = design.T @ (wrong - chance) - prior @ (center - mean)
        precision = prior + (design * (chance * (1.0 - chance))[:, np.newaxis]).T @ design
        step = np.linalg.solve(precision, gradient)
        # Damped, as a full step may overshoot when all decisions are alike.
        center = center + step * min(1.0, 2.0 / (1e-12 + float(np.abs(step).max())))
        if float(np.abs(step).max()) < 1e-9:
            break
    left: FloatArray = np.linalg.inv(precision).astype(np.float64)
    return center, left


def _design(odds: FloatArray) -> FloatArray:
    return np.column_stack([np.ones(len(odds)), odds - _MIDDLE])


def _logistic(x: FloatArray) -> FloatArray:
    result: FloatArray = 0.5 * (1.0 + np.tanh(0.5 * x))
    return result
