"""What pages of measurements share: tables, and what measured them."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

__all__ = ["machine", "record_table", "table"]


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table.

    Examples
    --------
    >>> print(table(["data", "n"], [["iris", 150]]))
    | data | n |
    |---|---|
    | iris | 150 |
    """
    head, *lines = (f"| {' | '.join(map(str, line))} |" for line in (header, *rows))
    return "\n".join([head, f"|{'---|' * len(header)}", *lines])


def record_table(columns: Mapping[str, str], records: Iterable[Mapping[str, Any]]) -> str:
    """Write a table of records: how each column is shown, by its heading.

    Examples
    --------
    >>> print(record_table({"data": "{name}", "n": "{rows:,}"}, [{"name": "digits", "rows": 1797}]))
    | data | n |
    |---|---|
    | digits | 1,797 |
    """
    return table(list(columns), [[how.format(**record) for how in columns.values()] for record in records])


def machine(*packages: str) -> str:
    """Say what measures here: processors, Python, and the versions of packages."""
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"{os.cpu_count()} cores, {platform.machine()}; Python {platform.python_version()}, {versions}"
