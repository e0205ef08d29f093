"""Rows of Python objects, as spreadsheets and databases give them, to Arrow columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from pivotal.tables._limits import Limit

__all__ = ["as_columns"]


def as_columns(names: Sequence[str], rows: Iterable[Sequence[Any]], path: str, limit: Limit) -> pa.Table:
    """Return rows as a table; a column of several types is one of text.

    Parameters
    ----------
    names : sequence of str
        Of the columns.
    rows : iterable of sequences
        Read one by one, so that too many are noticed before they fill the memory.
    path : str
        What messages call the file.
    limit : Limit
    """
    columns: list[list[Any]] = [[] for _ in names]
    for place, row in enumerate(rows):
        limit.check(place + 1, path)
        for cells, cell in zip(columns, row, strict=True):
            cells.append(cell)
    return pa.Table.from_arrays([_column(cells) for cells in columns], names=list(names))


def _column(cells: list[Any]) -> pa.Array:
    try:
        return pa.array(cells)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if cell is None else str(cell) for cell in cells], pa.large_string())
