"""A folder of small files that several machines see: on a disk, or under a prefix of an object store."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pivotal.core.atomic import RemoteTarget, atomic_open
from pivotal.core.regular_files import open_regular
from pivotal.core.urls import is_object_store, local_path, locate, readable_errors


@dataclass(frozen=True)
class Folder:
    """A folder, on any file system that fsspec knows."""

    url: str
    """Absolute path, or URL."""

    @staticmethod
    def at(path: str | os.PathLike[str]) -> Folder:
        """Return the folder that a path stands for, which processes in other folders find as well."""
        url = os.fspath(path)
        here = local_path(url)
        return Folder(url.rstrip("/") if here is None else str(Path(here).absolute()))

    def names(self) -> set[str]:
        """Return the names of the files; the folder is made if it is not there."""
        if self._here is not None:
            self._here.mkdir(parents=True, exist_ok=True)
            return {entry.name for entry in self._here.iterdir()}
        system, folder = self._there()
        with readable_errors(self.url, "use"):
            if not is_object_store(system):
                system.makedirs(folder, exist_ok=True)
            system.invalidate_cache()  # others write there too
            try:
                entries = system.ls(folder, detail=False)
            except FileNotFoundError:
                return set()  # an object store has no folders, only names that begin alike
        return {str(entry).rstrip("/").rpartition("/")[2] for entry in entries}

    def read(self, name: str, max_bytes: int | None = None) -> bytes:
        """Return what a file holds; an OSError if it cannot be read, a ValueError if it is too large or no file."""
        if self._here is not None:
            with open_regular(self._here / name) as stream:
                return _check_size(stream.read(-1 if max_bytes is None else max_bytes + 1), max_bytes)
        system, folder = self._there()
        with readable_errors(self.url, "use"):
            content: bytes = system.cat_file(f"{folder}/{name}", end=None if max_bytes is None else max_bytes + 1)
        return _check_size(content, max_bytes)

    def write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all; an older one is replaced."""
        if self._here is not None:
            target: Path | RemoteTarget = self._here / name
        else:
            system, folder = self._there()
            target = RemoteTarget(f"{self.url}/{name}", system, f"{folder}/{name}")
        with atomic_open(target) as file:
            file.write(content)

    def create(self, name: str, content: bytes) -> bool:
        """Write a file that is not there yet, whole or not at all; return False if another process was first."""
        if self._here is not None:
            return _create_here(self._here / name, content)
        system, folder = self._there()
        with readable_errors(self.url, "use"):
            try:
                system.pipe_file(f"{folder}/{name}", content, mode="create")
            except FileExistsError:
                return False
            except (NotImplementedError, TypeError):  # a store that cannot say "only if it is not there"
                if system.exists(f"{folder}/{name}"):
                    return False
                system.pipe_file(f"{folder}/{name}", content)
        return True

    @property
    def _here(self) -> Path | None:
        here = local_path(self.url)
        return None if here is None else Path(here)

    def _there(self) -> tuple[Any, str]:
        system, folder = locate(self.url, "use")
        return system, str(folder).rstrip("/")


def _check_size(content: bytes, max_bytes: int | None) -> bytes:
    if max_bytes is not None and len(content) > max_bytes:
        raise ValueError(f"it has more than {max_bytes} bytes")
    return content


def _create_here(file: Path, content: bytes) -> bool:
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(6)}.tmp")
    try:
        with atomic_open(temporary) as stream:
            stream.write(content)
        try:
            os.link(temporary, file)  # whole from the start, and an error if there is one
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            with file.open("xb") as stream:
                stream.write(content)
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    return True
