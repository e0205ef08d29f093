"""From the name of a metric to the engine that searches by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy import sparse

from pivotal.core.types import AnyArray, BoolArray, FloatArray
from pivotal.core.validation import is_sparse
from pivotal.kernels.measure import unit_rows
from pivotal.neighbors.brute import DenseEuclidean, Neighbors, Pairwise, SparseEuclidean, largest_entry

MetricLike: TypeAlias = str | Callable[..., float]

# Larger numbers have squares whose sum may leave the range of a double.
LARGEST = 1e140

_EUCLIDEAN = ("euclidean", "l2", "sqeuclidean")
OF_SQUARES = (*_EUCLIDEAN, "minkowski")  # metrics whose numbers are squared on the way
_SPARSE = ("euclidean", "l2", "sqeuclidean", "cosine", "manhattan", "l1", "cityblock")
_WITHOUT_ASKING = (*_EUCLIDEAN, "cosine", "precomputed")  # scikit-learn, which takes long to be loaded
_OF_BOOLEANS = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "yule")


class Searcher(Protocol):
    """Searches among training points it was made with; trusts its arguments."""

    def search(self, queries: Any, depth: int, n_threads: int) -> Neighbors:
        """Return indices and distances, shape (n_queries, depth)."""

    unit: float
    """What turns the numbers of `measure` into distances."""

    def measure(self, queries: Any, /) -> FloatArray:
        """Return what tells near from far, of all points and each query; shape (n_queries, n_train), to be kept."""


def make_searcher(X: Any, metric: MetricLike, metric_params: Mapping[str, Any] | None, n_threads: int) -> Searcher:
    """Return the engine for checked training points, a C-contiguous array or a CSR matrix, and any metric."""
    check_metric(metric, sparse_points=is_sparse(X))
    metric, parameters = plain_metric(metric, metric_params)
    if metric == "precomputed":
        return Pairwise(_check_rows("the precomputed matrix", lambda rows: rows), X.shape[0])
    if metric == "cosine" and not parameters:
        return Cosine(X, n_threads=n_threads)
    if metric in _EUCLIDEAN and not parameters:
        check_size(X, "X")
        return _euclidean(X, squared=metric == "sqeuclidean", n_threads=n_threads)
    return _pairwise(X, metric, parameters)


def plain_metric(metric: MetricLike, metric_params: Mapping[str, Any] | None) -> tuple[MetricLike, dict[str, Any]]:
    """Return a metric and its parameters; the Euclidean one where Minkowski's is named and means that."""
    parameters = dict(metric_params or {})
    # Minkowski's metric is scikit-learn's default, and the Euclidean one unless its parameters say otherwise.
    if metric == "minkowski" and parameters.get("p", 2) == 2 and parameters.get("w") is None:
        return "euclidean", {}
    return metric, parameters


def check_size(X: Any, name: str) -> None:
    """Raise if squared distances would overflow."""
    largest = float(abs(X).max()) if is_sparse(X) else largest_entry(X)
    if largest > LARGEST:
        raise ValueError(
            f"{name} must stay within ±{LARGEST:g}, or squared distances overflow; got {largest:g}. "
            "Rescale the features."
        )


def check_metric(metric: MetricLike, *, sparse_points: bool) -> None:
    """Raise unless the metric is known and fits the kind of points."""
    if callable(metric):
        if sparse_points:
            raise ValueError("a custom metric needs dense points; got a sparse matrix. Use X.toarray().")
        return
    if metric not in _WITHOUT_ASKING and metric not in metric_names():
        raise ValueError(f"metric must be a callable or one of {', '.join(metric_names())}; got {metric!r}.")
    if sparse_points and metric not in (*_SPARSE, "minkowski", "precomputed"):
        raise ValueError(
            f"sparse points can be compared by {', '.join(_SPARSE)}; got metric={metric!r}. Use X.toarray() for others."
        )


def metric_names() -> list[str]:
    """Return the names of all metrics, which are those of scikit-learn."""
    from sklearn.neighbors import VALID_METRICS

    return sorted(VALID_METRICS["brute"])


def _euclidean(X: Any, *, squared: bool, n_threads: int) -> Searcher:
    if is_sparse(X):
        return SparseEuclidean(X, squared=squared)
    return DenseEuclidean(X, squared=squared, n_threads=n_threads)


class Cosine:
    """One minus the cosine of the angle, as half the squared distance of the points scaled to length 1.

    That order is right for small angles too, where one minus a product would be noise. A point without direction, all
    zeros, is at distance 1 from everything, as in scikit-learn. `inner` is the engine that compares the scaled points.
    """

    unit = 0.5

    def __init__(self, X: Any, *, n_threads: int) -> None:
        units, nowhere = _scale_rows(X)
        # One more feature keeps the points without direction away from all others, as far as a right angle does.
        self._extra = bool(nowhere.any())
        if self._extra:
            units = _append_column(units, nowhere.astype(np.float64))
        self.inner = _euclidean(units, squared=True, n_threads=n_threads)

    def units(self, queries: Any) -> tuple[Any, BoolArray]:
        """Return queries as the inner engine takes them, and which of them are as far from every point."""
        units, nowhere = _scale_rows(queries)
        return _append_column(units, np.zeros(nowhere.shape[0])) if self._extra else units, nowhere

    def measure(self, queries: Any) -> FloatArray:
        """Return the squared distances of points of length 1 to each query, shape (n_queries, n_train)."""
        units, nowhere = self.units(queries)
        squares = self.inner.measure(units)
        squares[nowhere] = 2.0
        return squares

    def search(self, queries: Any, depth: int, n_threads: int) -> Neighbors:
        """Return the `depth` nearest points of each query."""
        units, nowhere = self.units(queries)
        indices, distances = self.inner.search(units, depth, n_threads)
        distances *= 0.5
        indices[nowhere] = np.arange(depth)
        distances[nowhere] = 1.0
        return indices, distances


def _scale_rows(X: Any) -> tuple[Any, AnyArray]:
    """Return the rows scaled to length 1, and which of them are zero."""
    if is_sparse(X):
        starts, entries = X.indptr, X.data
    else:
        starts, entries = np.arange(X.shape[0] + 1) * X.shape[1], X.reshape(-1)
    scaled = np.empty(entries.shape[0])
    nowhere = np.empty(X.shape[0], np.bool_)
    unit_rows(starts, entries, scaled, nowhere)
    if is_sparse(X):
        return type(X)((scaled, X.indices, X.indptr), shape=X.shape), nowhere
    return scaled.reshape(X.shape), nowhere


def _append_column(X: Any, column: FloatArray) -> Any:
    if is_sparse(X):
        return sparse.hstack([X, sparse.csr_array(column[:, np.newaxis])], format="csr")
    return np.column_stack([X, column])


def with_estimates(X: Any, metric: MetricLike, parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the parameters with what a metric estimates from the training points.

    Left to scikit-learn, it would depend on the block of queries.
    """
    parameters = dict(parameters or {})
    if metric == "seuclidean" and "V" not in parameters:
        parameters["V"] = np.var(X, axis=0, ddof=1, dtype=np.float64)
    if metric == "mahalanobis" and not {"V", "VI"} & parameters.keys():
        parameters["VI"] = np.linalg.inv(np.cov(X.T, dtype=np.float64)).T
    return parameters


def _pairwise(X: Any, metric: MetricLike, parameters: dict[str, Any]) -> Pairwise:
    """Return an engine on scikit-learn's pairwise distances."""
    from sklearn.metrics import pairwise_distances

    name = metric if isinstance(metric, str) else getattr(metric, "__name__", "custom")
    if metric in _OF_BOOLEANS:
        X = X != 0
    elif not is_sparse(X):
        X = X.astype(np.float64, copy=False)
    parameters = with_estimates(X, metric, parameters)

    def measure(queries: Any, points: Any = X) -> FloatArray:
        if metric in _OF_BOOLEANS:
            queries = queries != 0
        rows: FloatArray = pairwise_distances(queries, points, metric=metric, **parameters)
        # Metrics that subtract nearly equal numbers may go a rounding error below zero.
        return np.maximum(rows, 0.0) if isinstance(metric, str) else rows

    try:
        measure(X[:1], X[:1])
    except (TypeError, ValueError) as error:
        complaint = str(error).splitlines()[0]
        raise ValueError(
            f"metric {name} must be able to compare two rows of X; with metric_params={parameters} it says: {complaint}"
        ) from error
    return Pairwise(_check_rows(f"metric {name}", measure), X.shape[0])


def _check_rows(source: str, measure: Callable[[Any], Any]) -> Callable[[Any], FloatArray]:
    """Return `measure` with a check of its distances, in a copy of their own."""

    def checked(queries: Any) -> FloatArray:
        # Adding zero copies, and turns -0.0 into 0.0.
        rows: FloatArray = np.ascontiguousarray(measure(queries), dtype=np.float64) + 0.0
        smallest, largest = rows.min(), rows.max()
        if not (smallest >= 0.0 and largest < np.inf):
            raise ValueError(
                f"{source} must give finite distances of at least 0; got {smallest if largest < np.inf else largest}."
            )
        return rows

    return checked
