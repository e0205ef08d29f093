"""Ridge regression whose every prediction omits the row it is for, exactly, from one decomposition.

With H the matrix that takes the targets to the fitted values, the fit without row i predicts for it
(fitted - h y) / (1 - h), h being H's diagonal entry: no row is fitted twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pivotal.analysis.label_errors._landmarks import Columns, Landmarks
from pivotal.core.threads import check_cancelled
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.neighbors import blocks

PENALTIES: Final = np.geomspace(1e-5, 1e-1, 9)  # times the trace of the features' Gram matrix
_TINY: Final = 1e-9  # directions with less than this share of the largest variance are noise of the computation
LARGEST_LEVERAGE: Final = 1.0 - 1e-9
_ROWS_THAT_CHOOSE: Final = 5000  # more would not choose another penalty
_BLOCK: Final = 4096  # rows predicted at a time; of a fixed size, so that sums do not depend on memory


Features = Columns | Landmarks
"""Rows as a regression sees them: `rows` times `mixing`, neither of which need be kept whole."""


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """A ridge regression fitted to targets, as what is needed to fit it again when few of them change.

    The design of a row is 1 and its scores, which are orthonormal over the fitted rows, so that the inverse of the
    penalised normal matrix is diagonal.

    Parameters
    ----------
    features : Features
    center : float64 array of shape (width,)
    to_scores : float64 array of shape (width, n_scores)
        Takes centred features to scores.
    fitted : int array of shape (n_fitted,)
        Rows that it is fitted to, ascending.
    diagonal : float64 array of shape (1 + n_scores,)
        Of that inverse.
    coefficients : float64 array of shape (1 + n_scores, n_targets)
    leverage : float64 array of shape (n_fitted,)
        What each fitted row's own target has in its fitted value.
    predicted : float64 array of shape (n_rows, n_targets)
        What each row's targets would be, from the other rows alone.
    """

    features: Features
    center: FloatArray
    to_scores: FloatArray
    fitted: IndexArray
    diagonal: FloatArray
    coefficients: FloatArray
    leverage: FloatArray
    predicted: FloatArray

    def design(self, which: IndexArray) -> FloatArray:
        """Return the design of some rows; shape (len(which), 1 + n_scores)."""
        design = np.ones((len(which), len(self.diagonal)))
        for some in blocks(len(which), _BLOCK):
            design[some, 1:] = (self.features.rows(which[some]) - self.center) @ self.to_scores
        return design

    def values(self, which: IndexArray, coefficients: FloatArray) -> FloatArray:
        """Return the fitted values of some rows by some coefficients; shape (len(which), n_targets)."""
        slopes = self.to_scores @ coefficients[1:]
        values = np.empty((len(which), coefficients.shape[1]))
        for some in blocks(len(which), _BLOCK):
            check_cancelled()
            values[some] = coefficients[0] + (self.features.rows(which[some]) - self.center) @ slopes
        return values

    def leverage_bounds(self) -> FloatArray:
        """Return upper bounds of what each row's own target would have in its fitted value; shape (n_rows,)."""
        leverages = np.empty(len(self.predicted))
        # In single precision, twice as fast; a bound needs no more digits.
        to_scores, center = (self.to_scores * np.sqrt(self.diagonal[1:])).astype(np.float32), self.center
        every = np.arange(len(leverages))
        for part in blocks(len(every), _BLOCK):
            check_cancelled()
            scores = (self.features.rows(every[part]) - center).astype(np.float32) @ to_scores
            leverages[part] = self.diagonal[0] + np.einsum("ij,ij->i", scores, scores)
        leverages *= 1.0 + 1e-3
        return leverages


class LeaveOneOutRidge:
    """A ridge regression fitted to some rows, ascending, which predict the others; its intercept is not penalised."""

    def __init__(self, features: Features, fitted: IndexArray) -> None:
        self._features, self._fitted = features, fitted
        rows = np.concatenate([features.rows(fitted[part]) for part in blocks(len(fitted), _BLOCK)])
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
        """Return what each row's targets would be, from the other rows alone; arguments as in `fit`."""
        return self.fit(targets, penalty=penalty).predicted

    def fit(self, targets: AnyArray, *, penalty: float | None = None) -> RidgeFit:
        """Fit the regression to targets of all rows; shape (n_rows, n_targets).

        The penalty is times the trace of the Gram matrix; by default it is the one of `PENALTIES` whose leave-one-out
        predictions have the least absolute or, with several targets, squared error.
        """
        known = targets[self._fitted]
        mean = known.mean(axis=0)
        known = known - mean
        weights = self._scores.T @ known
        shrink = self._shrinkage(self._choose(known, weights)[0] if penalty is None else penalty)
        predicted, leverage = np.empty(targets.shape), self._leverage(slice(None), shrink)
        predicted[self._fitted] = mean + self._without_own(slice(None), known, weights, shrink)
        fit = RidgeFit(
            features=self._features,
            center=self._center,
            to_scores=self._to_scores,
            fitted=self._fitted,
            diagonal=np.concatenate([[1.0 / len(known)], shrink]),
            coefficients=np.concatenate([mean[np.newaxis], shrink[:, np.newaxis] * weights]),
            leverage=leverage,
            predicted=predicted,
        )
        others = np.setdiff1d(np.arange(len(targets)), self._fitted, assume_unique=True)
        predicted[others] = fit.values(others, fit.coefficients)
        return fit

    def error(self, targets: AnyArray) -> float:
        """Return the mean leave-one-out error of targets with the best penalty; parameters as in `fit`."""
        known = targets[self._fitted]
        known = known - known.mean(axis=0)
        return self._choose(known, self._scores.T @ known)[1]

    def _choose(self, known: FloatArray, weights: FloatArray) -> tuple[float, float]:
        """Return the best penalty, by a sample of the rows, and the mean error that it leaves."""
        some = slice(None, None, max(1, -(-len(known) // _ROWS_THAT_CHOOSE)))
        power = 1 if known.shape[1] == 1 else 2  # a wrong number must not decide alone
        errors = []
        for penalty in PENALTIES:
            left = self._without_own(some, known, weights, self._shrinkage(penalty)) - known[some]
            errors.append(float((np.abs(left) ** power).sum(axis=1).mean()))
        best = int(np.argmin(errors))
        return float(PENALTIES[best]), errors[best]

    def _shrinkage(self, penalty: float) -> FloatArray:
        shrinkage: FloatArray = self._variances / (self._variances + penalty * self._variances.sum())
        return shrinkage

    def _without_own(self, some: slice, known: FloatArray, weights: FloatArray, shrink: FloatArray) -> FloatArray:
        """Return leave-one-out predictions of centred targets, for some of the fitted rows."""
        leverage = self._leverage(some, shrink)[:, np.newaxis]
        fitted = self._scores[some] @ (shrink[:, np.newaxis] * weights)
        result: FloatArray = (fitted - leverage * known[some]) / (1.0 - leverage)
        return result

    def _leverage(self, some: slice, shrink: FloatArray) -> FloatArray:
        leverage: FloatArray = self._squares[some] @ shrink + 1.0 / len(self._fitted)
        return np.minimum(leverage, LARGEST_LEVERAGE)
