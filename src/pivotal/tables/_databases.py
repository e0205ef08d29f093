"""Tables in SQLite and DuckDB files, and sheets of Excel files: `file::table`, or `file::select ...`."""

from __future__ import annotations

import datetime as dt
import json
import re
import zipfile
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa

from pivotal.core.extras import needed
from pivotal.tables._limits import Limit, check_memory, collect_batches
from pivotal.tables._phrases import few, first_line

_QUERY: Final = re.compile(r"(?is)\s*(select|with)\s.*")
_NOT_WRITTEN: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # which XML cannot hold
_ENDS: Final = (".xlsx", ".xlsm", ".sqlite", ".sqlite3", ".db", ".duckdb")


def parts_of(path: str) -> tuple[str, str | None]:
    """Return the file that a path names, and the table, sheet or query in it.

    >>> parts_of("book.xlsx::Sheet 2")
    ('book.xlsx', 'Sheet 2')
    >>> parts_of("parts/train.csv")
    ('parts/train.csv', None)
    """
    file, sign, inner = path.partition("::")
    if sign and file.lower().endswith(_ENDS) and inner:
        return file, inner
    return path, None


def _choose(path: str, what: str, there: Sequence[str], wanted: str | None) -> str:
    """Return the table or sheet that is meant: the one that was named, or the only one."""
    if wanted is not None:
        if wanted not in there:
            raise ValueError(f"{path} has no {what} {wanted!r}; it has {few(there) or 'none'}.")
        return wanted
    if len(there) != 1:
        example = f"; name one, for example '{path}::{there[0]}'" if there else ""
        raise ValueError(
            f"{path} must hold one {what}, or the one that is meant must be named; it has {few(there)}{example}."
        )
    return there[0]


def need_openpyxl() -> Any:
    """Return the package that reads and writes Excel files; raise where it is not installed."""
    with needed("Excel files need openpyxl", "excel"):
        import openpyxl
    return openpyxl


def write_sheet(names: Sequence[str], rows: Iterable[Sequence[Any]], stream: IO[bytes]) -> None:
    """Write rows as an Excel file of one sheet; text that looks like a formula stays text."""
    openpyxl = need_openpyxl()
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")
    for row in chain([names], rows):
        sheet.append([_as_cell(openpyxl, sheet, cell) for cell in row])
    book.save(stream)


def _as_cell(openpyxl: Any, sheet: Any, content: Any) -> Any:
    if isinstance(content, dt.datetime) and content.tzinfo is not None:
        content = content.isoformat()  # which spreadsheets have no type for
    if content is None or isinstance(content, bool | int | float | Decimal | dt.date | dt.time | dt.timedelta):
        return content
    text = content if isinstance(content, str) else json.dumps(content, default=str)
    cell = openpyxl.cell.WriteOnlyCell(sheet, _NOT_WRITTEN.sub(" ", text))
    cell.data_type = "s"
    return cell


def read_excel(path: Path, name: str, wanted: str | None, limit: Limit) -> pa.Table:
    """Read a sheet whose first row is the header."""
    openpyxl = need_openpyxl()
    try:
        with zipfile.ZipFile(path) as archive:
            check_memory(sum(member.file_size for member in archive.infolist()), name)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (zipfile.BadZipFile, KeyError, EOFError, TypeError) as error:
        raise ValueError(f"{name} is not an Excel file, or damaged ({error}).") from error
    try:
        sheet = book[_choose(name, "sheet", book.sheetnames, wanted)]
        rows = sheet.iter_rows(values_only=True)
        header = next(rows, ())
        width = max((place + 1 for place, cell in enumerate(header) if cell is not None), default=0)
        if width == 0:
            raise ValueError(
                f"{name} must have the names of the columns in its first row; it is empty. Delete what is above them."
            )
        names = ["" if cell is None else str(cell) for cell in header[:width]]
        unnamed = [place for place, one in enumerate(names) if not one and place]  # the first may number the rows
        wider = sheet.max_column is not None and sheet.max_column > width
        if unnamed or (wider and width == 1):
            what = f"that of column {openpyxl.utils.get_column_letter((unnamed or [1])[0] + 1)} is empty"
            raise ValueError(
                f"{name} must have the name of each column in its first row; {what}. Delete titles above the names, "
                "and give cells that are merged a name each."
            )
        filled = (row[:width] for row in rows if any(cell is not None for cell in row[:width]))
        return _from_rows(names, ([*row, *[None] * (width - len(row))] for row in filled), name, limit)
    finally:
        book.close()


def read_sqlite(path: Path, name: str, wanted: str | None, limit: Limit) -> pa.Table:
    """Read a table, a view or what a query answers, from a file that is opened only for reading."""
    import sqlite3

    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        query = wanted
        if wanted is None or not _QUERY.fullmatch(wanted):
            found = connection.execute(
                "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%' order by 1"
            )
            table = _choose(name, "table", [row[0] for row in found], wanted)
            query = f"select * from {_quoted(table)}"
        answer = connection.execute(query or "")
        return _from_rows([column[0] for column in answer.description], answer, name, limit)
    except sqlite3.Error as error:
        raise ValueError(f"{name} cannot be read as an SQLite database: {error}.") from error
    finally:
        connection.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _from_rows(names: Sequence[str], rows: Iterable[Sequence[Any]], path: str, limit: Limit) -> pa.Table:
    """Return rows as a table; they are read one by one, so that too many are noticed before they fill the memory."""
    columns: list[list[Any]] = [[] for _ in names]
    for place, row in enumerate(rows):
        limit.check(place + 1, path)
        for cells, cell in zip(columns, row, strict=True):
            cells.append(cell)
    return pa.Table.from_arrays([_column(cells) for cells in columns], names=list(names))


def _column(cells: list[Any]) -> pa.Array:
    """Return cells as Arrow has them; those of several types are text."""
    try:
        return pa.array(cells)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if cell is None else str(cell) for cell in cells], pa.large_string())


def read_duckdb(path: Path, name: str, wanted: str | None, limit: Limit) -> pa.Table:
    """Read a table, a view or what a query answers, from a file that is opened only for reading.

    Nothing outside of the file is read, whatever its views say.
    """
    with needed("DuckDB files need duckdb", "duckdb"):
        import duckdb
    try:
        with duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"}) as connection:
            query = wanted
            if wanted is None or not _QUERY.fullmatch(wanted):
                found = connection.execute(
                    "select table_schema, table_name from information_schema.tables "
                    "order by table_schema <> 'main', 1, 2"
                ).fetchall()
                places = {
                    inner if schema == "main" else f"{schema}.{inner}": (schema, inner) for schema, inner in found
                }
                place = places[_choose(name, "table", list(places), wanted)]
                query = f"select * from {'.'.join(map(_quoted, place))}"
            return collect_batches(connection.sql(query or "").to_arrow_reader(10_000), name, limit)
    except duckdb.Error as error:
        raise ValueError(f"{name} cannot be read as a DuckDB database: {first_line(error)}.") from error
