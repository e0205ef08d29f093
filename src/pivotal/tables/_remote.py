"""Tables that are elsewhere, and patterns of them, such as s3://bucket/parts/*.parquet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, Any

from pivotal.core.urls import link_of, locate, readable_errors


@dataclass(frozen=True, eq=False)
class RemoteFile:
    """A file that a file system of fsspec's opens: what messages call it, and what it is called there."""

    name: str
    system: Any
    path: str

    @property
    def suffix(self) -> str:
        """How the name ends, with the dot."""
        return PurePosixPath(link_of(self.name)).suffix

    def open(self) -> IO[bytes]:
        """Open the file for reading; what is raised is the file system's own, unless it is a folder."""
        try:
            stream: IO[bytes] = self.system.open(self.path, "rb")
        except (FileNotFoundError, IsADirectoryError) as error:
            if self.system.isdir(self.path):
                raise IsADirectoryError(
                    f"cannot read {self.name}: it is a directory; name the files in it, for example with a pattern "
                    "in quotes."
                ) from error
            raise
        return stream


def is_pattern(path: str) -> bool:
    """Whether a path has signs that stand for others; a question mark in a web address does not."""
    return any(sign in path for sign in ("*" if path.startswith("http") else "*?["))


def expand(url: str) -> list[str | RemoteFile]:
    """Return the files that a URL names, in the order of their names; those of this machine as plain paths."""
    system, path = locate(url)
    from fsspec.implementations.local import LocalFileSystem

    found = [path]
    if is_pattern(link_of(url)):
        with readable_errors(url):
            found = [path] if system.exists(path) else sorted(system.glob(path))
        if not found:
            raise FileNotFoundError(f"cannot read {url}: no file matches the pattern.")
    if isinstance(system, LocalFileSystem):
        return list(found)
    return [RemoteFile(url if one == path else system.unstrip_protocol(one), system, one) for one in found]
