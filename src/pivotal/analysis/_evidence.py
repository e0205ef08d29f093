"""What queries are evidence of: intervals of means over them, and which of many findings survive."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from pivotal.core.types import AnyArray, FloatArray


class Evidence(NamedTuple):
    """Means over queries, and how far they can be trusted."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    p_below: FloatArray
    """Chance of a mean this low where the true one is not below 0."""

    p_above: FloatArray
    """Chance of a mean this high where the true one is not above 0."""


def evidence_of(
    total: FloatArray, squares: FloatArray, matters: AnyArray, n: int, level: float, bound: float = 0.0
) -> Evidence:
    """Return the means of numbers that are 0 for most queries, with intervals over queries like these.

    The self-normalised sum, total / sqrt(squares), is compared with Student's distribution that has one degree of
    freedom less than there are queries that matter. It is never beyond the root of their number, so that a few queries
    that agree are not taken for certainty, as they would be by their small spread.

    Parameters
    ----------
    total, squares : float64 arrays of shape (m,)
        Sums over the queries of the numbers and of their squares.
    matters : int array of shape (m,)
        Queries whose number is not 0.
    n : int
        Queries in all.
    level : float
        Of the intervals.
    bound : float, default=0.0
        How far each mean can be off for other reasons.

    Examples
    --------
    >>> few = evidence_of(np.array([-3.0]), np.array([3.0]), np.array([3]), 100, 0.95)
    >>> many = evidence_of(np.array([-30.0]), np.array([30.0]), np.array([30]), 100, 0.95)
    >>> bool(few.high[0] < 0), bool(many.high[0] < 0)
    (False, True)
    """
    mean, error, freedom = total / n, np.sqrt(squares) / n, np.maximum(matters - 1, 1)
    width = np.where(matters > 1, stats.t.ppf(0.5 + level / 2.0, freedom) * error, np.inf)
    width = np.where(matters == 0, 0.0, width) + bound
    safe = np.where(error > 0.0, error, 1.0)
    below = np.where(matters > 1, stats.t.cdf((mean + bound) / safe, freedom), 1.0)
    above = np.where(matters > 1, stats.t.sf((mean - bound) / safe, freedom), 1.0)
    return Evidence(mean, mean - width, mean + width, below, above)


def rejected(p_values: FloatArray, alpha: float, correction: str) -> AnyArray:
    """Return which hypotheses are rejected.

    Parameters
    ----------
    p_values : float64 array of shape (n,)
        One for each hypothesis.
    alpha : float
        Level.
    correction : {"fdr", "holm", "none"}
        Benjamini and Hochberg's control of the share of false findings, Holm's of any, or none.

    Examples
    --------
    >>> p_values = np.array([0.01, 0.02, 0.04])
    >>> rejected(p_values, 0.05, "fdr").tolist(), rejected(p_values, 0.05, "holm").tolist()
    ([True, True, True], [True, True, True])
    >>> rejected(np.array([0.03, 0.04]), 0.05, "holm").tolist()
    [False, False]
    """
    n = len(p_values)
    order = np.argsort(p_values, kind="stable")
    ranked, chosen = p_values[order], np.zeros(n, dtype=np.bool_)
    if correction == "none":
        return np.asarray(p_values <= alpha)
    if correction == "fdr":
        passing = np.flatnonzero(ranked <= alpha * np.arange(1, n + 1) / max(n, 1))
        last = int(passing[-1]) + 1 if passing.size else 0
    else:
        failing = np.flatnonzero(ranked > alpha / np.arange(n, 0, -1))
        last = int(failing[0]) if failing.size else n
    chosen[order[:last]] = True
    return chosen
