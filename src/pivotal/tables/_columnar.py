"""Parquet and Feather files to Arrow tables, checked before anything else looks at them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet as pq

from pivotal.tables._limits import Limit, check_memory, collect_batches
from pivotal.tables._memory_file import memory_file


@contextlib.contextmanager
def _as_arrow_errors() -> Iterator[None]:
    """Turn what Arrow raises in passing over names and metadata that are damaged into its usual error."""
    try:
        yield
    except (UnicodeError, LookupError, TypeError, OverflowError, RecursionError, json.JSONDecodeError) as error:
        raise pa.ArrowInvalid(f"{type(error).__name__}: {error}") from error


@_as_arrow_errors()
def read_parquet(source: Any, path: str, limit: Limit) -> pa.Table:
    """Read a Parquet file: a path, or a binary stream."""
    # Threads of Arrow's that have asked a Python stream for bytes may outlive it and end the process.
    threads = isinstance(source, Path)
    with pq.ParquetFile(source, pre_buffer=threads) as parquet:
        limit.check(parquet.metadata.num_rows, path)
        # Text that is repeated is kept once until it is known that it fits: a small file may hold a lot of it.
        texts = [field.name for field in parquet.schema_arrow if _may_repeat(field.type)]
        with pq.ParquetFile(source, read_dictionary=texts, pre_buffer=threads) if texts else parquet as thrifty:
            cells = thrifty.read(use_threads=threads)
        schema = parquet.schema_arrow
    check_memory(sum(_unpacked(column) for column in cells.columns), path)
    return _checked(cells.cast(schema) if cells.schema != schema else cells)


def _may_repeat(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _unpacked(column: pa.ChunkedArray) -> int:
    """Return how many bytes a column has that is not dictionary-encoded."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = (pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks)
    return sum(pc.sum(some).as_py() or 0 for some in lengths)


@_as_arrow_errors()
def read_feather(source: Any, path: str, limit: Limit) -> pa.Table:
    """Read a Feather file or an Arrow stream: a path, or a binary stream."""
    if not isinstance(source, Path):
        source = memory_file(source)
    try:
        reader = pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        stream = _open_stream(source)
        if stream is not None:
            with stream:
                return _checked(collect_batches(stream, path, limit))
        cells = pyarrow.feather.read_table(source)  # the first version of the format is another one
        limit.check(cells.num_rows, path)
        return _checked(cells)
    batches, n_rows = [], 0
    with reader:
        for place in range(reader.num_record_batches):
            batches.append(reader.get_batch(place))
            n_rows += batches[-1].num_rows
            limit.check(n_rows, path)
    return _checked(pa.Table.from_batches(batches, reader.schema))


def _open_stream(source: Any) -> Any:
    """Return a reader of an Arrow stream, which files of that name often are; None for anything else."""
    file = pa.OSFile(str(source)) if isinstance(source, Path) else source
    file.seek(0)
    try:
        return pa.ipc.open_stream(file)
    except pa.ArrowInvalid:
        file.seek(0)
        return None


def _checked(cells: pa.Table) -> pa.Table:
    """Return a table whose arrays are what they say, text in types that everything can be done with."""
    cells.validate(full=True)  # offsets out of range would be read, and crash
    if not any(field.type in _VIEWED for field in cells.schema):
        return cells
    fields = [field.with_type(_VIEWED.get(field.type, field.type)) for field in cells.schema]
    return cells.cast(pa.schema(fields, cells.schema.metadata))


_VIEWED: Final = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
