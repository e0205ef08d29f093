"""Rows as they were read."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, SupportsIndex

import numpy as np
import pyarrow as pa

from pivotal.core.types import AnyArray, IndexArray
from pivotal.tables._dialect import Dialect, with_cell
from pivotal.tables._phrases import few

MATRIX: Final = b"pivotal.shape"  # metadata of a column that is an array of more than one dimension


class RowVectors(NamedTuple):
    """Vectors of the rows of a table that do not lie in it, and how they were matched with the rows."""

    vectors: AnyArray
    how: str


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of one or more files.

    Parameters
    ----------
    cells : pyarrow Table
        Text as it was written for CSV and TSV; for other formats, the types of the file.
    name : str
        What messages call it.
    format : str
        A key of `pivotal.tables.FORMATS`.
    delimiter : str, default=","
        What stood between the cells of a CSV file.
    lines : pyarrow array of str, optional
        The rows of a text file as they were written: those of CSV with the ends of their lines, JSON without.
    folder : Path, optional
        Where the file is; paths of images are relative to it.
    numbers : int array of shape (n_rows,), optional
        The numbers that the rows had in their file, where these are some of them.
    places : int array of shape (n_rows,), optional
        The lines that the rows begin on in a text file, counted from 1, where they are known.
    dialect : Dialect, optional
        How a text file is written.
    decimal : {".", ","}
        What stands before the decimals of numbers that are text.
    beside : mapping of str to RowVectors
        Vectors of the rows that lie in files of their own, by the names of these. They are not written again.
    """

    cells: pa.Table
    name: str
    format: str
    delimiter: str = ","
    lines: Any = None
    folder: Path | None = None
    numbers: IndexArray | None = None
    places: IndexArray | None = None
    dialect: Dialect | None = None
    decimal: str = "."
    beside: Mapping[str, RowVectors] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.cells.num_rows)

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in their order."""
        return list(self.cells.column_names)

    @property
    def row_numbers(self) -> IndexArray:
        """Numbers of the rows in their file, counted from 0."""
        return np.arange(len(self)) if self.numbers is None else self.numbers

    def row(self, place: SupportsIndex) -> str:
        """Say where a row is."""
        line = "" if self.places is None else f", line {self.places[place]}"
        return f"row {self.row_numbers[place]} (0-based{line})"

    @property
    def written(self) -> bool:
        """Whether the cells are text as it was written, without types."""
        return self.format in ("csv", "tsv")

    def check_column(self, name: str, option: str) -> str:
        """Return the name of a column that exists.

        Raises
        ------
        ValueError
            If there is none; the message has the name that was probably meant.
        """
        if name in self.columns:
            return name
        self.check_labels_are_here()
        folded = {column.casefold(): column for column in self.columns}
        close = difflib.get_close_matches(name.casefold(), folded, n=1)
        hint = f"did you mean {folded[close[0]]!r}?" if close else f"its columns are {few(self.columns)}."
        if self.written and 2 * sum(map(_is_number, self.columns)) >= len(self.columns):
            hint += " If its first line is a row, and names no columns, say --no-header."
        raise ValueError(f"{self.name} has no column {name!r}, which {option} names; {hint}")

    def check_labels_are_here(self) -> None:
        """Raise where these are vectors alone, whose labels lie elsewhere."""
        if self.format == "npy" and self.columns == ["X"]:
            raise ValueError(
                f"{self.name} holds vectors and no labels; name the table that has the labels, with --embeddings "
                f"{self.name} beside it, or both arrays as {self.name},labels.npy."
            )

    def column(self, name: str) -> pa.ChunkedArray:
        """Return the cells of one column."""
        return self.cells.column(name)

    def matrix_shape(self, name: str) -> tuple[int, ...] | None:
        """Return the shape of one row of a column that is a block of an array, None for other columns."""
        about = self.cells.schema.field(name).metadata or {}
        return tuple(json.loads(about[MATRIX])) if MATRIX in about else None

    def take(self, rows: Sequence[int] | IndexArray) -> Table:
        """Return some of the rows, in the order given."""
        chosen = np.asarray(rows, dtype=np.int64)
        indices = pa.array(chosen)
        return replace(
            self,
            cells=_take(self.cells, indices, self.name),
            lines=None if self.lines is None else self.lines.take(indices),
            numbers=self.row_numbers[chosen],
            places=None if self.places is None else self.places[chosen],
            beside={name: one._replace(vectors=one.vectors[chosen]) for name, one in self.beside.items()},
        )

    def replaced(self, name: str, rows: IndexArray, contents: Sequence[Any]) -> Table:
        """Return a copy with some cells of one column changed.

        Parameters
        ----------
        name : str
            The column.
        rows : int array
            Which rows.
        contents : sequence
            What they get, in the type of the column's cells.
        """
        old = self.column(name)
        cells = old.to_pylist()
        place = self.columns.index(name)
        lines = None if self.lines is None else self.lines.to_pylist()
        for row, content in zip(rows.tolist(), contents, strict=True):
            cells[row] = content
            if lines is not None and self.written:
                lines[row] = with_cell(lines[row], place, content, self.delimiter)
            elif lines is not None:
                lines[row] = json.dumps({**json.loads(lines[row]), name: content}, ensure_ascii=False)
        field = self.cells.schema.field(name)
        kind = old.type.value_type if pa.types.is_dictionary(old.type) else old.type
        changed = self.cells.set_column(place, field, pa.array(cells, type=kind).cast(old.type))
        return replace(self, cells=changed, lines=None if lines is None else pa.array(lines, pa.large_string()))


def _take(cells: pa.Table, indices: pa.Array, name: str) -> pa.Table:
    try:
        return cells.take(indices)
    except pa.ArrowNotImplementedError:
        columns = []
        for field, column in zip(cells.schema, cells.columns, strict=True):
            try:
                columns.append(column.take(indices))
            except pa.ArrowNotImplementedError as error:
                raise ValueError(
                    f"rows of {name} cannot be chosen, as its column {field.name!r} is of the type {field.type}; write "
                    "it with another type, or without that column."
                ) from error
        return pa.Table.from_arrays(columns, schema=cells.schema)


def from_arrays(arrays: dict[str, AnyArray], name: str, format: str, folder: Path | None) -> Table:  # noqa: A002
    """Make a table of NumPy arrays with a row per point; those of several dimensions become columns of vectors."""
    columns, fields = [], []
    for key, array in arrays.items():
        if array.ndim == 1:
            column = pa.array(array.tolist() if array.dtype.kind in "US" else array)
            fields.append(pa.field(key, column.type))
        else:
            flat = np.ascontiguousarray(array).reshape(-1)
            width = int(np.prod(array.shape[1:]))
            column = pa.FixedSizeListArray.from_arrays(pa.array(flat), width)
            fields.append(pa.field(key, column.type, metadata={MATRIX: json.dumps(array.shape[1:])}))
        columns.append(column)
    return Table(pa.Table.from_arrays(columns, schema=pa.schema(fields)), name, format, folder=folder)


def to_arrays(table: Table) -> dict[str, AnyArray]:
    """Undo `from_arrays`."""
    arrays: dict[str, AnyArray] = {}
    for name in table.columns:
        shape = table.matrix_shape(name)
        column = table.column(name).combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0) if column.num_chunks else pa.array([], type=column.type)
        if shape is not None:
            arrays[name] = column.flatten().to_numpy(zero_copy_only=False).reshape(len(table), *shape)
        elif pa.types.is_string(column.type):
            arrays[name] = np.array(column.to_pylist(), dtype=str)
        else:
            arrays[name] = column.to_numpy(zero_copy_only=False)
    return arrays


def without_matrices(table: Table) -> pa.Table:
    """Return cells with a column for each number of an array's row, where a format cannot tell arrays from lists."""
    columns: dict[str, Any] = {}
    for name in table.columns:
        shape = table.matrix_shape(name)
        if shape is None:
            columns[name] = table.column(name)
            continue
        flat = pa.concat_arrays(table.column(name).chunks).flatten()
        width = int(np.prod(shape))
        for place in range(width):
            columns[f"{name}_{place}"] = flat.take(pa.array(np.arange(place, len(flat), width)))
    return pa.table(columns)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
