"""Training points that stay where they are, in a file, and are read some rows at a time.

What `open_source` is given decides on the class:

    a numpy memmap, or an array                  ArraySource
    the path of a .npy file                      ArraySource, of the file mapped into memory
    the path of a .parquet file, or of a folder  ParquetSource

A source has a shape and gives out slices of rows, so that most of the package can take it for an array.
"""

from __future__ import annotations

import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pivotal.core.types import AnyArray, IndexArray
from pivotal.core.validation import count_not_finite

Chunk: TypeAlias = tuple[int, AnyArray]

# Bytes that are read at once on the way into a chunk, beside the chunk itself.
_PIECE_BYTES = 2**22
# Bytes of a column that are read from a Parquet file at once.
_BUFFER_BYTES = 2**16


class RowSource(ABC):
    """A table of numbers that is read some rows at a time.

    Parameters
    ----------
    name : str
        What the user calls it, for messages.
    n_rows, n_columns : int
        Its size.
    dtype : dtype
        float32 or float64; what its rows come in.
    """

    def __init__(self, name: str, n_rows: int, n_columns: int, dtype: np.dtype[Any]) -> None:
        if n_rows == 0 or n_columns == 0:
            raise ValueError(f"{name} must have at least one row and one column; got shape {(n_rows, n_columns)}.")
        self.name, self.n_rows, self.n_columns, self.dtype = name, n_rows, n_columns, dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, self.n_columns

    def chunks(self, max_rows: int, start: int = 0, stop: int | None = None) -> Iterator[Chunk]:
        """Read the rows start, ..., stop - 1, all of them by default.

        Parameters
        ----------
        max_rows : int
            Rows per chunk; the last may have fewer.
        start, stop : int
            Which rows.

        Yields
        ------
        first : int
            Number of the chunk's first row.
        rows : float32 or float64 array of shape (<= max_rows, n_columns)
            Finite, by rows, to be read only.
        """
        for first, rows in self._read(max_rows, start, self.n_rows if stop is None else stop):
            self._check_finite(first, rows)
            yield first, rows

    def __getitem__(self, key: slice) -> AnyArray:
        """Rows of a slice without steps, as an array."""
        start, stop, step = key.indices(self.n_rows)
        if step != 1:
            raise ValueError(f"{self.name} can be read in slices without steps; got {key}.")
        rows = np.empty((max(0, stop - start), self.n_columns), self.dtype)
        for first, piece in self.chunks(self._rows_at_once(), start, stop):
            rows[first - start : first - start + len(piece)] = piece
        return rows

    def take(self, rows: IndexArray) -> AnyArray:
        """Return some rows, given by number, in any order; all are read through once."""
        taken = np.empty((len(rows), self.n_columns), self.dtype)
        for first, piece in self.chunks(self._rows_at_once()):
            here = (rows >= first) & (rows < first + len(piece))
            taken[here] = piece[rows[here] - first]
        return taken

    @abstractmethod
    def _read(self, max_rows: int, start: int, stop: int) -> Iterator[Chunk]:
        """Read chunks that are not checked yet."""

    def _rows_at_once(self) -> int:
        """Rows of a piece."""
        return max(1, _PIECE_BYTES // (self.n_columns * self.dtype.itemsize))

    def _check_finite(self, first: int, rows: AnyArray) -> None:
        bad = count_not_finite(rows)
        if bad:
            row = first + int((~np.isfinite(rows)).any(axis=1).argmax())
            raise ValueError(
                f"{self.name} must be finite (no NaN, no infinity); got {bad} such entries in the "
                f"rows {first} to {first + len(rows) - 1}, the first of them in row {row}. "
                "Impute them or drop their rows."
            )


class ArraySource(RowSource):
    """Rows of a two-dimensional array of booleans, whole or real numbers, which may be mapped from a file."""

    def __init__(self, X: AnyArray, name: str = "X") -> None:
        if X.ndim != 2:
            fix = " Use reshape(-1, 1) for one feature." if X.ndim == 1 else ""
            raise ValueError(f"{name} must be two-dimensional, a row per point; got shape {X.shape}.{fix}")
        if X.dtype.kind not in "biuf":
            raise ValueError(
                f"{name} must hold real numbers; got dtype {X.dtype}. Encode text and categories as numbers first."
            )
        single = X.dtype == np.float32
        super().__init__(name, X.shape[0], X.shape[1], np.dtype(np.float32 if single else np.float64))
        self._X = X
        self._mapping = _mapping_of(X)

    def _read(self, max_rows: int, start: int, stop: int) -> Iterator[Chunk]:
        for first in range(start, stop, max_rows):
            last = min(first + max_rows, stop)
            if self._mapping is None:
                yield first, np.ascontiguousarray(self._X[first:last], self.dtype)
            else:
                yield first, self._copy(self._mapping, first, last)

    def _copy(self, mapping: mmap.mmap, first: int, last: int) -> AnyArray:
        """Copy rows piece by piece: what is mapped counts as memory of the process until it is given back."""
        rows = np.empty((last - first, self.n_columns), self.dtype)
        step = self._rows_at_once()
        for start in range(first, last, step):
            stop = min(start + step, last)
            rows[start - first : stop - first] = self._X[start:stop]
            if hasattr(mmap, "MADV_DONTNEED"):  # not on every system
                mapping.madvise(mmap.MADV_DONTNEED)
        return rows


class ParquetSource(RowSource):
    """Rows of Parquet files, one file after the other; a column of vectors gives as many features as they are long.

    The files of a folder are taken in the order of their paths.
    """

    def __init__(self, path: Path, name: str = "X") -> None:
        self._files = [path]
        if path.is_dir():
            self._files = sorted(
                file
                for file in path.rglob("*.parquet")
                if file.is_file() and not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
            )
            if not self._files:
                raise ValueError(f"{name} must name a folder that holds .parquet files; there is none in {path}.")
        # For each file: how many rows each of its row groups has.
        self._groups: list[list[int]] = []
        self._fields: list[tuple[int, str]] = []
        types: list[pa.DataType] = []
        for file in self._files:
            try:
                with pq.ParquetFile(file) as opened:
                    metadata, schema = opened.metadata, opened.schema_arrow
            except (pa.ArrowException, OSError) as error:
                raise ValueError(f"{name} must name Parquet files; {file} is not one, or damaged.") from error
            self._groups.append([metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)])
            fields = _feature_fields(schema)
            if file is not self._files[0] and fields != self._fields:
                raise ValueError(
                    f"{name} must have the same columns in every file; {file} and {self._files[0]} differ."
                )
            self._fields = fields
            text = [label for position, label in fields if not _is_feature(schema.field(position).type)]
            if text:
                shown = ", ".join(text[:3]) + (", ..." if len(text) > 3 else "")
                raise ValueError(
                    f"{name} must hold numbers, or vectors of numbers; the columns {shown} of {file} do not. "
                    "Encode them as numbers first, or omit them from the file."
                )
            types += [_entry_type(schema.field(position).type) for position, _ in fields]
        n_rows = sum(map(sum, self._groups))
        if n_rows == 0:
            raise ValueError(f"{name} must have at least one row; got none in {path}.")
        self.name = name  # which messages about the first row need
        self._widths = self._measure_widths()
        single = all(kind == pa.float32() for kind in types)
        super().__init__(name, n_rows, sum(self._widths), np.dtype(np.float32 if single else np.float64))

    def _measure_widths(self) -> list[int]:
        """Features of each column, as the first row has them."""
        row = next(batch for _, batch in self._batches(1, 0, 1) if batch.num_rows)
        widths = []
        for position, label in self._fields:
            column = row.column(position)
            if _is_list(column.type) and column.null_count:
                raise ValueError(f"{self.name} must have a vector in every row; column {label} has none in row 0.")
            widths.append(len(column.flatten()) if _is_list(column.type) else 1)
        return widths

    def _read(self, max_rows: int, start: int, stop: int) -> Iterator[Chunk]:
        rows = np.empty((0, self.n_columns), self.dtype)
        first, filled = start, 0
        for position, batch in self._batches(min(max_rows, self._rows_at_once()), start, stop):
            taken = 0
            while taken < batch.num_rows:
                if filled == len(rows):
                    if filled:
                        yield first, rows
                    first, filled = position + taken, 0
                    rows = np.empty((min(max_rows, stop - first), self.n_columns), self.dtype)
                count = min(batch.num_rows - taken, len(rows) - filled)
                self._fill(rows[filled : filled + count], batch.slice(taken, count), position + taken)
                taken += count
                filled += count
        if filled:
            yield first, rows

    def _batches(self, size: int, start: int, stop: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Read the row groups that hold rows start, ..., stop - 1, and cut off what is not wanted."""
        end = 0
        for file, sizes in zip(self._files, self._groups, strict=True):
            position, wanted = end, []
            for group, n_rows in enumerate(sizes):
                if end + n_rows <= start:
                    position = end + n_rows
                elif end < stop:
                    wanted.append(group)
                end += n_rows
            if not wanted:
                continue
            try:
                # Streams of a small buffer: otherwise a row group would be read whole, and those can be large.
                with pq.ParquetFile(file, buffer_size=_BUFFER_BYTES, pre_buffer=False) as opened:
                    for batch in opened.iter_batches(size, row_groups=wanted, use_threads=False):
                        low, high = max(0, start - position), min(batch.num_rows, stop - position)
                        if low < high:
                            yield position + low, batch.slice(low, high - low)
                        position += batch.num_rows
                        if position >= stop:
                            return
            except (pa.ArrowException, OSError) as error:
                complaint = next(iter(str(error).splitlines()), type(error).__name__)
                raise ValueError(
                    f"{self.name} cannot be read: {file} is damaged or was changed ({complaint})."
                ) from error

    def _fill(self, rows: AnyArray, batch: pa.RecordBatch, first: int) -> None:
        """Fill `rows` with the features of a batch; `first` is the number of its first row."""
        column = 0
        for (position, label), width in zip(self._fields, self._widths, strict=True):
            entries = batch.column(position)
            if _is_list(entries.type):
                lengths = pc.fill_null(pc.list_value_length(entries), -1).to_numpy(zero_copy_only=False)
                if (lengths != width).any():
                    odd = int((lengths != width).argmax())
                    got = f"{lengths[odd]} numbers" if lengths[odd] >= 0 else "none"
                    raise ValueError(
                        f"{self.name} must have vectors of one length in column {label}, {width} numbers as in row 0; "
                        f"row {first + odd} has {got}."
                    )
                entries = entries.flatten()
            rows[:, column : column + width] = _to_numbers(entries).reshape(len(rows), width)
            column += width


def take_rows(X: Any, rows: IndexArray) -> Any:
    """Return some training points, given by index, of an array, a sparse matrix or a file."""
    return X.take(rows) if isinstance(X, RowSource) else X[rows]


def is_source(X: Any) -> bool:
    """Whether X is to be read in chunks: the path of a file, a memmap, or a source already."""
    return isinstance(X, str | os.PathLike | np.memmap | RowSource)


def open_source(X: Any, name: str = "X") -> RowSource:
    """Return the source of rows that X is or names.

    Parameters
    ----------
    X : path-like, array or RowSource
        A .npy file, a .parquet file, a folder of .parquet files; or an array of two dimensions, such as a memmap.
    name : str, default="X"
        What the user calls it, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> from pivotal.neighbors._sources import open_source
    >>> for first, rows in open_source(np.arange(10.0).reshape(5, 2)).chunks(2):
    ...     print(first, rows.tolist())
    0 [[0.0, 1.0], [2.0, 3.0]]
    2 [[4.0, 5.0], [6.0, 7.0]]
    4 [[8.0, 9.0]]
    """
    if isinstance(X, RowSource):
        return X
    if isinstance(X, np.ndarray):
        return ArraySource(X, name)
    if not isinstance(X, str | os.PathLike):
        raise TypeError(f"{name} must be an array or the path of a .npy or .parquet file; got {type(X).__name__}.")
    path = Path(X)
    if not os.path.exists(path):  # noqa: PTH110  pathlib raises for a name that is too long
        raise FileNotFoundError(f"{name} must name a file that exists; there is no {path}.")
    if path.is_dir() or path.suffix.lower() in (".parquet", ".pq"):
        return ParquetSource(path, name)
    if path.suffix.lower() != ".npy":
        raise ValueError(
            f"{name} must name a .npy file, a .parquet file or a folder of .parquet files; got {path}. "
            "Convert it with numpy.save or DataFrame.to_parquet."
        )
    try:
        array = np.load(path, mmap_mode="r")
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(
            f"{name} must name a .npy file of numbers; {path} is another, or damaged ({str(error) or 'it is empty'})."
        ) from error
    if not isinstance(array, np.ndarray):  # an archive of several arrays under a wrong name
        array.close()
        raise ValueError(f"{name} must name a .npy file of one array; {path} is an archive of several.")
    return ArraySource(array, name)


def _mapping_of(X: AnyArray) -> mmap.mmap | None:
    """Return the mapping behind an array if its pages may be given back without loss, that is, if the file has them."""
    base: Any = X
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and base.mode == "c":
            return None
        base = base.base
    return base if isinstance(base, mmap.mmap) else None


def _feature_fields(schema: pa.Schema) -> list[tuple[int, str]]:
    """Positions and names of the columns, without those in which pandas keeps the index of a frame."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [(position, label) for position, label in enumerate(schema.names) if label not in index]


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _entry_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if _is_list(kind) else kind


def _is_feature(kind: pa.DataType) -> bool:
    entry = _entry_type(kind)
    kinds = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)
    return any(is_kind(entry) for is_kind in kinds)


def _to_numbers(entries: pa.Array) -> AnyArray:
    """Return the entries of a column as floats; what is missing is NaN."""
    if not pa.types.is_floating(entries.type):
        entries = entries.cast(pa.float64(), safe=False)
    numbers: AnyArray = entries.to_numpy(zero_copy_only=False)
    return numbers
