"""Progress bars, for those who ask for them.

`tqdm.auto` looks for widgets when it is imported, and warns in a notebook that has none: so it is imported only when a
bar is shown.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["tqdm"]


def tqdm(*items: Any, disable: bool, **options: Any) -> Any:
    """Return a bar of tqdm's: of the kind that fits the notebook or terminal, or one that is not shown."""
    home = importlib.import_module("tqdm.std" if disable else "tqdm.auto")
    return home.tqdm(*items, disable=disable, **options)
