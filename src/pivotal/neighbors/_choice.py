"""Choosing an index by name or object, and cutting queries into blocks."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping
from typing import Any

from pivotal._validation import check_features
from pivotal.neighbors._brute import DenseEuclidean, Neighbors, SparseEuclidean
from pivotal.neighbors._guests import TREES, ForeignIndex, TreeIndex
from pivotal.neighbors._index import Index, by_rows
from pivotal.neighbors._metrics import Metric, check_size, is_sparse, make_engine

__all__ = ["BruteIndex", "as_index", "blocks"]

# Bytes that the lists of a block of queries may take, and what one entry of a list takes on its way through the
# package: index, distance, weight, vote, class, value.
_BLOCK_BYTES = 2**28
_ENTRY_BYTES = 40

_NAMES = ("auto", "brute", *TREES)


class BruteIndex(Index):
    """Compares every query with every training point; exact.

    Euclidean and cosine neighbours come from fast products and are then ranked by distances in double precision, so
    that large offsets, duplicates and ties are ordered rightly, and alike for any number of threads and block of
    queries.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_train, n_features)
        Training points. They are not copied if they are float32 or float64, by rows; a copy in single precision is kept
        beside them. Sparse points stay sparse.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn, a function of two rows, or ``"precomputed"``: then queries are rows of distances to
        all training points, and so is X if its own points are to be queries.
    metric_params : dict, optional
        Parameters of the metric.
    n_jobs : int or None, default=-1
        Threads; -1 is one per processor.

    Examples
    --------
    >>> from pivotal.neighbors import BruteIndex
    >>> indices, distances = BruteIndex([[0.0], [1.0], [3.0]]).search([[1.5], [9.0]], depth=2)
    >>> indices
    array([[1, 0],
           [2, 1]])
    >>> distances
    array([[0.5, 1.5],
           [6. , 8. ]])
    """

    def __init__(
        self,
        X: Any,
        metric: Metric = "euclidean",
        *,
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        super().__init__(by_rows(check_features(X, "X")), n_jobs)
        self._metric = metric
        self._engine = make_engine(self._X, metric, metric_params, self._n_threads)

    def _find(self, queries: Any, depth: int) -> Neighbors:
        return self._engine.search(queries, depth, self._n_threads)

    def _check_queries(self, queries: Any) -> Any:
        if self._metric == "precomputed":
            queries = check_features(queries, "queries")
            if queries.shape[1] != self.n_train:
                raise ValueError(
                    f"precomputed queries must have a distance to each of the {self.n_train} training points; "
                    f"got {queries.shape[1]} columns."
                )
            return queries.toarray() if is_sparse(queries) else queries
        queries = super()._check_queries(queries)
        if isinstance(self._engine, DenseEuclidean | SparseEuclidean):
            check_size(queries, "queries")
        return queries


def as_index(
    neighbors: Any,
    X: Any,
    *,
    metric: Metric = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    n_jobs: int | None = -1,
) -> Index:
    """Return an index of the training points.

    Parameters
    ----------
    neighbors : str, NeighborIndex or fitted scikit-learn estimator
        ``"auto"``, ``"brute"``, ``"kd_tree"`` or ``"ball_tree"``; or an object with `search` or `kneighbors` that knows
        the training points, which then decides on the metric.
    X : array-like or sparse matrix of shape (n_train, n_features)
        Training points.
    metric, metric_params, n_jobs
        As in `BruteIndex`.
    """
    if isinstance(neighbors, str):
        if neighbors not in _NAMES:
            raise ValueError(
                f"neighbors must be one of {', '.join(_NAMES)}, or an object with search or kneighbors; "
                f"got {neighbors!r}."
            )
        if neighbors in TREES:
            return TreeIndex(X, neighbors, metric, metric_params=metric_params, n_jobs=n_jobs)
        return BruteIndex(X, metric, metric_params=metric_params, n_jobs=n_jobs)
    if isinstance(neighbors, Index) and neighbors.n_train == X.shape[0]:
        return neighbors
    if isinstance(neighbors, type) or not (hasattr(neighbors, "search") or hasattr(neighbors, "kneighbors")):
        shown = neighbors.__name__ + ", a class" if isinstance(neighbors, type) else type(neighbors).__name__
        raise TypeError(
            f"neighbors must be one of {', '.join(_NAMES)}, or an object with search or kneighbors; got {shown}."
        )
    return ForeignIndex(neighbors, X)


def blocks(n_queries: int, depth: int, *, block_size: int | None = None, budget: int = _BLOCK_BYTES) -> Iterator[slice]:
    """Cut the queries into blocks whose lists fit into memory.

    Parameters
    ----------
    n_queries, depth : int
        Number of queries, and length of their lists.
    block_size : int, optional
        Queries per block; chosen from the budget by default.
    budget : int, default=2**28
        Bytes for a block.

    Yields
    ------
    slice
        The queries of a block.

    Examples
    --------
    >>> from pivotal.neighbors import blocks
    >>> list(blocks(5, 75, block_size=2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    if block_size is None:
        block_size = max(1, budget // (_ENTRY_BYTES * depth))
    elif not isinstance(block_size, numbers.Integral) or isinstance(block_size, bool) or block_size < 1:
        raise ValueError(f"block_size must be a whole number of at least 1, or None; got {block_size!r}.")
    for start in range(0, n_queries, block_size):
        yield slice(start, min(start + block_size, n_queries))
