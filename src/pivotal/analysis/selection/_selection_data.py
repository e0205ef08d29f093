"""What a selection is made from: rows with their classes, and the queries that they should serve."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pivotal.core.config import Resources
from pivotal.core.labels import ClassCodes, as_array, as_labels, check_same_kind, look_like_amounts, numbers_among
from pivotal.core.query_weights import QueryWeights
from pivotal.core.threads import count_threads
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.core.validation import Checked, check_features, check_same_length
from pivotal.neighbors import Index, as_index_of_many
from pivotal.neighbors.metrics import MetricLike


@dataclass(frozen=True, eq=False)
class SelectionData:
    """Checked rows and queries.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_rows, n_features)
        Features; with a precomputed metric, distances.
    codes : int32 array of shape (n_rows,)
        Class of each row.
    labels : array of shape (n_classes,)
        Labels of the classes.
    queries : array or CSR matrix, or None
        Queries; None means the rows themselves, each without itself.
    targets : int32 array of shape (n_queries,)
        Class of each query.
    weights : float64 array of shape (n_queries,)
        How much each query counts, 1 on average.
    metric, metric_params, neighbors, n_jobs, max_memory
        As in `pivotal.select`.
    """

    X: Any
    codes: CodeArray
    labels: AnyArray
    queries: Any
    targets: CodeArray
    weights: FloatArray
    metric: MetricLike
    metric_params: Mapping[str, Any] | None
    neighbors: Any
    n_jobs: int | None
    max_memory: int | None

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        test: tuple[Any, Any],
        weights: QueryWeights,
        metric: MetricLike = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        neighbors: Any = "auto",
        resources: Resources,
    ) -> SelectionData:
        """Check what the user passed."""
        count_threads(resources.n_jobs)
        X_test, y_test = test
        if (X_test is None) != (y_test is None):
            given, missing = ("y_test", "X_test") if X_test is None else ("X_test", "y_test")
            raise ValueError(f"queries need features and labels; got {given} without {missing}. Pass both or neither.")
        features, labels = _read_features(X, "X"), _read_labels(y, "y")
        check_same_length(features, labels, "X", "y")
        if len(labels) < 2:
            raise ValueError("a selection needs at least two rows to choose from; got 1. Add rows.")
        if metric == "precomputed" and features.shape[0] != features.shape[1]:
            raise ValueError(
                f"precomputed X must have a distance for every pair of rows; got shape {features.shape}. "
                "Pass a square matrix."
            )
        known, codes, _ = ClassCodes.encoding(labels)
        queries, targets = None, codes
        if X_test is not None:
            like = None if metric == "precomputed" else features
            queries, truth = _read_features(X_test, "X_test", like=like), _read_labels(y_test, "y_test")
            check_same_length(queries, truth, "X_test", "y_test")
            check_same_kind(labels, truth)
            # A class that no row has stays a class of its own: no choice of rows helps to predict it.
            places = known.classes.get_indexer(pd.Index(truth))
            targets = np.where(places < 0, len(known.classes), places).astype(np.int32)
        found = weights.of(np.minimum(targets, len(known.classes) - 1), known)
        counted = np.ones(len(targets)) if found is None else found
        return cls(
            X=features,
            codes=codes,
            labels=np.asarray(known.classes),
            queries=queries,
            targets=targets,
            weights=counted * (len(counted) / counted.sum()),
            metric=metric,
            metric_params=metric_params,
            neighbors=neighbors,
            n_jobs=resources.n_jobs,
            max_memory=resources.budget,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows to choose from."""
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        """Number of classes that rows have."""
        return len(self.labels)

    @property
    def each_other(self) -> bool:
        """Whether the rows are the queries."""
        return self.queries is None

    @property
    def has_features(self) -> bool:
        """Whether X holds features rather than distances."""
        return self.metric != "precomputed"

    def class_counts(self, rows: AnyArray | None = None) -> IndexArray:
        """Return how many rows each class has, of all or of some."""
        codes = self.codes if rows is None else self.codes[rows]
        return np.bincount(codes, minlength=self.n_classes)

    def index(self, *, beyond: float = math.inf) -> Index:
        """Return an index of the rows; of more than so many, an approximate one unless another was asked for."""
        return as_index_of_many(
            self.neighbors,
            Checked(self.X),
            beyond=beyond,
            metric=self.metric,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
            max_memory=self.max_memory,
        )

    def part(self, rows: IndexArray) -> SelectionData:
        """Return some of the rows; if they are the queries, these as well."""
        X = self.X[rows] if self.has_features else self.X[rows][:, rows]
        # An index that was passed knows all rows, so the others are found as if nothing had been said.
        neighbors = self.neighbors if isinstance(self.neighbors, str) else "auto"
        fewer = replace(self, X=X, codes=self.codes[rows], neighbors=neighbors)
        if self.each_other:
            return replace(fewer, targets=self.targets[rows], weights=self.weights[rows])
        return fewer if self.has_features else replace(fewer, queries=self.queries[:, rows])

    def seen(self, queries: IndexArray) -> tuple[SelectionData, IndexArray]:
        """Return what is known of some of the queries, and the rows that it has: these, if they are the queries."""
        if self.each_other:
            return self.part(queries), queries
        some = {"queries": self.queries[queries], "targets": self.targets[queries], "weights": self.weights[queries]}
        return replace(self, **some), np.arange(self.n_rows)

    def neighbors_model(self, k: int) -> Any:
        """Return the nearest-neighbour classifier of scikit-learn with this metric, not fitted."""
        from sklearn.neighbors import KNeighborsClassifier

        params = None if self.metric_params is None else dict(self.metric_params)
        return KNeighborsClassifier(k, metric=self.metric, metric_params=params, n_jobs=self.n_jobs)


def _read_features(X: Any, name: str, like: Any = None) -> Any:
    """Return features as `check_features` does; say what to do with texts."""
    if isinstance(X, list | tuple | np.ndarray | pd.Series) and len(X) and isinstance(next(iter(X)), str):
        raise ValueError(f"{name} must hold numbers; got texts. Turn them into vectors first, see pivotal.embed.")
    return check_features(X, name, like=like)


def _read_labels(y: Any, name: str) -> AnyArray:
    """Return labels as `as_labels` does; say what to do with several labels a row, and with numbers to predict."""
    try:
        given = as_array(y)
        several = given.ndim == 2 and given.shape[1] > 1
        several |= given.ndim == 1 and any(isinstance(label, list | set | frozenset) for label in given[:1])
    except ValueError:  # lists of different lengths
        several = True
    if several:
        raise ValueError(
            f"{name} must have one label per row; got several. Select for each label in turn, or make every set of "
            "labels a class of its own."
        )
    numbers = numbers_among(given) if given.ndim == 1 and given.size else None
    if numbers is not None and np.isfinite(numbers).all():
        fractions = numbers[numbers != np.floor(numbers)]
        odd = fractions if fractions.size else numbers
        if fractions.size or look_like_amounts(*np.unique(numbers, return_counts=True)):
            raise ValueError(
                f"{name} must hold class labels; got amounts such as {odd[0]}. Cut them into classes, as pandas.qcut "
                'does, or rank the rows by pivotal.value(..., utility="regression"); if they name classes, pass text.'
            )
    return as_labels(y, name)
