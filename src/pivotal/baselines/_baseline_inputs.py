"""What every baseline is given, checked once: training points and queries with the labels they have."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy.typing as npt
from scipy import sparse

from pivotal.core.label_encoding import LabelEncoding
from pivotal.core.types import AnyArray, CodeArray
from pivotal.core.validation import check_features, check_same_length, is_sparse
from pivotal.neighbors import open_source
from pivotal.results.ids import as_ids, ids_of


class Classification(NamedTuple):
    """Points with class codes. The classes of the training points come first: 0..n_known-1."""

    X_train: Any
    y_train: CodeArray
    X_test: Any
    y_test: CodeArray
    n_known: int
    ids: AnyArray


def classification(
    X_train: Any, y_train: Any, X_test: Any, y_test: Any, ids: npt.ArrayLike | None, method: str
) -> Classification:
    """Check what a baseline for class labels is given; `method` is the name that messages use."""
    for content, name in ((X_train, "X_train"), (y_train, "y_train"), (X_test, "X_test"), (y_test, "y_test")):
        if content is None:
            raise ValueError(f"{method} compares training points with a test set; got {name}=None. Pass {name}.")
    features = check_features(_read(X_train, "X_train"), "X_train")
    queries = check_features(_read(X_test, "X_test"), "X_test", like=features)
    if is_sparse(features) != is_sparse(queries):
        queries = sparse.csr_matrix(queries) if is_sparse(features) else queries.toarray()
    labels, targets, _ = LabelEncoding.of("classification", y_train, y_test, tables=False)
    check_same_length(features, labels, "X_train", "y_train")
    check_same_length(queries, targets, "X_test", "y_test")
    return Classification(
        features, labels, queries, targets, int(labels.max()) + 1, as_ids(ids_of(X_train, ids), labels.size)
    )


def _read(X: Any, name: str) -> Any:
    """Read a file whole: a baseline looks at all points at once."""
    return open_source(X, name)[:] if isinstance(X, str | os.PathLike) else X
