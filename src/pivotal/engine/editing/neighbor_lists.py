"""Lists of neighbours that training points enter and leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.neighbors.lists import nearest_of


@dataclass(frozen=True)
class NeighborLists:
    """The nearest training points of every query, as far as they are known.

    Parameters
    ----------
    indices : int32 array of shape (n_queries, width)
        Training points, nearest first, equal distances in order of index; -1 behind the last of a list.
    distances : float64 array of shape (n_queries, width)
        Their distances; infinite behind the last of a list.
    lengths : int64 array of shape (n_queries,)
        How many points of a list are known. A point that is not on it comes after the last of them.
    """

    indices: npt.NDArray[np.int32]
    distances: FloatArray
    lengths: IndexArray

    @classmethod
    def of(cls, indices: AnyArray, distances: FloatArray) -> NeighborLists:
        """Return lists that are known in full width, as a search returns them."""
        lengths = np.full(len(indices), indices.shape[1])
        return cls(indices.astype(np.int32), np.array(distances, dtype=np.float64), lengths)

    @classmethod
    def together(cls, found: Sequence[NeighborLists]) -> NeighborLists:
        """Return lists and then other lists, in one piece."""
        if len(found) == 1:
            return found[0]
        width = max(near.width for near in found)
        wide = [near.widened(width) for near in found]
        return cls(
            np.concatenate([near.indices for near in wide]),
            np.concatenate([near.distances for near in wide]),
            np.concatenate([near.lengths for near in wide]),
        )

    @property
    def width(self) -> int:
        """Room of a list."""
        return int(self.indices.shape[1])

    def widened(self, width: int) -> NeighborLists:
        """Return the lists with room for at least this many points."""
        more = width - self.width
        if more <= 0:
            return self
        indices = np.pad(self.indices, ((0, 0), (0, more)), constant_values=-1)
        return NeighborLists(indices, np.pad(self.distances, ((0, 0), (0, more)), constant_values=np.inf), self.lengths)

    def only(self, queries: AnyArray | slice) -> NeighborLists:
        """Return the lists of some queries."""
        return NeighborLists(self.indices[queries], self.distances[queries], self.lengths[queries])

    def replaced(self, queries: AnyArray, other: NeighborLists) -> NeighborLists:
        """Return the lists with those of some queries exchanged."""
        width = max(self.width, other.width)
        one, two = self.widened(width), other.widened(width)
        indices, distances, lengths = one.indices.copy(), one.distances.copy(), one.lengths.copy()
        indices[queries], distances[queries], lengths[queries] = two.indices, two.distances, two.lengths
        return NeighborLists(indices, distances, lengths)

    def first(self, depth: int, queries: IndexArray | None = None) -> IndexArray:
        """Return the nearest `depth` points of all queries, or of some, whose lists are at least so long."""
        indices = self.indices[:, :depth] if queries is None else self.indices[queries, :depth]
        return np.ascontiguousarray(indices, dtype=np.int64)

    def holding(self, chosen: npt.NDArray[np.bool_], depth: int | None = None) -> npt.NDArray[np.bool_]:
        """Return which queries have one of the chosen points on their list, or among the first `depth` of it."""
        from pivotal.kernels.touched_lists import mark_lists

        marks = np.empty(len(self.lengths), np.bool_)
        mark_lists(self.indices, self.width if depth is None else min(depth, self.width), chosen, marks)
        return marks

    def without(self, gone: npt.NDArray[np.bool_]) -> NeighborLists:
        """Return the lists once points have left, given as a mask; points behind those that left move up in number."""
        number = np.full(len(gone) + 1, -1, np.int32)  # the last one is for the -1 behind the end of a list
        number[:-1][~gone] = np.arange(len(gone) - gone.sum(), dtype=np.int32)
        indices, distances, lengths = number[self.indices], self.distances, self.lengths
        hit = np.flatnonzero(self.holding(gone))
        if hit.size:
            distances, lengths = distances.copy(), lengths.copy()
            left = indices[hit] < 0
            order = np.argsort(left, axis=1, kind="stable")
            indices[hit] = np.take_along_axis(indices[hit], order, 1)
            distances[hit] = np.take_along_axis(np.where(left, np.inf, distances[hit]), order, 1)
            lengths[hit] = (~left).sum(axis=1)
        return NeighborLists(indices, distances, lengths)

    def joined_by(self, indices: AnyArray, distances: FloatArray, n_known: int, width: int) -> NeighborLists:
        """Return the lists once points have joined, with room for `width`.

        `indices` and `distances`, shape (n_queries, n_new), are the new points in the order of their distance from each
        query. Their indices are above all others, so they come behind all that are as near. Lists of `n_known`, the
        number of points before, are complete.
        """
        complete = self.lengths == n_known
        rows = np.arange(len(self.lengths))
        last = np.where(complete, np.inf, self.distances[rows, self.lengths - 1])
        # Behind the last that is known others may be nearer.
        joins = distances < last[:, np.newaxis]
        hit = np.flatnonzero(joins.any(axis=1))
        if hit.size == 0:
            return self
        own = self.only(hit)
        both = np.concatenate([own.distances, np.where(joins[hit], distances[hit], np.inf)], axis=1)
        names = np.concatenate([own.indices, np.where(joins[hit], indices[hit], -1).astype(np.int32)], axis=1)
        both, names = nearest_of(max(width, self.width), both, names)
        lengths = np.minimum(own.lengths + joins[hit].sum(axis=1), both.shape[1])
        return self.replaced(hit, NeighborLists(names, both, lengths))
