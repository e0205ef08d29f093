"""Files that are elsewhere: whatever fsspec has a file system for, such as s3://bucket/parts/*.parquet."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, Any, Final

__all__ = ["RemoteFile", "expand", "in_words", "is_pattern", "is_url", "link_of", "locate"]

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(://|::)")
# Those that are asked for most; fsspec's own words say what is missing for others.
_PACKAGES: Final = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs"}


@dataclass(frozen=True, eq=False)
class RemoteFile:
    """A file that a file system of fsspec's opens.

    Parameters
    ----------
    name : str
        What messages call it.
    system : fsspec AbstractFileSystem
        Where it is.
    path : str
        What it is called there.
    """

    name: str
    system: Any
    path: str

    @property
    def suffix(self) -> str:
        """How the name ends, with the dot."""
        return PurePosixPath(link_of(self.name)).suffix

    def open(self) -> IO[bytes]:
        """Open the file for reading.

        Raises
        ------
        IsADirectoryError
            If it is a folder; other errors are the file system's own.
        """
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


def is_url(path: str) -> bool:
    """Whether a path is one for fsspec; a drive's letter is no scheme."""
    return _URL.match(path) is not None


def link_of(url: str) -> str:
    """Return the part of a URL that names the file: without a query, and the first of links in a chain."""
    link = next((part for part in url.split("::") if "://" in part), url)
    return link.partition("?")[0] if link.startswith("http") else link


def is_pattern(path: str) -> bool:
    """Whether a path has signs that stand for others; a question mark in a web address does not."""
    return any(sign in path for sign in ("*" if path.startswith("http") else "*?["))


def locate(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path there.

    Raises
    ------
    ImportError
        If fsspec, or the package for this file system, is not installed.
    OSError, ValueError
        If there is no such file system, or if it cannot be reached.
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ImportError(f"reading {url} needs fsspec; install it with: pip install fsspec") from error
    scheme = url.partition(":")[0]
    with in_words(url):
        try:
            system, path = url_to_fs(url)
        except ImportError as error:
            package = _PACKAGES.get(scheme)
            how = f"needs {package}; install it with: pip install {package}" if package else f"fails: {error}"
            raise ImportError(f"reading {url} {how}") from error
        except ValueError as error:
            raise ValueError(
                f"cannot read {url}: no file system is known by the name {scheme!r}; some that are: file, s3, gs, "
                "https, memory."
            ) from error
    return system, path


def expand(url: str) -> list[str | RemoteFile]:
    """Return the files that a URL names, in the order of their names; those of this machine as plain paths.

    Raises
    ------
    FileNotFoundError
        If it is a pattern that no file matches.
    """
    system, path = locate(url)
    from fsspec.implementations.local import LocalFileSystem

    found = [path]
    if is_pattern(link_of(url)):
        with in_words(url):
            found = [path] if system.exists(path) else sorted(system.glob(path))
        if not found:
            raise FileNotFoundError(f"cannot read {url}: no file matches the pattern.")
    if isinstance(system, LocalFileSystem):
        return list(found)
    return [RemoteFile(url if one == path else system.unstrip_protocol(one), system, one) for one in found]


@contextlib.contextmanager
def in_words(name: str) -> Iterator[None]:
    """Say what is wrong with a file elsewhere in one sentence, as every file system has errors of its own.

    Parameters
    ----------
    name : str
        What messages call the file.

    Raises
    ------
    OSError
        In place of whatever the file system raises. Errors about what the file holds stay as they are.
    """
    try:
        yield
    except (ValueError, ImportError, MemoryError, IsADirectoryError):
        raise
    except FileNotFoundError as error:
        raise FileNotFoundError(f"cannot read {name}: there is no such file.") from error
    except PermissionError as error:
        raise PermissionError(f"cannot read {name}: access is denied; are the credentials right?") from error
    except Exception as error:
        told = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise OSError(f"cannot read {name}: {told.rstrip('.')}.") from error
