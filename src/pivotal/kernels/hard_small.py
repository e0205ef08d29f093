"""Hard votes: the coalitions with fewer than k others, where no point is pushed out."""

from __future__ import annotations

from pivotal.core.types import FloatArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.draws import chance_of_lead


@kernel
def small_coalitions(plus: int, minus: int, zero: int, kind: int, k: int, threshold: int, sizes: FloatArray) -> float:
    """Expected marginal of one point over the coalitions with fewer than k others.

    Parameters
    ----------
    plus, minus, zero : int
        The other points: how many vote right, wrong, or neither.
    kind : int
        How the point itself votes: 1, -1 or 0.
    k, threshold : int
        The vote: the nearest k count, and a lead above the threshold wins.
    sizes : float64 array of shape (k,)
        Chance that exactly s others joined.
    """
    # The empty coalition has utility 0 whatever the threshold says; alone, the point wins when its own vote does.
    total = sizes[0] if kind > threshold else 0.0
    for s in range(1, min(k, plus + minus + zero + 1)):
        if kind > 0:
            total += sizes[s] * chance_of_lead(plus, minus, zero, s, threshold)
        elif kind < 0:
            total -= sizes[s] * chance_of_lead(plus, minus, zero, s, threshold + 1)
    return total
