"""Votes that rows give and receive, kept up to date.

As in `find_label_errors`, a neighbour votes for its own label, with its chance to be among the k nearest in a random
half of the rows, and as many votes the row casts on the neighbour. Votes are multiples of a small grain, so that sums
are exact: taking votes back leaves no trace, and ballots after any number of edits are, to the last bit, those of a
fresh count.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from pivotal.core.semivalues import Banzhaf
from pivotal.core.types import CodeArray, FloatArray, IndexArray

_GRAIN: Final = 2.0**-24


class RowVotes:
    """Votes for each class that every row has, received and cast on it, by the k nearest of `depth` neighbours."""

    def __init__(self, n_rows: int, n_classes: int, k: int, depth: int) -> None:
        self._votes = np.zeros((n_rows, n_classes))
        # By rank, without those that hardly ever count.
        weights: FloatArray = np.round(Banzhaf().reach(k, depth) / _GRAIN) * _GRAIN
        self._weights = weights[: max(1, int(np.count_nonzero(weights)))]

    def widen(self, n_classes: int) -> None:
        """Make room for classes that have joined."""
        more = n_classes - self._votes.shape[1]
        if more > 0:
            self._votes = np.pad(self._votes, ((0, 0), (0, more)))

    def add(self, queries: IndexArray, nearest: IndexArray, codes: CodeArray, sign: float) -> None:
        """Count the votes between some rows and their neighbours, or with the sign -1 take them back.

        `nearest` has the shape (n_queries, depth), nearest first; `codes` are the class codes of all rows.
        """
        counted = nearest[:, : len(self._weights)]
        n_classes, flat = self._votes.shape[1], self._votes.reshape(-1)
        votes = np.broadcast_to(sign * self._weights[: counted.shape[1]], counted.shape).ravel()
        own = queries[:, np.newaxis]
        np.add.at(flat, (own * n_classes + codes[counted]).ravel(), votes)
        np.add.at(flat, (counted * n_classes + codes[own]).ravel(), votes)

    def shares(self, rows: IndexArray) -> FloatArray:
        """Return the share of the votes for each class; shape (n_asked, n_classes)."""
        votes = self._votes[rows]
        # A row that was dropped has no votes, and none is divided by 0.
        shares: FloatArray = votes / np.maximum(votes.sum(axis=1, keepdims=True), _GRAIN)
        return shares
