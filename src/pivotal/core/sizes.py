"""Sizes of memory, as people write them."""

from __future__ import annotations

import re

from pivotal.core.validation import is_integer

__all__ = ["DEFAULT_MEMORY", "as_bytes"]

DEFAULT_MEMORY = 2**30

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)


def as_bytes(max_memory: int | str | None) -> int:
    """Return a size in bytes, 1 GiB for None.

    Examples
    --------
    >>> from pivotal.core.sizes import as_bytes
    >>> as_bytes("2GB"), as_bytes("1.5 MiB"), as_bytes(4096)
    (2000000000, 1572864, 4096)
    """
    if max_memory is None:
        return DEFAULT_MEMORY
    if is_integer(max_memory, minimum=1):
        return int(max_memory)
    found = _SIZE.fullmatch(max_memory) if isinstance(max_memory, str) else None
    unit = _UNITS.get(found[2].lower()) if found else None
    size = int(float(found[1]) * unit) if found and unit else 0
    if size < 1:
        raise ValueError(
            f'max_memory must be a number of bytes, or text such as "2GB" or "512MiB"; got {max_memory!r}.'
        )
    return size
