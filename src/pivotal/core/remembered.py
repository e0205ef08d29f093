"""Chances that were computed before: small calls with the same semivalue, one after the other, look them up."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

import numpy as np

__all__ = ["remembered"]

_Law = TypeVar("_Law", bound=Callable[..., Any])

_LONGEST = 4096  # entries of an array that is kept
_MOST = 128  # answers of one law that are kept


def remembered(law: _Law) -> _Law:
    """Keep the last answers of a method that takes numbers and returns a number or an array.

    Only objects whose class stands in the same module as the method are remembered: they are frozen and equal when
    their numbers are. A class of the user's may change from call to call, and is asked every time.
    """

    @lru_cache(_MOST)
    def answer(owner: Any, *numbers: float) -> Any:
        return law(owner, *numbers)

    @wraps(law)
    def ask(self: Any, *numbers: float, **named: float) -> Any:
        if named or type(self).__module__ != law.__module__ or max(numbers) > _LONGEST:
            return law(self, *numbers, **named)
        found = answer(self, *numbers)
        # A copy: kernels are compiled for arrays that can be written to.
        return found.copy() if isinstance(found, np.ndarray) else found

    return ask  # type: ignore[return-value]  # the same signature
