"""JSON lines, and arrays of JSON objects: read as a stream, and looked at before Arrow sees them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import IO, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from pivotal.tables._delimited import Text
from pivotal.tables._dialect import Dialect, Recoded
from pivotal.tables._limits import LONGEST_ROW, Limit
from pivotal.tables._memory_file import memory_file

_BLOCK: Final = 1 << 22  # bytes read at a time
_DEEPEST: Final = 64  # lists and objects within each other; Arrow's parser has no limit but its stack
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_ROW: Final = re.compile(r" in row (\d+)")
_EXACT: Final = 2.0**53  # integers from here on are not all floats


class _Object(NamedTuple):
    """A row as it was written, on one line, and the line that it begins on."""

    text: str
    line: int


def read_json(stream: IO[bytes], name: str, encoding: str, limit: Limit) -> Text:
    """Read JSON lines, or one JSON array of objects, from a stream that need not be seekable."""
    source = Recoded(stream, name, encoding, _BLOCK)
    blocks = iter(source)
    start, n_lines = b"", 1
    for block in blocks:
        start = block.lstrip(b" \t\r\n")
        n_lines += block[: len(block) - len(start)].count(b"\n")
        if start:
            break
    blocks = chain([start], blocks)
    found = (_array if start.startswith(b"[") else _lines)(blocks, name, n_lines)
    rows: list[_Object] = []
    for row in found:
        rows.append(row)
        limit.check(len(rows), name)
        _check_depth(row, len(rows) - 1, name)
    if not rows:
        raise ValueError(f"{name} is empty; give one JSON object per line, or an array of them.")
    lines = pa.array([row.text for row in rows], pa.large_string())
    places = np.array([row.line for row in rows])
    return Text(_parse(rows, name), pa.chunked_array([lines]), places, Dialect(encoding=source.encoding))


def _lines(blocks: Iterator[bytes], name: str, line: int) -> Iterator[_Object]:
    """Yield what stands on each line that is not blank."""
    held = b""
    n_rows = 0
    for block in chain(blocks, [None]):
        parts = [held] if block is None else (held + block).split(b"\n")
        held = b"" if block is None else parts.pop()
        for part in parts:
            text = part.strip()
            if text:
                if not text.startswith(b"{"):
                    raise _not_an_object(name, n_rows, line)
                yield _Object(text.decode(), line)
                n_rows += 1
            line += 1
        _check_length(len(held), name)


def _array(blocks: Iterator[bytes], name: str, line: int) -> Iterator[_Object]:
    """Yield the objects of an array, each as soon as all of it is there."""
    decoder = json.JSONDecoder(parse_int=str)  # Python refuses integers of very many digits
    text, place = next(blocks).decode(), 1
    n_rows, wants_row, error = 0, True, ""
    while True:
        place, line = _skip_blanks(text, place, line)
        sign = text[place : place + 1]
        if sign == "]" and (n_rows == 0 or not wants_row):
            break
        if sign == "," and not wants_row:
            wants_row, place = True, place + 1
            continue
        if sign == "{" and wants_row:
            try:
                _, end = decoder.raw_decode(text, place)
            except RecursionError as cause:
                raise _too_deep(name, n_rows, line) from cause
            except json.JSONDecodeError as cause:
                error = str(cause.msg)  # perhaps only because there is more to come
            else:
                yield _Object(re.sub(r"[\r\n]", " ", text[place:end]), line)  # no string has a bare line break
                n_rows, wants_row = n_rows + 1, False
                line += text.count("\n", place, end)
                place = end
                continue
        elif sign:
            if wants_row:
                raise _not_an_object(name, n_rows, line)
            raise ValueError(f"{name} is not JSON (',' or ']' expected on line {line}, got {sign!r}).")
        _check_length(len(text) - place, name)
        more = next(blocks, None)
        if more is None:
            raise ValueError(f"{name} is not JSON ({error or 'it ends within the array'}, on line {line}).")
        text, place = text[place:] + more.decode(), 0
    rest = (text[place + 1 :] + "".join(block.decode() for block in blocks)).strip()
    if rest:
        raise ValueError(f"{name} is not JSON ({rest[:20]!r} after the end of the array).")


def _skip_blanks(text: str, place: int, line: int) -> tuple[int, int]:
    blanks = _BLANKS.match(text, place)
    end = place if blanks is None else blanks.end()
    return end, line + text.count("\n", place, end)


def _check_length(n_bytes: int, name: str) -> None:
    if n_bytes > LONGEST_ROW:
        raise ValueError(f"{name} has a row of more than {LONGEST_ROW:,} bytes; is it one JSON object per row?")


def _not_an_object(name: str, row: int, line: int) -> ValueError:
    return ValueError(f"{name} must hold a JSON object per row; row {row} (0-based, line {line}) is not a JSON object.")


def _too_deep(name: str, row: int, line: int) -> ValueError:
    return ValueError(
        f"{name} must not nest lists and objects more than {_DEEPEST} deep; row {row} (0-based, line {line}) does. "
        "Omit what is nested."
    )


def _check_depth(row: _Object, number: int, name: str) -> None:
    if len(row.text) > LONGEST_ROW:
        _check_length(len(row.text), name)
    if row.text.count("{") + row.text.count("[") <= _DEEPEST:
        return
    bare = np.frombuffer(_STRING.sub("", row.text).encode(), dtype=np.uint8)
    steps = np.isin(bare, [ord("{"), ord("[")]).astype(np.int64) - np.isin(bare, [ord("}"), ord("]")])
    if steps.cumsum().max(initial=0) > _DEEPEST:
        raise _too_deep(name, number, row.line)


def _parse(rows: list[_Object], name: str) -> pa.Table:
    content = "\n".join(row.text for row in rows).encode()
    cells = _read(content, rows, name)
    # Arrow takes text that looks like a date for one, and large integers for floats: both are kept as written.
    dates = [field.name for field in cells.schema if pa.types.is_timestamp(field.type)]
    if dates:
        cells = _read(content, rows, name, dates).select(cells.column_names)
    floats = [place for place, field in enumerate(cells.schema) if pa.types.is_floating(field.type)]
    if _largest([cells.column(place) for place in floats]) >= _EXACT:
        for place in floats:
            if _largest([cells.column(place)]) >= _EXACT:
                cells = _with_large_integers(cells, place, rows)
    return cells


def _read(content: bytes, rows: list[_Object], name: str, texts: list[str] | None = None) -> pa.Table:
    schema = pa.schema([(column, pa.string()) for column in texts or ()])
    try:
        return pyarrow.json.read_json(
            memory_file(content),
            read_options=pyarrow.json.ReadOptions(block_size=min(len(content) + 1, 2**31 - 1)),
            parse_options=pyarrow.json.ParseOptions(explicit_schema=schema) if texts else None,
        )
    except pa.ArrowInvalid as error:
        message = str(error).splitlines()[0]
        found = _ROW.search(message)
        row = int(found[1]) if found else len(rows)
        where = f", line {rows[row].line}" if row < len(rows) else ""
        if "changed from" in message or "cast" in message:
            raise ValueError(
                f"{name} must have one type of content in each column ({message}{where}); make them alike."
            ) from error
        raise ValueError(f"{name} is not JSON ({message}{where}).") from error


class _Digits(str):
    """An integer as it is written: Python refuses those of very many digits."""

    __slots__ = ()


def _largest(columns: list[pa.ChunkedArray]) -> float:
    chunks = [chunk for column in columns for chunk in column.chunks]
    return float(pc.max(pc.abs(pa.concat_arrays(chunks))).as_py() or 0.0) if chunks else 0.0


def _with_large_integers(cells: pa.Table, place: int, rows: list[_Object]) -> pa.Table:
    """Return a column that has integers beyond 64 bits as text, in which they keep apart."""
    name = cells.column_names[place]
    contents: list[Any] = [json.loads(row.text, parse_int=_Digits).get(name) for row in rows]
    if not all(content is None or isinstance(content, _Digits) for content in contents):
        return cells
    column = pa.array([content and ("0" if content == "-0" else str(content)) for content in contents])
    column = column.cast(pa.large_string())
    return cells.set_column(place, name, column)
