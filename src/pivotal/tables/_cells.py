"""Cells of many columns at once: which are gaps, which are numbers, and what text looks like.

One rule for all formats: a cell is what it is spelled as. Text that spells a number is that number, whether it comes
from CSV or from a column of text in a Parquet file, except where the spelling says that it is a name: codes with
leading zeros (00501), telephone numbers (+4930...). Everything is done on whole columns, many of them in one array, as
a table may have a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pivotal.core.types import AnyArray, FloatArray
from pivotal.tables.table import Table

_AT_ONCE: Final = 1 << 22  # cells turned into numbers at a time
_NUMBER: Final = (
    r"^(?:-?(?:0|[1-9][0-9]*)\.?|\+(?:0|[1-9][0-9]{0,5})\.?|[+-]?[0-9]*\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
    r"|^[+-]?(?i:inf|infinity)$"
)
_CODE: Final = r"^(?:[+-]?0[0-9]+|\+[0-9]{7,})$"
_CODE_BEGINS: Final = r"^(?:[+-]?0[0-9]|\+[0-9]{7})"
_DAY: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME: Final = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
_DATE: Final = (
    rf"^(?:{_DAY}(?:[T ]{_TIME} ?(?:Z|UTC|[+-][0-9]{{2}}:?[0-9]{{2}})?)?|{_TIME}"
    rf"|-?[0-9]+ days?(?:,? \+?{_TIME})?|[0-9]{{1,2}}[./][0-9]{{1,2}}[./][0-9]{{4}})$"
)
_GROUPED: Final = r"^[+-]?[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?$"
# How numbers are written that are read as text, and what to do about it.
MONEY: Final = r"(?:[$€£¥₹]|US\$|USD|EUR|GBP|CHF|JPY|INR|kr|zł)"
_APART: Final = r"'’ \x{a0}\x{202f}"  # separators of thousands beside commas: apostrophes and spaces
_GROUPS: Final = rf"[1-9][0-9]{{0,2}}(?:[,{_APART}][0-9]{{3}})+(?:\.[0-9]+)?"
_SAY: Final = "say --numbers with the column's name"
# A comma before three digits in every cell separates thousands, unless one of them begins with a zero; where there is
# but one in each, it may as well stand before decimals.
_AMOUNTS: Final = (
    (
        r"^[+-]?[1-9][0-9]{0,2},[0-9]{3}$",
        "numbers with thousands separators or decimal commas",
        "say --numbers with the column's name for the former, --decimal , for the latter,",
    ),
    (rf"^[+-]?{_GROUPS}$", "numbers with thousands separators", _SAY),
    (rf"^[+-]?{_GROUPS}$|^\((?:{_GROUPS}|[0-9]+(?:\.[0-9]+)?)\)$", "numbers in parentheses, which are negative,", _SAY),
    (r"^[+-]?(?:[0-9]+|[0-9]{1,3}(?:[. ][0-9]{3})+),[0-9]+$", "numbers with a decimal comma", "say --decimal ,"),
    (r"^[+-]?[0-9]+(?:[.,][0-9]+)? ?%$", "percentages", _SAY),
    (
        rf"^\(?[+-]? ?{MONEY} ?[+-]?[0-9][0-9.,{_APART}]*\)?$"
        rf"|^\(?[+-]?[0-9][0-9.,{_APART}]* ?{MONEY}\)?$",
        "amounts of money",
        _SAY,
    ),
)


class NumericCells(NamedTuple):
    """Columns of one type as numbers, a row of the arrays for each: NaN where there is a gap or no number."""

    names: Sequence[str]
    numbers: FloatArray
    wrong: AnyArray | None
    """Which cells have content that is no number; None where all are numbers or gaps."""


def is_numeric(kind: Any) -> bool:
    """Whether an Arrow type is numeric; booleans are not."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_string(kind: Any) -> bool:
    """Whether an Arrow type is of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_list(kind: Any) -> bool:
    """Whether an Arrow type is of lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def decoded(column: Any) -> Any:
    """Return a column without dictionary encoding."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def plain(column: Any) -> Any:
    """Return a column of a type that everything can be done with: no dictionaries, all text as large strings."""
    column = decoded(column)
    if pa.types.is_float16(column.type):
        return column.cast(pa.float32())
    return column.cast(pa.large_string()) if is_string(column.type) else column


def without_gaps(column: Any, gaps: Collection[str]) -> Any:
    """Return the cells of a column, null where there is a gap."""
    cells = plain(column)
    if pa.types.is_floating(cells.type):
        return pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)
    if not is_string(cells.type):
        return cells
    gap = pc.is_in(pc.utf8_trim_whitespace(cells), value_set=pa.array(sorted(gaps), pa.large_string()))
    return pc.if_else(gap, pa.scalar(None, pa.large_string()), cells)


def convert(table: Table, names: Sequence[str], gaps: Collection[str]) -> Iterator[NumericCells]:
    """Turn columns of numbers or of text into numbers, some at a time, in the order of their types."""
    places = {name: place for place, name in enumerate(table.columns)}
    columns = table.cells.columns
    by_type: dict[Any, list[str]] = {}
    for name in names:
        by_type.setdefault(columns[places[name]].type, []).append(name)
    most = max(1, _AT_ONCE // max(1, len(table)))
    for alike in by_type.values():
        for first in range(0, len(alike), most):
            some = alike[first : first + most]
            chunks = [chunk for name in some for chunk in decoded(columns[places[name]]).chunks]
            yield _convert(some, pa.concat_arrays(chunks), table, gaps)


def _convert(names: Sequence[str], flat: Any, table: Table, gaps: Collection[str]) -> NumericCells:
    shape = (len(names), len(table))
    if not is_string(flat.type):
        if pa.types.is_decimal(flat.type):
            flat = flat.cast(pa.large_string())  # by way of text, which is rounded once, as in CSV
        numbers = pc.cast(flat, pa.float64(), safe=False) if len(flat) else pa.array([], pa.float64())
        return NumericCells(names, _array(numbers).reshape(shape), None)
    text = without_gaps(flat, gaps)
    numbers, spelled = spelled_as_numbers(text, table.decimal)
    if spelled is None:
        return NumericCells(names, _array(numbers).reshape(shape), None)
    wrong = pc.and_(text.is_valid(), pc.invert(pc.fill_null(spelled, False)))
    return NumericCells(names, _array(numbers).reshape(shape), np.asarray(wrong).reshape(shape))


def _array(numbers: Any) -> FloatArray:
    return np.array(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def spelled_as_numbers(text: Any, decimal: str = ".") -> tuple[Any, Any | None]:
    """Return text as float64, null where it spells no number, and which cells do; None where all that are there do."""
    text = pc.utf8_trim_whitespace(text)
    if decimal == ",":
        text = _with_points(text)
    try:
        numbers = pc.cast(text, pa.float64())
        if not pc.any(pc.match_substring_regex(text, _CODE_BEGINS)).as_py() and not pc.any(pc.is_nan(numbers)).as_py():
            return numbers, None
    except pa.ArrowInvalid:
        pass
    spelled = pc.match_substring_regex(text, _NUMBER)
    return pc.cast(pc.if_else(spelled, text, pa.scalar(None, text.type)), pa.float64()), spelled


def _with_points(text: Any) -> Any:
    """Return text with decimal points where it has commas, and the other way round."""
    grouped = pc.match_substring_regex(text, _GROUPED)
    text = pc.if_else(grouped, pc.replace_substring(text, ".", ""), text)
    return pc.replace_substring(pc.replace_substring(text, ".", "·"), ",", ".")


def are_codes(cells: Any) -> bool:
    """Whether cells, none of them a gap, are all codes such as 00501 or telephone numbers."""
    return _all_match(cells, _CODE)


def are_dates(cells: Any) -> bool:
    """Whether cells, none of them a gap, are all dates, times or durations as they are usually written."""
    return _all_match(cells, _DATE)


def _all_match(cells: Any, pattern: str) -> bool:
    text = pc.utf8_trim_whitespace(cells)
    first = pc.match_substring_regex(text.slice(0, 1), pattern)
    return bool(len(first) and pc.all(first).as_py() and pc.all(pc.match_substring_regex(text, pattern)).as_py())


def describe_amounts(cells: Any) -> str:
    """Say how numbers are written that are read as text, and what to do about it; nothing where they are no numbers."""
    text = pc.utf8_trim_whitespace(cells)
    for pattern, what, how in _AMOUNTS:
        found = pc.match_substring_regex(text, pattern)
        # Integers among decimal commas are written without one.
        if pc.any(found).as_py() and pc.all(pc.or_(found, pc.match_substring_regex(text, _NUMBER))).as_py():
            return f"{what} such as {text.filter(found)[0].as_py()!r}; {how} to use them as numbers"
    return ""
