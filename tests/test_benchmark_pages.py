"""Pages of measurements: their tables are those that the script makes of the numbers kept beside the page."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("needs the benchmarks of a checkout", allow_module_level=True)

# A page, the script that writes it, and how the script makes the page of what was kept.
PAGES: dict[str, tuple[str, Callable[[ModuleType, Any], str]]] = {
    "agreement": ("agreement", lambda script, kept: script.page(rows_of(script, kept), kept["settings"])),
    "benchmarks": ("engine", lambda script, kept: script.page(kept)),
    "checkup": ("checkup", lambda script, kept: script.page(kept)),
    "editing": ("editing", lambda script, kept: script.page(kept, "")),
    "embeddings": ("embeddings", lambda script, kept: script.page(kept, "")),
    "growth": ("growth", lambda script, kept: script.page(rows_of(script, kept), kept["large"], 1, 1)),
    "purposes": ("purposes", lambda script, kept: script.page(kept)),
    "review": ("review", lambda script, kept: script.page_of(kept)),
    "sampling": ("sampling", lambda script, kept: script.page(kept["race"], kept["queries"], kept["deviations"])),
    "scaleout": ("scaleout", lambda script, kept: script.page(kept)),
    "search": ("search", lambda script, kept: script.page(rows_of(script, kept), 1)),
}


def rows_of(script: ModuleType, kept: Any) -> list[Any]:
    return [script.Row(**row) for row in kept["rows"]]


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, script)  # where its dataclasses look for their annotations
    try:
        spec.loader.exec_module(script)
    except ImportError as error:
        pytest.skip(f"the script needs a package that is not installed: {error}")
    return script


def tables(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("page", PAGES)
def test_tables_are_made_of_the_numbers_beside_the_page(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, make = PAGES[page]
    kept = json.loads((ROOT / "docs" / f"{page}.json").read_text(encoding="utf-8"))
    written = tables((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    assert written
    assert tables(make(load(name, monkeypatch), kept)) == written


def test_no_script_writes_a_table_by_hand() -> None:
    by_hand = [file.name for file in (ROOT / "benchmarks").glob("*.py") if "|---" in file.read_text(encoding="utf-8")]
    assert not by_hand, "use table or record_table of pivotal.research.bench.markdown"
