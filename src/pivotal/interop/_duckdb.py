"""Vectors in a table of DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pivotal.core.types import AnyArray
from pivotal.interop._stored_vectors import Content, StoredMetric, StoredNeighbors

_FUNCTIONS: Final = {"euclidean": "array_distance", "cosine": "array_cosine_distance"}


class DuckDBNeighbors(StoredNeighbors):
    """Neighbours from a table of DuckDB with a column of arrays, FLOAT[n].

    All vectors are compared unless the table has an index of the extension vss, which is approximate.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        To the database.
    table : str
        Its name.
    vector, key : str
        Columns with the vectors, and with what names the rows.
    metric : {"euclidean", "cosine"}
        The distance.
    """

    def __init__(
        self,
        connection: Any,
        table: str,
        *,
        vector: str = "vector",
        key: str = "id",
        metric: StoredMetric = "euclidean",
    ) -> None:
        indexes = connection.execute(
            "select count(*) from duckdb_indexes() where table_name = ? and sql ilike '%using hnsw%'", [table]
        ).fetchone()
        super().__init__(metric, exact=indexes[0] == 0)
        self._connection, self._table, self._vector, self._key = connection, *map(_quoted, (table, vector, key))

    def _read(self) -> Content:
        cells = self._connection.execute(f"select * from {self._table} order by {self._key}").df()
        named = {_quoted(name): name for name in cells.columns}
        vectors = np.array(cells[named[self._vector]].tolist(), dtype=np.float32)
        others = [name for quoted, name in named.items() if quoted not in (self._vector, self._key)]
        keys = cells[named[self._key]].to_numpy()
        return Content(keys, vectors, {name: cells[name].to_numpy() for name in others})

    def _nearest(self, queries: AnyArray, depth: int) -> Sequence[Sequence[Any]]:
        length = queries.shape[1]
        nearest = (
            f"select {self._key} from {self._table} "
            f"order by {_FUNCTIONS[self.metric]}({self._vector}, ?::float[{length}]) limit {depth}"
        )
        return [[row[0] for row in self._connection.execute(nearest, [query.tolist()]).fetchall()] for query in queries]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
