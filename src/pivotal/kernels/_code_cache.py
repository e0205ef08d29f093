"""Machine code of the kernels, kept on disk: a file for each kernel and signature, in a folder named by its sources.

numba's own cache looks at the file of a function alone, so that it misses an edit of what the function calls in another
file; it numbers the files of a function, so that processes that compile at the same time may take each other's; and it
raises where it cannot write. Here the folder's name is made of the content of all kernel files, so code of other
sources is never found; a file's name is made of all that its code was compiled for, so every writer writes the
same; and where no folder can be written to, kernels are compiled anew in every process, which is said once.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
import sys
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from pivotal.core.notices import notify

__all__ = ["KernelCache", "folders", "prune"]

_KEPT = 5  # folders of other sources that are kept beside the one in use: other branches, Python and numba versions
_ROOM = "pivotal-kernels"
_NAME = re.compile(r"[0-9a-f]{32}")
_DIGEST_BYTES = 32  # before the pickle, so that a damaged file is not read


def fingerprint() -> str:
    """Return a hash of everything that the machine code of any kernel depends on, but for types and processor."""
    made_of = hashlib.sha256()
    options = [getattr(config, name, None) for name in ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "FULL_TRACEBACKS")]
    made_of.update(repr((numba.__version__, sys.implementation.cache_tag, sys.maxsize, options)).encode())
    sources = (file for file in files(__package__).iterdir() if file.name.endswith((".py", ".pyc")))
    for file in sorted(sources, key=lambda file: file.name):
        content = file.read_bytes()
        made_of.update(f"{file.name} {len(content)} ".encode() + content)
    return made_of.hexdigest()[:32]


_SOURCES = fingerprint()  # as they are when this process loads them


@cache
def folders() -> tuple[Path, ...]:
    """Return where machine code is looked for, and where it is written if that is possible, best place first."""
    roots = [Path(config.CACHE_DIR)] if config.CACHE_DIR else []
    roots += [Path(cache_from_source(__file__)).parent, Path(AppDirs("numba", appauthor=False).user_cache_dir)]
    # Without a home the last one begins with a tilde, and would be made wherever the process happens to run.
    return tuple(root / _ROOM / _SOURCES for root in roots if "~" not in root.parts)


def prune(folder: Path) -> None:
    """Remove what was compiled from other sources, but for the folders that were used last."""
    with suppress(OSError):  # others may be removing the same
        others = [other for other in folder.parent.iterdir() if _NAME.fullmatch(other.name) and other != folder]
        for other in sorted(others, key=lambda other: other.stat().st_mtime, reverse=True)[_KEPT:]:
            shutil.rmtree(other, ignore_errors=True)


class _Disk:
    """Reads from and writes to the folders; one for all kernels of a process."""

    def __init__(self) -> None:
        self._used: set[Path] = set()
        self._closed = False

    def read(self, name: str) -> bytes | None:
        """Return what was written under a name; None if nothing was, or it is damaged."""
        for folder in folders():
            try:
                content = (folder / name).read_bytes()
            except OSError:
                continue
            digest, data = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
            if hashlib.sha256(data).digest() == digest:
                self._mark(folder)
                return data
        return None

    def write(self, name: str, data: bytes) -> None:
        """Write to the first folder that lets us; say so if none does, the first time."""
        if self._closed or fingerprint() != _SOURCES:  # files were edited since this process loaded them
            return
        content = hashlib.sha256(data).digest() + data
        for folder in folders():
            temporary = folder / f"{uuid.uuid4().hex}.tmp"
            try:
                is_new = not folder.is_dir()
                folder.mkdir(parents=True, exist_ok=True)
                temporary.write_bytes(content)
                temporary.replace(folder / name)
            except OSError:
                with suppress(OSError):
                    temporary.unlink(missing_ok=True)
                continue
            if is_new:
                prune(folder)
            return
        self._closed = True
        places = ", ".join(str(folder.parent) for folder in folders())
        with suppress(UserWarning):  # where warnings are errors, kernels work all the same
            notify(
                f"pivotal cannot keep its compiled kernels, as none of these folders can be written to: {places}. They "
                "are compiled again in every process, which takes seconds. Set NUMBA_CACHE_DIR to a folder that can."
            )

    def _mark(self, folder: Path) -> None:
        """Note on disk that a folder is in use, once."""
        if folder not in self._used:
            self._used.add(folder)
            with suppress(OSError):
                os.utime(folder)


_DISK = _Disk()


class KernelCache:
    """What numba asks for the machine code of a kernel, and tells it to keep; takes the place of its own cache.

    Parameters
    ----------
    function : callable
        The kernel, not compiled.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function

    @property
    def cache_path(self) -> str:
        """Where machine code is looked for first."""
        return str(folders()[0])

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return what was compiled for a signature; None if it must be compiled."""
        target.refresh()
        data = _DISK.read(self._file(signature, target.codegen()))
        if data is None:
            return None
        kept, payload = pickle.loads(data)
        return CompileResult._rebuild(target, *payload) if kept == signature else None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep what was compiled for a signature."""
        if not compiled.lifted and not compiled.library.has_dynamic_globals:
            _DISK.write(self._file(signature, compiled.codegen), dumps((signature, compiled._reduce())))

    def enable(self) -> None:
        """Is always on."""

    def disable(self) -> None:
        """Is always on."""

    def flush(self) -> None:
        """Has nothing to forget: code of other sources is in other folders."""

    def _file(self, signature: Any, codegen: Any) -> str:
        name = f"{self._function.__module__.rpartition('.')[2]}.{self._function.__qualname__}"
        # The processor is named as numba names it, with what it can do.
        compiled_for = hashlib.sha256(repr((name, str(signature), codegen.magic_tuple())).encode()).hexdigest()
        return f"{name}-{compiled_for[:32]}.nbc"
