"""The cells of a row beside those of its neighbours, the largest differences first: on the review page and the report.

A column is one of numbers if nearly all of its cells are. There a row differs by the standard deviations between it and
the median of its neighbours; elsewhere by the share of neighbours that have one and the same other cell: where all have
something of their own, as in a column of names, a difference tells nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.report.encode import as_text

__all__ = ["RowCells"]

_SAMPLED: Final = 2000  # rows that tell how far the numbers of a column lie apart
_MOSTLY: Final = 0.9  # share of a column's cells that must be numbers for it to be a column of numbers
_LONGEST: Final = 300  # characters shown of a cell
_OTHER: Final = 1.5  # standard deviations that another category is worth


class RowCells:
    """The cells of a table, with this mark before the decimals of numbers that are text.

    The column `names`, which names the rows, is searched and not compared.
    """

    def __init__(
        self, cells: pa.Table | Mapping[str, AnyArray], decimal: str = ".", *, names: str | None = None
    ) -> None:
        self._cells, self._decimal = cells, decimal
        self._searched: list[str] = list(cells.column_names if isinstance(cells, pa.Table) else cells)
        self.columns: list[str] = [name for name in self._searched if name != names]
        self._stds: dict[str, float | None] = {}

    def compare(self, row: int, neighbors: IndexArray) -> list[dict[str, Any]]:
        """Return the cells of a row beside those `near`, a text per neighbour, the largest differences first."""
        rows = np.concatenate([[row], neighbors]).astype(np.int64)
        contents = [self._take(name, rows) for name in self.columns]
        far = self._measure(contents, (1, len(rows)))[0].tolist()
        shown = []
        for name, content, differs in zip(self.columns, contents, far, strict=True):
            texts = [_shown(cell, _LONGEST) for cell in content]
            shown.append({"name": as_text(name, _LONGEST), "cell": texts[0], "near": texts[1:], "differs": differs})
        return sorted(shown, key=lambda cell: -cell["differs"])

    def differences(self, rows: IndexArray, neighbors: IndexArray) -> FloatArray:
        """Return how far rows are from their neighbours, of shape (n_rows, n_neighbors), in each column.

        In standard deviations from their median, or for categories 1.5 times the share of neighbours that have the
        other one which is the most frequent among them.
        """
        chosen = np.column_stack([rows, neighbors])
        return self._measure([self._take(name, chosen.ravel()) for name in self.columns], chosen.shape)

    def _measure(self, contents: list[list[Any]], shape: tuple[int, int]) -> FloatArray:
        """Return what `differences` does, given the cells of each column: of every row, then of its neighbours."""
        n_rows, width = shape
        far = np.zeros((n_rows, len(contents)))
        stds = [self._std(name) for name in self.columns]
        numeric = [place for place, std in enumerate(stds) if std is not None]
        if width < 2:
            return far
        for place in set(range(len(contents))) - set(numeric):
            cells = contents[place]
            for row, start in enumerate(range(0, n_rows * width, width)):
                near = cells[start + 1 : start + width]
                others = Counter(repr(other) for other in near if other != cells[start])  # a list cannot be counted
                far[row, place] = _OTHER * max(others.values(), default=0) / (width - 1)
        if numeric:
            numbers = np.array(
                [[self._number(cell) for cell in contents[place]] for place in numeric], dtype=np.float64
            )
            spreads = np.array([stds[place] for place in numeric], dtype=np.float64)
            far[:, numeric] = _deviations(numbers.reshape(len(numeric), n_rows, width), spreads[:, np.newaxis]).T
        return far.round(3)

    def texts(self, name: str, rows: IndexArray, longest: int) -> list[str]:
        """Return the cells of some rows in a column as they are shown; a gap is an empty text."""
        return [_shown(content, longest) for content in self._take(name, rows)]

    def find(self, words: str) -> AnyArray:
        """Return which rows have a cell that contains some words, in upper or lower case; shape (n_rows,)."""
        assert isinstance(self._cells, pa.Table)
        found = np.zeros(self._cells.num_rows, np.bool_)
        wordy = words.casefold() not in ("nan", "inf", "-inf") and not any(letter.isdigit() for letter in words)
        for name in self._searched:
            column = self._cells.column(name)
            kind = column.type
            if pa.types.is_nested(kind) or pa.types.is_binary(kind):
                continue
            if wordy and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                continue  # numbers of a large table take long to write out
            text = column if pa.types.is_string(kind) or pa.types.is_large_string(kind) else column.cast(pa.string())
            matches = pc.match_substring(text, pattern=words, ignore_case=True)
            found |= pc.fill_null(matches, False).to_numpy(zero_copy_only=False).astype(bool)
        return found

    def _take(self, name: str, rows: IndexArray) -> list[Any]:
        column: Any = self._cells[name]
        if isinstance(column, pa.ChunkedArray):
            contents: list[Any] = column.take(pa.array(rows)).to_pylist()
            return contents
        return [None if _is_gap(cell) else cell for cell in column[rows].tolist()]

    def _std(self, name: str) -> float | None:
        """Return the standard deviation of a column of numbers, None for other columns."""
        if name not in self._stds:
            n_rows = len(self._cells[name])
            cells = self._take(name, np.arange(0, n_rows, max(1, n_rows // _SAMPLED)))
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


def _deviations(numbers: FloatArray, std: FloatArray) -> FloatArray:
    """Return how many standard deviations first numbers are from the median of those after them; a gap is far off.

    Numbers have the shape (n_columns, n_rows, 1 + n_neighbors), with NaN for a gap; std has the shape (n_columns, 1).
    """
    own, near = numbers[..., 0], np.sort(numbers[..., 1:], axis=-1)  # those that are no numbers come last
    n_there = np.count_nonzero(~np.isnan(near), axis=-1)[..., np.newaxis]
    middle = np.concatenate([np.maximum(n_there - 1, 0) // 2, n_there // 2], axis=-1)
    ends = np.take_along_axis(near, middle, axis=-1)
    far = np.abs(own - ends.mean(axis=-1)) / np.where(std > 0.0, std, np.inf)
    far = np.where(np.isfinite(far), far, 0.0)
    return np.where(n_there[..., 0] > 0, np.where(np.isnan(own), _OTHER, far), 0.0)


def _is_gap(cell: Any) -> bool:
    return cell is None or cell is pd.NaT or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell))


def _shown(content: Any, longest: int) -> str:
    if content is None:
        return ""
    if isinstance(content, float):
        return f"{content:.6g}"
    return as_text(content, longest)
