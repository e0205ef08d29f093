"""Warnings on the command line: one line each, without the code that gave them."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from typing import Any

__all__ = ["one_line_warnings"]


@contextlib.contextmanager
def one_line_warnings() -> Iterator[None]:
    """Print warnings as `pivotal: warning: ...` on stderr for a while."""
    before = warnings.showwarning
    warnings.showwarning = _say
    try:
        yield
    finally:
        warnings.showwarning = before


def _say(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"pivotal: warning: {' '.join(str(message).split())}", file=sys.stderr)
