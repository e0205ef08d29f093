"""Training points that come one after the other, and the queries whose nearest they become.

`Arrivals` keeps the nearest members of every query on a board. Newcomers are compared with all queries once, a block of
them at a time, so that adding all n points one by one costs as much as one exhaustive search, whatever the number of
times one looks. Memory is that of one block. Distances and ties are those of `BruteIndex`, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from pivotal._threads import count_threads, run_all, single_threaded_blas, slices
from pivotal._types import AnyArray, FloatArray, IndexArray
from pivotal._validation import check_features, is_sparse
from pivotal.kernels.curves import Board, Events, enter_rows, enter_tile
from pivotal.kernels.order import STRIDE
from pivotal.neighbors._brute import DenseEuclidean
from pivotal.neighbors._index import as_like, by_rows, fitting_queries
from pivotal.neighbors._metrics import Engine, Metric, check_metric, check_size, make_engine, with_estimates

__all__ = ["AT_ONCE", "Arrivals", "Witness"]

Witness = Callable[[int, slice, Events], object]
"""Told of each task's events: number of the task, queries, and their entries, rows counted from the first query."""

_Fields = TypeVar("_Fields", Board, Events)

# Points admitted at once, and queries compared with them by one task. What a task sums up must not depend on the number
# of threads, so neither do these.
AT_ONCE = 1024
_TASK_QUERIES = 256
# Queries whose events are written down together, and bytes for as many as there can be.
_EVENT_QUERIES = 64
_EVENT_BYTES = 2**25

_OF_SQUARES = ("euclidean", "l2", "sqeuclidean", "minkowski")


class Arrivals:
    """The nearest members of each query, while training points join.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_train, n_features)
        Training points; none has joined yet.
    queries : array-like or sparse matrix of shape (n_queries, n_features)
        Queries; with a precomputed metric, their distances to all training points.
    depth : int
        How many of the nearest to keep.
    metric, metric_params, n_jobs
        As in `BruteIndex`. What a metric estimates, it estimates from all training points.
    x_name, queries_name : str
        What the user calls them.

    Attributes
    ----------
    board : Board
        The nearest members of each query.
    n_tasks : int
        Tasks that the queries are cut into.

    Examples
    --------
    >>> arrivals = Arrivals([[0.0], [1.0], [3.0]], [[0.9]], depth=2)
    >>> arrivals.seat(np.array([0, 2]))
    >>> arrivals.board.indices
    array([[0, 2]])
    >>> arrivals.admit(np.array([1]), lambda task, queries, events: print(events.indices))
    [[1 0]]
    """

    def __init__(
        self,
        X: Any,
        queries: Any,
        depth: int,
        *,
        metric: Metric = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = -1,
        x_name: str = "X",
        queries_name: str = "queries",
    ) -> None:
        self._n_threads = count_threads(n_jobs)
        self._X = by_rows(check_features(X, x_name))
        self._metric = metric
        check_metric(metric, sparse_points=is_sparse(self._X))
        self._dense = False
        if metric == "precomputed":
            self._queries = check_features(queries, queries_name)
            if self._queries.shape[1] != self._X.shape[0]:
                raise ValueError(
                    f"precomputed {queries_name} must have a distance to each of the {self._X.shape[0]} training "
                    f"points; got {self._queries.shape[1]} columns."
                )
            self._queries = self._queries.toarray() if is_sparse(self._queries) else self._queries
            self._parameters: Mapping[str, Any] = {}
        else:
            self._queries = as_like(check_features(queries, queries_name, like=self._X), self._X)
            if metric in _OF_SQUARES:
                check_size(self._X, x_name)
                check_size(self._queries, queries_name)
            self._parameters = with_estimates(self._X, metric, metric_params)
            # Complains about a metric that will not do.
            self._dense = isinstance(make_engine(self._X[:1], metric, self._parameters, 1), DenseEuclidean)
        n_queries = self._queries.shape[0]
        self.board = Board(
            distances=np.full((n_queries, depth), np.inf),
            indices=np.full((n_queries, depth), -1, np.int64),
            counts=np.zeros(n_queries, np.int64),
        )
        self._tasks = list(enumerate(slices(n_queries, _TASK_QUERIES, 1)))
        self.n_tasks = len(self._tasks)

    def seat(self, members: IndexArray) -> None:
        """Let points join before anybody looks: one search, in place of one event after the other.

        Parameters
        ----------
        members : int64 array of shape (n_members,)
            Training indices. The boards must be empty.
        """
        if members.size == 0:
            return
        members = np.sort(members)  # equal distances go by training index
        everyone = members.size == self._X.shape[0]
        engine = self._engine(self._X if everyone else self._X[members], self._n_threads)
        depth = min(self.board.distances.shape[1], members.size)
        n_queries, step = self._queries.shape[0], fitting_queries(depth)
        for start in range(0, n_queries, step):
            part = slice(start, min(start + step, n_queries))
            places, distances = engine.search(self._facing(part, members), depth, self._n_threads)
            self.board.indices[part, :depth] = members[places]
            self.board.distances[part, :depth] = distances
        self.board.counts[:] = depth

    def admit(self, newcomers: IndexArray, witness: Witness) -> None:
        """Let points join one after the other.

        Parameters
        ----------
        newcomers : int64 array of shape (n_newcomers,)
            Training indices, at most `AT_ONCE`, in the order in which they join.
        witness : callable
            Called in threads with (task, queries, events) for every part of the queries, the parts of one task one
            after the other; positions in the events count from the first newcomer. It must not keep the events.
        """
        points = self._X[newcomers]
        block = _Newcomers(points, squared=self._metric == "sqeuclidean", n_threads=1) if self._dense else None
        engine = None if self._dense else self._engine(points, 1)
        depth = self.board.distances.shape[1]
        # Memory that no event is written to is never touched.
        event_bytes = len(newcomers) * 16 * (depth + 2)
        most = max(1, min(_EVENT_QUERIES, _EVENT_BYTES // event_bytes))

        def work(task: tuple[int, slice]) -> None:
            number, queries = task
            room = _make_events(min(most, queries.stop - queries.start) * len(newcomers), depth)
            if block is not None:
                entries = block.enter_all(self._queries[queries], newcomers, _cut(self.board, queries), room, most)
            else:
                assert engine is not None
                rows = _all_distances(engine, self._facing(queries, newcomers), len(newcomers))
                entries = _enter_all(rows, newcomers, _cut(self.board, queries), room, most)
            for part, n_events in entries:
                here = slice(queries.start + part.start, queries.start + part.stop)
                witness(number, here, _cut(room, slice(n_events)))

        with single_threaded_blas():
            run_all(work, self._tasks, self._n_threads)

    def _engine(self, points: Any, n_threads: int) -> Engine:
        return make_engine(points, self._metric, self._parameters, n_threads)

    def _facing(self, queries: slice, points: IndexArray) -> AnyArray:
        """Return what an engine for these points asks of the queries: their rows, or their distances to the points."""
        rows: AnyArray = self._queries[queries]
        return rows[:, points] if self._metric == "precomputed" else rows


class _Newcomers(DenseEuclidean):
    """A block of newcomers, compared by Euclidean distance."""

    def enter_all(
        self, queries: FloatArray, newcomers: IndexArray, board: Board, events: Events, most: int
    ) -> Iterator[tuple[slice, int]]:
        """Update the board, `most` queries at a time; yield which, and how many events there were."""
        n_queries, width = len(queries), self._norms.shape[0]
        factor, lists = self._open_shortlists(queries, board.distances.shape[1])
        tile = np.zeros((n_queries, width), np.float32)
        used = tile[:, : len(newcomers)]
        self._multiply(factor, self._points, used, np.empty_like(used))
        marks = np.empty(width // STRIDE, np.bool_)
        near, gaps = np.empty(STRIDE, np.int64), np.empty(STRIDE)
        for part in slices(n_queries, most, 1):
            yield (
                part,
                enter_tile(
                    tile[part],
                    self._norms,
                    self._X,
                    newcomers,
                    queries[part],
                    self._squared,
                    self._growth,
                    self._scale**2,
                    lists,
                    part.start,
                    marks,
                    near,
                    gaps,
                    _cut(board, part),
                    events,
                ),
            )


def _enter_all(
    rows: FloatArray, newcomers: IndexArray, board: Board, events: Events, most: int
) -> Iterator[tuple[slice, int]]:
    """As `_Newcomers.enter_all`, from rows of distances."""
    for part in slices(len(rows), most, 1):
        yield part, enter_rows(rows[part], newcomers, _cut(board, part), events)


def _all_distances(engine: Engine, queries: Any, n_points: int) -> FloatArray:
    """Return the distances of the queries to all points of an engine, in the order of the points."""
    places, ranked = engine.search(queries, n_points, 1)
    rows = np.empty(ranked.shape)
    np.put_along_axis(rows, places, ranked, axis=1)
    return rows


def _cut(fields: _Fields, part: slice) -> _Fields:
    """Return these rows of a board or of events, as views."""
    return type(fields)._make(field[part] for field in fields)


def _make_events(room: int, depth: int) -> Events:
    return Events(
        queries=np.empty(room, np.int64),
        positions=np.empty(room, np.int64),
        counts=np.empty(room, np.int64),
        distances=np.empty((room, depth)),
        indices=np.empty((room, depth), np.int64),
    )
