"""The plurality vote, unweighted, from scores to values; see `pivotal.kernels.ordered_values`."""

from __future__ import annotations

from pivotal.core.types import AnyArray, CodeArray, FloatArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.ordered_values import List, finish
from pivotal.kernels.plurality import PluralityScratch, plurality_values
from pivotal.kernels.radix import Scores, Sorter, SortWords, list_labels, order_words


@kernel
def plurality_orders(
    scores: Scores,
    words: SortWords,
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
    ballots: PluralityScratch,
) -> None:
    """Fill rows[q, i] with the value of point i in the plurality vote of query q.

    Parameters
    ----------
    scores, words, sorter, targets, room, nearest, rows : as in `pivotal.kernels.ordered_averages.soft_orders`
    k, push, sizes, slot_of_class, slots, ballots : as in `pivotal.kernels.plurality.plurality_values`
    """
    for q in range(rows.shape[0]):
        made, _ = order_words(q, scores, words, sorter)
        list_labels(made, words, room.labels[0])
        plurality_values(room.labels, targets[q : q + 1], k, push, sizes, slot_of_class, slots, ballots, room.values)
        finish(made, words, room, nearest[q], rows[q])
