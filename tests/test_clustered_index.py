"""Neighbours among the nearest clusters: how many are the true ones, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import pivotal.review._nearest_lists as review_lists
from pivotal.analysis.label_errors import find_with_voters
from pivotal.cli import review_command
from pivotal.cli._app import build_parser
from pivotal.cli._screen import Screen
from pivotal.neighbors import BruteIndex, ClusteredIndex, KeptLists, _clustered, as_index_of_many, measure_recall
from pivotal.review._nearest_lists import find_lists, index_of
from pivotal.review._session import Session
from pivotal.review._subject import Subject, fingerprint_of_arrays
from pivotal.review._views import Views


def groups(n_rows: int, n_features: int = 6, apart: float = 9.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 8, n_rows)
    return rng.normal(size=(n_rows, n_features)) + apart * rng.normal(size=(8, n_features))[label], label


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
def test_compared_with_all_rows_it_is_exact(metric: str):
    X, _ = groups(3000)
    found, true = ClusteredIndex(X, metric), BruteIndex(X, metric)
    for one, two in zip(found.search_self(0, 300, 20), true.search_self(0, 300, 20), strict=True):
        np.testing.assert_array_equal(one, two)
    queries = X[:50] + 0.01
    np.testing.assert_array_equal(found.search(queries, 7)[0], true.search(queries, 7)[0])


def test_most_neighbours_lie_in_near_clusters():
    X, _ = groups(6000, apart=0.5)
    few, more = (ClusteredIndex(X, n_compared=n) for n in (700, 3000))
    recalls = [measure_recall(one, BruteIndex(X), None, 20) for one in (few, more)]
    assert 0.3 < recalls[0] < recalls[1]
    assert recalls[1] > 0.8
    assert few.exact is False


def test_lists_are_the_same_in_the_order_of_the_clusters():
    X, _ = groups(5000)
    index = ClusteredIndex(X, n_compared=800)
    kept, shares = KeptLists(index, 12), []
    kept.fill(on_progress=shares.append)
    assert sorted(index.walk.tolist()) == list(range(5000))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    rows = np.array([4999, 0, 17])
    np.testing.assert_array_equal(kept.search_rows(rows, 12)[0], index.search_rows(rows, 12)[0])
    assert not (kept.indices == np.arange(5000)[:, np.newaxis]).any()
    assert (np.diff(kept.distances, axis=1) >= 0.0).all()


def test_queries_are_asked_in_the_order_of_their_clusters():
    X, _ = groups(5000)
    index = ClusteredIndex(X, n_compared=800)
    walk = index.walk_of(X)
    np.testing.assert_array_equal(walk, index.walk)
    assert sorted(index.walk_of(X[:40] + 0.1).tolist()) == list(range(40))
    assert BruteIndex(X).walk_of(X) is None


def test_clusters_are_for_very_many_rows_where_nothing_else_was_asked_for():
    X, _ = groups(300)
    assert isinstance(as_index_of_many("auto", X, beyond=299), ClusteredIndex)
    assert as_index_of_many("auto", X, beyond=300).exact
    assert as_index_of_many("brute", X, beyond=10).exact
    assert as_index_of_many("auto", X, beyond=10, metric="manhattan").exact
    known = BruteIndex(X)
    assert as_index_of_many(known, X, beyond=10) is known


def test_many_rows_that_are_one_and_the_same():
    X, _ = groups(4000)
    X[:3000] = 1.0
    kept = KeptLists(ClusteredIndex(X, n_compared=300), 10)
    kept.fill()
    assert kept.distances[:3000].max() == 0.0
    assert not (kept.indices == np.arange(4000)[:, np.newaxis]).any()
    assert all(len(set(line)) == 10 for line in kept.indices[::50].tolist())


def test_what_has_no_clusters_is_refused():
    with pytest.raises(ValueError, match=r"clusters need dense points and one of .* got a sparse matrix"):
        ClusteredIndex(sparse.csr_array(np.eye(4)))
    with pytest.raises(ValueError, match="got metric='manhattan'"):
        ClusteredIndex(np.eye(4), "manhattan")


# ----------------------------------------------------------------------------------------------------------- the review


def open_review(X: np.ndarray, y: np.ndarray, path: Path, **how: object) -> tuple[str, Session]:
    known, recall = find_lists(X, 20, {}, lambda *_: None)
    found = find_with_voters(X, y, neighbors=known, **how)
    subject = Subject("t", X, *found, fingerprint_of_arrays(X, y), recall=recall)
    session = Session(subject, path, neighbors=known)
    return Views(session).about()["estimated"], session


def test_a_large_table_says_what_is_estimated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    X, y = groups(1600, n_features=8, apart=1.0)
    y[::50] = (y[::50] + 1) % 8
    exact, before = open_review(X, y, tmp_path / "exact.db", n_trees=10)
    assert exact == ""
    monkeypatch.setattr(review_lists, "_LARGE", 1000)
    monkeypatch.setattr(_clustered, "_ROWS_PER_CLUSTER", 200)
    monkeypatch.setattr(_clustered, "_DEEPER", 4)
    monkeypatch.setattr(_clustered, "ClusteredIndex", type("Few", (ClusteredIndex,), {"__init__": _compare_few}))
    sentence, session = open_review(X, y, tmp_path / "large.db", n_trees=10)
    recall = session.subject.recall
    lists = np.array([len(np.intersect1d(a, b)) for a, b in zip(
        before.live.neighbors(np.arange(1600), 20), session.live.neighbors(np.arange(1600), 20), strict=True
    )])  # fmt: skip
    assert recall is not None
    assert recall == pytest.approx(lists.mean() / 20, abs=0.03)
    assert 0.3 < recall < 0.99
    assert f"{100 * recall:.1f} % of them are the true ones in a sample" in sentence
    assert "Suspects and suggestions do not depend on them." in sentence
    np.testing.assert_array_equal(session.scores.suspect, before.scores.suspect)
    by_neighbours, _ = open_review(X, y, tmp_path / "neighbours.db", n_trees=0)
    assert "suspects, suggestions, neighbours" in by_neighbours
    assert "do not depend" not in by_neighbours


def _compare_few(self: ClusteredIndex, X: np.ndarray, metric: str, n_jobs: int | None) -> None:
    ClusteredIndex.__init__(self, X, metric, n_compared=400, n_jobs=n_jobs)


def test_who_asks_for_true_neighbours_gets_them(monkeypatch: pytest.MonkeyPatch):
    X, _ = groups(300)
    monkeypatch.setattr(review_lists, "_LARGE", 100)
    assert isinstance(index_of(X, {}), ClusteredIndex)
    assert index_of(X, {}, exact=True).exact
    assert index_of(X, {"neighbors": "brute"}).exact
    assert index_of(X, {"metric": "manhattan"}).exact
    assert index_of(sparse.csr_array(X), {}).exact
    monkeypatch.setattr(review_lists, "_LARGE", 300)
    assert index_of(X, {}).exact


def test_a_large_table_from_the_command_line_is_reviewed_and_fitted_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(review_lists, "_LARGE", 300)
    X, y = groups(400, n_features=3)
    y[[3, 77]] = (y[[3, 77]] + 1) % 8
    table = tmp_path / "large.csv"
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=y.astype(str)).to_csv(table, index=False)
    options = build_parser().parse_args(["review", str(table), "--label", "label", "--trees", "10", "--quiet"])
    service = review_command._service(options, Screen(options))
    service.start()
    assert service.ready.wait(120)
    assert service.failure is None
    session = service.session
    assert session is not None
    assert session.subject.recall is not None
    suspects = np.flatnonzero(session.scores.suspect).tolist()
    assert {3, 77} <= set(suspects)
    session.decide([3], "fix", label=None, reviewer="ann", batch="1", note="", queue="suspects")
    session.decide([77], "drop", label=None, reviewer="ann", batch="2", note="", queue="suspects")
    session.ask_again()  # among the 399 rows that are left
    assert not session.scores.suspect[[3, 77]].any()
    assert "approximate search" in Views(session).about()["estimated"]
    session.close()
