"""Where a command writes: a file that is whole or not there, or standard output."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from pivotal._whole import check_file, whole_file

__all__ = ["check_target", "is_stream", "whole"]


def check_target(path: str, inputs: Sequence[str] = ()) -> None:
    """Check that a file can be written, before time is spent on what goes in.

    Parameters
    ----------
    path : str
        File to write; `-` is standard output.
    inputs : sequence of str
        Files that must not be written over.

    Raises
    ------
    OSError
        If nothing can be written there.
    ValueError
        If it is one of the inputs.
    """
    if is_stream(path) and not Path(path).is_dir():
        return
    target = check_file(path)
    folder = target.parent
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"cannot write {path}: the directory {folder} is read-only; choose another.")
    for source in (part for name in inputs for part in (name, *name.split(","))):
        with contextlib.suppress(OSError):
            if source != "-" and target.exists() and target.samefile(source):
                raise ValueError(f"{path} is read from and must not be written over; choose another name.")


@contextlib.contextmanager
def whole(path: str) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name only when it is complete.

    It is written under a temporary name in the same directory and renamed, so an older file survives a failure.
    Standard output, devices and pipes are written to as they are. A name that ends in .gz is compressed.

    Raises
    ------
    OSError
        If it cannot be written; nothing is left behind.
    """
    if path == "-":
        try:
            sys.stdout.flush()
            raw = getattr(sys.stdout, "buffer", None)  # a notebook has none
            stream = io.BytesIO() if raw is None else raw
            yield stream
            if raw is None:
                sys.stdout.write(stream.getvalue().decode())
            stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OSError(f"cannot write to standard output: {error.strerror or error}.") from error
        return
    target = Path(path).resolve()  # through a link, so that the link survives
    if is_stream(path):
        try:
            with target.open("wb") as file:
                yield file
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OSError(f"cannot write {path}: {error.strerror or error}; nothing was changed on disk.") from error
        return
    with whole_file(target, path) as file:
        if target.suffix.lower() == ".gz":
            with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
                yield packed  # type: ignore[misc]
        else:
            yield file


def is_stream(path: str) -> bool:
    """Whether a name stands for something else than a file: standard output, a terminal, a pipe, /dev/null."""
    return path == "-" or (Path(path).exists() and not Path(path).is_file())
