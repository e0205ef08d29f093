"""What a column is, and its cells as numbers, as text or as vectors."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pivotal._types import AnyArray, FloatArray, IndexArray
from pivotal.tables.table import Table

__all__ = [
    "GAPS",
    "Kind",
    "Numbers",
    "as_numbers",
    "as_text",
    "as_vectors",
    "count_different",
    "find_gaps",
    "holds_lists",
    "is_numeric",
    "kind_of",
]

Kind = Literal["number", "category", "vector", "matrix", "text", "image", "date", "rows", "empty", "mixed", "other"]

GAPS: Final = frozenset({"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "-", "?"})
_ROW_NAMES: Final = frozenset({"", "id", "index", "row", "rowid", "row_id", "unnamed: 0", "__index_level_0__"})
_MANY_ROWS: Final = 20  # so many numbers in a row that count up by one are no coincidence
_IMAGES: Final = r"(?i)\.(png|jpe?g|gif|bmp|webp|tiff?)$"
_NOWHERE: Final[IndexArray] = np.empty(0, dtype=np.int64)


class Numbers(NamedTuple):
    """Cells as numbers: NaN where there is a gap, and the rows whose cells are no numbers."""

    numbers: FloatArray
    wrong: IndexArray


def kind_of(table: Table, name: str, gaps: Collection[str], max_categories: int) -> Kind:
    """Say what a column is, going by all of its cells.

    Parameters
    ----------
    table : Table
    name : str
    gaps : collection of str
        Texts that stand for a missing cell.
    max_categories : int
        Text with more different values than this is no category.
    """
    if table.matrix_shape(name) is not None:
        return "matrix"
    column = table.column(name)
    of = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if _is_list(of):
        return "vector" if _is_numeric(of.value_type) else "other"
    if pa.types.is_temporal(of):
        return "date"
    if not (pa.types.is_null(of) or _is_numeric(of) or _is_string(of)):
        return "other"
    cells = _with_gaps(table, name, gaps)
    if cells.null_count == len(cells):
        return "empty"
    if table.written or _is_numeric(of):
        numbers, wrong = as_numbers(table, name, gaps)
        if not len(wrong):
            return "rows" if _counts_rows(numbers, name, table.row_numbers) else "number"
        if len(wrong) < (len(cells) - cells.null_count) / 2:
            return "mixed"
    return _kind_of_text(cells.drop_null(), max_categories)


def _kind_of_text(present: pa.ChunkedArray, max_categories: int) -> Kind:
    if pc.mean(pc.cast(pc.match_substring_regex(present, _IMAGES), pa.float64())).as_py() >= 0.9:
        return "image"
    listed = pc.all(pc.starts_with(pc.utf8_ltrim_whitespace(present), "[")).as_py()
    if listed and _parse_vector(present[0].as_py()) is not None:
        return "vector"
    n_different = pc.count_distinct(present).as_py()
    # What differs in most rows says nothing about others: it is there to be looked at.
    return "category" if n_different <= max_categories and n_different <= max(2, len(present) / 2) else "text"


def _counts_rows(numbers: FloatArray, name: str, rows: IndexArray) -> bool:
    """Whether a column merely numbers the rows."""
    if np.isnan(numbers).any() or len(numbers) < 2:
        return False
    if name.strip().lower() in _ROW_NAMES:
        return len(np.unique(numbers)) == len(numbers)
    return len(numbers) >= _MANY_ROWS and bool((np.diff(numbers) == np.diff(rows)).all())


def is_numeric(table: Table, name: str) -> bool:
    """Whether a column is of a numeric type in its file."""
    return _is_numeric(table.column(name).type)


def holds_lists(table: Table, name: str) -> bool:
    """Whether a column is of lists in its file."""
    return _is_list(table.column(name).type)


def _is_numeric(kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def _is_string(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view")


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _with_gaps(table: Table, name: str, gaps: Collection[str]) -> pa.ChunkedArray:
    """Return the cells of a column, null where there is a gap; text as large strings."""
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if not _is_string(column.type):
        return column
    text = column.cast(pa.large_string())
    gap = pc.is_in(pc.utf8_trim_whitespace(text), value_set=pa.array(sorted(gaps), pa.large_string()))
    return pc.if_else(gap, pa.scalar(None, pa.large_string()), text)


def find_gaps(table: Table, name: str, gaps: Collection[str] = GAPS) -> IndexArray:
    """Return the rows in which a column has no content."""
    cells = _with_gaps(table, name, gaps)
    return np.flatnonzero(cells.is_null().to_numpy()) if cells.null_count else _NOWHERE


def count_different(table: Table, name: str) -> int:
    """Return how many different cells a column has."""
    return int(pc.count_distinct(_with_gaps(table, name, ()), mode="all").as_py())


def as_numbers(table: Table, name: str, gaps: Collection[str] = GAPS) -> Numbers:
    """Return the cells of a column as float64, NaN where there is a gap or no number."""
    cells = _with_gaps(table, name, gaps)
    if pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.int8())
    if _is_string(cells.type):
        cells = pc.utf8_trim_whitespace(cells)
    try:
        numbers = pc.cast(cells, pa.float64(), safe=_is_string(cells.type))
        return Numbers(np.array(numbers.to_numpy(), dtype=np.float64), _NOWHERE)
    except pa.ArrowInvalid:  # some are no numbers, or written in a way of their own
        text = cells.to_pandas().astype(object)
    found = pd.to_numeric(text, errors="coerce")
    wrong = np.flatnonzero(found.isna().to_numpy() & text.notna().to_numpy())
    return Numbers(found.to_numpy(dtype=np.float64), wrong)


def as_text(table: Table, name: str, gaps: Collection[str] = GAPS) -> AnyArray:
    """Return the cells of a column as an object array of str, None where there is a gap."""
    cells = _with_gaps(table, name, gaps).to_pylist()
    text = np.empty(len(cells), dtype=object)
    text[:] = [None if cell is None else str(cell) for cell in cells]
    return text


def as_vectors(table: Table, name: str) -> AnyArray:
    """Return a column of lists as an array of shape (n_rows, length).

    Raises
    ------
    ValueError
        If the lists differ in length, or if there are gaps.
    """
    column = table.column(name).combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    if _is_string(column.type):
        vectors = [_parse_vector(cell) for cell in column.to_pylist()]
        bad = next((row for row, vector in enumerate(vectors) if vector is None), None)
        if bad is not None:
            raise ValueError(f"column {name!r} of {table.name} must hold lists of numbers; {table.row(bad)}, does not.")
        column = pa.array(vectors, pa.large_list(pa.float64()))
    if column.null_count:
        bad = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(
            f"column {name!r} of {table.name} must hold a vector in every row; {table.row(bad)}, has none."
        )
    lengths = np.asarray(pc.list_value_length(column))
    if len(np.unique(lengths)) > 1:
        bad = int(np.flatnonzero(lengths != lengths[0])[0])
        raise ValueError(
            f"column {name!r} of {table.name} must hold vectors of one length; the first has {lengths[0]} numbers, "
            f"and that in {table.row(bad)}, has {lengths[bad]}."
        )
    flat = column.flatten().to_numpy(zero_copy_only=False)
    if flat.dtype not in (np.float32, np.float64):
        flat = flat.astype(np.float64)
    vectors_of: AnyArray = flat.reshape(len(column), -1)
    finite = np.isfinite(vectors_of).all(axis=1)
    if not finite.all():
        bad = int(np.flatnonzero(~finite)[0])
        raise ValueError(f"column {name!r} of {table.name} must hold finite numbers; {table.row(bad)}, does not.")
    return vectors_of


def _parse_vector(cell: str | None) -> list[float] | None:
    try:
        parsed = json.loads(cell or "")
    except ValueError:
        return None
    if not isinstance(parsed, list) or not parsed or not all(isinstance(item, int | float) for item in parsed):
        return None
    return [float(item) for item in parsed]
