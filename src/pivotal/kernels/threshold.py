"""Threshold neighbours: every point within a radius of the query votes, unweighted.

Only the N points in the ball play, and those with the right label are all alike, as are the others. Joining s others
of whom R are right, a right point lifts their share R/s to (R+1)/(s+1), by (1 - R/s)/(s+1), and a wrong one lowers it
by (R/s)/(s+1); R/s is on average the share of the right among all N-1 others. With r right points in the ball,

    a right point is worth     alone[N] (1 - empty)  +  share[N] (N - r)
    a wrong point is worth    -alone[N]  empty       -  share[N]  r

    alone[N] = joined(N - 1, 0)                                  no other joined
    share[N] = sum of joined(N - 1, s) / (s + 1), s >= 1, over N - 1

The sum needs no loop over s for each N: the chance of exactly one of m, added up over m < N, is N times as large. Both
tables are filled once, by adding up positive numbers, whatever the queries are.
"""

from __future__ import annotations

from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.draws import add_exactly

__all__ = ["count_right", "fill_share", "value_balls"]


@kernel
def fill_share(only_one: FloatArray, share: FloatArray) -> None:
    """Fill share[N] with the sum of only_one[m] over m < N, over N (N - 1); zero for N < 2.

    Parameters
    ----------
    only_one : float64 array of shape (n + 1,)
        Chance that exactly one of m others joined.
    share : float64 array of shape (n + 1,)
        Output, overwritten.
    """
    share[: min(2, share.shape[0])] = 0.0
    total, rest = 0.0, 0.0
    for n in range(2, share.shape[0]):
        total, rest = add_exactly(total, rest, only_one[n - 1])
        share[n] = (total + rest) / n / (n - 1.0)


@kernel
def count_right(
    starts: IndexArray, members: IndexArray, labels: CodeArray, targets: CodeArray, n_right: IndexArray
) -> None:
    """Fill `n_right` with how many members of each query's ball have its label.

    Parameters
    ----------
    starts : int64 array of shape (n_queries + 1,)
        The ball of query q is members[starts[q] : starts[q + 1]].
    members : int64 array
        Training points.
    labels, targets : int32 arrays of shape (n_train,) and (n_queries,)
        Classes of the training points and of the queries.
    n_right : int64 array of shape (n_queries,)
        Output, overwritten.
    """
    for q in range(targets.shape[0]):
        n_right[q] = 0
        for i in range(starts[q], starts[q + 1]):
            if labels[members[i]] == targets[q]:
                n_right[q] += 1


@kernel
def value_balls(
    starts: IndexArray,
    members: IndexArray,
    labels: CodeArray,
    targets: CodeArray,
    n_right: IndexArray,
    empty: FloatArray,
    weights: FloatArray,
    alone: FloatArray,
    share: FloatArray,
    places: IndexArray,
    values: FloatArray,
) -> None:
    """Add to `values` what each member of a ball is worth, times what its query weighs.

    Parameters
    ----------
    starts, members, labels, targets, n_right : as in `count_right`
    empty : float64 array of shape (n_queries,)
        Utility of the empty coalition.
    weights : float64 array of shape (n_queries,)
        How much each query counts.
    alone, share : float64 arrays, longer than the largest ball
        See the top of this file.
    places : int64 array of the shape of `members`
        Where the value of each of them is in `values`.
    values : float64 array
        Updated.
    """
    for q in range(targets.shape[0]):
        size = starts[q + 1] - starts[q]
        if_right = weights[q] * (alone[size] * (1.0 - empty[q]) + share[size] * (size - n_right[q]))
        if_wrong = -weights[q] * (alone[size] * empty[q] + share[size] * n_right[q])
        for i in range(starts[q], starts[q + 1]):
            values[places[i]] += if_right if labels[members[i]] == targets[q] else if_wrong
