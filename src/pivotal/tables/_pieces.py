"""Parquet files cut into pieces, which workers read: a few row groups each, never more than one file.

Arrow's own datasets do the reading. Dask's dataframes put files into an order of their own, leave each of them its own
types, and cut them differently for every choice of columns, so that features and labels would not lie side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from pivotal.core.urls import is_url, link_of, locate, readable_errors
from pivotal.tables._remote import is_pattern
from pivotal.tables.read import check_names, damaged, format_of
from pivotal.tables.table import Table

_PIECE_BYTES: Final = 2**26  # of a file that is cut, before compression
_AT_ONCE: Final = 16  # results that one task makes one of


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows of a Parquet file."""

    fragment: Any  # of pyarrow: knows the file and the row groups; opens nothing before it is asked to
    file: str  # what messages call it
    first: int  # number of the first row in the whole table
    n_rows: int


@dataclass(frozen=True, eq=False)
class Source:
    """A table in pieces, none of them without rows."""

    name: str  # what messages call it
    schema: pa.Schema  # columns, of types that hold the content of every file
    pieces: tuple[Piece, ...]
    token: str  # tells the content from any other: names, sizes and dates of the files

    def __len__(self) -> int:
        last = self.pieces[-1]
        return last.first + last.n_rows


@dataclass(frozen=True, eq=False)
class _File:
    """A file, the fragment that is all of it, and the columns that its folders' names stand for."""

    name: str
    fragment: Any
    named: tuple[Any, ...]
    token: str

    def part(self, groups: list[int]) -> Any:
        """Return the fragment that is some row groups of the file, which is not opened for it."""
        whole = self.fragment
        return whole.format.make_fragment(whole.path, whole.filesystem, whole.partition_expression, row_groups=groups)


class _Footer(NamedTuple):
    """What the end of a Parquet file says."""

    schema: pa.Schema
    rows: list[int]
    sizes: list[int]


def open_parquet(paths: Sequence[str]) -> Source:
    """Find the files of a table, and read what they hold from their ends, on the workers.

    Files of a pattern or a folder come in the order of their names; folders named such as `year=2024` make a column
    of it.
    """
    from dask.base import tokenize

    files = [file for path in paths for file in _find(path)]
    footers = over(files, _read_footer)
    name = " ".join(paths)
    schema = _unified([footer.schema for footer in footers], files)
    pieces: list[Piece] = []
    first = 0
    for file, footer in zip(files, footers, strict=True):
        for groups in _groups(footer):
            n_rows = sum(footer.rows[group] for group in groups)
            pieces.append(Piece(file.part(groups), file.name, first, n_rows))
            first += n_rows
    if not pieces:
        raise ValueError(f"{name} has no rows; give at least one.")
    token = tokenize(
        [(file.name, file.token) for file in files], [piece.n_rows for piece in pieces], schema.to_string()
    )
    return Source(name, schema, tuple(pieces), str(token))


def read_piece(piece: Piece, name: str, schema: pa.Schema, columns: Sequence[str]) -> Table:
    """Return some columns of a piece, as a table that knows the numbers of its rows; name and schema of its source."""
    fields = pa.schema([schema.field(column) for column in columns])
    with readable_errors(piece.file):
        try:
            cells = piece.fragment.to_table(schema=schema, columns=list(columns), use_threads=False)
        except pa.ArrowInvalid as error:
            raise damaged(piece.file, "parquet", error) from error
    cells = pa.Table.from_arrays(cells.columns, schema=fields)  # what is known of the fields besides their types
    return Table(cells, name, "parquet", numbers=np.arange(piece.first, piece.first + piece.n_rows))


def without_rows(name: str, schema: pa.Schema) -> Table:
    """Return a table that has the columns and no rows."""
    return Table(schema.empty_table(), name, "parquet")


def over(
    pieces: Sequence[Any],
    function: Callable[..., Any],
    shared: Any = None,
    *,
    combine: Callable[[Sequence[Any]], Any] | None = None,
) -> list[Any]:
    """Call a function, which is sent by its name, with each of many things on the workers; return what it returns.

    `shared`, the last argument of all calls, is sent once. `combine` makes one result of several; a tree of it, always
    the same, leaves one in the list.
    """
    import dask

    last = [] if shared is None else [dask.delayed(shared, traverse=False)]
    calls = [dask.delayed(function, traverse=False)(piece, *last) for piece in pieces]
    while combine is not None and len(calls) > 1:
        groups = [calls[first : first + _AT_ONCE] for first in range(0, len(calls), _AT_ONCE)]
        calls = [dask.delayed(combine, traverse=False)(group) for group in groups]
    return list(dask.compute(*calls))


def _find(path: str) -> list[_File]:
    """Return the files that a path stands for."""
    if path == "-":
        raise _not_parquet("standard input")
    system, inside = locate(path)
    base = None
    with readable_errors(path):
        if is_pattern(link_of(path) if is_url(path) else path) and not system.exists(inside):
            found, otherwise = sorted(system.glob(inside)), "no file matches the pattern"
        elif system.isdir(inside):
            base = inside
            found = sorted(file for file in system.find(inside) if _is_data(file.removeprefix(inside)))
            otherwise = "the directory has no Parquet files, whose names end in .parquet"
        else:
            found, otherwise = [inside] if system.exists(inside) else [], "there is no such file"
    if not found:
        raise FileNotFoundError(f"cannot read {path}: {otherwise}.")
    for file in found:
        if format_of(file) != "parquet":
            raise _not_parquet(path if file == inside else file)
    return _opened(path, system, found, base)


def _is_data(file: str) -> bool:
    """Whether a file in a folder is part of the table; names that begin with a dot or an underscore are not."""
    hidden = any(part.startswith(("_", ".")) for part in file.split("/"))
    return not hidden and file.lower().endswith((".parquet", ".pq"))


def _not_parquet(name: str) -> ValueError:
    return ValueError(
        f"with --scheduler tables are read from Parquet files; got {name}. Convert it, or omit --scheduler."
    )


def _opened(path: str, system: Any, found: list[str], base: str | None) -> list[_File]:
    # With a schema, be it empty, no file is opened here.
    named = {"schema": pa.schema([])} if base is None else {"partitioning": "hive", "partition_base_dir": base}
    with readable_errors(path):
        try:
            dataset = ds.dataset(found, filesystem=system, format="parquet", **named)
            tokens = [str(system.ukey(file)) for file in found]
        except pa.ArrowInvalid as error:
            raise damaged(path, "parquet", error) from error
    keys = tuple(dataset.partitioning.schema) if base is not None and dataset.partitioning is not None else ()
    return [
        _File(system.unstrip_protocol(file) if is_url(path) else file, fragment, keys, token)
        for file, fragment, token in zip(found, dataset.get_fragments(), tokens, strict=True)
    ]


def _read_footer(file: _File) -> _Footer:
    with readable_errors(file.name):
        try:
            groups, schema = file.fragment.row_groups, file.fragment.physical_schema
            return _Footer(schema, [one.num_rows for one in groups], [one.total_byte_size for one in groups])
        except FileNotFoundError as error:
            raise OSError(
                "the workers do not find it; give a path that they all see, or a URL such as s3://bucket/table"
            ) from error
        except pa.ArrowInvalid as error:
            raise damaged(file.name, "parquet", error) from error


def _groups(footer: _Footer) -> list[list[int]]:
    """Cut a file: row groups that have rows, as many at a time as fit into a piece."""
    cut: list[list[int]] = []
    size = 0
    for group, (n_rows, n_bytes) in enumerate(zip(footer.rows, footer.sizes, strict=True)):
        if n_rows == 0:
            continue
        if not cut or size + n_bytes > _PIECE_BYTES:
            cut.append([])
            size = 0
        cut[-1].append(group)
        size += n_bytes
    return cut


def _unified(schemas: Sequence[pa.Schema], files: Sequence[_File]) -> pa.Schema:
    """Return columns of types that hold the content of every file."""
    first, name = schemas[0], files[0].name
    check_names(first.names, name)
    schema = first
    for other, file in zip(schemas, files, strict=True):
        odd = sorted(set(first.names) ^ set(other.names))
        if odd:
            raise ValueError(
                f"files of one table must have the same columns; {name} and {file.name} differ in {odd[0]!r}."
            )
        if other != schema:
            schema = pa.schema(
                [_wider(schema.field(column), other.field(column), file, name) for column in schema.names]
            )
    known = {field.name: field for file in files for field in file.named if field.name not in schema.names}
    return pa.schema([*schema, *known.values()])


def _wider(field: Any, other: Any, file: _File, first: str) -> Any:
    try:
        (merged,) = pa.unify_schemas([pa.schema([field]), pa.schema([other])], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(
            f"column {field.name!r} must be of one type in every file; it is {field.type} in {first} and "
            f"{other.type} in {file.name}. Write one of them again."
        ) from error
    return merged
