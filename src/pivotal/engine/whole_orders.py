"""Games that need whole orders: scores, order and values in one go.

Lists of all points would be arrays of shape (queries, points). Here a thread takes a few queries at a time through

    scores  ->  order  ->  labels, nearest first  ->  values  ->  a row of values, in the order of the points

in memory that it uses again for the next ones and that stays in its cache. When the threads have filled some rows, they
add them to the sums, query after query, each thread a slice of the points. Every sum is made of the same additions in
the same order as `Engine.count` makes them, so results are the same to the last bit, whatever the number of threads and
the size of blocks.

Unweighted games go through one kernel, query by query. Where votes depend on distances, or the values of single
queries are kept, the lists of a few queries are laid out between the steps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pivotal.core.progress import tqdm
from pivotal.core.threads import count_threads, run_all, single_threaded_blas, slices
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.engine.exact import Engine
from pivotal.engine.solver import Block, Ordering, Solver
from pivotal.engine.totals import Utilities
from pivotal.engine.truncation import NeighborVotes
from pivotal.neighbors import Index, Orders, blocks, orders_of
from pivotal.results.per_query import Rows

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

Queries = Callable[[slice], tuple[Any, IndexArray]]


class _Room(NamedTuple):
    """Memory of one thread."""

    sort_scratch: Any
    lists: Any
    scratch: tuple[Any, ...]


class _Task(NamedTuple):
    """Some queries, and where what is found of them goes."""

    part: slice
    rows: FloatArray
    nearest: AnyArray
    votes: CodeArray | None
    kept: dict[int, Rows]


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
    voters : NeighborVotes
        Says how votes follow from distances.
    n_threads : int
        Threads.
    """

    def __init__(self, engine: Engine, solver: Solver, orders: Orders, voters: NeighborVotes, n_threads: int) -> None:
        self._engine, self._solver, self._orders, self._voters = engine, solver, orders, voters
        self._n_threads = n_threads
        top_k = engine.game.sees_only_top_k(engine.n_classes)
        # Labels that the utility of the full set is made of: the nearest k, or all where third classes are absent.
        self._sees = min(engine.k, solver.n) if top_k else solver.n
        plain = not engine.weighted and engine.recorder is None
        self._one_by_one = plain and solver.solves_orders and solver.n == engine.n_players
        # Ranks of single queries are kept as they are, and points of one label may differ in their votes.
        self._all_alike = not plain or engine.game.task == "regression"
        self._voting = threading.Lock()  # weights may be a function of the user's

    @staticmethod
    def of(engine: Any, index: Index, voters: NeighborVotes, n_jobs: int | None) -> WholeOrders | None:
        """Return what counts queries of this engine and index, or None if they do not call for it."""
        if not isinstance(engine, Engine) or (solver := engine.whole_solver()) is None:
            return None
        n_codes = 0 if engine.game.task == "regression" else engine.n_classes
        orders = orders_of(index, engine.labels, n_codes, distances=engine.weighted)
        return None if orders is None else WholeOrders(engine, solver, orders, voters, count_threads(n_jobs))

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
        self._engine.reserve(len(targets))
        if block_size is None:
            # Where the utility needs all labels, a block holds them; and votes that differ take their time.
            small = self._sees >= n_train // 2 or self._engine.weighted
            block_size = max(1, (_ROWS_BYTES // 8 if small else _BLOCK_ENTRIES) // n_train)
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
        from pivotal.kernels.accumulate import add_rows

        points, totals = self._engine.sums()
        shape = block.stop - block.start, self._sees
        nearest, votes = np.empty(shape, self._engine.labels.dtype), None
        if self._engine.weighted:
            votes = np.empty(shape, np.int32)
        kept: dict[int, Rows] = {}
        for start in range(block.start, block.stop, len(rows)):
            stop = min(start + len(rows), block.stop)
            filled = rows[: stop - start]
            done = slice(start - block.start, stop - block.start)
            task = _Task(slice(start, stop), filled, nearest[done], None if votes is None else votes[done], kept)
            self._fill(queries, targets, task, rooms)
            if weights is not None:
                filled *= weights[start:stop, np.newaxis]
            heavy = points.ready(stop - start, None if weights is None else weights[start:stop])

            def add(part: slice, filled: FloatArray = filled, heavy: FloatArray = heavy) -> None:
                add_rows(filled, part.start, part.stop, heavy, points.sums)

            run_all(add, slices(points.n_points, points.n_points, self._n_threads), self._n_threads)
        engine, own = self._engine, targets[block]
        dropped = engine.dropped(np.broadcast_to(nearest[:, :1], (len(own), self._solver.n)), own)
        found = Block(nearest, votes, own)
        known = Utilities.of(engine.game, found, dropped, engine.labels, engine.n_classes, engine.k)
        totals = totals.add(known, None if weights is None else weights[block])
        engine.hold(points, totals, [kept[start] for start in sorted(kept)])

    def _fill(self, queries: Queries, targets: AnyArray, task: _Task, rooms: list[_Room]) -> None:
        """Fill rows with the values of some queries, in threads, and `nearest` with the labels that decide a vote."""
        idle = list(rooms)  # a thread takes one while it works

        def work(part: slice) -> None:
            room = idle.pop()
            try:
                here = slice(task.part.start + part.start, task.part.start + part.stop)
                X, own = queries(here)
                scores = self._orders.scores(X, own, room.sort_scratch, all_alike=self._all_alike)
                mine = _Task(
                    here,
                    task.rows[part],
                    task.nearest[part],
                    None if task.votes is None else task.votes[part],
                    task.kept,
                )
                if self._one_by_one:
                    how = scores, self._orders.words, room.sort_scratch.sorter, targets[here], room.lists
                    self._solver.solve_orders(Ordering(*how, mine.nearest, mine.rows), room.scratch)
                else:
                    self._solve_lists(scores, targets[here], mine, room)
            finally:
                idle.append(room)

        n_queries = task.part.stop - task.part.start
        run_all(work, slices(n_queries, len(rooms[0].sort_scratch.products), self._n_threads), self._n_threads)

    def _solve_lists(self, scores: Any, targets: AnyArray, task: _Task, room: _Room) -> None:
        """Fill the rows of some queries by way of their lists."""
        from pivotal.kernels.accumulate import scatter_rows
        from pivotal.kernels.radix import order_rows

        count, depth = len(targets), self._solver.n
        labels, indices, values = (array[:count] for array in room.lists)
        order_rows(scores, self._orders.words, room.sort_scratch.sorter, labels, indices)
        votes = None
        if task.votes is not None:
            distances = np.take_along_axis(scores.known, indices, axis=1)
            distances *= self._orders.unit
            with self._voting:
                votes = self._voters.votes(distances, depth, task.part.start)
            assert votes is not None
            votes = np.ascontiguousarray(votes)
            task.votes[...] = votes[:, : self._sees]
        if depth < labels.shape[1]:  # lists that a tolerance cuts short: the same as a search would find
            labels, indices = np.ascontiguousarray(labels[:, :depth]), np.ascontiguousarray(indices[:, :depth])
        self._solver.solve(Block(labels, votes, targets), room.scratch, values)
        if self._engine.recorder is not None:
            task.kept[task.part.start] = self._engine.recorder.record(indices.astype(np.int64), values, targets)
        scatter_rows(indices, values, task.rows)
        task.nearest[...] = labels[:, : self._sees]

    def _room(self, n_queries: int) -> _Room:
        from pivotal.kernels.ordered_values import make_list

        n_players, kind = self._engine.n_players, self._engine.labels.dtype
        lists: Any = make_list(n_players, kind)
        if not self._one_by_one:
            shape = n_queries, n_players
            lists = np.empty(shape, kind), np.empty(shape, np.int32), np.empty((n_queries, self._solver.n))
        return _Room(self._orders.scratch(n_queries), lists, self._solver.scratch())


def _queries_at_once(n_train: int) -> int:
    """How many queries a thread takes at once."""
    most = min(_QUERIES_AT_ONCE, max(_ENTRIES_AT_ONCE // n_train, min(_PIECES[0], _MOST_ENTRIES // n_train), 1))
    piece = next(piece for piece in _PIECES if piece <= most)
    return most // piece * piece
