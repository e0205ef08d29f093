"""Which training points decide which prediction: the values of every single query, kept within a budget of memory.

A row of the matrix is a query, a column a training point, and the mean of the rows is what `Values.values` holds. Only
points on a query's list have entries there. Lists of the Banzhaf value are short, so all of their entries fit; exact
Shapley values are lists of all points, of which the largest entries are kept that fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse

from pivotal._frozen import same
from pivotal._types import AnyArray, FloatArray, IndexArray

__all__ = ["COLUMNS", "Keeper", "PerQuery", "Rows"]

COLUMNS: Final = ("label", "queries", "query_values", "query_ranks")
"""Columns of a file that hold values per query; each has an entry per training point."""

_BUDGET: Final = 2**30
_ENTRY_BYTES: Final = 16  # value, training index and rank

Ranks = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class PerQuery:
    """The values of each query by itself, and what it takes to put them into words.

    Parameters
    ----------
    matrix : CSR array of shape (n_queries, n_train)
        Value of each training point for each query; columns ascend within a row. The k nearest of a query always have
        an entry, which may be 0.
    ranks : int32 array of shape (n_entries,)
        For each entry of the matrix, how many training points are as near to the query or nearer; the nearest has 1.
    labels, targets : int32 or float64 arrays of shape (n_train,) and (n_queries,)
        Class codes, or responses for regression.
    classes : tuple of str
        Names of the classes in the order of their codes; empty for regression.
    k : int
        Number of neighbours that vote.
    largest_dropped : float
        No entry that was dropped for lack of memory is farther from 0 than this; 0 if none was dropped.
    """

    matrix: sparse.csr_array
    ranks: Ranks
    labels: AnyArray
    targets: AnyArray
    classes: tuple[str, ...]
    k: int
    largest_dropped: float = 0.0

    def __post_init__(self) -> None:
        matrix = self.matrix
        for array in (matrix.data, matrix.indices, matrix.indptr, self.ranks, self.labels, self.targets):
            array.setflags(write=False)

    def check(self, n_train: int) -> Self:
        """Return the same if it has so many training points."""
        if self.matrix.shape[1] != n_train:
            raise ValueError(
                f"queries must have a column per training point, {n_train}; got {self.matrix.shape[1]} columns."
            )
        return self

    def name_of(self, label: Any) -> str:
        """Return a label as text: the name of a class, or a number."""
        return self.classes[int(label)] if self.classes else f"{float(label):g}"

    def row(self, query: int) -> tuple[IndexArray, FloatArray, Ranks]:
        """Return training indices, values and ranks of a query's entries, nearest first."""
        part = slice(self.matrix.indptr[query], self.matrix.indptr[query + 1])
        order = np.argsort(self.ranks[part], kind="stable")
        points = self.matrix.indices[part][order].astype(np.int64)
        return points, self.matrix.data[part][order], self.ranks[part][order]

    def scaled(self, factor: float) -> PerQuery:
        """Return the same with every value multiplied by a number."""
        matrix = sparse.csr_array(
            (self.matrix.data * factor, self.matrix.indices, self.matrix.indptr), shape=self.matrix.shape
        )
        return replace(self, matrix=matrix, largest_dropped=self.largest_dropped * abs(factor))

    def to_columns(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return Arrow columns with an entry per training point, and what does not fit into columns."""
        matrix = self.matrix
        places = sparse.csr_array((np.arange(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape).tocsc()
        starts = pa.array(places.indptr.astype(np.int64))

        def listed(entries: AnyArray) -> Any:
            return pa.LargeListArray.from_arrays(starts, pa.array(entries))

        columns = {
            "label": pa.array(self.labels),
            "queries": listed(places.indices.astype(np.int32)),
            "query_values": listed(matrix.data[places.data]),
            "query_ranks": listed(self.ranks[places.data]),
        }
        about = {
            "targets": self.targets.tolist(),
            "classes": list(self.classes),
            "k": self.k,
            "largest_dropped": self.largest_dropped,
        }
        return columns, about

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any], about: Mapping[str, Any]) -> Self:
        """Return what `to_columns` was called on."""
        lists = {name: columns[name].combine_chunks() for name in COLUMNS[1:]}
        starts = np.zeros(len(columns["label"]) + 1, np.int64)
        np.cumsum(lists["queries"].value_lengths().to_numpy(zero_copy_only=False), out=starts[1:])
        queries, values, ranks = (lists[name].flatten().to_numpy(zero_copy_only=False) for name in COLUMNS[1:])
        labels = columns["label"].to_numpy()
        targets = np.array(about["targets"], dtype=labels.dtype)
        shape = (len(targets), len(labels))
        places = sparse.csc_array((np.arange(len(values)), queries, starts), shape=shape).tocsr()
        matrix = sparse.csr_array((values[places.data], places.indices, places.indptr), shape=shape)
        classes, k, dropped = tuple(about["classes"]), int(about["k"]), float(about["largest_dropped"])
        return cls(matrix, ranks[places.data].astype(np.int32), np.array(labels), targets, classes, k, dropped)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PerQuery):
            return NotImplemented
        mine, theirs = self.matrix, other.matrix
        pairs: Sequence[tuple[Any, Any]] = (
            (mine.shape, theirs.shape),
            (mine.data, theirs.data),
            (mine.indices.astype(np.int64), theirs.indices.astype(np.int64)),
            (mine.indptr.astype(np.int64), theirs.indptr.astype(np.int64)),
            (self.ranks, other.ranks),
            (self.labels, other.labels),
            (self.targets, other.targets),
            ((self.classes, self.k, self.largest_dropped), (other.classes, other.k, other.largest_dropped)),
        )
        return all(same(one, another) for one, another in pairs)

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def __reduce__(self) -> tuple[Any, ...]:
        parts = self.matrix.data, self.matrix.indices, self.matrix.indptr
        rest = self.ranks, self.labels, self.targets, self.classes, self.k, self.largest_dropped
        return _rebuild, (parts, self.matrix.shape, rest)  # so that arrays come back read-only


def _rebuild(parts: tuple[AnyArray, ...], shape: tuple[int, int], rest: tuple[Any, ...]) -> PerQuery:
    return PerQuery(sparse.csr_array(parts, shape=shape), *rest)


@dataclass(frozen=True)
class Rows:
    """The entries of some queries, one query after the other, training indices ascending."""

    sizes: IndexArray
    points: npt.NDArray[np.int32]
    values: FloatArray
    ranks: Ranks
    targets: AnyArray
    largest_dropped: float


class Keeper:
    """Keeps the values of single queries, as many as memory allows.

    Parameters
    ----------
    k : int
        Number of neighbours that vote; so many entries of every query are always kept.
    classes : iterable
        The label set in the order of its codes; empty for regression.
    max_memory : int, optional
        Bytes that the entries may take, 1 GiB by default.
    """

    def __init__(self, k: int, classes: Iterable[Any], max_memory: int | None = None) -> None:
        self._k, self._classes = k, tuple(str(name) for name in classes)
        self._budget = _BUDGET if max_memory is None else max_memory
        self._most = 0

    def expect(self, n_queries: int, depth: int, kept: Sequence[Rows]) -> None:
        """Share out what memory is left among so many queries, whose lists are about `depth` long."""
        left = self._budget - _ENTRY_BYTES * sum(len(rows.values) for rows in kept)
        self._most = left // (_ENTRY_BYTES * n_queries)
        if self._most < min(self._k, depth):
            needed = _ENTRY_BYTES * n_queries * min(self._k, depth)
            raise ValueError(
                f"values per query must have room for the k={self._k} nearest of each of the {n_queries} queries, "
                f"{needed} bytes; got {max(left, 0)} bytes. Raise max_memory, or ask for fewer queries at a time."
            )

    def take(self, indices: IndexArray, values: FloatArray, targets: AnyArray) -> Rows:
        """Return the entries of a block of queries that are kept.

        Parameters
        ----------
        indices : int64 array of shape (n_queries, depth)
            Training points, nearest first.
        values : float64 array of shape (n_queries, depth)
            Their values.
        targets : int32 or float64 array of shape (n_queries,)
            True label of each query.
        """
        depth, dropped = indices.shape[1], 0.0
        kept = values != 0.0
        kept[:, : self._k] = True
        if depth > self._most:
            size = np.abs(values)
            size[:, : self._k] = np.inf
            smallest = np.argsort(-size, axis=1, kind="stable")[:, self._most :]
            dropped = float(np.take_along_axis(size, smallest, axis=1).max())
            np.put_along_axis(kept, smallest, False, axis=1)
        queries, places = np.nonzero(kept)
        points = indices[queries, places]
        order = np.lexsort((points, queries))
        queries, places = queries[order], places[order]
        return Rows(
            kept.sum(axis=1),
            points[order].astype(np.int32),
            values[queries, places],
            (places + 1).astype(np.int32),
            np.array(targets),
            dropped,
        )

    def gather(self, kept: Sequence[Rows], labels: AnyArray) -> PerQuery:
        """Return what was kept of all queries, given the labels of the training points."""
        starts = np.concatenate([[0], *(rows.sizes for rows in kept)]).cumsum()
        parts = (
            np.concatenate([rows.values for rows in kept]),
            np.concatenate([rows.points for rows in kept]),
            starts,
        )
        return PerQuery(
            sparse.csr_array(parts, shape=(len(starts) - 1, len(labels))),
            np.concatenate([rows.ranks for rows in kept]),
            np.array(labels),
            np.concatenate([rows.targets for rows in kept]),
            self._classes,
            self._k,
            max(rows.largest_dropped for rows in kept),
        )
