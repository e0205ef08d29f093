"""Names of the training points: those given, the index of a data frame, or their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pivotal.core.types import AnyArray


def ids_of(rows: Any, ids: ArrayLike | None) -> ArrayLike | None:
    """Names of the training points: those given, or the index of a pandas object, or none."""
    if ids is not None:
        return ids
    index = getattr(rows, "index", None)
    return np.asarray(index.to_numpy()) if isinstance(index, pd.Index) else None


def as_ids(ids: ArrayLike | None, n_train: int) -> AnyArray:
    """Return the names of the training points: those given, or their indices."""
    return np.arange(n_train) if ids is None else one_dimensional("ids", ids, n_train)


def one_dimensional(name: str, content: ArrayLike, n_train: int) -> AnyArray:
    """Copy to an array of shape (n_train,), without turning numbers that stand beside strings into strings."""
    array = np.array(content)
    if array.dtype.kind in "US" and isinstance(content, (list, tuple)):
        objects = np.array(content, dtype=object)
        array = array if len({type(item) for item in objects.flat}) == 1 else objects
    if array.shape != (n_train,):
        raise ValueError(f"{name} must have one entry per training point, shape ({n_train},); got shape {array.shape}.")
    return array
