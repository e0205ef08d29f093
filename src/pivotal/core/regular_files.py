"""Regular files alone: names that others wrote may lead to a pipe without a writer, or to a device without end."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

__all__ = ["open_regular"]


def open_regular(path: Path) -> IO[bytes]:
    """Open a file for reading, without ever waiting. Raises ValueError if it is not a regular file."""
    _check(path.stat())  # before it is opened: a device may act on that
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _check(os.fstat(descriptor))  # what the name leads to may have changed
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("it is not a regular file")
