"""Vectors that live in a database or an index: what all adapters share.

A store is asked for candidates, a few more than wanted; their distances are computed here, in double precision, from
the vectors that the store holds. So the order of neighbours does not hang on the arithmetic of the store, which is that
of single precision, and ties are in order of rows as they are everywhere else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from pivotal.core.types import AnyArray, FloatArray, IndexArray

StoredMetric = Literal["euclidean", "cosine"]
_MARGIN: Final = 16  # candidates beyond those that are wanted


class Content(NamedTuple):
    """What a store holds, row by row."""

    keys: AnyArray
    vectors: AnyArray
    columns: dict[str, AnyArray]


class StoredNeighbors(ABC):
    """Neighbours from where the vectors live; pass it as `neighbors=` of `pivotal.value`.

    Parameters
    ----------
    metric : {"euclidean", "cosine"}
        The distance; name the same as `metric=` of the valuation.
    exact : bool
        Whether the store compares a query with every vector. What it says is checked on a sample of queries.

    Attributes
    ----------
    keys : array of shape (n_rows,)
        What the store calls its rows, in the order of rows.
    """

    def __init__(self, metric: StoredMetric = "euclidean", *, exact: bool = True) -> None:
        if metric not in ("euclidean", "cosine"):
            raise ValueError(f"metric must be euclidean or cosine; got {metric!r}.")
        self.metric, self.exact = metric, exact

    @abstractmethod
    def _read(self) -> Content:
        """Return all that is stored."""

    @abstractmethod
    def _nearest(self, queries: AnyArray, depth: int) -> Sequence[Sequence[Any]]:
        """Return the keys of the nearest rows of each query, as many as were found."""

    @cached_property
    def _content(self) -> Content:
        content = self._read()
        if content.vectors.ndim != 2 or not len(content.keys):
            raise ValueError(f"{type(self).__name__} must hold at least one vector, all of one length; it does not.")
        return content

    @cached_property
    def _places(self) -> dict[Any, int]:
        places = {_plain(key): place for place, key in enumerate(self._content.keys)}
        if len(places) < len(self._content.keys):
            raise ValueError(f"{type(self).__name__} must have a key of its own for every row; some occur twice.")
        return places

    @cached_property
    def _rows(self) -> FloatArray:
        return self._comparable(self._content.vectors)

    def _comparable(self, vectors: AnyArray) -> FloatArray:
        """Return vectors to compare in double precision, of length 1 where angles count."""
        rows = np.asarray(vectors, dtype=np.float64)
        if self.metric != "cosine":
            return rows
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(lengths > 0.0, lengths, 1.0))

    def __len__(self) -> int:
        return len(self._content.keys)

    @property
    def keys(self) -> AnyArray:
        """What the store calls its rows."""
        return self._content.keys

    def vectors(self) -> AnyArray:
        """Return the vectors, in the order of `keys`."""
        return self._content.vectors

    def column(self, name: str) -> AnyArray:
        """Return what else is stored with the rows, such as their labels, in the order of `keys`."""
        if name not in self._content.columns:
            there = ", ".join(map(repr, self._content.columns)) or "none"
            raise ValueError(f"{type(self).__name__} has no column {name!r}; it has {there}.")
        return self._content.columns[name]

    def search(self, queries: Any, depth: int) -> tuple[IndexArray, FloatArray]:
        """Return rows and distances of the nearest of each query, nearest first.

        Parameters
        ----------
        queries : array of shape (n_queries, length)
        depth : int
            How many neighbours.

        Raises
        ------
        ValueError
            If the store finds fewer, as approximate indexes may.
        """
        asked = np.asarray(queries)
        found = self._nearest(np.ascontiguousarray(asked, dtype=np.float32), min(len(self), depth + _MARGIN))
        points = self._comparable(asked)
        indices = np.empty((len(points), depth), dtype=np.int64)
        distances = np.empty((len(points), depth))
        for place, (query, keys) in enumerate(zip(points, found, strict=True)):
            if len(keys) < depth:
                raise ValueError(
                    f"{type(self).__name__} found {len(keys)} of {depth} neighbours; let the index search harder."
                )
            rows = np.sort(np.array([self._places[_plain(key)] for key in keys], dtype=np.int64))
            steps = self._rows[rows] - query
            squares = np.einsum("ij,ij->i", steps, steps)
            # Of vectors of length 1, half the squared distance is one less the cosine of their angle.
            gaps = squares / 2.0 if self.metric == "cosine" else np.sqrt(squares)
            order = np.argsort(gaps, kind="stable")[:depth]
            indices[place], distances[place] = rows[order], gaps[order]
        return indices, distances


def _plain(key: Any) -> Any:
    return key.item() if isinstance(key, np.generic) else key


def as_columns(records: Sequence[dict[str, Any] | None]) -> dict[str, AnyArray]:
    """Return records as columns; None where one has no such entry."""
    names = dict.fromkeys(name for record in records for name in record or {})
    columns: dict[str, AnyArray] = {}
    for name in names:
        cells = [(record or {}).get(name) for record in records]
        plain = None not in cells and all(isinstance(cell, str | bool | int | float) for cell in cells)
        if plain and len({type(cell) for cell in cells}) == 1:
            columns[name] = np.array(cells)
        else:
            columns[name] = np.empty(len(cells), dtype=object)
            columns[name][:] = cells
    return columns
