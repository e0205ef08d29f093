"""Values on disk: Parquet files that are either whole or not there, with ids that come back as they went in."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pivotal.core.atomic import atomic_open, check_file
from pivotal.core.regular_files import open_regular
from pivotal.core.types import AnyArray
from pivotal.core.urls import first_line, local_path, locate, readable_errors

_KEY: Final = b"pivotal.values"  # the entry of the file's schema metadata that makes it ours
_FORMAT: Final = 1

_TAG: Final = re.compile(r"[<>|=][biufSUMm]\d{0,9}(\[\d{0,9}[A-Za-z]{1,2}\])?")  # how dtype.str writes them
_ARROW_UNITS: Final = (("s", 1), ("ms", 1), ("us", 1), ("ns", 1))  # days only for dates, years and hours for nothing
_OBJECT_TYPES: Final = (str, bool, int, float, bytes, dt.datetime, dt.date, pd.Timestamp)


def encode_ids(ids: AnyArray) -> tuple[pa.Array, str]:
    """Turn ids into an Arrow column and the tag that `decode_ids` needs to rebuild them.

    They may be booleans, numbers, text, bytes, dates and times; or objects all of one such type, None allowed. The tag
    is the NumPy dtype, or "object" / "timestamps" for object arrays. What Parquet cannot hold is a TypeError.
    """
    column: Any = ids
    tag = ids.dtype.str
    try:
        if ids.dtype.kind == "O":
            column, tag = _from_objects(ids)
        elif ids.dtype.kind in "Mm" and np.datetime_data(ids.dtype) not in _ARROW_UNITS:
            column = ids.astype(f"{ids.dtype.kind}8[s]")
            if not np.array_equal(column.astype(ids.dtype), ids, equal_nan=True):
                raise ValueError("whole seconds do not hold them")
        elif ids.dtype.str[1:] == "f2":
            column = ids.astype(np.float32)  # older Arrow has no Parquet type for halves
        elif ids.dtype.kind in "SU":
            column = ids.tolist()  # Arrow would cut NumPy's own strings at a zero byte
        elif ids.dtype.kind == "T":
            column, tag = ids.tolist(), "T"  # older Arrow does not know them
        else:
            column = ids.astype(ids.dtype.newbyteorder("="))
        return pa.array(column), tag
    except (pa.ArrowException, OverflowError, UnicodeError, ValueError) as error:
        raise TypeError(f"ids of dtype {ids.dtype} cannot be saved ({error}); turn them into strings first.") from error


def _from_objects(ids: AnyArray) -> tuple[Any, str]:
    items = [item.item() if isinstance(item, np.generic) else item for item in ids]
    kinds = sorted({type(item) for item in items if item is not None}, key=lambda kind: kind.__name__)
    if len(kinds) > 1:  # Arrow would turn 1 next to 2.5 into 1.0 without a word
        names = " and ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"ids must all be of one type to be saved; got {names}. Turn them into strings first.")
    if kinds and kinds[0] not in _OBJECT_TYPES:
        raise TypeError(f"ids of type {kinds[0].__name__} cannot be saved; turn them into strings first.")
    if kinds and kinds[0] is pd.Timestamp:  # Arrow reads these as datetime and drops the nanoseconds
        return pd.DatetimeIndex(items), "timestamps"
    return items, "object"


def decode_ids(column: pa.ChunkedArray, tag: object) -> AnyArray:
    """Rebuild the ids that `encode_ids` was given, same dtype, same values; or raise ValueError if there were none."""
    if pa.types.is_nested(column.type):
        raise ValueError(f"ids are of type {str(column.type)[:60]}")
    if tag == "timestamps":
        return np.array(column.to_pandas().astype(object), dtype=object)
    if tag == "object":
        ids = np.empty(len(column), dtype=object)
        ids[:] = column.to_pylist()
        return ids
    dtype = _dtype_of(tag)
    if not _HOLDS[dtype.kind](column.type, dtype) or (column.null_count and dtype.kind not in "Mm"):
        raise ValueError(f"ids of type {column.type} are not {tag}")
    if dtype.kind in "SU" and len(column) * dtype.itemsize > _WIDE:
        longest = pc.max(pc.binary_length(column)).as_py() or 0
        if dtype.itemsize > 4 * (longest + 1):
            raise ValueError(f"ids are not as long as {tag} says")
    return np.asarray(column.to_numpy()).astype(dtype)


_WIDE: Final = 2**28  # bytes of text that are not asked for by mistake
_HOLDS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    **dict.fromkeys("biu", lambda kind, dtype: kind == pa.from_numpy_dtype(dtype.newbyteorder("="))),
    "f": lambda kind, dtype: (
        kind == pa.from_numpy_dtype(np.float32 if dtype.itemsize == 2 else dtype.newbyteorder("="))
    ),
    "S": lambda kind, _: pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
    **dict.fromkeys("UT", lambda kind, _: pa.types.is_string(kind) or pa.types.is_large_string(kind)),
    "M": lambda kind, _: pa.types.is_timestamp(kind) or pa.types.is_date(kind),
    "m": lambda kind, _: pa.types.is_duration(kind),
}


def _dtype_of(tag: object) -> Any:
    """Return the NumPy type that a tag names; a type with fields, or of arrays, is none that ids have."""
    if tag == "T":
        return np.dtypes.StringDType()
    if not isinstance(tag, str) or not _TAG.fullmatch(tag):
        raise ValueError(f"ids of type {str(tag)[:60]!r} are not known")
    try:
        return np.dtype(tag)
    except TypeError as error:
        raise ValueError(f"ids of type {tag!r} are not known") from error


def numbers_of(column: pa.ChunkedArray | pa.Array, kind: pa.DataType, name: str) -> AnyArray:
    """Return a column of numbers, which must be of one type, without gaps, and finite; or raise ValueError."""
    if column.type != kind:
        raise ValueError(f"{name} must be of type {kind}; got {str(column.type)[:60]}")
    if column.null_count:
        raise ValueError(f"{name} has gaps")
    numbers = np.asarray(column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy())
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be finite")
    return numbers


def write_table(path: str | os.PathLike[str], columns: dict[str, pa.Array], about: dict[str, Any]) -> None:
    """Write columns and a JSON-able description to one Parquet file, whole or not at all.

    The file is written under a temporary name in the same directory and renamed when complete, so a reader never sees
    half a file and an older file survives a failure. Pages carry checksums. If it cannot be written, an OSError says
    so, and nothing is left behind.
    """
    target, table = check_file(path, "values.parquet"), as_table(columns, about)
    with atomic_open(target, path) as file:
        pq.write_table(table, file, compression="zstd", write_page_checksum=True)


def as_table(columns: dict[str, Any], about: dict[str, Any]) -> pa.Table:
    """Return columns with a JSON-able description, as `write_table` writes them."""
    schema_metadata = {_KEY: json.dumps({"format": _FORMAT, **about}, allow_nan=False).encode()}
    return pa.table(columns).replace_schema_metadata(schema_metadata)


def read_table(path: str | os.PathLike[str]) -> tuple[pa.Table, dict[str, Any]]:
    """Read what `write_table` wrote: the columns and the description.

    No such file is a FileNotFoundError; one that is not Parquet, not of `write_table`, damaged, or of a newer format a
    ValueError.
    """
    with _opened(path) as source:
        try:
            # Threads of Arrow's that have asked a Python file for bytes may outlive it and end the process.
            parquet = pq.ParquetFile(source, pre_buffer=False, page_checksum_verification=True)
            metadata = parquet.schema_arrow.metadata or {}
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{path} is not a Parquet file; give a file written by Values.save.") from error
        if _KEY not in metadata:
            raise ValueError(
                f"{path} is a Parquet file but holds no pivotal values; give a file written by Values.save."
            )
        with reported_as_damage(path):
            about = json.loads(metadata[_KEY])
            if not isinstance(about, dict):
                raise ValueError("what it says of itself must be an object")
            written = about.pop("format")
            if type(written) is not int or written < 1:
                raise ValueError(f"format {str(written)[:60]} is not known")
            if written <= _FORMAT:
                table = parquet.read(use_threads=False)
                table.validate(full=True)
                return table, about
    raise ValueError(f"{path} has format {written}, newer than {_FORMAT}, which this pivotal reads; upgrade pivotal.")


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file of this machine, or elsewhere."""
    here = local_path(os.fspath(path))
    if here is None:
        url = os.fspath(path)
        system, there = locate(url)
        with readable_errors(url), system.open(there, "rb") as file:
            yield file
        return
    try:
        file = open_regular(Path(here))
    except PermissionError as error:
        raise PermissionError(f"cannot read {path}: {error.strerror}.") from error
    except (OSError, ValueError) as error:
        raise FileNotFoundError(f"cannot read {path}: there is no such file.") from error
    with file:
        yield file


@contextmanager
def reported_as_damage(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say in one sentence, which names the file, that what was read from it cannot be right: a ValueError.

    It stands in place of any error that crafted or broken content leads to.
    """
    try:
        yield
    except Exception as error:
        said = first_line(error)
        reason = f"no {said}" if isinstance(error, KeyError) and " " not in said else said
        raise ValueError(f"{path} is damaged ({reason}); save the values again.") from error
