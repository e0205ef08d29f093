"""Soft label and regression, unweighted, from scores to values; see `pivotal.kernels.ordered_values`."""

from __future__ import annotations

from pivotal.core.types import AnyArray, CodeArray, FloatArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.averages import regression_values, soft_values
from pivotal.kernels.ordered_values import List, finish
from pivotal.kernels.radix import Scores, Sorter, SortWords, order_row


@kernel
def soft_orders(
    scores: Scores,
    words: SortWords,
    sorter: Sorter,
    targets: CodeArray,
    room: List,
    nearest: AnyArray,
    rows: FloatArray,
    empty: FloatArray,
    k: int,
    by_size: bool,
    shares: FloatArray,
    sizes: FloatArray,
) -> None:
    """Fill rows[q, i] with the soft-label value of point i for query q.

    Parameters
    ----------
    scores, words, sorter : as in `pivotal.kernels.radix.order_rows`
    targets : int32 array of shape (n_queries,)
        True label of each query.
    room : List
        Scratch.
    nearest : array of shape (n_queries, n_seen)
        Output: labels of the nearest points.
    rows : float64 array of shape (n_queries, n_train)
        Output, overwritten.
    empty, k, by_size, shares, sizes : as in `pivotal.kernels.averages.soft_values`
    """
    for q in range(rows.shape[0]):
        order_row(q, scores, words, sorter, room.labels[0], room.indices[0])
        labels, right, target = room.labels[0], room.right[0], targets[q]
        for c in range(labels.shape[0]):
            right[c] = labels[c] == target
        soft_values(room.right, empty[q : q + 1], k, by_size, shares, sizes, room.values)
        finish(q, room, nearest, rows)


@kernel
def regression_orders(
    scores: Scores,
    words: SortWords,
    sorter: Sorter,
    targets: FloatArray,
    room: List,
    nearest: AnyArray,
    rows: FloatArray,
    empty: FloatArray,
    k: int,
    push: FloatArray,
    sizes: FloatArray,
) -> None:
    """Fill rows[q, i] with the regression value of point i for query q; parameters as in `soft_orders`."""
    for q in range(rows.shape[0]):
        order_row(q, scores, words, sorter, room.labels[0], room.indices[0])
        labels, residuals, target = room.labels[0], room.residuals[0], targets[q]
        for c in range(labels.shape[0]):
            residuals[c] = labels[c] - target
        regression_values(room.residuals, empty[q : q + 1], k, push, sizes, room.values)
        finish(q, room, nearest, rows)
