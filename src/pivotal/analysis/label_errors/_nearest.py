"""Votes of the nearest rows, and what each row does to the predictions of the others."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from pivotal.core.games import Game
from pivotal.core.progress import tqdm
from pivotal.core.semivalues import Banzhaf
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.engine.solver import Block, Solver
from pivotal.engine.solvers import make_solver
from pivotal.neighbors import Index, KeptLists, blocks

N_SHOWN: Final = 5  # nearest rows remembered
N_HARMED: Final = 3  # spoiled predictions remembered
# Votes are multiples of this, so that their sums are exact and the same for blocks of any size.
_GRAIN: Final = 2.0**-24


class Nearest(NamedTuple):
    """What the nearest rows say of every row."""

    votes: FloatArray
    """Sums of what was voted for, received and cast; shape (n_rows, n_columns). Every row receives 1 vote in all."""

    values: FloatArray
    """Banzhaf value of each row to the predictions of all others."""

    indices: IndexArray
    """Its nearest rows, nearest first; shape (n_rows, at most N_SHOWN)."""

    spoiled: IndexArray
    """The rows whose prediction it harms most, worst first; shape (n_rows, N_HARMED), -1 where there are fewer."""


def one_hot(codes: CodeArray, n_classes: int) -> Any:
    """Return what rows vote for: 1 in the column of their class; CSR, of shape (n_rows, n_classes)."""
    n_rows = len(codes)
    return csr_array((np.ones(n_rows), codes, np.arange(n_rows + 1)), shape=(n_rows, n_classes))


def ask_nearest(
    index: Index,
    targets: AnyArray,
    columns: Any,
    game: Game,
    k: int,
    *,
    max_memory: int | None,
    progress: bool,
) -> Nearest:
    """Let every row be a query to all others, in blocks.

    In a random half of the rows, a row's neighbour of rank r is among its k nearest with chance reach(r). This many
    votes it gives the row for its own label; and as many the row casts on the neighbour.

    Parameters
    ----------
    targets : array of shape (n_rows,) or (n_rows, n_labels)
        Class codes, numbers, or 0 and 1 for each of many labels.
    columns : array or CSR matrix of shape (n_rows, n_columns)
        What each row votes for: 1 in the column of its class, say.
    game : Game
        Whose values are computed; with many labels, in the mean over them.
    """
    from pivotal.kernels.accumulate import add_queries

    n_rows, measure = len(targets), Banzhaf()
    k = min(k, n_rows - 1)  # more neighbours than there are others say the same
    depth = max(min(N_SHOWN, n_rows - 1), measure.depth(k, _GRAIN / 2, n_rows - 1))
    weights = np.round(measure.reach(k, depth) / _GRAIN) * _GRAIN
    solver = make_solver(game, measure, k, depth, columns.shape[1] if targets.ndim == 1 else 2)
    votes = np.zeros(columns.shape)
    totals, rests = np.zeros(n_rows), np.zeros(n_rows)
    shown = np.empty((n_rows, min(N_SHOWN, depth)), dtype=np.int64)
    worst = _MostHarmed(n_rows)
    if index.walk is not None:  # lists of rows that are near each other are found together, and kept until then
        index = KeptLists(index, depth)
        index.fill(max_memory, progress=progress)
    with tqdm(total=n_rows, unit="row", disable=not progress, desc="asking neighbours") as bar:
        for queries in blocks(n_rows, index.block_size(depth, max_memory)):
            # One memory layout, or numba would compile the kernels once more for every other.
            indices = np.ascontiguousarray(index.search_self(queries.start, queries.stop, depth)[0])
            ends = np.arange(len(indices) + 1) * depth
            entries = np.broadcast_to(weights, indices.shape).ravel()
            given = csr_array((entries, indices.ravel(), ends), shape=(len(indices), n_rows))  # the neighbours' votes
            _add(given @ columns, votes[queries])
            _add(given.T @ columns[queries], votes)
            values = _values(solver, targets, indices, queries)
            add_queries(indices, values, totals, rests)
            asked = np.arange(queries.start, queries.stop)[:, np.newaxis]
            worst.add(indices, np.broadcast_to(asked, indices.shape), values)
            shown[queries] = indices[:, : shown.shape[1]]
            bar.update(queries.stop - queries.start)
    votes /= weights.sum()
    return Nearest(votes, (totals + rests) / n_rows, shown, worst.queries)


def _add(table: Any, sums: FloatArray) -> None:
    """Add a table, dense or sparse, to sums."""
    if isinstance(table, np.ndarray):
        sums += table
    else:
        entries = table.tocoo()
        sums[entries.row, entries.col] += entries.data


def _values(solver: Solver, targets: AnyArray, indices: IndexArray, queries: slice) -> FloatArray:
    """Value of each neighbour to its query, in the mean over labels."""
    mean, one = np.zeros(indices.shape), np.empty(indices.shape)
    labels = targets if targets.ndim == 2 else targets[:, np.newaxis]
    for column in range(labels.shape[1]):
        known = np.ascontiguousarray(labels[:, column])
        solver.solve(Block(known[indices], None, known[queries]), solver.scratch(), one)
        mean += one
    mean /= labels.shape[1]
    return mean


class _MostHarmed:
    """Remembers, for every row, the queries to which its value is most negative; ties in order of the queries."""

    def __init__(self, n_rows: int) -> None:
        self.queries = np.full((n_rows, N_HARMED), -1, dtype=np.int64)
        self._values = np.zeros((n_rows, N_HARMED))

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
        kept = place < N_HARMED
        self.queries[rows[kept], place[kept]] = asked[kept]
        self._values[rows[kept], place[kept]] = worth[kept]
