"""Hard votes, unweighted, from scores to values; see `pivotal.kernels.ordered_values`."""

from __future__ import annotations

from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.hard import hard_values
from pivotal.kernels.many_classes import Span
from pivotal.kernels.ordered_values import List, finish
from pivotal.kernels.radix import Scores, Sorter, SortWords, list_labels, order_words


@kernel
def hard_orders(
    scores: Scores,
    words: SortWords,
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
    scores, words, sorter, targets, room, nearest, rows : as in `pivotal.kernels.ordered_averages.soft_orders`
    n_classes, k, threshold, absent, scale, push, sizes, slot_of_class, votes, counts, sums, span, values
        As in `pivotal.kernels.hard.hard_values`.
    """
    for q in range(rows.shape[0]):
        made, _ = order_words(q, scores, words, sorter)
        list_labels(made, words, room.labels[0])
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
        finish(made, words, room, nearest[q], rows[q])
