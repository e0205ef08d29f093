"""Features of a regression: columns as they are, or how alike each row is to some rows, the landmarks (Nystroem)."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import diags_array

from pivotal.core.types import FloatArray, IndexArray
from pivotal.core.validation import is_sparse

Kernel = Literal["linear", "rbf", "laplace"]
_JITTER: Final = 1e-6
_ROWS_FOR_WIDTH: Final = 200  # landmarks whose distances say how wide a kernel is
_BY_CHANCE: Final = 0.3  # of the mean importance, what each column gets for every further n_rows columns


class Columns:
    """The columns themselves, multiplied with a scale of shape (n_features,)."""

    mixing = None

    def __init__(self, X: Any, scale: FloatArray | None) -> None:
        self._X, self._scale = X, scale

    def rows(self, which: IndexArray) -> FloatArray:
        """Return some rows."""
        found: FloatArray = _take(self._X, which, self._scale)
        return found


class Landmarks:
    """Features whose inner products approximate a kernel, by the rows chosen as landmarks, of scaled columns.

    The kernel is exp(-d^2 / 2m) for rbf and exp(-d / 2 sqrt(m)) for laplace, with m the median squared distance between
    landmarks.
    """

    def __init__(self, X: Any, kernel: Kernel, chosen: IndexArray, scale: FloatArray | None = None) -> None:
        self._X, self._kernel, self._scale = X, kernel, scale
        self._landmarks = _take(X, chosen, scale)
        self._squares = _squares(self._landmarks)
        self._width = 1.0
        if kernel != "linear":
            few = self._distances(chosen[:_ROWS_FOR_WIDTH])[:, :_ROWS_FOR_WIDTH]
            median = float(np.median(few[np.triu_indices(len(few), 1)])) if len(few) > 1 else 0.0
            self._width = median or float(few.mean()) or 1.0
        between = self.rows(chosen)
        jitter = _JITTER * (float(np.trace(between)) / len(between) or 1.0)
        factor = cholesky(between + jitter * np.eye(len(between)), lower=True)
        self.mixing: FloatArray = solve_triangular(factor, np.eye(len(factor)), lower=True).T

    def rows(self, which: IndexArray) -> FloatArray:
        """Return how alike some rows are to the landmarks."""
        if self._kernel == "linear":
            return _products(_take(self._X, which, self._scale), self._landmarks)
        alike = self._distances(which)
        if self._kernel == "rbf":
            alike /= -2.0 * self._width
        else:
            np.sqrt(alike, out=alike)
            alike /= -2.0 * np.sqrt(self._width)
        return np.exp(alike, out=alike)

    def _distances(self, which: IndexArray) -> FloatArray:
        """Squared distances of some rows to the landmarks."""
        rows = _take(self._X, which, self._scale)
        distances = _products(rows, self._landmarks)
        distances *= -2.0
        distances += _squares(rows)[:, np.newaxis]
        distances += self._squares
        return np.maximum(distances, 0.0, out=distances)


def column_scale(X: Any, importance: FloatArray | None) -> FloatArray | None:
    """Return what makes columns equally spread, and then as wide as a forest finds them important.

    Sparse columns keep their spread, which says how rare they are. Shape (n_features,), or None for 1.

    Of more columns than rows, a forest finds some important by chance: those that fit the labels as given, wrong ones
    among them. A regression on these would agree with every label. So all columns get some importance there.
    """
    if is_sparse(X):
        return None if importance is None else _relative(importance) ** 0.25
    std = X.std(axis=0, dtype=np.float64)
    scale = np.where(std > 0.0, 1.0 / np.where(std > 0.0, std, 1.0), 0.0)
    if importance is None:
        return scale
    n_rows, n_features = X.shape
    by_chance = _BY_CHANCE * max(0.0, n_features / n_rows - 1.0) * float(importance.mean())
    return scale * np.sqrt(_relative(importance + by_chance))


def _relative(importance: FloatArray) -> FloatArray:
    largest = float(importance.max())
    return importance / largest if largest > 0.0 else np.ones_like(importance)


def _take(X: Any, which: IndexArray, scale: FloatArray | None) -> Any:
    """Return some rows in double precision, scaled; never all of them at once."""
    rows = X[which].astype(np.float64)
    if scale is None:
        return rows
    return (rows @ diags_array(scale)).tocsr() if is_sparse(rows) else rows * scale


def _products(rows: Any, landmarks: Any) -> FloatArray:
    product = rows @ landmarks.T
    return np.asarray(product.toarray() if is_sparse(product) else product, dtype=np.float64)


def _squares(rows: Any) -> FloatArray:
    if is_sparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", rows, rows), dtype=np.float64)
