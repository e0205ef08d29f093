"""Games that need whole orders, where only sums over the queries are wanted: scores, order and values in one go.

Lists of all points would be arrays of shape (queries, points). Here a thread takes a few queries at a time through

    products  ->  order  ->  labels, nearest first  ->  values  ->  a row of values, in the order of the points

in memory that it uses again for the next ones and that stays in its cache. When the threads have filled some rows, they
add them to the sums, query after query, each thread a slice of the points. Every sum is made of the same additions in
the same order as `Engine.count` makes them, so results are the same to the last bit, whatever the number of threads and
the size of blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pivotal.core.progress import tqdm
from pivotal.core.threads import count_threads, run_all, single_threaded_blas, slices
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.engine.exact import Engine
from pivotal.engine.solvers import Block, Solver
from pivotal.engine.totals import Utilities
from pivotal.neighbors import Index, Orders, blocks, orders_of

__all__ = ["WholeOrders"]

# Entries of the tables of one thread, and the most where queries are few: a product with the points is made of pieces
# of this many queries, and less is a waste.
_ENTRIES_AT_ONCE = 2**19
_MOST_ENTRIES = 2**20
_QUERIES_AT_ONCE = 480
_PIECES = (24, 8, 1)
# Bytes of rows that wait to be added: they stay in the cache that threads share. Entries of a block of queries, which
# counts whole or not at all.
_ROWS_BYTES = 2**24
_BLOCK_ENTRIES = 2**27

Queries = Callable[[slice], tuple[FloatArray, IndexArray]]


class _Room(NamedTuple):
    """Memory of one thread."""

    sort_scratch: Any
    labels: AnyArray
    indices: CodeArray
    values: FloatArray
    scratch: tuple[Any, ...]


class WholeOrders:
    """Counts queries of a game in which every point matters.

    Parameters
    ----------
    engine : Engine
        Holds the sums; its lists are as long as can be.
    solver : Solver
        What it solves whole lists with.
    orders : Orders
        Puts all points in order.
    n_threads : int
        Threads.
    """

    def __init__(self, engine: Engine, solver: Solver, orders: Orders, n_threads: int) -> None:
        self._engine, self._solver, self._orders, self._n_threads = engine, solver, orders, n_threads
        top_k = engine.game.sees_only_top_k(engine.n_classes)
        # Labels that the utility of the full set is made of: the nearest k, or all where third classes are absent.
        self._sees = min(engine.k, solver.n) if top_k else solver.n

    @staticmethod
    def of(engine: Any, index: Index, n_jobs: int | None) -> WholeOrders | None:
        """Return what counts queries of this engine and index, or None if they do not call for it."""
        if not isinstance(engine, Engine) or (solver := engine.whole_solver()) is None:
            return None
        orders = orders_of(index)
        return None if orders is None else WholeOrders(engine, solver, orders, count_threads(n_jobs))

    def count(
        self,
        queries: Queries,
        targets: AnyArray,
        *,
        weights: FloatArray | None = None,
        block_size: int | None = None,
        progress: bool = False,
    ) -> None:
        """Count queries, block by block: one that is interrupted counts whole or not at all.

        Parameters
        ----------
        queries : callable
            Gives the rows of a slice of the queries, in float64, and the point each of them is itself, -1 if none.
        targets : int32 or float64 array of shape (n_queries,)
            True label of each query.
        weights : float64 array of shape (n_queries,), optional
            How much each query counts; 1 each when None.
        block_size : int, optional
            Queries per block.
        progress : bool, default=False
            Whether to show a bar.
        """
        n_train = len(self._engine.labels)
        if block_size is None:
            # Where the utility needs all labels, a block holds them.
            block_size = max(1, (_BLOCK_ENTRIES if self._sees < n_train // 2 else _ROWS_BYTES // 8) // n_train)
        parts = list(blocks(len(targets), block_size))
        n_rows = max(self._n_threads, min(block_size, _ROWS_BYTES // (8 * n_train)))
        at_once = min(_queries_at_once(n_train), -(-n_rows // self._n_threads))
        n_rows = max(1, n_rows // (at_once * self._n_threads)) * at_once * self._n_threads  # no thread waits for others
        rows = np.empty((min(n_rows, len(targets)), n_train))
        rooms = [self._room(at_once) for _ in range(self._n_threads)]
        with (
            single_threaded_blas(),
            tqdm(total=len(targets), unit="query", disable=not progress, desc=self._engine.title) as bar,
        ):
            for block in parts:
                self._count_block(queries, targets, weights, block, rows, rooms)
                bar.update(block.stop - block.start)

    def _count_block(
        self,
        queries: Queries,
        targets: AnyArray,
        weights: FloatArray | None,
        block: slice,
        rows: FloatArray,
        rooms: list[_Room],
    ) -> None:
        from pivotal.kernels.radix import add_rows

        points, totals = self._engine.sums()
        nearest = np.empty((block.stop - block.start, self._sees), self._engine.labels.dtype)
        for start in range(block.start, block.stop, len(rows)):
            stop = min(start + len(rows), block.stop)
            filled = rows[: stop - start]
            self._fill(queries, targets, slice(start, stop), filled, nearest[start - block.start :], rooms)
            if weights is not None:
                filled *= weights[start:stop, np.newaxis]
            heavy = points.ready(stop - start, None if weights is None else weights[start:stop])

            def add(part: slice, filled: FloatArray = filled, heavy: FloatArray = heavy) -> None:
                add_rows(filled, part.start, part.stop, heavy, points.sums)

            run_all(add, slices(points.n_points, points.n_points, self._n_threads), self._n_threads)
        engine, own = self._engine, targets[block]
        dropped = engine.dropped(np.broadcast_to(nearest[:, :1], (len(own), self._solver.n)), own)
        known = Utilities.of(engine.game, Block(nearest, None, own), dropped, engine.labels, engine.n_classes, engine.k)
        totals = totals.add(known, None if weights is None else weights[block])
        nothing = np.empty((0, 0))
        self._engine.set_totals(points, totals, nothing, nothing, own)

    def _fill(
        self,
        queries: Queries,
        targets: AnyArray,
        part: slice,
        rows: FloatArray,
        nearest: AnyArray,
        rooms: list[_Room],
    ) -> None:
        """Fill rows with the values of some queries, in threads, and `nearest` with the labels that decide a vote."""
        from pivotal.kernels.radix import scatter_rows

        engine, solver = self._engine, self._solver
        regression = engine.game.task == "regression"
        idle = list(rooms)  # a thread takes one while it works

        def work(task: slice) -> None:
            room = idle.pop()
            try:
                here = slice(part.start + task.start, part.start + task.stop)
                X, own = queries(here)
                count = len(own)
                labels, indices, values = room.labels[:count], room.indices[:count], room.values[:count]
                self._orders.order(X, own, engine.labels, room.sort_scratch, labels, indices, all_alike=regression)
                if solver.n < labels.shape[1]:  # lists that a tolerance cuts short: the same as a search would find
                    labels = np.ascontiguousarray(labels[:, : solver.n])
                    indices = np.ascontiguousarray(indices[:, : solver.n])
                solver.solve(Block(labels, None, targets[here]), room.scratch, values)
                scatter_rows(indices, values, rows[task])
                nearest[task] = labels[:, : self._sees]
            finally:
                idle.append(room)

        run_all(work, slices(part.stop - part.start, len(rooms[0].labels), self._n_threads), self._n_threads)

    def _room(self, n_queries: int) -> _Room:
        shape = n_queries, self._engine.n_players
        return _Room(
            sort_scratch=self._orders.scratch(n_queries),
            labels=np.empty(shape, self._engine.labels.dtype),
            indices=np.empty(shape, np.int32),
            values=np.empty((n_queries, self._solver.n)),
            scratch=self._solver.scratch(),
        )


def _queries_at_once(n_train: int) -> int:
    """How many queries a thread takes at once."""
    most = min(_QUERIES_AT_ONCE, max(_ENTRIES_AT_ONCE // n_train, min(_PIECES[0], _MOST_ENTRIES // n_train), 1))
    piece = next(piece for piece in _PIECES if piece <= most)
    return most // piece * piece
