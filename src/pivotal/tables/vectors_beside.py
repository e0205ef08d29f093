"""Embeddings in files of their own, a row for each row of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from pivotal.core.types import AnyArray
from pivotal.tables._cells import is_list, is_numeric, is_string
from pivotal.tables.columns import as_floats, as_text, as_vectors, type_of
from pivotal.tables.read import MAX_ROWS, format_of, read
from pivotal.tables.table import RowVectors, Table, to_arrays

__all__ = ["IN_ORDER", "with_embeddings"]

IN_ORDER: Final = "in the order of the rows"


def with_embeddings(table: Table, files: Sequence[str], key: str | None = None) -> Table:
    """Return a table with embeddings beside it, from .npy, .npz or .parquet files with a row for each of its rows.

    Where a file names its rows, they are matched by these names, in whatever order: by a column that the table has too,
    or by one of any name whose content is that of `key`, which names the rows of the table, or of the one column of the
    table that has it. Else they are in the order of the table.
    """
    return replace(table, beside={file: _read(table, file, key) for file in files})


def _read(table: Table, file: str, key: str | None) -> RowVectors:
    kind = format_of(file)
    if kind not in ("npy", "npz", "parquet"):
        raise ValueError(f"embeddings must be in a .npy, .npz or .parquet file; got {file}.")
    found = read(file, max_rows=max(MAX_ROWS, len(table)))
    link = _shared(table, found, key) or _alike(table, found, key)
    names = _names(found)
    vectors = _vectors(found, [name for name in found.columns if name not in names and (not link or name != link.name)])
    if not np.isfinite(vectors).all():
        row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        raise ValueError(f"embeddings must be finite numbers; {file} has others in row {row} (0-based).")
    if link is not None:
        return RowVectors(vectors[_places(table, found, link)], f"matched by {link}")
    if len(vectors) != len(table):
        raise ValueError(
            f"{file} must have a row for each row of {table.name}, in its order; it has {len(vectors)}, and the table "
            f"{len(table)}."
        )
    unused = f"; its {', '.join(map(repr, names))} {'is' if len(names) == 1 else 'are'} not used" if names else ""
    return RowVectors(vectors, IN_ORDER + unused)


class _Link(NamedTuple):
    """A column of a file and one of a table that name the same rows."""

    name: str
    of_table: str

    def __str__(self) -> str:
        return repr(self.name) + (f", which is {self.of_table!r} of the table" if self.name != self.of_table else "")


def _shared(table: Table, found: Table, key: str | None) -> _Link | None:
    """Return a column that both have, by which the rows of a file are matched with those of a table.

    A file that names its rows may well have them in another order, so that what it says is never ignored.
    """
    if key is not None and key in found.columns:
        return _Link(key, key)
    both = [name for name in found.columns if name in table.columns and not is_list(type_of(found, name))]
    naming = [name for name in both if _all_differ(table, name)]
    if len(both) == 1 and naming:
        return _Link(both[0], both[0])
    if both and found.format == "parquet":
        held = ", ".join(map(repr, both))
        fix = f"match them by one with --id {naming[0]}" if naming else "none of them names each row of the table once"
        raise ValueError(
            f"{found.name} has the columns {held}, as {table.name} has; {fix}, or omit them from the file if its "
            "rows are in the order of the table."
        )
    return None


def _alike(table: Table, found: Table, key: str | None) -> _Link | None:
    """Return a column of a file that holds the names of a table's rows, whatever either is called."""
    for name in _names(found):
        known = set(as_text(found, name, {""}))
        for of_table in _named(table) if key is None else [key]:
            wanted = as_text(table, of_table, {""})
            lacking = [one for one in wanted if one not in known]
            if not lacking:
                return _Link(name, of_table)
            overlap = len(lacking) < len(wanted) and is_string(type_of(found, name))
            if (overlap or key is not None) and _all_differ(found, name):
                raise ValueError(
                    f"{found.name} names its rows in {name!r}, and {len(lacking)} of the {len(wanted)} names in "
                    f"{of_table!r} of {table.name} are not there, such as {lacking[0]!r}; add these rows, or omit "
                    f"{name!r} from the file if its rows are in the order of the table."
                )
    return None


def _named(table: Table) -> list[str]:
    """Return the columns of a table that name each row once."""
    kinds = {name: type_of(table, name) for name in table.columns}
    texts = [name for name, kind in kinds.items() if is_string(kind) or pa.types.is_integer(kind)]
    return [name for name in texts if _all_differ(table, name)]


def _names(found: Table) -> list[str]:
    """Return the columns of a file that are neither vectors nor numbers of one: texts, and integers beside either."""
    rest = [name for name in found.columns if not is_list(type_of(found, name))]
    integers = [name for name in rest if pa.types.is_integer(type_of(found, name))]
    texts = [name for name in rest if is_string(type_of(found, name))]
    if len(rest) < len(found.columns) or (len(integers) == 1 and len(texts) + 1 < len(rest)):
        return [*texts, *integers]
    return texts


def _all_differ(table: Table, name: str) -> bool:
    return len(set(as_text(table, name, {""}))) == len(table)


def _vectors(found: Table, names: Sequence[str]) -> AnyArray:
    if found.format in ("npy", "npz"):
        arrays = {name: array for name, array in to_arrays(found).items() if name in names}
        vectors = [array for array in arrays.values() if array.ndim == 2 and array.dtype.kind in "fiu"]
        if len(vectors) != 1:
            held = ", ".join(f"{name} of shape {array.shape}" for name, array in arrays.items())
            raise ValueError(f"{found.name} must hold one array of shape (n_rows, length) of numbers; it holds {held}.")
        return as_floats(vectors[0])
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


def _places(table: Table, found: Table, link: _Link) -> AnyArray:
    """Return which rows of a file belong to the rows of a table."""
    key = link.name
    table.check_column(link.of_table, "--id")
    known = pd.Index(as_text(found, key, {""}))
    wanted = as_text(table, link.of_table, {""})
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
