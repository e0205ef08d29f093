"""What a room offers and a room further down does: drawn, written as a page, computed by a baseline.

`Values.report` belongs to the result, and the page is drawn by a room that knows results. Neither imports the other:
the package's front door, which knows both, says here who provides what.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["provide", "provided"]

_LOADERS: dict[str, Callable[[], Any]] = {}


def provide(what: str, load: Callable[[], Any]) -> None:
    """Say how to get at what is provided; `load` is called when it is first needed."""
    _LOADERS[what] = load


def provided(what: str) -> Any:
    """Return what is provided under a name.

    Examples
    --------
    >>> provided("baselines").__name__
    'pivotal.baselines'
    """
    return _LOADERS[what]()
