"""Votes of the nearest rows, and what each row does to the predictions of the others."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from pivotal.core.games import Soft
from pivotal.core.progress import tqdm
from pivotal.core.semivalues import Banzhaf
from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.engine.solvers import Block, Solver, make_solver
from pivotal.neighbors import Index, blocks

__all__ = ["N_SHOWN", "N_SPOILED", "Nearest", "ask_nearest"]

N_SHOWN: Final = 5  # nearest rows remembered
N_SPOILED: Final = 3  # spoiled predictions remembered
# Votes are multiples of this, so that their sums are exact and the same for blocks of any size.
_GRAIN: Final = 2.0**-24


class Nearest(NamedTuple):
    """What the nearest rows say of every row."""

    votes: FloatArray
    """Votes for each class, received and cast; shape (n_rows, n_classes). Every row receives 1 in all."""

    values: FloatArray
    """Soft-label Banzhaf value of each row to the predictions of all others."""

    indices: IndexArray
    """Its nearest rows, nearest first; shape (n_rows, at most N_SHOWN)."""

    spoiled: IndexArray
    """The rows whose prediction it harms most, worst first; shape (n_rows, N_SPOILED), -1 where there are fewer."""


def ask_nearest(
    index: Index, codes: CodeArray, n_classes: int, k: int, *, max_memory: int | None, progress: bool
) -> Nearest:
    """Let every row be a query to all others, in blocks.

    In a random half of the rows, a row's neighbour of rank r is among its k nearest with chance reach(r). So many
    votes it gives the row for its own label; and as many the row casts on the neighbour.

    Parameters
    ----------
    index : Index
        Finds the nearest rows.
    codes : int32 array of shape (n_rows,)
        Class codes of the labels as given.
    n_classes, k : int
        Number of classes, and of neighbours that vote.
    max_memory : int or None
        Bytes for lists of neighbours.
    progress : bool
        Whether to show a progress bar.
    """
    from pivotal.kernels.accumulate import add_queries

    n_rows, measure = len(codes), Banzhaf()
    k = min(k, n_rows - 1)  # more neighbours than there are others say the same
    depth = max(min(N_SHOWN, n_rows - 1), measure.depth(k, _GRAIN / 2, n_rows - 1))
    weights = np.round(measure.reach(k, depth) / _GRAIN) * _GRAIN
    solver = make_solver(Soft(), measure, k, depth, n_classes)
    votes = np.zeros(n_rows * n_classes)
    totals, rests = np.zeros(n_rows), np.zeros(n_rows)
    shown = np.empty((n_rows, min(N_SHOWN, depth)), dtype=np.int64)
    worst = _Worst(n_rows)
    with tqdm(total=n_rows, unit="row", disable=not progress, desc="asking neighbours") as bar:
        for queries in blocks(n_rows, index.block_size(depth, max_memory)):
            # One memory layout, or numba would compile the kernels once more for every other.
            indices = np.ascontiguousarray(index.search_self(queries.start, queries.stop, depth)[0])
            asked = np.arange(queries.start, queries.stop)[:, np.newaxis]
            given = np.broadcast_to(weights, indices.shape).ravel()
            np.add.at(votes, (asked * n_classes + codes[indices]).ravel(), given)
            np.add.at(votes, (indices * n_classes + codes[asked]).ravel(), given)
            values = _values(solver, codes, indices, codes[queries])
            add_queries(indices, values, totals, rests)
            worst.add(indices, np.broadcast_to(asked, indices.shape), values)
            shown[queries] = indices[:, : shown.shape[1]]
            bar.update(queries.stop - queries.start)
    votes /= weights.sum()
    return Nearest(votes.reshape(n_rows, n_classes), (totals + rests) / n_rows, shown, worst.queries)


def _values(solver: Solver, codes: CodeArray, indices: IndexArray, targets: CodeArray) -> FloatArray:
    """Value of each neighbour to its query."""
    values = np.empty(indices.shape)
    solver.solve(Block(codes[indices], None, targets), solver.scratch(), values)
    return values


class _Worst:
    """Remembers, for every row, the queries to which its value is most negative; ties in order of the queries."""

    def __init__(self, n_rows: int) -> None:
        self.queries = np.full((n_rows, N_SPOILED), -1, dtype=np.int64)
        self._values = np.zeros((n_rows, N_SPOILED))

    def add(self, indices: IndexArray, queries: IndexArray, values: FloatArray) -> None:
        harm = values < 0.0
        if not harm.any():
            return
        known = np.unique(indices[harm])
        before = self.queries[known] >= 0
        rows = np.concatenate([indices[harm], np.repeat(known, before.sum(axis=1))])
        asked = np.concatenate([queries[harm], self.queries[known][before]])
        worth = np.concatenate([values[harm], self._values[known][before]])
        order = np.lexsort((asked, worth, rows))
        rows, asked, worth = rows[order], asked[order], worth[order]
        place = np.arange(len(rows)) - np.searchsorted(rows, rows)  # 0 for the worst of each row
        kept = place < N_SPOILED
        self.queries[rows[kept], place[kept]] = asked[kept]
        self._values[rows[kept], place[kept]] = worth[kept]
