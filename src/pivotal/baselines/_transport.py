"""Optimal transport between two sets of points, and the slopes of its cost.

The dual potentials f of the sources say how fast the cost grows with their masses: moving mass from k to i changes it
at the rate f_i - f_k. Where one set is a multiple of the other in size, the plan falls apart into groups that exchange
nothing, and the cost has kinks: one slope for moving mass there and another for moving it back. Solvers return any
potentials in between. Here each difference f_i - f_k is read as the mean of its two slopes, and f_i as the mean of that
over all k. These potentials are optimal as well, and depend neither on the solver nor on the order of the points.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csgraph, csr_matrix
from scipy.special import logsumexp

from pivotal.core.extras import needed
from pivotal.core.types import AnyArray, FloatArray

Masses: TypeAlias = tuple[FloatArray, FloatArray]
"""Of the sources and of the targets, with the same sum."""

_MOST_STEPS = 10**9  # of the network simplex, which ends by itself
_NOTHING = 1e-12  # flows below this share of the whole mass are rounding
_TOLERANCE = 1e-7  # how far Sinkhorn's masses may be off, of 1 in all


def solver() -> Any:
    """Return POT, which solves the transport problems."""
    with needed("LAVA needs POT", "lava"):
        import ot
    return ot


def equal_masses(n_sources: int, n_targets: int) -> Masses:
    """Return masses of points that all count the same.

    They are integers, so that what does not flow is exactly zero.
    """
    common = math.gcd(n_sources, n_targets)
    return np.full(n_sources, n_targets // common, float), np.full(n_targets, n_sources // common, float)


def transport_cost(cost: FloatArray, regularization: float, max_iter: int) -> float:
    """Return what it costs to move sources onto targets, all of one mass each, per unit of mass."""
    masses = equal_masses(*cost.shape)
    smooth = regularization > 0.0
    plan, _ = _solve_smooth(cost, masses, regularization, max_iter) if smooth else _solve(cost, masses)
    return float((plan * cost).sum() / plan.sum())


def target_potentials(cost: FloatArray, masses: Masses, regularization: float, max_iter: int) -> FloatArray:
    """Return the dual potentials of the targets, shape (n_targets,); `extend` turns them into those of the sources.

    Costs, of shape (n_sources, n_targets), are finite and none is negative; masses are positive, with the same sum. The
    regularisation is the weight of the plan's entropy, in units of the cost; at 0 the problem is solved exactly.
    """
    if regularization > 0.0:
        return _solve_smooth(cost, masses, regularization, max_iter)[1]
    plan, potentials = _solve(cost, masses)
    return potentials + _centre(cost, plan, potentials, masses[0])


def extend(cost: FloatArray, potentials: FloatArray, regularization: float) -> FloatArray:
    """Return the potentials of sources, shape (n_sources,), from those of the targets.

    The sources need not be among those that the problem was solved for.
    """
    if regularization == 0.0:
        return np.asarray((cost - potentials).min(axis=1))
    return np.asarray(-regularization * logsumexp((potentials - cost) / regularization, axis=1))


def _solve(cost: FloatArray, masses: Masses) -> tuple[FloatArray, FloatArray]:
    """Return an optimal plan and some potentials of the targets."""
    # The largest cost becomes about 1, which is what the solver's thresholds are made for.
    unit = math.ldexp(1.0, math.frexp(float(cost.max()))[1])
    plan, log = solver().emd(*masses, cost / unit, numItermax=_MOST_STEPS, log=True)
    return plan, log["v"] * unit


def _solve_smooth(
    cost: FloatArray, masses: Masses, regularization: float, max_iter: int
) -> tuple[FloatArray, FloatArray]:
    """Return the plan and the potentials of the targets with an entropy beside the cost."""
    from sklearn.exceptions import ConvergenceWarning

    with np.errstate(over="ignore"):  # POT also returns the exponentials, which are not needed
        plan, log = solver().sinkhorn(
            *(mass / mass.sum() for mass in masses),
            cost,
            regularization,
            method="sinkhorn_log",
            numItermax=max_iter,
            stopThr=_TOLERANCE,
            log=True,
            warn=False,
        )
    if not log["err"][-1] <= 100 * _TOLERANCE:
        warnings.warn(
            f"the masses are still off by {log['err'][-1]:.1g} after {max_iter} rounds of Sinkhorn's algorithm; raise "
            "regularization or max_iter.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return plan, log["log_v"] * regularization


def _centre(cost: FloatArray, plan: FloatArray, potentials: FloatArray, mass: FloatArray) -> FloatArray:
    """Return what to add to the potentials of the targets to get to the middle of all optimal ones."""
    n_sources, n_targets = cost.shape
    source, target = (plan > _NOTHING * mass.sum()).nonzero()
    exchange = csr_matrix((np.ones(source.size), (source, target + n_sources)), shape=(n_sources + n_targets,) * 2)
    n_groups, group = csgraph.connected_components(exchange, directed=False)
    if n_groups == 1:
        return np.zeros(n_targets)
    of_sources, of_targets = group[:n_sources], group[n_sources:]
    # Potentials may move together within a group: room[a, b] is how far those of group a can rise against group b.
    slack = cost - extend(cost, potentials, 0.0)[:, np.newaxis] - potentials
    room = _minimum_in_groups(_minimum_in_groups(slack, of_sources).T, of_targets).T
    np.fill_diagonal(room, 0.0)
    # Shorter ways through other groups count as well; rounding must not make a way shorter than nothing.
    room = csgraph.floyd_warshall(csgraph.csgraph_from_dense(np.maximum(room, 0.0), null_value=np.inf))
    share = np.bincount(of_sources, weights=mass) / mass.sum()
    # Mean over the others of the middle between rising as far as possible and falling as far as possible.
    rise = 0.5 * (room - room.T) @ share
    return np.asarray(-rise[of_targets])


def _minimum_in_groups(table: FloatArray, group: AnyArray) -> FloatArray:
    """Return the least entry of each column among the rows of each group."""
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(group.max() + 1))
    return np.asarray(np.minimum.reduceat(table[order], starts, axis=0))
