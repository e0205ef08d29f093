"""A regression whose labels change and whose rows go and come back, exact without fitting it again.

With M the inverse of the penalised normal matrix and D the design of the edited rows, new weights and targets change
the coefficients by M' D^T E, E being what the new targets have beyond the present fit, and M' = M - M D^T K D M follows
from Woodbury's identity. A prediction that omits its own row needs the fitted value and the leverage, which are
inner products with both. Penalty and landmarks stay as they are.

Some rows are watched: their design is kept, and an edit brings their predictions up to date at once. The others have
those of some time before, and a bound on how far they can be off: by Cauchy-Schwarz, a fitted value moves by at most
the root of the leverage times the length of the coefficients' change, measured by the inverse of M.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from pivotal.analysis.label_errors._ridge import LARGEST_LEVERAGE, RidgeFit
from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.neighbors import blocks

_AT_A_TIME: Final = 256  # rows whose edits are one identity
_BLOCK: Final = 4096


@dataclass(frozen=True, eq=False)
class RidgeMoment:
    """A regression at one time, from which predictions can be computed while edits go on."""

    coefficients: FloatArray
    inverse: FloatArray | None
    growth: float
    number: int
    inside: npt.NDArray[np.bool_]
    codes: CodeArray


class EditableRidge:
    """A ridge regression on class labels, fitted to a column of 0 and 1 per class, under edits.

    Attributes
    ----------
    predicted : float64 array of shape (n_rows, n_classes)
        What each row's targets would be, from the other rows alone: as they are now for watched rows.
    """

    def __init__(self, fit: RidgeFit, codes: CodeArray) -> None:
        self._fit, self._codes = fit, codes.copy()
        self.predicted: FloatArray = fit.predicted
        self._member = np.zeros(len(codes), np.bool_)
        self._member[fit.fitted] = True
        self._inside = self._member.copy()
        self._coefficients, self._reference = fit.coefficients.copy(), fit.coefficients.copy()
        self._inverse: FloatArray | None = None  # diagonal, until a row is dropped
        # By which factor leverages can have changed since the fit, either way, and had when the others were predicted.
        self._growth, self._reference_growth = 1.0, 1.0
        self._offset, self._offset_growth = np.zeros(len(codes)), np.zeros(len(codes))  # of rows settled since
        self._bounds: FloatArray | None = None
        self._number, self._number_of = 0, np.zeros(len(codes), np.int64)  # of fits: the last, and that of each row
        self._n_watched = 0
        self._room: IndexArray = np.empty(0, np.int64)  # watched rows, and room for more
        self._place = np.full(len(codes), -1, np.int64)
        self._design = np.empty((0, len(fit.diagonal)))
        self._values = np.empty((0, fit.predicted.shape[1]))
        self._leverage = np.empty(0)

    @property
    def width(self) -> int:
        """Numbers that are kept of a watched row."""
        return len(self._fit.diagonal)

    @property
    def _rows(self) -> IndexArray:
        return self._room[: self._n_watched]

    def watch(self, rows: IndexArray) -> None:
        """Keep the predictions of some rows up to date from now on."""
        rows = rows[self._place[rows] < 0]
        if not len(rows):
            return
        start, stop = self._n_watched, self._n_watched + len(rows)
        if stop > len(self._room):
            self._make_room(min(len(self._codes), stop + max(_AT_A_TIME, stop // 8)))
        design = self._fit.design(rows)
        self._place[rows], self._n_watched = np.arange(start, stop), stop
        self._room[start:stop], self._design[start:stop] = rows, design
        self._values[start:stop] = design @ self._coefficients
        self._leverage[start:stop] = _squares(design, self._times(design))
        self._predict(slice(start, stop))

    def _make_room(self, size: int) -> None:
        for name in ("_room", "_design", "_values", "_leverage"):
            old = getattr(self, name)
            new = np.empty((size, *old.shape[1:]), old.dtype)
            new[: self._n_watched] = old[: self._n_watched]
            setattr(self, name, new)

    def edit(self, rows: IndexArray, codes: CodeArray, alive: npt.NDArray[np.bool_], n_classes: int) -> bool:
        """Give watched rows, each once, other labels, drop them or take them back; return whether predictions changed.

        From now on there are this many classes, at least as many as before.
        """
        more = n_classes - self.predicted.shape[1]
        if more > 0:
            wider = ((0, 0), (0, more))
            self.predicted, self._values = np.pad(self.predicted, wider), np.pad(self._values, wider)
            self._coefficients, self._reference = np.pad(self._coefficients, wider), np.pad(self._reference, wider)
        changed = False
        for some in blocks(len(rows), _AT_A_TIME):
            changed |= self._edit(rows[some], codes[some], alive[some])
        return changed

    def bound_others(self) -> None:
        """Get ready to say how far the predictions of rows that are not watched can be off."""
        if self._bounds is None and self._n_watched < len(self._codes):
            self._bounds = self._fit.leverage_bounds()

    def slack(self) -> FloatArray | None:
        """Return how far chances of any class can be off; shape (n_rows,); None where they are not."""
        waiting = self.is_waiting(slice(None))
        if not waiting.any():
            return None
        moved, regrown = self._drift()
        self.bound_others()
        assert self._bounds is not None
        own = np.where(self._inside, self._bounds, 0.0)
        off = np.sqrt(self._bounds) * (moved + self._offset)
        if self._growth > 1.0:
            aside = 2.0 + 2.0 * np.abs(self.predicted).sum(axis=1)  # no target is farther from its prediction
            off += aside * own * (regrown + self._offset_growth)
        room = 1.0 - own * self._growth
        slack: FloatArray = np.where(room > 0.0, off / np.where(room > 0.0, room, 1.0), np.inf)
        slack[~waiting] = 0.0
        return slack

    def is_waiting(self, rows: IndexArray | slice) -> npt.NDArray[np.bool_]:
        """Return whether the predictions of some rows are those of some time before."""
        return np.asarray((self._place[rows] < 0) & (self._number_of[rows] < self._number))

    def settle(self, rows: IndexArray) -> None:
        """Bring the predictions of some rows up to date, once."""
        rows = rows[self.is_waiting(rows)]
        if len(rows):
            self.predicted[rows] = self.predict_at(self.moment(), rows)
            self._offset[rows], self._offset_growth[rows] = self._drift()
            self._number_of[rows] = self._number

    def _drift(self) -> tuple[float, float]:
        """Return how far coefficients, and the growth of leverages, are from those that the others go by."""
        squares = ((self._coefficients - self._reference) ** 2 / self._fit.diagonal[:, np.newaxis]).sum(axis=0)
        moves = np.sqrt(squares)
        # Predictions sum to 1 before and after. A chance is one of them over the sum of all, each at least the floor:
        # a sum that is at least 1 and moves by no more than half of all moves.
        return float(moves.max() + 0.5 * moves.sum()), self._growth - self._reference_growth

    def moment(self) -> RidgeMoment:
        """Return the regression as it is now."""
        inverse = None if self._inverse is None else self._inverse.copy()
        inside, codes = self._inside.copy(), self._codes.copy()
        return RidgeMoment(self._coefficients.copy(), inverse, self._growth, self._number, inside, codes)

    def predict_at(self, moment: RidgeMoment, rows: IndexArray) -> FloatArray:
        """Return predictions of some rows as they were at a moment; shape (len(rows), n_classes)."""
        inside = moment.inside[rows]
        leverage = np.zeros(len(rows))
        if moment.inverse is None:
            leverage[inside] = self._fit.leverage[np.searchsorted(self._fit.fitted, rows[inside])]
        else:
            places = np.flatnonzero(inside)
            for part in blocks(len(places), _BLOCK):
                design = self._fit.design(rows[places[part]])
                leverage[places[part]] = _squares(design, design @ moment.inverse)
        values = self._fit.values(rows, moment.coefficients)
        return _without_own(values, leverage, moment.codes[rows], inside)

    def others(self) -> IndexArray:
        """Return the rows that are not watched, ascending."""
        return np.flatnonzero(self._place < 0)

    def renew(self, moment: RidgeMoment, rows: IndexArray, predicted: FloatArray) -> None:
        """Take over what was predicted at a moment for all rows that were not watched then."""
        still = self._place[rows] < 0
        self.predicted[rows[still], : predicted.shape[1]] = predicted[still]
        self._reference = np.pad(moment.coefficients, ((0, 0), (0, self.predicted.shape[1] - predicted.shape[1])))
        self._reference_growth = moment.growth
        self._number_of[rows] = moment.number
        self._offset[:], self._offset_growth[:] = 0.0, 0.0

    def _edit(self, rows: IndexArray, codes: CodeArray, alive: npt.NDArray[np.bool_]) -> bool:
        places, n_classes = self._place[rows], self.predicted.shape[1]
        before, after = self._inside[rows], self._member[rows] & alive
        eye = np.eye(n_classes)
        beyond = after[:, np.newaxis] * eye[codes] - before[:, np.newaxis] * eye[self._codes[rows]]
        weight = after.astype(np.float64) - before
        beyond -= weight[:, np.newaxis] * self._values[places]
        self._codes[rows], self._inside[rows] = codes, after
        if not beyond.any():
            self._predict(places)
            return False
        self._reweight(places[weight != 0.0], weight[weight != 0.0])
        step = self._times(self._design[places]).T
        self._coefficients += step @ beyond
        design = self._design[: self._n_watched]
        few = len(rows) <= n_classes
        self._values[: self._n_watched] += (design @ step) @ beyond if few else design @ (step @ beyond)
        self._predict(slice(self._n_watched))
        self._number += 1
        return True

    def _reweight(self, places: IndexArray, weight: FloatArray) -> None:
        """Take watched rows out of the fit, or with a weight of 1 into it."""
        if not len(places):
            return
        design = self._design[places]
        towards = self._times(design).T
        hat = design @ towards
        gone, back = weight < 0.0, weight > 0.0
        self._growth *= (1.0 + _largest(hat, back)) / max(1.0 - _largest(hat, gone), 1.0 - LARGEST_LEVERAGE)
        inner = np.linalg.inv(np.diag(weight) + hat)  # weights are 1 or -1, each its own inverse
        across = self._design[: self._n_watched] @ towards
        self._leverage[: self._n_watched] -= _squares(across @ inner, across)
        if self._inverse is None:
            self._inverse = np.diag(self._fit.diagonal)
        self._inverse -= towards @ inner @ towards.T

    def _times(self, design: FloatArray) -> FloatArray:
        return design * self._fit.diagonal if self._inverse is None else design @ self._inverse

    def _predict(self, places: IndexArray | slice) -> None:
        rows = self._rows[places]
        self.predicted[rows] = _without_own(
            self._values[places], self._leverage[places], self._codes[rows], self._inside[rows]
        )


def _without_own(
    values: FloatArray, leverage: FloatArray, codes: CodeArray, inside: npt.NDArray[np.bool_]
) -> FloatArray:
    """Return fitted values with what a row's own target has in them taken out, for rows inside the fit."""
    own = np.where(inside, np.minimum(leverage, LARGEST_LEVERAGE), 0.0)
    result = values.copy()
    result[np.arange(len(codes)), codes] -= own
    result /= (1.0 - own)[:, np.newaxis]
    return result


def _squares(ones: FloatArray, others: FloatArray) -> FloatArray:
    products: FloatArray = np.einsum("ij,ij->i", ones, others)
    return products


def _largest(hat: FloatArray, chosen: npt.NDArray[np.bool_]) -> float:
    """Return the largest eigenvalue of the part of a matrix that belongs to some rows."""
    return float(np.linalg.eigvalsh(hat[np.ix_(chosen, chosen)])[-1]) if chosen.any() else 0.0
