"""NumPy files to tables: their headers are read, and checked, before anything is unpacked."""

from __future__ import annotations

import contextlib
import io
import lzma
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import numpy as np

from pivotal.core.types import AnyArray
from pivotal.tables._limits import Limit, check_memory
from pivotal.tables._phrases import first_line
from pivotal.tables.table import Table, from_arrays

# What NumPy and the zip module raise over damaged files.
_BROKEN: Final = (
    ValueError,
    KeyError,
    IndexError,
    EOFError,
    TypeError,
    AttributeError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    UnicodeError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)


class _Header(NamedTuple):
    """Shape and type of an array in a file, and how many bytes come before its content."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    start: int

    @property
    def size(self) -> int:
        """How many bytes the content has."""
        return math.prod(self.shape) * self.dtype.itemsize


def load_npz(stream: IO[bytes], path: str, limit: Limit) -> dict[str, AnyArray]:
    """Read the arrays of an npz file that have a row per point."""
    arrays = {}
    with _readable(path), zipfile.ZipFile(stream) as archive:
        members = [one for one in archive.infolist() if one.filename.endswith(".npy")]
        headers = {}
        for member in members:
            with archive.open(member) as content:
                headers[member.filename] = _read_header(content, member.file_size)
        _check(list(headers.values()), path, limit)
        for member in members:
            if headers[member.filename].shape:
                with archive.open(member) as content:
                    arrays[member.filename.removesuffix(".npy")] = _load(io.BytesIO(content.read()))
    return arrays


def load_npy(stream: IO[bytes], path: str, limit: Limit) -> AnyArray:
    """Read the array of an npy file."""
    with _readable(path):
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        _check([_read_header(stream, size)], path, limit)
        stream.seek(0)
        return _load(stream)


class _RefusedError(Exception):
    """What is wrong is not damage."""


@contextlib.contextmanager
def _readable(path: str) -> Iterator[None]:
    """Say in one sentence what is wrong: damage, objects, too many rows, or too much for the memory."""
    try:
        yield
    except _RefusedError as refused:
        raise ValueError(str(refused)) from None
    except _BROKEN as error:
        raise ValueError(
            f"{path} is not a file of plain NumPy arrays ({first_line(error)}); save it again with numpy.savez."
        ) from error


def _load(stream: IO[bytes]) -> AnyArray:
    loaded: AnyArray = np.lib.format.read_array(stream, allow_pickle=False)
    return loaded


def _read_header(stream: IO[bytes], size: int) -> _Header:
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"version {version[0]}.{version[1]} of the format")
    shape, _, dtype = readers[version](stream)
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded")
    if any(length < 0 for length in shape):
        raise ValueError(f"shape {shape}")
    header = _Header(shape, dtype, stream.tell())
    if header.start + header.size > size:
        raise ValueError(f"{header.size:,} bytes of content announced, {max(0, size - header.start):,} there")
    return header


def _check(headers: list[_Header], path: str, limit: Limit) -> None:
    """Turn down what should not be unpacked."""
    try:
        limit.check(max((header.shape[0] for header in headers if header.shape), default=0), path)
        check_memory(sum(header.size for header in headers), path)
    except ValueError as error:
        raise _RefusedError(str(error)) from None


def as_table(arrays: dict[str, AnyArray], path: str, kind: str, folder: Path | None) -> Table:
    """Make a table of arrays with a row per point."""
    lengths = {name: array.shape[0] for name, array in arrays.items() if array.ndim}
    if not lengths:
        raise ValueError(f"{path} holds no array with a row per point; give one such as X of shape (n, d).")
    n_rows = max(lengths.values())
    odd = [name for name, length in lengths.items() if length != n_rows]
    if odd:
        raise ValueError(
            f"{path} must hold arrays of one length; {odd[0]} has {lengths[odd[0]]} rows and another has {n_rows}. "
            "Keep test points in a file of their own."
        )
    wrong = [name for name in lengths if arrays[name].dtype.kind not in "biufUSMm"]
    if wrong:
        raise ValueError(f"{path} must hold real numbers or text; {wrong[0]} has dtype {arrays[wrong[0]].dtype}.")
    return from_arrays({name: arrays[name] for name in lengths}, path, kind, folder)
