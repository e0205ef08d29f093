"""Modules of a package that are there as soon as they are asked for."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from types import ModuleType

__all__ = ["submodules_of"]


def submodules_of(package: str) -> Callable[[str], ModuleType]:
    """Return what a package's ``__getattr__`` does: import a public module of the package when it is first used.

    Examples
    --------
    >>> submodules_of("pivotal.core")("weights").__name__
    'pivotal.core.weights'
    """

    def find(name: str) -> ModuleType:
        if name.startswith("_") or importlib.util.find_spec(f"{package}.{name}") is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return importlib.import_module(f"{package}.{name}")

    return find
