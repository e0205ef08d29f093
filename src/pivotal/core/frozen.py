"""What cannot be changed: arrays, read-only copies of JSON-able content, and when two things are the same."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from pivotal.core.types import AnyArray

__all__ = ["freeze", "freeze_arrays", "read_only", "same", "thaw"]


def read_only(array: AnyArray) -> AnyArray:
    """Return a view of the same numbers that cannot be written to; the array itself still can.

    Kernels that only read are compiled for such views: so they take a user's own arrays, which may be of either kind.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def freeze_arrays(record: object) -> None:
    """Put read-only views in place of all arrays that a frozen dataclass has as fields."""
    for name, content in list(vars(record).items()):
        if isinstance(content, np.ndarray):
            object.__setattr__(record, name, read_only(content))


def freeze(content: Any, where: str) -> Any:
    """Read-only copy of JSON-able content: mappings become proxies, lists tuples, NumPy scalars Python's own."""
    if isinstance(content, np.generic):
        content = content.item()
    if isinstance(content, Mapping):
        wrong = [key for key in content if not isinstance(key, str)]
        if wrong:
            raise TypeError(f"{where} must have strings as keys; got {wrong[0]!r}.")
        return MappingProxyType({key: freeze(item, f"{where}[{key!r}]") for key, item in content.items()})
    if isinstance(content, (list, tuple)):
        return tuple(freeze(item, where) for item in content)
    if content is None or isinstance(content, (str, bool, int)):
        return content
    if isinstance(content, float):
        if not math.isfinite(content):
            raise ValueError(f"{where} must be a finite number; got {content}.")
        return content
    raise TypeError(f"{where} must be text, a number, None, a list or a mapping; got {type(content).__name__}.")


def thaw(content: Any) -> Any:
    """Turn frozen content back into the dicts and lists that JSON knows."""
    if isinstance(content, Mapping):
        return {key: thaw(item) for key, item in content.items()}
    return [thaw(item) for item in content] if isinstance(content, tuple) else content


def same(one: Any, other: Any) -> bool:
    """Whether two fields are of one type and hold the same, to the last bit; a missing number equals a missing one."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        if one.dtype.kind == "O":
            return all(a is b or (type(a) is type(b) and a == b) for a, b in zip(one, other, strict=True))
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fcMm"))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return json.dumps(thaw(one), sort_keys=True) == json.dumps(thaw(other), sort_keys=True)
    return type(one) is type(other) and bool(one == other)
