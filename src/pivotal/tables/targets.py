"""Where a command writes: a file that is whole or not there, here or elsewhere, or standard output."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from pivotal.core.atomic import RemoteTarget, Target, atomic_open, check_file, target_of
from pivotal.core.urls import is_url, local_path
from pivotal.tables._packed import packed

__all__ = ["check_target", "is_stream", "whole"]


def check_target(path: str, inputs: Sequence[str] = ()) -> None:
    """Check that a file can be written, before time is spent on what goes in.

    Parameters
    ----------
    path : str
        File to write, or URL; `-` is standard output.
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
    for source in (part for name in inputs for part in (name, *name.split(","))):
        if source != "-" and _is_same(target, source):
            raise ValueError(f"{path} is read from and must not be written over; choose another name.")


def _is_same(target: Target, source: str) -> bool:
    if isinstance(target, RemoteTarget):
        return target.is_same(source)
    here = local_path(source)
    with contextlib.suppress(OSError):
        return here is not None and target.exists() and target.samefile(here)
    return False


@contextlib.contextmanager
def whole(path: str) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name only when it is complete.

    It is written under a temporary name in the same directory and renamed, so an older file survives a failure.
    Standard output, devices and pipes are written to as they are. One whose name ends so is compressed.
    """
    if path == "-":
        with _in_one_sentence("to standard output"):
            sys.stdout.flush()
            raw = getattr(sys.stdout, "buffer", None)  # a notebook has none
            stream = io.BytesIO() if raw is None else raw
            yield stream
            if raw is None:
                sys.stdout.write(stream.getvalue().decode())
            stream.flush()
        return
    target = target_of(path)
    if is_stream(path):
        # As it is written: what /dev/fd/63 leads to cannot be opened.
        with _in_one_sentence(path), Path(path).open("wb") as file:
            yield file
        return
    with atomic_open(target, path) as target_file, packed(target_file, target.suffix.lower()) as content:
        yield content


@contextlib.contextmanager
def _in_one_sentence(where: str) -> Iterator[None]:
    """Say what cannot be written; a pipe without a reader ends the command in its own way."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(f"cannot write {where}: {error.strerror or error}.") from error


def is_stream(path: str) -> bool:
    """Whether a name stands for something else than a file: standard output, a terminal, a pipe, /dev/null."""
    if path == "-":
        return True
    here = None if is_url(path) else Path(path)
    return here is not None and here.exists() and not here.is_file()
