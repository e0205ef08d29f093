"""What settings say of a choice: text that goes back in, or the name of what cannot be kept as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["describe_choice", "is_not_kept", "kept", "not_kept"]


def not_kept(choice: Any) -> str:
    """Return the name of a choice that text cannot hold, in angle brackets.

    Examples
    --------
    >>> not_kept(len)
    '<len>'
    """
    return f"<{describe_choice(choice)}>"


def is_not_kept(text: object) -> bool:
    """Whether a text only names a choice that could not be kept."""
    return isinstance(text, str) and text.startswith("<") and text.endswith(">")


def kept(choice: Any, read: Callable[[str], Any]) -> str:
    """Return the text that `read` turns into an equal choice, or the name of one without such a text."""
    text = str(choice)
    try:
        same = bool(read(text) == choice)
    except (TypeError, ValueError):
        same = False
    return text if same else f"<{text}>"


def describe_choice(choice: Any) -> str:
    """Return what messages and settings say of a choice that may be an object: text, or the name of its kind."""
    return choice if isinstance(choice, str) else str(getattr(choice, "__name__", type(choice).__name__))
