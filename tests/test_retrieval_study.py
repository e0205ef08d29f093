"""Answers about documents: distractors, redundancy, sources, changes, relevance from elsewhere, page and command."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import pivotal
from pivotal.analysis._evidence import rejected
from pivotal.analysis.retrieval import (
    BM25,
    advise_retrieval,
    read_collection,
    relevance_from_answers,
    relevance_from_clicks,
    relevance_from_judge,
    study_retrieval,
)
from pivotal.cli import main


def spoiled(n: int = 10) -> tuple[dict[str, list[str]], dict[str, dict[str, int]]]:
    """An ad stands before every answer; some answers have a copy, one query has one answer only."""
    run = {f"q{i}": ["ad", f"answer{i}", f"copy{i}", "filler", "never"] for i in range(n)}
    qrels = {f"q{i}": {f"answer{i}": 1, f"copy{i}": 1} for i in range(n)}
    run["alone"], qrels["alone"] = ["only", "filler"], {"only": 1}
    return run, qrels


# -- Questions


def test_a_distractor_is_named_with_the_queries_that_it_spoils() -> None:
    study = study_retrieval(*spoiled(), k=1)
    found = study.distractors()
    assert found["id"].tolist() == ["ad"]
    row = found.iloc[0]
    assert row["high"] < 0
    assert row["value"] == pytest.approx(float(study.values.values[study.values.ids.tolist().index("ad")]))
    assert row["n_queries"] == 10
    assert set(row["spoils"]) <= {f"q{i}" for i in range(10)}
    assert len(row["spoils"]) == 5
    assert all(name.startswith(("answer", "copy")) for name in row["pushes_down"])


def test_few_queries_are_no_evidence() -> None:
    assert study_retrieval(*spoiled(1), k=1).distractors().empty
    assert study_retrieval(*spoiled(3), k=1).distractors().empty
    assert not study_retrieval(*spoiled(12), k=1).distractors().empty


@pytest.mark.parametrize("correction", ["fdr", "holm"])
def test_documents_that_only_look_bad_are_rarely_called_distractors(correction: Any) -> None:
    # Rankings and grades by chance: all documents are alike, and their mean value is above 0.
    false = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        lists = np.array([rng.permutation(30)[:12] for _ in range(60)])
        relevance = (rng.random((60, 30)) < 0.2).astype(int)
        false += len(study_retrieval(lists, relevance, k=3).distractors(correction=correction)) > 0
    assert false <= 4


def test_intervals_hold_the_mean_over_all_queries() -> None:
    rng = np.random.default_rng(0)
    lists = np.array([rng.permutation(12) for _ in range(4000)])
    grades = (rng.random((4000, 12)) < 0.3).astype(int)
    truth = pivotal.value_retrieval(lists, grades, k=2).values
    outside = 0
    for start in range(0, 4000, 100):
        part = slice(start, start + 100)
        frame = study_retrieval(lists[part], grades[part], k=2).intervals(0.9)
        outside += int(((truth < frame["low"]) | (truth > frame["high"])).sum())
    assert outside / (40 * 12) < 0.1


def test_redundant_unused_and_carrying_documents() -> None:
    study = study_retrieval(*spoiled(), k=2, metric="hit")
    stand_ins = {f"{kind}{i}" for kind in ("answer", "copy") for i in range(10)}
    assert set(study.redundant()["id"]) == stand_ins  # without one of a pair the other is found
    assert study.unused()["id"].tolist() == ["never"]
    carrying = study.carrying()
    by_name = carrying.set_index("id")
    assert by_name.loc["only", "queries"] == ["alone"]
    assert by_name.loc["only", "carried"] == 1
    with_answer = study_retrieval(*spoiled(), k=3, metric="hit")
    assert set(with_answer.carrying()["id"]) == {"only"}  # copies stand in for the others
    assert with_answer.leave_one_out.settings["semivalue"] == "loo"


def test_carrying_rows_belong_to_their_documents() -> None:
    run = {"a": ["x", "z"], "b": ["x", "z"], "c": ["y"]}
    qrels = {"a": {"x": 1}, "b": {"x": 1}, "c": {"y": 3}}
    frame = study_retrieval(run, qrels, k=1, metric="dcg").carrying().set_index("id")
    assert frame["carried"].to_dict() == {"x": 2, "y": 1}
    assert frame.loc["x", "queries"] == ["a", "b"]


def test_payouts_share_the_budget_with_intervals() -> None:
    run, qrels = spoiled()
    names = {d for docs in run.values() for d in docs}
    groups = {d: "ads" if d == "ad" else "copies" if d.startswith("copy") else "rest" for d in names}
    study = study_retrieval(run, qrels, k=1, groups=groups)
    paid = study.payouts(1000, random_state=0)
    assert paid["payout"].sum() == pytest.approx(1000)
    assert (paid["low"] <= paid["payout"] + 1e-9).all()
    assert (paid["payout"] <= paid["high"] + 1e-9).all()
    assert paid.set_index("source").loc["ads", "payout"] == 0
    assert paid.set_index("source").loc["copies", "documents"] == 10
    assert paid.equals(study.payouts(1000, random_state=0))
    with pytest.raises(ValueError, match="payouts need sources"):
        study_retrieval(run, qrels, k=1).payouts()
    with pytest.raises(ValueError, match="budget must be"):
        study.payouts(-1)


def test_hundreds_of_sources_are_paid_by_samples() -> None:
    rng = np.random.default_rng(3)
    lists = np.array([rng.permutation(300)[:60] for _ in range(12)])
    relevance = (rng.random((12, 300)) < 0.1).astype(int)
    few = pivotal.method("auto", n_samples=300, random_state=0)
    study = study_retrieval(lists, relevance, k=5, groups=[f"s{i}" for i in range(300)], method=few)
    assert study.sources is not None
    assert study.sources.settings["method"] == "coalitions"
    paid = study.payouts(100, n_draws=200)
    assert paid["payout"].sum() == pytest.approx(100)
    assert study.values.settings["method"] == "exact"
    assert_allclose(study.sources.values, study.values.values, atol=0.02)  # groups of one are documents


@pytest.mark.parametrize("metric", ["ndcg", "hit"])
def test_answers_are_about_the_lists_that_were_valued(metric: str) -> None:
    run = {f"q{i}": ["unjudged", "right", "also"] for i in range(3)}
    qrels: dict[str, dict[str, int]] = {f"q{i}": {"right": 1, "also": 0} for i in range(3)}
    run["none"], qrels["none"] = ["right"], {"also": 0}
    study = study_retrieval(run, qrels, k=1, metric=metric, unjudged="ignore", no_relevant="skip")
    assert study.query_utilities().tolist() == [1.0, 1.0, 1.0]
    assert study.carrying()["id"].tolist() == ["right"]
    assert study.carrying()["carried"].tolist() == [3]


def test_corrections_for_many_findings() -> None:
    p = np.array([0.001, 0.02, 0.03, 0.5])
    assert rejected(p, 0.05, "none").tolist() == [True, True, True, False]
    assert rejected(p, 0.05, "holm").tolist() == [True, False, False, False]
    assert rejected(p, 0.05, "fdr").tolist() == [True, True, True, False]
    assert rejected(np.empty(0), 0.05, "fdr").size == 0


# -- Changes


def noisy(n_queries: int, n_ads: int, seed: int) -> tuple[Any, Any, Any]:
    """Rankings whose first documents are often ads, if there are any; grades of the others are by chance."""
    rng = np.random.default_rng(seed)
    n = 60
    lists, grades = [], (rng.random((n_queries, n)) < 0.15).astype(int)
    grades[:, :n_ads] = 0
    for _ in range(n_queries):
        rest = rng.permutation(np.arange(n_ads, n))[:25]
        lists.append(np.concatenate([rng.permutation(n_ads), rest]))
    groups = np.where(np.arange(n) < n_ads, "ads", [f"s{i % 4}" for i in range(n)])
    return np.array(lists), grades, groups


@pytest.mark.parametrize("by", ["document", "source"])
@pytest.mark.parametrize("how", ["remove", "reweight"])
def test_what_helps_unseen_queries_is_recommended(how: Any, by: Any) -> None:
    lists, grades, groups = noisy(120, 3, 0)
    advice = advise_retrieval(lists, grades, k=5, groups=groups, how=how, by=by)
    assert advice.table["supported"].any()
    assert "unseen queries" in str(advice)
    if how == "remove":
        assert set(advice.recommended) >= ({"ads"} if by == "source" else {0, 1, 2})
    best = advice.table[advice.table["supported"]]
    assert (best["low"] > 0).all()


def test_removals_are_what_they_say() -> None:
    lists, grades, _ = noisy(40, 2, 1)
    advice = advise_retrieval(lists, grades, k=5, random_state=3)
    order = np.random.default_rng(3).permutation(40)
    judging, choosing = np.sort(order[:20]), np.sort(order[20:])
    values = pivotal.value_retrieval(lists[choosing], grades[choosing], k=5).values
    row = advice.table.iloc[0]
    worst = np.argsort(values, kind="stable")[: row["changed"]]
    kept = [[d for d in lists[q] if d not in worst] for q in judging]
    after = pivotal.value_retrieval(kept, grades[judging], k=5).full_utility
    before = pivotal.value_retrieval(lists[judging], grades[judging], k=5).full_utility
    assert after is not None
    assert before is not None
    assert_allclose(row["gain"], after - before, atol=1e-12)


def test_nothing_is_recommended_that_the_error_bar_does_not_support() -> None:
    wrong = 0
    for seed in range(30):
        lists, grades, _ = noisy(40, 0, seed)
        advice = advise_retrieval(lists, grades, k=5, random_state=seed)
        wrong += bool(advice.recommended)
        assert bool(advice.recommended) == bool(advice.table["supported"].any())
        if not advice.recommended:
            assert str(advice).startswith("No change is supported")
    assert wrong <= 3


def test_advice_needs_queries_and_sources() -> None:
    with pytest.raises(ValueError, match="two that judge; got 1 queries"):
        advise_retrieval([[0]], [[1]])
    with pytest.raises(ValueError, match='by="source" needs sources'):
        advise_retrieval([[0]] * 9, [[1]] * 9, by="source")


# -- Relevance from elsewhere


def test_relevance_from_answers_ignores_case_punctuation_and_articles() -> None:
    texts = {"a": "It is the Sea of Japan!", "b": "Seaside, Japan", "c": ""}
    found = relevance_from_answers({"q": ["a", "b", "c"], "r": ["a"]}, {"q": ["sea of japan", "nothing"]}, texts)
    assert found == {"q": {"a": 1.0, "b": 0.0, "c": 0.0}}
    with pytest.raises(ValueError, match="got none for 'd'"):
        relevance_from_answers({"q": ["d"]}, {"q": "x"}, texts)


def test_relevance_from_clicks_counts_what_was_shown() -> None:
    assert relevance_from_clicks([("q", "a")]) == {"q": {"a": 1.0}}
    shown = [("q", "a"), ("q", "a"), ("q", "b"), ("r", "a")]
    assert relevance_from_clicks([("q", "a")], shown) == {"q": {"a": 0.5, "b": 0.0}, "r": {"a": 0.0}}
    assert relevance_from_clicks([("q", "a")], shown, min_clicks=2)["q"]["a"] == 0.0
    with pytest.raises(ValueError, match="shown as often as they are clicked"):
        relevance_from_clicks([("q", "z")], shown)


class Judge:
    """Grades by shared words; breaks after this many calls."""

    def __init__(self, calls: int = 99) -> None:
        self.seen: list[tuple[str, str]] = []
        self.left = calls

    def __call__(self, pairs: list[tuple[str, str]]) -> list[float]:
        if not self.left:
            raise ConnectionError("the judge is gone")
        self.left -= 1
        self.seen += pairs
        return [float(len(set(query.split()) & set(text.split()))) for query, text in pairs]


def test_a_judge_is_asked_once_in_batches_and_goes_on_where_it_was(tmp_path: Path) -> None:
    run = {"q": ["a", "b", "c"], "r": ["c", "a", "b"]}
    queries, texts = {"q": "red fox", "r": "grey wolf"}, {"a": "red wolf", "b": "fox", "c": "red fox"}
    cache = tmp_path / "grades.jsonl"
    broken = Judge(calls=1)
    with pytest.raises(ConnectionError):
        relevance_from_judge(run, broken, queries, texts, depth=2, batch_size=3, cache=cache)
    with cache.open("a", encoding="utf-8") as file:
        file.write('{"query": "grey wo')  # cut short by a crash
    again = Judge()
    found = relevance_from_judge(run, again, queries, texts, depth=2, batch_size=3, cache=cache)
    assert found == {"q": {"a": 1.0, "b": 1.0}, "r": {"c": 0.0, "a": 1.0}}
    assert len(broken.seen) + len(again.seen) == 4
    idle = Judge(calls=0)
    assert relevance_from_judge(run, idle, queries, texts, depth=2, cache=cache) == found
    assert all(json.loads(line) for line in cache.read_text(encoding="utf-8").splitlines())
    values = pivotal.value_retrieval(run, found, k=3)
    assert values.settings["judged_share"] == pytest.approx(4 / 6)
    with pytest.raises(ValueError, match="a grade for each pair, 2; got 1"):
        relevance_from_judge({"q": ["a", "b"]}, lambda _: [1.0], queries, texts)
    with pytest.raises(ValueError, match="finite and at least 0"):
        relevance_from_judge({"q": ["a"]}, lambda _: [-1.0], queries, texts)


# -- Page and command


def write_files(folder: Path) -> list[str]:
    run, qrels = spoiled()
    lines = [f"{q} Q0 {d} {r} {-r} tag" for q, docs in run.items() for r, d in enumerate(docs)]
    (folder / "run.trec").write_text("\n".join(lines) + "\n")
    (folder / "qrels.txt").write_text("".join(f"{q} 0 {d} {g}\n" for q, docs in qrels.items() for d, g in docs.items()))
    names = sorted({d for docs in run.values() for d in docs})
    sources = pd.DataFrame({"document": names, "source": ["ads" if d == "ad" else "<b>rest</b>" for d in names]})
    sources.to_csv(folder / "sources.csv", index=False)
    return names


def test_the_page_shows_it_all_and_escapes_names(tmp_path: Path) -> None:
    run, qrels = spoiled()
    names = {d for docs in run.values() for d in docs}
    study = study_retrieval(run, qrels, k=1, groups=dict.fromkeys(names, "<script>"))
    page = study.report(tmp_path / "page.html", {"ad": "Buy & save"}, title="A <page>").read_text(encoding="utf-8")
    for words in (
        "Distractors",
        "Sources",
        "Redundant",
        "Unused",
        "depend on",
        "Queries that go worst",
        "Buy &amp; save",
    ):
        assert words in page
    assert "<script>" not in page
    assert "<span class='track down'>" in page  # intervals are drawn, not spelled out
    assert "A &lt;page&gt;" in page
    assert "not about what a language model does" in page
    assert "http" not in page


def test_the_command_writes_values_sources_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = write_files(tmp_path)
    command = ["retrieval", str(tmp_path / "run.trec"), str(tmp_path / "qrels.txt"), "-k", "1", "--metric", "ndcg"]
    out, page, paid = tmp_path / "values.csv", tmp_path / "page.html", tmp_path / "paid.csv"
    more = ["--sources", str(tmp_path / "sources.csv"), "-o", str(out), "--report", str(page), "--payouts", str(paid)]
    assert main([*command, *more]) == 0
    frame = pd.read_csv(out)
    assert frame["id"].tolist() == names
    direct = pivotal.value_retrieval(tmp_path / "run.trec", tmp_path / "qrels.txt", k=1)
    assert_allclose(frame["value"], direct.values, atol=1e-15)
    assert frame.set_index("id").loc["ad", "source"] == "ads"
    assert pd.read_csv(paid)["payout"].sum() == pytest.approx(1.0)
    assert "Distractors" in page.read_text(encoding="utf-8")
    said = capsys.readouterr().out
    assert f"ndcg at 1: {direct.full_utility:.4f}, mean of 11 queries" in said
    assert main([*command, "-o", "-", "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("id,value,rank")


def test_the_command_reads_beir_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("bm25s")
    (tmp_path / "qrels").mkdir()
    corpus = [{"_id": f"d{i}", "title": "", "text": f"word{i} shared"} for i in range(6)]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in corpus))
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "word3 shared"}\n{"_id": "q2", "text": "x"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td3\t1\n")
    assert main(["retrieval", str(tmp_path), "-k", "1", "-o", str(tmp_path / "values.csv")]) == 0
    frame = pd.read_csv(tmp_path / "values.csv").set_index("id")
    assert frame["value"].idxmax() == "d3"
    assert len(frame) == 6
    assert "ndcg at 1: 1.0000, mean of 1 queries" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.trec", "qrels.txt"], "missing.trec"),
        (["run.trec"], "give the judgements after the run"),
        (["run.trec", "qrels.txt", "--metric", "map"], "metric must be one of"),
        (["run.trec", "qrels.txt", "--payouts", "paid.csv"], "--payouts needs --sources"),
        (["run.trec", "qrels.txt", "--sources", "qrels.txt"], "two columns"),
        (["run.trec", "qrels.txt", "-o", "run.trec"], "cannot be written"),
        (["."], "BEIR"),
    ],
)
def test_the_command_names_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["retrieval", *words]) == 2
    assert message in capsys.readouterr().err


# -- The tutorial, on a classical collection


def test_the_tutorial_runs_on_cisi() -> None:
    pytest.importorskip("bm25s")
    folder = os.environ.get("PIVOTAL_DATA")
    path = Path(folder or "") / "cisi.jsonl.gz"
    if not folder or not path.exists():
        pytest.skip("PIVOTAL_DATA names no folder with cisi.jsonl.gz; the guide runs on a generated stand-in")
    collection = read_collection(path)
    assert (len(collection.documents), len(collection.queries)) == (1460, 112)
    asked = {name: text for name, text in collection.queries.items() if name in collection.relevance}
    study = study_retrieval(BM25(collection.documents), collection.relevance, k=10, queries=asked)
    ir_measures = pytest.importorskip("ir_measures")
    ids, lists = study.problem.documents, np.asarray(study.problem.indices)
    run = {
        str(q): {str(ids[d]): float(-r) for r, d in enumerate(row) if d >= 0}
        for q, row in zip(study.problem.queries, lists, strict=True)
    }
    qrels = {q: {d: int(g) for d, g in docs.items()} for q, docs in collection.relevance.items()}
    theirs = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)[ir_measures.nDCG @ 10]
    assert_allclose(study.values.full_utility, theirs, atol=1e-12)
    assert not advise_retrieval(BM25(collection.documents), collection.relevance, k=10, queries=asked).recommended


def test_collections_are_read_from_json_lines(tmp_path: Path) -> None:
    lines = [
        {"type": "document", "id": "1", "title": "A", "text": "b"},
        {"type": "query", "id": "7", "text": "what"},
        {"type": "judgement", "query": "7", "document": "1", "grade": 2},
    ]
    path = tmp_path / "small.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_collection(path) == ({"1": "A b"}, {"7": "what"}, {"7": {"1": 2.0}})
    path.write_text('{"type": "other"}\n')
    with pytest.raises(ValueError, match="type must be document, query or judgement; got 'other'"):
        read_collection(path)
    path.write_text("not json\n")
    with pytest.raises(ValueError, match="line 1: not JSON"):
        read_collection(path)
