"""Files that are compressed as a whole: told by how their names end, read and written as streams."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
from collections.abc import Iterator
from typing import IO, Any, Final

import pyarrow as pa

__all__ = ["PACKED", "packed", "unpacked"]

PACKED: Final = (".gz", ".bz2", ".xz", ".zst")


@contextlib.contextmanager
def unpacked(stream: IO[bytes], ending: str) -> Iterator[IO[bytes]]:
    """Read what a file holds.

    Parameters
    ----------
    stream : binary file
    ending : str
        How its name ends; any but those of `PACKED` are read as they are.

    Raises
    ------
    EOFError
        If it is cut short or damaged, as gzip says it.
    """
    if ending not in PACKED:
        yield stream
        return
    try:
        with _reader(stream, ending) as content:
            yield content
    except lzma.LZMAError as error:
        raise EOFError(str(error)) from error
    except OSError as error:
        if ending not in (".bz2", ".zst"):  # whose readers have no error of their own
            raise
        raise EOFError(str(error)) from error


def _reader(stream: IO[bytes], ending: str) -> Any:
    if ending == ".gz":
        return gzip.open(stream, "rb")
    if ending == ".bz2":
        return bz2.open(stream, "rb")
    return lzma.open(stream, "rb") if ending == ".xz" else pa.CompressedInputStream(stream, "zstd")


@contextlib.contextmanager
def packed(stream: IO[bytes], ending: str) -> Iterator[IO[bytes]]:
    """Write to a file, compressed as the end of its name says; the same content makes the same file."""
    if ending == ".gz":
        with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as file:
            yield file  # type: ignore[misc]
    elif ending == ".bz2":
        with bz2.open(stream, "wb") as file:
            yield file
    elif ending == ".xz":
        with lzma.open(stream, "wb") as file:
            yield file
    elif ending == ".zst":
        with pa.CompressedOutputStream(_LeftOpen(stream), "zstd") as file:
            yield file
    else:
        yield stream


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
