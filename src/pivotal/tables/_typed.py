"""Columns of text with the types of what they spell, for formats that have types."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pivotal.tables._cells import convert, without_gaps
from pivotal.tables.columns import GAPS
from pivotal.tables.table import Table

__all__ = ["typed"]

_INTEGER: Final = r"^[+-]?[0-9]{1,18}$"
_TRUTH: Final = r"(?i)^(?:true|false)$"


def typed(table: Table) -> pa.Table:
    """Return the cells of a CSV file as a file with types holds them: numbers, truth values, text.

    A column becomes what it is read as, so that the rows have the same values in every format. Gaps in columns of
    numbers and truth values become nulls; text stays as it is written, codes with leading zeros among it.
    """
    columns: dict[str, Any] = {}
    for cells in convert(table, table.columns, GAPS):
        for place, name in enumerate(cells.names):
            column = table.column(name)
            if cells.wrong is not None and cells.wrong[place].any():
                columns[name] = _truth(column)
            elif np.isnan(cells.numbers[place]).all():
                columns[name] = column
            else:
                columns[name] = _numbers(column, cells.numbers[place])
    return pa.table([columns[name] for name in table.columns], names=table.columns)


def _numbers(column: Any, numbers: Any) -> Any:
    """Return integers where all are, else floats; text where neither holds what is written."""
    text = pc.utf8_trim_whitespace(without_gaps(column, GAPS))
    if pc.all(pc.match_substring_regex(text, _INTEGER)).as_py():
        return pc.utf8_ltrim(text, "+").cast(pa.int64())
    if not np.isfinite(numbers[~np.isnan(numbers)]).all() or (np.abs(numbers) >= 2.0**53).any():
        return column  # as a float would not tell large integers apart
    return pa.array(numbers, from_pandas=True)


def _truth(column: Any) -> Any:
    text = pc.utf8_trim_whitespace(without_gaps(column, GAPS))
    if not pc.all(pc.match_substring_regex(text, _TRUTH)).as_py():
        return column
    return pc.equal(pc.utf8_lower(text), "true")
