"""Vectors in a collection of Chroma."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pivotal.core.types import AnyArray
from pivotal.interop._stored_vectors import Content, StoredMetric, StoredNeighbors, as_columns

_PAGE: Final = 1000
_SPACES: Final[dict[str, StoredMetric]] = {"l2": "euclidean", "cosine": "cosine"}


class ChromaNeighbors(StoredNeighbors):
    """Neighbours from a collection of Chroma, whose index is approximate: the values say how many were found.

    Parameters
    ----------
    collection : chromadb Collection
        Made with the space l2, which is the default, or cosine.
    """

    def __init__(self, collection: Any) -> None:
        settings = collection.configuration_json or {}
        indexes = [settings.get("hnsw"), settings.get("spann")]
        space = next((index["space"] for index in indexes if index and index.get("space")), "l2")
        if space not in _SPACES:
            raise ValueError(f"the collection {collection.name!r} must measure by l2 or cosine; it does by {space}.")
        super().__init__(_SPACES[space], exact=False)
        self._collection = collection

    def _read(self) -> Content:
        keys: list[str] = []
        vectors: list[AnyArray] = []
        records: list[Any] = []
        while len(keys) < self._collection.count():
            page = self._collection.get(limit=_PAGE, offset=len(keys), include=["embeddings", "metadatas"])
            if not page["ids"]:
                break
            keys += page["ids"]
            vectors.append(np.asarray(page["embeddings"], dtype=np.float32))
            records += page["metadatas"]
        stacked = np.concatenate(vectors) if vectors else np.empty((0, 0), dtype=np.float32)
        return Content(np.array(keys), stacked, as_columns(records))

    def _nearest(self, queries: AnyArray, depth: int) -> Sequence[Sequence[Any]]:
        found: list[Sequence[Any]] = []
        for start in range(0, len(queries), _PAGE):
            some = queries[start : start + _PAGE]
            found += self._collection.query(query_embeddings=some, n_results=depth, include=[])["ids"]
        return found
