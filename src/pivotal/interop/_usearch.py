"""Vectors in an index of usearch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pivotal.core.types import AnyArray
from pivotal.interop._stored_vectors import Content, StoredMetric, StoredNeighbors

_METRICS: Final[dict[str, StoredMetric]] = {"L2sq": "euclidean", "Cos": "cosine"}


class USearchNeighbors(StoredNeighbors):
    """Neighbours from an index of usearch, by the metric that it is made with.

    Parameters
    ----------
    index : usearch.index.Index
        With the metric l2sq or cos. Keys are integers; rows are in their order.
    vectors : array of shape (n_rows, length), optional
        The vectors before the index made them smaller, in the order of keys, where it holds them in less than single
        precision. Without them, those in the index are taken.
    exact : bool, default=True
        Whether every vector is compared, rather than the graph followed. An index in less than single precision is
        not exact for the vectors that it was made of.
    """

    def __init__(self, index: Any, *, vectors: Any = None, exact: bool = True) -> None:
        kind = getattr(index.metric, "name", str(index.metric))
        if kind not in _METRICS:
            raise ValueError(f"the index must measure by l2sq or cos; it does by {kind}.")
        rounded = getattr(index.dtype, "name", str(index.dtype)) not in ("F32", "F64")
        super().__init__(_METRICS[kind], exact=exact and not (rounded and vectors is not None))
        self._index, self._given, self._exhaustive = index, vectors, exact

    def _read(self) -> Content:
        keys = np.sort(np.asarray(self._index.keys))
        vectors = self._index.get(keys) if self._given is None else self._given
        stored = np.asarray(vectors)
        if len(stored) != len(keys):
            raise ValueError(f"vectors must be as many as the index holds, {len(keys)}; got {len(stored)}.")
        return Content(keys, stored.astype(np.float32) if stored.dtype != np.float64 else stored, {})

    def _nearest(self, queries: AnyArray, depth: int) -> Sequence[Sequence[Any]]:
        answer = self._index.search(queries, depth, exact=self._exhaustive)
        keys = np.asarray(answer.keys).reshape(len(queries), -1)
        counts = np.broadcast_to(getattr(answer, "counts", keys.shape[1]), len(queries))
        return [row[:count].tolist() for row, count in zip(keys, counts, strict=True)]
