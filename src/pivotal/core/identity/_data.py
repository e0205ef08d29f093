"""What arrays and tables are made of: types, shapes and bytes, however they lie in memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

_PIECE = 1 << 24  # bytes copied at a time of an array that does not lie in one piece


def parts_of_data(content: Any) -> tuple[Any, ...] | None:
    """Return what an array, a sparse matrix or a table consists of, as simpler objects; None for anything else."""
    if isinstance(content, np.ma.MaskedArray):
        return "masked", np.ma.getdata(content), np.ma.getmaskarray(content), content.fill_value
    if isinstance(content, np.dtype):
        return "dtype", np.lib.format.dtype_to_descr(content) if not content.hasobject else str(content)
    if isinstance(content, np.random.Generator):
        return "generator", content.bit_generator.state
    if isinstance(content, np.random.RandomState):
        return "random state", content.get_state(legacy=False)
    if isinstance(content, np.vectorize):  # its state holds what it compiled when it was first called
        return "vectorize", content.pyfunc, content.otypes, content.excluded, content.signature
    for package, parts in (("scipy", _of_sparse), ("pandas", _of_pandas), ("pyarrow", _of_arrow)):
        if package in sys.modules and package_of(content) == package:
            found = parts(content)
            if found is not None:
                return found
    return None


def package_of(content: Any) -> str:
    """Return the package of an object's class; compiled classes may have something else there than a name."""
    return str(type(content).__module__).partition(".")[0]


def bytes_of(array: np.ndarray[Any, Any]) -> Iterator[memoryview | bytes]:
    """Yield the bytes of an array in the order of its indices, without a copy of the whole."""
    if array.flags.c_contiguous:
        # Dates have no buffer of their own.
        yield array.reshape(-1).view(np.uint8).data if array.size and array.itemsize else b""
        return
    rows = max(1, _PIECE // max(1, array.nbytes // len(array)))
    for start in range(0, len(array), rows):
        yield np.ascontiguousarray(array[start : start + rows]).tobytes()


def _of_sparse(content: Any) -> tuple[Any, ...] | None:
    from scipy import sparse

    if not sparse.issparse(content):
        return None
    matrix: Any = content
    rows = matrix.tocsr(copy=True) if matrix.ndim == 2 else matrix.tocoo().reshape(1, -1).tocsr()
    rows.sum_duplicates()
    places = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return "sparse", matrix.format, matrix.shape, rows.data, *places


def _of_pandas(content: Any) -> tuple[Any, ...] | None:
    import pandas as pd

    if isinstance(content, pd.DataFrame):
        columns = [content.iloc[:, number].array for number in range(content.shape[1])]
        return "frame", content.columns, content.index, columns
    if isinstance(content, pd.Series):
        return "series", content.name, content.index, content.array
    if isinstance(content, pd.MultiIndex):
        return "index of several", list(content.names), [content.get_level_values(i) for i in range(content.nlevels)]
    if isinstance(content, pd.Index):
        return "index", content.name, content.array
    if isinstance(content, pd.Categorical):
        return "categories", np.asarray(content.codes), content.categories, bool(content.ordered)
    if isinstance(content, pd.api.extensions.ExtensionArray):
        plain = getattr(content, "_ndarray", None)
        if isinstance(plain, np.ndarray):  # numbers, dates, text
            return "column", str(content.dtype), plain
        return "column", str(content.dtype), np.asarray(content, dtype=object)
    return None


def _of_arrow(content: Any) -> tuple[Any, ...] | None:
    import pyarrow as pa

    if isinstance(content, pa.Array | pa.ChunkedArray):
        content = pa.table({"": content})
    if isinstance(content, pa.RecordBatch):
        content = pa.Table.from_batches([content])
    if not isinstance(content, pa.Table):
        return None
    # One chunk, whatever chunks it came in.
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, content.schema) as stream:
        stream.write_table(content.combine_chunks())
    return "arrow", sink.getvalue().to_pybytes()
