"""Packages that come with an extra, and what is said where one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def missing(need: str, extra: str) -> ImportError:
    """Return an error that says what is needed and how it is installed."""
    return ImportError(f"{need}; install it with: pip install 'pivotal[{extra}]'")


@contextmanager
def needed(need: str, extra: str) -> Iterator[None]:
    """Say what to install where a package imported inside is missing; errors of one that is there stay as they are.

    >>> with needed("maps need no_such_package", "maps"):
    ...     import no_such_package
    Traceback (most recent call last):
    ImportError: maps need no_such_package; install it with: pip install 'pivotal[maps]'
    >>> with needed("maps need no_such_package", "maps"):
    ...     raise ImportError("libmaps.so cannot be opened")  # as a package might that is installed
    Traceback (most recent call last):
    ImportError: libmaps.so cannot be opened
    """
    try:
        yield
    except ImportError as error:
        if not any(isinstance(one, ModuleNotFoundError) for one in causes(error)):
            raise
        raise missing(need, extra) from error


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those it came from, the first of all last."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
