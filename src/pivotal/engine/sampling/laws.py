"""What is drawn: a semivalue as a measure to draw p from, or as weights of the places in a permutation."""

from __future__ import annotations

import numpy as np

from pivotal.core.semivalues import BetaShapley, Measure, Semivalue
from pivotal.core.types import FloatArray
from pivotal.kernels.sample_arrays import Law

_NONE = np.empty(0)


def check_drawable(semivalue: Semivalue, method: str) -> None:
    """Raise unless p can be drawn, where coalitions are to be sampled."""
    if method == "coalitions" and not isinstance(semivalue, Measure | BetaShapley):
        raise TypeError(
            f"coalitions are drawn from a semivalue whose p can be drawn; got {semivalue!r}. "
            'Use Banzhaf, Shapley, BetaShapley, LeaveOneOut, a Measure of nodes and weights, or method="permutations".'
        )


def is_certain(semivalue: Semivalue, method: str) -> bool:
    """Whether there is only one coalition to draw, so that one sample says it all."""
    if method != "coalitions" or not isinstance(semivalue, Measure):
        return False
    drawn = {p for p, weight in zip(semivalue.nodes, semivalue.weights, strict=True) if weight > 0.0}
    return drawn in ({0.0}, {1.0})


def law_of(semivalue: Semivalue, method: str, n: int) -> Law:
    """Return how samples are drawn for lists of n neighbours."""
    if method == "permutations":
        return Law(True, _NONE, _NONE, 1.0, 1.0, place_weights(semivalue, n))
    if isinstance(semivalue, BetaShapley):
        return Law(False, _NONE, _NONE, float(semivalue.alpha), float(semivalue.beta), _NONE)
    assert isinstance(semivalue, Measure)
    weights = np.array(semivalue.weights)
    nodes = np.array(semivalue.nodes)[weights > 0.0]
    with np.errstate(divide="ignore"):  # p = 1: all join
        absence = np.log1p(-nodes)
    return Law(False, absence, np.cumsum(weights[weights > 0.0]), 1.0, 1.0, _NONE)


def place_weights(semivalue: Semivalue, n: int) -> FloatArray:
    """What a point's contribution counts when s of the n - 1 others come before it: n times the chance of that size.

    In a permutation every number of points before i is equally likely, as in the Shapley value, whose weights are 1.
    The paper's weights of the Banzhaf value, n C(n-1, s) / 2^(n-1), are n! times too large as printed.

    Examples
    --------
    >>> from pivotal import Banzhaf, Shapley
    >>> place_weights(Banzhaf(), 3), place_weights(Shapley(), 3)
    (array([0.75, 1.5 , 0.75]), array([1., 1., 1.]))
    """
    s = np.arange(n - 1, dtype=np.float64)
    # The step from s to s + 1; sums of logarithms stay in range where products of binomials do not.
    steps = np.log((n - 1.0 - s) / (s + 1.0))
    if isinstance(semivalue, BetaShapley):
        odds = (semivalue.beta + s) / (semivalue.alpha + n - 2.0 - s)
        return _normalized(steps + np.log(odds))
    if not isinstance(semivalue, Measure):
        return n * semivalue.sizes(n, n)
    total = np.zeros(n)
    for p, weight in zip(semivalue.nodes, semivalue.weights, strict=True):
        if p in (0.0, 1.0):
            total[0 if p == 0.0 else n - 1] += weight * n
        else:
            total += weight * _normalized(steps + (np.log(p) - np.log1p(-p)))
    return total


def typical_square(law: Law) -> float:
    """Return the mean square of the weight of a contribution, over the coalitions that the semivalue draws."""
    return float((law.weights**3).mean()) if law.permute else 1.0  # their mean is 1


def _normalized(steps: FloatArray) -> FloatArray:
    """Weights whose logarithms rise by these steps and whose mean is 1."""
    logs = np.concatenate(([0.0], np.cumsum(steps)))
    weights: FloatArray = np.exp(logs - logs.max())
    weights *= len(weights) / weights.sum()
    return weights
