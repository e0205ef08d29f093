"""All points within a radius vote: what owners hold in the balls, and the game that they play with it.

Only two numbers of each owner matter to a query: how many of their points are in its ball, and how many of these are
right. So every owner is given two points, a right one and a wrong one, with as many votes as they stand for, and all
vote in a soft game: the share of the votes is the share of the points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from pivotal.core.games import Soft, Threshold
from pivotal.core.semivalues import Semivalue
from pivotal.core.spec import Spec
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.engine.owners.owner_game import OwnerGame, chance_table
from pivotal.engine.solver import Block
from pivotal.kernels.owner_arrays import Owned
from pivotal.neighbors import ApproximateIndex, Balls, Index
from pivotal.results.owner_codes import Owners

RIGHT, WRONG = 0, 1


class Holdings(NamedTuple):
    """What owners hold in the balls of some queries."""

    starts: IndexArray
    """Where each query starts; shape (n_queries + 1,)."""

    points: IndexArray
    """What stands for the points of an owner, twice the owner for the right ones and one more for the wrong ones."""

    votes: CodeArray
    """How many they are, at least 1."""

    sizes: IndexArray
    """Number of points in each ball."""

    max_present: int
    """Most owners in a ball."""

    @staticmethod
    def of(balls: Iterable[Balls], owners: Owners, labels: AnyArray, targets: AnyArray) -> Holdings:
        """Count the balls of all queries, which come in their order, some at a time."""
        n_owners, done, max_present = len(owners.names), 0, 0
        lengths, points, votes, sizes = ([np.empty(0, np.int64)] for _ in range(4))
        for some in balls:
            n_queries = len(some.sizes)
            query = np.repeat(np.arange(n_queries), some.sizes)
            wrong = labels[some.members] != targets[done + query]
            # Those of a query side by side, and there those of an owner.
            held, counts = np.unique(2 * (n_owners * query + owners.codes[some.members]) + wrong, return_counts=True)
            present = np.bincount(np.unique(held // 2) // n_owners, minlength=1)
            max_present = max(max_present, int(present.max()))
            lengths.append(np.bincount(held // (2 * n_owners), minlength=n_queries))
            points.append(held % (2 * n_owners))
            votes.append(counts)
            sizes.append(some.sizes)
            done += n_queries
        starts = np.concatenate(([0], np.cumsum(np.concatenate(lengths))))
        return Holdings(
            starts, np.concatenate(points), np.concatenate(votes).astype(np.int32), np.concatenate(sizes), max_present
        )

    @property
    def targets(self) -> CodeArray:
        """The class that all queries ask for."""
        return np.full(len(self.sizes), RIGHT, np.int32)

    def lists(self, queries: slice) -> tuple[IndexArray, CodeArray]:
        """Return the points that have votes, and the votes, of a slice of the queries; what fills the rows has none."""
        starts = self.starts[queries.start : queries.stop + 1]
        lengths, listed = np.diff(starts), slice(starts[0], starts[-1])
        taken = np.arange(max(1, lengths.max())) < lengths[:, np.newaxis]
        indices, votes = np.zeros(taken.shape, np.int64), np.zeros(taken.shape, np.int32)
        indices[taken], votes[taken] = self.points[listed], self.votes[listed]
        return indices, votes

    def summary(self) -> dict[str, Any]:
        """What the settings say of the balls."""
        return {
            "mean_ball": float(self.sizes.mean()),
            "largest_ball": int(self.sizes.max()),
            "n_empty_balls": int((self.sizes == 0).sum()),
        }


class BallGame(OwnerGame):
    """A game of all points within a radius, whose players are owners.

    Its `game` is the soft one, its `labels` those of the two points of each owner, and its `k` lets all of them vote.
    """

    def __init__(
        self, game: Threshold, semivalue: Semivalue, owners: Owners, holdings: Holdings, n_classes: int
    ) -> None:
        n_owners = len(owners.names)
        self.names, self.holdings, self.n_classes = owners.names, holdings, n_classes
        self.game, self.k = Soft(empty=game.empty), 2 * max(1, holdings.max_present)
        self.labels = np.tile(np.array([RIGHT, WRONG], np.int32), n_owners)
        twice = owners._replace(codes=np.repeat(np.arange(n_owners, dtype=np.int32), 2))
        spec = Spec.of(utility=self.game, semivalue=semivalue, k=self.k, tol=0.0)
        super().__init__(spec, twice, self.labels, n_classes)
        # An owner without a point in a ball changes nothing there: coalitions of the others are distinguished.
        self.looked_at = holdings.max_present

    @property
    def branches(self) -> int:
        return 1 << self.looked_at

    @property
    def chances(self) -> FloatArray:
        if self._chances is None:
            self._chances = chance_table(self._semivalue, self.looked_at, self.looked_at)
        return self._chances

    def own(self, indices: IndexArray, block: Block) -> Owned:
        owned = super().own(indices, block)
        # What fills a row is not looked at, or random draws would depend on how wide a block is.
        return owned._replace(lengths=np.count_nonzero(owned.terms[:, 1], axis=1).astype(np.int64))

    def dropped(self, indices: IndexArray, owned: Owned) -> FloatArray:
        return np.zeros(len(indices))  # balls are whole

    def too_many(self) -> str:
        return (
            f"{self.looked_at} owners with points in one ball make 2^{self.looked_at}. "
            'Use method="coalitions", or a smaller radius.'
        )


def search_balls(index: Index, queries: Any, game: Threshold, neighbors: str) -> Iterator[Balls]:
    """Return the balls of the queries, in their order; `neighbors` is what the user calls the index."""
    if isinstance(index, ApproximateIndex) and not index.exact:
        raise ValueError(
            f"{game} needs every point within the radius, and neighbors={neighbors!r} may miss some. "
            'Use neighbors="auto".'
        )
    return index.search_radius(queries, game.radius)
