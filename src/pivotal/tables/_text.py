"""CSV and JSON, read as a stream so that a limit on rows also limits memory."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Iterator
from typing import IO, Final, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

__all__ = ["read_csv", "read_json"]

_BLOCK: Final = 1 << 22  # bytes read, and parsed, at a time
_LONGEST: Final = 1 << 26  # bytes that a row may have
_DELIMITERS: Final = (",", ";", "\t", "|")
_RAGGED: Final = re.compile(r"Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)


class Limit(Protocol):
    """How many rows may be read."""

    def check(self, n_rows: int, name: str) -> None:
        """Raise when there are more."""


def read_csv(stream: IO[bytes], name: str, delimiter: str | None, encoding: str, limit: Limit) -> tuple[pa.Table, str]:
    """Read cells as text.

    Parameters
    ----------
    stream : binary stream
        Need not be seekable.
    name : str
        What messages call it.
    delimiter : str, optional
        Found from the header when None.
    encoding : str
    limit : Limit

    Returns
    -------
    cells : pyarrow Table of text
    delimiter : str
    """
    rows = _Rows(stream, name, encoding)
    header = rows.take_header()
    cut = _find_delimiter(header) if delimiter is None else delimiter
    if len(cut) != 1 or not cut.isascii():
        raise ValueError(f"a delimiter is one plain character, such as ; or |; got {cut!r}.")
    columns = next(csv.reader(io.StringIO(header, newline=""), delimiter=cut))
    names = [str(place) for place in range(len(columns))]  # types are looked up by name, and names may repeat
    tables = [pa.table({key: pa.array([], pa.string()) for key in names})]
    n_rows = 0
    for chunk in rows.chunks(cut):
        tables.append(_parse(chunk, names, name, cut))
        n_rows += tables[-1].num_rows
        limit.check(n_rows, name)
    return pa.concat_tables(tables).rename_columns(columns), cut


def _parse(chunk: bytes, names: list[str], name: str, delimiter: str) -> pa.Table:
    try:
        # From memory: a Python stream would be read by Arrow's own threads, which no Ctrl-C reaches.
        return pyarrow.csv.read_csv(
            pa.BufferReader(chunk),
            read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=len(chunk) + 1),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        raise _explain(error, name, delimiter) from error


class _Rows:
    """The bytes of a stream, cut where rows end; a line break between quotes ends none.

    Parameters
    ----------
    stream : binary stream
    name : str
        What messages call it.
    encoding : str
    """

    def __init__(self, stream: IO[bytes], name: str, encoding: str) -> None:
        self._name = name
        self._blocks = _recode(stream, name, encoding)
        self._held = b""

    def take_header(self) -> str:
        """Return the first row that is not blank."""
        end = 0
        for block in self._blocks:
            self._held = (self._held + block).lstrip(b"\r\n")
            end = self._end_of_row("".join(_DELIMITERS), last=False)
            if end:
                break
        header, self._held = (self._held[:end], self._held[end:]) if end else (self._held, b"")
        if not header.strip():
            raise ValueError(f"{self._name} is empty; give a table with a header and at least one row.")
        if b"\0" in header:
            raise ValueError(f"{self._name} is not a text file: its first line has a zero byte; is its suffix right?")
        return header.decode()

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
        if end < 0 and len(self._held) > _LONGEST:
            raise ValueError(f"{self._name} has a row of more than {_LONGEST:,} bytes; are all quotes closed?")
        return end + 1


def _quoted(delimiters: str) -> re.Pattern[bytes]:
    """Match a cell in quotes, or what there is of it; a quote that does not begin a cell is a character like others."""
    before = re.escape(delimiters).encode()
    # The quote first and what must stand before it second, so that the search is a search for quotes.
    return re.compile(rb'"(?:(?<=\A")|(?<=[\r\n' + before + rb']"))[^"]*(?:""[^"]*)*("|\Z)')


def _recode(stream: IO[bytes], name: str, encoding: str) -> Iterator[bytes]:
    """Read blocks, in whatever encoding, as UTF-8."""
    wanted = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
    only_returns = None
    try:
        decoder = codecs.getincrementaldecoder(wanted)()
        while block := stream.read(_BLOCK):
            content = decoder.decode(block).encode()
            if only_returns is None:
                only_returns = b"\r" in content and b"\n" not in content  # as some spreadsheets end lines
            yield content.replace(b"\r", b"\n") if only_returns else content
        yield decoder.decode(b"", final=True).encode()
    except (UnicodeDecodeError, LookupError) as error:
        raise _wrong_encoding(name, encoding) from error


def _find_delimiter(header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=bare.count)  # the first of equals, so a comma when there is none


def _explain(error: Exception, name: str, delimiter: str) -> ValueError:
    message = str(error)
    ragged = _RAGGED.search(message)
    if ragged is None:
        return ValueError(f"{name} cannot be read as CSV ({message.splitlines()[0]}).")
    row = ragged[3].strip()
    shown = row if len(row) <= 60 else row[:60] + "..."
    return ValueError(
        f"{name} must have {ragged[1]} cells in every row, as in its header; got {ragged[2]} in the row {shown!r}. "
        f"Mend the row, or put cells that hold the delimiter {delimiter!r} in quotes."
    )


def _wrong_encoding(name: str, encoding: str) -> ValueError:
    return ValueError(f"{name} is not written in {encoding}; name its encoding, for example --encoding latin-1.")


def read_json(stream: IO[bytes], name: str, encoding: str, limit: Limit) -> tuple[pa.Table, pa.Array]:
    """Read JSON lines, or one JSON array of objects.

    Returns
    -------
    cells : pyarrow Table
    lines : pyarrow array of str
        The objects as they were written.
    """
    first = _first_character(stream)
    lines: list[str] = []
    try:
        if first == b"[":
            rows = json.loads((first + stream.read()).decode(encoding))
            limit.check(len(rows), name)
            lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        else:
            start = first
            for raw in stream:
                line = (start + raw).decode(encoding).strip()
                start = b""
                if line:
                    lines.append(line)
                    limit.check(len(lines), name)
            if start.strip():
                lines.append(start.decode(encoding))
    except (UnicodeDecodeError, LookupError) as error:
        raise _wrong_encoding(name, encoding) from error
    except json.JSONDecodeError as error:
        raise ValueError(f"{name} is not JSON ({error}).") from error
    if not lines:
        raise ValueError(f"{name} is empty; give one JSON object per line, or an array of them.")
    wrong = next((number for number, line in enumerate(lines) if not line.startswith("{")), None)
    if wrong is not None:
        raise ValueError(f"{name} must hold a JSON object per row; row {wrong}, counted from 0, is none.")
    content = "\n".join(lines).encode()
    try:
        cells = pyarrow.json.read_json(
            pa.BufferReader(content), read_options=pyarrow.json.ReadOptions(block_size=min(len(content) + 1, 2**31 - 1))
        )
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"{name} must have one type of content in each column ({str(error).splitlines()[0]}); make them alike."
        ) from error
    return cells, pa.array(lines, pa.large_string())


def _first_character(stream: IO[bytes]) -> bytes:
    """Read up to the first character that is no blank and no byte-order mark."""
    while (character := stream.read(1)) and character in b" \t\r\n\xef\xbb\xbf":
        pass
    return character
