"""Parts of messages."""

from __future__ import annotations

from collections.abc import Sequence


def first_line(error: Exception) -> str:
    """Return what an error says, in one line without a full stop."""
    return next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")


def few(names: Sequence[str]) -> str:
    """Return the first names of several, in quotes."""
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
