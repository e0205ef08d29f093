"""Lists of neighbours: how long they must be, what it costs to omit the points beyond them, and how they vote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy

import numpy as np

from pivotal.core.spec import Spec
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.engine.game_shape import GameShape, GameSpec
from pivotal.engine.passes import QueryCounter
from pivotal.engine.solver import Block
from pivotal.neighbors.lists import count_codes


class NeighborVotes:
    """Finds the neighbours of queries, as many as an engine wants, and the votes they have."""

    def __init__(self, engine: QueryCounter, spec: Spec, *, n_players: int) -> None:
        self._engine, self._spec, self._n_players = engine, spec, n_players
        self._needed = min(n_players, spec.weights.depth(spec.k))
        self._depth = engine.depth

    def for_counter(self, engine: QueryCounter) -> NeighborVotes:
        """Return the same for another engine, from the length of lists that it starts with."""
        other = copy(self)
        other._engine, other._depth = engine, engine.depth
        return other

    def of(
        self, search: Callable[[int], tuple[IndexArray, FloatArray]], targets: AnyArray, first: int = 0
    ) -> tuple[IndexArray, CodeArray | None]:
        """Return the neighbours of some queries and their votes, None if all are alike.

        `search` gives indices and distances of this many neighbours of each query; `first` is the number of the first
        query, for messages.
        """
        indices, distances = search(max(self._depth, self._needed))
        while not self._engine.suffices(indices[:, : self._depth], targets):
            # For the queries after these as well.
            self._depth = min(2 * self._depth, self._n_players)
            indices, distances = search(max(self._depth, self._needed))
        return indices[:, : self._depth], self.votes(distances, self._depth, first)

    def votes(self, distances: FloatArray, depth: int, first: int = 0) -> CodeArray | None:
        """Return the votes of the nearest `depth` neighbours at these distances, None if all are alike."""
        votes = self._spec.votes(distances[:, : max(depth, self._needed)], first)
        return None if votes is None else votes[:, :depth]


class Truncation:
    """How long lists of neighbours must be, `depth`, and what omitting the points beyond them costs."""

    def __init__(self, spec: GameSpec, labels: AnyArray, shape: GameShape) -> None:
        game, k, n_classes, n_players = spec.game, spec.k, shape.n_classes, shape.n_players
        self._labels, self._semivalue, self._tol = labels, spec.semivalue, spec.tol
        self._k, self._n_classes, self._n_players = k, n_classes, n_players
        self._factor = game.truncation_factor(n_classes, votes_fall=shape.votes_fall)
        self._top_k = game.sees_only_top_k(n_classes)
        self._some_top_k = any(part.sees_only_top_k(n_classes) for _, part in game.parts())
        depth = max(min(k, n_players), spec.semivalue.depth(k, spec.tol, n_players, self._factor))
        self.depth = min(shape.max_depth, depth if self._top_k else 4 * depth)
        self._members = self._count(labels) if shape.members is None else shape.members
        self._reach: dict[int, FloatArray] = {}

    def with_labels(self, labels: AnyArray) -> Truncation:
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
        reach = self._reach_up_to(depth)
        if self._top_k:
            return np.full(n_queries, self._factor * reach[depth - 1])
        # Each two-class game sees only its own two classes of the list.
        n_classes, queries = self._n_classes, np.arange(n_queries)
        listed = count_codes(block.labels, n_classes)
        seen = listed + listed[queries, block.targets][:, np.newaxis]
        all_there = self._members + self._members[block.targets][:, np.newaxis]
        lost = np.where(seen == all_there, 0.0, reach[np.clip(seen - 1, 0, depth)])
        lost[queries, block.targets] = 0.0
        mean: FloatArray = lost.sum(axis=1) / (n_classes - 1)
        if self._some_top_k:  # a part of a mixture may see third classes that the others do not
            mean = np.maximum(mean, reach[depth - 1])
        return self._factor * mean

    def _reach_up_to(self, depth: int) -> FloatArray:
        """Chances that ranks are reached, up to the first beyond lists of this many; few depths occur."""
        if depth not in self._reach:
            self._reach[depth] = self._semivalue.reach(self._k, depth + 1)
        return self._reach[depth]

    def _count(self, labels: AnyArray) -> IndexArray:
        """Points of each class, where that matters."""
        return np.bincount([] if self._top_k else labels, minlength=self._n_classes)
