"""Choices written as text, such as ``"minkowski(p=3)"``: read and written in one place."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["read_call", "write_call"]

_NUMBERS: Final = {"inf": math.inf, "nan": math.nan}


def read_call(text: str, *, words: bool = False) -> tuple[str, tuple[Any, ...], dict[str, Any]] | None:
    """Return the name and the arguments that a text writes; None where it writes neither a name nor a call.

    A word among the arguments, such as `half`, is text if `words` are allowed, for the choice itself to complain about.

    Examples
    --------
    >>> read_call("coalitions(n_samples=100, random_state=0)")
    ('coalitions', (), {'n_samples': 100, 'random_state': 0})
    >>> read_call("soft-k")
    ('soft-k', (), {})
    """
    name, opened, rest = text.strip().partition("(")
    if not opened:
        return (name, (), {}) if name else None
    if not name or not rest.endswith(")"):
        return None
    try:
        call = ast.parse(f"f({rest}", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return None
        options = {word.arg: _content(word.value, words) for word in call.keywords if word.arg is not None}
        if len(options) != len(call.keywords):
            return None
        return name.strip(), tuple(_content(argument, words) for argument in call.args), options
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def write_call(name: str, parameters: Mapping[str, Any]) -> str:
    """Return the text that `read_call` reads; a name alone where there are no parameters.

    Examples
    --------
    >>> write_call("minkowski", {"p": 3})
    'minkowski(p=3)'
    """
    if not parameters:
        return name
    return f"{name}({', '.join(f'{key}={content!r}' for key, content in parameters.items())})"


def _content(node: ast.expr, words: bool) -> Any:
    """Return what a literal means; infinities and NaN are written as Python prints them."""
    if isinstance(node, ast.Name) and node.id in _NUMBERS:
        return _NUMBERS[node.id]
    if words and isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Name):
        return -_content(node.operand, words=False)
    return ast.literal_eval(node)
