"""Scores, suggestions and suspects that follow the decisions.

`find_label_errors` asks several kinds of voters once, at the start. Of these the nearest neighbours are asked again
after every decision, exactly; what the others said stands. So a score is the one found at the start plus the change of
the neighbours' share, times the share that neighbours have in the whole vote. Where neighbours are the only voters,
scores, suggestions and suspects are those of a fresh search in the table as it is now.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pivotal.analysis.label_errors import LabelErrors
from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.review._live import LiveNeighbors

__all__ = ["LiveScores", "neighbors_share"]

_ODDS: Final = 2.0


class LiveScores:
    """How suspicious every row is at present.

    Parameters
    ----------
    errors : LabelErrors
        What was found at the start.
    live : LiveNeighbors
        The neighbours at present.
    given, suggested : int32 arrays of shape (n_rows,)
        Class codes of the labels as given, and of those suggested at the start.

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

    def __init__(self, errors: LabelErrors, live: LiveNeighbors, given: CodeArray, suggested: CodeArray) -> None:
        self._live, self._given, self._first = live, given, suggested
        self._share = neighbors_share(errors.settings)
        self._odds = float(errors.settings.get("odds", _ODDS))
        self._first_ballots = live.ballots.copy()
        self._first_scores = np.clip(np.asarray(errors.scores, np.float64), 0.0, 1.0)
        confidence = np.clip(np.asarray(errors.confidence, np.float64), 0.0, 1.0)
        # Where no label has more votes than the given one, its best rival has at most what is left.
        self._first_rivals = np.where(
            suggested != given, confidence, np.minimum(self._first_scores, 1.0 - self._first_scores)
        )
        self.scores, self.rivals = self._first_scores.copy(), self._first_rivals.copy()
        self.suggested = suggested.copy()
        self._named: npt.NDArray[np.bool_] = np.zeros(len(given), np.bool_)
        self._named[errors.suspects] = True
        self.suspect: npt.NDArray[np.bool_] = self._named.copy()

    @property
    def confidence(self) -> FloatArray:
        """Share of the votes for the suggested label; shape (n_rows,)."""
        return np.where(self.suggested == self._live.codes, self.scores, self.rivals)

    def refresh(self, rows: IndexArray) -> None:
        """Ask the neighbours of some rows again."""
        if not len(rows):
            return
        at, own = np.arange(len(rows)), self._live.codes[rows]
        now, then = self._live.ballots.shares(rows), self._first_ballots.shares(rows)
        then = np.pad(then, ((0, 0), (0, now.shape[1] - then.shape[1])))  # nobody voted for labels that came later
        first = np.minimum(self._share * then, self._first_rivals[rows, np.newaxis])
        first[at, self._first[rows]] = self._first_rivals[rows]
        first[at, self._given[rows]] = self._first_scores[rows]
        votes = np.clip(first + self._share * (now - then), 0.0, 1.0)
        self.scores[rows] = votes[at, own]
        votes[at, own] = -1.0
        rival = votes.argmax(axis=1).astype(np.int32)
        self.rivals[rows] = np.maximum(votes[at, rival], 0.0)
        outvoted = self.rivals[rows] > self.scores[rows]
        self.suggested[rows] = np.where(outvoted, rival, own)
        probable = outvoted & (self.rivals[rows] >= self._odds * self.scores[rows])
        unchanged = (now == then).all(axis=1) & (own == self._given[rows])
        self.suspect[rows] = np.where(unchanged, self._named[rows], probable)


def neighbors_share(settings: Any) -> float:
    """Return the part that the nearest neighbours have in the votes: every kind of voter has the same."""
    kinds = 1 + bool(settings.get("n_trees", 0)) + (settings.get("model") is not None)
    return 1.0 / kinds
