"""Files that are compressed as a whole: told by how their names end, read and written as streams."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, Final

import pyarrow as pa

# How files are read, and written: the same content makes the same file.
PACKED: Final[dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]] = {
    ".gz": (gzip.open, lambda stream: gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0)),
    ".bz2": (bz2.BZ2File, partial(bz2.BZ2File, mode="wb")),
    ".xz": (lzma.LZMAFile, partial(lzma.LZMAFile, mode="wb")),
    ".zst": (
        lambda stream: pa.CompressedInputStream(stream, "zstd"),
        lambda stream: pa.CompressedOutputStream(_LeftOpen(stream), "zstd"),
    ),
}


@contextlib.contextmanager
def unpacked(stream: IO[bytes], ending: str) -> Iterator[IO[bytes]]:
    """Read what a file holds whose name ends so; one that is cut short or damaged is an EOFError, as gzip says it."""
    if ending not in PACKED:
        yield stream
        return
    try:
        with PACKED[ending][0](stream) as content:
            yield content
    except lzma.LZMAError as error:
        raise EOFError(str(error)) from error
    except OSError as error:
        if ending not in (".bz2", ".zst"):  # whose readers have no error of their own
            raise
        raise EOFError(str(error)) from error


@contextlib.contextmanager
def packed(stream: IO[bytes], ending: str) -> Iterator[IO[bytes]]:
    """Write to a file, compressed as the end of its name says."""
    if ending not in PACKED:
        yield stream
        return
    with PACKED[ending][1](stream) as file:
        yield file


class _LeftOpen:
    """A file that Arrow may close, which others have yet to."""

    closed = False

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, content: Any) -> int:
        return self._stream.write(content)

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        self._stream.flush()
