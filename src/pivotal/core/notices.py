"""What the user should know and did not ask: a warning, and a line in the log named ``pivotal``."""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path
from typing import Final

__all__ = ["logger", "notify"]

logger: Final = logging.getLogger("pivotal")
logger.addHandler(logging.NullHandler())  # who wants to read it says where it goes

_HOME: Final = str(Path(__file__).parents[1])


def notify(message: str) -> None:
    """Warn, at the line of the user's that called into the package, and write the same to the log."""
    logger.warning(message)
    warnings.warn(message, UserWarning, stacklevel=_levels_inside() + 1)


def _levels_inside() -> int:
    """Return how many frames, from the caller's on, belong to this package."""
    frame, levels = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        frame, levels = frame.f_back, levels + 1
    return levels - 1
