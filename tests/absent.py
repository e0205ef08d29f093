"""Packages that are installed, as if they were not."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

# What has to be imported anew to see what happens without matplotlib, the last one last.
PLOTS = ("pivotal.report._axes", "pivotal.report.certainty_plots", "pivotal.report.plots")


def load_without(patch: pytest.MonkeyPatch, package: str, *modules: str) -> Any:
    """Import modules anew, where imports of a package and of all that is below it fail; return the last one."""
    for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
        patch.setitem(sys.modules, name, None)
    for name in modules:
        room, _, module = name.rpartition(".")
        patch.delitem(sys.modules, name)
        patch.delitem(vars(sys.modules[room]), module)
    return importlib.import_module(modules[-1])
