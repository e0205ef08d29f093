"""Games whose utility is an average of the k nearest: soft label and regression, unweighted.

The push-out identity (see `pivotal.kernels.hard`) with the average in place of the vote:

    soft label    v(T + i) - v(T + m) = ([i right] - [m right]) / k
    regression    v(T + i) - v(T + m) = (r_m - r_i) (2 R_T + r_m + r_i) / k^2

where r are residuals to the query's target and R_T is the sum over the k-1 points of T. Its expectation is
(k-1)/(m-2) times the sum over all points nearer than m but i, so three running sums serve all points.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pivotal.core.types import FloatArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.draws import add_exactly

# This many terms are added up before they join a sum that keeps what rounding loses.
PART = 32
# Ranks whose labels and values are in the first cache together.
STRETCH = 32 * PART


def make_shares(push: FloatArray, k: int) -> FloatArray:
    """Return what `soft_values` needs of the chances that ranks are pushed out; the first, of rank 0, is not used."""
    n_ranks = len(push) - 1
    later = np.zeros(-(-n_ranks // PART) * PART)
    later[:n_ranks] = push[1:] / k
    later = np.cumsum(later.reshape(-1, PART)[:, ::-1], axis=1)[:, ::-1]
    within = np.zeros_like(later)
    within[:, :-1] = later[:, 1:]
    return np.stack([push / k, np.concatenate([[0.0], within.ravel()[:n_ranks]])])


@kernel
def small_soft(n: int, n_right: int, empty: float, k: int, by_size: bool, sizes: FloatArray) -> tuple[float, float]:
    """What a right and a wrong one of n points get from coalitions of fewer than k others.

    Parameters as in `soft_values`; `n_right` points are right.
    """
    joined = 0.0  # weights of a share, and of one vote, over the coalitions of 1 to k-1 others
    for s in range(1, min(k, n)):
        joined += sizes[s] / (s + 1.0) if by_size else sizes[s] / k
    right, wrong = sizes[0] * ((1.0 if by_size else 1.0 / k) - empty), -sizes[0] * empty
    if not by_size:
        right += joined
    elif n > 1:
        # A right point lifts a share by (1 - share) / (s + 1), a wrong one lowers it by share / (s + 1).
        right += joined * ((n - n_right) / (n - 1.0))
        wrong -= joined * (n_right / (n - 1.0))
    return right, wrong


@kernel
def soft_values(
    right: npt.NDArray[np.bool_],
    empty: FloatArray,
    k: int,
    by_size: bool,
    shares: FloatArray,
    sizes: FloatArray,
    out: FloatArray,
) -> None:
    """Fill `out` with the soft-label values of each query's neighbours.

    Parameters
    ----------
    right : bool array of shape (n_queries, depth)
        Whether a neighbour has the query's label, nearest first.
    empty : float64 array of shape (n_queries,)
        Utility of the empty coalition.
    k : int
        The nearest k count.
    by_size : bool
        Whether fewer than k members are averaged over their number, or over k all the same.
    shares : float64 array of shape (2, >= depth + 1)
        Chance that rank m is pushed out, over k; and the sum of those of the later ranks of its part of `PART` ranks.
    sizes : float64 array of shape (k,)
        Chance that exactly s others joined.
    out : float64 array of shape (n_queries, depth)
        Output, overwritten.
    """
    n_queries, depth = right.shape
    flags = right.view(np.uint8)  # a number that becomes a float without a branch
    for q in range(n_queries):
        n_right = 0
        for i in range(depth):
            n_right += 1 if flags[q, i] else 0  # not the flag itself: plain Python would add bytes
        soft_row(flags[q], small_soft(depth, n_right, empty[q], k, by_size, sizes), shares, out[q])


@kernel
def soft_row(right: npt.NDArray[np.uint8], small: tuple[float, float], shares: FloatArray, out: FloatArray) -> None:
    """Fill `out` with the values of one list; `small` is what a right and a wrong point get from small coalitions."""
    behind, stop = (0.0, 0.0, 0.0, 0.0), right.shape[0]
    while stop > 0:
        start = start_of_stretch(stop)
        behind = soft_stretch(start, right[start:stop], small, shares, behind, out[start:stop])
        stop = start


@kernel
def start_of_stretch(stop: int) -> int:
    """Where the ranks begin that are taken together with those before `stop`, which are taken already."""
    return max(0, (stop - 1) // STRETCH * STRETCH)


@kernel
def soft_stretch(
    start: int,
    right: npt.NDArray[np.uint8],
    small: tuple[float, float],
    shares: FloatArray,
    behind: tuple[float, float, float, float],
    out: FloatArray,
) -> tuple[float, float, float, float]:
    """Fill `out` with the values of a stretch of a list, which begins at rank `start`.

    A right point gets the shares of the wrong ones behind it, a wrong one loses those of the right ones. Labels come as
    they please, so there is no branch to guess wrong. Shares are added up in parts, and parts join sums that keep what
    rounding loses: what the right ones of a part have is added up, and the rest of the part is the wrong ones'. Such
    sums do not wait for each other, so four parts go at a time, and all else is vector code.

    Parameters
    ----------
    start : int
        As `start_of_stretch` says.
    right : uint8 array
        Whether a point of the stretch is right.
    small : tuple of float
        What a right and a wrong point get from small coalitions.
    shares : as in `soft_values`
    behind : tuple of float
        Shares of the wrong points behind the stretch, what rounding lost of them, and both of the right points.
    out : float64 array
        Output.

    Returns
    -------
    tuple of float
        `behind` of the next stretch, which is nearer.
    """
    count = right.shape[0]
    small_right, small_wrong = small
    sum_right, rest_right, sum_wrong, rest_wrong = behind
    pushes, within = shares[0, start + 1 : start + 1 + count], shares[1, start + 1 : start + 1 + count]
    for i in range(count):
        out[i] = pushes[i] if right[i] else 0.0
    stop = count // PART * PART
    for i in range(count - 1, stop - 1, -1):  # behind the last whole part, at the far end
        own = out[i]
        out[i] = small_right + sum_right if right[i] else small_wrong - sum_wrong
        sum_right, sum_wrong = sum_right + (pushes[i] - own), sum_wrong + own
    while stop > 0:
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        at_once = 4 if stop >= 4 * PART else 1
        if at_once == 4:
            first, second = out[stop - PART : stop], out[stop - 2 * PART : stop - PART]
            third, fourth = out[stop - 3 * PART : stop - 2 * PART], out[stop - 4 * PART : stop - 3 * PART]
            for t in range(PART):
                p = np.uint32(PART - 1 - t)
                first[p], one = one, one + first[p]
                second[p], two = two, two + second[p]
                third[p], three = three, three + third[p]
                fourth[p], four = four, four + fourth[p]
        else:
            for i in range(stop - 1, stop - PART - 1, -1):
                out[i], one = one, one + out[i]
        for _ in range(at_once):
            near = stop - PART
            base_right, base_wrong = sum_right + (rest_right + small_right), sum_wrong + (rest_wrong - small_wrong)
            # As arrays of their own, by which the compiler sees that nothing overlaps.
            values, flags, rest = out[near:stop], right[near:stop], within[near:stop]
            for t in range(PART):
                gained, lost = base_right + (rest[t] - values[t]), base_wrong + values[t]
                values[t] = gained if flags[t] else -lost
            whole = within[near] + pushes[near]
            sum_right, rest_right = add_exactly(sum_right, rest_right, whole - one)
            sum_wrong, rest_wrong = add_exactly(sum_wrong, rest_wrong, one)
            one, two, three, stop = two, three, four, near
    return sum_right, rest_right, sum_wrong, rest_wrong


@kernel
def regression_values(
    residuals: FloatArray, empty: FloatArray, k: int, push: FloatArray, sizes: FloatArray, out: FloatArray
) -> None:
    """Fill `out` with the regression values of each query's neighbours.

    Parameters
    ----------
    residuals : float64 array of shape (n_queries, depth)
        Response of each neighbour minus the query's target, nearest first.
    empty : float64 array of shape (n_queries,)
        Utility of the empty coalition.
    push : float64 array of shape (n + 1,)
        Chance that rank m is pushed out.
    k, sizes, out : as in `soft_values`
    """
    n_queries, n = residuals.shape
    others = max(n - 1.0, 1.0)
    pairs = max(others * (n - 2.0), 1.0)
    # Coalitions of s = 1..k-1 others with sum R, E[R] and E[R^2] known:
    # marginal = R^2 (1/s^2 - 1/(s+1)^2) - 2 R r_i / (s+1)^2 - r_i^2 / (s+1)^2
    on_squares, on_products, on_cross, on_own = 0.0, 0.0, 0.0, 0.0
    for s in range(1, min(k, n)):
        gain = (2.0 * s + 1.0) / (s * s * (s + 1.0) * (s + 1.0))
        weight = sizes[s] / ((s + 1.0) * (s + 1.0))
        on_squares += sizes[s] * gain * s / others
        on_products += sizes[s] * gain * (s * (s - 1.0)) / pairs
        on_cross += weight * s / others
        on_own += weight
    for q in range(n_queries):
        total, squares = 0.0, 0.0
        for i in range(n):
            total += residuals[q, i]
            squares += residuals[q, i] * residuals[q, i]
        nearer = total  # sum over the points nearer than the one pushed out
        constant, constant_rest, linear, linear_rest, square, square_rest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(n - 1, -1, -1):
            r = residuals[q, i]
            pushed = (constant + constant_rest) - r * ((linear + linear_rest) + r * (square + square_rest))
            rest = total - r
            rest_squares = squares - r * r
            small = sizes[0] * (-r * r - empty[q]) - r * (2.0 * on_cross * rest + on_own * r)
            small += on_squares * rest_squares + on_products * (rest * rest - rest_squares)
            out[q, i] = pushed / (k * k) + small
            rank = i + 1
            nearer -= r
            if rank > k:
                # T is k-1 of rank-2 points; with k = 1 it is empty.
                share = 2.0 * (k - 1.0) / (rank - 2.0) if k > 1 else 0.0
                constant, constant_rest = add_exactly(constant, constant_rest, push[rank] * r * (share * nearer + r))
                linear, linear_rest = add_exactly(linear, linear_rest, push[rank] * share * (r + nearer))
                square, square_rest = add_exactly(square, square_rest, push[rank] * (1.0 - share))
