"""All coalitions of a few players: numbers whose bit i says whether player i is a member."""

from __future__ import annotations

import numpy as np

from pivotal.core.semivalues import Semivalue
from pivotal.core.types import BoolArray, FloatArray, IndexArray

__all__ = ["coalitions_by_size", "enumerated_values", "joining", "members_of"]


def coalitions_by_size(n: int) -> list[IndexArray]:
    """Return, for each size from 0 to n, the coalitions of that size."""
    masks = np.arange(2**n, dtype=np.int64)
    sizes = np.bitwise_count(masks)
    return [masks[sizes == size] for size in range(n + 1)]


def members_of(masks: IndexArray | int, n: int) -> BoolArray:
    """Return who is in each coalition; shape (..., n)."""
    return (np.asarray(masks)[..., np.newaxis] >> np.arange(n) & 1).astype(np.bool_)


def joining(masks: IndexArray, player: int) -> tuple[IndexArray, IndexArray]:
    """Return those of the coalitions that a player is not in, and what they become when the player joins."""
    without = masks[masks >> player & 1 == 0]
    return without, without | 1 << player


def enumerated_values(utilities: FloatArray, semivalue: Semivalue) -> FloatArray:
    """Return the value of each player by its definition: marginal contributions to all coalitions, weighted by size.

    `utilities` has shape (2^n,): that of every coalition, at the index that is its number.

    Examples
    --------
    >>> from pivotal.core.semivalues import Shapley
    >>> enumerated_values(np.array([0.0, 1.0, 0.0, 3.0]), Shapley())
    array([2., 1.])
    """
    n = len(utilities).bit_length() - 1
    values = np.zeros(n)
    for size, masks in enumerate(coalitions_by_size(n)[:n]):
        weight = semivalue.mass(size, n - 1 - size)
        for player in range(n):
            without, joined = joining(masks, player)
            values[player] += weight * (utilities[joined] - utilities[without]).sum()
    return values
