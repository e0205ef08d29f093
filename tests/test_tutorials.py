"""Tutorials that run on stand-ins, run on the data they are about where that is at hand."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"


@pytest.mark.skipif(not (DATA / "cisi.jsonl.gz").exists(), reason="the test collection is not here")
def test_the_retrieval_tutorial_runs_on_a_real_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIVOTAL_DATA", str(DATA))
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(
        str(ROOT / "docs" / "tutorials" / "retrieval.md"), module_relative=False, optionflags=options
    )
    assert result.attempted > 10
    assert result.failed == 0
