"""Judged relevance: which documents answer which query, and how well."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from pivotal.core.types import AnyArray, FloatArray, IndexArray


class Graded(NamedTuple):
    """Some queries with the grades of their documents."""

    grades: FloatArray
    """Grades of the listed documents, 0 where there is no judgement; shape (n_queries, depth)."""

    judged: AnyArray
    """Whether there is a judgement of the listed document; bool, of the same shape."""

    best: FloatArray
    """Grades above 0 of all judged documents, falling, filled up with zeros; shape (n_queries, most)."""

    missed: FloatArray
    """The same of the judged documents that are not listed."""


class Judgements:
    """Grades of relevance of at least 0, shape (n_queries, n_documents), without duplicates.

    Zeros that the sparse matrix stores are judgements too.
    """

    def __init__(self, matrix: sparse.csr_array) -> None:
        self.matrix = matrix

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, queries: slice | IndexArray) -> Judgements:
        return Judgements(self.matrix[queries])

    def has_relevant(self) -> AnyArray:
        """Return which queries have a relevant document; bool, of shape (n_queries,)."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.matrix.indptr))
        return np.asarray(np.bincount(rows, weights=self.matrix.data > 0.0, minlength=len(self)) > 0.0)

    def best(self) -> FloatArray:
        """Return the grades above 0 of each query, falling, filled up with zeros."""
        return _falling(self.matrix.indptr, self.matrix.data)

    def look_up(self, indices: IndexArray) -> Graded:
        """Return the grades of listed documents, shape (n_queries, depth), -1 where a list has ended; and of others."""
        from pivotal.kernels.ranking_values import find_grades

        starts = self.matrix.indptr.astype(np.int64)
        grades, missed = self.matrix.data.copy(), self.matrix.data.copy()
        listed, judged = np.empty(indices.shape), np.empty(indices.shape, dtype=np.int64)
        documents = self.matrix.indices.astype(np.int64)
        find_grades(starts, documents, grades, np.ascontiguousarray(indices), listed, judged, missed)
        return Graded(listed, judged == 1, _falling(starts, self.matrix.data), _falling(starts, missed))


def _falling(starts: AnyArray, grades: FloatArray) -> FloatArray:
    """Return the grades above 0 of each row, from the largest down, as rows of one length."""
    n_rows = len(starts) - 1
    rows = np.repeat(np.arange(n_rows), np.diff(starts))
    rows, grades = rows[grades > 0.0], grades[grades > 0.0]
    order = np.lexsort((-grades, rows))
    return as_table(rows[order], grades[order], n_rows, 0)


def as_table(rows: IndexArray, entries: AnyArray, n_rows: int, fill: int, min_width: int = 0) -> AnyArray:
    """Return entries, whose rows ascend, as a table; rows that are shorter than the longest are filled up."""
    sizes = np.bincount(rows, minlength=n_rows)
    table = np.full((n_rows, max(min_width, int(sizes.max(initial=0)))), fill, entries.dtype)
    table[rows, np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = entries
    return table
