"""Lists that are found once and kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pivotal.core.progress import tqdm
from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.neighbors._factory import blocks
from pivotal.neighbors.brute import Neighbors
from pivotal.neighbors.index import Index


class KeptLists(Index):
    """An index that searches the rows' own neighbours once.

    Lists come from another index, and the first `depth` of each are kept. Lists no longer than
    that are cut from what is kept when they are asked for again.

    Parameters
    ----------
    index : Index
        Searches.
    depth : int
        How much of each list to keep.

    Examples
    --------
    >>> from pivotal.neighbors import BruteIndex, KeptLists
    >>> kept = KeptLists(BruteIndex([[0.0], [1.0], [3.0]]), depth=2)
    >>> kept.fill()
    >>> kept.indices
    array([[1, 2],
           [0, 2],
           [1, 0]], dtype=int32)
    """

    def __init__(self, index: Index, depth: int) -> None:
        super().__init__(index.rows_held, 1)
        self._index, self.exact = index, index.exact
        self._indices: CodeArray = np.empty((self.n_train, depth), np.int32)
        self._distances: FloatArray | None = np.empty((self.n_train, depth))
        self._known = np.zeros(self.n_train, np.bool_)

    @property
    def depth(self) -> int:
        """How much of each list is kept."""
        return int(self._indices.shape[1])

    @property
    def indices(self) -> CodeArray:
        """Nearest rows of each row, nearest first; shape (n_rows, depth)."""
        return self._indices

    @property
    def distances(self) -> FloatArray:
        """Their distances."""
        if self._distances is None:
            raise ValueError("the distances were forgotten; search them again.")
        return self._distances

    def forget_distances(self) -> None:
        """Keep the lists alone, a third of the memory, once all are known; distances are searched again from now on."""
        self._distances = None

    def search(self, queries: object, depth: int) -> Neighbors:
        return self._index.search(queries, depth)

    def search_self(self, start: int, stop: int, depth: int) -> Neighbors:
        if self._distances is None:
            return self._index.search_self(start, stop, depth)
        if depth <= self.depth and self._known[start:stop].all():
            near = self._indices[start:stop, :depth].astype(np.int64)
            return near, np.ascontiguousarray(self._distances[start:stop, :depth])
        found = self._index.search_self(start, stop, max(depth, self.depth))
        self._keep(slice(start, stop), found)
        return found[0][:, :depth], found[1][:, :depth]

    def search_rows(self, rows: IndexArray, depth: int) -> Neighbors:
        if self._distances is not None and depth <= self.depth and self._known[rows].all():
            return self._indices[rows, :depth].astype(np.int64), self._distances[rows, :depth]
        return self._index.search_rows(rows, depth)

    def block_size(self, depth: int, max_memory: int | None = None) -> int:
        return self._index.block_size(max(depth, self.depth), max_memory)

    def fill(
        self,
        max_memory: int | None = None,
        *,
        progress: bool = False,
        on_progress: Callable[[float], object] | None = None,
    ) -> None:
        """Search what was not asked for yet, in the order in which that is fastest.

        Parameters
        ----------
        max_memory : int, optional
            Bytes that lists under way may take.
        progress : bool, default=False
            Whether to show a progress bar.
        on_progress : callable, optional
            Receives the share of the rows that are done.
        """
        walk = self._index.walk
        with tqdm(total=self.n_train, unit="row", disable=not progress, desc="searching neighbours") as bar:
            for part in blocks(self.n_train, self.block_size(self.depth, max_memory)):
                rows = part if walk is None else walk[part]
                if self._known[rows].all():
                    pass
                elif isinstance(rows, slice):
                    self.search_self(rows.start, rows.stop, self.depth)
                else:
                    self._keep(rows, self._index.search_rows(rows, self.depth))
                bar.update(part.stop - part.start)
                if on_progress is not None:
                    on_progress(part.stop / self.n_train)

    def _keep(self, rows: slice | IndexArray, found: Neighbors) -> None:
        assert self._distances is not None
        self._indices[rows], self._distances[rows] = found[0][:, : self.depth], found[1][:, : self.depth]
        self._known[rows] = True

    def _find(self, queries: object, depth: int) -> Neighbors:
        return self._index.search(queries, depth)
