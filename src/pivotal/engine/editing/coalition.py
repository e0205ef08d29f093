"""A coalition that points enter and leave, and what every other point would add to it.

Where `EditableEngine` values the points that are there, over all coalitions of them, here one coalition is asked what
each point outside adds: its value as the last to join, soft label, averaged over k = 1..K. Both keep what the queries
say and ask again only those that an edit changes.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.kernels.coalition_arrays import NeighborArrays, Standing


def shares_of_places(k: int) -> FloatArray:
    """Return what the j-th nearest member counts when the soft vote is averaged over 1 to k neighbours.

    Examples
    --------
    >>> shares_of_places(2)
    array([0.75, 0.25])
    """
    shares: FloatArray = np.cumsum(1.0 / np.arange(k, 0, -1.0))[::-1] / k
    return np.ascontiguousarray(shares)


class Coalition:
    """Members, and exact gains of all others, over 1 to k neighbours.

    `points`, int32 (n_queries, length), lists the nearest training points of each query, nearest first; -1 behind the
    last of a list. With all points on every list, gains are exact; with fewer, members behind the end of a list count
    as missing. `codes` and `targets` are classes. `absent`, shape (n_queries,), is the vote of a neighbour that a query
    does not have, as there are fewer than k.
    """

    def __init__(
        self,
        points: CodeArray,
        codes: CodeArray,
        targets: CodeArray,
        *,
        k: int,
        absent: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        from pivotal.kernels.exchange import begin

        n_train, n_queries = len(codes), len(targets)
        points = np.ascontiguousarray(points, dtype=np.int32)
        self.lists = NeighborArrays(
            points,
            *_entries(points, n_train),
            np.ascontiguousarray(codes, dtype=np.int32),
            np.ascontiguousarray(targets, dtype=np.int32),
            np.ones(n_queries) if weights is None else np.ascontiguousarray(weights, dtype=np.float64),
            np.ascontiguousarray(absent, dtype=np.float64),
            shares_of_places(k),
        )
        self.now = Standing(
            np.zeros(n_train, np.bool_),
            np.zeros((n_queries, k), np.int32),
            np.zeros(n_queries, np.int32),
            np.zeros((n_queries, k)),
            np.zeros((n_queries, k, 2)),
            np.zeros(n_train),
        )
        begin(self.lists, self.now)

    @property
    def members(self) -> IndexArray:
        """Members, in order of index."""
        return np.flatnonzero(self.now.members)

    @property
    def gains(self) -> FloatArray:
        """What each point adds to the utility, summed over the queries; of members, what they would add again."""
        from pivotal.kernels.exchange import gain_of

        gains = self.now.gains.copy()
        for member in self.members:  # a member's own place is taken: without it, its gain is another one
            self.leave(int(member))
            gains[member] = gain_of(self.lists, self.now, int(member))
            self.enter(int(member))
        return gains

    @property
    def utility(self) -> float:
        """Utility of the coalition, summed over the queries."""
        from pivotal.kernels.exchange import total_utility

        return float(total_utility(self.lists, self.now))

    def enter(self, *points: int) -> Self:
        """Let points become members."""
        from pivotal.kernels.exchange import enter

        for point in points:
            enter(self.lists, self.now, point)
        return self

    def leave(self, *points: int) -> Self:
        """Let members go."""
        from pivotal.kernels.exchange import leave

        for point in points:
            leave(self.lists, self.now, point)
        return self


def _entries(points: CodeArray, n_train: int) -> tuple[IndexArray, CodeArray, CodeArray]:
    """Return for each training point the queries on whose lists it stands, and its ranks there."""
    from pivotal.kernels.exchange import count_entries, place_entries

    starts = np.zeros(n_train + 1, np.int64)
    count_entries(points, starts[1:])
    np.cumsum(starts, out=starts)
    queries, ranks = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int32)
    place_entries(points, starts[:-1].copy(), queries, ranks)
    return starts, queries, ranks
