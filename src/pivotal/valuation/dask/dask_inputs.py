"""Whatever is cut by rows, as a Dask array whose chunks are whole rows."""

from __future__ import annotations

import importlib
import math
import os
from dataclasses import dataclass, replace
from functools import cached_property
from operator import getitem
from typing import Any

import numpy as np

from pivotal.core.extras import needed
from pivotal.core.labels import as_array
from pivotal.core.validation import check_features, is_lazy, is_sparse


def need_dask() -> None:
    """Raise unless Dask is installed, with its arrays, dataframes and scheduler."""
    with needed("Dask collections and checkpoints need Dask", "dask"):
        for package in ("dask.array", "dask.dataframe", "distributed"):
            importlib.import_module(package)


@dataclass(frozen=True, eq=False)
class RowChunks:
    """Rows in chunks."""

    array: Any
    """A Dask array of shape (n,) or (n, d), cut by rows alone."""

    name: str
    """What the user calls it."""

    by_content: bool = False
    """Whether the array's own name stands for what it holds.

    That of an array in memory does; that of a file or of a folder of chunks may stay the same when they are written
    again.
    """

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return len(self.array.chunks[0])

    @property
    def lengths(self) -> tuple[int, ...] | None:
        """Rows of each chunk; None where that is known only once they are read."""
        lengths = self.array.chunks[0]
        return None if any(math.isnan(length) for length in lengths) else tuple(int(length) for length in lengths)

    @cached_property
    def keys(self) -> list[Any]:
        """Keys of the chunks in the graph, in the order of the rows."""
        rest = (0,) * (self.array.ndim - 1)
        return [(self.array.name, chunk, *rest) for chunk in range(self.n_chunks)]

    def cut_like(self, other: RowChunks) -> RowChunks:
        """Return the same rows in the chunks of others, of which there are as many."""
        if self.lengths is None or other.lengths is None:
            if self.n_chunks == other.n_chunks:
                return self  # whether they have the same lengths is seen when they are read
            raise ValueError(
                f"{other.name} and {self.name} must be cut into the same chunks where their lengths are not known; got "
                f"{other.n_chunks} and {self.n_chunks} chunks. Give both as columns of one dataframe, or find the "
                "lengths with compute_chunk_sizes."
            )
        if sum(self.lengths) != sum(other.lengths):
            raise ValueError(
                f"{other.name} and {self.name} must have the same length; got {sum(other.lengths)} rows and "
                f"{sum(self.lengths)}."
            )
        return replace(self, array=self.array.rechunk({0: other.lengths}))


def together(X: Any, y: Any, x_name: str, y_name: str) -> tuple[RowChunks, RowChunks]:
    """Return features and labels, which the user calls so, in the same chunks of rows."""
    if is_frame(X) and is_frame(y) and X.npartitions == y.npartitions:
        X, y = _split(X, y, x_name)
    points = as_points(X, x_name)
    return points, as_rows(y, y_name).cut_like(points)


def _split(X: Any, y: Any, name: str) -> tuple[Any, Any]:
    """Return the features of a Dask dataframe and its labels as Dask arrays.

    Read one by one, columns of one file may come in different partitions: Dask joins partitions that became small
    because few columns are wanted of them. Read together they stay together.
    """
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    example = check_features(X._meta_nonempty, name)
    pairs = X.map_partitions(_pair, y, name, meta=np.empty((0,), object))
    chunks = (pairs.chunks[0], (example.shape[1],))
    arrays = []
    for place, (what, cut, kind) in enumerate((("X", chunks, example.dtype), ("y", chunks[:1], object))):
        layer = f"pivotal-{what}-{pairs.name}"
        rest = (0,) * (len(cut) - 1)
        tasks = {(layer, part, *rest): (getitem, (pairs.name, part), place) for part in range(len(cut[0]))}
        layers = HighLevelGraph.from_collections(layer, tasks, dependencies=[pairs])
        arrays.append(da.Array(layers, layer, cut, dtype=kind))
    return arrays[0], arrays[1]


def _pair(part: Any, labels: Any, name: str) -> tuple[Any, Any]:
    column = np.asarray(labels)
    return _as_features(part, name), column[:, 0] if column.ndim == 2 and column.shape[1] == 1 else column


def is_frame(candidate: Any) -> bool:
    """Whether something is a Dask dataframe, or a column of one."""
    return is_lazy(candidate) and hasattr(candidate, "divisions")


def as_points(X: Any, name: str) -> RowChunks:
    """Return features, of Dask or in memory, as chunks of rows; what they hold is looked at by those that read them."""
    import dask.array as da

    if isinstance(X, str | os.PathLike):
        raise TypeError(
            f"{name} must be a Dask collection or an array here; got a path. Open it first, for example with "
            "dask.dataframe.read_parquet or dask.array.from_zarr."
        )
    if not is_lazy(X):
        on_disk = isinstance(X, np.memmap) and X.ndim == 2
        X = X if on_disk else check_features(X, name)
        cut = da.from_array(X, chunks=("auto", -1), asarray=False if is_sparse(X) else None)
        return RowChunks(cut, name, by_content=not on_disk)
    if is_frame(X):
        # What the columns are is known before any row is.
        example = check_features(X._meta_nonempty, name)
        X = X.map_partitions(_as_features, name, meta=np.empty((0, example.shape[1]), example.dtype))
    elif not isinstance(X, da.Array):
        raise TypeError(f"{name} must be a Dask array or dataframe; got {type(X).__name__}.")
    if X.ndim != 2:
        fix = f" Use {name}.reshape(-1, 1) for one feature." if X.ndim == 1 else ""
        raise ValueError(f"{name} must be two-dimensional, a row per point; got shape {X.shape}.{fix}")
    if 0 in X.shape:
        raise ValueError(f"{name} must have at least one row and one column; got shape {X.shape}.")
    return RowChunks(X if X.numblocks[1] == 1 else X.rechunk({1: -1}), name)


def as_rows(y: Any, name: str) -> RowChunks:
    """Return labels, weights or names, one per row, as chunks of rows; of a Dask dataframe, its one column."""
    import dask.array as da

    by_content = not is_lazy(y) and not isinstance(y, np.memmap)
    if is_frame(y):
        if getattr(y, "ndim", 1) == 2 and len(y.columns) == 1:
            y = y[y.columns[0]]
        y = y.map_partitions(np.asarray, meta=np.empty((0,) * y.ndim, object))
    elif not is_lazy(y):
        y = da.from_array(as_array(y), chunks=-1)
    elif not isinstance(y, da.Array):
        raise TypeError(f"{name} must be a Dask array, series or dataframe; got {type(y).__name__}.")
    if y.ndim == 2 and y.shape[1] > 1:
        raise ValueError(
            f"{name} must have one label per point on Dask; got a table of {y.shape[1]} columns. Value one label at a "
            "time, or arrays in memory."
        )
    if y.ndim != 1:
        fix = f" Use {name}.ravel()." if y.ndim == 2 else ""
        raise ValueError(f"{name} must be one-dimensional, a label per point; got shape {y.shape}.{fix}")
    if 0 in y.shape:
        raise ValueError(f"{name} must hold at least one label; got none.")
    return RowChunks(y, name, by_content)


def row_names(X: Any) -> Any:
    """Return the index of a Dask dataframe as an array of one entry per row, or None for anything else."""
    if not is_frame(X):
        return None
    return X.map_partitions(_names, meta=np.empty((0,), object))


def _names(part: Any) -> Any:
    return part.index.to_numpy()


def _as_features(part: Any, name: str) -> Any:
    # A partition may be empty, and gaps are reported where the row numbers are known.
    return check_features(part, name) if len(part) else np.empty((0, part.shape[1]))
