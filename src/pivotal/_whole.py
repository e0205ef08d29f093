"""Files that are whole or not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = ["check_file", "whole_file", "write_text"]


def check_file(path: str | os.PathLike[str], example: str = "") -> Path:
    """Return the file that a path leads to, after making sure that it can be one; before any work is done.

    Parameters
    ----------
    path : path-like
        File to write.
    example : str
        A name to suggest to who gives a directory.

    Raises
    ------
    OSError
        If there cannot be such a file.
    """
    target = Path(path).resolve()  # through a link, so that the link survives
    if os.path.isdir(target):  # noqa: PTH112  pathlib raises for a name that is too long
        such_as = f" such as {example}" if example else ""
        raise IsADirectoryError(f"cannot write to {path}: it is a directory; give a file name{such_as}.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the directory {target.parent} does not exist; create it first.")
    return target


@contextmanager
def whole_file(target: Path, path: str | os.PathLike[str] | None = None) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name only when it is complete; an older one survives a failure.

    Parameters
    ----------
    target : Path
        File to write, with all links followed.
    path : path-like, optional
        What a message calls it.

    Raises
    ------
    OSError
        If it cannot be written; nothing is left behind.
    """
    # Opened by hand rather than with tempfile, whose files only their owner may read.
    temporary = target.with_name(f".{target.name[:64]}.{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(f"cannot write {path or target}: {reason}; nothing was changed on disk.") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(target: Path, text: str, path: str | os.PathLike[str] | None = None) -> None:
    """Write a text file, whole or not at all. Parameters as in `whole_file`."""
    with whole_file(target, path) as file:
        file.write(text.encode())
