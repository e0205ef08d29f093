"""Where the points lie on the page: coordinates of the user's own, or the two main axes of the features."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pivotal.core.types import FloatArray
from pivotal.core.validation import is_sparse

__all__ = ["check_coordinates", "project"]

_FITTED: Final = 20_000  # rows that the axes are fitted to


def check_coordinates(coordinates: npt.ArrayLike, n_train: int) -> FloatArray:
    """Return the user's own coordinates as a finite float array of shape (n_train, 2)."""
    try:
        places = np.asarray(coordinates, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("coordinates must hold numbers, two per training point; got something else.") from None
    if places.shape != (n_train, 2):
        raise ValueError(f"coordinates must have shape ({n_train}, 2); got shape {places.shape}.")
    if not np.isfinite(places).all():
        bad = int((~np.isfinite(places)).sum())
        raise ValueError(f"coordinates must be finite; got {bad} entries that are not. Omit such points.")
    return places


def project(X: Any, values: FloatArray, shown: npt.NDArray[np.int64], seed: int) -> tuple[FloatArray, list[str], str]:
    """Place the points shown along the two directions in which the features vary most; return places, axes and a note.

    When there is only one feature, values are the height. The seed is for large tables, whose axes are found by a
    randomised solver on some of the rows.
    """
    if X.shape[1] == 1:
        only = X[shown].toarray() if is_sparse(X) else X[shown]
        places = np.column_stack([only[:, 0], values[shown]])
        return places, ["feature", "value"], "One feature, so height is the value."
    in_one_place = np.zeros((len(shown), 2)), ["", ""], "All points lie in one place."
    if X.shape[0] == 1:
        return in_one_place
    largest = (float(abs(X).max()) if is_sparse(X) else max(-float(X.min()), float(X.max()))) or 1.0
    from scipy.sparse.linalg import ArpackError
    from sklearn.decomposition import PCA

    rows = np.arange(X.shape[0])
    if len(rows) > _FITTED:
        rows = np.sort(np.random.default_rng(seed).choice(rows, _FITTED, replace=False))
    solver = "arpack" if is_sparse(X) and min(X.shape) > 2 else "auto"
    fitted, wanted = X[rows] / largest, X[shown] / largest  # so that squares stay in range
    if is_sparse(X) and solver == "auto":
        fitted, wanted = fitted.toarray(), wanted.toarray()
    try:
        with np.errstate(invalid="ignore"):  # a share of no variance at all
            axes = PCA(2, svd_solver=solver, random_state=seed).fit(fitted)
    except ArpackError:  # so it says of equal rows
        axes = None
    if axes is None or not axes.explained_variance_.any():
        return in_one_place
    places = np.asarray(axes.transform(wanted), dtype=np.float64) * largest
    # The sign of an axis is arbitrary: the longer tail points right and up.
    places *= np.where(places.max(axis=0) < -places.min(axis=0), -1.0, 1.0)
    first, second = (f"{100 * share:.3g} %" for share in axes.explained_variance_ratio_)
    note = f"Principal components of the features: the axes hold {first} and {second} of their variance."
    return places, [f"first component, {first}", f"second component, {second}"], note
