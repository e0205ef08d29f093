"""All voters of `find_label_errors`, kept up to date while labels change and rows go and come back.

What is fitted to labels only to choose how to vote stays as it was: the trees, the landmarks, the penalties of the
regressions and how much say each voter has. With these fixed, votes after any edits are those of a fresh count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.analysis.label_errors._blend import as_chances, floor_of
from pivotal.analysis.label_errors._edit_leaves import EditableLeaves
from pivotal.analysis.label_errors._edit_ridge import EditableRidge
from pivotal.analysis.label_errors._errors import LabelErrors
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.neighbors import blocks

Voter = EditableLeaves | EditableRidge | FloatArray
"""An array of chances is a voter that does not follow edits."""

_DUST: Final = 1e-12  # votes that are left over from rounding
_ALL_WATCHED: Final = 2**24  # numbers per regression up to which every row is watched
_MOST_WATCHED: Final = 2**23  # numbers per regression that are kept otherwise: an edit reads all of them
_BLOCK: Final = 4096  # rows predicted between two looks at whether to wait


@dataclass
class FittedVoters:
    """What a search for wrong classes leaves behind, to be filled by it: voters other than the nearest rows."""

    voters: dict[str, Voter] = field(default_factory=dict)
    codes: CodeArray | None = None
    labels: AnyArray | None = None


class EditableVoters:
    """Votes on the label of every row, under edits.

    Parameters
    ----------
    kept : FittedVoters
    weights : mapping
        How much say each voter has.

    Attributes
    ----------
    labels : array of shape (n_classes,)
        The label of each class code at first.
    neighbors_weight : float
        How much say the nearest rows have, whose votes are counted elsewhere.
    n_edits : int
        How often a regression has changed.
    """

    def __init__(self, kept: FittedVoters, weights: Mapping[str, float]) -> None:
        if kept.codes is None or kept.labels is None:
            raise ValueError(
                "voters follow edits of classes; labels that are numbers or many at once cannot be edited."
            )
        self.labels, codes = kept.labels, kept.codes
        self.neighbors_weight = float(weights.get("neighbors", 0.0))
        self._weights = {name: float(weight) for name, weight in weights.items() if name in kept.voters}
        self._voters = kept.voters
        self._codes, self._alive = codes.copy(), np.ones(len(codes), np.bool_)
        self._n_classes = len(self.labels)
        self._active = self._count()
        self._watched = np.zeros(len(codes), np.bool_)
        self.n_edits = 0

    def __len__(self) -> int:
        return len(self._codes)

    def with_fixed(self, name: str, errors: LabelErrors, weights: Mapping[str, float]) -> EditableVoters:
        """Return these voters with one more, of whom only what all of them said together, the errors, is known.

        What is left of the votes for the given label and for its best rival is that voter's; the rest of its votes is
        spread over the other labels, none of which has more than the rival.
        """
        known = {other: float(weight) for other, weight in weights.items() if other != name}
        kept = FittedVoters(self._voters, self._codes, self.labels)
        rest = EditableVoters(kept, known)
        if rest.neighbors_weight:
            raise ValueError("what a model said cannot be told from what the nearest rows said; review without one.")
        places = np.arange(len(self))
        said = rest.votes(places)
        rivals = pd.Index(self.labels).get_indexer(pd.Index(errors.rivals))
        own = np.clip((errors.support - said[places, self._codes]) / weights[name], 0.0, 1.0)
        best = np.clip((errors.rival_support - said[places, rivals]) / weights[name], 0.0, 1.0)
        others = np.maximum(1.0 - own - best, 0.0) / max(self._n_classes - 2, 1)
        room = np.maximum(errors.rival_support[:, np.newaxis] - said, 0.0) / weights[name]
        chances: FloatArray = np.minimum(others[:, np.newaxis], room)
        chances[places, rivals], chances[places, self._codes] = best, own
        return EditableVoters(FittedVoters({**self._voters, name: chances}, self._codes, self.labels), weights)

    @property
    def _ridges(self) -> dict[str, EditableRidge]:
        return {name: voter for name, voter in self._voters.items() if isinstance(voter, EditableRidge)}

    def prepare(self, order: IndexArray, n_likely: int) -> None:
        """Choose the rows whose votes an edit brings up to date at once, and bound how far the others can be off.

        All rows come in order, those that matter most first; `n_likely` of them matter.
        """
        ridges = self._ridges.values()
        width = max((ridge.width for ridge in ridges), default=1)
        few = len(order) * width <= _ALL_WATCHED
        self.watch(order if few else order[: min(n_likely, _MOST_WATCHED // width)])
        for ridge in ridges:
            ridge.bound_others()

    def watch(self, rows: IndexArray) -> None:
        """Bring the votes of some rows up to date at once from now on."""
        for ridge in self._ridges.values():
            ridge.watch(rows)
        self._watched[rows] = True

    def edit(self, rows: IndexArray, codes: CodeArray, alive: npt.NDArray[np.bool_], n_classes: int) -> IndexArray:
        """Give rows, each once, other labels, drop them or take them back; return the rows whose votes have changed.

        From now on there are this many classes, at least as many as before.
        """
        self.watch(rows)
        touched = np.zeros(len(self), np.bool_)
        touched[rows] = True
        for voter in self._voters.values():
            if isinstance(voter, EditableLeaves):
                touched[voter.edit(rows, codes, alive, n_classes)] = True
            elif isinstance(voter, EditableRidge) and voter.edit(rows, codes, alive, n_classes):
                touched |= self._watched
                self.n_edits += 1
        self._codes[rows], self._alive[rows], self._n_classes = codes, alive, n_classes
        active = self._count()
        if not np.array_equal(active, self._active):
            self._active = active
            touched[:] = True
        return np.flatnonzero(touched)

    def votes(self, rows: IndexArray) -> FloatArray:
        """Return the votes for each class, without those of the nearest rows; shape (len(rows), n_classes)."""
        votes = np.zeros((len(rows), self._n_classes))
        floor = floor_of(int(self._active.sum()))
        for name, weight in self._weights.items():
            voter = self._voters[name]
            if isinstance(voter, EditableRidge):
                votes += weight * as_chances(np.maximum(voter.predicted[rows], floor) * self._active)
            elif isinstance(voter, EditableLeaves):
                there = np.where(voter.votes[rows] > _DUST, voter.votes[rows], 0.0)
                there[~there.any(axis=1)] = self._active  # all who could vote are dropped
                votes += weight * as_chances(there)
            else:
                votes[:, : voter.shape[1]] += weight * voter[rows]
        return votes

    def slack(self) -> FloatArray | None:
        """Return how far any class's votes for each row can be off; shape (n_rows,); None where they are not."""
        total: FloatArray | None = None
        for name, ridge in self._ridges.items():
            slack = ridge.slack()
            if slack is not None:
                total = self._weights[name] * slack + (0.0 if total is None else total)
        return total

    def is_waiting(self, rows: IndexArray | slice) -> npt.NDArray[np.bool_]:
        """Return whether votes for some rows are those of some time before."""
        waiting = np.zeros(len(self._codes[rows]), np.bool_)
        for ridge in self._ridges.values():
            waiting |= ridge.is_waiting(rows)
        return waiting

    def settle(self, rows: IndexArray) -> None:
        """Bring the votes of some rows up to date, once."""
        for ridge in self._ridges.values():
            ridge.settle(rows)

    def renew(self, lock: Any, wait: Callable[[], None] = lambda: None) -> None:
        """Bring the votes of all rows up to date, while edits go on.

        The lock is held while rows are edited, and here only for moments; `wait` is called between blocks of rows, and
        returns when there is time for more.
        """
        for ridge in self._ridges.values():
            with lock:
                moment, rows = ridge.moment(), ridge.others()
            predicted = np.empty((len(rows), moment.coefficients.shape[1]))
            for part in blocks(len(rows), _BLOCK):
                wait()
                predicted[part] = ridge.predict_at(moment, rows[part])
            with lock:
                ridge.renew(moment, rows, predicted)

    def _count(self) -> npt.NDArray[np.bool_]:
        """Return which classes have rows."""
        counts = np.bincount(self._codes[self._alive], minlength=self._n_classes)
        return np.asarray(counts > 0)
