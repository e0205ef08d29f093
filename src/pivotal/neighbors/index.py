"""What every index has in common: the checks around a search, and the training points as their own queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse

from pivotal.core.threads import count_threads
from pivotal.core.types import AnyArray, IndexArray
from pivotal.core.validation import Checked, check_features, is_integer, is_sparse
from pivotal.neighbors._balls import Balls, find_balls
from pivotal.neighbors._sources import take_rows
from pivotal.neighbors.brute import Neighbors
from pivotal.neighbors.lists import leave_out_own

# What an entry of a list takes on its way through the package: index, distance, weight, vote, class, value.
ENTRY_BYTES = 40
# What the lists of a block of queries may take, and how many of them it may have.
_BLOCK_BYTES = 2**28
_QUERIES_AT_ONCE = 4096
# What the lists of one length may take in a search of balls, where lists of several lengths are kept.
_RADIUS_BYTES = 2**26


class NeighborIndex(Protocol):
    """What any source of neighbours must offer.

    It may also have an attribute `exact`: True says that what it finds are the nearest by the metric of the call, which
    a sample of the queries is held against; False that they may not be.
    """

    def search(self, queries: Any, depth: int) -> tuple[AnyArray, AnyArray]:
        """Return the `depth` nearest training points of each query.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
            Queries.
        depth : int
            Number of neighbours wanted, at most the number of training points.

        Returns
        -------
        indices : int array of shape (n_queries, depth)
            Training indices, nearest first.
        distances : float array of shape (n_queries, depth)
            Their distances, never decreasing along a row.
        """


class Index(ABC):
    """Searches the training points, for queries of any origin or for the points themselves.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_train, n_features)
        Training points.
    n_jobs : int or None
        Threads, as scikit-learn counts them.

    Attributes
    ----------
    n_train : int
        Number of training points.
    exact : bool or None
        Whether what it finds are the nearest; None where that is not known.
    """

    exact: bool | None = False
    _rows_are_checked = True

    def __init__(self, X: Any, n_jobs: int | None) -> None:
        self._X = X
        self._n_threads = count_threads(n_jobs)
        self.n_train: int = X.shape[0]

    @property
    def rows_held(self) -> Any:
        """The training points as they are held."""
        return self._X

    @property
    def walk(self) -> IndexArray | None:
        """Order in which to ask for the lists of all rows, where one is faster than that of the rows."""
        return None

    def walk_of(self, queries: Any) -> IndexArray | None:
        """Order in which to ask for the lists of queries, where one is faster than their own."""
        return None

    def search(self, queries: Any, depth: int) -> Neighbors:
        """Return the `depth` nearest training points of each query.

        Parameters
        ----------
        queries : array-like or sparse matrix of shape (n_queries, n_features)
            Queries; with a precomputed metric, their distances to all training points.
        depth : int
            Number of neighbours, 1 to n_train.

        Returns
        -------
        indices : int64 array of shape (n_queries, depth)
            Training indices, nearest first, equal distances in order of index.
        distances : float64 array of shape (n_queries, depth)
            Their distances.
        """
        return self._find(self._check_queries(queries), self._check_depth(depth, self.n_train))

    def search_self(self, start: int, stop: int, depth: int) -> Neighbors:
        """Return the `depth` nearest others of the training points start, ..., stop - 1.

        A point is omitted from its own list because of its index; duplicates of it are not.
        """
        if not 0 <= start < stop <= self.n_train:
            raise ValueError(
                f"start and stop must satisfy 0 <= start < stop <= {self.n_train}; got {start} and {stop}."
            )
        return self._search_others(self._X[start:stop], np.arange(start, stop), depth)

    def search_rows(self, rows: IndexArray, depth: int) -> Neighbors:
        """Return the `depth` nearest others of some training points, given by index; as `search_self` does of a run."""
        return self._search_others(take_rows(self._X, rows), rows, depth)

    def _search_others(self, points: Any, own: IndexArray, depth: int) -> Neighbors:
        """Return the `depth` nearest of some training points, without the points themselves."""
        depth = self._check_depth(depth, self.n_train - 1)
        indices, distances = self.search(self._own(points), depth + 1)
        found, gaps = leave_out_own(own, indices, distances)
        return found, gaps

    def search_radius(self, queries: Any, radius: float, max_memory: int | None = None) -> Iterator[Balls]:
        """Yield all training points within a radius of each query, some queries at a time, in their order.

        Parameters
        ----------
        queries : array-like or sparse matrix of shape (n_queries, n_features)
            Queries, as `search` takes them.
        radius : float
            A point at this distance is inside. Distances are those of `search`.
        max_memory : int, optional
            Bytes that lists may take.
        """
        queries = self._check_queries(queries)
        budget = _RADIUS_BYTES if max_memory is None else max_memory // 4
        return find_balls(
            lambda rows, depth: self._find(queries[rows], depth),
            lambda depth: self.block_size(depth, budget),
            queries.shape[0],
            self.n_train,
            radius,
        )

    def search_radius_self(
        self, start: int, stop: int, radius: float, max_memory: int | None = None
    ) -> Iterator[Balls]:
        """Yield all others within a radius of the training points start, ..., stop - 1; duplicates are others."""
        for balls in self.search_radius(self._own(self._X[start:stop]), radius, max_memory):
            n_queries = len(balls.sizes)
            yield balls.without(np.arange(start, start + n_queries))
            start += n_queries

    def block_size(self, depth: int, max_memory: int | None = None) -> int:
        """Return how many queries to ask at once, given the bytes that their lists may take."""
        return fitting_queries(depth, max_memory)

    def for_worker(self, n_queries: int, depth: int) -> Self:
        """Return the same index for workers that answer some of this many queries elsewhere, each in one thread."""
        other = copy(self)
        other._n_threads = 1
        return other

    def _own(self, rows: Any) -> Any:
        """Return some of the training points as queries, which were checked as training points."""
        return Checked(rows) if self._rows_are_checked else rows

    @abstractmethod
    def _find(self, queries: Any, depth: int) -> Neighbors:
        """Answer checked queries."""

    def _check_queries(self, queries: Any) -> Any:
        """Return queries as float64 of the kind of the training points, dense or sparse."""
        return as_like(check_features(queries, "queries", like=self._X), self._X)

    def _check_depth(self, depth: object, max_depth: int) -> int:
        if is_integer(depth, 1, max_depth):
            return int(depth)
        raise ValueError(f"depth must be an integer from 1 to {max_depth}, the points to choose from; got {depth!r}.")


def fitting_queries(depth: int, max_memory: int | None = None) -> int:
    """Return how many lists fit into memory; no more than a few seconds' work, for progress and interruption."""
    budget = _BLOCK_BYTES if max_memory is None else max_memory // 2
    return max(1, min(_QUERIES_AT_ONCE, budget // (ENTRY_BYTES * depth)))


def by_rows(X: Any) -> Any:
    """Return an array row by row in memory, or a CSR matrix of float64 with columns ascending, each once."""
    if not is_sparse(X):
        return np.ascontiguousarray(X)
    X = X.astype(np.float64, copy=False)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def as_like(queries: Any, X: Any) -> Any:
    """Return queries in float64, sparse if X is and dense if X is."""
    if is_sparse(X):
        return by_rows(queries if is_sparse(queries) else sparse.csr_array(queries))
    if is_sparse(queries):
        queries = queries.toarray()
    return np.ascontiguousarray(queries, dtype=np.float64)
