"""Names of owners to codes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pivotal.core.types import AnyArray, CodeArray, IndexArray

__all__ = ["Owners"]


class Owners(NamedTuple):
    """Whose the training points are."""

    codes: CodeArray
    """Owner of each training point, 0..n_owners-1."""

    names: AnyArray
    """Name of each owner, in the order in which they first appear."""

    points: IndexArray
    """Number of points of each owner."""

    @classmethod
    def of(cls, owners: Any, n_train: int) -> Owners:
        """Check what the user brought.

        Parameters
        ----------
        owners : array-like of shape (n_train,)
            Owner of each training point.
        n_train : int
            Number of training points.
        """
        names = np.asarray(owners)
        if names.dtype.kind in "US" and isinstance(owners, (list, tuple)):
            names = np.asarray(owners, dtype=object)  # a number beside text must not turn into text
        if names.shape != (n_train,):
            raise ValueError(
                f"owners must have one entry per training point, shape ({n_train},); got shape {names.shape}."
            )
        codes, found = pd.factorize(names)
        missing = int((codes < 0).sum())
        if missing:
            raise ValueError(
                f"owners must name an owner for every training point; got {missing} missing. "
                "Give points without an owner a name of their own, for example 'unknown'."
            )
        return cls(codes.astype(np.int32), _plain(found), np.bincount(codes).astype(np.int64))


def _plain(names: AnyArray) -> AnyArray:
    """Return names that are all text as text, which can be saved."""
    if names.dtype.kind == "O" and all(type(name) is str for name in names):
        return names.astype(np.str_)
    return names
