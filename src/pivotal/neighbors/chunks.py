"""Exhaustive search of training points that do not fit into memory: chunk by chunk, lists merged exactly.

    file ──► chunk ──► engine of the chunk ──► lists of the chunk ──► merged into the lists so far
             (the next one is read meanwhile)

An engine (`_brute.py`) centres and scales its points to find candidates, which differs from chunk to chunk, and then
ranks them by distances that it computes from the rows as they are, feature by feature: those do not. So the merged
lists are, to the last bit, those of a search of all points at once.

The file is read once for each call of `search`, whatever the number of queries. Of `max_memory`, a half is for the
queries of a block and their lists on the way through the package (`block_size` says how many), a quarter for chunks,
and a quarter for what a search needs beside them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import numpy as np

from pivotal.core.sizes import as_bytes
from pivotal.core.types import FloatArray, IndexArray
from pivotal.core.validation import check_features, is_integer
from pivotal.neighbors._sources import Chunk, RowSource, open_source
from pivotal.neighbors.brute import DenseEuclidean, Neighbors, empty_result
from pivotal.neighbors.index import ENTRY_BYTES, Index, as_like
from pivotal.neighbors.lists import nearest_of
from pivotal.neighbors.metrics import MetricLike, Searcher, check_size, make_searcher

# What an entry of a list takes in a search: the list of the chunk, both lists in one with their order, a shortlist of
# twice the depth.
_SEARCH_BYTES = 16 + 2 * 32 + 2 * 20
# What a shortlist takes beyond that.
_SPARE_BYTES = 128 * 20

# Their parameters are estimated from all points together.
_ESTIMATED = {"seuclidean": {"V"}, "mahalanobis": {"V", "VI"}}


class ChunkedIndex(Index):
    """Compares every query with every training point, of which only a chunk is in memory at a time; exact.

    The answers are those of `BruteIndex`, to the last bit for Euclidean and cosine distances, whatever the chunks.

    Parameters
    ----------
    X : path-like, array or RowSource
        A .npy file, a .parquet file, a folder of .parquet files, or a memmap of shape (n_train, n_features).
    metric : str or callable, default="euclidean"
        Any metric that compares two rows. One that is estimated from all points, such as ``"mahalanobis"``, needs its
        parameters.
    metric_params : dict, optional
        Parameters of the metric.
    max_memory : int or str, default="1GiB"
        Memory to use, in bytes or as text such as ``"2GB"``. Small sizes mean more, smaller chunks and blocks of
        queries; below some 30 MB, what the library itself needs counts as well.
    chunk_rows : int, optional
        Training points per chunk; chosen from `max_memory` by default.
    n_jobs : int or None, default=-1
        Threads; -1 is one per processor. Another one reads ahead.

    Examples
    --------
    >>> import numpy as np
    >>> from pivotal.neighbors.chunks import ChunkedIndex
    >>> indices, distances = ChunkedIndex(np.array([[0.0], [1.0], [3.0]]), chunk_rows=2).search([[1.5], [9.0]], depth=2)
    >>> indices
    array([[1, 0],
           [2, 1]])
    >>> distances
    array([[0.5, 1.5],
           [6. , 8. ]])
    """

    exact: bool | None = True
    _rows_are_checked = False  # they are in a file
    _X: RowSource

    def __init__(
        self,
        X: Any,
        metric: MetricLike = "euclidean",
        *,
        metric_params: Mapping[str, Any] | None = None,
        max_memory: int | str | None = None,
        chunk_rows: int | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        super().__init__(open_source(X), n_jobs)
        check_metric(metric, metric_params)
        self._metric = metric
        self._metric_params = metric_params
        self._max_memory = as_bytes(max_memory)
        # The first row is enough to see what is wrong with a metric.
        self._euclidean = isinstance(make_searcher(self._X[:1], metric, metric_params, 1), DenseEuclidean)
        self._chunk_rows = self._choose_rows() if chunk_rows is None else _check_rows(chunk_rows)
        # If one chunk is all there is, it stays.
        self._whole: Searcher | None = None

    def block_size(self, depth: int, max_memory: int | None = None) -> int:
        """Return how many queries to ask at once: as many as memory allows, as the file is read for each block."""
        each = ENTRY_BYTES * depth + 16 * self._X.n_columns
        return max(1, self._max_memory // 2 // each)

    def search_self(self, start: int, stop: int, depth: int) -> Neighbors:
        """Return the `depth` nearest others of the training points start, ..., stop - 1, read a block at a time."""
        step = self.block_size(self._check_depth(depth, self.n_train - 1) + 1)
        if not 0 <= start < stop <= self.n_train or stop - start <= step:
            return super().search_self(start, stop, depth)
        indices, distances = empty_result(stop - start, depth)
        for first in range(start, stop, step):
            last = min(first + step, stop)
            own = slice(first - start, last - start)
            indices[own], distances[own] = super().search_self(first, last, depth)
        return indices, distances

    def _find(self, queries: Any, depth: int) -> Neighbors:
        indices, distances = empty_result(queries.shape[0], depth)
        found = 0
        with closing(self._engines()) as engines:
            for first, n_rows, engine in engines:
                max_rows = min(depth, n_rows)
                step = self._queries_at_once(n_rows, max_rows)
                for start in range(0, queries.shape[0], step):
                    part = slice(start, start + step)
                    near, far = engine.search(as_like(queries[part], self._X), max_rows, self._n_threads)
                    near += first
                    merge(indices[part], distances[part], found, near, far)
                found = min(depth, found + max_rows)
                del engine  # before the next chunk is read
        return indices, distances

    def _check_queries(self, queries: Any) -> Any:
        # As they are: they become float64 part by part.
        queries = check_features(queries, "queries", like=self._X)
        if self._euclidean:
            check_size(queries, "queries")
        return queries

    def _engines(self) -> Generator[tuple[int, int, Searcher]]:
        """Go through the chunks: number of the first row, number of rows, engine."""
        if self._whole is not None:
            yield 0, self.n_train, self._whole
            return
        with closing(_read_ahead(self._X.chunks(self._chunk_rows))) as chunks:
            for first, rows in chunks:
                n_rows = len(rows)
                engine = make_searcher(rows, self._metric, self._metric_params, self._n_threads)
                del rows
                if n_rows == self.n_train:
                    self._whole = engine
                yield first, n_rows, engine
                del engine

    def _choose_rows(self) -> int:
        """Rows per chunk: two chunks are held, and an engine's copy of one; nearly equal chunks."""
        n_columns = self._X.n_columns
        copies = 4 * (n_columns + 1) if self._euclidean else 24 * (n_columns + 1)
        max_rows = max(1, self._max_memory // 4 // (2 * n_columns * self._X.dtype.itemsize + copies))
        n_chunks = -(-self.n_train // max_rows)
        return -(-self.n_train // n_chunks)

    def _queries_at_once(self, n_rows: int, depth: int) -> int:
        """How many queries to search a chunk for, so that scratch memory and lists of the chunk are bounded."""
        budget = self._max_memory // 4
        size = budget // (_SEARCH_BYTES * depth + _SPARE_BYTES + 32 * self._X.n_columns)
        if not self._euclidean or 8 * depth > n_rows:
            # Whole rows of distances are computed.
            size = min(size, max(self._n_threads, budget // (8 * n_rows)))
        return max(1, size)


def merge(indices: IndexArray, distances: FloatArray, found: int, near: IndexArray, far: FloatArray) -> None:
    """Merge lists of a later chunk into the lists so far, of which there are `found` entries.

    Those are overwritten with the nearest of both, or all while they are fewer. Lists of the chunk are sorted by
    distance, then index, and their indices are above all those in the lists so far.
    """
    depth = indices.shape[1]
    if found == 0:
        indices[:, : near.shape[1]], distances[:, : far.shape[1]] = near, far
        return
    # Of equal distances the one in the lists has the lower index, and stays.
    better = np.flatnonzero(far[:, 0] < distances[:, depth - 1]) if found == depth else np.arange(len(far))
    if not better.size:
        return
    both_far = np.concatenate([distances[better, :found], far[better]], axis=1)
    both_near = np.concatenate([indices[better, :found], near[better]], axis=1)
    both_far, both_near = nearest_of(depth, both_far, both_near)
    distances[better, : both_far.shape[1]], indices[better, : both_near.shape[1]] = both_far, both_near


def _read_ahead(chunks: Iterator[Chunk]) -> Generator[Chunk]:
    """Read the next chunk in another thread while one is in use; two are in memory at a time."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="read-ahead")
    try:
        coming = pool.submit(next, chunks, None)
        while (chunk := coming.result()) is not None:
            coming = pool.submit(next, chunks, None)
            yield chunk
    finally:
        # An interrupted search should not wait for a slow disk.
        pool.shutdown(wait=False, cancel_futures=True)


def check_metric(metric: MetricLike, metric_params: Mapping[str, Any] | None) -> None:
    """Raise unless a metric can be computed from two rows, without a look at all the others."""
    if metric == "precomputed":
        raise ValueError(
            'metric="precomputed" needs its distances in memory; training points that are read in chunks need a metric '
            "that compares two rows. Load them first."
        )
    if isinstance(metric, str) and metric in _ESTIMATED and not _ESTIMATED[metric] & set(metric_params or {}):
        needed = " or ".join(sorted(_ESTIMATED[metric]))
        raise ValueError(
            f'metric="{metric}" is estimated from all training points, which are read in chunks here; '
            f"pass {needed} in metric_params."
        )


def _check_rows(chunk_rows: object) -> int:
    if is_integer(chunk_rows, minimum=1):
        return int(chunk_rows)
    raise ValueError(f"chunk_rows must be an integer of at least 1, or None; got {chunk_rows!r}.")
