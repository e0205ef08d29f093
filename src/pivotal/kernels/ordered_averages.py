"""Soft label and regression, unweighted, from scores to values; see `pivotal.kernels.ordered_values`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pivotal.core.types import AnyArray, CodeArray, FloatArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.averages import regression_values, small_soft, soft_stretch, start_of_stretch
from pivotal.kernels.ordered_values import List, finish
from pivotal.kernels.radix import (
    Scores,
    Sorter,
    SortWords,
    WordArray,
    clear,
    index_of,
    list_labels,
    order_words,
    scatter_words,
)


@kernel
def is_right(made: WordArray, words: SortWords, target: int, right: npt.NDArray[np.uint8]) -> None:
    """Fill `right` with 1 where the point of a word has a label, else with 0."""
    if words.label_bits > 0:
        code, wanted = (np.uint64(1) << np.uint64(words.label_bits)) - np.uint64(1), np.uint64(target)
        for c in range(made.shape[0]):
            right[c] = made[c] & code == wanted
    else:
        for c in range(made.shape[0]):
            right[c] = words.labels[index_of(made[c], words)] == target


@kernel
def soft_words(
    made: WordArray,
    words: SortWords,
    target: int,
    small: tuple[float, float],
    shares: FloatArray,
    room: List,
    row: FloatArray,
) -> None:
    """Fill row[i] with the value of point i; each stretch of the list stays in the first cache until it is done."""
    behind, stop = (0.0, 0.0, 0.0, 0.0), made.shape[0]
    right = room.right[0].view(np.uint8)
    while stop > 0:
        start = start_of_stretch(stop)
        here, flags, values = made[start:stop], right[: stop - start], room.values[0, : stop - start]
        is_right(here, words, target, flags)
        behind = soft_stretch(start, flags, small, shares, behind, values)
        scatter_words(here, words, values, row)
        stop = start


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
        made, _ = order_words(q, scores, words, sorter)
        n_right, own = 0, scores.own[q]
        if by_size:  # otherwise nothing depends on it
            for i in range(words.labels.shape[0]):
                n_right += 1 if words.labels[i] == targets[q] else 0
            if own >= 0:
                n_right -= 1 if words.labels[own] == targets[q] else 0
        small = small_soft(made.shape[0], n_right, empty[q], k, by_size, sizes)
        clear(rows[q])
        soft_words(made, words, targets[q], small, shares, room, rows[q])
        list_labels(made[: nearest.shape[1]], words, nearest[q])


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
        made, _ = order_words(q, scores, words, sorter)
        labels, residuals, target = room.labels[0], room.residuals[0], targets[q]
        list_labels(made, words, labels)
        for c in range(labels.shape[0]):
            residuals[c] = labels[c] - target
        regression_values(room.residuals, empty[q : q + 1], k, push, sizes, room.values)
        finish(made, words, room, nearest[q], rows[q])
