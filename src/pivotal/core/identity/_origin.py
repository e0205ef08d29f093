"""Where code comes from: an installed package, which its version identifies, or a file that is being written."""

from __future__ import annotations

import hashlib
import importlib.util
import site
import sys
import sysconfig
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

_PACKAGE = __name__.partition(".")[0]
_NO_MODULE = ModuleType("")


def is_installed(module: str, space: Mapping[str, Any] | None = None) -> bool:
    """Return whether a module belongs to Python, to an installed package, or to this one; and has that namespace."""
    if space is not None and vars(sys.modules.get(module, _NO_MODULE)) is not space:
        return False
    if module.partition(".")[0] == _PACKAGE:
        return True
    found = sys.modules.get(module)
    if found is None or module == "__main__":
        return False
    file = _file_of(found)
    if file is None:
        # Compiled into the interpreter; a module that a program made up has no origin either, and no spec.
        return getattr(getattr(found, "__spec__", None), "origin", None) in ("built-in", "frozen")
    return _is_below(Path(file))


def is_importable_by_others(module: str) -> bool:
    """Return whether a module, which need not be loaded, is one of Python's or of an installed package."""
    top = module.partition(".")[0]
    if top in sys.modules:
        return is_installed(top)
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        return False
    return spec.origin in ("built-in", "frozen") or _is_below(Path(spec.origin))


def origin_of(module: str) -> tuple[str, ...]:
    """Return what stands for the content of a module: its file, and if it is installed its package and the version.

    The file counts for installed packages too: some are edited and installed again without a new version.
    """
    return _installed_origin_of(module) if is_installed(module) else (_source_of(sys.modules.get(module)),)


@cache
def _installed_origin_of(module: str) -> tuple[str, ...]:
    top = module.partition(".")[0]
    if top == _PACKAGE:
        return (top,)
    if top in sys.stdlib_module_names:
        return (top, "Python", *map(str, sys.version_info[:2]))
    known = getattr(sys.modules.get(top), "__version__", None)
    if not isinstance(known, str):
        try:
            known = version(top)
        except PackageNotFoundError:
            known = ""
    return (top, known, _source_of(sys.modules.get(module)))


def _source_of(module: ModuleType | None) -> str:
    """Return the digest of the file that a module was made of; nothing without one."""
    path = Path(_file_of(module) or "")
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest() if path.is_file() else ""


def resolves(module: str | None, name: str, to: Any) -> bool:
    """Return whether an object is what its module holds under its name."""
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        if found is None:
            return False
        found = getattr(found, part, None)
    return found is to


def _file_of(module: ModuleType | None) -> str | None:
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else None


def _is_below(file: Path) -> bool:
    """Return whether a file lies among Python's own or among installed packages, be it by way of a link."""
    folders = [*file.absolute().parents, *file.resolve().parents]
    return any(folder.name in ("site-packages", "dist-packages") or folder in _install_folders() for folder in folders)


@cache
def _install_folders() -> frozenset[Path]:
    """Return the folders that hold Python's own library and installed packages."""
    names = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    if hasattr(site, "getsitepackages"):  # not in every kind of virtual environment
        names += site.getsitepackages()
    folders = [Path(name) for name in names if name]
    return frozenset(path for folder in folders for path in (folder.absolute(), folder.resolve()))
