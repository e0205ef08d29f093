"""Lists of neighbours: the nearest of candidates, several lists made one, and a point omitted from its own list."""

from __future__ import annotations

from typing import Any

import numpy as np

from pivotal.core.frozen import read_only
from pivotal.core.types import AnyArray, FloatArray, IndexArray

# Entries that are sorted at once, in the cache.
_ENTRIES_AT_ONCE = 2**16
# Shorter rows, and a smaller part of longer ones, are sorted as fast by NumPy.
_LONG_ROW = 2**10
_SORTED_ANYWAY = 8


def nearest_of(depth: int, distances: FloatArray, *beside: AnyArray) -> tuple[AnyArray, ...]:
    """Return the nearest `depth` entries of each row: their distances, and what stands beside these.

    Equal distances stay in the order in which they come: put lists of lower training indices first. Lists that are
    sorted and stand one after the other are merged quickly, as the sort makes use of runs. Where there are fewer
    entries, all are returned.

    Examples
    --------
    >>> nearest_of(2, np.array([[1.0, 3.0, 0.5, 1.0]]), np.array([[0, 1, 7, 8]]))
    (array([[0.5, 1. ]]), array([[7, 0]]))
    """
    length = distances.shape[1]
    if length >= _LONG_ROW and depth * _SORTED_ANYWAY > length and np.isfinite(distances).all():
        order: AnyArray = sorted_rows(distances, depth)
    else:
        order = np.argsort(distances, axis=1, kind="stable")[:, :depth]
    return tuple(np.take_along_axis(part, order, 1) for part in (distances, *beside))


def sorted_rows(distances: FloatArray, depth: int) -> IndexArray:
    """Return the places of the nearest `depth` entries of each row, equal distances in the order in which they come.

    Distances are finite and at least 0. All are sorted.

    Examples
    --------
    >>> sorted_rows(np.array([[1.0, 3.0, 0.5, 1.0]]), 3)
    array([[2, 0, 3]])
    """
    from pivotal.kernels.radix import make_sorter, make_words, order_rows, write_known

    n_queries, length = distances.shape
    words, sorter = make_words(np.zeros(length, np.int32), 1), make_sorter(length)
    places = np.empty((n_queries, min(depth, length)), np.int64)
    at_once = max(1, _ENTRIES_AT_ONCE // max(1, length))
    made = np.empty((min(at_once, n_queries), length), np.uint64)
    labels, order = np.empty(made.shape, np.int32), np.empty(made.shape, np.int32)
    for start in range(0, n_queries, at_once):
        known = np.ascontiguousarray(distances[start : start + at_once])
        count = len(known)
        write_known(known, words, made[:count])
        scores = scores_of_known(known, made[:count], np.full(count, -1))
        order_rows(scores, words, sorter, labels[:count], order[:count])
        places[start : start + count] = order[:count, :depth]
    return places


def scores_of_known(known: FloatArray, made: AnyArray, own: IndexArray) -> Any:
    """Return `pivotal.kernels.radix.Scores` of distances that are known, whose words are made.

    Parameters
    ----------
    known : float64 array of shape (n_queries, n_train)
        Distances.
    made : uint64 array of the same shape
        Words, as `pivotal.kernels.radix.write_known` makes them.
    own
        As in `pivotal.neighbors._orders.Orders`.
    """
    from pivotal.kernels.measure import PointRows
    from pivotal.kernels.radix import Scores

    # Read-only, as queries are, so that kernels are compiled once.
    unused = PointRows.of(np.empty((0, 0))), read_only(np.empty((len(known), 0)))
    return Scores(made, np.zeros(len(known), np.int64), own, known, *unused, False)


def count_codes(codes: AnyArray, n_codes: int) -> IndexArray:
    """Return how often each code stands in each row; shape (n_queries, n_codes).

    Examples
    --------
    >>> count_codes(np.array([[0, 2, 0]]), 3)
    array([[2, 0, 1]])
    """
    n_queries = len(codes)
    cells = codes + n_codes * np.arange(n_queries)[:, np.newaxis]
    return np.bincount(cells.ravel(), minlength=n_codes * n_queries).reshape(n_queries, n_codes)


def order_ties(indices: AnyArray, distances: AnyArray) -> tuple[IndexArray, FloatArray]:
    """Put sorted lists in order of index where distances are equal."""
    if (distances[:, 1:] == distances[:, :-1]).any():
        order = np.lexsort((indices, distances), axis=1)
        indices, distances = np.take_along_axis(indices, order, 1), np.take_along_axis(distances, order, 1)
    return indices, distances


def leave_out_own(own: IndexArray, indices: IndexArray, *beside: AnyArray) -> tuple[AnyArray, ...]:
    """Return lists one shorter: without the point that the query is, or without the last where it is not listed.

    A point is omitted because of its index; duplicates of it are not. Behind many duplicates with lower indices a point
    is not even in its own list. `own` is -1 for queries that are no training points; `indices` come nearest first.

    Examples
    --------
    >>> leave_out_own(np.array([3, -1]), np.array([[1, 3, 2], [5, 4, 6]]))
    (array([[1, 2],
           [5, 4]]),)
    """
    others = indices != own[:, np.newaxis]
    others[others.all(axis=1), -1] = False
    return tuple(part[others].reshape(len(own), -1) for part in (indices, *beside))
