"""Integrating over p: the weighted games are solved for one p at a time.

The value of a point is a polynomial in p, so some rule is exact; far fewer nodes suffice. Panels shrink towards
p = 0, where the far ranks live:

    0 .. h .. 4h ...... 1/16 ............ 1/4 ........................................ 1        h about 8k / n

and at node p only the ranks that a coalition drawn with p can reach take part.

The error of a rule is certified, not estimated. By the push-out identity a value is a combination, with
coefficients no larger than the range of the utility, of the functions `sizes` (s < k) and `push` (m > k) of p.
Their integrals are known in closed form, so the sum of |rule - integral| over these functions bounds the error of
every value of every game.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import betaln, roots_jacobi

from pivotal.core.binomials import binomial_sizes
from pivotal.core.frozen import freeze_arrays
from pivotal.core.semivalues import Banzhaf, BetaShapley, Measure, Semivalue
from pivotal.core.types import FloatArray, IndexArray

__all__ = ["Quadrature", "quadrature"]

_NODES_PER_PANEL = (12, 16, 24, 32, 48, 64, 96, 128)
_GOOD_ENOUGH = 4e-15  # below this, rounding in the certificate itself dominates


@dataclass(frozen=True)
class Quadrature:
    """A rule for the integral over p.

    Attributes
    ----------
    nodes, weights : float64 arrays of shape (n_nodes,)
        The probabilities at which a game is solved, and how much each counts.
    ranks : int64 array of shape (n_nodes,)
        How many of the nearest points take part at each node.
    error : float
        Bound on the error of any value, in units of the range of the utility.
    """

    nodes: FloatArray
    weights: FloatArray
    ranks: IndexArray
    error: float


@dataclass(frozen=True)
class _Known:
    """A semivalue that can be integrated, told from others by what its rule depends on.

    Not by its own idea of equality, which a class of the user's may define by a name, or not at all.
    """

    kind: type
    parameters: tuple[Any, ...]
    semivalue: Measure | BetaShapley = field(compare=False)


def quadrature(semivalue: Semivalue, k: int, n: int, tol: float = 0.0) -> Quadrature:
    """Return a rule whose certified error is at most `tol`, or else as good as double precision allows.

    Parameters
    ----------
    semivalue : Semivalue
        The measure over p.
    k : int
        Number of neighbours that vote.
    n : int
        Number of points in the game.
    tol : float, default=0.0
        Error that is good enough, in units of the range of the utility.
    """
    if isinstance(semivalue, Measure):
        parameters: tuple[Any, ...] = (tuple(semivalue.nodes), tuple(semivalue.weights))
    elif isinstance(semivalue, BetaShapley):
        parameters = (semivalue.alpha, semivalue.beta)
    else:
        raise TypeError(
            f"weighted games need a semivalue whose integral over p is known; got {semivalue!r}. "
            "Use Banzhaf, Shapley, BetaShapley, LeaveOneOut or a Measure of nodes and weights."
        )
    return _rule(_Known(type(semivalue), parameters, semivalue), k, n, tol)


@lru_cache(maxsize=64)
def _rule(known: _Known, k: int, n: int, tol: float) -> Quadrature:
    semivalue = known.semivalue
    if isinstance(semivalue, Measure):
        return _with_ranks(np.array(semivalue.nodes), np.array(semivalue.weights), k, n, 0.0)
    best: Quadrature | None = None
    for count in _NODES_PER_PANEL:
        nodes, weights = _beta_rule(semivalue, k, n, count)
        rule = _with_ranks(nodes, weights, k, n, _certificate(semivalue, nodes, weights, k, n))
        if best is None or rule.error < best.error:
            best = rule
        if rule.error <= max(tol, _GOOD_ENOUGH):
            break
    assert best is not None
    return best


def _with_ranks(nodes: FloatArray, weights: FloatArray, k: int, n: int, error: float) -> Quadrature:
    """Let each node see only the ranks within its reach, and add what that costs to the error."""
    ranks = np.array([_ranks_within_reach(p, k, n) for p in nodes], dtype=np.int64)
    for p, weight, rank in zip(nodes, weights, ranks, strict=True):
        if rank < n:
            # Twice for the points that stay, once for those that are dropped, once for the certificate's own cut.
            error += 4.0 * weight * math.fsum(binomial_sizes(k, int(rank), p))
    order = np.argsort(-ranks, kind="stable")  # the largest game first: scratch memory is touched once
    rule = Quadrature(nodes[order], weights[order], ranks[order], float(error))
    freeze_arrays(rule)  # many callers share it
    return rule


def _ranks_within_reach(p: float, k: int, n: int) -> int:
    """Ranks to keep at p so that what is dropped has a reach below 1e-19 or so."""
    return n if p <= 0.0 else int(min(float(n), math.ceil((k + 40.0 + 6.0 * math.sqrt(k)) / p)))


def _certificate(semivalue: BetaShapley, nodes: FloatArray, weights: FloatArray, k: int, n: int) -> float:
    """Sum of |rule - integral| over the functions of which every value is a combination."""
    push = -semivalue.push(k, n)
    sizes = -semivalue.sizes(k, n)
    for p, weight in zip(nodes, weights, strict=True):
        reached = _ranks_within_reach(p, k, n)
        push[: reached + 1] += weight * Banzhaf(p).push(k, reached)
        if reached == n:
            sizes += weight * binomial_sizes(k, n, p)
    return math.fsum(np.abs(push)) + math.fsum(np.abs(sizes))


def _beta_rule(semivalue: BetaShapley, k: int, n: int, count: int) -> tuple[FloatArray, FloatArray]:
    """Gauss rules for p ~ Beta(beta, alpha): Jacobi where the density has a singular end, Legendre elsewhere."""
    # Long panels with many nodes are the cheapest, but Gauss-Jacobi weights lose digits as their number grows.
    singular = _singular_part(semivalue.alpha) != 0.0 or _singular_part(semivalue.beta) != 0.0
    shrink, smallest = (2.0, 0.25 * k / n) if singular else (4.0, 8.0 * k / n)
    edges = [1.0]
    # A game of few points is a polynomial that one panel integrates exactly.
    if 2 * count < n:
        while edges[-1] > smallest:
            edges.append(edges[-1] / shrink)
    edges.append(0.0)
    panels = [_panel(semivalue, low, high, count) for high, low in pairwise(edges)]
    nodes = np.concatenate([panel[0] for panel in panels])
    weights = np.concatenate([panel[1] for panel in panels])
    return nodes, weights


def _panel(semivalue: BetaShapley, low: float, high: float, count: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on [low, high] for the density p^(beta-1) (1-p)^(alpha-1) / B(beta, alpha)."""
    at_zero = _singular_part(semivalue.beta - 1.0) if low == 0.0 else 0.0
    at_one = _singular_part(semivalue.alpha - 1.0) if high == 1.0 else 0.0
    x, w = roots_jacobi(count, at_one, at_zero)
    half = (high - low) / 2.0
    p = low + half * (1.0 + x)
    absent = (1.0 - high) + half * (1.0 - x)  # 1 - p without cancellation at p near 1
    log_density = (semivalue.beta - 1.0 - at_zero) * np.log(p) + (semivalue.alpha - 1.0 - at_one) * np.log(absent)
    log_scale = (1.0 + at_zero + at_one) * math.log(half) - float(betaln(semivalue.beta, semivalue.alpha))
    return p, w * np.exp(log_density + log_scale)


def _singular_part(exponent: float) -> float:
    """The part of an exponent that is no polynomial: Jacobi's weight takes it, the rest is smooth."""
    return exponent if exponent < 0.0 else exponent - math.floor(exponent)
