"""Embeddings in files of their own, a row for each row of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from pivotal.core.types import AnyArray
from pivotal.tables._cells import is_list, is_numeric
from pivotal.tables.columns import as_text, as_vectors, type_of
from pivotal.tables.read import MAX_ROWS, format_of, read
from pivotal.tables.table import Beside, Table, to_arrays

__all__ = ["IN_ORDER", "with_embeddings"]

IN_ORDER: Final = "in the order of the rows"


def with_embeddings(table: Table, files: Sequence[str], key: str | None = None) -> Table:
    """Return a table with embeddings beside it.

    Parameters
    ----------
    table : Table
    files : sequence of str
        .npy, .npz or .parquet, with a row for each row of the table. Where a file has a column that the table has too,
        which must name its rows, they are matched by it, in whatever order; else they are in the order of the table.
    key : str, optional
        The column that names the rows, where it is not the only one that both have.

    Raises
    ------
    ValueError
        If a file has another number of rows, holds no vectors, or names other rows.
    """
    return replace(table, beside={file: _read(table, file, key) for file in files})


def _read(table: Table, file: str, key: str | None) -> Beside:
    kind = format_of(file)
    if kind not in ("npy", "npz", "parquet"):
        raise ValueError(f"embeddings must be in a .npy, .npz or .parquet file; got {file}.")
    found = read(file, max_rows=max(MAX_ROWS, len(table)))
    key = _shared(table, found, key)
    vectors = _vectors(found, [name for name in found.columns if name != key])
    if not np.isfinite(vectors).all():
        row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        raise ValueError(f"embeddings must be finite numbers; {file} has others in row {row} (0-based).")
    if key is not None:
        return Beside(vectors[_places(table, found, key)], f"matched by {key!r}")
    if len(vectors) != len(table):
        raise ValueError(
            f"{file} must have a row for each row of {table.name}, in its order; it has {len(vectors)}, and the table "
            f"{len(table)}."
        )
    return Beside(vectors, IN_ORDER)


def _shared(table: Table, found: Table, key: str | None) -> str | None:
    """Return the column by which the rows of a file are matched with those of a table; None for their order.

    A file that names its rows may well have them in another order, so that what it says is never ignored.
    """
    if key is not None and key in found.columns:
        return key
    both = [name for name in found.columns if name in table.columns and not is_list(type_of(found, name))]
    naming = [name for name in both if len(set(as_text(table, name, {""}))) == len(table)]
    if len(both) == 1 and naming:
        return both[0]
    if both and found.format == "parquet":
        held = ", ".join(map(repr, both))
        fix = f"match them by one with --id {naming[0]}" if naming else "none of them names each row of the table once"
        raise ValueError(
            f"{found.name} has the columns {held}, as {table.name} has; {fix}, or omit them from the file if its "
            "rows are in the order of the table."
        )
    return None


def _vectors(found: Table, names: Sequence[str]) -> AnyArray:
    if found.format in ("npy", "npz"):
        arrays = {name: array for name, array in to_arrays(found).items() if name in names}
        vectors = [array for array in arrays.values() if array.ndim == 2 and array.dtype.kind in "fiu"]
        if len(vectors) != 1:
            held = ", ".join(f"{name} of shape {array.shape}" for name, array in arrays.items())
            raise ValueError(f"{found.name} must hold one array of shape (n_rows, length) of numbers; it holds {held}.")
        array = vectors[0]
        return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    lists = [name for name in names if is_list(type_of(found, name))]
    if len(lists) == 1:
        return as_vectors(found, lists[0])
    numbers = [name for name in names if is_numeric(type_of(found, name))]
    if lists or not numbers or len(numbers) < len(names):
        raise ValueError(
            f"{found.name} must hold one column of lists of numbers, or columns of numbers alone; its columns are "
            f"{', '.join(map(repr, list(names)[:8]))}. Omit the others."
        )
    frame: Any = found.cells.select(numbers).to_pandas()
    return np.asarray(frame.to_numpy(dtype=np.float64))


def _places(table: Table, found: Table, key: str) -> AnyArray:
    """Return which rows of a file belong to the rows of a table."""
    table.check_column(key, "--id")
    known = pd.Index(as_text(found, key, {""}))
    wanted = as_text(table, key, {""})
    if known.has_duplicates:
        twice = known[known.duplicated()][0]
        raise ValueError(f"column {key!r} of {found.name} must name each row once; {twice!r} is there twice.")
    places: AnyArray = known.get_indexer(pd.Index(wanted))
    if (places < 0).any():
        row = int(np.flatnonzero(places < 0)[0])
        raise ValueError(
            f"{found.name} must have a row for each row of {table.name}; {(places < 0).sum()} are missing, the first "
            f"is {wanted[row]!r}, by column {key!r}."
        )
    return places
