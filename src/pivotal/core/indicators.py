"""Many labels per point: tables of 0 and 1, a row per point and a column per label."""

from __future__ import annotations

from typing import Any

import numpy as np

from pivotal.core.types import AnyArray, CodeArray
from pivotal.core.validation import is_sparse

__all__ = ["as_indicators", "is_indicators"]


def is_indicators(y: Any) -> bool:
    """Whether labels come as a table of several columns; a single column is taken for a mistake, unless sparse."""
    if is_sparse(y):
        return True
    shape = np.shape(y)
    return len(shape) == 2 and shape[1] != 1


def as_indicators(y: Any, name: str, n_labels: int | None = None) -> CodeArray:
    """Return a table of labels, with `n_labels` columns if given, as an int32 array that holds 0 and 1."""
    table: AnyArray = y.toarray() if is_sparse(y) else np.asarray(y)
    if table.ndim != 2 or 0 in table.shape or (n_labels is not None and table.shape[1] != n_labels):
        columns = "columns" if n_labels is None else f"{n_labels} columns, as y_train has"
        raise ValueError(
            f"{name} must have a row per point and a column per label, {columns}; got shape {table.shape}."
        )
    right = (table == 0) | (table == 1)
    if not np.all(right):
        odd = table[~right][0] if isinstance(right, np.ndarray) else table[0, 0]
        raise ValueError(
            f"{name} with several columns must hold 0 and 1, whether a point has the label of the column; "
            f"got {odd.item() if isinstance(odd, np.generic) else odd!r}. Use one column for classes."
        )
    return np.ascontiguousarray(table, dtype=np.int32)
