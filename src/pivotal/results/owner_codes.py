"""Names of owners to codes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pivotal.core.types import AnyArray, CodeArray, IndexArray
from pivotal.results.ids import one_dimensional


class Owners(NamedTuple):
    """Whose the training points are."""

    codes: CodeArray
    """Owner of each training point, 0..n_owners-1."""

    names: AnyArray
    """Name of each owner, in the order in which they first appear."""

    points: IndexArray
    """Number of points of each owner."""

    @classmethod
    def of(cls, owners: Any, n_train: int, name: str = "owners") -> Owners:
        """Check what the user brought, an owner for each training point, and calls owners, or groups.

        Examples
        --------
        >>> Owners.of(["bob", "ann", "bob"], 3).points
        array([2, 1])
        """
        codes, found = pd.factorize(one_dimensional(name, owners, n_train))
        missing = int((codes < 0).sum())
        if missing:
            one = "an owner" if name == "owners" else "a group"
            raise ValueError(
                f"{name} must name {one} for every training point; got {missing} missing. "
                f"Give points without {one} a name of their own, for example 'unknown'."
            )
        return cls(codes.astype(np.int32), _plain(found), np.bincount(codes).astype(np.int64))


def _plain(names: AnyArray) -> AnyArray:
    """Return names that are all text as text, which can be saved."""
    if names.dtype.kind == "O" and all(type(name) is str for name in names):
        return names.astype(np.str_)
    return names
