"""The nearest rows of every row: searched once, for all who want to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pivotal.core.semivalues import Banzhaf
from pivotal.core.types import FloatArray, IndexArray
from pivotal.neighbors import Index, blocks
from pivotal.neighbors.brute import Neighbors

__all__ = ["KnownNeighbors", "Progress", "needed_neighbors"]

Progress = Callable[[float], None]
"""Receives the share of the work that is done, from 0 to 1."""

_TOLERANCE: Final = 1e-12  # what neighbours that are not looked at can add to a value
_SHOWN: Final = 8  # neighbours that a page shows, at least
_SPARE: Final = 8  # ranks kept beyond those needed, for rows that are dropped; and an eighth of those needed


def needed_neighbors(k: int, n_rows: int) -> int:
    """Return how many neighbours count when k of them vote."""
    most = n_rows - 1
    return max(min(_SHOWN, most), Banzhaf().depth(min(k, most), _TOLERANCE, most))


class KnownNeighbors(Index):
    """Remembers the lists of all rows, so that finding label errors and following edits take one search.

    Parameters
    ----------
    index : Index
        Finds them, and whatever is asked for beyond them.
    k : int
        Number of neighbours that vote.
    progress : callable, optional
        Told how far the search is.

    Attributes
    ----------
    lists : int32 array of shape (n_rows, width)
        Nearest others of each row, nearest first: those needed and some more.
    """

    def __init__(self, index: Index, k: int, *, progress: Progress | None = None) -> None:
        self._inner = index
        self.n_train, self.exact = index.n_train, index.exact
        needed = needed_neighbors(k, index.n_train)
        width = min(index.n_train - 1, needed + _SPARE + needed // 8)
        self.lists: npt.NDArray[np.int32] = np.empty((index.n_train, width), np.int32)
        self._distances: FloatArray | None = np.empty((index.n_train, width))
        for part in blocks(index.n_train, index.block_size(width)):
            self.lists[part], self._distances[part] = index.search_self(part.start, part.stop, width)
            if progress is not None:
                progress(part.stop / index.n_train)

    def forget_distances(self) -> None:
        """Keep the lists alone, which is all that edits need: a third of the memory."""
        self._distances = None

    def search_self(self, start: int, stop: int, depth: int) -> Neighbors:
        """Return the nearest others of the rows start, ..., stop - 1; from memory if the lists are long enough."""
        if self._distances is None or depth > self.lists.shape[1]:
            return self._inner.search_self(start, stop, depth)
        return self.lists[start:stop, :depth].astype(np.int64), self._distances[start:stop, :depth].copy()

    def search_rows(self, rows: IndexArray, depth: int) -> Neighbors:
        """Return the nearest others of some rows."""
        if self._distances is None or depth > self.lists.shape[1]:
            return self._inner.search_rows(rows, depth)
        return self.lists[rows, :depth].astype(np.int64), self._distances[rows, :depth]

    def search(self, queries: Any, depth: int) -> Neighbors:
        """Return the nearest rows of any queries."""
        return self._inner.search(queries, depth)

    def search_radius(self, *what: Any, **how: Any) -> Any:
        """Return the rows within a radius."""
        return self._inner.search_radius(*what, **how)

    def search_radius_self(self, *what: Any, **how: Any) -> Any:
        """Return the others within a radius."""
        return self._inner.search_radius_self(*what, **how)

    def _find(self, queries: Any, depth: int) -> Neighbors:
        return self._inner.search(queries, depth)
