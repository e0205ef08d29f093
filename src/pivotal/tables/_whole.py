"""Files that are whole or not there."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

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
    target = Path(path)
    if path != "-" and target.is_dir():
        raise IsADirectoryError(f"cannot write to {path}: it is a directory; give a file name.")
    if is_stream(path):
        return
    folder = target.resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the directory {folder} does not exist; create it first.")
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
    temporary = None
    try:
        if is_stream(path):
            with target.open("wb") as file:
                yield file
            return
        # Opened by hand rather than with tempfile, whose files only their owner may read.
        temporary = target.with_name(f".{target.name[:64]}.{secrets.token_hex(6)}.tmp")
        with temporary.open("xb") as file:
            if target.suffix.lower() == ".gz":
                with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(f"cannot write {path}: {reason}; nothing was changed on disk.") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def is_stream(path: str) -> bool:
    """Whether a name stands for something else than a file: standard output, a terminal, a pipe, /dev/null."""
    return path == "-" or (Path(path).exists() and not Path(path).is_file())
