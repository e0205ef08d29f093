"""What the page shows of a row: its cells, those that differ most from its neighbours' first, and its words."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pivotal.core.types import AnyArray, IndexArray
from pivotal.report.encode import as_text

__all__ = ["Cells"]

_SAMPLED: Final = 2000  # rows that tell how far the numbers of a column lie apart
_MOSTLY: Final = 0.9  # share of a column's cells that must be numbers for it to be a column of numbers
_LONGEST: Final = 300  # characters shown of a cell
_OTHER: Final = 1.5  # standard deviations that another category is worth


class Cells:
    """The cells of a table.

    Parameters
    ----------
    cells : pyarrow Table
        Columns to show.
    decimal : {".", ","}, default="."
        What stands before the decimals of numbers that are text.
    """

    def __init__(self, cells: pa.Table, decimal: str = ".") -> None:
        self._cells, self._decimal = cells, decimal
        self.columns = list(cells.column_names)
        self._stds: dict[str, float | None] = {}

    def compare(self, row: int, neighbors: IndexArray) -> list[dict[str, Any]]:
        """Return the cells of a row beside those of its neighbours, the largest differences first.

        Parameters
        ----------
        row : int
        neighbors : int array of shape (n_neighbors,)

        Returns
        -------
        cells : list of dict
            `name`, `cell`, `near` (a text per neighbour) and `differs` (standard deviations from their median, or for
            categories 1.5 times the share of neighbours that have another).
        """
        chosen = pa.array(np.concatenate([[row], neighbors]))
        shown = []
        for name in self.columns:
            contents = self._cells.column(name).take(chosen).to_pylist()
            differs = self._difference(name, contents[0], contents[1:])
            texts = [_shown(content) for content in contents]
            shown.append({"name": as_text(name, _LONGEST), "cell": texts[0], "near": texts[1:], "differs": differs})
        return sorted(shown, key=lambda cell: -cell["differs"])

    def find(self, words: str) -> AnyArray:
        """Return which rows have a cell that contains some words, in upper or lower case; shape (n_rows,)."""
        found = np.zeros(self._cells.num_rows, np.bool_)
        for name in self.columns:
            column = self._cells.column(name)
            kind = column.type
            if pa.types.is_nested(kind) or pa.types.is_binary(kind):
                continue
            text = column if pa.types.is_string(kind) or pa.types.is_large_string(kind) else column.cast(pa.string())
            matches = pc.match_substring(text, pattern=words, ignore_case=True)
            found |= pc.fill_null(matches, False).to_numpy(zero_copy_only=False).astype(bool)
        return found

    def _difference(self, name: str, own: Any, near: list[Any]) -> float:
        if not near:
            return 0.0
        std = self._std(name)
        if std is None:
            return _OTHER * float(sum(other != own for other in near)) / len(near)
        number = self._number(own)
        numbers = [other for other in map(self._number, near) if other is not None]
        if number is None or not numbers:
            return _OTHER if number is None and numbers else 0.0
        difference = abs(number - float(np.median(numbers))) / std if std > 0 else 0.0
        return round(difference, 3) if math.isfinite(difference) else 0.0

    def _std(self, name: str) -> float | None:
        """Return the standard deviation of a column of numbers, None for other columns."""
        if name not in self._stds:
            column = self._cells.column(name)
            step = max(1, len(column) // _SAMPLED)
            cells = column.take(pa.array(np.arange(0, len(column), step))).to_pylist()
            there = [cell for cell in cells if cell is not None and cell != ""]
            numbers = [number for number in map(self._number, there) if number is not None]
            mostly = bool(there) and len(numbers) >= _MOSTLY * len(there)
            self._stds[name] = float(np.std(numbers)) if mostly else None
        return self._stds[name]

    def _number(self, cell: Any) -> float | None:
        if isinstance(cell, str) and self._decimal == ",":
            cell = cell.replace(",", ".")
        try:
            number = float(cell)
        except (TypeError, ValueError):
            return None
        return number if math.isfinite(number) and not isinstance(cell, bool) else None


def _shown(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, float):
        return f"{content:.6g}"
    return as_text(content, _LONGEST)
