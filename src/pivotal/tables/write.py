"""Tables to files that are whole or not there: rows as they were read, values, and small tables of results."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet as pq

from pivotal.core.urls import local_path
from pivotal.results.value_record import table_of
from pivotal.results.values import Values
from pivotal.tables._cells import convert, is_string, without_gaps
from pivotal.tables._databases import need_openpyxl, write_sheet
from pivotal.tables._dialect import Dialect
from pivotal.tables.columns import GAPS, TRUTH
from pivotal.tables.read import format_of, is_pair
from pivotal.tables.table import Table, to_arrays, without_matrices
from pivotal.tables.targets import check_target, is_stream, whole

__all__ = [
    "check_results_target",
    "check_rows_target",
    "check_target",
    "write_frame",
    "write_table",
    "write_values",
]

_CHUNK: Final = 10_000  # rows turned into Python objects at a time
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the start of a formula
_DELIMITERS: Final = {"csv": ",", "tsv": "\t"}
_INTEGER: Final = r"^[+-]?[0-9]{1,18}$"


def write_table(table: Table, path: str, *, safe: bool = False, form: str | None = None) -> None:
    """Write the rows of a table with all their columns, as they were read.

    Parameters
    ----------
    table : Table
    path : str
        Its suffix says how to write; `-` is standard output.
    safe : bool, default=False
        Whether cells that a spreadsheet would take for formulas get a quote in front. CSV and TSV only.
    form : str, optional
        The format for standard output; that of the table by default.

    Raises
    ------
    OSError
        If the file cannot be written; nothing is left behind.
    """
    kind = (form or _spoken(table.format)) if is_stream(path) else format_of(path)
    check_rows_target(path)
    if kind in ("npz", "npy"):
        _write_arrays(table, path, kind)
        return
    if table.format == "images":
        table = _relative_to(table, path)
    with whole(path) as stream:
        if kind in _DELIMITERS:
            _write_text(table, stream, kind, safe)
        else:
            lines = table.lines if table.format in ("json", "jsonl") else None
            plain = without_matrices(table) if kind in ("json", "jsonl") else table.cells
            cells = _typed(table) if table.written else plain
            _encode(cells, stream, kind, safe, lines)


def _spoken(kind: str) -> str:
    """Return the format for standard output: that of the table where it can go there."""
    return kind if kind in ("csv", "tsv", "json", "jsonl", "parquet", "feather", "npz", "npy", "stream") else "csv"


def _relative_to(table: Table, path: str) -> Table:
    """Return a table of images whose paths lead there from the file that it is written to."""
    here = None if is_stream(path) else local_path(path)
    start = Path(here).resolve().parent if here is not None else Path.cwd()
    root = (table.folder or Path()).resolve()
    paths = [os.path.relpath(root / cell, start) for cell in table.column("path").to_pylist()]
    return table.replaced("path", np.arange(len(table)), [Path(one).as_posix() for one in paths])


def _write_text(table: Table, stream: IO[bytes], kind: str, safe: bool) -> None:
    """Write CSV as it was read: rows as they were written where nothing has to change, cell by cell otherwise."""
    dialect = table.dialect if table.written and table.dialect is not None else Dialect()
    stream.write(dialect.mark)
    if kind == table.format and table.lines is not None and dialect.header is not None and not safe:
        for line in _ended([dialect.header] if dialect.header else [], table.lines, dialect.newline):
            stream.write(line.encode(dialect.encoding))
        return
    delimiter = table.delimiter if kind == table.format and table.written else _DELIMITERS[kind]
    _encode_csv(without_matrices(table), stream, replace(dialect, delimiter=delimiter), safe)


def _ended(header: list[str], lines: Any, newline: str) -> Iterator[str]:
    """Yield rows, each but the last with the end of its line."""
    before = None
    for line in chain(header, (line.as_py() for line in lines)):
        if before is not None:
            yield before if before.endswith("\n") else before + newline
        before = line
    if before is not None:
        yield before


def _typed(table: Table) -> pa.Table:
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
    if not pc.all(pc.match_substring_regex(text, TRUTH)).as_py():
        return column
    return pc.equal(pc.utf8_lower(text), "true")


def _write_arrays(table: Table, path: str, kind: str) -> None:
    if table.format not in ("npz", "npy") or is_stream(path):
        raise ValueError(f"rows of {table.name} cannot be written as NumPy arrays to {path}; use .csv or .parquet.")
    arrays = to_arrays(table)
    if kind == "npz":
        with whole(path) as stream:
            np.savez(stream, allow_pickle=False, **arrays)
        return
    if not is_pair(path) or list(arrays) != ["X", "y"]:
        raise ValueError(f"two arrays need two files; got {path}. Write them as X.npy,y.npy, or to one .npz file.")
    for part, name in zip(path.split(","), arrays, strict=True):
        with whole(part) as stream:
            np.save(stream, arrays[name], allow_pickle=False)


def write_frame(frame: pd.DataFrame, path: str, *, safe: bool = False, form: str | None = None) -> None:
    """Write a table of results.

    Parameters
    ----------
    frame : pandas DataFrame
        Its index is not written.
    path, safe, form
        As in `write_table`; standard output gets CSV by default.
    """
    kind = (form or "csv") if is_stream(path) else format_of(path)
    _refuse_arrays(kind, path)
    with whole(path) as stream:
        _encode(pa.Table.from_pandas(frame, preserve_index=False), stream, kind, safe)


def write_values(values: Values, path: str, *, safe: bool = False, form: str | None = None) -> None:
    """Write the value of every point with its id, rank, error bound and standard errors, as far as they are known.

    A Parquet file can be opened with `Values.load` as well.

    Parameters
    ----------
    values : Values
    path, safe, form
        As in `write_frame`.
    """
    kind = (form or "csv") if is_stream(path) else format_of(path)
    frame = values.to_frame().reset_index()
    for name in ("error_bound", "bound_given_neighbors"):
        bound = getattr(values, name)
        if bound is not None:
            frame.insert(3, name, bound)
            break
    if values.query_standard_error is not None:
        frame["query_standard_error"] = values.query_standard_error
    if kind != "parquet":
        write_frame(frame, path, safe=safe, form=form)
        return
    cells = table_of(values)
    for place, name in enumerate(frame.columns):
        if name not in cells.column_names:
            cells = cells.add_column(place, name, pa.array(frame[name]))
    with whole(path) as stream:
        _encode(cells, stream, kind, safe)


def check_results_target(path: str) -> None:
    """Turn down a file that cannot hold a table of results, whatever can be written there."""
    if not is_stream(path):
        _refuse_arrays(format_of(path), path)


def check_rows_target(path: str) -> None:
    """Turn down a file that rows are not written to, and one that needs a package that is not installed."""
    kind = "" if is_stream(path) else format_of(path)
    if kind in ("sqlite", "duckdb"):
        raise ValueError(f"rows are not written into databases, got {path}; use .csv, .parquet or another format.")
    if kind == "excel":
        need_openpyxl()


def _refuse_arrays(kind: str, path: str) -> None:
    if kind == "excel":
        need_openpyxl()
    if kind in ("npz", "npy", "sqlite", "duckdb"):
        raise ValueError(f"results cannot be written to {path}; use .csv, .parquet, .feather, .json or .jsonl.")


def _encode(cells: pa.Table, stream: IO[bytes], kind: str, safe: bool, lines: pa.Array | None = None) -> None:
    if kind == "parquet":
        pq.write_table(cells, stream, compression="zstd", write_page_checksum=True)
    elif kind == "feather":
        pyarrow.feather.write_feather(cells, stream)
    elif kind == "stream":
        with pa.ipc.new_stream(stream, cells.schema) as writer:
            writer.write_table(cells)
    elif kind == "excel":
        write_sheet(cells.column_names, chain.from_iterable(_chunks(cells)), stream)
    elif kind in _DELIMITERS:
        _encode_csv(cells, stream, Dialect(_DELIMITERS[kind]), safe)
    else:
        objects = _objects(cells) if lines is None else (line.as_py() for line in lines)
        _encode_json(objects, stream, array=kind == "json")


def _encode_csv(cells: pa.Table, stream: IO[bytes], dialect: Dialect, safe: bool) -> None:
    lines = _Lines(stream, dialect)
    writer = csv.writer(lines, delimiter=dialect.delimiter, lineterminator="\r\n")
    if dialect.header != "":  # a file that had none gets none
        writer.writerow([_guard(name) for name in cells.column_names] if safe else cells.column_names)
    for rows in _chunks(cells, partial(_as_text, safe=safe)):
        writer.writerows(rows)


class _Lines:
    """Ends lines as they are wanted; the writer, told of both signs, puts cells with either in quotes."""

    def __init__(self, stream: IO[bytes], dialect: Dialect) -> None:
        self._stream, self._dialect = stream, dialect

    def write(self, line: str) -> None:
        written = line.removesuffix("\r\n") + self._dialect.newline
        try:
            self._stream.write(written.encode(self._dialect.encoding))
        except UnicodeEncodeError as error:
            raise ValueError(
                f"cannot write {error.object[error.start : error.end]!r} in {self._dialect.encoding}, in which the "
                "table was read; write to a .parquet or .jsonl file, or recode the table first."
            ) from error


def _encode_json(objects: Iterable[str], stream: IO[bytes], *, array: bool) -> None:
    before, between, after = (b"[\n", b",\n", b"\n]\n") if array else (b"", b"\n", b"\n")
    stream.write(before)
    for place, line in enumerate(objects):
        stream.write((between if place else b"") + line.encode())
    stream.write(after)


def _chunks(
    cells: pa.Table, read: Callable[[pa.ChunkedArray], Iterable[Any]] = pa.ChunkedArray.to_pylist
) -> Iterator[Iterable[Sequence[Any]]]:
    for start in range(0, cells.num_rows, _CHUNK):
        yield zip(*map(read, cells.slice(start, _CHUNK).columns), strict=True)


def _objects(cells: pa.Table) -> Iterator[str]:
    for rows in _chunks(cells):
        for row in rows:
            content = {name: _finite(cell) for name, cell in zip(cells.column_names, row, strict=True)}
            yield json.dumps(content, ensure_ascii=False, allow_nan=False, default=_as_json)


def _as_json(cell: Any) -> Any:
    """Return money as a number, and dates as text."""
    return float(cell) if isinstance(cell, Decimal) else str(cell)


def _as_text(column: pa.ChunkedArray, *, safe: bool) -> Iterable[Any]:
    """Return cells as CSV can hold them, lists and objects as JSON; most columns are not gone through cell by cell."""
    found: Iterable[Any] = column.to_pylist()
    if pa.types.is_primitive(column.type):
        return found
    if not is_string(column.type):
        found = (json.dumps(cell) if isinstance(cell, list | dict) else cell for cell in found)
    return map(_guard, found) if safe else found


def _finite(cell: Any) -> Any:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _guard(cell: Any) -> Any:
    """Put a quote before text that a spreadsheet would run; numbers are left alone."""
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell
