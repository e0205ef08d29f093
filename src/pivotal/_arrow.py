"""Values on disk: Parquet files that are either whole or not there, with ids that come back as they went in."""

from __future__ import annotations

import datetime as dt
import json
import os
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pivotal._types import AnyArray
from pivotal._whole import check_file, whole_file

_KEY: Final = b"pivotal.values"  # the entry of the file's schema metadata that makes it ours
_FORMAT: Final = 1

_ARROW_UNITS: Final = (("s", 1), ("ms", 1), ("us", 1), ("ns", 1))  # days only for dates, years and hours for nothing
_OBJECT_TYPES: Final = (str, bool, int, float, bytes, dt.datetime, dt.date, pd.Timestamp)


def encode_ids(ids: AnyArray) -> tuple[pa.Array, str]:
    """Turn ids into an Arrow column and the tag that `decode_ids` needs to rebuild them.

    Parameters
    ----------
    ids : array of shape (n_train,)
        Booleans, numbers, text, bytes, dates and times; or objects all of one such type, None allowed.

    Returns
    -------
    column : pyarrow array of length n_train
    tag : str
        The NumPy dtype, or "object" / "timestamps" for object arrays.

    Raises
    ------
    TypeError
        If the ids are of mixed types, or of a type that Parquet cannot hold.
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
            tag = "T"
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


def decode_ids(column: pa.ChunkedArray, tag: str) -> AnyArray:
    """Rebuild the ids that `encode_ids` was given: same dtype, same values."""
    if tag == "timestamps":
        return np.array(column.to_pandas().astype(object), dtype=object)
    if tag == "object":
        ids = np.empty(len(column), dtype=object)
        ids[:] = column.to_pylist()
        return ids
    return np.asarray(column.to_numpy()).astype(np.dtypes.StringDType() if tag == "T" else np.dtype(tag))


def write_table(path: str | os.PathLike[str], columns: dict[str, pa.Array], about: dict[str, Any]) -> None:
    """Write columns and a JSON-able description to one Parquet file, whole or not at all.

    The file is written under a temporary name in the same directory and renamed when complete, so a reader never sees
    half a file and an older file survives a failure. Pages carry checksums.

    Parameters
    ----------
    path : path-like
        File to write or replace.
    columns : dict of pyarrow arrays of shape (n_train,)
    about : dict
        Kept as JSON in the schema metadata.

    Raises
    ------
    OSError
        If the file cannot be written; nothing is left behind.
    """
    target = check_file(path, "values.parquet")
    schema_metadata = {_KEY: json.dumps({"format": _FORMAT, **about}, allow_nan=False).encode()}
    table = pa.table(columns).replace_schema_metadata(schema_metadata)
    with whole_file(target, path) as file:
        pq.write_table(table, file, compression="zstd", write_page_checksum=True)


def read_table(path: str | os.PathLike[str]) -> tuple[pa.Table, dict[str, Any]]:
    """Read what `write_table` wrote.

    Returns
    -------
    table : pyarrow table of n_train rows
    about : dict

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not Parquet, was not written by `write_table`, is damaged, or is of a newer format.
    """
    if not os.path.isfile(path):  # noqa: PTH113  pathlib raises for a name that is too long
        raise FileNotFoundError(f"cannot read {path}: there is no such file.")
    try:
        schema = pq.read_schema(path)
    except PermissionError as error:
        raise PermissionError(f"cannot read {path}: {error.strerror}.") from error
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is not a Parquet file; give a file written by Values.save.") from error
    if _KEY not in (schema.metadata or {}):
        raise ValueError(f"{path} is a Parquet file but holds no pivotal values; give a file written by Values.save.")
    try:
        about = json.loads(schema.metadata[_KEY])
        written = int(about.pop("format"))
        if written <= _FORMAT:
            return pq.read_table(path, page_checksum_verification=True, partitioning=None), about
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is damaged ({_first_line(error)}); save the values again.") from error
    raise ValueError(f"{path} has format {written}, newer than {_FORMAT}, which this pivotal reads; upgrade pivotal.")


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
