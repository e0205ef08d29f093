"""From scores to values, query after query: the order of all points and what it is worth stay in the cache of one core.

Each kernel takes the queries of `Scores` one at a time: all points in order (`pivotal.kernels.radix`), the closed form
of a game, and the values back in the order of the points. Memory is one list, whatever the number of queries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.accumulate import scatter_row
from pivotal.kernels.averages import regression_values, soft_values
from pivotal.kernels.hard import hard_values
from pivotal.kernels.many_classes import Span
from pivotal.kernels.plurality import Ballots, plurality_values
from pivotal.kernels.radix import Scores, Sorter, Words, order_row


class List(NamedTuple):
    """Room for one list of all points."""

    labels: AnyArray
    """Shape (1, n_players)."""
    indices: CodeArray
    """Shape (1, n_players)."""
    values: FloatArray
    """Shape (1, n_players)."""
    right: npt.NDArray[np.bool_]
    """Shape (1, n_players)."""
    residuals: FloatArray
    """Shape (1, n_players)."""


def make_list(n_players: int, kind: npt.DTypeLike) -> List:
    """Room for lists of so many points; what a game does not touch takes no memory."""
    shape = 1, n_players
    return List(
        labels=np.empty(shape, kind),
        indices=np.empty(shape, np.int32),
        values=np.empty(shape),
        right=np.empty(shape, np.bool_),
        residuals=np.empty(shape),
    )


@kernel
def finish(q: int, room: List, nearest: AnyArray, rows: FloatArray) -> None:
    """Keep the labels that the utility of all is made of, and put the values in the order of the points."""
    for c in range(nearest.shape[1]):
        nearest[q, c] = room.labels[0, c]
    scatter_row(room.indices[0], room.values[0], rows[q])


@kernel
def soft_orders(
    scores: Scores,
    words: Words,
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
        Output: labels of the nearest so many points.
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
    words: Words,
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


@kernel
def hard_orders(
    scores: Scores,
    words: Words,
    sorter: Sorter,
    targets: CodeArray,
    room: List,
    nearest: AnyArray,
    rows: FloatArray,
    n_classes: int,
    k: int,
    threshold: int,
    absent: bool,
    scale: float,
    push: FloatArray,
    sizes: FloatArray,
    slot_of_class: CodeArray,
    votes: CodeArray,
    counts: IndexArray,
    sums: FloatArray,
    span: Span,
    values: FloatArray,
) -> None:
    """Fill rows[q, i] with the hard-label value of point i for query q.

    Parameters
    ----------
    scores, words, sorter, targets, room, nearest, rows : as in `soft_orders`
    n_classes, k, threshold, absent, scale, push, sizes, slot_of_class, votes, counts, sums, span, values
        As in `pivotal.kernels.hard.hard_values`.
    """
    for q in range(rows.shape[0]):
        order_row(q, scores, words, sorter, room.labels[0], room.indices[0])
        hard_values(
            room.labels,
            targets[q : q + 1],
            n_classes,
            k,
            threshold,
            absent,
            scale,
            push,
            sizes,
            slot_of_class,
            votes,
            counts,
            sums,
            span,
            values,
            room.values,
        )
        finish(q, room, nearest, rows)


@kernel
def plurality_orders(
    scores: Scores,
    words: Words,
    sorter: Sorter,
    targets: CodeArray,
    room: List,
    nearest: AnyArray,
    rows: FloatArray,
    k: int,
    push: FloatArray,
    sizes: FloatArray,
    slot_of_class: CodeArray,
    slots: CodeArray,
    ballots: Ballots,
) -> None:
    """Fill rows[q, i] with the value of point i in the plurality vote of query q.

    Parameters
    ----------
    scores, words, sorter, targets, room, nearest, rows : as in `soft_orders`
    k, push, sizes, slot_of_class, slots, ballots : as in `pivotal.kernels.plurality.plurality_values`
    """
    for q in range(rows.shape[0]):
        order_row(q, scores, words, sorter, room.labels[0], room.indices[0])
        plurality_values(room.labels, targets[q : q + 1], k, push, sizes, slot_of_class, slots, ballots, room.values)
        finish(q, room, nearest, rows)
