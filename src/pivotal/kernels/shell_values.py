"""Values of points of which only the shell is known, in games of two kinds of points, with a bound on their error.

Points are right or wrong. With ranks a+1, ..., a+L in a shell, r of them right and w wrong in an order that is not
known, the push-out identity (see `pivotal.kernels.hard`) is summed as if each of them were pushed out with the mean
chance of the shell, from a coalition of the a points before it:

    sum over wrong m of the shell  push[m] chance[m]   ~   w * mean push * chance at a

docs/theory.md proves the bound that is computed along with it.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pivotal.core.types import FloatArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.draws import add_exactly
from pivotal.kernels.two_classes import chance_of_balance


@kernel
def relative_change(right: int, wrong: int, more_right: int, more_wrong: int, x: int, z: int) -> float:
    """Bound on the relative change of the chance to draw x right and z wrong points when some points join them.

    At most `more_right` right and `more_wrong` wrong ones, any of them. One right point more changes the chance by the
    factor 1 + (x W - z (R + 1)) / ((R + 1 - x) (R + W + 1)); one wrong point more likewise.
    """
    if right < x or wrong < z:
        return np.inf
    both = right + wrong + 1.0
    highest = max(abs(x * wrong - z * (right + more_right + 1.0)), abs(x * (wrong + more_wrong) - z * (right + 1.0)))
    by_right = highest / ((right + 1.0 - x) * both)
    highest = max(abs(z * right - x * (wrong + more_wrong + 1.0)), abs(z * (right + more_right) - x * (wrong + 1.0)))
    by_wrong = highest / ((wrong + 1.0 - z) * both)
    if by_right >= 0.5 or by_wrong >= 0.5:
        return np.inf
    steps = more_right * by_right / (1.0 - by_right) + more_wrong * by_wrong / (1.0 - by_wrong)
    return math.expm1(steps) if steps < 1.0 else np.inf


@kernel
def shell_values(
    counts: npt.NDArray[np.int32],
    k: int,
    balance: int,
    push: FloatArray,
    beyond: FloatArray,
    small_right: float,
    small_wrong: float,
    table: FloatArray,
) -> tuple[float, float, float]:
    """Fill `table` with the value of a wrong and of a right point in each shell but the first.

    Returns what shells 1 and up add to the value of a right and of a wrong point of shell 0, and a bound on the error
    of every value.

    Parameters
    ----------
    counts : int32 array of shape (n_shells, 2)
        Wrong and right points in each shell.
    k, balance : int
        The nearest k count. In a vote, `balance` of k-1 others are right when one more vote decides; -1: what counts
        is the share of right points among the k.
    push : float64 array of shape (>= n + 1,)
        Chance that rank m is pushed out; falling beyond shell 0.
    beyond : float64 array of shape (>= n + 1,)
        Sum of `push` over the ranks after m.
    small_right, small_wrong : float
        What a right and a wrong point get from coalitions of fewer than k others.
    table : float64 array of shape (n_shells, 2)
        Output, overwritten.
    """
    right, wrong = 0, 0
    for b in range(counts.shape[0]):
        wrong += counts[b, 0]
        right += counts[b, 1]
    sum_right, rest_right, sum_wrong, rest_wrong = 0.0, 0.0, 0.0, 0.0
    off_right, off_wrong, bound = 0.0, 0.0, 0.0
    table[0, 0] = 0.0
    table[0, 1] = 0.0
    for b in range(counts.shape[0] - 1, 0, -1):
        w, r = counts[b, 0], counts[b, 1]
        size = float(r + w)
        if size == 0.0:
            continue
        right -= r
        wrong -= w
        before = right + wrong
        mean = (beyond[before] - beyond[before + r + w]) / size
        highest, lowest = push[before + 1], push[before + r + w]
        if balance >= 0:
            gain = chance_of_balance(max(right - 1, 0), wrong, balance, k - 1 - balance)
            loss = chance_of_balance(right, max(wrong - 1, 0), balance, k - 1 - balance)
            # What the order within the shell can change in these chances, by either of two bounds.
            drawn = (k - 1.0) * highest * size * (size + 1.0) / (2.0 * (before - 1.0))
            change = relative_change(max(right - 1, 0), wrong, r, w, balance, k - 1 - balance)
            drawn_gain = min(drawn, size * mean * gain * change) if gain > 0.0 else drawn
            change = relative_change(right, max(wrong - 1, 0), r, w, balance, k - 1 - balance)
            drawn_loss = min(drawn, size * mean * loss * change) if loss > 0.0 else drawn
        else:
            gain, loss, drawn_gain, drawn_loss = 1.0 / k, 1.0 / k, 0.0, 0.0
        uneven = (float(r) * w / size) * (highest - lowest)
        all_gain, all_loss = w * mean * gain, r * mean * loss
        table[b, 1] = sum_right + (rest_right + (0.5 * all_gain + small_right))
        table[b, 0] = -(sum_wrong + (rest_wrong + (0.5 * all_loss - small_wrong)))
        off_right += gain * uneven + drawn_gain
        off_wrong += loss * uneven + drawn_loss
        if r > 0:
            bound = max(bound, off_right + 0.5 * all_gain)
        if w > 0:
            bound = max(bound, off_wrong + 0.5 * all_loss)
        sum_right, rest_right = add_exactly(sum_right, rest_right, all_gain)
        sum_wrong, rest_wrong = add_exactly(sum_wrong, rest_wrong, all_loss)
    return sum_right + rest_right, sum_wrong + rest_wrong, max(bound, off_right, off_wrong)
