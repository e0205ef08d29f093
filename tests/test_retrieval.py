"""Values of documents equal full enumeration, for every metric, semivalue and kind of input."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import pivotal
from pivotal import NDCG, BestOf, Hit, Recall
from pivotal.core.games import RetrievalGame, as_retrieval_game
from retrieval_reference import METRICS, document_values, player_values

SEMIVALUES = {
    "banzhaf": ("banzhaf",),
    "banzhaf(0.2)": ("banzhaf", Fraction(1, 5)),
    "banzhaf(1.0)": ("banzhaf", Fraction(1)),
    "shapley": ("shapley",),
    "beta(4,1)": ("beta", 4, 1),
    "beta(2,3)": ("beta", 2, 3),
    "loo": ("loo",),
}


def draw(rng: np.random.Generator, n: int, n_queries: int = 4) -> tuple[Any, Any]:
    """Rankings of all documents and grades 0 to 3; the last query has none that is relevant."""
    lists = np.array([rng.permutation(n) for _ in range(n_queries)])
    grades = rng.integers(0, 4, size=(n_queries, n)) * (rng.random((n_queries, n)) < 0.6)
    grades[-1] = 0
    return lists, grades


def expected(lists: Any, grades: Any, k: int, metric: str, semivalue: str) -> Any:
    total = np.zeros(grades.shape[1])
    for ranking, judged in zip(lists, grades, strict=True):
        found = document_values(judged[ranking].tolist(), judged.tolist(), k, METRICS[metric], SEMIVALUES[semivalue])
        total[ranking] += found
    return total / len(lists)


@pytest.mark.kernels
@pytest.mark.parametrize("semivalue", SEMIVALUES)
@pytest.mark.parametrize("metric", METRICS)
def test_values_equal_enumeration(metric: str, semivalue: str) -> None:
    rng = np.random.default_rng(len(metric) + 100 * len(semivalue))
    for n, k in [(1, 1), (2, 3), (5, 1), (6, 2), (7, 3), (7, 10)]:
        lists, grades = draw(rng, n)
        values = pivotal.value_retrieval(lists, grades, k=k, metric=metric, semivalue=semivalue, tol=0)
        assert_allclose(values.values, expected(lists, grades, k, metric, semivalue), atol=1e-13)
        full = [METRICS[metric](g[r].tolist(), g.tolist(), k) for r, g in zip(lists, grades, strict=True)]
        assert_allclose(values.full_utility, np.mean(full), atol=1e-14)
        assert values.error_bound is not None
        assert values.error_bound < 1e-12


def test_real_grades_have_as_many_levels_as_they_like() -> None:
    rng = np.random.default_rng(7)
    grades = rng.random((3, 6)) * (rng.random((3, 6)) < 0.7)
    lists = np.array([rng.permutation(6) for _ in range(3)])
    for metric in ("best", "ndcg", "dcg-exp", "hit"):
        values = pivotal.value_retrieval(lists, grades, k=2, metric=metric, semivalue="shapley", tol=0)
        assert_allclose(values.values, expected(lists, grades, 2, metric, "shapley"), atol=1e-13)


@pytest.mark.parametrize("metric", METRICS)
def test_shapley_values_sum_to_the_metric(metric: str) -> None:
    rng = np.random.default_rng(1)
    lists, grades = draw(rng, 40, 6)
    values = pivotal.value_retrieval(lists, grades, k=5, metric=metric, semivalue="shapley", tol=0)
    assert values.full_utility is not None
    assert_allclose(values.values.sum(), values.full_utility, rtol=1e-12)


@pytest.mark.parametrize("level", [1, 2, 2.5])
def test_a_level_says_what_is_relevant(level: float) -> None:
    rng = np.random.default_rng(2)
    lists, grades = draw(rng, 6)
    binary = (grades >= level).astype(int)
    for cls in (pivotal.Precision, pivotal.Recall, pivotal.Hit, pivotal.ReciprocalRank):
        levelled = pivotal.value_retrieval(lists, grades, k=2, metric=cls(level=level))
        plain = pivotal.value_retrieval(lists, binary, k=2, metric=cls())
        assert_array_equal(levelled.values, plain.values)


def test_definitions_in_fractions_agree_with_the_reference() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        n, k = int(rng.integers(0, 6)), int(rng.integers(1, 6))
        grades, judged = rng.integers(0, 4, n).tolist(), [*rng.integers(0, 4, 5).tolist(), 0]
        for name, metric in METRICS.items():
            game = as_retrieval_game(name)
            exact = game.utility(grades, None, grades + judged, (), k)
            assert isinstance(exact, Fraction)
            assert_allclose(float(exact), metric(grades, grades + judged, k), rtol=1e-14)
            labels, targets = np.array([[*grades, 0]]), np.array([grades + judged])
            assert_allclose(game.full_utility(labels, None, targets, 0, k), float(exact), rtol=1e-14)


# -- Truncation


@pytest.mark.parametrize("semivalue", ["banzhaf", "shapley", "beta(4,1)", "loo", "banzhaf(0.2)"])
@pytest.mark.parametrize("metric", METRICS)
def test_the_error_bound_holds_for_short_lists(metric: str, semivalue: str) -> None:
    rng = np.random.default_rng(4)
    wrong = 0
    for k in (1, 2, 3):
        lists, grades = draw(rng, 7)
        whole = expected(lists, grades, k, metric, semivalue)
        for depth in (1, 2, 4, 6):
            values = pivotal.value_retrieval(lists[:, :depth], grades, k=k, metric=metric, semivalue=semivalue, tol=0)
            away = np.abs(values.values - whole).max()
            assert away <= values.error_bound + 1e-13
            wrong += away > 1e-9
    assert wrong or semivalue == "loo"  # short lists do cost something


def test_lists_that_hold_every_relevant_document_cost_nothing() -> None:
    lists, grades = np.array([[0, 1, 2, 3, 4, 5]]), np.array([[0, 1, 2, 0, 0, 0]])
    short = pivotal.value_retrieval(lists[:, :3], grades, k=2, semivalue="shapley", tol=0)
    whole = pivotal.value_retrieval(lists, grades, k=2, semivalue="shapley", tol=0)
    assert_allclose(short.values, whole.values, atol=1e-15)
    assert short.error_bound is not None
    assert short.error_bound < 1e-13
    missing = pivotal.value_retrieval(lists[:, :2], grades, k=2, semivalue="shapley", tol=0)
    assert missing.error_bound is not None
    assert missing.error_bound > 0.1


def test_complete_lists_have_nothing_behind_them() -> None:
    lists, grades = [[0, 1], [2], []], np.array([[0, 1, 1], [1, 0, 1], [1, 1, 1]])
    values = pivotal.value_retrieval(lists, grades, k=1, metric="recall", complete=True, tol=0)
    total = np.zeros(3)
    for ranking, judged in zip(lists, grades, strict=True):
        found = document_values([judged[d] for d in ranking], judged.tolist(), 1, METRICS["recall"], ("banzhaf",))
        for document, value in zip(ranking, found, strict=True):
            total[document] += value / 3
    assert_allclose(values.values, total, atol=1e-14)
    assert values.error_bound is not None
    assert values.error_bound < 1e-13
    beginnings = pivotal.value_retrieval(lists, grades, k=1, metric="recall", tol=0)
    assert beginnings.error_bound is not None
    assert beginnings.error_bound > 0.1


def test_banzhaf_needs_a_depth_that_does_not_grow_with_the_corpus() -> None:
    rng = np.random.default_rng(5)
    lists = np.array([rng.permutation(3000) for _ in range(5)])
    grades = sparse.random_array((5, 3000), density=0.05, rng=rng, format="csr")
    cut = pivotal.value_retrieval(lists, grades, k=10)
    whole = pivotal.value_retrieval(lists, grades, k=10, tol=0)
    assert cut.settings["depth"] == 95
    assert pivotal.value_retrieval(lists[:, :1000], grades, k=10).settings["depth"] == 95
    assert cut.error_bound is not None
    assert np.abs(cut.values - whole.values).max() <= cut.error_bound
    assert cut.error_bound < 1e-13


@pytest.mark.parametrize("metric", ["ndcg", "rr", "hit", "best", "recall"])
@pytest.mark.parametrize(
    ("semivalue", "law"),
    [(pivotal.Shapley(), ("shapley",)), (pivotal.Banzhaf(0.001), ("banzhaf", Fraction(0.001)))],
)
def test_long_lists_agree_with_fractions(metric: str, semivalue: Any, law: Any) -> None:
    # Sums over all counts of members, in fractions, for documents at chosen ranks of ten thousand.
    from reference import mass

    n, k, places = 10_000, 3, [0, 4, 5000, 9998]
    grades = np.zeros(n)
    grades[places] = [1, 2, 1, 3]
    lists = np.arange(n)[np.newaxis]
    values = pivotal.value_retrieval(
        lists, sparse.csr_array(grades[np.newaxis]), k=k, metric=metric, semivalue=semivalue, tol=0
    )
    if metric == "recall":  # own place minus those pushed out behind, in exact arithmetic
        from math import comb

        for i in (9998, 9000, 4999, 3):
            own = sum(comb(i, s) * mass(law, s, i - s) for s in range(k)) if grades[i] > 0 else Fraction(0)
            pushed = sum(comb(m - 1, k - 1) * mass(law, k, m - k) for m in places if m > i and m >= k)
            assert_allclose(values.values[i], float((own - pushed) / 4), rtol=1e-11, atol=1e-300)
    assert values.full_utility is not None
    if isinstance(semivalue, pivotal.Shapley):
        assert_allclose(values.values.sum(), values.full_utility, rtol=1e-10)
    assert np.isfinite(values.values).all()


# -- Mixtures


def test_a_mixture_has_the_mixed_values() -> None:
    rng = np.random.default_rng(6)
    lists, grades = draw(rng, 8)
    mixed = pivotal.value_retrieval(lists, grades, k=3, metric=0.25 * NDCG() + 2 * Hit() - Recall(level=2), tol=0)
    parts = [
        pivotal.value_retrieval(lists, grades, k=3, metric=game, tol=0) for game in (NDCG(), Hit(), Recall(level=2))
    ]
    assert_allclose(mixed.values, 0.25 * parts[0].values + 2 * parts[1].values - parts[2].values, atol=1e-15)
    assert parts[0].full_utility is not None
    assert mixed.settings["utility"] == "0.25 * ndcg + 2 * hit + -1 * Recall(level=2)"


def test_mixtures_of_short_lists_have_a_bound_that_holds() -> None:
    rng = np.random.default_rng(8)
    lists, grades = draw(rng, 7)
    game = NDCG() - 3 * Hit()
    short = pivotal.value_retrieval(lists[:, :3], grades, k=2, metric=game, tol=0)
    whole = pivotal.value_retrieval(lists, grades, k=2, metric=game, tol=0)
    assert short.error_bound is not None
    assert 1e-3 < np.abs(short.values - whole.values).max() <= short.error_bound


# -- Groups


@pytest.mark.kernels
@pytest.mark.parametrize("semivalue", ["banzhaf", "shapley", "beta(4,1)", "loo"])
@pytest.mark.parametrize("metric", METRICS)
def test_groups_equal_enumeration(metric: str, semivalue: str) -> None:
    rng = np.random.default_rng(9)
    for n, n_groups, k in [(8, 3, 2), (9, 5, 3), (6, 6, 10)]:
        lists, grades = draw(rng, n)
        owners = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, n - n_groups)])
        values = pivotal.value_retrieval(lists, grades, k=k, metric=metric, semivalue=semivalue, groups=owners)
        total = np.zeros(n_groups)
        for ranking, judged in zip(lists, grades, strict=True):
            total += player_values(
                owners[ranking],
                n_groups,
                judged[ranking].tolist(),
                judged.tolist(),
                k,
                METRICS[metric],
                SEMIVALUES[semivalue],
            )
        assert values.settings["method"] == "exact"
        assert_allclose(values.values, total / len(lists), atol=1e-13)


@pytest.mark.parametrize("metric", ["ndcg", "hit", "best"])
def test_the_error_bound_of_groups_holds_for_short_lists(metric: str) -> None:
    rng = np.random.default_rng(10)
    wrong = 0
    for depth, k, semivalue in itertools.product([1, 3, 5, 7], [1, 3], ["banzhaf", "shapley"]):
        lists, grades = draw(rng, 9)
        owners = rng.integers(0, 4, 9)
        owners[:4] = np.arange(4)
        short = pivotal.value_retrieval(
            lists[:, :depth], grades, k=k, metric=metric, semivalue=semivalue, groups=owners
        )
        whole = pivotal.value_retrieval(lists, grades, k=k, metric=metric, semivalue=semivalue, groups=owners)
        away = np.abs(short.values - whole.values).max()
        assert short.error_bound is not None
        assert away <= short.error_bound
        wrong += away > 1e-9
    assert wrong


def test_groups_of_one_are_documents() -> None:
    rng = np.random.default_rng(11)
    lists, grades = draw(rng, 9)
    for game in (NDCG(), 0.5 * BestOf() + Hit()):
        apart = pivotal.value_retrieval(lists, grades, k=2, metric=game, tol=0)
        alone = pivotal.value_retrieval(lists, grades, k=2, metric=game, groups=[f"s{i}" for i in range(9)])
        assert_allclose(alone.values, apart.values, atol=1e-14)
        assert alone.ids[0] == "s0"


# -- Sampling


@pytest.mark.parametrize("method", ["coalitions", "permutations"])
@pytest.mark.parametrize("semivalue", ["banzhaf", "shapley", "beta(2,3)"])
def test_samples_surround_the_exact_values(method: str, semivalue: str) -> None:
    rng = np.random.default_rng(12)
    lists, grades = draw(rng, 12)
    for game in (NDCG(), BestOf(), 0.5 * Hit() + 0.5 * Recall()):
        for owners in (None, np.arange(12) % 5):
            exact = pivotal.value_retrieval(lists, grades, k=3, metric=game, semivalue=semivalue, groups=owners, tol=0)
            found = pivotal.value_retrieval(
                lists, grades, k=3, metric=game, semivalue=semivalue, groups=owners, tol=0,
                method=pivotal.method(method, n_samples=2000, random_state=1),
            )  # fmt: skip
            assert found.standard_error is not None
            z = (found.values - exact.values) / np.maximum(found.standard_error, 1e-12)
            assert np.abs(z).max() < 4.5
            assert (found.standard_error < 0.03 * max(1.0, float(grades.max()))).all()


def test_many_groups_are_sampled() -> None:
    rng = np.random.default_rng(13)
    lists, grades = draw(rng, 60)
    few = pivotal.method("auto", n_samples=50, random_state=0)
    values = pivotal.value_retrieval(lists, grades, k=10, groups=np.arange(60) // 2, method=few)
    assert values.settings["method"] == "coalitions"
    assert values.standard_error is not None


# -- Queries by themselves


def test_rows_average_to_the_values() -> None:
    rng = np.random.default_rng(14)
    lists, grades = draw(rng, 9)
    values = pivotal.value_retrieval(lists[:, :6], grades, k=3, per_query=True, query_weights=[1, 2, 3, 4])
    assert values.per_query is not None
    assert_allclose(np.array([1, 2, 3, 4]) @ values.per_query.toarray() / 10, values.values, atol=1e-15)


def test_explanations_name_documents_and_grades(tmp_path: Any) -> None:
    run = {"how to boil eggs": ["ad", "eggs", "timer"], "other": ["timer", "ad"]}
    qrels = {"how to boil eggs": {"eggs": 2, "timer": 1}, "other": {"ad": 1}}
    values = pivotal.value_retrieval(run, qrels, k=1, per_query=True)
    words = str(values.explain("how to boil eggs"))
    assert "(how to boil eggs) finds 0 relevant among its first 1" in words
    assert "Against: document ad (grade 0)" in words
    assert "document eggs (grade 2)" in words
    assert str(values.explain(0)) == words
    with pytest.raises(ValueError, match="or the name of a query; got 'nothing'"):
        values.explain("nothing")
    values.save(tmp_path / "values.parquet")
    again = pivotal.Values.load(tmp_path / "values.parquet")
    assert again.equals(values)
    assert str(again.explain(1)) == str(values.explain(1))


# -- What is not judged, and queries without an answer


def test_unjudged_documents_are_irrelevant_or_left_out() -> None:
    run = {"q": ["a", "b", "c", "d"]}
    qrels = {"q": {"b": 0, "c": 1, "d": 1}}
    counted = pivotal.value_retrieval(run, qrels, k=2, metric="ndcg", tol=0)
    ignored = pivotal.value_retrieval(run, qrels, k=2, metric="ndcg", unjudged="ignore", tol=0)
    assert_allclose(counted.values, document_values([0, 0, 1, 1], [0, 1, 1], 2, METRICS["ndcg"], ("banzhaf",)))
    assert_allclose(ignored.values[1:], document_values([0, 1, 1], [0, 1, 1], 2, METRICS["ndcg"], ("banzhaf",)))
    assert ignored.values[0] == 0
    assert counted.settings["judged_share"] == 0.5


def test_queries_without_a_relevant_document_count_as_zero_or_not_at_all() -> None:
    run = {"q": ["a", "b"], "r": ["b", "a"], "s": ["a"], "not judged": ["a"]}
    qrels = {"q": {"a": 1}, "r": {"a": 0}, "t": {"b": 1}}
    zero = pivotal.value_retrieval(run, qrels, k=1, metric="hit")
    skip = pivotal.value_retrieval(run, qrels, k=1, metric="hit", no_relevant="skip")
    assert (zero.n_queries, skip.n_queries) == (3, 2)  # t is judged and finds nothing
    assert zero.full_utility == pytest.approx(1 / 3)
    assert skip.full_utility == pytest.approx(1 / 2)
    assert zero.settings["queries_without_judgements"] == 2
    assert zero.settings["queries_without_relevant"] == 1


def test_the_base_class_is_a_game() -> None:
    assert issubclass(RetrievalGame, pivotal.Game)
    with pytest.raises(ValueError, match="which is one of classification"):
        pivotal.value_retrieval([[0]], [[1]], metric=pivotal.Hard())
    with pytest.raises(ValueError, match="level must be a grade above 0"):
        Recall(level=0)
    with pytest.raises(ValueError, match="Use metric='ndcg' and k=5"):
        pivotal.value_retrieval([[0]], [[1]], metric="ndcg@5")
