"""Files that are elsewhere: whatever fsspec has a file system for, such as s3://bucket/parts/*.parquet."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["first_line", "is_object_store", "is_url", "link_of", "local_path", "locate", "readable_errors"]

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(://|::)")
# Those that are asked for most, and what to install for them; fsspec's own words say what is missing for others.
_PACKAGES: Final = {
    "s3": ("s3fs", "'pivotal[s3]'"),
    "s3a": ("s3fs", "'pivotal[s3]'"),
    "gs": ("gcsfs", "gcsfs"),
    "gcs": ("gcsfs", "gcsfs"),
    "abfs": ("adlfs", "adlfs"),
    "az": ("adlfs", "adlfs"),
    "http": ("aiohttp and requests", "aiohttp requests"),
    "https": ("aiohttp and requests", "aiohttp requests"),
}
# Where folders are but parts of names, a file appears whole under its name, and making a folder might make a bucket.
_OBJECT_STORES: Final = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oss", "memory"})


def is_url(path: str) -> bool:
    """Whether a path is one for fsspec; a drive's letter is no scheme."""
    return _URL.match(path) is not None


def link_of(url: str) -> str:
    """Return the part of a URL that names the file: without a query, and the first of links in a chain."""
    link = next((part for part in url.split("::") if "://" in part), url)
    return link.partition("?")[0] if link.startswith("http") else link


def local_path(url: str) -> str | None:
    """Return the path on this machine that a path or a file:// URL stands for; None for anything else."""
    if not is_url(url):
        return url
    if not url.startswith(("file://", "local://")) or "::" in url:
        return None
    return str(locate(url)[1])


def is_object_store(system: Any) -> bool:
    """Whether a file system of fsspec's keeps objects under names, without folders that must be made first."""
    names = system.protocol
    return not _OBJECT_STORES.isdisjoint({names} if isinstance(names, str) else names)


def locate(url: str, doing: str = "read") -> tuple[Any, str]:
    """Return the file system of a URL, of any kind that fsspec understands, and the path there.

    `doing` is what cannot be done if it fails, for messages. Raises ImportError if fsspec, or the package for this file
    system, is not installed; OSError or ValueError if there is no such file system, or if it cannot be reached.
    """
    scheme = url.partition(":")[0].lower()
    needed = _PACKAGES.get(scheme)
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        install = f"fsspec {needed[1]}" if needed else "fsspec"
        raise ImportError(f"cannot {doing} {url}: that needs fsspec; install it with: pip install {install}") from error
    with readable_errors(url, doing):
        try:
            system, path = url_to_fs(url)
        except ImportError as error:
            how = f"that needs {needed[0]}; install it with: pip install {needed[1]}" if needed else str(error)
            raise ImportError(f"cannot {doing} {url}: {how}") from error
        except ValueError as error:
            raise ValueError(
                f"cannot {doing} {url}: no file system is known by the name {scheme!r}; some that are: file, s3, gs, "
                "https, memory."
            ) from error
    return system, path


@contextlib.contextmanager
def readable_errors(name: str, doing: str = "read") -> Iterator[None]:
    """Say what is wrong with a file elsewhere in one sentence, as every file system has errors of its own.

    Raises OSError in place of whatever the file system raises. Errors about what the file holds stay as they are.
    """
    try:
        yield
    except (ValueError, ImportError, MemoryError, IsADirectoryError):
        raise
    except FileNotFoundError as error:
        missing = "there is no such file" if doing == "read" else f"{first_line(error)} does not exist"
        raise FileNotFoundError(f"cannot {doing} {name}: {missing}.") from error
    except PermissionError as error:
        raise PermissionError(f"cannot {doing} {name}: access is denied; are the credentials right?") from error
    except Exception as error:
        raise OSError(f"cannot {doing} {name}: {first_line(error)}.") from error


def first_line(error: Exception) -> str:
    """Return what an error says as part of a sentence: one line, no longer than one reads, and only what prints."""
    said = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return "".join(sign if sign.isprintable() else " " for sign in said[:400]).strip().rstrip(".")
