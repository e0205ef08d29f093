"""From lists of neighbours to the values of the training points: the sum over queries, in threads.

An engine is made for a training set and a game. Blocks of queries go in, in any number; what comes out at any time is
the mean over the queries so far, with a bound on its error.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from pivotal.core.threads import count_threads, run_all, slices
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.engine.game_shape import GameShape, GameSpec
from pivotal.engine.point_sums import PointSums
from pivotal.engine.running_sums import RunningSums, SummingEngine
from pivotal.engine.solver import Block, Solver
from pivotal.engine.solvers import make_solver
from pivotal.engine.totals import QueryTotals, Utilities
from pivotal.engine.truncation import Truncation
from pivotal.results.per_query import PerQueryRecorder, QueryRows
from pivotal.results.values import Values

# Lists of more than this part of all points are cheapest to get by sorting all of them.
_SORTED_ANYWAY = 8


class Solved(NamedTuple):
    """A block of queries with the values of their neighbours: all that the sums need to know of it."""

    indices: IndexArray
    """Training points, nearest first; shape (n_queries, length)."""

    values: FloatArray
    utilities: Utilities

    precision: tuple[int, float]
    """As `Engine.precision`."""


class SolvedRows(NamedTuple):
    """The same where every point has a value: no list of them is needed."""

    rows: FloatArray
    """Values in the order of the training points, shape (n_queries, n_train)."""

    utilities: Utilities
    precision: tuple[int, float]


class Engine(SummingEngine):
    """Adds up the values of the training points over blocks of queries.

    Parameters
    ----------
    spec : Spec
        What is to be computed.
    labels : int32 or float64 array of shape (n_train,)
        Class codes, or responses for regression.
    shape : GameShape
        How many play the game of one query, and how they vote.
    n_jobs : int or None, default=-1
        Threads, as scikit-learn counts them.
    recorder : PerQueryRecorder, optional
        Keeps the values of single queries, where they are asked for.

    Attributes
    ----------
    depth : int
        How long lists should be. Where third classes are omitted from a game that is a start: `suffices` says whether
        they are long enough, and lists twice as long are the next to try.
    n_queries : int
        Queries added so far.
    labels, game, semivalue, k, tol, n_players, n_classes, recorder
        What it was made for.
    weighted : bool
        Whether votes differ.
    one_label : bool
        Whether a point has one label: then `order_labels` are what it votes for.
    """

    one_label = True

    def __init__(
        self,
        spec: GameSpec,
        labels: AnyArray,
        shape: GameShape,
        *,
        n_jobs: int | None = -1,
        recorder: PerQueryRecorder | None = None,
    ) -> None:
        self.labels, self.game, self.semivalue = labels, spec.game, spec.semivalue
        self.k, self.n_classes, self.n_players = spec.k, shape.n_classes, shape.n_players
        self._largest_vote, self.tol, self.recorder = shape.largest_vote, spec.tol, recorder
        self.weighted = shape.largest_vote is not None
        self._lists = Truncation(spec, labels, shape)
        self.depth = self._lists.depth
        self._n_threads = count_threads(n_jobs)
        self._solvers: dict[int, Solver] = {}
        self._scratch: dict[int, list[tuple[Any, ...]]] = {}
        self._remote_precision = 0, 0.0  # the precision of what was solved there
        self._solver_for(self.depth)  # what cannot be solved is said before any search
        self._sums = RunningSums.nothing(labels.shape[0])

    def whole_solver(self) -> Solver | None:
        """Return the solver for lists that take a sort of all points."""
        top_k = self.game.sees_only_top_k(self.n_classes)
        sorts = self.depth == self.n_players or (top_k and self.depth * _SORTED_ANYWAY > self.n_players)
        return self._solver_for(self.depth) if sorts else None

    def order_labels(self) -> tuple[AnyArray, int]:
        """Return labels of the points such that points of one label may change places, and how many codes they are.

        The number is 0 where they are no codes.
        """
        return self.labels, 0 if self.game.task == "regression" else self.n_classes

    def solve_block(self, block: Block, solver: Solver, scratch: tuple[Any, ...], out: FloatArray) -> None:
        """Fill `out` with the values of the points of a block, whose labels are those of `order_labels`."""
        solver.solve(block, scratch, out)

    def utilities(self, block: Block, depth: int) -> Utilities:
        """Return what else is known of queries with whole lists of this length, of which a block holds the first."""
        whole = np.broadcast_to(block.labels[:, :1], (len(block.targets), depth))
        return self._utilities(block, self._lists.dropped(Block(whole, None, block.targets)))

    def sums(self) -> tuple[PointSums, QueryTotals]:
        """Return a copy of the sums so far, and what else was counted."""
        return self._sums.points.copy(), self._sums.totals

    def reserve(self, n_queries: int) -> None:
        """Share out memory for the values of n single queries, where they are asked for."""
        if self.recorder is not None:
            self.recorder.reserve(n_queries, self.depth, self._sums.rows)

    def add(
        self, indices: IndexArray, votes: CodeArray | None, targets: AnyArray, weights: FloatArray | None = None
    ) -> bool:
        """Count some queries; return whether more are wanted, which is always so.

        Lists are `depth` long, or longer where `suffices` wants more; each query counts 1 where there are no weights.
        """
        self.count(self.solved(indices, votes, targets), targets, weights)
        return True

    def solved(self, indices: IndexArray, votes: CodeArray | None, targets: AnyArray) -> Solved:
        """Solve some queries without counting them: the half of `add` that can be done elsewhere."""
        indices = np.ascontiguousarray(indices)
        return self.solved_block(indices, self.block(indices, votes, targets))

    def solved_block(self, indices: IndexArray, block: Block) -> Solved:
        """Do the same where the labels of the neighbours are given, whatever points the engine knows itself."""
        values, dropped = self.solve(block)
        return Solved(indices, values, self._utilities(block, dropped), self.precision())

    def count(self, solved: Solved | SolvedRows, targets: AnyArray, weights: FloatArray | None = None) -> None:
        """Count queries that are solved: the other half of `add`."""
        depth, error = solved.precision
        self._remote_precision = max(depth, self._remote_precision[0]), max(error, self._remote_precision[1])
        if isinstance(solved, SolvedRows):
            self._count_rows(solved, weights)
            return
        # Arrays that were sent may be read-only, for which numba would compile the kernel once more.
        indices = np.require(solved.indices, requirements=["C", "W"])
        values = np.require(solved.values, requirements=["C", "W"])
        rows = self._sums.rows
        if self.recorder is not None:
            rows += (self.recorder.record(indices, values, targets),)
        self._sums = self._sums.plus(indices, values, solved.utilities, weights, rows=rows)

    def _count_rows(self, solved: SolvedRows, weights: FloatArray | None) -> None:
        from pivotal.kernels.accumulate import add_rows

        rows = np.require(solved.rows, requirements=["C", "W"])
        if weights is not None:
            rows *= weights[:, np.newaxis]
        points, totals = self.sums()
        heavy = points.ready(len(rows), weights)

        def add(part: slice) -> None:
            add_rows(rows, part.start, part.stop, heavy, points.sums)

        run_all(add, slices(points.n_points, points.n_points, self._n_threads, len(rows)), self._n_threads)
        self.hold(points, totals.add(solved.utilities, weights))

    def for_worker(self) -> Engine:
        """Return an engine that solves the same in one thread, and has nothing to count: small enough to be sent."""
        other = copy(self)
        other._sums, other.recorder, other._scratch, other._n_threads = RunningSums.nothing(0), None, {}, 1
        return other

    def block(self, indices: IndexArray, votes: CodeArray | None, targets: AnyArray) -> Block:
        """Return some queries with the labels of their neighbours."""
        return Block(self.labels[indices], votes, targets)

    def solve(self, block: Block) -> tuple[FloatArray, FloatArray]:
        """Return the values of the neighbours of some queries, and a bound on what truncation costs each query."""
        values, dropped = np.zeros(block.labels.shape), np.zeros(len(block.targets))
        for depth, queries in self._lists.by_depth(block):
            part = block.part(queries, depth)
            values[queries, :depth] = self._solve(part)
            dropped[queries] = self._lists.dropped(part)
        return values, dropped

    def with_labels(self, labels: AnyArray) -> Engine:
        """Return the engine for the same points with other labels out of the same classes; it has no sums yet."""
        other = copy(self)
        other.labels, other._lists = labels, self._lists.with_labels(labels)
        other._sums = RunningSums.nothing(labels.shape[0])
        return other

    def hold(self, points: PointSums, totals: QueryTotals, rows: Sequence[QueryRows] = ()) -> None:
        """Take sums that `sums` began and more queries went into, with what is kept of those queries."""
        # One assignment: a block that is interrupted counts whole or not at all.
        self._sums = RunningSums(points, totals, (*self._sums.rows, *rows))

    def set_totals(
        self, points: PointSums, totals: QueryTotals, indices: AnyArray, values: FloatArray, targets: AnyArray
    ) -> None:
        """Take sums that were added up elsewhere, and the values of the single queries that they are sums of."""
        rows: tuple[QueryRows, ...] = ()
        if self.recorder is not None:
            self.recorder.reserve(len(targets), values.shape[1], rows)
            rows = (self.recorder.record(indices, values, targets),)
        self._sums = RunningSums(points, totals, rows)

    def result(self, **about: Any) -> Values:
        """Values so far, with their error bound, which takes the lists of neighbours as right."""
        depth, error = self.precision()
        found = {"depth": depth, "n_players": self.n_players, "n_classes": self.n_classes}
        queries = None if self.recorder is None else self.recorder.finish(self._sums.rows, self.labels)
        return self._result(found, error=error, **about, queries=queries)

    def suffices(self, indices: IndexArray, targets: AnyArray) -> bool:
        """Return whether these lists are long enough for the tolerance, or as long as can be."""
        return self._lists.suffice(indices, targets)

    def precision(self) -> tuple[int, float]:
        """Return how long the lists were that were solved, and a bound on the error of integrating over p."""
        depth, error = self._remote_precision
        solvers = list(self._solvers.items())  # at once: another thread may be adding one
        return max(depth, *(own for own, _ in solvers)), max(error, *(solver.error for _, solver in solvers))

    def _utilities(self, block: Block, dropped: FloatArray) -> Utilities:
        return Utilities.of(self.game, block, dropped, self.labels, self.n_classes, self.k)

    def _solver_for(self, depth: int) -> Solver:
        if depth not in self._solvers:
            self._solvers[depth] = make_solver(
                self.game, self.semivalue, self.k, depth, self.n_classes, self._largest_vote, self.tol
            )
        return self._solvers[depth]

    def _solve(self, block: Block) -> FloatArray:
        """Values of each query's neighbours, in threads."""
        n_queries, depth = block.labels.shape
        solver, values = self._solver_for(depth), np.empty(block.labels.shape)
        # It comes back when the work is done: threads that are interrupted may go on for a moment.
        scratch = self._scratch.pop(depth, None) or [solver.scratch() for _ in range(self._n_threads)]
        idle = list(scratch)  # a thread takes one piece while it works

        def work(queries: slice) -> None:
            own = idle.pop()
            try:
                solver.solve(block.part(queries), own, values[queries])
            finally:
                idle.append(own)

        most = solver.queries_at_once
        tasks = slices(n_queries, most, self._n_threads) if n_queries > most else [slice(0, n_queries)]
        run_all(work, tasks, self._n_threads)
        self._scratch[depth] = scratch
        return values
