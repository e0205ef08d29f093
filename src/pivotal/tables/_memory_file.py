"""Bytes that Arrow's threads may hold on to."""

from __future__ import annotations

import shutil
from typing import IO

import pyarrow as pa


def memory_file(content: bytes | IO[bytes]) -> pa.BufferReader:
    """Return a file in Arrow's own memory that holds bytes, or all of a stream.

    Arrow's threads would read a stream of Python's where no Ctrl-C reaches them. And a thread of theirs that lets go of
    Python's memory while the interpreter ends, as soon after an error message, aborts the process.
    """
    memory = pa.BufferOutputStream()
    if isinstance(content, bytes):
        memory.write(content)
    else:
        shutil.copyfileobj(content, memory)
    return pa.BufferReader(memory.getvalue())
