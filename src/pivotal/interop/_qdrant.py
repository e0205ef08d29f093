"""Vectors in a collection of Qdrant: in memory, in a folder, or on a server."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pivotal.core.extras import needed
from pivotal.core.types import AnyArray
from pivotal.interop._stored_vectors import Content, StoredMetric, StoredNeighbors, as_columns

_PAGE: Final = 1000  # points read, and queries asked, at a time
_DISTANCES: Final[dict[str, StoredMetric]] = {"Euclid": "euclidean", "Cosine": "cosine"}


class QdrantNeighbors(StoredNeighbors):
    """Neighbours from a collection of Qdrant, by the distance that the collection is made with.

    Parameters
    ----------
    client : QdrantClient
        Of a server, or of a folder or the memory of this process.
    collection : str
        Its name; the distance must be Euclid or Cosine.
    vector : str, optional
        Which of several vectors of a point.
    exact : bool, default=True
        Whether every vector is compared, rather than the index asked.
    """

    def __init__(self, client: Any, collection: str, *, vector: str | None = None, exact: bool = True) -> None:
        self._client, self._collection, self._vector = client, collection, vector
        settings = client.get_collection(collection).config.params.vectors
        if isinstance(settings, dict):
            if vector not in settings:
                names = ", ".join(map(repr, settings))
                raise ValueError(f"vector must name one of the vectors of {collection!r}, {names}; got {vector!r}.")
            settings = settings[vector]
        kind = settings.distance.value
        if kind not in _DISTANCES:
            raise ValueError(f"the collection {collection!r} must measure by Euclid or Cosine; it does by {kind}.")
        super().__init__(_DISTANCES[kind], exact=exact)

    def _read(self) -> Content:
        points: list[Any] = []
        after = None
        while True:
            page, after = self._client.scroll(
                self._collection, limit=_PAGE, offset=after, with_vectors=True, with_payload=True
            )
            points += page
            if after is None:
                break
        vectors = [point.vector if self._vector is None else point.vector[self._vector] for point in points]
        keys = np.array([point.id for point in points])
        return Content(keys, np.array(vectors, dtype=np.float32), as_columns([point.payload for point in points]))

    def _nearest(self, queries: AnyArray, depth: int) -> Sequence[Sequence[Any]]:
        with needed("Qdrant needs qdrant-client", "qdrant"):
            from qdrant_client import models
        how = models.SearchParams(exact=self.exact)
        found: list[Sequence[Any]] = []
        for start in range(0, len(queries), _PAGE):
            asked = [
                models.QueryRequest(query=query.tolist(), using=self._vector, limit=depth, params=how)
                for query in queries[start : start + _PAGE]
            ]
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Local mode performs exact")  # which is what is asked for
                answers = self._client.query_batch_points(self._collection, requests=asked)
            found += [[point.id for point in answer.points] for answer in answers]
        return found
