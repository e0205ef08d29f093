"""Small models that tests make, save and load again, and what it takes to import the packages that do so."""

from __future__ import annotations

import importlib.util
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

_DECLARED: list[Any] = []  # torch forgets operators whose library nobody holds
_OPERATOR = re.compile(r'register_(?:meta|fake)\("(?:torchvision::)?(\w+)"\)')


def need(package: str) -> Any:
    """Import a package that builds on torch, or skip the test.

    torchvision is built for one kind of device, and its import fails beside a torch that was built for another, for
    want of operators that none of these tests calls. They are declared here, so that timm, open_clip and
    sentence-transformers, which import torchvision, can be imported too.
    """
    torch = pytest.importorskip("torch", reason="needs torch")
    found = importlib.util.find_spec("torchvision")
    if found is not None and found.origin is not None and not _DECLARED:
        library = torch.library.Library("torchvision", "FRAGMENT")
        _DECLARED.append(library)
        source = (Path(found.origin).parent / "_meta_registrations.py").read_text(encoding="utf-8")
        for name in sorted(set(_OPERATOR.findall(source))):
            if not hasattr(torch.ops.torchvision, name):
                library.define(f"{name}(Tensor x) -> Tensor")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what these packages think of each other
        return pytest.importorskip(package, reason=f"needs {package}")
