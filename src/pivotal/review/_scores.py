"""Scores, suggestions and suspects that follow the decisions.

`find_label_errors` asks several kinds of voters about the table. What they said is an opinion, about the labels as they
were then. After every decision the nearest neighbours are asked again, exactly; what the others said stands. So a score
is the one of the opinion plus the change of the neighbours' share, times the share that neighbours have in the whole
vote. Where neighbours are the only voters, scores, suggestions and suspects are those of a fresh search in the table
as it is now. All voters can be asked again at any time, which makes another opinion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pivotal.analysis.label_errors import LabelErrors
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
    suggested, named = codes.copy(), np.zeros(len(codes), np.bool_)
    scores = np.clip(np.asarray(errors.scores, np.float64), 0.0, 1.0)
    confidence = np.clip(np.asarray(errors.confidence, np.float64), 0.0, 1.0)
    suggested[rows] = classes.encode(errors.suggested)
    own[rows] = scores
    # Where no label has more votes than the given one, its best rival has at most what is left.
    rival[rows] = np.where(suggested[rows] != codes[rows], confidence, np.minimum(scores, 1.0 - scores))
    named[rows[errors.suspects]] = True
    share, odds = neighbors_share(errors.settings), float(errors.settings.get("odds", _ODDS))
    return Opinion(codes.copy(), own, rival, suggested, named, ballots.copy(), share, odds)


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
        self.scores, self.rivals = opinion.own.copy(), opinion.rival.copy()
        self.suggested, self.suspect = opinion.suggested.copy(), opinion.named.copy()

    @property
    def confidence(self) -> FloatArray:
        """Share of the votes for the suggested label; shape (n_rows,)."""
        return np.where(self.suggested == self._live.codes, self.scores, self.rivals)

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
        first[at, said.suggested[rows]] = said.rival[rows]
        first[at, said.codes[rows]] = said.own[rows]
        votes = np.clip(first + said.share * (now - then), 0.0, 1.0)
        self.scores[rows] = votes[at, own]
        votes[at, own] = -1.0
        rival = votes.argmax(axis=1).astype(np.int32)
        self.rivals[rows] = np.maximum(votes[at, rival], 0.0)
        outvoted = self.rivals[rows] > self.scores[rows]
        self.suggested[rows] = np.where(outvoted, rival, own)
        probable = outvoted & (self.rivals[rows] >= said.odds * self.scores[rows])
        unchanged = (now == then).all(axis=1) & (own == said.codes[rows])
        self.suspect[rows] = np.where(unchanged, said.named[rows], probable)


def neighbors_share(settings: Any) -> float:
    """Return the part that the nearest neighbours have in the votes: every kind of voter has the same."""
    kinds = 1 + bool(settings.get("n_trees", 0)) + (settings.get("model") is not None)
    return 1.0 / kinds
