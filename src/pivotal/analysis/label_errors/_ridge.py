"""Ridge regression whose every prediction leaves out the row it is for, exactly, from one decomposition.

With H the matrix that takes the targets to the fitted values, the fit without row i predicts for it
(fitted - h y) / (1 - h), h being H's diagonal entry: no row is fitted twice.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np

from pivotal.core.threads import check_cancelled
from pivotal.core.types import AnyArray, FloatArray, IndexArray

__all__ = ["PENALTIES", "Features", "LeaveOneOut"]

PENALTIES: Final = np.geomspace(1e-5, 1e-1, 9)  # times the trace of the features' Gram matrix
_TINY: Final = 1e-9  # directions with less than this share of the largest variance are noise of the computation
_LARGEST_LEVERAGE: Final = 1.0 - 1e-9
_ROWS_THAT_CHOOSE: Final = 5000  # more would not choose another penalty
_BLOCK: Final = 4096  # rows predicted at a time; of a fixed size, so that sums do not depend on memory


class Features(Protocol):
    """Rows as a regression sees them: `rows` times `mixing`, neither of which need be kept whole."""

    @property
    def mixing(self) -> FloatArray | None:
        """What the columns of `rows` are multiplied with; None for nothing. Shape (width, width)."""

    def rows(self, which: IndexArray) -> FloatArray:
        """Return some rows; shape (len(which), width)."""


class LeaveOneOut:
    """A ridge regression on some rows, with an intercept that is not penalised.

    Parameters
    ----------
    features : Features
        Every row's features.
    fitted : int array of shape (n_fitted,)
        Rows that it is fitted to, ascending; the others are predicted from these.
    """

    def __init__(self, features: Features, fitted: IndexArray) -> None:
        self._features, self._fitted = features, fitted
        rows = np.concatenate([features.rows(part) for part in _parts(fitted)])
        self._center = rows.mean(axis=0)
        rows -= self._center
        gram = rows.T @ rows
        mixing = features.mixing
        if mixing is not None:
            gram = mixing.T @ gram @ mixing
        check_cancelled()
        variances, directions = np.linalg.eigh(gram)
        kept = variances > _TINY * max(float(variances[-1]), 1e-300)
        self._variances = variances[kept]
        scaled = directions[:, kept] / np.sqrt(self._variances)
        self._to_scores: FloatArray = scaled if mixing is None else mixing @ scaled
        self._scores = rows @ self._to_scores  # orthonormal columns
        self._squares = self._scores**2

    def predict(self, targets: AnyArray, *, penalty: float | None = None) -> FloatArray:
        """Return what each row's targets would be, from the other rows alone; shape (n_rows, n_targets).

        Parameters
        ----------
        targets : float64 array of shape (n_rows, n_targets)
        penalty : float, optional
            Times the trace of the Gram matrix; by default the one of `PENALTIES` whose leave-one-out predictions have
            the least absolute or, with several targets, squared error.
        """
        known = targets[self._fitted]
        mean = known.mean(axis=0)
        known = known - mean
        weights = self._scores.T @ known
        shrink = self._shrinkage(self._choose(known, weights) if penalty is None else penalty)
        predicted = np.empty(targets.shape)
        predicted[self._fitted] = mean + self._without_own(slice(None), known, weights, shrink)
        others = np.setdiff1d(np.arange(len(targets)), self._fitted, assume_unique=True)
        slopes = self._to_scores @ (shrink[:, np.newaxis] * weights)
        for part in _parts(others):
            check_cancelled()
            predicted[part] = mean + (self._features.rows(part) - self._center) @ slopes
        return predicted

    def _choose(self, known: FloatArray, weights: FloatArray) -> float:
        """Return the best penalty, by a sample of the rows."""
        some = slice(None, None, max(1, -(-len(known) // _ROWS_THAT_CHOOSE)))
        power = 1 if known.shape[1] == 1 else 2  # a wrong number must not decide alone
        errors = []
        for penalty in PENALTIES:
            left = self._without_own(some, known, weights, self._shrinkage(penalty)) - known[some]
            errors.append(float((np.abs(left) ** power).sum(axis=1).mean()))
        return float(PENALTIES[int(np.argmin(errors))])

    def _shrinkage(self, penalty: float) -> FloatArray:
        shrinkage: FloatArray = self._variances / (self._variances + penalty * self._variances.sum())
        return shrinkage

    def _without_own(self, some: slice, known: FloatArray, weights: FloatArray, shrink: FloatArray) -> FloatArray:
        """Return leave-one-out predictions of centred targets, for some of the fitted rows."""
        leverage = np.minimum(self._squares[some] @ shrink + 1.0 / len(known), _LARGEST_LEVERAGE)[:, np.newaxis]
        fitted = self._scores[some] @ (shrink[:, np.newaxis] * weights)
        result: FloatArray = (fitted - leverage * known[some]) / (1.0 - leverage)
        return result


def _parts(which: IndexArray) -> list[IndexArray]:
    return [which[start : start + _BLOCK] for start in range(0, len(which), _BLOCK)]
