"""Vectors in a table of LanceDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pivotal.core.types import AnyArray
from pivotal.interop._stored_vectors import Content, StoredMetric, StoredNeighbors


class LanceNeighbors(StoredNeighbors):
    """Neighbours from a table of LanceDB.

    Parameters
    ----------
    table : lancedb Table
        As `connection.open_table` returns it.
    vector, key : str
        Columns with the vectors, and with what names the rows.
    metric : {"euclidean", "cosine"}
        The distance.
    exact : bool, default=True
        Whether every vector is compared, rather than an index asked.
    """

    def __init__(
        self,
        table: Any,
        *,
        vector: str = "vector",
        key: str = "id",
        metric: StoredMetric = "euclidean",
        exact: bool = True,
    ) -> None:
        super().__init__(metric, exact=exact)
        self._table, self._vector, self._key = table, vector, key

    def _read(self) -> Content:
        cells = self._table.to_arrow()
        flat = cells.column(self._vector).combine_chunks()
        vectors = np.asarray(flat.flatten().to_numpy(zero_copy_only=False)).reshape(len(cells), -1)
        keys = cells.column(self._key).to_numpy(zero_copy_only=False)
        others = [name for name in cells.column_names if name not in (self._vector, self._key)]
        return Content(keys, vectors, {name: cells.column(name).to_numpy() for name in others})

    def _nearest(self, queries: AnyArray, depth: int) -> Sequence[Sequence[Any]]:
        found: list[Sequence[Any]] = []
        for query in queries:
            question = self._table.search(query, vector_column_name=self._vector)
            question = question.distance_type("l2" if self.metric == "euclidean" else "cosine")
            question = question.select([self._key, "_distance"]).limit(depth)
            question = question.bypass_vector_index() if self.exact else question
            found.append(question.to_arrow().column(self._key).to_pylist())
        return found
