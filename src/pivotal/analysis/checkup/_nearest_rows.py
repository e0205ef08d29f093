"""The one search of a check-up: lists that are found once and kept, whoever asks."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pivotal.core.progress import tqdm
from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.neighbors import Index, blocks
from pivotal.neighbors.brute import Neighbors

__all__ = ["KEPT", "N_NEAR", "KeptLists", "vote"]

KEPT: Final = 64  # neighbours of each row that are remembered
N_NEAR: Final = 10  # neighbours that distances are judged by
_CELLS: Final = 2**22  # votes counted at once


class KeptLists(Index):
    """An index that searches the rows' own neighbours once.

    Whoever asks for lists gets them from another index, and the first `depth` of each are kept. Lists no longer than
    that are cut from what is kept when they are asked for again.

    Parameters
    ----------
    index : Index
        Searches.
    X : array or sparse matrix of shape (n_rows, n_features)
        The rows.
    depth : int
        How much of each list to keep.
    """

    def __init__(self, index: Index, X: Any, depth: int) -> None:
        super().__init__(X, 1)
        self._index, self.exact = index, index.exact
        self._indices = np.empty((self.n_train, depth), np.int32)
        self._distances = np.empty((self.n_train, depth))
        self._known = np.zeros(self.n_train, np.bool_)

    @property
    def depth(self) -> int:
        """How much of each list is kept."""
        return self._indices.shape[1]

    @property
    def indices(self) -> CodeArray:
        """Nearest rows of each row, nearest first; shape (n_rows, depth)."""
        return self._indices

    @property
    def distances(self) -> FloatArray:
        """Their distances."""
        return self._distances

    def search(self, queries: Any, depth: int) -> Neighbors:
        return self._index.search(queries, depth)

    def search_self(self, start: int, stop: int, depth: int) -> Neighbors:
        if depth <= self.depth and self._known[start:stop].all():
            near = self._indices[start:stop, :depth].astype(np.int64)
            return near, np.ascontiguousarray(self._distances[start:stop, :depth])
        indices, distances = self._index.search_self(start, stop, max(depth, self.depth))
        self._indices[start:stop] = indices[:, : self.depth]
        self._distances[start:stop] = distances[:, : self.depth]
        self._known[start:stop] = True
        return indices[:, :depth], distances[:, :depth]

    def search_rows(self, rows: IndexArray, depth: int) -> Neighbors:
        return self._index.search_rows(rows, depth)

    def block_size(self, depth: int, max_memory: int | None = None) -> int:
        return self._index.block_size(max(depth, self.depth), max_memory)

    def fill(self, max_memory: int | None, *, progress: bool) -> None:
        """Search what nobody has asked for yet."""
        with tqdm(total=self.n_train, unit="row", disable=not progress, desc="searching neighbours") as bar:
            for rows in blocks(self.n_train, self.block_size(self.depth, max_memory)):
                if not self._known[rows].all():
                    self.search_self(rows.start, rows.stop, self.depth)
                bar.update(rows.stop - rows.start)

    def _find(self, queries: Any, depth: int) -> Neighbors:
        return self._index.search(queries, depth)


def vote(near: CodeArray, codes: CodeArray, n_classes: int) -> CodeArray:
    """Return the class that most of the rows named in each list have; of several, that of the nearest.

    Parameters
    ----------
    near : int array of shape (n_rows, k)
        Lists of rows, nearest first.
    codes : int array
        Class codes of the rows.
    n_classes : int
    """
    n_rows, k = near.shape
    winner = np.empty(n_rows, np.int32)
    for rows in blocks(n_rows, max(1, _CELLS // (n_classes + k))):
        labels = codes[near[rows]]
        at = np.arange(len(labels))[:, np.newaxis]
        counts = np.zeros((len(labels), n_classes), np.int32)
        np.add.at(counts, (at, labels), 1)
        winner[rows] = labels[at[:, 0], counts[at, labels].argmax(axis=1)]  # the first of those with the most votes
    return winner
