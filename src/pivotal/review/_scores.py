"""Scores, suggestions and suspects that follow the decisions, exactly.

The voters of `find_label_errors` judge the labels as they are now: after every decision their votes are those of a
fresh count. What they were fitted to before they vote stays: trees, landmarks, penalties, and how much say each has.
Fitting these anew to the labels as they are by then makes another judgement.

In a large table a decision moves the votes for every row a little. Rows that are suspects, or near to it, are followed
at once; so does everything in a table of some ten thousand rows. For every other row there is a bound on how far its
votes can have moved: those that could be suspects by it are counted again at once, as many as time allows, and the rest
waits for `renew`, or for `settle` when someone looks at it. `n_waiting` says how many could be suspects and wait.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pivotal.analysis.label_errors import EditableVoters, LabelErrors, margins
from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.neighbors import blocks
from pivotal.review._live import LiveNeighbors
from pivotal.review._subject import Classes

_ODDS: Final = 2.0
_BLOCK: Final = 20_000
_AT_ONCE: Final = 25  # rows that are counted again before a decision is answered
_NEAR: Final = 0.08  # rows are followed at once that would be suspects if this share of votes moved


@dataclass(frozen=True, eq=False)
class Judgement:
    """Voters that were fitted to the labels of some time."""

    voters: EditableVoters  # they know the rows below, by their places among these
    rows: IndexArray  # ascending; the others were dropped then
    codes: CodeArray  # class codes of all labels at that time
    odds: float  # how many times its own votes another label needs to make a suspect
    n_suspects: int | None  # how many suspects were asked for instead

    @classmethod
    def of(cls, errors: LabelErrors, voters: EditableVoters, rows: IndexArray, codes: CodeArray) -> Judgement:
        """Return the judgement that found label errors among some rows."""
        n_suspects = len(errors.suspects) if errors.fixed_size else None
        return cls(voters, rows, codes.copy(), float(errors.settings.get("odds", _ODDS)), n_suspects)


class LiveScores:
    """How suspicious every row is at present, an entry for each in `scores` and the other arrays."""

    def __init__(self, judgement: Judgement, classes: Classes, live: LiveNeighbors) -> None:
        self._live, self._classes = live, classes
        n_rows = len(live.codes)
        self.support = np.ones(n_rows)  # share of the votes for the present label
        self.rivals = np.zeros(n_rows)  # share of the votes for the other label that has the most
        self.scores = np.ones(n_rows)  # how the present label stands against that one, as in `LabelErrors`
        self.suggested: CodeArray = live.codes.copy()  # the label with the most votes
        self.suspect: npt.NDArray[np.bool_] = np.zeros(n_rows, np.bool_)  # whether the label is probably wrong
        self.n_waiting = 0
        self.replace(judgement)

    @property
    def confidence(self) -> FloatArray:
        """Share of the votes for the suggested label; shape (n_rows,)."""
        return np.where(self.suggested == self._live.codes, self.support, self.rivals)

    @property
    def neighbors_vote(self) -> bool:
        """Whether the nearest rows have a say in who is a suspect."""
        return self._voters.neighbors_weight > 0.0

    @property
    def n_changed(self) -> int:
        """Number of labels that are not those that the voters were fitted to."""
        return int(((self._judgement.codes != self._live.codes) & self._live.alive).sum())

    def replace(self, judgement: Judgement) -> None:
        """Continue with other voters, and with all that has changed since they were fitted."""
        self._judgement, self._voters = judgement, judgement.voters
        self._place = np.full(len(self._live.codes), -1, np.int64)
        self._place[judgement.rows] = np.arange(len(judgement.rows))
        # Codes of the voters by codes of the page, and back; labels that join later get the next one in each.
        self._to_page: CodeArray = self._classes.encode(judgement.voters.labels)
        self._cutoff: float | None = None
        everything = np.arange(len(self._live.codes))
        self.refresh(everything)
        scores = self.scores[judgement.rows]
        if judgement.n_suspects is not None:
            self._cutoff = float(np.sort(scores)[judgement.n_suspects - 1]) if judgement.n_suspects else -1.0
            self._name(everything)
        near = self._could_be(np.full(len(everything), _NEAR))[judgement.rows]
        order = np.argsort(np.where(near, scores - 2.0, scores), kind="stable")
        self._voters.prepare(order, int(near.sum()))
        since = (judgement.codes != self._live.codes) | ~self._live.alive
        changed = judgement.rows[since[judgement.rows]]
        if len(changed):
            self.follow(changed, changed)

    def follow(self, rows: IndexArray, touched: IndexArray) -> None:
        """Follow edits of some rows, after the neighbours have, whose votes for the touched rows may have changed."""
        known, before = rows[self._place[rows] >= 0], self._voters.n_edits
        changed = [rows, touched if self._voters.neighbors_weight else rows]
        if len(known):
            codes = self._to_voters(self._live.codes[known])
            places = self._voters.edit(self._place[known], codes, self._live.alive[known], len(self._to_page))
            changed.append(self._judgement.rows[places])
        self.refresh(np.unique(np.concatenate(changed)))
        if self._voters.n_edits != before:  # most rows of a large table are in the fit of no regression
            self._settle_suspects()

    def settle(self, rows: IndexArray) -> None:
        """Bring the scores of some rows up to date, which may have waited."""
        known = rows[self._place[rows] >= 0]
        waiting = known[self._voters.is_waiting(self._place[known])]
        if len(waiting):
            self._voters.settle(self._place[waiting])
            self.refresh(waiting)

    def renew(self, lock: Any, wait: Callable[[], None] = lambda: None) -> None:
        """Bring the scores of all rows up to date, between decisions, which hold the lock."""
        voters, self.n_waiting = self._voters, 0
        voters.renew(lock, wait)
        for part in blocks(len(self.scores), _BLOCK):
            with lock:
                if self._voters is voters:
                    self._refresh(np.arange(part.start, part.stop))

    def refresh(self, rows: IndexArray) -> None:
        """Read the votes for some rows again."""
        for part in blocks(len(rows), _BLOCK):
            self._refresh(rows[part])

    def _refresh(self, rows: IndexArray) -> None:
        places, n_classes = self._place[rows], len(self._classes)
        votes = np.zeros((len(rows), n_classes))
        known = places >= 0
        said = self._voters.votes(places[known])
        votes[np.ix_(known, self._to_page[: said.shape[1]])] = said
        if self._voters.neighbors_weight:
            shares = self._live.ballots.shares(rows)
            votes[:, : shares.shape[1]] += self._voters.neighbors_weight * shares
        at, own = np.arange(len(rows)), self._live.codes[rows]
        votes[~known] = 0.0
        votes[at[~known], own[~known]] = 1.0  # rows that the voters do not know are no suspects
        support = votes[at, own]
        votes[at, own] = -1.0
        rival = votes.argmax(axis=1).astype(np.int32)
        rivals = np.maximum(votes[at, rival], 0.0)
        self.support[rows], self.rivals[rows] = support, rivals
        self.scores[rows] = margins(support, rivals) if n_classes > 1 else 1.0
        self.suggested[rows] = np.where(rivals > support, rival, own)
        self._name(rows)

    def _name(self, rows: IndexArray) -> None:
        """Say which of some rows are suspects."""
        self.suspect[rows] = self._is_suspect(self.support[rows], self.rivals[rows]) & self._live.alive[rows]

    def _is_suspect(self, support: FloatArray, rivals: FloatArray) -> npt.NDArray[np.bool_]:
        if self._cutoff is not None:
            return np.asarray(margins(support, rivals) <= self._cutoff)
        return np.asarray((rivals > support) & (rivals >= self._judgement.odds * support))

    def _could_be(self, slack: FloatArray) -> npt.NDArray[np.bool_]:
        """Return which rows are suspects if their votes are off by as much as they can be."""
        worse = self._is_suspect(np.maximum(self.support - slack, 0.0), self.rivals + slack)
        return worse & self._live.alive

    def _settle_suspects(self) -> None:
        """Count again rows that could be suspects by the bound on how far their votes have moved, the worst first."""
        slack = self._voters.slack()
        if slack is None:
            return
        everywhere = np.zeros(len(self.scores))
        everywhere[self._judgement.rows] = slack
        rows = np.flatnonzero(self._could_be(everywhere) & (everywhere > 0.0))
        first = rows[np.argsort(self.scores[rows], kind="stable")[:_AT_ONCE]]
        self._voters.settle(self._place[first])
        self.refresh(first)
        self.n_waiting = len(rows) - len(first)

    def _to_voters(self, codes: CodeArray) -> CodeArray:
        """Return the voters' class codes of some labels, which join their label set if they are new."""
        fresh = np.setdiff1d(codes, self._to_page).astype(np.int32)
        self._to_page = np.concatenate([self._to_page, fresh])
        back = np.full(len(self._classes), -1, np.int32)
        back[self._to_page] = np.arange(len(self._to_page), dtype=np.int32)
        return back[codes]
