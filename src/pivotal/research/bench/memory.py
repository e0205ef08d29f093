"""How much memory a process has taken, and how much is left."""

from __future__ import annotations

import contextlib
import importlib
from pathlib import Path
from typing import Any

__all__ = ["available_bytes", "forget_peak", "peak_bytes", "resident_bytes"]

_STATUS = Path("/proc/self/status")
_MEMINFO = Path("/proc/meminfo")


def resident_bytes() -> int | None:
    """Memory that this process holds now; None where the system does not say."""
    if (found := _read(_STATUS, "VmRSS")) is not None:
        return found
    info = _process_memory()
    return None if info is None else int(info.rss)


def peak_bytes() -> int | None:
    """Most memory that this process has held, or has held since `forget_peak`; None where the system does not say."""
    if (found := _read(_STATUS, "VmHWM")) is not None:
        return found
    info = _process_memory()
    peak = getattr(info, "peak_wset", None)
    return None if peak is None else int(peak)


def forget_peak() -> None:
    """Let the peak start anew, where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def available_bytes() -> int | None:
    """Memory that can be had without swapping; None where the system does not say."""
    if (found := _read(_MEMINFO, "MemAvailable")) is not None:
        return found
    try:
        return int(importlib.import_module("psutil").virtual_memory().available)
    except ModuleNotFoundError:
        return None


def _read(file: Path, entry: str) -> int | None:
    """Read an entry in kilobytes of a file of Linux's."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{entry}:")), None)


def _process_memory() -> Any:
    """What psutil says of this process; None without it."""
    try:
        return importlib.import_module("psutil").Process().memory_info()
    except ModuleNotFoundError:
        return None
