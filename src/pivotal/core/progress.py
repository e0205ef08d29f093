"""Progress bars, for those that ask for them.

`tqdm.auto` looks for widgets when it is imported, and warns in a notebook that has none: so it is imported only when a
bar is shown.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["tqdm"]


class _NoBar:
    """Goes through items, if there are any, and shows nothing."""

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __enter__(self) -> _NoBar:
        return self

    def __exit__(self, *error: object) -> None: ...

    def update(self, n: float = 1) -> None:
        """Count n steps."""

    def set_postfix_str(self, text: str) -> None:
        """Say what is being done."""


def tqdm(*items: Any, disable: bool, **options: Any) -> Any:
    """Return a bar of tqdm's, of the kind that fits the notebook or terminal; or none that looks like one."""
    if disable:
        return _NoBar(*items)
    return importlib.import_module("tqdm.auto").tqdm(*items, **options)
