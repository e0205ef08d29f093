"""Votes of the rows that share a leaf, under labels that change and rows that go and come back.

The trees stay as they were grown. An edit changes what is voted in the leaves that the edited rows are in, one of each
tree: what these leaves said is subtracted, and what they say now is added.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pivotal.analysis.label_errors._leaves import Leaves
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray


class EditableLeaves:
    """Votes in the leaves of a forest, as in `ask_leaves`, under edits: `votes` is written to."""

    def __init__(self, places: Leaves, votes: FloatArray, codes: CodeArray) -> None:
        self.votes = votes
        self._leaves, self._copies = places
        self._codes, self._alive = codes.copy(), np.ones(len(codes), np.bool_)
        self._shares = 1.0 / np.maximum((self._copies == 0).sum(axis=0), 1)

    def edit(self, rows: IndexArray, codes: CodeArray, alive: npt.NDArray[np.bool_], n_classes: int) -> IndexArray:
        """As `EditableVoters.edit`, for these votes."""
        if n_classes > self.votes.shape[1]:
            self.votes = np.pad(self.votes, ((0, 0), (0, n_classes - self.votes.shape[1])))
        old = self._codes[rows], self._alive[rows]
        touched = np.zeros(len(self._codes), np.bool_)
        for leaves, copies in zip(self._leaves, self._copies, strict=True):
            members, groups = _members(leaves, rows)
            before = self._votes_in(members, groups, copies)
            self._codes[rows], self._alive[rows] = codes, alive
            self.votes[members] += self._votes_in(members, groups, copies) - before
            self._codes[rows], self._alive[rows] = old
            touched[members] = True
        self._codes[rows], self._alive[rows] = codes, alive
        return np.flatnonzero(touched)

    def _votes_in(self, members: IndexArray, groups: IndexArray, copies: AnyArray) -> FloatArray:
        """Return the votes of all rows of some leaves in one tree; shape (n_members, n_classes)."""
        n_classes, n_groups = self.votes.shape[1], int(groups.max()) + 1
        there = self._alive[members]
        drawn = copies[members] * there.astype(np.float64)
        outside = np.where((copies[members] == 0) & there, self._shares[members], 0.0)
        cells = groups * n_classes + self._codes[members]

        def gather(weights: FloatArray) -> FloatArray:
            sums: FloatArray = np.bincount(cells, weights, n_groups * n_classes).astype(np.float64, copy=False)
            return sums.reshape(n_groups, n_classes)

        inside_votes, outside_votes = gather(drawn), gather(outside)
        # A leaf whose residents are all dropped says nothing.
        per_resident = 1.0 / np.maximum(inside_votes.sum(axis=1), 1.0)
        received = inside_votes[groups] * (outside * per_resident[groups])[:, np.newaxis]
        cast: FloatArray = outside_votes[groups] * (drawn * per_resident[groups])[:, np.newaxis]
        cast += received
        return cast


def _members(leaves: AnyArray, rows: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return all rows in the leaves that some rows are in, and a number for the leaf of each."""
    if len(rows) == 1:
        members = np.flatnonzero(leaves == leaves[rows[0]])
        return members, np.zeros(len(members), np.int64)
    found = np.unique(leaves[rows])
    number = np.full(int(leaves.max()) + 1, -1, np.int64)
    number[found] = np.arange(len(found))
    members = np.flatnonzero(number[leaves] >= 0)
    return members, number[leaves[members]]
