"""Values of each query by itself, with the grades of its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.results.per_query import PerQuery, PerQueryRecorder, QueryRows
from pivotal.valuation.retrieval._judgements import Judgements

__all__ = ["RankingRecorder"]


class RankingRecorder(PerQueryRecorder):
    """Keeps the values of single queries, and the grades of the documents that have them.

    Parameters
    ----------
    k : int
        Number of documents that are retrieved; this many entries of every query are always kept.
    queries : array of shape (n_queries,)
        Names of the queries.
    judgements : Judgements
        Their grades; None where the players are groups of documents.
    max_memory : int or None
        Bytes that the entries may take, 1 GiB by default.
    """

    def __init__(self, k: int, queries: AnyArray, judgements: Judgements | None, max_memory: int | None) -> None:
        super().__init__(k, queries, max_memory)
        self._judgements = judgements

    def record(self, indices: IndexArray, values: FloatArray, targets: Any) -> QueryRows:
        return super().record(indices, values, np.zeros(len(targets), dtype=np.int32))

    def finish(self, kept: Sequence[QueryRows], labels: AnyArray) -> PerQuery:
        found = super().finish(kept, labels.astype(np.int32))
        rows = np.repeat(np.arange(found.matrix.shape[0]), np.diff(found.matrix.indptr))
        grades = np.zeros(len(rows))
        if self._judgements is not None and len(rows):
            grades = np.asarray(self._judgements.matrix[rows, found.matrix.indices], dtype=np.float64).ravel()
        return replace(found, targets=np.arange(found.matrix.shape[0], dtype=np.int32), grades=grades)
