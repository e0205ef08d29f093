"""Rows that are equal, rows that are linked to each other, and groups of them in conflict; classes of near rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from pivotal.core.types import AnyArray, CodeArray, IndexArray
from pivotal.core.validation import is_sparse


def equal_rows(X: Any) -> IndexArray:
    """Return the first index at which each row occurs."""
    if is_sparse(X):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        rows = pd.Series(
            [
                X.indices[start:stop].tobytes() + X.data[start:stop].tobytes()
                for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True)
            ]
        )
    else:
        plain = np.ascontiguousarray(X + 0.0)  # -0.0 is 0.0
        rows = pd.Series([row.tobytes() for row in plain])
    codes, found = pd.factorize(rows)
    first = np.full(len(found), len(rows))
    np.minimum.at(first, codes, np.arange(len(rows)))
    return first[codes]


def merge_components(component: IndexArray, ones: IndexArray, others: IndexArray) -> IndexArray:
    """Return components in which these pairs are one."""
    n = len(component)
    pairs = sparse.coo_array((np.ones(len(ones), np.int8), (component[ones], component[others])), shape=(n, n))
    found: IndexArray = connected_components(pairs, directed=False)[1].astype(np.int64)
    return found[component]


def number_groups(component: IndexArray) -> IndexArray:
    """Number the components of at least two points by their first point; -1 for the others."""
    codes, _ = pd.factorize(component)
    several = np.bincount(codes)[codes] > 1
    numbers_ = np.full(len(component), -1)
    numbers_[several] = pd.factorize(codes[several])[0]
    return numbers_


def in_conflict(group: IndexArray, labels: AnyArray) -> npt.NDArray[np.bool_]:
    """Tell which points belong to a group with different labels."""
    codes = pd.factorize(pd.Series(labels))[0]
    conflicts = np.zeros(len(group), np.bool_)
    grouped = group >= 0
    if grouped.any():
        n_labels = pd.Series(codes[grouped]).groupby(group[grouped]).transform("nunique")
        conflicts[grouped] = n_labels.to_numpy() > 1
    return conflicts


def count_classes(labels: CodeArray, n_classes: int) -> CodeArray:
    """Return how often each class is among the labels of each row; shape (n_rows, n_classes)."""
    counts = np.zeros((len(labels), n_classes), np.int32)
    np.add.at(counts, (np.arange(len(labels))[:, np.newaxis], labels), 1)
    return counts
