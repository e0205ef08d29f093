"""Sparse graphs of neighbours, such as `kneighbors_graph(mode="distance")` makes and cleanlab keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pivotal.core.games import as_game
from pivotal.core.types import FloatArray, IndexArray
from pivotal.core.validation import check_k, is_sparse
from pivotal.core.voting import as_votes
from pivotal.core.weights import Weights, as_bits, as_weights, resolution
from pivotal.neighbors.lists import leave_out_own
from pivotal.results.values import Values
from pivotal.valuation.from_neighbors import value_from_neighbors


def from_knn_graph(graph: Any) -> tuple[IndexArray, FloatArray]:
    """Return the lists of neighbours that a sparse graph holds.

    Parameters
    ----------
    graph : sparse matrix of shape (n_queries, n_train)
        Row i holds the distances from query i to its neighbours, as many in every row. A distance of 0 that is stored,
        as that of a duplicate, is a neighbour like any other.

    Returns
    -------
    indices : int64 array of shape (n_queries, depth)
        Training points, nearest first, equal distances in order of index.
    distances : float64 array of shape (n_queries, depth)

    Examples
    --------
    >>> from sklearn.neighbors import NearestNeighbors
    >>> from pivotal.interop import from_knn_graph
    >>> search = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
    >>> indices, distances = from_knn_graph(search.kneighbors_graph(mode="distance"))
    >>> indices
    array([[1, 2], [0, 2], [1, 0]])
    >>> distances
    array([[1., 3.], [1., 2.], [2., 3.]])
    """
    if not is_sparse(graph) or graph.ndim != 2:
        raise TypeError(
            f"graph must be a sparse matrix of distances; got {type(graph).__name__}. "
            'Make one with NearestNeighbors(...).fit(X).kneighbors_graph(mode="distance").'
        )
    rows = graph.tocsr()
    lengths = np.diff(rows.indptr)
    if lengths.size == 0 or lengths.max() == 0:
        raise ValueError(f"graph must hold neighbours; got none in a graph of shape {rows.shape}.")
    if lengths.min() != lengths.max():
        raise ValueError(
            f"graph must hold as many neighbours in every row; got {lengths.min()} in row {lengths.argmin()} and "
            f"{lengths.max()} in row {lengths.argmax()}. Ask for a number of neighbours rather than a radius, and keep "
            "distances of 0."
        )
    stored = rows.data
    if stored.dtype.kind not in "fiu" or not (stored.min() >= 0 and stored.max() < np.inf):
        raise ValueError(
            f"graph must hold finite distances of at least 0; got dtype {stored.dtype} between {stored.min()} and "
            f"{stored.max()}."
        )
    if lengths[0] > 1 and (stored == 1).all():
        raise ValueError(
            'graph must hold distances; got only ones, as mode="connectivity" makes them. Use mode="distance", or give '
            "the lists to value_from_neighbors."
        )
    indices = rows.indices.reshape(lengths.size, -1).astype(np.int64)
    distances = stored.reshape(lengths.size, -1).astype(np.float64)
    order = np.lexsort((indices, distances), axis=1)
    return np.take_along_axis(indices, order, 1), np.take_along_axis(distances, order, 1)


def value_knn_graph(
    graph: Any,
    y: Any,
    *,
    k: int = 5,
    weights: str | Weights | Callable[..., Any] | None = "uniform",
    bits: int | None = None,
    **settings: Any,
) -> Values:
    """Value points by each other from a graph of their neighbours.

    The graph cuts the lists of neighbours off. `error_bound` says what that costs, and a graph with some more
    neighbours makes it small: 60 are enough for 1e-9 with k=5 and Banzhaf values.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Distances from each point to its neighbours, as `from_knn_graph` takes them. Points that are listed as their
        own neighbour are omitted from their row.
    y : array-like of shape (n,)
        Labels, or numbers for regression.
    k, weights, bits
        As in `pivotal.value`.
    **settings
        Further arguments of `pivotal.value_from_neighbors`: utility, semivalue, tol, ids, n_jobs, ...

    Returns
    -------
    Values

    Examples
    --------
    >>> from sklearn.neighbors import NearestNeighbors
    >>> from pivotal.interop import value_knn_graph
    >>> search = NearestNeighbors(n_neighbors=3).fit([[0.0], [1.0], [3.0], [4.5]])
    >>> value_knn_graph(search.kneighbors_graph(mode="distance"), ["a", "a", "b", "a"], k=1).values
    array([ 0.25  ,  0.25  , -0.3125,  0.125 ])
    """
    if settings.keys() & {"indices", "y_train", "y_test", "votes"}:
        raise TypeError("value_knn_graph takes neighbours, votes and queries from the graph; omit them.")
    k, voting, precision = check_k(k), as_weights(weights), as_bits(bits)
    game = as_game(settings.get("utility", "hard"))
    if game.radius is not None:
        raise ValueError(f"a graph of the nearest cannot tell who is within a radius; got utility {game}. Use value.")
    indices, distances = from_knn_graph(graph)
    n_points = graph.shape[0]
    if n_points != graph.shape[1]:
        raise ValueError(
            f"graph must be square to value points by each other; got shape {graph.shape}. "
            "Use from_knn_graph and value_from_neighbors for queries of a test set."
        )
    indices, distances = _without_own(indices, distances)
    depth, wanted = indices.shape[1], max(k, voting.depth(k))
    if depth < min(wanted, n_points - 1):
        raise ValueError(
            f"graph must hold at least the neighbours that vote, {wanted} besides the point itself; "
            f"got {depth} per row. Use a smaller k or a graph with more neighbours."
        )
    votes = as_votes(voting, distances, k, precision)
    if votes is None:
        return value_from_neighbors(indices, y, k=k, **settings)
    values = value_from_neighbors(indices, y, k=k, votes=votes, **settings)
    about = {**values.settings, "weights": str(voting), "bits": precision}
    return replace(values, vote_resolution=resolution(precision), settings=about)


def _without_own(indices: IndexArray, distances: FloatArray) -> tuple[IndexArray, FloatArray]:
    """Leave every point out of its own row, if it is in any."""
    own = indices == np.arange(len(indices))[:, np.newaxis]
    if not own.any():
        return indices, distances
    absent = np.flatnonzero(~own.any(axis=1))
    if distances[absent, -1].any():
        odd = absent[distances[absent, -1] > 0][0]
        raise ValueError(
            "graph must hold every point as its own neighbour, or none; some are, but point "
            f"{odd} is not. Use kneighbors_graph() without X, which leaves each point out."
        )
    if own.shape[1] == 1:
        raise ValueError("graph must hold other neighbours than the point itself; got one neighbour per row. Add more.")
    others, gaps = leave_out_own(np.arange(len(indices)), indices, distances)
    return others, gaps
