"""Modules of a package that are there as soon as they are asked for."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["alias_modules", "submodules_of"]


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


def alias_modules(places: Mapping[str, str]) -> None:
    """Let modules be imported by a second name, as `pivotal.research.datasets` by ``pivotal.datasets``."""
    sys.meta_path.append(_Aliases(places))


class _Aliases(MetaPathFinder, Loader):
    """Hands out the module itself, not a copy: what is loaded under one name is loaded under the other."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in self._places else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._places[spec.name])
        spec.loader_state = module.__spec__  # the import replaces it by `spec`
        return module

    def exec_module(self, module: ModuleType) -> None:
        replaced = module.__spec__
        module.__spec__ = None if replaced is None else replaced.loader_state
