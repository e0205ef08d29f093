"""What belongs to the machine, set once: threads, memory, progress bars, where finished work is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any

from pivotal.core.sizes import as_bytes
from pivotal.core.validation import check_count

__all__ = ["Resources", "config_context", "get_config", "set_config"]


@dataclass(frozen=True)
class Resources:
    """What a computation may use, as `set_config` describes it; results do not depend on it."""

    n_jobs: int | None = -1
    max_memory: int | str | None = None
    block_size: int | None = None
    progress: bool = False
    checkpoint: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.block_size is not None:
            check_count(self.block_size, "block_size")
        if self.max_memory is not None:
            as_bytes(self.max_memory)

    @property
    def budget(self) -> int | None:
        """Bytes that lists may take, if that was said."""
        return None if self.max_memory is None else as_bytes(self.max_memory)

    @classmethod
    def of(cls, **given: Any) -> Resources:
        """Return the configuration with what a caller gave in place of it; None leaves it as it is."""
        own = {name: choice for name, choice in given.items() if choice is not None}
        current = _CURRENT.get()
        return replace(current, **own) if own else current


_CURRENT: ContextVar[Resources] = ContextVar("pivotal_config", default=Resources())  # noqa: B039  # it is frozen


def get_config() -> dict[str, Any]:
    """Return the configuration: what calls use where they are not told otherwise.

    Examples
    --------
    >>> import pivotal
    >>> pivotal.get_config()["n_jobs"]
    -1
    """
    return dict(vars(_CURRENT.get()))


def set_config(**changes: Any) -> None:
    """Set the configuration from here on.

    Parameters
    ----------
    n_jobs : int or None
        Threads; -1 is one per processor. Or workers, of a backend such as "dask" that ``joblib.parallel_config`` names.
    max_memory : int, str or None
        Memory for lists of neighbours, for values of single queries, and for training points that stay in their file:
        bytes, or text such as ``"2GB"``. When None, 256 MiB for the lists of a block; 1 GiB for values of single
        queries, for files, and for joblib's workers.
    block_size : int or None
        Queries per block; chosen from `max_memory` when None.
    progress : bool
        Whether to show progress bars.
    checkpoint : path-like, URL or None
        Folder in which finished blocks of queries are kept, so that the same call resumes where an earlier one was cut
        short. It makes results lazy, as Dask collections do, and needs the extra ``dask``. A folder belongs to one
        valuation; another one is refused.
    """
    _CURRENT.set(_changed(changes))


@contextmanager
def config_context(**changes: Any) -> Iterator[None]:
    """Set the configuration for a while; takes what `set_config` takes.

    Examples
    --------
    >>> import pivotal
    >>> with pivotal.config_context(n_jobs=2, max_memory="2GB"):
    ...     pivotal.get_config()["n_jobs"]
    2
    >>> pivotal.get_config()["n_jobs"]
    -1
    """
    before = _CURRENT.set(_changed(changes))
    try:
        yield
    finally:
        _CURRENT.reset(before)


def _changed(changes: dict[str, Any]) -> Resources:
    known = [field.name for field in fields(Resources)]
    unknown = [name for name in changes if name not in known]
    if unknown:
        raise TypeError(f"the configuration has {', '.join(known)}; got {unknown[0]!r}.")
    return replace(_CURRENT.get(), **changes)
