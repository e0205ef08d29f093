"""Vectors in a table of PostgreSQL, by the extension pgvector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pivotal.core.extras import needed
from pivotal.core.types import AnyArray
from pivotal.interop._stored_vectors import Content, StoredMetric, StoredNeighbors

_LEAST, _MOST = 40, 1000  # that a graph of pgvector's may keep in mind
_OPERATORS: Final = {"euclidean": "<->", "cosine": "<=>"}


class PgVectorNeighbors(StoredNeighbors):
    """Neighbours from a table of PostgreSQL with a column of pgvector's type.

    Parameters
    ----------
    connection : psycopg Connection
        To a database with the extension `vector`.
    table : str
        Its name; with a schema as "schema.table".
    vector, key : str
        Columns with the vectors, and with what names the rows.
    columns : sequence of str
        Further columns to read, such as labels.
    metric : {"euclidean", "cosine"}
        The distance.
    exact : bool, default=True
        Whether every vector is compared, rather than an index asked.
    """

    def __init__(
        self,
        connection: Any,
        table: str,
        *,
        vector: str = "embedding",
        key: str = "id",
        columns: Sequence[str] = (),
        metric: StoredMetric = "euclidean",
        exact: bool = True,
    ) -> None:
        super().__init__(metric, exact=exact)
        with needed("pgvector needs psycopg", "pgvector"):
            from psycopg import sql
        self._connection, self._columns, self._sql = connection, list(columns), sql
        self._table = sql.Identifier(*table.split("."))
        self._vector, self._key = sql.Identifier(vector), sql.Identifier(key)
        with connection.cursor() as cursor:
            cursor.execute("select 1 from pg_extension where extname = 'vector'")
            if cursor.fetchone() is None:
                raise ValueError("the database must have the extension vector; say CREATE EXTENSION vector there.")

    def _read(self) -> Content:
        others = [self._sql.Identifier(name) for name in self._columns]
        query = self._sql.SQL("select {key}, {vector}::real[], {others} from {table} order by {key}").format(
            key=self._key,
            vector=self._vector,
            others=self._sql.SQL(", ").join([*others, self._sql.SQL("null")]),
            table=self._table,
        )
        with self._connection.cursor() as cursor:
            rows = cursor.execute(query).fetchall()
        columns = {name: np.array([row[2 + place] for row in rows]) for place, name in enumerate(self._columns)}
        vectors = np.array([row[1] for row in rows], dtype=np.float32)
        return Content(np.array([row[0] for row in rows]), vectors, columns)

    def _nearest(self, queries: AnyArray, depth: int) -> Sequence[Sequence[Any]]:
        nearest = self._sql.SQL("select {key} from {table} order by {vector} {by} %s::vector limit %s").format(
            key=self._key, table=self._table, vector=self._vector, by=self._sql.SQL(_OPERATORS[self.metric])
        )
        with self._connection.transaction(), self._connection.cursor() as cursor:
            if self.exact:  # for this transaction; an index of pgvector's is approximate
                cursor.execute("set local enable_seqscan = on")
                cursor.execute("set local enable_indexscan = off")
                cursor.execute("set local enable_bitmapscan = off")
            else:  # a graph finds no more than it keeps in mind, which is 40 by default
                cursor.execute(f"set local hnsw.ef_search = {min(_MOST, max(_LEAST, depth))}")
            found = []
            for query in queries:
                cursor.execute(nearest, (str(query.tolist()), depth))
                found.append([row[0] for row in cursor.fetchall()])
            return found
