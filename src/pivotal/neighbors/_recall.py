"""How many of the true neighbours an approximate index finds."""

from __future__ import annotations

from typing import Any

import numpy as np

from pivotal.core.types import IndexArray
from pivotal.core.validation import check_count
from pivotal.neighbors.brute import Neighbors
from pivotal.neighbors.index import Index

__all__ = ["draw_queries", "measure_recall", "search_sample"]


def measure_recall(index: Index, exact: Index, queries: Any, depth: int, *, sample: int = 200, seed: int = 0) -> float:
    """Return the share of the true neighbours that an index finds, on a random sample of the queries.

    A neighbour counts as found only by its own training index: of points at the same distance, the first ones are the
    true ones, as everywhere in this package.

    Parameters
    ----------
    index : Index
        The index in question.
    exact : Index
        An exact one of the same training points, with the same metric.
    queries : array or sparse matrix of shape (n_queries, n_features), or None
        Queries to draw from; None draws from the training points, each against all the others.
    depth : int
        Length of the lists.
    sample : int, default=200
        Most queries to draw.
    seed : int, default=0
        Decides which are drawn.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from pivotal.neighbors import BruteIndex, as_index, measure_recall
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> class Careless:
    ...     def search(self, queries, depth):
    ...         return np.tile(np.arange(depth), (len(queries), 1)), np.zeros((len(queries), depth))
    >>> measure_recall(as_index(Careless(), X), BruteIndex(X), np.array([[0.0], [3.0]]), 2)
    0.5
    """
    check_count(sample, "sample")
    if exact.n_train != index.n_train:
        raise ValueError(
            f"both indexes must hold the same training points; got {index.n_train} and {exact.n_train} of them."
        )
    n_queries = index.n_train if queries is None else queries.shape[0]
    if n_queries == 0:
        raise ValueError("queries must have at least one row; got none.")
    chosen = draw_queries(n_queries, sample, seed)
    found, true = (search_sample(one, queries, chosen, depth)[0] for one in (index, exact))
    hits = sum(np.intersect1d(a, b, assume_unique=True).size for a, b in zip(found, true, strict=True))
    return hits / true.size


def draw_queries(n_queries: int, sample: int, seed: int = 0) -> IndexArray:
    """Return the numbers of at most `sample` queries, drawn without repetition, ascending."""
    return np.sort(np.random.default_rng(seed).choice(n_queries, min(sample, n_queries), replace=False))


def search_sample(index: Index, queries: Any, chosen: IndexArray, depth: int) -> Neighbors:
    """Return the lists of some queries; of some training points, against all the others, where `queries` is `None`."""
    if queries is not None:
        return index.search(queries[chosen], depth)
    return index.search_rows(chosen, depth)
