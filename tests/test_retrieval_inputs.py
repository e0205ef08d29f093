"""Rankings and relevance of every kind mean the same; metrics agree with ir_measures and ranx."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import pivotal
from pivotal import NDCG
from pivotal.analysis.retrieval import BM25, search_rankings, study_retrieval


def collection(seed: int = 0, n_queries: int = 12, n_documents: int = 60) -> tuple[dict[str, Any], dict[str, Any]]:
    """A run with ties and judgements with gaps, queries without a relevant document, and one that is not judged."""
    rng = np.random.default_rng(seed)
    run, qrels = {}, {}
    for q in range(n_queries):
        listed = rng.choice(n_documents, size=int(rng.integers(5, 40)), replace=False)
        scores = np.round(rng.random(len(listed)), 1)
        run[f"q{q}"] = {f"d{d}": float(s) for d, s in zip(listed, scores, strict=True)}
        judged = rng.choice(n_documents, size=15, replace=False)
        qrels[f"q{q}"] = {f"d{d}": int(rng.integers(0, 4)) for d in judged}
    qrels["q3"] = dict.fromkeys(qrels["q3"], 0)
    del qrels["q5"]
    return run, qrels


def write(tmp_path: Path, run: dict[str, Any], qrels: dict[str, Any]) -> tuple[Path, Path]:
    lines = [f"{q} Q0 {d} {r} {s} tag" for q, docs in run.items() for r, (d, s) in enumerate(docs.items())]
    (tmp_path / "run.trec").write_text("\n".join(lines) + "\n")
    lines = [f"{q} 0 {d} {g}" for q, docs in qrels.items() for d, g in docs.items()]
    (tmp_path / "qrels.txt").write_text("\n".join(lines) + "\n")
    return tmp_path / "run.trec", tmp_path / "qrels.txt"


# -- The metrics themselves


@pytest.mark.parametrize("k", [1, 5, 10, 50])
def test_metrics_of_the_full_corpus_agree_with_ir_measures(tmp_path: Path, k: int) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    from ir_measures import RR, P, R, Success, nDCG

    for seed in range(3):
        run, qrels = collection(seed)
        # Of RR with a cut-off they break ties in an order of their own; without one, as trec_eval does.
        first = {"rr": RR} if k == 50 else {}
        measures = {"precision": P @ k, "recall": R @ k, "ndcg": nDCG @ k, "hit": Success @ k, **first}
        theirs = ir_measures.calc_aggregate(list(measures.values()), qrels, run)
        for given in ((run, qrels), write(tmp_path, run, qrels)):
            for name, measure in measures.items():
                values = pivotal.value_retrieval(*given, k=k, metric=name)
                assert_allclose(values.full_utility, theirs[measure], atol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_reciprocal_ranks_without_ties_agree_with_ir_measures(k: int) -> None:
    ir_measures = pytest.importorskip("ir_measures")

    run, qrels = collection(6)
    run = {q: {d: float(s) for s, d in enumerate(docs)} for q, docs in run.items()}
    theirs = ir_measures.calc_aggregate([ir_measures.RR @ k], qrels, run)[ir_measures.RR @ k]
    assert_allclose(pivotal.value_retrieval(run, qrels, k=k, metric="rr").full_utility, theirs, atol=1e-12)


def test_levels_and_judged_documents_agree_with_ir_measures() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    from ir_measures import P, R, nDCG

    run, qrels = collection(4)
    theirs = ir_measures.calc_aggregate([P(rel=2) @ 5, R(rel=2) @ 5, nDCG(judged_only=True) @ 5], qrels, run)
    for game, measure in ((pivotal.Precision(level=2), P(rel=2) @ 5), (pivotal.Recall(level=2), R(rel=2) @ 5)):
        values = pivotal.value_retrieval(run, qrels, k=5, metric=game)
        assert_allclose(values.full_utility, theirs[measure], atol=1e-12)
    ignored = pivotal.value_retrieval(run, qrels, k=5, unjudged="ignore")
    assert_allclose(ignored.full_utility, theirs[nDCG(judged_only=True) @ 5], atol=1e-12)


@pytest.mark.filterwarnings("ignore")  # of ranx's own
def test_metrics_agree_with_ranx(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:  # its functions as they are written: to compile them takes half a minute
        patch.setattr("numba.core.config.DISABLE_JIT", 1)
        ranx = pytest.importorskip("ranx")

    rng = np.random.default_rng(1)
    run = {f"q{q}": {f"d{d}": float(s) for d, s in enumerate(rng.permutation(30))} for q in range(6)}
    qrels = {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(rng.integers(0, 4, 30)) if g} for q in range(6)}
    names = {
        "precision": "precision@7", "recall": "recall@7", "ndcg": "ndcg@7", "ndcg-exp": "ndcg_burges@7",
        "dcg": "dcg@7", "dcg-exp": "dcg_burges@7", "hit": "hit_rate@7", "rr": "mrr@7",
    }  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr("numba.core.config.DISABLE_JIT", 1)
        theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), list(names.values()))
    for ours, name in names.items():
        values = pivotal.value_retrieval(run, qrels, k=7, metric=ours)
        assert_allclose(values.full_utility, theirs[name], rtol=1e-12)


# -- Kinds of input


def test_files_mappings_and_arrays_are_the_same(tmp_path: Path) -> None:
    run, qrels = collection()
    named = pivotal.value_retrieval(run, qrels, k=5)
    filed = pivotal.value_retrieval(*write(tmp_path, run, qrels), k=5)
    assert_array_equal(filed.ids, named.ids)
    assert_array_equal(filed.values, named.values)
    documents = named.ids.tolist()
    lists = [[documents.index(d) for d in sorted(run[q], key=lambda d: (run[q][d], d), reverse=True)] for q in qrels]
    matrix = sparse.lil_array((len(qrels), len(documents)))
    for row, judged in enumerate(qrels.values()):
        for document, grade in judged.items():
            matrix[row, documents.index(document)] = grade
    numbered = pivotal.value_retrieval(lists, matrix.tocsr(), k=5)
    assert_array_equal(numbered.values, named.values)
    assert_array_equal(numbered.ids, np.arange(len(documents)))
    mixed = pivotal.value_retrieval(lists, qrels, k=5, documents=documents, query_ids=list(qrels))
    assert_array_equal(mixed.values, named.values)
    assert mixed.ids.tolist() == documents
    ordered = pivotal.value_retrieval(
        {q: [documents[d] for d in row] for q, row in zip(qrels, lists, strict=True)}, qrels, k=5
    )
    assert_array_equal(ordered.values, named.values)
    collections = {q: [d for d, g in judged.items() if g] for q, judged in qrels.items()}
    assert pivotal.value_retrieval(run, collections, k=5, metric="recall").full_utility == pytest.approx(
        pivotal.value_retrieval(run, qrels, k=5, metric="recall").full_utility
    )


def test_ties_are_broken_as_trec_eval_does() -> None:
    run = {"q": {"a": 1.0, "b": 1.0, "c": 2.0}}
    values = pivotal.value_retrieval(run, {"q": {"a": 1}}, k=2, metric="hit", semivalue="loo")
    assert values.full_utility == 0.0  # c, then b: of equals the later name is first
    assert values.values.tolist() == [0.0, -1.0, -1.0]


def test_beir_judgements_and_blank_fields(tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t-1\n")
    values = pivotal.value_retrieval({"q1": ["d2", "d1"]}, tmp_path / "test.tsv", k=1)
    assert values.values.tolist() == [0.5, -0.5]
    assert values.settings["judged_share"] == 1.0


def test_padding_is_no_document() -> None:
    ragged = pivotal.value_retrieval([[1, 0], [2]], [[1, 0, 0], [0, 0, 1]], k=1)
    padded = pivotal.value_retrieval(np.array([[1, 0], [2, -1]]), [[1, 0, 0], [0, 0, 1]], k=1, per_query=True)
    assert_array_equal(ragged.values, padded.values)
    assert padded.per_query is not None
    assert padded.per_query[[1]].indices.tolist() == [2]


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean"])
def test_embeddings_are_searched_exactly(similarity: Any) -> None:
    rng = np.random.default_rng(2)
    corpus, queries = rng.normal(size=(50, 4)), rng.normal(size=(6, 4))
    corpus[7] = corpus[3]  # a tie
    relevance = (rng.random((6, 50)) < 0.1).astype(int)
    if similarity == "cosine":
        unit = corpus / np.linalg.norm(corpus, axis=1, keepdims=True)
        score = (queries / np.linalg.norm(queries, axis=1, keepdims=True)) @ unit.T
    elif similarity == "dot":
        score = queries @ corpus.T
    else:
        score = -np.linalg.norm(queries[:, np.newaxis] - corpus, axis=2)
    lists = np.argsort(-np.round(score, 12), axis=1, kind="stable")
    found = pivotal.value_retrieval(corpus, relevance, k=3, queries=queries, similarity=similarity, tol=0)
    assert_allclose(found.values, pivotal.value_retrieval(lists, relevance, k=3, tol=0).values, atol=1e-15)
    short = search_rankings(corpus, queries, 5, similarity=similarity)
    assert_array_equal(short, lists[:, :5])


def test_retrievers_of_any_kind_are_asked() -> None:
    from sklearn.neighbors import NearestNeighbors

    rng = np.random.default_rng(3)
    corpus, queries = rng.normal(size=(40, 3)), rng.normal(size=(5, 3))
    relevance = sparse.csr_array(rng.random((5, 40)) < 0.2)
    expected = pivotal.value_retrieval(corpus, relevance, queries=queries, similarity="euclidean", k=3).values
    fitted = NearestNeighbors().fit(corpus)

    class Database:
        ntotal = 40

        def search(self, asked: Any, depth: int) -> Any:  # in the order of faiss
            return fitted.kneighbors(asked, depth)

    for retriever in (fitted, Database(), lambda q, depth: fitted.kneighbors(q, depth, return_distance=False)):
        found = pivotal.value_retrieval(retriever, relevance, queries=queries, k=3)
        assert_allclose(found.values, expected, atol=1e-15)
    with pytest.raises(ValueError, match="with no lists of documents"):
        pivotal.value_retrieval(lambda q, depth: np.zeros((len(q), depth)), relevance, queries=queries)
    with pytest.raises(ValueError, match="similarity must be one of"):
        pivotal.value_retrieval(corpus, relevance, queries=queries, similarity="jaccard")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="or an object with search"):
        pivotal.value_retrieval(7, relevance, queries=queries)


def test_bm25_lists_what_shares_a_term() -> None:
    pytest.importorskip("bm25s")
    texts = {"a": "cats chase mice", "b": "dogs chase cats and cats", "c": "nothing of the kind"}
    index = BM25(texts)
    assert index.search(["cats", "unknown words", "chase"], 3)[1].tolist() == [-1, -1]
    values = pivotal.value_retrieval(index, {"q1": {"a": 1}}, k=1, queries={"q1": "cats"}, metric="hit")
    assert values.ids.tolist() == ["a", "b", "c"]
    assert values.settings["rankings"] == "complete"
    assert values.error_bound is not None
    assert values.error_bound < 1e-12
    assert values.values[2] == 0.0


def test_groups_by_name_and_by_position() -> None:
    run, qrels = collection()
    values = pivotal.value_retrieval(run, qrels, k=3)
    sources = {document: f"site{int(document[1:]) % 3}" for document in values.ids.tolist()}
    by_name = pivotal.value_retrieval(run, qrels, k=3, groups=sources)
    by_place = pivotal.value_retrieval(run, qrels, k=3, groups=[sources[d] for d in values.ids.tolist()])
    assert by_name.equals(by_place)
    assert sorted(by_name.ids.tolist()) == ["site0", "site1", "site2"]
    del sources["d1"]
    with pytest.raises(ValueError, match="1 have none, such as 'd1'"):
        pivotal.value_retrieval(run, qrels, k=3, groups=sources)


# -- Blocks and threads


def test_blocks_and_threads_change_no_bit() -> None:
    run, qrels = collection()
    for metric in (NDCG(), pivotal.ReciprocalRank(), pivotal.BestOf(), NDCG() + pivotal.BestOf()):
        once = pivotal.value_retrieval(run, qrels, k=3, metric=metric, semivalue="shapley", n_jobs=1)
        cut = pivotal.value_retrieval(run, qrels, k=3, metric=metric, semivalue="shapley", n_jobs=2, block_size=2)
        assert_array_equal(once.values, cut.values)
        assert once.error_bound == cut.error_bound


# -- What is refused


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([[0, 0]], [[1, 0]]), "query 0 has document 0 twice"),
        (([[0, 2]], [[1, 0]]), "from 0 to 1, or -1 after the end"),
        ((np.array([[-1, 0]]), [[1, 0]]), "query 0 has documents after it"),
        (([["a"]], [[1]]), "Use a mapping of queries"),
        (([[0]], [[1], [0]]), "got 1 rankings and 2 rows of relevance"),
        (([[0]], [[np.nan]]), "relevance must be finite"),
        ((np.zeros((2, 2)), [[1, 0]] * 2), "Embeddings need queries="),
        (({"q": ["a"]}, {"r": {"a": 1}}), "no query of the rankings has judgements"),
        (([[0]], {"q": {"a": 1}}), "Pass documents="),
        (({"q": {"a": 1.0}, "r": ["a"]}, {"q": {"a": 1}}), "got both"),
        (({"q": {"a": np.inf}}, {"q": {"a": 1}}), "must be finite"),
        (([[0]], "missing.txt"), "missing.txt"),
    ],
)
def test_bad_input_is_named(given: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        pivotal.value_retrieval(*given)


def test_judgements_of_another_corpus_are_refused() -> None:
    corpus, queries = np.eye(3), np.eye(3)[:1]
    with pytest.raises(ValueError, match="'d1', and none of them is in it"):
        pivotal.value_retrieval(corpus, {"q": {"d1": 1}}, queries=queries, query_ids=["q"])
    named = pivotal.value_retrieval(corpus, {"q": {"d1": 1}}, queries={"q": [1.0, 0, 0]}, documents=["d0", "d1", "d2"])
    assert named.ids.tolist() == ["d0", "d1", "d2"]


def test_gzipped_files_are_read(tmp_path: Path) -> None:
    import gzip

    run, qrels = collection()
    plain = write(tmp_path, run, qrels)
    packed = [path.with_name(f"{path.name}.gz") for path in plain]
    for path, target in zip(plain, packed, strict=True):
        target.write_bytes(gzip.compress(path.read_bytes()))
    assert pivotal.value_retrieval(*packed).equals(pivotal.value_retrieval(*plain))


def test_bad_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    for text, message in (
        ("", "is empty"),
        ("q1 Q0 d1\n", "line 1: fewer than 5 columns"),
        ("q1 Q0 d1 1 high tag\n", "every score must be a finite number; got 'high'"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            pivotal.value_retrieval(path, {"q1": {"d1": 1}})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "map"}, "metric must be one of precision"),
        ({"unjudged": "skip"}, "unjudged must be 'irrelevant' or 'ignore'"),
        ({"no_relevant": "one"}, "no_relevant must be 'zero' or 'skip'"),
        ({"k": 0}, "k must be a"),
        ({"method": "coalition"}, "Did you mean 'coalitions'"),
        ({"method": "knn-shapley"}, "method must be one of 'auto', 'exact', 'coalitions', 'permutations'"),
        ({"method": pivotal.method("data-shapley")}, "got 'data-shapley'"),
        ({"method": 3}, "got 3"),
        ({"method": pivotal.method("exact", n_samples=9)}, "n_samples is for sampling"),
        ({"method": pivotal.method("auto", n_samples=1)}, "n_samples must be an integer of at least 2"),
        ({"method": pivotal.Coalitions(target_se=0.1), "per_query": True}, "omit per_query"),
        ({"query_weights": [1, 2, 3]}, "query_weights"),
        ({"groups": ["a"]}, "one entry per"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pivotal.value_retrieval([[0, 1]], [[1, 0]], **options)


@pytest.mark.parametrize("name", ["n_samples", "target_se", "max_time", "random_state"])
def test_parameters_of_a_method_go_with_it(name: str) -> None:
    options: Any = {name: 2}
    message = rf"{name} is a parameter of the method; .* Use method=pivotal\.Coalitions\({name}=2\)"
    for call in (pivotal.value_retrieval, study_retrieval):
        with pytest.raises(TypeError, match=message):
            call([[0, 1]], [[1, 0]], method="coalitions", **options)
    with pytest.raises(TypeError, match="takes no option 'n_sample'"):
        pivotal.value_retrieval([[0, 1]], [[1, 0]], n_sample=9)  # type: ignore[arg-type]


def test_a_method_is_a_name_a_text_or_an_object() -> None:
    lists, grades = [[0, 1, 2], [2, 1, 0]], [[1, 0, 0], [0, 2, 1]]
    for one, other in (
        ("exact", pivotal.Exact()),
        ("coalitions(n_samples=9, random_state=0)", pivotal.Coalitions(n_samples=9, random_state=0)),
        ("permutations(n_samples=9, random_state=0)", pivotal.Permutations(n_samples=9, random_state=0)),
    ):
        found = pivotal.value_retrieval(lists, grades, k=1, method=one)
        assert found.equals(pivotal.value_retrieval(lists, grades, k=1, method=other))
    kept = pivotal.value_retrieval(lists, grades, k=1, method=pivotal.Exact(per_query=True))
    assert kept.per_query is not None
    assert kept.equals(pivotal.value_retrieval(lists, grades, k=1, per_query=True))
