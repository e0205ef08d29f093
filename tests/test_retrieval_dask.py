"""Rankings on Dask have the same values to the last bit as rankings in memory: documents, groups, exact, sampled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import pivotal

da = pytest.importorskip("dask.array")

RNG = np.random.default_rng(5)
LISTS = np.array([RNG.permutation(50)[:20] for _ in range(30)])
RELEVANCE = sparse.csr_array(RNG.integers(0, 3, (30, 50)) * (RNG.random((30, 50)) < 0.3))
GROUPS = [f"site{i % 4}" for i in range(50)]
MANY = [f"site{i % 25}" for i in range(50)]


@pytest.mark.parametrize(
    "options",
    [
        {"metric": "ndcg", "per_query": True},
        {"metric": "rr", "semivalue": "shapley"},
        {"metric": pivotal.NDCG() + 2 * pivotal.BestOf(), "complete": True},
        {"no_relevant": "skip", "query_weights": np.arange(30.0)},
        {"unjudged": "ignore", "per_query": True},
        {"groups": GROUPS, "per_query": True},
        {"groups": GROUPS, "unjudged": "ignore", "no_relevant": "skip", "semivalue": "shapley"},
        {"groups": MANY, "k": 10, "method": pivotal.method("auto", n_samples=60, random_state=3)},
        {"method": pivotal.Permutations(n_samples=40, random_state=1), "semivalue": "shapley"},
        {"method": pivotal.Coalitions(target_se=0.02, random_state=1), "unjudged": "ignore"},
        {"method": pivotal.Coalitions(n_samples=20, random_state=1), "per_query": True},
    ],
    ids=lambda options: "-".join(map(str, options)),
)
def test_dask_gives_the_same_bits(options: dict[str, Any]) -> None:
    options = {"k": 4, **options}
    relevance = RELEVANCE.copy()
    relevance.data[relevance.indptr[7] : relevance.indptr[8]] = 0  # a query without a relevant document
    here = pivotal.value_retrieval(LISTS, relevance, **options)
    there = pivotal.value_retrieval(da.from_array(LISTS, chunks=(7, 6)), relevance, **options)
    assert there.equals(here)
    assert 0.0 < there.settings["judged_share"] < 1.0
    if options.get("per_query"):
        assert str(there.explain(3)) == str(here.explain(3))


def test_rankings_on_dask_may_have_names_and_queries_that_are_not_judged() -> None:
    names = [f"d{i}" for i in range(50)]
    qrels = {q: {names[d]: int(RELEVANCE[q, d]) for d in range(0, 50, 3)} for q in range(0, 30, 2)}
    here = pivotal.value_retrieval(LISTS, qrels, k=4, documents=names)
    there = pivotal.value_retrieval(da.from_array(LISTS, chunks=(7, 20)), qrels, k=4, documents=names)
    assert there.equals(here)
    assert there.n_queries == 15


def test_samples_stop_in_time_on_dask() -> None:
    lists = da.from_array(LISTS, chunks=(7, 20))
    values = pivotal.value_retrieval(lists, RELEVANCE, k=4, method=pivotal.Coalitions(max_time=0.2, random_state=0))
    assert values.standard_error is not None
    assert values.settings["n_samples"][0] >= 2


def test_lists_that_are_wrong_are_named() -> None:
    bad = LISTS.copy()
    bad[11, 1] = bad[11, 0]
    with pytest.raises(ValueError, match="query 11 has document"):
        pivotal.value_retrieval(da.from_array(bad, chunks=(7, 20)), RELEVANCE, k=4)


@pytest.mark.cluster
def test_workers_are_other_processes() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        for options in ({}, {"groups": GROUPS}, {"method": pivotal.Coalitions(n_samples=20, random_state=1)}):
            here = pivotal.value_retrieval(LISTS, RELEVANCE, k=4, **options)
            there = pivotal.value_retrieval(da.from_array(LISTS, chunks=(7, 6)), RELEVANCE, k=4, **options)
            assert there.equals(here)
