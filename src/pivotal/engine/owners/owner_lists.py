"""The nearest points of every owner, merged into one list for each query.

Points are in cells: all of an owner, or, where third classes are omitted from a game, those of a class of an owner. Of
each cell only the k points nearest to a query matter, since an owner that joins brings all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pivotal.core.types import AnyArray, IndexArray
from pivotal.neighbors import Index, NeighborAudit, Verdict, as_index, fitting_queries, is_source
from pivotal.neighbors.brute import Neighbors
from pivotal.neighbors.lists import count_codes, nearest_of, order_ties
from pivotal.neighbors.metrics import MetricLike

_APART = ("auto", "brute", "kd_tree", "ball_tree")
_OF_ALL_POINTS = ("precomputed", "mahalanobis", "seuclidean")  # metrics that a part of the points does not have


def search_cells(
    neighbors: Any,
    X: Any,
    cells: AnyArray,
    depth: int,
    *,
    metric: MetricLike,
    metric_params: Mapping[str, Any] | None,
    n_jobs: int | None,
) -> _PerCellIndex | _SharedIndex:
    """Return what finds the `depth` nearest points of every cell.

    `cells`, shape (n_train,), are numbered 0, 1, ..., none without points; the others are as in
    `pivotal.neighbors.as_index`.
    """
    how: dict[str, Any] = {"metric": metric, "metric_params": metric_params, "n_jobs": n_jobs}
    apart = isinstance(neighbors, str) and neighbors in _APART and not is_source(X)
    if apart and not (isinstance(metric, str) and metric in _OF_ALL_POINTS):
        return _PerCellIndex(neighbors, X, cells, depth, how)
    return _SharedIndex(neighbors, X, cells, depth, how)


def keep_nearest(cells: AnyArray, max_points: int) -> AnyArray:
    """Mark the first `max_points` entries of each cell in each row; cells have the shape of lists, nearest first.

    Examples
    --------
    >>> keep_nearest(np.array([[0, 0, 1, 0, 1]]), 2)
    array([[ True,  True,  True, False,  True]])
    """
    order = np.argsort(cells, axis=1, kind="stable")
    together = np.take_along_axis(cells, order, 1)
    places = np.broadcast_to(np.arange(cells.shape[1]), cells.shape)
    new = np.ones(cells.shape, dtype=np.bool_)
    new[:, 1:] = together[:, 1:] != together[:, :-1]
    starts = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    kept = np.empty(cells.shape, dtype=np.bool_)
    np.put_along_axis(kept, order, places - starts < max_points, 1)
    return kept


class _PerCellIndex:
    """An index for each cell: always complete, at the cost of one search through all points."""

    def __init__(self, neighbors: str, X: Any, cells: AnyArray, depth: int, how: Mapping[str, Any]) -> None:
        order = np.argsort(cells, kind="stable")
        self._members: list[IndexArray] = np.split(order, np.cumsum(np.bincount(cells))[:-1])
        self._indexes: list[Index] = [as_index(neighbors, X[members], **how) for members in self._members]
        self._depths = [min(depth, len(members)) for members in self._members]

    def search(self, queries: Any) -> Neighbors:
        """Return the nearest points of all cells, nearest first, and their distances; ties in order of index."""
        indices = np.empty((queries.shape[0], sum(self._depths)), dtype=np.int64)
        distances = np.empty(indices.shape)
        start = 0
        for members, index, depth in zip(self._members, self._indexes, self._depths, strict=True):
            near, far = index.search(queries, depth)
            indices[:, start : start + depth], distances[:, start : start + depth] = members[near], far
            start += depth
        far, near = nearest_of(len(indices[0]), distances, indices)
        return order_ties(near, far)

    def block_size(self) -> int:
        """Return how many queries to ask at once."""
        return fitting_queries(sum(self._depths))

    def audit(self, queries: Any, k: int, *, weighted: bool) -> Verdict:
        """Return what is known of the neighbours of these queries; parameters as in `NeighborAudit`."""
        return Verdict(True, None)


class _SharedIndex:
    """One index for all points, asked for longer lists until they hold enough of every cell."""

    def __init__(self, neighbors: Any, X: Any, cells: AnyArray, depth: int, how: Mapping[str, Any]) -> None:
        self._index = as_index(neighbors, X, **how)
        self._audit = NeighborAudit(neighbors, self._index, X, **how)
        self._cells, self._depth = cells, depth
        self._wanted = np.minimum(np.bincount(cells), depth)
        self._length = min(len(cells), 2 * int(self._wanted.sum()))

    def search(self, queries: Any) -> Neighbors:
        while True:
            indices, distances = self._index.search(queries, self._length)
            cells = self._cells[indices]
            if (count_codes(cells, len(self._wanted)) >= self._wanted).all():
                break
            self._length = min(len(self._cells), 2 * self._length)
        kept = keep_nearest(cells, self._depth)
        return indices[kept].reshape(len(kept), -1), distances[kept].reshape(len(kept), -1)

    def block_size(self) -> int:
        return self._index.block_size(len(self._cells))

    def audit(self, queries: Any, k: int, *, weighted: bool) -> Verdict:
        self._audit.check_lists(queries, queries.shape[0], self._length, weighted=weighted)
        return self._audit.verdict(k, weighted=weighted)
