"""From scores to values, query after query: the order of all points and what it is worth stay in the cache of one core.

Kernels of a game (`ordered_averages`, `ordered_hard`, `ordered_plurality`) take the queries of `Scores` one at a time:
all points in order (`pivotal.kernels.radix`), the closed form of the game, and the values back in the order of the
points. Memory is one list, whatever the number of queries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pivotal.core.types import AnyArray, FloatArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.radix import SortWords, WordArray, clear, list_labels, scatter_words


class List(NamedTuple):
    """Room for one list of all points."""

    labels: AnyArray
    """Shape (1, n_players)."""
    values: FloatArray
    """Shape (1, n_players)."""
    right: npt.NDArray[np.bool_]
    """Shape (1, n_players)."""
    residuals: FloatArray
    """Shape (1, n_players)."""


def make_list(n_players: int, kind: npt.DTypeLike) -> List:
    """Room for lists of this many points; what a game does not touch takes no memory."""
    shape = 1, n_players
    return List(
        labels=np.empty(shape, kind),
        values=np.empty(shape),
        right=np.empty(shape, np.bool_),
        residuals=np.empty(shape),
    )


@kernel
def finish(made: WordArray, words: SortWords, room: List, nearest: AnyArray, row: FloatArray) -> None:
    """Keep the labels that the utility of all is made of, and put the values in the order of the points."""
    list_labels(made[: nearest.shape[0]], words, nearest)
    clear(row)
    scatter_words(made, words, room.values[0], row)
