"""Files that are whole or not there, on this machine or anywhere that fsspec writes to."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from pivotal.core.urls import is_object_store, is_url, link_of, local_path, locate, readable_errors

__all__ = ["RemoteTarget", "Target", "atomic_open", "check_file", "target_of", "write_text"]


@dataclass(frozen=True, eq=False)
class RemoteTarget:
    """A file to write on a file system of fsspec's."""

    url: str  # what messages call it
    system: Any
    path: str  # what it is called there

    @property
    def suffix(self) -> str:
        """How the name ends, with the dot."""
        return PurePosixPath(self.path).suffix

    def is_same(self, url: str) -> bool:
        """Whether a path or URL names the same file."""
        if not is_url(url) or link_of(url).partition("://")[0] != link_of(self.url).partition("://")[0]:
            return False
        return str(self.system._strip_protocol(link_of(url))) == self.path


Target = Path | RemoteTarget


def check_file(path: str | os.PathLike[str], example: str = "") -> Target:
    """Return the file that a path or URL leads to, after making sure that it can be one; before any work is done.

    `example` is a name to suggest to who gives a directory. Raises OSError if there cannot be such a file, ImportError
    if the file system of a URL needs a package that is not installed, ValueError if nothing can be written to it.
    """
    target = target_of(path)
    if isinstance(target, RemoteTarget):
        return _check_remote(target, example)
    if os.path.isdir(target):  # noqa: PTH112  pathlib raises for a name that is too long
        raise _is_directory(path, example)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the directory {target.parent} does not exist; create it first.")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"cannot write {path}: the directory {target.parent} is read-only; choose another.")
    return target


def target_of(path: str | os.PathLike[str]) -> Target:
    """Return the file that a path or URL leads to, whether or not it can be written. Raises as `check_file`."""
    here = local_path(os.fspath(path))
    if here is not None:
        return Path(here).resolve()  # through a link, so that the link survives
    url = os.fspath(path)
    if "::" in url or url.startswith(("http://", "https://")):
        raise ValueError(f"cannot write {url}: nothing can be written there; use a store such as s3://bucket/name.")
    return RemoteTarget(url, *locate(url, "write"))


def _check_remote(target: RemoteTarget, example: str) -> RemoteTarget:
    system, path = target.system, target.path
    root, _, name = path.lstrip("/").partition("/")
    bucketed = is_object_store(system) and not path.startswith("/")
    if target.url.endswith("/") or not (name if bucketed else root):
        raise _is_directory(target.url, example)
    # Who may write need not be allowed to look; but what is not there is seen at once.
    with readable_errors(target.url, "write"), contextlib.suppress(PermissionError):
        if system.isdir(path):
            raise _is_directory(target.url, example)
        if bucketed and not system.exists(root):
            raise FileNotFoundError(f"the bucket {root}")
        if not is_object_store(system) and not system.isdir(system._parent(path)):
            raise FileNotFoundError(f"the directory {system._parent(path)}")
    return target


def _is_directory(path: str | os.PathLike[str], example: str) -> IsADirectoryError:
    such_as = f" such as {example}" if example else ""
    return IsADirectoryError(f"cannot write to {path}: it is a directory; give a file name{such_as}.")


@contextmanager
def atomic_open(target: Target, path: str | os.PathLike[str] | None = None) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name only when it is complete; an older one survives a failure.

    `target` is from `check_file`, or a path with all links followed; messages call it `path`. Raises OSError if it
    cannot be written; nothing is left behind.
    """
    if isinstance(target, RemoteTarget):
        with _uploaded(target) as file:
            yield file
        return
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
        raise OSError(f"cannot write {path or target}: {reason}; the file was left as it was.") from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _uploaded(target: RemoteTarget) -> Iterator[IO[bytes]]:
    """Open a file of this machine that is sent elsewhere when it is complete."""
    # With the suffix, as stores tell from it what they serve: a page, or bytes to download.
    with tempfile.TemporaryDirectory(prefix="pivotal-") as folder:
        here = Path(folder) / f"whole{target.suffix}"
        with here.open("xb") as file:
            yield file
        with readable_errors(target.url, "write"):
            if is_object_store(target.system):
                target.system.put_file(str(here), target.path)
            else:
                _send_and_rename(target, here)


def _send_and_rename(target: RemoteTarget, here: Path) -> None:
    parent, _, name = target.path.rpartition("/")
    temporary = f"{parent}/.{name[:64]}.{secrets.token_hex(6)}.tmp"
    try:
        target.system.put_file(str(here), temporary)
        target.system.mv(temporary, target.path)
    except BaseException:
        with contextlib.suppress(Exception):
            target.system.rm_file(temporary)
        raise


def write_text(target: Target, text: str, path: str | os.PathLike[str] | None = None) -> None:
    """Write a text file, whole or not at all. Parameters as in `atomic_open`."""
    with atomic_open(target, path) as file:
        file.write(text.encode())
