"""Indexes that are built elsewhere: scikit-learn's trees, fitted estimators, objects of the user's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pivotal.core.threads import run_all, slices
from pivotal.core.types import AnyArray, FloatArray
from pivotal.core.validation import Checked, check_features, is_sparse
from pivotal.neighbors.brute import Neighbors, empty_result
from pivotal.neighbors.index import Index
from pivotal.neighbors.lists import order_ties
from pivotal.neighbors.metrics import MetricLike, check_size

TREES = ("kd_tree", "ball_tree")


def tree_classes() -> dict[str, Any]:
    """Return scikit-learn's trees by name; here and below it is loaded where it is needed, as that takes long."""
    from sklearn.neighbors import BallTree, KDTree

    return dict(zip(TREES, (KDTree, BallTree), strict=True))


class TreeIndex(Index):
    """Searches one of scikit-learn's trees; distances are as exact as theirs, ties are in order of index.

    Parameters
    ----------
    X : array-like of shape (n_train, n_features)
        Training points, dense.
    kind : {"kd_tree", "ball_tree"}
        Which tree.
    metric : str, default="euclidean"
        Any metric the tree knows.
    metric_params : dict, optional
        Parameters of the metric.
    n_jobs : int or None, default=-1
        Threads; -1 is one per processor.
    """

    exact: bool | None = True

    def __init__(
        self,
        X: Any,
        kind: str,
        metric: MetricLike = "euclidean",
        *,
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        super().__init__(check_features(X, "X"), n_jobs)
        if is_sparse(self._X):
            raise ValueError(f'neighbors="{kind}" needs dense points; got a sparse matrix. Use neighbors="brute".')
        tree = tree_classes()[kind]
        if metric not in tree.valid_metrics:
            names = ", ".join(sorted(tree.valid_metrics))
            raise ValueError(f'neighbors="{kind}" knows the metrics {names}; got {metric!r}. Use neighbors="brute".')
        check_size(self._X, "X")
        self._tree = tree(self._X, metric=metric, **(metric_params or {}))

    def _find(self, queries: FloatArray, depth: int) -> Neighbors:
        check_size(queries, "queries")
        indices, distances = empty_result(len(queries), depth)
        # One more than wanted shows whether a tie reaches beyond the list.
        asked = min(depth + 1, self.n_train)

        def work(part: slice) -> None:
            far, near = self._tree.query(queries[part], asked)
            indices[part], distances[part] = order_ties(near[:, :depth], far[:, :depth])
            if asked == depth:
                return
            for i in np.flatnonzero(far[:, depth - 1] == far[:, depth]):
                row = part.start + i
                # A little more than the distance of the last, in case squaring it and taking the root do not cancel.
                found, gaps = self._tree.query_radius(
                    queries[row : row + 1], far[i, depth] * (1 + 1e-12), return_distance=True
                )
                order = np.lexsort((found[0], gaps[0]))[:depth]
                indices[row], distances[row] = found[0][order], gaps[0][order]

        run_all(work, slices(len(queries), len(queries), self._n_threads), self._n_threads)
        return indices, distances


class ExternalIndex(Index):
    """Asks someone else, and checks the answer. Equal distances within a list are put in order of index.

    Parameters
    ----------
    source : NeighborIndex, or an estimator with `kneighbors`
        Made or fitted with the training points, in their order.
    X : sequence, array or sparse matrix of length n_train
        Training points, handed on as they are when they are queries themselves.

    Attributes
    ----------
    exact : bool or None
        What the source says of itself, with an attribute of this name that is True or False; None where it says
        nothing, as estimators of scikit-learn do.
    """

    def __init__(self, source: Any, X: Any) -> None:
        X = Checked.content(X)
        super().__init__(X if hasattr(X, "shape") else np.asarray(X), n_jobs=1)
        self._source = source
        claim = getattr(source, "exact", None)
        self.exact = bool(claim) if isinstance(claim, bool | np.bool_) else None
        self._has_search = hasattr(source, "search")
        self._name = f"{type(source).__name__}.{'search' if self._has_search else 'kneighbors'}"
        _check_fitted(source)
        fitted = getattr(source, "n_train" if isinstance(source, Index) else "n_samples_fit_", self.n_train)
        if fitted != self.n_train:
            raise ValueError(
                f"neighbors must be fitted on the training points, {self.n_train} rows; got {fitted}. Fit it with X."
            )

    def _check_queries(self, queries: Any) -> Any:
        queries = Checked.content(queries)
        queries = queries if hasattr(queries, "shape") else np.asarray(queries)
        if queries.shape[0] == 0:
            raise ValueError("queries must have at least one row; got none.")
        return queries

    def _find(self, queries: Any, depth: int) -> Neighbors:
        if self._has_search:
            answer = self._source.search(queries, depth)
        else:
            answer = self._source.kneighbors(queries, n_neighbors=depth, return_distance=True)
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise TypeError(f"{self._name} must return (indices, distances); got {type(answer).__name__}.")
        indices, distances = (np.asarray(part) for part in (answer if self._has_search else answer[::-1]))
        self._check_answer(indices, distances, (queries.shape[0], depth))
        return order_ties(indices.astype(np.int64), distances.astype(np.float64))

    def _check_answer(self, indices: AnyArray, distances: AnyArray, shape: tuple[int, int]) -> None:
        if indices.shape != shape or distances.shape != shape:
            raise ValueError(
                f"{self._name} must return two arrays of shape {shape}; got {indices.shape} and {distances.shape}."
            )
        if indices.dtype.kind not in "iu":
            raise TypeError(
                f"{self._name} must return integers as indices; got dtype {indices.dtype}. "
                "Indices come first, distances second."
            )
        if distances.dtype.kind not in "fiu":
            raise TypeError(f"{self._name} must return numbers as distances; got dtype {distances.dtype}.")
        if indices.min() < 0 or indices.max() >= self.n_train:
            raise ValueError(
                f"{self._name} must return indices from 0 to {self.n_train - 1}; "
                f"got {indices.min() if indices.min() < 0 else indices.max()}. "
                "Some indexes return -1 where they find too few: let them search harder."
            )
        ordered = np.sort(indices, axis=1)
        if (ordered[:, 1:] == ordered[:, :-1]).any():
            raise ValueError(f"{self._name} must return each training point at most once per query; it did not.")
        if not (distances.min() >= 0 and distances.max() < np.inf):
            raise ValueError(f"{self._name} must return finite distances of at least 0; it did not.")
        if (distances[:, 1:] < distances[:, :-1]).any():
            raise ValueError(f"{self._name} must return the nearest first; got distances that decrease along a row.")


def _check_fitted(source: Any) -> None:
    """Raise if it is an estimator of scikit-learn that was never fitted."""
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if isinstance(source, BaseEstimator):
        try:
            check_is_fitted(source)
        except NotFittedError:
            raise ValueError(
                f"neighbors must be fitted; got an unfitted {type(source).__name__}. Call its fit with X first."
            ) from None
