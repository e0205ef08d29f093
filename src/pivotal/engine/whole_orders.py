"""Games that need whole orders: scores, order and values in one go.

Lists of all points would be arrays of shape (queries, points). Here some queries at a time go through

    scores  ->  order  ->  labels, nearest first  ->  values  ->  a row of values, in the order of the points

in memory that is used again for the next ones. A thread takes a few queries from their scores to their rows; where
points must be prepared for every product, the scores of many queries are made first, by all threads. When they have
filled some rows, they add them to the sums, query after query, each thread a slice of the points. Every sum is made of
the same additions in the same order as `Engine.count` makes them, so results are the same to the last bit, whatever the
number of threads and the size of blocks.

Unweighted games go through one kernel, query by query. Where votes depend on distances, or the values of single
queries are kept, the lists of a few queries are laid out between the steps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from pivotal.core.progress import tqdm
from pivotal.core.threads import Threads, count_threads, single_threaded_blas, slices
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.engine.exact import Engine, SolvedRows
from pivotal.engine.solver import Block, Ordering, Solver
from pivotal.engine.totals import Utilities
from pivotal.engine.truncation import NeighborVotes
from pivotal.neighbors import Index, Orders, blocks, orders_of
from pivotal.results.per_query import QueryRows

__all__ = ["WholeOrders"]

# Scores that a thread makes at once, and all threads where points are prepared anew each time.
_ENTRIES_AT_ONCE = 2**19
_ENTRIES_PREPARED_AGAIN = 2**24
# Queries that a thread takes at once, at most; and a multiple of this many, as products are made of so many.
_TASK_QUERIES = 480
_QUERIES_MULTIPLIED = 4
# Bytes of rows that wait to be added: they stay in the cache that threads share.
_ROWS_BYTES = 2**23
# Entries of a block of queries, which counts whole or not at all.
_BLOCK_ENTRIES = 2**27

_ALONE = Threads(1)

Queries = Callable[[slice], tuple[Any, IndexArray]]


def within(block: slice, size: int) -> Iterator[slice]:
    """Cut a block into slices of this many, the last of fewer."""
    for part in blocks(block.stop - block.start, size):
        yield slice(block.start + part.start, block.start + part.stop)


class _Room(NamedTuple):
    """Memory of one thread."""

    score_scratch: Any
    """None where scores are made by all threads together."""
    sorter: Any
    lists: Any
    scratch: tuple[Any, ...]


class _Work(NamedTuple):
    """Memory of all threads together, of each of them, and the threads."""

    rows: FloatArray
    score_scratch: Any
    """None where every thread makes scores of its own."""
    rooms: list[_Room]
    threads: Threads
    at_once: int
    """Queries of a task, at most."""


class _Batch(NamedTuple):
    """What is to be counted; as in `WholeOrders.count`."""

    queries: Queries
    targets: AnyArray
    weights: FloatArray | None
    first: int = 0
    """Number of the first query, for messages."""


class _Task(NamedTuple):
    """Some queries, their scores where they are made, and where what is found of them goes."""

    part: slice
    placed: Any
    scores: Any
    rows: FloatArray
    nearest: AnyArray
    votes: CodeArray | None
    kept: dict[int, QueryRows]

    def of(self, part: slice) -> _Task:
        """Some of them."""
        here = slice(self.part.start + part.start, self.part.start + part.stop)
        votes = None if self.votes is None else self.votes[part]
        scores = None if self.scores is None else self.scores.part(part)
        return _Task(here, self.placed.part(part), scores, self.rows[part], self.nearest[part], votes, self.kept)


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
        self._kind = engine.order_labels()[0].dtype
        top_k = engine.game.sees_only_top_k(engine.n_classes)
        # Labels that the utility of the full set is made of: the nearest k, or all where third classes are absent.
        self._sees = min(engine.k, solver.n) if top_k else solver.n
        plain = not engine.weighted and engine.recorder is None
        self._one_by_one = plain and engine.one_label and solver.solves_orders and solver.n == engine.n_players
        self._voting = threading.Lock()  # weights may be a function of the user's

    @staticmethod
    def of(engine: Any, index: Index, voters: NeighborVotes, n_jobs: int | None) -> WholeOrders | None:
        """Return what counts queries of this engine and index, or None if they do not call for it."""
        if not isinstance(engine, Engine) or (solver := engine.whole_solver()) is None:
            return None
        orders = orders_of(index, *engine.order_labels(), distances=engine.weighted)
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
        batch = _Batch(queries, targets, weights)
        with (
            self._working(min(block_size, len(targets))) as work,
            tqdm(total=len(targets), unit="query", disable=not progress, desc=self._engine.title) as bar,
        ):
            for block in blocks(len(targets), block_size):
                self._count_block(batch, block, work)
                bar.update(block.stop - block.start)

    def solved(self, queries: Queries, targets: AnyArray, first: int = 0) -> SolvedRows:
        """Solve some queries without counting them, as `Engine.solved` does; parameters as in `count`.

        The first of them has the number `first` among all, which messages about weights of the user's name.
        """
        rows = np.empty((len(targets), len(self._engine.labels)))

        def keep(filled: FloatArray, part: slice) -> None:
            rows[part] = filled

        with self._working(len(targets)) as work:
            known, _ = self._solve(_Batch(queries, targets, None, first), slice(0, len(targets)), work, keep)
        return SolvedRows(rows, known, self._engine.precision())

    @contextmanager
    def _working(self, n_queries: int) -> Iterator[_Work]:
        """Threads, and memory for as many of some queries as are worth having at once."""
        n_train, n_threads = len(self._engine.labels), self._n_threads
        n_rows = max(n_threads, min(n_queries, _ROWS_BYTES // (8 * n_train)))
        at_once = max(1, min(_TASK_QUERIES, _ENTRIES_AT_ONCE // n_train, -(-n_rows // n_threads)))
        if at_once > _QUERIES_MULTIPLIED:
            at_once = at_once // _QUERIES_MULTIPLIED * _QUERIES_MULTIPLIED
        n_rows = max(1, n_rows // (at_once * n_threads)) * at_once * n_threads  # no thread waits for others
        together, alone = None, at_once
        if self._orders.prepares_again:
            n_scored = min(n_queries, _ENTRIES_PREPARED_AGAIN // n_train)
            together, alone = self._orders.scratch(max(1, n_scored // n_rows) * n_rows, n_threads), 0
        rooms = [self._room(at_once, alone) for _ in range(n_threads)]
        with single_threaded_blas(), Threads(n_threads) as threads:
            yield _Work(np.empty((min(n_rows, n_queries), n_train)), together, rooms, threads, at_once)

    def _count_block(self, batch: _Batch, block: slice, work: _Work) -> None:
        from pivotal.kernels.accumulate import add_rows

        points, totals = self._engine.sums()

        def add_filled(filled: FloatArray, queries: slice) -> None:
            weights = None if batch.weights is None else batch.weights[queries]
            if weights is not None:
                filled *= weights[:, np.newaxis]
            heavy = points.ready(len(filled), weights)

            def add(part: slice) -> None:
                add_rows(filled, part.start, part.stop, heavy, points.sums)

            work.threads.run(add, slices(points.n_points, points.n_points, self._n_threads))

        known, kept = self._solve(batch, block, work, add_filled)
        totals = totals.add(known, None if batch.weights is None else batch.weights[block])
        self._engine.hold(points, totals, kept)

    def _solve(
        self, batch: _Batch, block: slice, work: _Work, take: Callable[[FloatArray, slice], None]
    ) -> tuple[Utilities, list[QueryRows]]:
        """Hand out rows of values of a block of queries as they are filled; return what else is known of them."""
        shape = block.stop - block.start, self._sees
        nearest, votes = np.empty(shape, self._kind), None
        if self._engine.weighted:
            votes = np.empty(shape, np.int32)
        kept: dict[int, QueryRows] = {}
        for part, placed, scores in self._scored(batch, block, work):
            filled, done = work.rows[: len(placed.own)], slice(part.start - block.start, part.stop - block.start)
            found = nearest[done], None if votes is None else votes[done], kept
            self._fill(_Task(part, placed, scores, filled, *found), batch, work)
            take(filled, part)
        known = self._engine.utilities(Block(nearest, votes, batch.targets[block]), self._solver.n)
        return known, [kept[start] for start in sorted(kept)]

    def _scored(self, batch: _Batch, block: slice, work: _Work) -> Iterator[tuple[slice, Any, Any]]:
        """Yield as many queries as rows wait to be added: placed, and scored if all threads do that together."""
        n_rows, scratch = len(work.rows), work.score_scratch
        n_scored = n_rows if scratch is None else len(scratch.made)
        for part in within(block, max(1, self._orders.placed_at_once // n_scored) * n_scored):
            placed = self._orders.place(*batch.queries(part))
            for some in within(part, n_scored):
                here = placed.part(slice(some.start - part.start, some.stop - part.start))
                scores = None if scratch is None else self._orders.scores(here, scratch, work.threads)
                for few in within(some, n_rows):
                    own = slice(few.start - some.start, few.stop - some.start)
                    yield few, here.part(own), None if scores is None else scores.part(own)

    def _fill(self, task: _Task, batch: _Batch, work: _Work) -> None:
        """Fill rows with the values of some queries, and `nearest` with the labels that decide a vote."""
        idle = list(work.rooms)  # a thread takes one while it works

        def fill(part: slice) -> None:
            room = idle.pop()
            try:
                mine = task.of(part)
                if mine.scores is None:
                    mine = mine._replace(scores=self._orders.scores(mine.placed, room.score_scratch, _ALONE))
                if self._one_by_one:
                    how = mine.scores, self._orders.words, room.sorter, batch.targets[mine.part], room.lists
                    self._solver.solve_orders(Ordering(*how, mine.nearest, mine.rows), room.scratch)
                else:
                    self._solve_lists(batch, mine, room)
            finally:
                idle.append(room)

        work.threads.run(fill, slices(len(task.rows), work.at_once, self._n_threads))

    def _solve_lists(self, batch: _Batch, task: _Task, room: _Room) -> None:
        """Fill the rows of some queries by way of their lists."""
        from pivotal.kernels.accumulate import scatter_rows
        from pivotal.kernels.radix import order_rows

        targets, depth = batch.targets[task.part], self._solver.n
        count = len(targets)
        labels, indices, values = (array[:count] for array in room.lists)
        order_rows(task.scores, self._orders.words, room.sorter, labels, indices)
        votes = None
        if task.votes is not None:
            distances = np.take_along_axis(task.scores.known, indices, axis=1)
            distances *= self._orders.unit
            with self._voting:
                votes = self._voters.votes(distances, depth, batch.first + task.part.start)
            assert votes is not None
            votes = np.ascontiguousarray(votes)
            task.votes[...] = votes[:, : self._sees]
        if depth < labels.shape[1]:  # lists that a tolerance cuts short: the same as a search would find
            labels, indices = np.ascontiguousarray(labels[:, :depth]), np.ascontiguousarray(indices[:, :depth])
        self._engine.solve_block(Block(labels, votes, targets), self._solver, room.scratch, values)
        if self._engine.recorder is not None:
            task.kept[task.part.start] = self._engine.recorder.record(indices.astype(np.int64), values, targets)
        scatter_rows(indices, values, task.rows)
        task.nearest[...] = labels[:, : self._sees]

    def _room(self, n_queries: int, n_scored: int) -> _Room:
        from pivotal.kernels.ordered_values import make_list
        from pivotal.kernels.radix import make_sorter

        n_players, kind = self._engine.n_players, self._kind
        lists: Any = make_list(n_players, kind)
        if not self._one_by_one:
            shape = n_queries, n_players
            lists = np.empty(shape, kind), np.empty(shape, np.int32), np.empty((n_queries, self._solver.n))
        scores = self._orders.scratch(n_scored, 1) if n_scored else None
        return _Room(scores, make_sorter(len(self._engine.labels)), lists, self._solver.scratch())
