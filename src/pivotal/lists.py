"""Lists of neighbours: how long they must be, what it costs to leave out the points beyond them, and who votes how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Protocol

import numpy as np

from pivotal._types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.games import Game
from pivotal.semivalues import Semivalue
from pivotal.solvers import Block
from pivotal.weights import Weights, to_votes

__all__ = ["Lists", "Voters"]


class Voters:
    """Finds the neighbours of queries, as many as an engine wants, and how loud they vote.

    Parameters
    ----------
    engine : Engine or sampler
        Says how long lists should be.
    weights : Weights
        How votes fall with distance.
    k, bits, n_players : int
        Number of neighbours that vote, bits of a vote, points in the game of one query.
    """

    def __init__(self, engine: Judge, weights: Weights, *, k: int, bits: int, n_players: int) -> None:
        self._engine, self._weights, self._k, self._bits, self._n_players = engine, weights, k, bits, n_players
        self._needed = min(n_players, weights.depth(k))
        self._depth = engine.depth

    def of(
        self, search: Callable[[int], tuple[IndexArray, FloatArray]], targets: AnyArray
    ) -> tuple[IndexArray, CodeArray | None]:
        """Return the neighbours of some queries and their votes, None if all are alike.

        Parameters
        ----------
        search : callable
            Gives indices and distances of so many neighbours of each query.
        targets : int32 or float64 array of shape (n_queries,)
            True label of each query.
        """
        indices, distances = search(max(self._depth, self._needed))
        while not self._engine.suffices(indices[:, : self._depth], targets):
            # For the queries after these as well.
            self._depth = min(2 * self._depth, self._n_players)
            indices, distances = search(max(self._depth, self._needed))
        votes = None
        if self._weights.weighted:
            votes = to_votes(self._weights(distances, self._k), self._bits)[:, : self._depth]
        return indices[:, : self._depth], votes


class Judge(Protocol):
    """What knows how long lists should be."""

    depth: int

    def suffices(self, indices: IndexArray, targets: AnyArray) -> bool:
        """Return whether these lists are long enough."""


class Lists:
    """How long lists of neighbours must be, and what leaving out the points beyond them costs.

    Parameters
    ----------
    labels, game, semivalue, k, n_classes, n_players, most, tol, votes_fall, members
        As in `pivotal.engine.Engine`.

    Attributes
    ----------
    depth : int
        How long lists should be.
    """

    def __init__(
        self,
        labels: AnyArray,
        game: Game,
        semivalue: Semivalue,
        *,
        k: int,
        n_classes: int,
        n_players: int,
        most: int,
        tol: float,
        votes_fall: bool = True,
        members: IndexArray | None = None,
    ) -> None:
        self._labels, self._semivalue, self._tol = labels, semivalue, tol
        self._k, self._n_classes, self._n_players = k, n_classes, n_players
        self._factor = game.truncation_factor(n_classes, votes_fall=votes_fall)
        self._top_k = game.sees_only_top_k(n_classes)
        depth = max(min(k, n_players), semivalue.depth(k, tol, n_players, self._factor))
        self.depth = min(most, depth if self._top_k else 4 * depth)
        self._members = self._count(labels) if members is None else members

    def with_labels(self, labels: AnyArray) -> Lists:
        """Return the same for points with other labels."""
        other = copy(self)
        other._labels, other._members = labels, self._count(labels)
        return other

    def suffice(self, indices: IndexArray, targets: AnyArray) -> bool:
        """Return whether these lists are long enough for the tolerance, or as long as can be."""
        if self._top_k or indices.shape[1] == self._n_players:
            return True
        return bool((self.dropped(Block(self._labels[indices], None, targets)) <= self._tol).all())

    def by_depth(self, block: Block) -> Iterator[tuple[int, slice | IndexArray]]:
        """Say how many neighbours each query needs: a matter of the query alone, so blocks make no difference."""
        width = block.labels.shape[1]
        if self._top_k:
            yield width, slice(None)
            return
        queries, depth = np.arange(len(block.targets)), min(self.depth, width)
        while depth < width:
            done = self.dropped(block.part(queries, depth)) <= self._tol
            if done.any():
                yield depth, queries[done]
            queries, depth = queries[~done], min(2 * depth, width)
        if queries.size:
            yield width, queries

    def dropped(self, block: Block) -> FloatArray:
        """Bound, for each query, on what the points beyond its list could have changed."""
        n_queries, depth = block.labels.shape
        if depth == self._n_players:
            return np.zeros(n_queries)
        reach = self._semivalue.reach(self._k, depth + 1)
        if self._top_k:
            return np.full(n_queries, self._factor * reach[depth - 1])
        # Each two-class game sees only its own two classes of the list.
        n_classes, queries = self._n_classes, np.arange(n_queries)
        cells = block.labels + n_classes * queries[:, np.newaxis]
        listed = np.bincount(cells.ravel(), minlength=n_classes * n_queries).reshape(-1, n_classes)
        seen = listed + listed[queries, block.targets][:, np.newaxis]
        all_there = self._members + self._members[block.targets][:, np.newaxis]
        lost = np.where(seen == all_there, 0.0, reach[np.clip(seen - 1, 0, depth)])
        lost[queries, block.targets] = 0.0
        mean: FloatArray = lost.sum(axis=1) / (n_classes - 1)
        return self._factor * mean

    def _count(self, labels: AnyArray) -> IndexArray:
        """Points of each class, where that matters."""
        return np.bincount([] if self._top_k else labels, minlength=self._n_classes)
