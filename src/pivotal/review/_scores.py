"""Scores, suggestions and suspects that follow the decisions.

`find_label_errors` asks several kinds of voters about the table. What they said is an opinion, about the labels as they
were then. After every decision the nearest neighbours are asked again, exactly, and stand in for all voters: votes are
those of the opinion plus the change of the neighbours' shares, times a factor that the settings tell. Where neighbours
are the only voters it is 1, and scores, suggestions and suspects are those of a fresh search in the table
as it is now. All voters can be asked again at any time, which makes another opinion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pivotal.analysis.label_errors import LabelErrors, margins
from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.review._ballots import Ballots
from pivotal.review._live import LiveNeighbors
from pivotal.review._subject import Classes

__all__ = ["LiveScores", "Opinion", "neighbors_share", "opinion_of"]

_ODDS: Final = 2.0
_BLOCK: Final = 20_000


@dataclass(frozen=True, eq=False)
class Opinion:
    """What all voters said of every row, at one time.

    Parameters
    ----------
    codes : int32 array of shape (n_rows,)
        Class codes of the labels that they judged.
    own, rival : float64 arrays of shape (n_rows,)
        Share of the votes for that label, and for the other label that has the most.
    rivals : int32 array of shape (n_rows,)
        Class codes of the latter.
    suggested : int32 array of shape (n_rows,)
        Class codes of the labels with the most votes.
    named : bool array of shape (n_rows,)
        The suspects.
    ballots : Ballots
        Votes of the nearest neighbours at that time.
    share, odds : float
        Part of the neighbours in the votes; and how many times its own votes another label needs to make a suspect.
    """

    codes: CodeArray
    own: FloatArray
    rival: FloatArray
    rivals: CodeArray
    suggested: CodeArray
    named: npt.NDArray[np.bool_]
    ballots: Ballots
    share: float
    odds: float


def opinion_of(errors: LabelErrors, classes: Classes, rows: IndexArray, codes: CodeArray, ballots: Ballots) -> Opinion:
    """Return what label errors say, as an opinion on all rows.

    Parameters
    ----------
    errors : LabelErrors
        Found among some rows.
    classes : Classes
        The label set.
    rows : int array of shape (n_looked_at,)
        Those rows; the others are dropped, and are no suspects.
    codes : int32 array of shape (n_rows,)
        Class codes of all rows at that time.
    ballots : Ballots
        Votes of neighbours at that time.
    """
    own, rival = np.ones(len(codes)), np.zeros(len(codes))
    rivals, suggested, named = codes.copy(), codes.copy(), np.zeros(len(codes), np.bool_)
    own[rows], rival[rows], rivals[rows] = errors.support, errors.rival_support, classes.encode(errors.rivals)
    suggested[rows] = classes.encode(errors.suggested)
    named[rows[errors.suspects]] = True
    share, odds = neighbors_share(errors.settings), float(errors.settings.get("odds", _ODDS))
    return Opinion(codes.copy(), own, rival, rivals, suggested, named, ballots.copy(), share, odds)


class LiveScores:
    """How suspicious every row is at present.

    Parameters
    ----------
    opinion : Opinion
        What all voters said at the start.
    live : LiveNeighbors
        The neighbours at present.

    Attributes
    ----------
    scores : float64 array of shape (n_rows,)
        How the present label stands against its best rival, as in `LabelErrors`.
    support : float64 array of shape (n_rows,)
        Share of the votes for the present label.
    rivals : float64 array of shape (n_rows,)
        Share of the votes for the other label that has the most.
    suggested : int32 array of shape (n_rows,)
        Label with the most votes.
    suspect : bool array of shape (n_rows,)
        Whether the label is probably wrong.
    """

    def __init__(self, opinion: Opinion, live: LiveNeighbors) -> None:
        self._live = live
        self._take(opinion)

    def _take(self, opinion: Opinion) -> None:
        self._opinion = opinion
        self.support, self.rivals = opinion.own.copy(), opinion.rival.copy()
        self.scores = margins(self.support, self.rivals)
        self.suggested, self.suspect = opinion.suggested.copy(), opinion.named.copy()

    @property
    def confidence(self) -> FloatArray:
        """Share of the votes for the suggested label; shape (n_rows,)."""
        return np.where(self.suggested == self._live.codes, self.support, self.rivals)

    @property
    def n_changed(self) -> int:
        """Number of labels that are not those that all voters judged."""
        return int(((self._opinion.codes != self._live.codes) & self._live.alive).sum())

    def replace(self, opinion: Opinion) -> None:
        """Go on from another opinion, and from what has changed since."""
        self._take(opinion)
        self.refresh(np.arange(len(opinion.own)))

    def refresh(self, rows: IndexArray) -> None:
        """Ask the neighbours of some rows again."""
        for start in range(0, len(rows), _BLOCK):
            self._refresh(rows[start : start + _BLOCK])

    def _refresh(self, rows: IndexArray) -> None:
        said = self._opinion
        at, own = np.arange(len(rows)), self._live.codes[rows]
        now, then = self._live.ballots.shares(rows), said.ballots.shares(rows)
        then = np.pad(then, ((0, 0), (0, now.shape[1] - then.shape[1])))  # nobody voted for labels that came later
        first = np.minimum(said.share * then, said.rival[rows, np.newaxis])
        first[at, said.rivals[rows]] = said.rival[rows]
        first[at, said.codes[rows]] = said.own[rows]
        votes = np.clip(first + said.share * (now - then), 0.0, 1.0)
        support = votes[at, own]
        votes[at, own] = -1.0
        rival = votes.argmax(axis=1).astype(np.int32)
        rivals = np.maximum(votes[at, rival], 0.0)
        outvoted = rivals > support
        self.support[rows], self.rivals[rows], self.scores[rows] = support, rivals, margins(support, rivals)
        self.suggested[rows] = np.where(outvoted, rival, own)
        probable = outvoted & (rivals >= said.odds * support)
        unchanged = (now == then).all(axis=1) & (own == said.codes[rows])
        self.suspect[rows] = np.where(unchanged, said.named[rows], probable)


def neighbors_share(settings: Any) -> float:
    """Return how far the votes follow when the nearest neighbours change their mind: they stand in for all voters."""
    return float(settings.get("neighbors_share", 1.0))
