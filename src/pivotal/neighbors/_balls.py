"""All points within a radius: lists of different lengths, found by lists that grow until they leave the ball."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import is_sparse
from pivotal.neighbors.brute import Neighbors

_FIRST_QUERIES = 32  # they tell how long lists should be
_FIRST_DEPTH = 64
_SHORTEST = 8  # lists take half as long as those of the first depth; where balls are small, all of them are so short
_GROWTH = 4
_ENOUGH = 0.98  # share of the balls that lists should hold


class Balls(NamedTuple):
    """The training points within the radius of some queries."""

    starts: IndexArray
    """Where the ball of each query starts; shape (n_queries + 1,)."""

    members: IndexArray
    """Training indices: those of query q are members[starts[q] : starts[q + 1]]."""

    distances: FloatArray | None = None
    """How far they are from the query, where that is known; of the shape of `members`."""

    @property
    def sizes(self) -> IndexArray:
        """Number of points in each ball."""
        return np.diff(self.starts)

    @staticmethod
    def of(sizes: AnyArray, members: IndexArray, distances: FloatArray | None = None) -> Balls:
        """Return balls of the given sizes."""
        return Balls(np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))), members, distances)

    def part(self, start: int, stop: int) -> Balls:
        """Return the balls of the queries start, ..., stop - 1."""
        starts = self.starts[start : stop + 1]
        inside = slice(starts[0], starts[-1])
        distances = None if self.distances is None else self.distances[inside]
        return Balls(starts - starts[0], self.members[inside], distances)

    def without(self, own: IndexArray) -> Balls:
        """Return the balls with one point less, that of the same place in `own`, where it is there at all."""
        return self._keep(self.members != np.repeat(own, self.sizes))

    def within(self, radius: float) -> Balls:
        """Return the balls of a smaller radius."""
        return self._keep(self._are_within(radius))

    def places_within(self, radius: float) -> IndexArray:
        """Return where the members of the balls of a smaller radius are among all."""
        return np.flatnonzero(self._are_within(radius))

    def _are_within(self, radius: float) -> AnyArray:
        if self.distances is None:
            raise ValueError(
                "games of several radii must know how far neighbours are; got lists without distances. Value the "
                "parts of the mixture by themselves and add the values."
            )
        return np.asarray(self.distances <= radius)

    def _keep(self, kept: AnyArray) -> Balls:
        counted = np.concatenate(([0], np.cumsum(kept)))
        return Balls(counted[self.starts], self.members[kept], None if self.distances is None else self.distances[kept])

    def filled(self, places: IndexArray, others: Balls) -> Balls:
        """Return the balls with those at some places, which are empty, taken from others."""
        sizes = self.sizes
        sizes[places] = others.sizes
        chosen = np.zeros(len(sizes), np.bool_)
        chosen[places] = True
        from_others = np.repeat(chosen, sizes)
        members, distances = np.empty(len(from_others), np.int64), np.empty(len(from_others))
        members[from_others], members[~from_others] = others.members, self.members
        distances[from_others], distances[~from_others] = others.distances, self.distances
        return Balls.of(sizes, members, distances)


def find_balls(
    nearest: Callable[[IndexArray, int], Neighbors],
    fitting: Callable[[int], int],
    n_queries: int,
    n_train: int,
    radius: float,
) -> Iterator[Balls]:
    """Yield the points within the radius of each query, some queries at a time, in their order.

    `nearest` searches this many of some queries, which are given by number; `fitting` says how many lists of a length
    to ask for at once. It bounds the memory: no more is held than a few times that.
    """

    def widen(queries: IndexArray, depth: int) -> Iterator[Balls]:
        """Yield the balls of the queries in their order; lists that end inside the ball are asked for again, longer."""
        step = fitting(depth)
        for start in range(0, len(queries), step):
            part = queries[start : start + step]
            indices, distances = nearest(part, depth)
            inside = distances <= radius
            wide = np.flatnonzero(inside[:, -1]) if depth < n_train else np.empty(0, np.int64)
            inside[wide] = False
            found = Balls.of(inside.sum(axis=1), indices[inside], distances[inside])
            if wide.size == 0:
                yield found
                continue
            del indices, distances, inside  # before longer lists are made
            done = n_filled = 0
            for deeper in widen(part[wide], min(max(_GROWTH * depth, _FIRST_DEPTH), n_train)):
                places = wide[n_filled : n_filled + len(deeper.sizes)]
                n_filled += len(places)
                stop = int(places[-1]) + 1 if n_filled < len(wide) else len(part)
                yield found.part(done, stop).filled(places - done, deeper)
                done = stop

    start, step, depth = 0, _FIRST_QUERIES, min(_FIRST_DEPTH, n_train)
    while start < n_queries:
        stop, sizes = min(start + step, n_queries), []
        for balls in widen(np.arange(start, stop), depth):
            sizes.append(balls.sizes)
            yield balls
        depth = min(n_train, _depth_for(np.concatenate(sizes)))
        start, step = stop, min(fitting(depth), _GROWTH * _GROWTH * step)  # what few queries tell is not trusted far


def _depth_for(sizes: IndexArray) -> int:
    """Return how long lists should be, given the sizes of the balls so far: most of those to come must fit."""
    most = max(_FIRST_DEPTH, 2 * int(sizes.sum()) // len(sizes))  # a few large balls are no reason for long lists
    enough = int(np.quantile(sizes, _ENOUGH)) + 1  # one more point shows that the ball has ended
    return max(_SHORTEST, min(enough, most))


def as_balls(lists: Any, n_train: int, n_queries: int) -> Balls:
    """Return balls that were found elsewhere, for this many training points and queries.

    `lists` are what `radius_neighbors` or `radius_neighbors_graph` of scikit-learn return: the training points within
    the radius of each query, in any order, as sequences of integers or as a sparse matrix of shape (n_queries,
    n_train).
    """
    if is_sparse(lists):
        graph = lists.tocsr()
        if graph.shape != (n_queries, n_train):
            raise ValueError(
                f"a graph of neighbours must have a row per query and a column per training point, shape "
                f"({n_queries}, {n_train}); got {graph.shape}."
            )
        balls = Balls(graph.indptr.astype(np.int64), graph.indices.astype(np.int64))
    else:
        rows = [_as_row(row) for row in lists]
        if len(rows) != n_queries:
            raise ValueError(f"indices must have a list for each of the {n_queries} queries; got {len(rows)} lists.")
        sizes = np.array([len(row) for row in rows])
        balls = Balls.of(sizes, np.concatenate([np.empty(0, np.int64), *rows]))
    members = balls.members
    if members.size and (members.min() < 0 or members.max() >= n_train):
        raise ValueError(
            f"indices must lie between 0 and {n_train - 1}, the last training point; "
            f"got {members.min() if members.min() < 0 else members.max()}."
        )
    query = np.repeat(np.arange(n_queries), balls.sizes)
    order = np.lexsort((members, query))
    twice = (np.diff(query[order]) == 0) & (np.diff(members[order]) == 0)
    if twice.any():
        where = query[order][1:][twice][0]
        raise ValueError(f"indices must name each training point at most once per query; query {where} does not.")
    return balls


def _as_row(row: npt.ArrayLike) -> IndexArray:
    points = np.asarray(row)
    if points.ndim != 1:
        raise ValueError(f"indices must be a list of training points for each query; got an entry {row!r}.")
    if points.size and points.dtype.kind not in "iu":
        raise ValueError(f"indices must be integers; got dtype {points.dtype}. Use indices.astype(int).")
    return points.astype(np.int64)
