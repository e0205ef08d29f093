"""Given or not given: defaults that are distinguished from the same value passed by the caller.

``value(k=5)`` says something that ``value()`` does not. A default made by `default` is the number or the text that it
looks like, in signatures and in use, and `is_given` knows that it was not passed.
"""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["default", "is_default", "is_given", "plain"]

_Choice = TypeVar("_Choice", int, float, str)


class _Default:
    """What was not passed."""

    __slots__ = ()


class _Int(_Default, int):
    __slots__ = ()


class _Float(_Default, float):
    __slots__ = ()


class _Text(_Default, str):
    __slots__ = ()


_MARKED: dict[type, Any] = {int: _Int, float: _Float, str: _Text}


def default(choice: _Choice) -> _Choice:
    """Return a value for a signature that is distinguished from the same value passed by a caller.

    Examples
    --------
    >>> default("uniform") == "uniform", is_given(default("uniform")), is_given("uniform")
    (True, False, True)
    """
    marked: _Choice = _MARKED[type(choice)](choice)
    return marked


def is_given(choice: Any) -> bool:
    """Return whether a caller passed this: neither a default nor None."""
    return choice is not None and not isinstance(choice, _Default)


def is_default(choice: Any) -> bool:
    """Return whether a choice is the default of a signature, which was not passed."""
    return isinstance(choice, _Default)


def plain(choice: Any) -> Any:
    """Return a value without the mark of a default."""
    return type(choice).__mro__[2](choice) if isinstance(choice, _Default) else choice
