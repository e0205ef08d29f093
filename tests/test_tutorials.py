"""Tutorials that run on stand-ins, run on the data they are about where that is at hand."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from pivotal.retrieval import BM25, advise_retrieval, read_collection, study_retrieval

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


@pytest.mark.skipif(not (DATA / "cisi.jsonl.gz").exists(), reason="the test collection is not here")
def test_what_pages_say_of_the_real_collection_is_so() -> None:
    pytest.importorskip("bm25s", reason="keyword search needs bm25s")
    collection = read_collection(DATA / "cisi.jsonl.gz")
    retriever = BM25(collection.documents)
    asked = {"k": 10, "metric": "ndcg", "queries": collection.queries}
    study = study_retrieval(retriever, collection.relevance, semivalue="shapley", **asked)
    values, carried = study.values, study.carrying()
    judged = values.settings["judged_share"]
    (best,) = values.top(1).index
    text = " ".join((ROOT / "docs" / "tutorials" / "retrieval.md").read_text(encoding="utf-8").split())
    assert f"On CISI nDCG@10 is {values.full_utility:.3f}, {judged:.0%}".replace("%", " %") in text
    assert f"document {best} is worth the most, {values.top(1)['value'].iloc[0]:.4f}" in text
    assert (len(carried), set(carried["carried"]), len(study.distractors())) == (12, {1}, 0)
    assert "On CISI twelve documents carry one question each, and none is surely a distractor" in text
    assert f"{values.n_queries} questions are too few" in text
    advice = advise_retrieval(retriever, collection.relevance, **asked)
    most = advice.table.iloc[-1]
    assert not advice.recommended
    assert most["gain"] < 0
    guide = " ".join((ROOT / "docs" / "guide" / "retrieval.md").read_text(encoding="utf-8").split())
    assert f"({len(values)} documents, {values.n_queries} judged queries) nothing is supported" in guide
    assert f"removing the {most['changed']} documents of negative value gains {most['gain_seen']:.3f} of nDCG" in guide
