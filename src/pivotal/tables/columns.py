"""What a column is, and its cells as numbers, as text or as vectors: the same for the same rows in any format."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pivotal.core.pictures import ENDINGS
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.tables._cells import (
    are_codes,
    are_dates,
    convert,
    describe_amounts,
    is_list,
    is_numeric,
    is_string,
    plain,
    without_gaps,
)
from pivotal.tables.table import Table

Kind = Literal["number", "category", "vector", "matrix", "text", "image", "date", "rows", "empty", "mixed", "other"]

GAPS: Final = frozenset({"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "-", "?"})
_ROW_NAMES: Final = re.compile(
    r"|#|_?id|_?idx|_?index|(row|line|record|sample|serial|case|item)?[ _.]?(id|idx|index|nr|no|num|number)\.?|rows?"
    r"|rowid|rownames?|s\.?no\.?|unnamed: ?\d+|__index_level_\d+__|level_\d+",
)
_ADDRESS: Final = r"^\s*[A-Za-z][A-Za-z0-9+.-]+://"
_IMAGES: Final = rf"(?i)({'|'.join(map(re.escape, ENDINGS))})$"
TRUTH: Final = r"(?i)^(?:true|false)$"
_NOWHERE: Final[IndexArray] = np.empty(0, dtype=np.int64)
_LARGEST: Final = 2**63 - 1


class Numbers(NamedTuple):
    """Cells as numbers: NaN where there is a gap, and the rows whose cells are no numbers."""

    numbers: FloatArray
    wrong: IndexArray


class Profile(NamedTuple):
    """What columns are, those of numbers as numbers, and what else there is to say about some."""

    kinds: dict[str, Kind]
    numbers: dict[str, FloatArray]
    remarks: dict[str, str]


def profile(
    table: Table,
    names: Sequence[str],
    gaps: Collection[str],
    max_categories: int,
    given: Mapping[str, Kind] | None = None,
) -> Profile:
    """Say what columns are, going by all of their cells; some are `given`, whatever they look like."""
    kinds: dict[str, Kind] = {}
    numbers: dict[str, FloatArray] = {}
    remarks: dict[str, str] = {}
    fields = {field.name: field for field in table.cells.schema}
    open_: list[str] = []
    for name in names:
        kind = (given or {}).get(name) or _kind_by_type(table, name, fields[name].type)
        if kind is None:
            open_.append(name)
        else:
            kinds[name] = kind
    for cells in convert(table, open_, gaps):
        rows = _counting(cells.numbers)
        for place, name in enumerate(cells.names):
            wrong = None if cells.wrong is None or not cells.wrong[place].any() else cells.wrong[place]
            column = cells.numbers[place]
            if wrong is None and not np.isnan(column).all():
                kinds[name] = "rows" if _numbers_rows(name, column) else "number"
                numbers[name] = column
                if rows[place]:
                    remarks[name] = _of_ids(name, column)
            else:
                present = without_gaps(table.column(name), gaps).drop_null()
                kinds[name], remarks[name] = _kind_of_text(present, wrong, max_categories)
    return Profile(kinds, numbers, {name: remark for name, remark in remarks.items() if remark})


def _kind_by_type(table: Table, name: str, kind: Any) -> Kind | None:
    """Return what a column is by its type alone; None for numbers and text, of which the cells must be looked at."""
    of = kind.value_type if pa.types.is_dictionary(kind) else kind
    if is_numeric(of) or is_string(of):
        return None
    if table.matrix_shape(name) is not None:
        return "matrix"
    if is_list(of):
        return "vector" if is_numeric(of.value_type) or pa.types.is_boolean(of.value_type) else "other"
    if pa.types.is_temporal(of):
        return "date"
    if pa.types.is_null(of):
        return "empty"
    if is_picture(of):
        return "image"
    if pa.types.is_boolean(of):
        column = table.column(name)
        return "empty" if column.null_count == len(column) else "category"
    return "other"


def _kind_of_text(present: Any, wrong: AnyArray | None, max_categories: int) -> tuple[Kind, str]:
    if len(present) == 0:
        return "empty", ""
    remark = describe_amounts(present)
    if wrong is not None and wrong.sum() < len(present) / 2:
        odd = pc.invert(pc.match_substring_regex(pc.utf8_trim_whitespace(present), _PLAIN_NUMBER))
        if not are_codes(present.filter(odd)):
            return "mixed", remark
    if _share(present, _IMAGES) >= 0.9 and _share(present, _ADDRESS) < 0.5:  # addresses are shown as they are
        return "image", ""
    if are_dates(present):
        return "date", ""
    listed = pc.all(pc.starts_with(pc.utf8_ltrim_whitespace(present), "[")).as_py()
    if listed and _parse_vector(present[0].as_py()) is not None:
        return "vector", ""
    if wrong is not None and not remark:
        codes = present.filter(pc.match_substring_regex(pc.utf8_trim_whitespace(present), _LOOSE_NUMBER))
        if len(codes) == len(present):
            remark = "codes with leading zeros or a plus sign, which are names"
    n_different = pc.count_distinct(present).as_py()
    # What differs in most rows says nothing about others: it is there to be looked at.
    few = n_different <= max_categories and n_different <= max(2, len(present) / 2)
    return "category" if few else "text", remark


def is_prose(table: Table, name: str, gaps: Collection[str] = GAPS) -> bool:
    """Whether a column of text holds sentences, rather than names, titles or addresses: half of the cells are long."""
    present = without_gaps(table.column(name), gaps).drop_null()
    some = present.take(np.unique(np.linspace(0, len(present) - 1, min(len(present), _SOME_CELLS)).astype(int)))
    words = pc.list_value_length(pc.utf8_split_whitespace(pc.utf8_trim_whitespace(some.cast(pa.string()))))
    return len(some) > 0 and float(np.median(words.to_numpy())) >= _WORDS_OF_PROSE


_SOME_CELLS: Final = 1000
_WORDS_OF_PROSE: Final = 8  # names have two to four words, addresses and titles five to seven


def _share(present: Any, pattern: str) -> float:
    """Return the share of cells in which a pattern is found."""
    return float(pc.mean(pc.cast(pc.match_substring_regex(present, pattern), pa.float64())).as_py())


_PLAIN_NUMBER: Final = r"^-?(?:0|[1-9][0-9]*)$"
_LOOSE_NUMBER: Final = r"^[+-]?[0-9]+$"


def _numbers_rows(name: str, numbers: FloatArray) -> bool:
    """Whether a column merely numbers the rows: by its name, and as it is different in each."""
    if not _ROW_NAMES.fullmatch(name.strip().lower()) or len(numbers) < 2 or np.isnan(numbers).any():
        return False
    return bool((numbers == np.floor(numbers)).all()) and len(np.unique(numbers)) == len(numbers)


_MANY_ROWS: Final = 20  # this many different integers are no coincidence
_ID_NAME: Final = re.compile(r"(?i).*[ _.-](id|key|code|uuid|guid|nr|no|num|number|index)|.*[a-z](Id|ID|Key|Nr|No)")


def _counting(columns: FloatArray) -> AnyArray:
    """Say which columns, rows of an array, are integers that may be names: those that go up, or are very different."""
    if columns.shape[1] < _MANY_ROWS:
        return np.zeros(len(columns), dtype=bool)
    with np.errstate(invalid="ignore"):
        some = columns[:, :_MANY_ROWS]
        hopeful = np.flatnonzero((np.diff(np.sort(some, axis=1)) >= 1).all(axis=1))
    found = np.zeros(len(columns), dtype=bool)
    for place in hopeful:
        column = columns[place]
        found[place] = bool((column == np.floor(column)).all()) and len(np.unique(column)) == len(column)
    return found


def _of_ids(name: str, numbers: FloatArray) -> str:
    """Return a remark on integers of which no two are alike."""
    if (np.diff(numbers) == 1).all():
        return "counts up by one from row to row; --ignore it if it only numbers them"
    if _ID_NAME.fullmatch(name.strip()):
        return "different in every row; --ignore it if it only names them"
    return ""


def type_of(table: Table, name: str) -> Any:
    """Return the type of a column in its file, without dictionary encoding."""
    kind = table.column(name).type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def holds(table: Table, name: str) -> str:
    """Say what a column holds that neither is text nor a number: nothing for those that are."""
    kind = type_of(table, name)
    if is_list(kind):
        return "vectors" if is_numeric(kind.value_type) else "lists"
    if pa.types.is_nested(kind):
        return "maps" if pa.types.is_map(kind) else "structs"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return "bytes"
    return ""


def is_picture(kind: Any) -> bool:
    """Whether an Arrow type is of pictures: bytes and path, as Hugging Face's data sets have them."""
    return bool(pa.types.is_struct(kind)) and {field.name for field in kind} == {"bytes", "path"}


def as_pictures(table: Table, name: str) -> list[Any]:
    """Return a column of pictures as the bytes of their files, or else as paths; None without one."""
    if not is_picture(type_of(table, name)):
        return list(as_text(table, name, {""}))
    cells = table.column(name).to_pylist()
    return [None if cell is None else cell["bytes"] or cell["path"] or None for cell in cells]


def find_gaps(table: Table, name: str, gaps: Collection[str] = GAPS) -> IndexArray:
    """Return the rows in which a column has no content."""
    cells = without_gaps(table.column(name), gaps)
    return np.flatnonzero(cells.is_null().to_numpy()) if cells.null_count else _NOWHERE


def as_numbers(table: Table, name: str, gaps: Collection[str] = GAPS) -> Numbers:
    """Return the cells of a column as float64, NaN where there is a gap or no number."""
    kind = type_of(table, name)
    if not (is_numeric(kind) or is_string(kind)):
        present = without_gaps(table.column(name), gaps).is_valid().to_numpy()
        return Numbers(np.full(len(table), np.nan), np.flatnonzero(present))
    if len(table) == 0:
        return Numbers(np.empty(0), _NOWHERE)
    (cells,) = convert(table, [name], gaps)
    return Numbers(cells.numbers[0], _NOWHERE if cells.wrong is None else np.flatnonzero(cells.wrong[0]))


def as_integers(table: Table, name: str) -> AnyArray | None:
    """Return the cells of a column without gaps as int64, exactly; None where one is no integer of 64 bits."""
    numbers, wrong = as_numbers(table, name, ())
    if len(wrong) or not np.isfinite(numbers).all() or (numbers != np.floor(numbers)).any():
        return None
    if (np.abs(numbers) < 2.0**53).all():
        return numbers.astype(np.int64)
    try:
        exact = [Decimal(str(cell).strip()) for cell in plain(table.column(name)).to_pylist()]
    except InvalidOperation:
        return None
    if any(cell != int(cell) or not -_LARGEST <= cell <= _LARGEST for cell in exact):
        return None
    return np.array([int(cell) for cell in exact], dtype=np.int64)


def as_text(table: Table, name: str, gaps: Collection[str] = GAPS) -> AnyArray:
    """Return the cells of a column as an object array of str, None where there is a gap."""
    cells = without_gaps(table.column(name), gaps).to_pylist()
    text = np.empty(len(cells), dtype=object)
    text[:] = [None if cell is None else str(cell) for cell in cells]
    return text


def as_words(table: Table, name: str, gaps: Collection[str] = GAPS) -> AnyArray:
    """Return the cells of a column as the names of categories: as text, truth values spelled in one way."""
    words = as_text(table, name, gaps)
    if is_string(type_of(table, name)):
        truth = pc.match_substring_regex(without_gaps(table.column(name), gaps), TRUTH)
        for place in np.flatnonzero(pc.fill_null(truth, False).to_numpy()):
            words[place] = words[place].capitalize()
    return words


def as_vectors(table: Table, name: str) -> AnyArray:
    """Return a column of lists, of one length and without gaps, as an array of shape (n_rows, length)."""
    column = pa.concat_arrays(plain(table.column(name)).chunks)
    if is_string(column.type):
        vectors = [_parse_vector(cell) for cell in column.to_pylist()]
        bad = next((row for row, vector in enumerate(vectors) if vector is None), None)
        if bad is not None:
            raise ValueError(f"column {name!r} of {table.name} must hold lists of numbers; {table.row(bad)} does not.")
        column = pa.array(vectors, pa.large_list(pa.float64()))
    if column.null_count:
        bad = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(f"column {name!r} of {table.name} must hold a vector in every row; {table.row(bad)} has none.")
    lengths = np.asarray(pc.list_value_length(column))
    if len(np.unique(lengths)) > 1:
        bad = int(np.flatnonzero(lengths != lengths[0])[0])
        raise ValueError(
            f"column {name!r} of {table.name} must hold vectors of one length; the first has {lengths[0]} numbers, "
            f"and that in {table.row(bad)} has {lengths[bad]}."
        )
    inner = column.flatten()
    if inner.null_count:
        place = int(np.flatnonzero(inner.is_null().to_numpy(zero_copy_only=False))[0])
        bad = place // max(1, int(lengths[0]))
        raise ValueError(f"column {name!r} of {table.name} must hold vectors without gaps; {table.row(bad)} has one.")
    if not pa.types.is_floating(inner.type):
        inner = inner.cast(pa.large_string()) if pa.types.is_decimal(inner.type) else inner
        inner = inner.cast(pa.float64(), safe=False)
    found = as_floats(inner.to_numpy(zero_copy_only=False)).reshape(len(column), -1)
    finite = np.isfinite(found).all(axis=1)
    if not finite.all():
        bad = int(np.flatnonzero(~finite)[0])
        raise ValueError(f"column {name!r} of {table.name} must hold finite numbers; {table.row(bad)} does not.")
    return found


def as_floats(numbers: AnyArray) -> AnyArray:
    """Return numbers as they are if they are float32 or float64, and as float64 otherwise."""
    return numbers if numbers.dtype in (np.float32, np.float64) else numbers.astype(np.float64)


def _parse_vector(cell: str | None) -> list[float] | None:
    try:
        parsed = json.loads(cell or "")
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, list) or not parsed or not all(isinstance(item, int | float) for item in parsed):
        return None
    try:
        return [float(item) for item in parsed]
    except OverflowError:
        return None
