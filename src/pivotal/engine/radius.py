"""From balls to the values of the training points: the engine of games of all points within a radius.

The counterpart of `pivotal.engine.exact` for `Threshold`. Which points are in the ball of a query is all that matters:
there are no ranks, no k and nothing to truncate, and the values are exact whatever the semivalue.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pivotal.core.games import Threshold
from pivotal.core.types import AnyArray, CodeArray, FloatArray
from pivotal.engine.game_shape import GameShape, GameSpec
from pivotal.engine.running_sums import RunningSums, SummingEngine
from pivotal.engine.totals import Utilities
from pivotal.neighbors import Balls
from pivotal.results.values import Values


@dataclass(frozen=True)
class _BallSums(RunningSums):
    """The sums, with those of the sizes of balls."""

    n_members: int = 0
    largest_ball: int = 0
    n_empty_balls: int = 0


class RadiusEngine(SummingEngine):
    """Adds up the values of the training points over blocks of queries.

    The game is a `Threshold`, or a `Mixture` of them. Labels are class codes, shape (n_train,); or, of many labels per
    point, 0 and 1, shape (n_train, n_labels), and the mean over them is valued.
    """

    _sums: _BallSums

    def __init__(self, spec: GameSpec, labels: CodeArray, shape: GameShape) -> None:
        from pivotal.kernels.threshold import fill_share

        self._game, self._n_classes = spec.game, shape.n_classes
        self._columns = np.ascontiguousarray(np.atleast_2d(labels.T))
        self.n_labels = labels.shape[1] if labels.ndim == 2 else None
        n_players, semivalue = shape.n_players, spec.semivalue
        self.depth = n_players
        others = np.arange(n_players + 1)
        self._alone = np.zeros(n_players + 1)
        self._alone[1:] = semivalue.joined(others[:-1], 0)
        self._share = np.empty(n_players + 1)
        fill_share(semivalue.joined(others, 1), self._share)
        self._sums = _BallSums.nothing(len(labels))

    def add(
        self, indices: Iterable[Balls], votes: CodeArray | None, targets: AnyArray, weights: FloatArray | None = None
    ) -> bool:
        """Count some queries; return whether more are wanted, which is always so.

        The balls of the queries come in their order, some at a time. There are no votes: each point has one. Each query
        counts 1 where there are no weights.
        """
        done = 0
        sums = replace(self._sums, points=self._sums.points.copy())
        for balls in indices:
            own = slice(done, done + len(balls.sizes))
            sums = self._plus(sums, balls, targets[own], None if weights is None else weights[own])
            done = own.stop
        # One assignment: a block that is interrupted counts whole or not at all.
        self._sums = sums
        return True

    def result(self, **about: Any) -> Values:
        """Values so far; only rounding keeps them from being exact."""
        found = {
            "n_players": self.depth,
            "n_classes": self._n_classes,
            "mean_ball": self._sums.n_members / self.n_queries,
            "largest_ball": self._sums.largest_ball,
            "n_empty_balls": self._sums.n_empty_balls,
        }
        return self._result(found, **about)

    def _plus(self, sums: _BallSums, balls: Balls, targets: AnyArray, weights: FloatArray | None) -> _BallSums:
        """Add some queries to the sums of the points, in place, and return the sums with everything else counted."""
        sizes, utility_range = balls.sizes, self._game.utility_range(self._n_classes)
        each = np.ones(len(targets)) if weights is None else weights  # multiplying by 1 changes no bit
        values = np.zeros(len(balls.members))
        full_utility, empty_utility = self._play(balls, targets, each, values)
        heavy = None if weights is None else np.repeat(weights, sizes)
        # Members one after the other, as if each were a query with one neighbour.
        sums.points.add(balls.members[:, np.newaxis], values[:, np.newaxis], heavy)
        utilities = Utilities(full_utility, empty_utility, np.zeros(len(targets)), utility_range)
        return replace(
            sums,
            totals=sums.totals.add(utilities, weights),
            n_members=sums.n_members + len(balls.members),
            largest_ball=max(sums.largest_ball, int(sizes.max())),
            n_empty_balls=sums.n_empty_balls + int((sizes == 0).sum()),
        )

    def _play(
        self, balls: Balls, targets: AnyArray, weights: FloatArray, values: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Add the value of each member of a ball to `values`; return the utility of the full and of the empty set.

        All are means over the labels.
        """
        n_labels = len(self._columns)
        full_utility, empty_utility = np.empty((2, n_labels, len(targets)))
        for label, (column, truth) in enumerate(zip(self._columns, np.atleast_2d(targets.T), strict=True)):
            utilities = self._play_for(column, balls, np.ascontiguousarray(truth), weights / n_labels, values)
            full_utility[label], empty_utility[label] = utilities
        return full_utility.mean(axis=0), empty_utility.mean(axis=0)

    def _play_for(
        self, labels: CodeArray, balls: Balls, targets: AnyArray, weights: FloatArray, values: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Do the same for one label of the points."""
        from pivotal.kernels.threshold import count_right, value_balls

        full_utility, empty_utility = np.zeros((2, len(targets)))
        for weight, part in self._game.parts():
            assert isinstance(part, Threshold)
            whole = part.radius == self._game.radius
            near = balls if whole else balls.within(part.radius)
            places = np.arange(len(values)) if whole else balls.places_within(part.radius)
            n_right = np.empty(len(targets), np.int64)
            who = near.starts, near.members, labels, targets, n_right
            count_right(*who)
            empty = part.empty_utility(targets, self._n_classes)
            value_balls(*who, empty, weight * weights, self._alone, self._share, places, values)
            full_utility += weight * part.shares(n_right, near.sizes, targets, self._n_classes)
            empty_utility += weight * empty
        return full_utility, empty_utility
