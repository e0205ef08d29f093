"""What the kernels for owners are handed, bundled: it loads without a compiler."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pivotal.core.types import CodeArray, FloatArray, IndexArray

VOTES = 4  # the kind of game that knows a coalition by the votes of each class; the others are in `_samples`
# Games of retrieval: the sum of discounted terms, the discount of the first term above 0, the largest term.
DISCOUNTED, FIRST, BEST = 5, 6, 7


class Rules(NamedTuple):
    """Utility of a coalition."""

    kind: int
    """LEAD, SHARE, COUNT or ERROR, as in `sampling_sums`, or VOTES, as in `sampling_votes`."""

    k: int
    """Number of neighbours that vote."""

    rule: float
    """The threshold of a lead, or k."""

    scale: float
    """What earnings are multiplied with."""

    rivals: int
    """Wrong classes, shown or not."""

    pairs: bool
    """Whether each wrong class plays a game of its own from which all third classes are omitted."""

    plurality: bool
    """Whether the right class must beat all others at once."""

    discounts: FloatArray = np.empty(0)
    """Games of retrieval: what places count, shape (k,)."""


class Owned(NamedTuple):
    """The neighbours of some queries, nearest first, and whose they are."""

    owners: CodeArray
    """Owner of each neighbour, shape (n_queries, depth)."""

    lengths: IndexArray
    """How many neighbours of each query are looked at, shape (n_queries,)."""

    terms: FloatArray
    """What each neighbour adds to the two sums, shape (n_queries, 2, depth); depth 0 where votes are counted."""

    slots: CodeArray
    """Class of each neighbour, 0 for the right one; depth 0 where neither votes nor pairs of classes are counted."""

    votes: CodeArray
    """Votes of each neighbour; depth 0 where they are in the terms."""

    empty: FloatArray
    """Utility of the empty set, shape (n_queries,)."""

    def part(self, queries: slice | IndexArray) -> Owned:
        """Some of the queries."""
        return Owned(
            self.owners[queries],
            self.lengths[queries],
            self.terms[queries],
            self.slots[queries],
            self.votes[queries],
            self.empty[queries],
        )


class OwnerScratch(NamedTuple):
    """Memory of one thread."""

    playing_ranks: IndexArray
    """Ranks that play; shape (depth,)."""

    status: IndexArray
    """Of each owner: not known yet, in or out; shape (n_owners,), 0 between games."""

    known: IndexArray
    """Owners whose status is known; shape (n_owners,)."""

    heads: IndexArray
    """Nearest rank of each owner; shape (n_owners,)."""

    nexts: IndexArray
    """The next rank of the same owner, for each rank; shape (depth,)."""

    decision_stack: IndexArray
    """Where each owner was decided on: seat, and members so far; shape (2, n_owners + 1)."""

    sums: FloatArray
    """Sums over what lies beyond each decision; shape (2, n_owners + 1)."""

    members: IndexArray
    """Nearest points of a coalition; shape (k,)."""

    others: IndexArray
    """The same, before an owner joins; shape (k,)."""

    totals: FloatArray
    """The two sums over the nearest members, for each number of them; shape (2, k + 1), the first 0."""

    vote_counts: FloatArray
    """Votes of the classes: shape (n_classes + 1,), zero between coalitions."""
