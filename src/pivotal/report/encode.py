"""Python's things in a form that the page can read: text without surprises, arrays as base64, JSON safe in HTML."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from pivotal.core.types import AnyArray

__all__ = ["as_json", "as_text", "pack", "pack_whole"]


def as_text(item: Any, max_length: int | None = None) -> str:
    r"""Return what a page shows of a label, an id, an owner: its text, cut to `max_length` characters.

    Examples
    --------
    >>> as_text(np.float64(3.0)), as_text(b"caf\xc3\xa9"), as_text("a long story", 7)
    ('3.0', 'café', 'a long…')
    """
    if isinstance(item, np.generic) and item.dtype.kind not in "Mm":  # a time would turn into a number
        item = item.item()
    text = item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)
    if not text.isascii():  # half a surrogate pair cannot be written as UTF-8
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text if max_length is None or len(text) <= max_length else text[: max(max_length - 1, 0)].rstrip() + "…"


def pack(array: AnyArray, dtype: str) -> dict[str, str]:
    """Return an array as a dict of its type and its bytes; to the last bit and half the size of digits.

    Examples
    --------
    >>> pack(np.array([1, 2]), "u2")
    {'type': 'u2', 'data': 'AQACAA=='}
    """
    content = np.ascontiguousarray(array).astype(f"<{dtype}")
    return {"type": dtype, "data": base64.b64encode(content.tobytes()).decode("ascii")}


def pack_whole(array: AnyArray) -> dict[str, str]:
    """Return non-negative integers packed as tightly as the largest of them allows."""
    largest = int(array.max()) if array.size else 0
    return pack(array, "u1" if largest < 2**8 else "u2" if largest < 2**16 else "u4")


def as_json(content: Any) -> str:
    r"""Return JSON that stays data inside a script element, whatever the strings in it say.

    Examples
    --------
    >>> as_json({"label": "</script>"})
    '{"label":"\\u003c/script>"}'
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
