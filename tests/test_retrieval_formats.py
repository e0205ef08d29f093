"""Files and retrievers as they are found in the wild: every layout means the same, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import pivotal
from pivotal.analysis.retrieval import BM25

RUN = "1 Q0 d1 1 3.5 tag\n1 Q0 d2 2 2.5 tag\n2 Q0 d3 1 1 tag\n2 Q0 d1 2 0.5 tag\n"
QRELS = "1 0 d2 1\n2 0 d3 2\n2 0 d1 -1\n"


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_bytes(text.encode())
    return folder / name


# -- Judgements


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tabs.txt", QRELS.replace(" ", "\t")),
        ("windows.txt", QRELS.replace("\n", "\r\n")),
        ("marked.txt", "\ufeff" + QRELS),
        ("blank.txt", "\n" + QRELS + "\n\n"),
        ("three.txt", QRELS.replace(" 0 ", " ")),
        ("beir.tsv", "query-id\tcorpus-id\tscore\n" + QRELS.replace(" 0 ", " ").replace(" ", "\t")),
        ("upper.tsv", "QID\tDOCID\tGrade\n" + QRELS.replace(" 0 ", " ").replace(" ", "\t")),
        ("four.tsv", "query_id\titeration\tdoc_id\trelevance\n" + QRELS.replace(" ", "\t")),
        ("comma.csv", "query-id,corpus-id,score\n" + QRELS.replace(" 0 ", ",").replace(" ", ",")),
        ("twice.txt", QRELS + "1 0 d2 1\n"),
        ("reals.txt", "1 0 d2 1.0\n2 0 d3 2.0\n2 0 d1 -1e0\n"),
    ],
)
def test_judgements_of_every_layout_are_the_same(tmp_path: Path, name: str, text: str) -> None:
    run = write(tmp_path, "run.trec", RUN)
    expected = pivotal.value_retrieval(run, write(tmp_path, "qrels.txt", QRELS), k=1)
    assert pivotal.value_retrieval(run, write(tmp_path, name, text), k=1).equals(expected)


def test_a_query_may_be_called_query(tmp_path: Path) -> None:
    qrels = write(tmp_path, "qrels.txt", "query 0 a 1\n")
    assert pivotal.value_retrieval({"query": ["a"]}, qrels).full_utility == 1.0


def test_grades_that_differ_are_told_and_the_last_counts(tmp_path: Path) -> None:
    qrels = write(tmp_path, "qrels.txt", QRELS + "1 0 d2 0\n")
    with pytest.warns(UserWarning, match="judges 1 pairs of a query and a document more than once"):
        values = pivotal.value_retrieval(write(tmp_path, "run.trec", RUN), qrels)
    assert values.full_utility == 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("1 d2\n", "line 1: fewer than 3 columns"),
        ("1 0 d2 1\n2 0 d3\n", "line 2: fewer than 4 columns"),
        ("1 0 d2 high\n", "every grade must be a finite number; got 'high'"),
    ],
)
def test_bad_judgements_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pivotal.value_retrieval({"1": ["d2"]}, write(tmp_path, "qrels.txt", text))


# -- Runs and names


def test_documents_that_a_run_lists_twice_are_named(tmp_path: Path) -> None:
    run = write(tmp_path, "run.trec", RUN + "1 Q0 d1 3 0.1 tag\n")
    with pytest.raises(ValueError, match="query '1' has document 'd1' twice"):
        pivotal.value_retrieval(run, write(tmp_path, "qrels.txt", QRELS))


def test_names_of_different_types_are_refused() -> None:
    with pytest.raises(ValueError, match=r"such as 1 and '1'\. Make all of them text"):
        pivotal.value_retrieval({"q": [1, 2]}, {"q": {"1": 1}})
    with pytest.raises(ValueError, match="Got queries such as 1 and '1'"):
        pivotal.value_retrieval({1: ["a"]}, {"1": {"a": 1}})
    with pytest.raises(TypeError, match="got pairs"):
        pivotal.value_retrieval({"q": [("a", 2.0)]}, {"q": {"a": 1}})


def test_rankings_without_a_judged_document_are_told() -> None:
    with pytest.warns(UserWarning, match="none of the documents that are listed is judged"):
        pivotal.value_retrieval({"q": ["doc1"]}, {"q": {"d1": 1}})


def test_queries_without_judgements_are_left_out_of_every_kind_of_rankings() -> None:
    qrels = {"b": {0: 1}, "c": {1: 1}}
    lists = {"a": [0, 1], "b": [1, 0], "c": [1, 0]}
    named = pivotal.value_retrieval(lists, qrels, k=1)
    numbered = pivotal.value_retrieval(list(lists.values()), qrels, k=1, query_ids=list(lists))
    asked = pivotal.value_retrieval(
        lambda queries, _: [lists[query] for query in queries], qrels, k=1, queries={q: q for q in lists}, depth=2
    )
    for values in (named, numbered, asked):
        assert values.n_queries == 2
        assert_array_equal(values.values, [0.25, 0.25])
        assert values.settings["queries_without_judgements"] == 1
    placed = pivotal.value_retrieval([[0, 1], [1, 0]], {1: {1: 1}}, k=1)
    assert placed.n_queries == 1
    with pytest.raises(ValueError, match="got 7, which is none of them"):
        pivotal.value_retrieval([[0, 1]], {7: {0: 1}})


def test_names_choose_queries() -> None:
    run, qrels = {"a": ["x", "y"], "b": ["y", "x"]}, {"a": {"x": 1}, "b": {"x": 1}}
    alone = pivotal.value_retrieval({"a": run["a"]}, {"a": qrels["a"]}, k=1)
    assert_array_equal(pivotal.value_retrieval(run, qrels, k=1, query_ids=["a"]).values[0], alone.values[0])


def test_sparse_matrices_of_every_format_and_frames_are_taken() -> None:
    import pandas as pd

    grades = np.array([[0, 1, 2], [1, 0, 0]])
    lists = np.array([[0, 1, 2], [2, 1, 0]], dtype=np.uint16)
    expected = pivotal.value_retrieval(lists, sparse.csr_array(grades), k=1)
    for kind in ("coo", "csc", "dok", "lil", "bsr", "dia"):
        assert pivotal.value_retrieval(lists, sparse.csr_matrix(grades).asformat(kind), k=1).equals(expected)
    framed = pivotal.value_retrieval(pd.DataFrame(lists), pd.DataFrame(grades), k=1)
    assert_array_equal(framed.values, expected.values)


def test_weights_of_queries_go_by_name() -> None:
    run, qrels = {"a": ["x", "y"], "b": ["y", "x"]}, {"b": {"x": 1}, "a": {"x": 1}}
    named = pivotal.value_retrieval(run, qrels, k=1, query_weights={"a": 3.0, "b": 1.0})
    assert_array_equal(named.values, pivotal.value_retrieval(run, qrels, k=1, query_weights=[1.0, 3.0]).values)
    with pytest.raises(ValueError, match="query_weights must name every query; got none for 'a'"):
        pivotal.value_retrieval(run, qrels, k=1, query_weights={"b": 1.0})


# -- Retrievers


CORPUS = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
ASKED = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
RELEVANCE = np.random.default_rng(2).random((5, 60)) < 0.2


def nearest(queries: Any, depth: int) -> Any:
    return np.argsort(np.linalg.norm(queries[:, np.newaxis] - CORPUS, axis=2), axis=1, kind="stable")[:, :depth]


def make_retriever(kind: str) -> Any:
    if kind == "faiss":
        index = pytest.importorskip("faiss").IndexFlatL2(4)
        index.add(CORPUS)
        return index
    if kind == "hnswlib":
        index = pytest.importorskip("hnswlib").Index("l2", 4)
        index.init_index(len(CORPUS), random_seed=0)
        index.add_items(CORPUS)
        index.set_ef(60)
        return index
    if kind == "sklearn":
        from sklearn.neighbors import KDTree

        return KDTree(CORPUS)
    if kind == "scipy":
        from scipy.spatial import cKDTree

        return cKDTree(CORPUS)
    return {
        "lists": lambda queries, depth: nearest(queries, depth).tolist(),
        "pairs": lambda queries, depth: (np.zeros((len(queries), depth)), nearest(queries, depth)),
        "scores": lambda queries, depth: (nearest(queries, depth).tolist(), [[0.5] * depth] * len(queries)),
    }[kind]


@pytest.mark.parametrize("kind", ["faiss", "hnswlib", "sklearn", "scipy", "lists", "pairs", "scores"])
def test_indexes_are_asked_in_their_own_words(kind: str) -> None:
    expected = pivotal.value_retrieval(nearest(ASKED, 60), RELEVANCE, k=3)
    found = pivotal.value_retrieval(make_retriever(kind), RELEVANCE, k=3, queries=ASKED)
    assert_allclose(found.values, expected.values, atol=1e-15)


def test_databases_may_answer_with_names() -> None:
    names = [f"d{i}" for i in range(60)]
    qrels = {f"q{q}": {names[d]: 1 for d in np.flatnonzero(row)} for q, row in enumerate(RELEVANCE)}
    expected = pivotal.value_retrieval(nearest(ASKED, 60), RELEVANCE, k=3).values

    def by_name(queries: Any, depth: int) -> Any:
        return [[names[d] for d in row] for row in nearest(queries, depth)]

    def by_score(queries: Any, depth: int) -> Any:
        return [{names[d]: -place for place, d in enumerate(row)} for row in nearest(queries, depth)]

    queries = dict(zip(qrels, ASKED, strict=True))
    for database in (by_name, by_score):
        known = pivotal.value_retrieval(database, qrels, k=3, queries=queries, documents=names)
        assert_allclose(known.values, expected, atol=1e-15)
        met = pivotal.value_retrieval(database, qrels, k=3, queries=queries, depth=60)
        assert dict(zip(met.ids, met.values, strict=True)) == dict(zip(known.ids, known.values, strict=True))
    with pytest.raises(ValueError, match=r"Pass documents=, or depth="):
        pivotal.value_retrieval(by_name, qrels, k=3, queries=queries)


def test_ragged_answers_and_lists_of_embeddings() -> None:
    ragged = pivotal.value_retrieval(lambda *_: [[1, 0], [], [2]], np.eye(3), k=1, queries=["a", "b", "c"])
    assert_array_equal(ragged.values, pivotal.value_retrieval([[1, 0], [], [2]], np.eye(3), k=1).values)
    nested = pivotal.value_retrieval(CORPUS.tolist(), RELEVANCE, k=3, queries=ASKED.tolist())
    assert_allclose(nested.values, pivotal.value_retrieval(CORPUS, RELEVANCE, k=3, queries=ASKED).values, atol=1e-9)


@pytest.mark.parametrize(
    ("retriever", "queries", "message"),
    [
        (["some text"], ["text"], r"For texts use pivotal.retrieval.BM25\(texts\)"),
        (CORPUS, ASKED[:, :2], "as many columns as the embeddings of the corpus, 4; got 2"),
        (lambda *_: [["a"]], "one text", "queries must be a list of queries; got one text"),
    ],
)
def test_what_cannot_be_asked_is_named(retriever: Any, queries: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        pivotal.value_retrieval(retriever, RELEVANCE, queries=queries)


def test_texts_without_words_are_never_found() -> None:
    pytest.importorskip("bm25s")
    assert BM25(["", "  "]).search(["cat"], 2).tolist() == [[-1]]
    assert BM25(["the", "cat"], stopwords=None).search(["the"], 2).tolist() == [[0]]
