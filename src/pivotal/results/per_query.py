"""Which training points decide which prediction: the values of every single query, kept within a budget of memory.

A row of the matrix is a query, a column a training point, and the mean of the rows is what `Values.values` holds. Only
points on a query's list have entries there. Lists of the Banzhaf value are short, so all of their entries fit; exact
Shapley values are lists of all points, of which the largest entries are kept that fit.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self, SupportsIndex

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse

from pivotal.core.frozen import freeze_arrays, same
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.results.storage import numbers_of

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
    grades : float64 array of shape (n_entries,), optional
        Rankings: the relevance of each entry. The classes are then the names of the queries, and their codes the
        targets.
    """

    matrix: sparse.csr_array
    ranks: Ranks
    labels: AnyArray
    targets: AnyArray
    classes: tuple[str, ...]
    k: int
    largest_dropped: float = 0.0
    grades: FloatArray | None = None

    def __post_init__(self) -> None:
        freeze_arrays(self)
        freeze_arrays(self.matrix)

    def check(self, n_train: int) -> Self:
        """Return the same if it has this many training points."""
        if self.matrix.shape[1] != n_train:
            raise ValueError(
                f"queries must have a column per training point, {n_train}; got {self.matrix.shape[1]} columns."
            )
        return self

    def name_of(self, label: Any) -> str:
        """Return a label as text: the name of a class, or a number."""
        return self.classes[int(label)] if self.classes else f"{float(label):g}"

    def find(self, query: Any) -> int | None:
        """Return the number of a query that is given by its number or, where queries have names, by its name."""
        if self.grades is not None and isinstance(query, str):
            return self.classes.index(query) if query in self.classes else None
        whole = isinstance(query, SupportsIndex) and not isinstance(query, bool)
        return operator.index(query) if whole and 0 <= operator.index(query) < len(self.targets) else None

    def grades_of(self, query: int) -> FloatArray:
        """Return the grades of a query's entries, in the order of `row`."""
        assert self.grades is not None
        part = slice(self.matrix.indptr[query], self.matrix.indptr[query + 1])
        return self.grades[part][np.argsort(self.ranks[part], kind="stable")]

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
        if self.grades is not None:
            columns["query_grades"] = listed(self.grades[places.data])
        about = {
            "targets": self.targets.tolist(),
            "classes": list(self.classes),
            "k": self.k,
            "largest_dropped": self.largest_dropped,
            "graded": self.grades is not None,
        }
        return columns, about

    @classmethod
    def from_columns(cls, columns: pa.Table, about: Any) -> Self:
        """Return what `to_columns` was called on, or raise ValueError or KeyError if it cannot have been.

        Every number is looked at: SciPy believes what it is told, and writes wherever an index leads.
        """
        if not isinstance(about, dict):
            raise ValueError("what it says of the queries must be an object")
        kind = pa.int32() if about["classes"] else pa.float64()
        labels = numbers_of(columns["label"], kind, "label")
        targets, classes, k, dropped = _read_about(about, labels.dtype)
        for name, codes in (("label", labels), ("targets", targets)):
            if classes and ((codes < 0) | (codes >= len(classes))).any():
                raise ValueError(f"{name} must be codes of the {len(classes)} classes")
        kinds = {"queries": pa.int32(), "query_values": pa.float64(), "query_ranks": pa.int32()}
        if about.get("graded", False):
            kinds["query_grades"] = pa.float64()
        lists = {name: _lists_of(columns[name], name) for name in kinds}
        lengths = [own.value_lengths().to_numpy(zero_copy_only=False) for own in lists.values()]
        sizes, shape = lengths[0], (len(targets), len(labels))
        if any((own != sizes).any() for own in lengths):
            raise ValueError("lists of a training point differ in length")
        queries, values, ranks, *grades = (numbers_of(lists[name].flatten(), own, name) for name, own in kinds.items())
        _check_entries(queries, ranks, sizes, shape, 0 if grades else k)  # a ranking may be shorter than k
        starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        places = sparse.csc_array((np.arange(len(values)), queries, starts), shape=shape).tocsr()
        matrix = sparse.csr_array((values[places.data], places.indices, places.indptr), shape=shape)
        graded = grades[0][places.data] if grades else None
        return cls(matrix, ranks[places.data].astype(np.int32), np.array(labels), targets, classes, k, dropped, graded)

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
            (self.grades, other.grades),
            ((self.classes, self.k, self.largest_dropped), (other.classes, other.k, other.largest_dropped)),
        )
        return all(same(one, another) for one, another in pairs)

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def __reduce__(self) -> tuple[Any, ...]:
        parts = self.matrix.data, self.matrix.indices, self.matrix.indptr
        rest = self.ranks, self.labels, self.targets, self.classes, self.k, self.largest_dropped, self.grades
        return _rebuild, (parts, self.matrix.shape, rest)  # so that arrays come back read-only


def _read_about(about: Mapping[str, Any], kind: Any) -> tuple[AnyArray, tuple[str, ...], int, float]:
    """Return what does not fit into columns: labels of the queries, names of the classes, k, the largest omitted."""
    targets, classes, k, dropped = (about[name] for name in ("targets", "classes", "k", "largest_dropped"))
    if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        raise ValueError("classes must be a list of names")
    allowed = (int,) if classes else (int, float)
    if not isinstance(targets, list) or not targets or not all(type(target) in allowed for target in targets):
        raise ValueError("targets must be a list of numbers, one for each query")
    if type(k) is not int or k < 1:
        raise ValueError(f"k must be a positive integer; got {str(k)[:60]}")
    if type(dropped) not in (int, float) or not 0.0 <= dropped < np.inf:
        raise ValueError(f"largest_dropped must be a number of at least 0; got {str(dropped)[:60]}")
    numbers = np.array(targets, dtype=kind)
    if not np.isfinite(numbers).all():
        raise ValueError("targets must be finite")
    return numbers, tuple(classes), k, float(dropped)


def _lists_of(column: pa.ChunkedArray, name: str) -> pa.Array:
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)) or column.null_count:
        raise ValueError(f"{name} must be a list for each training point; got {str(column.type)[:60]}")
    return column.combine_chunks()


def _check_entries(queries: Ranks, ranks: Ranks, sizes: IndexArray, shape: tuple[int, int], k: int) -> None:
    """Raise unless the entries are those of a matrix, and each query's ranks those of different neighbours.

    They stand one training point after the other, each of which has so many; the k nearest always have an entry.
    """
    n_queries, n_train = shape
    if ((queries < 0) | (queries >= n_queries)).any():
        raise ValueError(f"queries must be numbers below {n_queries}, of which there are labels")
    points = np.repeat(np.arange(n_train), sizes)
    if ((np.diff(queries) <= 0) & (np.diff(points) == 0)).any():
        raise ValueError("queries of a training point must ascend")
    if ((ranks < 1) | (ranks > n_train)).any():
        raise ValueError(f"query_ranks must lie between 1 and {n_train}, the number of training points")
    if len(np.unique(queries.astype(np.int64) * (n_train + 1) + ranks)) < len(ranks):
        raise ValueError("query_ranks of a query must differ")
    nearest = np.bincount(queries[ranks <= k], minlength=n_queries)
    if (nearest < min(k, n_train - 1)).any():
        raise ValueError(f"query_ranks must hold the {k} nearest of every query")


def _rebuild(parts: tuple[AnyArray, ...], shape: tuple[int, int], rest: tuple[Any, ...]) -> PerQuery:
    return PerQuery(sparse.csr_array(parts, shape=shape), *rest)


@dataclass(frozen=True)
class QueryRows:
    """The entries of some queries, one query after the other, training indices ascending."""

    sizes: IndexArray
    points: npt.NDArray[np.int32]
    values: FloatArray
    ranks: Ranks
    targets: AnyArray
    largest_dropped: float


class PerQueryRecorder:
    """Keeps the values of single queries, as many as memory allows, 1 GiB by default; the k nearest always.

    The classes are the label set in the order of its codes; empty for regression.
    """

    def __init__(self, k: int, classes: Iterable[Any], max_memory: int | None = None) -> None:
        self._k, self._classes = k, tuple(str(name) for name in classes)
        self._budget = _BUDGET if max_memory is None else max_memory
        self._max_entries = 0

    def reserve(self, n_queries: int, depth: int, kept: Sequence[QueryRows]) -> None:
        """Share out what memory is left among this many queries, whose lists are about `depth` long."""
        left = self._budget - _ENTRY_BYTES * sum(len(rows.values) for rows in kept)
        self._max_entries = left // (_ENTRY_BYTES * n_queries)
        if self._max_entries < min(self._k, depth):
            needed = _ENTRY_BYTES * n_queries * min(self._k, depth)
            raise ValueError(
                f"values per query must have room for the k={self._k} nearest of each of the {n_queries} queries, "
                f"{needed} bytes; got {max(left, 0)} bytes. Raise max_memory, or ask for fewer queries at a time."
            )

    def record(self, indices: IndexArray, values: FloatArray, targets: AnyArray) -> QueryRows:
        """Return the entries of a block of queries that are kept, given their neighbours, nearest first, and values."""
        depth, dropped = indices.shape[1], 0.0
        kept = values != 0.0
        kept[:, : self._k] = True
        kept &= indices >= 0  # a list may have ended
        if depth > self._max_entries:
            size = np.abs(values)
            size[:, : self._k] = np.inf
            smallest = np.argsort(-size, axis=1, kind="stable")[:, self._max_entries :]
            dropped = float(np.take_along_axis(size, smallest, axis=1).max())
            np.put_along_axis(kept, smallest, False, axis=1)
        queries, places = np.nonzero(kept)
        points = indices[queries, places]
        order = np.lexsort((points, queries))
        queries, places = queries[order], places[order]
        return QueryRows(
            kept.sum(axis=1),
            points[order].astype(np.int32),
            values[queries, places],
            (places + 1).astype(np.int32),
            np.array(targets),
            dropped,
        )

    def finish(self, kept: Sequence[QueryRows], labels: AnyArray) -> PerQuery:
        """Return what was kept of all queries, given the labels of the training points."""
        values, points, ranks, targets = (
            np.concatenate([getattr(rows, name) for rows in kept]) for name in ("values", "points", "ranks", "targets")
        )
        starts = np.concatenate([[0], *(rows.sizes for rows in kept)]).cumsum()
        return PerQuery(
            sparse.csr_array((values, points, starts), shape=(len(starts) - 1, len(labels))),
            ranks,
            np.array(labels),
            targets,
            self._classes,
            self._k,
            max(rows.largest_dropped for rows in kept),
        )
