"""The columns of the table that points come from, beside those of their neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from pivotal.core.types import AnyArray, IndexArray
from pivotal.report.encode import as_json, as_text
from pivotal.report.row_cells import RowCells

_MOST: Final = 60  # columns shown
_CELL: Final = 80  # characters of a cell
_DIFFERENCE: Final = 6  # characters of how far a cell is from those of the neighbours


def read_columns(columns: Any, n_train: int) -> dict[str, AnyArray] | None:
    """Return the columns of a data frame, or a mapping of them, with a row per training point, checked."""
    if columns is None:
        return None
    if not isinstance(columns, Mapping) and not hasattr(columns, "columns"):
        raise TypeError(f"columns must be a data frame or a mapping of columns; got {type(columns).__name__}.")
    read: dict[str, AnyArray] = {}
    for name in columns if isinstance(columns, Mapping) else columns.columns:
        cells = pd.Series(columns[name]).to_numpy()
        if len(cells) != n_train:
            raise ValueError(f"columns must have a row per training point, {n_train}; {name!r} has {len(cells)}.")
        read[str(name)] = cells
    return read or None


def pack_columns(
    columns: Mapping[str, AnyArray],
    neighbours: Mapping[int, IndexArray],
    shown: IndexArray,
    order: Iterable[int],
    room: int,
) -> dict[str, Any] | None:
    """Pack the cells of the points shown in this order, as many as there is room for; None where there is for no row.

    Packed are `names` of the columns, `rows` by the place of a point among those shown, which are ascending, how far
    the point `differs` in each column from its neighbours, where these are known, and how many columns are omitted.
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
