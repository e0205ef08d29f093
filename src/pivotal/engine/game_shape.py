"""What an engine must know besides what is asked for and the labels: how many play, and how they vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pivotal.core.games import Game
from pivotal.core.semivalues import Semivalue
from pivotal.core.types import IndexArray


class GameSpec(Protocol):
    """What is to be computed, as far as an engine looks at it: a `pivotal.core.spec.Spec`, or that of rankings."""

    @property
    def game(self) -> Game:
        """The utility of a coalition."""

    @property
    def semivalue(self) -> Semivalue:
        """How coalitions are drawn."""

    @property
    def k(self) -> int:
        """Number of neighbours that vote."""

    @property
    def tol(self) -> float:
        """Truncation error that is good enough, in units of the range of the utility; 0 uses the lists whole."""


@dataclass(frozen=True, eq=False)
class GameShape:
    """The players in the game of one query, and how they vote.

    Parameters
    ----------
    n_players : int
        How many: the training points, or one less for self-valuation.
    n_classes : int
        Number of classes; 0 for regression.
    max_depth : int
        Longest lists that can be had.
    largest_vote : int, optional
        Largest integer vote; None means unweighted.
    votes_fall : bool, default=True
        Whether votes never grow with distance.
    members : int64 array of shape (n_classes,), optional
        Number of points of each class, where the labels are those of some of the points only; counted when None.
    """

    n_players: int
    n_classes: int
    max_depth: int
    largest_vote: int | None = None
    votes_fall: bool = True
    members: IndexArray | None = None
