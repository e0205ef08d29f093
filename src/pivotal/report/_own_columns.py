"""The columns of the table that points come from, beside those of their neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from pivotal.core.types import AnyArray, IndexArray
from pivotal.report.encode import as_json, as_text
from pivotal.report.row_cells import RowCells

__all__ = ["pack_columns", "read_columns"]

Neighbours: TypeAlias = Mapping[int, IndexArray]
_MOST: Final = 60  # columns shown
_CELL: Final = 80  # characters of a cell
_DIFFERENCE: Final = 6  # characters of how far a cell is from those of the neighbours


def read_columns(columns: Any, n_train: int) -> dict[str, AnyArray] | None:
    """Return the columns of a table with a row per training point, checked.

    Parameters
    ----------
    columns : data frame or mapping of str to sequence, optional
    n_train : int
    """
    if columns is None:
        return None
    if not isinstance(columns, Mapping) and not hasattr(columns, "columns"):
        raise TypeError(f"columns must be a data frame or a mapping of columns; got {type(columns).__name__}.")
    names = list(columns) if isinstance(columns, Mapping) else list(columns.columns)
    read: dict[str, AnyArray] = {}
    for name in names:
        cells = pd.Series(columns[name]).to_numpy()
        if len(cells) != n_train:
            raise ValueError(f"columns must have a row per training point, {n_train}; {name!r} has {len(cells)}.")
        read[str(name)] = cells
    return read or None


def pack_columns(
    columns: Mapping[str, AnyArray], neighbours: Neighbours, shown: IndexArray, order: Iterable[int], room: int
) -> dict[str, Any] | None:
    """Pack the cells of points, the most interesting first, as many as there is room for.

    Parameters
    ----------
    columns : mapping of str to array of shape (n_train,)
    neighbours : mapping of int to int array
        Nearest others of points, where they are known.
    shown : int array of shape (n_shown,)
        Training indices of the points shown, ascending.
    order : iterable of int
        Training indices, most interesting first.
    room : int
        Characters there are.

    Returns
    -------
    packed : dict
        `names` of the columns, `rows` by the place of a point, how far the point `differs` from its neighbours in each
        column, and how many columns are omitted; None where there is no room for any row.
    """
    kept = RowCells(dict(list(columns.items())[:_MOST]))
    places = {int(point): place for place, point in enumerate(shown)}
    chosen = np.array([point for point in order if point in places], dtype=np.int64)
    texts = [kept.texts(name, chosen, _CELL) for name in kept.columns]
    rows: dict[str, list[str]] = {}
    for point, *row in zip(chosen.tolist(), *texts, strict=True):
        room -= len(as_json(row).encode()) + _DIFFERENCE * len(row) + 24
        if room < 0:
            break
        rows[str(places[point])] = row
    if not rows:
        return None
    packed = chosen[: len(rows)]
    known = np.array([point for point in packed.tolist() if point in neighbours], dtype=np.int64)
    far = kept.differences(known, np.array([neighbours[point] for point in known.tolist()])) if len(known) else known
    return {
        "names": [as_text(name, _CELL) for name in kept.columns],
        "rows": rows,
        "differs": {str(places[point]): line for point, line in zip(known.tolist(), far.tolist(), strict=True)},
        "left_out": len(columns) - len(kept.columns),
    }
