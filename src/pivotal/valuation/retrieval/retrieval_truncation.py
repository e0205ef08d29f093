"""What documents beyond the lists could change: the bound, and how deep lists must be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pivotal.core.games import Game, RetrievalGame
from pivotal.core.semivalues import Semivalue
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.engine.game_shape import GameShape
from pivotal.valuation.retrieval._judgements import Graded
from pivotal.valuation.retrieval._source_players import Players


@dataclass(frozen=True)
class RankingTruncation:
    """What documents beyond the lists could change.

    They come after all that are listed, so they add to the utility of a coalition only while fewer than k listed
    documents are in it, and never more than the relevant ones among them can add at the best places.
    """

    game: Game
    semivalue: Semivalue
    k: int
    utility_range: float
    """Unit of the bounds: the largest range of the utility, over the queries."""

    max_depth: int
    """Longest lists that there are."""

    complete: bool
    """Whether nothing comes after the lists, unless they are cut."""

    tol: float
    """Truncation error that is good enough, in units of the range of the utility; 0 uses the lists whole."""

    def engine_arguments(self, n_players: int) -> tuple[RankingTruncation, AnyArray, GameShape]:
        """Return what engines are made with, exact or sampling: their points are players, which have no labels."""
        return self, np.zeros(n_players, dtype=np.int8), GameShape(n_players, 0, self.max_depth)

    def dropped(self, players: Players, graded: Graded, indices: IndexArray) -> FloatArray:
        """Bound, for each query, what documents beyond its list could change in the value of a player."""
        if graded.missed.shape[1] == 0 or self.utility_range == 0.0:
            return np.zeros(len(indices))
        lost = max_missed(self.game, graded.missed, graded.best, self.k)
        if self.complete:
            cut = (indices[:, -1] >= 0) & (indices.shape[1] < self.max_depth)
            lost = np.where(cut, lost, 0.0)
        share: FloatArray = lost / self.utility_range  # what they can add at most to the utility of a coalition
        if players.grouped:
            some = np.flatnonzero(share)
            share[some] *= players.open_chance(self.semivalue, indices[some], self.k)
        else:
            lengths = (indices >= 0).sum(axis=1)
            share *= self.semivalue.reach(self.k, indices.shape[1] + 1)[np.maximum(lengths - 1, 0)]
        return share


def max_missed(game: Game, grades: FloatArray, best: FloatArray, k: int) -> FloatArray:
    """Return the most that documents of these grades can change in each query; the parts of a mixture add up.

    Where they are the best, the grades of all that are judged, that is the range of the utility.
    """
    total: FloatArray = np.zeros(len(grades))
    for weight, part in game.parts():
        total += abs(weight) * as_metric(part).missed(grades, best, k)
    return total


def as_metric(game: Game) -> RetrievalGame:
    """Return a part of a game of retrieval as what it is: a metric."""
    assert isinstance(game, RetrievalGame)
    return game
