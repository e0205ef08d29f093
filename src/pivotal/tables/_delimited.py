"""CSV, read as a stream so that a limit on rows also limits memory.

Rows are cut here and parsed by Arrow from memory. Arrow's own streaming reader would do both, but it reads in threads
of its own, which Ctrl-C does not reach, and it keeps no rows as they were written, which is what is written back.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import IO, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from pivotal.core.types import IndexArray
from pivotal.tables._dialect import Dialect, Recoded
from pivotal.tables._limits import LONGEST_ROW, Limit
from pivotal.tables._memory_file import memory_file

_BLOCK: Final = 1 << 22  # bytes read, and parsed, at a time
_MOST: Final = 1 << 27
_WIDE: Final = 500  # columns from which Arrow's parser takes longer over columns than over cells
_DELIMITERS: Final = (",", ";", "\t", "|")
_RAGGED: Final = re.compile(r"Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)
_ROW: Final = re.compile(r"Row #(\d+)")


class Text(NamedTuple):
    """Rows of a text file: cells, the rows as they were written, and the lines that they begin on, counted from 1."""

    cells: pa.Table
    lines: pa.Array | None
    places: IndexArray | None
    dialect: Dialect


def read_csv(
    stream: IO[bytes], name: str, delimiter: str | None, encoding: str, limit: Limit, *, header: bool = True
) -> Text:
    """Read cells as text, from a stream that need not be seekable; a delimiter of None is found from the header.

    Where there is no `header`, columns are called c0, c1, ...
    """
    rows = _Rows(stream, name, encoding)
    first = rows.take_header()
    cut = _find_delimiter(first) if delimiter is None else delimiter
    if len(cut) != 1 or not cut.isascii() or cut in '"\r\n':
        raise ValueError(f"a delimiter is one plain character, such as ; or |; got {cut!r}.")
    columns = _cells_of(first, cut)
    if not header:
        columns = [f"c{place}" for place in range(len(columns))]
        rows.put_back(first)
    names = [str(place) for place in range(len(columns))]  # types are looked up by name, and names may repeat
    tables: list[pa.Table] = []
    parts: list[_Part] = []
    n_rows, n_lines = 0, rows.n_lines
    for chunk in rows.chunks(cut):
        tables.append(_cut_wide(chunk, names, cut) or _parse(chunk, names, name, cut, n_lines))
        n_rows += tables[-1].num_rows
        limit.check(n_rows, name)
        parts.append(_Part.of(chunk, n_lines))
        n_lines += chunk.count(b"\n")
    cells = pa.concat_tables(tables) if tables else pa.schema([(key, pa.large_string()) for key in names]).empty_table()
    cells = pa.Table.from_arrays(cells.columns, names=columns)
    source = rows.source
    dialect = Dialect(cut, source.encoding, source.mark, source.newline, first if header else "")
    # Where the rows are not those that Arrow found, as with stray quotes, they are written anew.
    agree = all(len(part.places) == table.num_rows for part, table in zip(parts, tables, strict=True))
    if not agree or not parts or source.newline == "\r":
        return Text(cells, None, None, dialect)
    lines = pa.chunked_array([part.lines for part in parts])
    return Text(cells, lines, np.concatenate([part.places for part in parts]), dialect)


def _cells_of(header: str, delimiter: str) -> list[str]:
    before = csv.field_size_limit(LONGEST_ROW)
    try:
        return next(csv.reader(io.StringIO(header, newline=""), delimiter=delimiter))
    except (csv.Error, StopIteration) as error:
        raise ValueError(f"the header cannot be read as CSV ({error}).") from error
    finally:
        csv.field_size_limit(before)


class _Part(NamedTuple):
    """Some rows as they were written, and the lines that they begin on."""

    lines: pa.Array
    places: IndexArray

    @classmethod
    def of(cls, chunk: bytes, n_lines: int) -> _Part:
        """Cut whole rows; a line break after an odd number of quotes ends none."""
        signs = np.frombuffer(chunk, dtype=np.uint8)
        breaks = np.flatnonzero(signs == ord("\n"))
        ends = breaks + 1
        if b'"' in chunk:
            ends = ends[np.searchsorted(np.flatnonzero(signs == ord('"')), breaks) % 2 == 0]
        if not len(ends) or ends[-1] < len(chunk):
            ends = np.append(ends, len(chunk))
        starts = np.append(0, ends[:-1])
        filled = (ends - starts > 2) | ((signs[starts] != ord("\n")) & (signs[starts] != ord("\r")))
        offsets = np.append(starts, len(chunk)).astype(np.int64)
        lines = pa.LargeStringArray.from_buffers(len(starts), pa.py_buffer(offsets.tobytes()), pa.py_buffer(chunk))
        if not filled.all():
            lines = lines.filter(pa.array(filled))
        return cls(lines, n_lines + 1 + np.searchsorted(breaks, starts[filled]))


def _cut_wide(chunk: bytes, names: list[str], delimiter: str) -> pa.Table | None:
    """Cut rows of very many cells without quotes; None for all others, and for rows of another length."""
    n_columns = len(names)
    if n_columns < _WIDE or b'"' in chunk:
        return None
    content = chunk.replace(b"\r\n", b"\n")
    content += b"" if content.endswith(b"\n") else b"\n"
    if b"\r" in content:
        return None
    signs = np.frombuffer(content, dtype=np.uint8)
    breaks = signs == ord("\n")
    between = breaks | (signs == ord(delimiter))
    places = np.flatnonzero(between)
    ends = breaks[places]
    n_rows = len(places) // n_columns
    if n_rows * n_columns != len(places) or ends.sum() != n_rows or not ends[n_columns - 1 :: n_columns].all():
        return None
    offsets = np.append(0, places - np.arange(len(places)))  # in what is left without delimiters
    flat = pa.LargeStringArray.from_buffers(len(places), pa.py_buffer(offsets), pa.py_buffer(signs[~between]))
    order = np.arange(len(places)).reshape(n_rows, n_columns).T.ravel()
    by_column = flat.take(pa.array(order))
    return pa.Table.from_arrays([by_column.slice(place * n_rows, n_rows) for place in range(n_columns)], names=names)


def _parse(chunk: bytes, names: list[str], name: str, delimiter: str, n_lines: int) -> pa.Table:
    def parse(*, threads: bool) -> pa.Table:
        return pyarrow.csv.read_csv(
            memory_file(chunk),
            read_options=pyarrow.csv.ReadOptions(
                column_names=names, block_size=min(len(chunk) + 1, 2**31 - 1), use_threads=threads
            ),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.large_string()), strings_can_be_null=False
            ),
        )

    try:
        return parse(threads=True)
    except pa.ArrowInvalid:
        try:
            return parse(threads=False)  # says which row it is
        except pa.ArrowInvalid as error:
            raise _explain(error, name, delimiter, chunk, n_lines) from error


class _Rows:
    """The bytes of a stream, cut where rows end; a line break between quotes ends none."""

    def __init__(self, stream: IO[bytes], name: str, encoding: str) -> None:
        self._name = name
        self.source = Recoded(stream, name, encoding, _BLOCK)
        self._blocks = iter(self.source)
        self._held = b""
        self.n_lines = 0  # that the header and what was before it take

    def take_header(self) -> str:
        """Return the first row that is not blank, with the end of its line."""
        end = 0
        for block in self._blocks:
            self._held += block
            left = self._held.lstrip(b"\r\n")
            self.n_lines += self._held[: len(self._held) - len(left)].count(b"\n")
            self._held = left
            end = self._end_of_row("".join(_DELIMITERS), last=False)
            if end:
                break
        header, self._held = (self._held[:end], self._held[end:]) if end else (self._held, b"")
        self.n_lines += header.count(b"\n")
        if not header.strip():
            raise ValueError(f"{self._name} is empty; give a table with a header and at least one row.")
        if b"\0" in header:
            raise ValueError(f"{self._name} is not a text file: its first line has a zero byte; is its suffix right?")
        # Blocks of a few rows of many columns would make as many small arrays for each column.
        self.source.block = max(_BLOCK, min(_MOST, 128 * len(header)))
        return header.decode()

    def put_back(self, row: str) -> None:
        """Let the row that was taken for a header be one of the others."""
        self._held = row.encode() + self._held
        self.n_lines -= row.count("\n")

    def chunks(self, delimiter: str) -> Iterator[bytes]:
        """Yield whole rows, a few megabytes at a time."""
        for block in self._blocks:
            self._held += block
            end = self._end_of_row(delimiter, last=True)
            if end:
                yield self._held[:end]
                self._held = self._held[end:]
        if any(not found[1] for found in _quoted(delimiter).finditer(self._held)):
            raise ValueError(f"{self._name} has a quote that is never closed; close it, or double it within a cell.")
        if self._held.strip():
            yield self._held

    def _end_of_row(self, delimiters: str, *, last: bool) -> int:
        """Return where the first or the last whole row ends, 0 where there is none yet."""
        quoted = [found.span() for found in _quoted(delimiters).finditer(self._held)]
        if last:
            end = self._held.rfind(b"\n")
            for start, stop in reversed(quoted):
                if start < end < stop:
                    end = self._held.rfind(b"\n", 0, start)
        else:
            end = self._held.find(b"\n")
            for start, stop in quoted:
                if start < end < stop:
                    end = self._held.find(b"\n", stop)
        if end < 0 and len(self._held) > LONGEST_ROW:
            raise ValueError(f"{self._name} has a row of more than {LONGEST_ROW:,} bytes; are all quotes closed?")
        return end + 1


def _quoted(delimiters: str) -> re.Pattern[bytes]:
    """Match a cell in quotes, or what there is of it; a quote that does not begin a cell is a character like others."""
    before = re.escape(delimiters).encode()
    # The quote first and what must stand before it second, so that the search is a search for quotes.
    return re.compile(rb'"(?:(?<=\A")|(?<=[\r\n' + before + rb']"))[^"]*(?:""[^"]*)*("|\Z)')


def _find_delimiter(header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=bare.count)  # the first of equals, so a comma when there is none


def _explain(error: Exception, name: str, delimiter: str, chunk: bytes, n_lines: int) -> ValueError:
    message = str(error)
    ragged = _RAGGED.search(message)
    if ragged is None:
        return ValueError(f"{name} cannot be read as CSV ({message.splitlines()[0]}).")
    row = ragged[3].strip()
    shown = row if len(row) <= 60 else row[:60] + "..."
    number = _ROW.search(message)
    places = _Part.of(chunk, n_lines).places
    line = f" on line {places[int(number[1]) - 1]}" if number and int(number[1]) <= len(places) else ""
    return ValueError(
        f"{name} must have {ragged[1]} cells in every row, as in its header; got {ragged[2]}{line}, in the row "
        f"{shown!r}. Fix the row, or put cells that hold the delimiter {delimiter!r} in quotes."
    )
