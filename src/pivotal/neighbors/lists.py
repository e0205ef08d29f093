"""Lists of neighbours: the nearest of candidates, several lists made one, and a point omitted from its own list."""

from __future__ import annotations

import numpy as np

from pivotal.core.types import AnyArray, FloatArray, IndexArray

__all__ = ["leave_out_own", "nearest_of", "order_ties"]


def nearest_of(depth: int, distances: FloatArray, *beside: AnyArray) -> tuple[AnyArray, ...]:
    """Return the nearest `depth` entries of each row: their distances, and what stands beside these.

    Equal distances stay in the order in which they come: put lists of lower training indices first. Lists that are
    sorted and stand one after the other are merged quickly, as the sort makes use of runs.

    Parameters
    ----------
    depth : int
        How many to keep, or all if there are fewer.
    distances : float64 array of shape (n_queries, length)
        Distances of the candidates.
    *beside : arrays of the same shape
        Their training indices, labels or the like.

    Examples
    --------
    >>> nearest_of(2, np.array([[1.0, 3.0, 0.5, 1.0]]), np.array([[0, 1, 7, 8]]))
    (array([[0.5, 1. ]]), array([[7, 0]]))
    """
    order = np.argsort(distances, axis=1, kind="stable")[:, :depth]
    return tuple(np.take_along_axis(part, order, 1) for part in (distances, *beside))


def order_ties(indices: AnyArray, distances: AnyArray) -> tuple[IndexArray, FloatArray]:
    """Put sorted lists in order of index where distances are equal."""
    if (distances[:, 1:] == distances[:, :-1]).any():
        order = np.lexsort((indices, distances), axis=1)
        indices, distances = np.take_along_axis(indices, order, 1), np.take_along_axis(distances, order, 1)
    return indices, distances


def leave_out_own(own: IndexArray, indices: IndexArray, *beside: AnyArray) -> tuple[AnyArray, ...]:
    """Return lists one shorter: without the point that the query is, or without the last where it is not listed.

    A point is omitted because of its index; duplicates of it are not. Behind many duplicates with lower indices a
    point is not even in its own list.

    Parameters
    ----------
    own : int array of shape (n_queries,)
        Training index of each query; -1 where it is not a row.
    indices : int array of shape (n_queries, length)
        Training points, nearest first.
    *beside : arrays of the same shape
        Their distances or the like.

    Examples
    --------
    >>> leave_out_own(np.array([3, -1]), np.array([[1, 3, 2], [5, 4, 6]]))
    (array([[1, 2],
           [5, 4]]),)
    """
    others = indices != own[:, np.newaxis]
    others[others.all(axis=1), -1] = False
    return tuple(part[others].reshape(len(own), -1) for part in (indices, *beside))
