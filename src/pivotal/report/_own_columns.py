"""The columns of the table that points come from, beside those of their neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from pivotal.core.types import AnyArray, IndexArray
from pivotal.report.encode import as_json, as_text

__all__ = ["pack_columns", "read_columns"]

_MOST: Final = 60  # columns shown
_CELL: Final = 80  # characters of a cell


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
    columns: Mapping[str, AnyArray], shown: IndexArray, order: Iterable[int], room: int
) -> dict[str, Any] | None:
    """Pack the cells of points, the most interesting first, as many as there is room for.

    Differences are measured by the page: in standard deviations for numbers, and as same or not for all else.

    Parameters
    ----------
    columns : mapping of str to array of shape (n_train,)
    shown : int array of shape (n_shown,)
        Training indices of the points shown, ascending.
    order : iterable of int
        Training indices, most interesting first.
    room : int
        Characters there are.

    Returns
    -------
    packed : dict
        `names` of the columns, `stds` of those that are numbers, `rows` by the place of a point, and how many columns
        are omitted; None where there is no room for any row.
    """
    kept = dict(list(columns.items())[:_MOST])
    numbers = {name: _as_numbers(cells) for name, cells in kept.items()}
    places = {int(point): place for place, point in enumerate(shown)}
    rows: dict[str, list[Any]] = {}
    for point in order:
        if point not in places:
            continue
        row = [_cell(kept[name][point], numbers[name], point) for name in kept]
        room -= len(as_json(row).encode()) + 12
        if room < 0:
            break
        rows[str(places[point])] = row
    if not rows:
        return None
    stds = [None if found is None else float(np.nanstd(found)) or None for found in numbers.values()]
    names = [as_text(name, _CELL) for name in kept]
    return {"names": names, "stds": stds, "rows": rows, "left_out": len(columns) - len(kept)}


def _as_numbers(cells: AnyArray) -> AnyArray | None:
    """Return a column as numbers where all of it that is there is; None for all others."""
    there = np.array([not _absent(cell) for cell in cells])
    if not there.any() or cells.dtype == bool:
        return None
    numbers = np.full(len(cells), np.nan)
    try:
        numbers[there] = [float(cell) for cell in cells[there]]
    except (TypeError, ValueError):
        return None
    return numbers if np.isfinite(numbers[there]).all() else None


def _absent(cell: Any) -> bool:
    return cell is None or cell is pd.NaT or (isinstance(cell, float) and cell != cell) or str(cell) == ""


def _cell(cell: Any, numbers: AnyArray | None, point: int) -> Any:
    """Return a cell as the page shows it: a number, a text, or nothing."""
    if numbers is not None:
        return None if np.isnan(numbers[point]) else float(f"{numbers[point]:.6g}")
    return None if _absent(cell) else as_text(cell, _CELL)
