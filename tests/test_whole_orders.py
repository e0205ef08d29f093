"""Whole orders: sorted by scores and measured where it matters, the values are those of exact lists to the last bit."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import flat
import pivotal
from effort import examples
from pivotal.core.games import Hard, Plurality, Regression, Soft
from pivotal.core.semivalues import Shapley
from pivotal.core.spec import Spec
from pivotal.core.threads import Threads
from pivotal.engine.exact import Engine
from pivotal.engine.game_shape import GameShape
from pivotal.engine.truncation import NeighborVotes
from pivotal.engine.whole_orders import WholeOrders
from pivotal.kernels.radix import make_sorter, order_rows
from pivotal.neighbors import BruteIndex, orders_of

GAMES: list[Any] = ["soft", "soft-k", "hard", "plurality", Hard(tie="win"), Hard(other_classes="ignore")]


def hard_points(kind: str, n: int, d: int, seed: int) -> np.ndarray:
    """Points that rounding finds hard to tell apart, in one way or another."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if kind == "grid":
        X = rng.integers(-1, 2, (n, d)).astype(float)
    elif kind == "duplicates":
        X = np.repeat(X[: -(-n // 4)], 4, axis=0)[:n]
    elif kind == "far from the origin":
        X = X * 1e-3 + 1e6
    elif kind == "an outlier":
        X[-1] = 1e9
    elif kind == "large":
        X *= 1e138
    elif kind == "tiny":
        X *= 1e-150
    elif kind == "all the same":
        X = np.full((n, d), 0.1)
    elif kind == "steps of one unit in the last place":
        X = 1.0 + rng.integers(0, 4, (n, d)) * 2.0**-52
    elif kind == "zeros of either sign":
        X = np.where(rng.random((n, d)) < 0.5, -0.0, rng.choice([0.0, 1.0], (n, d)))
    elif kind == "denormal":
        X = rng.integers(-3, 4, (n, d)) * 2.0**-1074
    elif kind == "denormal beside one":
        X = np.where(rng.random((n, d)) < 0.8, rng.integers(-3, 4, (n, d)) * 2.0**-1074, 1.0)
    return X


KINDS = [
    "normal",
    "grid",
    "duplicates",
    "far from the origin",
    "an outlier",
    "large",
    "tiny",
    "all the same",
    "steps of one unit in the last place",
    "zeros of either sign",
    "denormal",
    "denormal beside one",
]


def ordered(
    index: BruteIndex, queries: Any, labels: np.ndarray, own: np.ndarray, *, n_codes: int = 0, **how: Any
) -> tuple:
    orders = orders_of(index, labels, n_codes, distances=how.pop("distances", False))
    assert orders is not None
    shape = queries.shape[0], index.n_train - int(own[0] >= 0)
    listed, indices = np.empty(shape, labels.dtype), np.empty(shape, np.int32)
    n_threads = how.pop("n_threads", 1)
    with Threads(n_threads) as threads:
        scratch = orders.scratch(shape[0], n_threads)
        scores = orders.scores(orders.place(index.rows(queries), own), scratch, threads)
    return listed, indices, order_rows(scores, orders.words, make_sorter(index.n_train), listed, indices)


@given(
    st.sampled_from(KINDS),
    st.integers(2, 90),
    st.integers(1, 6),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from(["euclidean", "sqeuclidean"]),
    st.integers(0, 10**6),
)
@examples(150)
def test_the_order_is_that_of_exact_distances(
    kind: str, n: int, d: int, itself: bool, dtype: type, metric: str, seed: int
) -> None:
    X = hard_points(kind, n, d, seed)
    if dtype is np.float32 and kind in ("large", "tiny", "denormal", "denormal beside one"):
        kind, X = "normal", hard_points("normal", n, d, seed)
    X = X.astype(dtype)
    index = BruteIndex(X, metric)
    n_queries = min(n, 7)
    rng = np.random.default_rng(seed)
    queries = X[:n_queries] if itself else (X[rng.integers(0, n, n_queries)] * dtype(1.5)).astype(dtype)
    own = np.arange(n_queries) if itself else np.full(n_queries, -1)
    exact = index.search_self(0, n_queries, n - 1)[0] if itself else index.search(queries, n)[0]
    labels = rng.integers(0, 3, n).astype(np.int32)
    for how in ({"n_codes": 3}, {}, {"n_codes": 3, "distances": True}):  # labels in the words, looked up, measured
        listed, indices, _ = ordered(index, queries, labels, own, **how)
        np.testing.assert_array_equal(indices, exact)
        np.testing.assert_array_equal(listed, labels[exact])


METRICS: list[tuple[str, dict]] = [
    ("cosine", {}),
    ("manhattan", {}),
    ("chebyshev", {}),
    ("minkowski", {"p": 3}),
    ("canberra", {}),
    ("precomputed", {}),
]


@given(
    st.sampled_from(KINDS),
    st.sampled_from(METRICS),
    st.integers(2, 70),
    st.integers(1, 5),
    st.booleans(),
    st.booleans(),
    st.integers(0, 10**6),
)
@examples(120)
def test_the_order_of_any_metric_is_that_of_a_search(
    kind: str, metric: tuple[str, dict], n: int, d: int, itself: bool, distances: bool, seed: int
) -> None:
    name, params = metric
    X = hard_points(kind, n, d, seed)
    if kind == "large" and name == "minkowski":
        X = X * 1e-100  # third powers overflow
    rng = np.random.default_rng(seed)
    X[rng.integers(0, n)] = 0.0  # without direction
    n_queries = min(n, 7)
    queries = X[:n_queries] if itself else X[rng.integers(0, n, n_queries)] * 1.5
    if name == "precomputed":
        X, queries = np.abs(X @ X.T * 0.5), np.abs(queries @ X.T)
        if not np.isfinite(X).all() or not np.isfinite(queries).all():
            return
        queries = X[:n_queries] if itself else queries
    index = BruteIndex(X, name, metric_params=params)
    own = np.arange(n_queries) if itself else np.full(n_queries, -1)
    exact = index.search_self(0, n_queries, n - 1)[0] if itself else index.search(queries, n)[0]
    labels = rng.integers(0, 3, n).astype(np.int32)
    _, indices, _ = ordered(index, queries, labels, own, n_codes=3, distances=distances)
    np.testing.assert_array_equal(indices, exact)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("itself", [True, False], ids=["self-valuation", "test set"])
def test_sparse_points_are_ordered_as_a_search_orders_them(metric: str, itself: bool) -> None:
    X = sparse.random_array((80, 12), density=0.2, rng=np.random.default_rng(7), format="csr")
    X.data = np.round(X.data * 3.0)
    index = BruteIndex(X, metric)
    queries, own = X[:9], np.arange(9) if itself else np.full(9, -1)
    exact = index.search_self(0, 9, 79)[0] if itself else index.search(queries, 80)[0]
    labels = np.random.default_rng(7).integers(0, 2, 80).astype(np.int32)
    np.testing.assert_array_equal(ordered(index, queries, labels, own, n_codes=2)[1], exact)


@pytest.mark.parametrize("score_bits", [40, 58])
@pytest.mark.parametrize("n_codes", [2, 300])
def test_labels_that_do_not_fit_into_words_are_looked_up(
    score_bits: int, n_codes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pivotal.kernels.radix._SCORE_BITS", score_bits)
    rng = np.random.default_rng(9)
    index, labels = BruteIndex(rng.integers(0, 4, (500, 3)) * 1.0), rng.integers(0, n_codes, 500).astype(np.int32)
    queries, own = rng.normal(size=(6, 3)), np.full(6, -1)
    listed, indices, _ = ordered(index, queries, labels, own, n_codes=n_codes)
    np.testing.assert_array_equal(indices, index.search(queries, 500)[0])
    np.testing.assert_array_equal(listed, labels[indices])


def test_points_are_measured_only_where_rounding_could_change_their_order() -> None:
    rng = np.random.default_rng(0)
    index, own = BruteIndex(rng.normal(size=(3000, 8))), np.full(5, -1)
    queries, labels = rng.normal(size=(5, 8)), rng.integers(0, 2, 3000).astype(np.int32)
    assert ordered(index, queries, labels, own)[2] == 0
    assert ordered(index, queries, labels, own, n_codes=2)[2] == 0
    grid = BruteIndex(rng.integers(0, 3, (3000, 4)).astype(float))
    assert ordered(grid, queries[:, :4], labels, own)[2] > 10_000


@pytest.mark.kernels
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "prepared again"])
@pytest.mark.parametrize("itself", [True, False])
@pytest.mark.parametrize(("n", "d", "largest"), [(300, 3, 1), (700, 70, 255), (600, 131, 361), (300, 70, 2001)])
def test_small_integers_are_ordered_without_measuring(
    n: int, d: int, largest: int, itself: bool, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of larger ones single precision would round the sums; they are measured where it matters, as fractions are."""
    if not kept:
        monkeypatch.setattr("pivotal.neighbors._orders._KEPT_BYTES", 0)
    rng = np.random.default_rng(n + d)
    X = rng.choice([0, largest], (n, d), p=[0.1, 0.9]).astype(float)
    X[::5] = rng.integers(0, largest + 1, X[::5].shape)
    X[:2] = 0.0  # the centre is far away
    X[n // 2 :] = X[: n - n // 2]
    labels, own = rng.integers(0, 2, n).astype(np.int32), np.arange(4) if itself else np.full(4, -1)
    fractions, almost = X[:4].copy(), X[:4].copy()
    fractions[2, 0] += 0.25
    almost[0, 0] = 2.0**-70  # which is lost where the centre is subtracted
    index = BruteIndex(X.astype(np.float32) if n == 700 else X)
    for queries in (X[:4], X[:4] + np.array([[1.0], [0.0], [-1.0], [0.0]]), fractions):
        indices, measured = ordered(index, queries, labels, own, n_codes=2)[1:]
        assert (measured == 0) == (queries is not fractions and largest < 2001)
        distances = ((X.astype(np.longdouble) - queries[:, None].astype(np.longdouble)) ** 2).sum(axis=2)
        for q, found in enumerate(indices):
            expected = np.argsort(distances[q], kind="stable")
            np.testing.assert_array_equal(found, expected[expected != own[q]])
    assert ordered(index, almost, labels, own, n_codes=2)[2] > 0


@pytest.mark.parametrize("n", [2**18 + 5, 2**22 + 3])
def test_more_points_take_wider_words(n: int) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 1)).astype(np.float32)
    X[-1000:] = X[:1000]
    labels = rng.integers(0, 2, n).astype(np.int32)
    index, query = BruteIndex(X), rng.normal(size=(1, 1))
    listed, indices, _ = ordered(index, query, labels, np.array([-1]), n_codes=2)
    distances = np.abs(X[:, 0].astype(np.float64) - query[0])
    exact = np.argsort(distances, kind="stable")
    np.testing.assert_array_equal(indices[0], exact)
    np.testing.assert_array_equal(listed[0], labels[exact])


def test_points_too_many_to_be_kept_in_double_are_centred_tile_by_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    index = BruteIndex(rng.normal(size=(2500, 5)) + 100.0)
    queries, labels, own = rng.normal(size=(3, 5)) + 100.0, np.zeros(2500, np.int32), np.full(3, -1)
    whole = ordered(index, queries, labels, own)[1]
    monkeypatch.setattr("pivotal.neighbors._orders._KEPT_BYTES", 0)
    np.testing.assert_array_equal(ordered(index, queries, labels, own)[1], whole)


@pytest.mark.kernels
@pytest.mark.parametrize(("n", "d", "n_queries"), [(1, 1, 1), (255, 3, 3), (257, 4, 5), (700, 66, 9), (530, 131, 4)])
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "prepared again"])
def test_scores_are_within_their_bound_whatever_is_made_up(
    n: int, d: int, n_queries: int, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiles, features and queries that are made up to whole multiples leave no trace; nor do threads."""
    if not kept:
        monkeypatch.setattr("pivotal.neighbors._orders._KEPT_BYTES", 0)
    monkeypatch.setattr("pivotal.neighbors._orders._BREATH", 1)  # a tile at a time
    rng = np.random.default_rng(n)
    X, queries, labels = rng.normal(size=(n, d)) + 3.0, rng.normal(size=(n_queries, d)), np.zeros(n, np.int32)
    orders, made = orders_of(BruteIndex(X), labels, 1), []
    assert orders is not None
    for n_threads in (1, 3):
        with Threads(n_threads) as threads:
            scratch = orders.scratch(n_queries + 3, n_threads)
            scores = orders.scores(orders.place(queries, np.full(n_queries, -1)), scratch, threads)
        made.append(scores.made.copy())
    np.testing.assert_array_equal(made[0], made[1])
    place = np.uint64(64 - orders.words.score_bits)
    tails = (made[0] & ((np.uint64(1) << place) - np.uint64(1))) >> np.uint64(orders.words.label_bits)
    np.testing.assert_array_equal(tails, [range(n)] * n_queries)
    exact = ((X.astype(np.longdouble) - queries[:, None].astype(np.longdouble)) ** 2).sum(axis=2)
    for row, truth, gap in zip((made[0] >> place).astype(np.int64), exact, scores.gaps, strict=True):
        order = np.argsort(row)
        row, farthest = row[order], np.maximum.accumulate(truth[order])
        sure = np.searchsorted(row, row - gap)  # so many points are nearer beyond doubt
        assert (farthest[sure[sure > 0] - 1] <= truth[order][sure > 0]).all()
        assert n < 9 or (sure > 0).sum() >= n - 2  # and that are nearly all that there are


# --- values ---------------------------------------------------------------------------------------------------------


def by_lists_and_fused(X: np.ndarray, y: np.ndarray, test: tuple | None, **how: Any) -> tuple:
    """The same values from lists of neighbours, and without them."""
    results = []
    for refused in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if refused:
                patch.setattr("pivotal.valuation.batch.Batch._count_whole_orders", lambda *_: False)
            else:  # and it is the other way that is looked at
                patch.setattr("pivotal.valuation.batch.Batch._count", None)
            model = flat.KNNValuation(**{"n_jobs": 1, **how}).fit(X, y)
            results.append(model.update(*test).result_ if test else model.update().result_)
    return tuple(results)


def assert_same(fused: pivotal.Values, listed: pivotal.Values) -> None:
    np.testing.assert_array_equal(fused.values, listed.values)
    assert fused.full_utility == listed.full_utility
    assert fused.empty_utility == listed.empty_utility
    assert fused.error_bound == listed.error_bound
    assert fused.details["depth"] == listed.details["depth"]


@pytest.mark.parametrize("game", [*GAMES, "regression"], ids=str)
@pytest.mark.parametrize("semivalue", ["shapley", "beta(4,1)", "beta(1,4)"])
@pytest.mark.parametrize("itself", [True, False], ids=["self-valuation", "test set"])
@pytest.mark.parametrize("kind", ["normal", "grid", "duplicates"])
def test_values_are_those_of_lists_to_the_last_bit(game: Any, semivalue: str, itself: bool, kind: str) -> None:
    rng = np.random.default_rng(3)
    X = hard_points(kind, 150, 3, 3)
    y = rng.integers(0, 3, 150) if game != "regression" else rng.integers(0, 9, 150) / 4
    test = None if itself else (X[:20] * 1.1, y[:20])
    listed, fused = by_lists_and_fused(X, y, test, k=4, utility=game, semivalue=semivalue)
    assert_same(fused, listed)


@pytest.mark.parametrize("game", GAMES, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_points_of_one_label_are_in_their_true_order_as_well(game: Any, n_classes: int) -> None:
    """Pairs of points on either side of a query, which rounding of their scores puts in either order."""
    rng = np.random.default_rng(18)
    query, steps = rng.normal(size=3), rng.normal(size=(2000, 3))
    X, y = np.concatenate([query + steps, query - steps]), np.tile(rng.integers(0, n_classes, 2000), 2)
    test = query[np.newaxis], np.zeros(1, np.int64)
    assert_same(*reversed(by_lists_and_fused(X, y, test, k=4, utility=game, semivalue="shapley")))


WEIGHTED: list[Any] = ["hard", "soft", Hard(other_classes="ignore"), Hard(tie="win"), "regression"]


@pytest.mark.parametrize("game", WEIGHTED, ids=str)
@pytest.mark.parametrize("itself", [True, False], ids=["self-valuation", "test set"])
@pytest.mark.parametrize("kind", ["normal", "grid", "duplicates"])
@pytest.mark.parametrize(("weights", "metric"), [("distance", "euclidean"), ("rbf", "cosine")])
def test_weighted_values_are_those_of_lists(game: Any, itself: bool, kind: str, weights: str, metric: str) -> None:
    rng = np.random.default_rng(13)
    X = hard_points(kind, 24, 3, 13)
    y = rng.integers(0, 3, 24) if game != "regression" else rng.integers(0, 9, 24) / 4
    test = None if itself else (X[:9] * 1.1, y[:9], rng.random(9))
    how = {"weights": weights, "bits": 3, "metric": metric, "semivalue": "shapley"}
    assert_same(*reversed(by_lists_and_fused(X, y, test, k=3, utility=game, **how)))


@pytest.mark.parametrize(
    "how", [{"utility": "soft-k"}, {"utility": "hard"}, {"utility": "soft", "weights": "distance"}]
)
@pytest.mark.parametrize("itself", [True, False], ids=["self-valuation", "test set"])
@pytest.mark.parametrize("kind", ["normal", "grid", "duplicates"])
@pytest.mark.parametrize("n_labels", [2, 12], ids=["few kinds of points", "every point of its own kind"])
def test_values_of_many_labels_are_those_of_lists(how: dict, itself: bool, kind: str, n_labels: int) -> None:
    rng = np.random.default_rng(17)
    n = 24 if n_labels == 2 else 16  # each of many labels takes a pass
    X, y = hard_points(kind, n, 3, 17), rng.integers(0, 2, (n, n_labels))
    test = None if itself else (X[:12] * 1.1, y[:12], rng.random(12))
    listed, fused = by_lists_and_fused(X, y, test, k=3, bits=3, semivalue="shapley", **how)
    assert_same(fused, listed)
    other = flat.KNNValuation(k=3, bits=3, semivalue="shapley", n_jobs=3, block_size=7, **how).fit(X, y)
    np.testing.assert_array_equal((other.update(*test) if test else other.update()).result_.values, fused.values)


@pytest.mark.parametrize("game", ["soft-k", "hard", "plurality", "regression"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("max_memory", [None, "1kB"], ids=["all", "the largest"])
def test_values_of_single_queries_are_those_of_lists(game: str, metric: str, weights: str, max_memory: Any) -> None:
    if weights == "distance" and game in ("plurality", "soft-k"):
        pytest.skip("takes one vote each")
    rng = np.random.default_rng(14)
    X, y = hard_points("grid", 36, 3, 14), rng.integers(0, 3, 36)
    how: dict[str, Any] = {"k": 3, "utility": game, "semivalue": "shapley", "metric": metric, "weights": weights}
    how |= {"per_query": True, "bits": 3, "max_memory": max_memory}
    listed, fused = by_lists_and_fused(X, y, (X[:15], y[:15]), **how)
    assert_same(fused, listed)
    assert fused.queries == listed.queries
    if weights == "uniform" and game != "regression":  # every point has a value: not all of them fit
        assert (fused.queries.largest_dropped > 0) == (max_memory is not None)
    one = flat.KNNValuation(**{**how, "n_jobs": 3, "block_size": 4}).fit(X, y).update(X[:15], y[:15]).result_
    assert one.queries == listed.queries


@pytest.mark.parametrize("game", [*GAMES, "regression"], ids=str)
@pytest.mark.parametrize("metric", ["cosine", "manhattan", "precomputed"])
@pytest.mark.parametrize("itself", [True, False], ids=["self-valuation", "test set"])
@pytest.mark.parametrize("kind", ["grid", "duplicates", "an outlier"])
def test_values_of_any_metric_are_those_of_lists(game: Any, metric: str, itself: bool, kind: str) -> None:
    rng = np.random.default_rng(15)
    X, y = hard_points(kind, 90, 3, 15), rng.integers(0, 3, 90)
    queries = X[:20] * 1.1
    if metric == "precomputed":
        queries, X = np.abs(queries @ X.T), np.abs(X @ X.T)
    test = None if itself else (queries, y[:20])
    listed, fused = by_lists_and_fused(X, y, test, k=4, utility=game, semivalue="shapley", metric=metric)
    assert_same(fused, listed)


@pytest.mark.parametrize("game", [*GAMES, "regression"], ids=str)
@pytest.mark.parametrize("itself", [True, False], ids=["self-valuation", "test set"])
def test_lists_that_a_tolerance_cuts_short_are_those_of_a_search(game: Any, itself: bool) -> None:
    rng = np.random.default_rng(8)
    X, y = hard_points("grid", 150, 3, 8), rng.integers(0, 2, 150)
    test = None if itself else (X[:20] * 1.1, y[:20])
    listed, fused = by_lists_and_fused(X, y, test, k=4, utility=game, semivalue="shapley", tol=0.06)
    np.testing.assert_array_equal(fused.values, listed.values)
    assert fused.error_bound == listed.error_bound
    assert fused.details["depth"] == listed.details["depth"] < 149


@given(
    st.sampled_from(KINDS),
    st.integers(2, 60),
    st.integers(1, 4),
    st.integers(2, 5),
    st.sampled_from([*GAMES, "regression"]),
    st.booleans(),
    st.integers(1, 9),
    st.integers(0, 10**6),
)
@examples(80)
def test_values_of_hard_points_are_those_of_lists(
    kind: str, n: int, d: int, n_classes: int, game: Any, itself: bool, k: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X = hard_points(kind, n, d, seed)
    y = rng.integers(0, n_classes, n) if game != "regression" else rng.normal(size=n)
    test = None if itself else (X[: n // 2 + 1], y[: n // 2 + 1])
    how = {"k": k, "utility": game, "semivalue": "shapley", "classes": range(5) if game != "regression" else None}
    listed, fused = by_lists_and_fused(X, y, test, **how)
    np.testing.assert_array_equal(fused.values, listed.values)


@pytest.mark.parametrize("game", ["soft", "hard", "plurality", "regression"])
def test_threads_blocks_and_batches_change_no_bit(game: str) -> None:
    rng = np.random.default_rng(4)
    X, queries = rng.normal(size=(700, 5)).astype(np.float32), rng.normal(size=(90, 5)).astype(np.float32)
    y, targets = rng.integers(0, 4, 700), rng.integers(0, 4, 90)
    weights = rng.random(90)
    how: dict[str, Any] = {"k": 5, "utility": game, "semivalue": "shapley"}
    one = flat.KNNValuation(n_jobs=1, **how).fit(X, y).update(queries, targets, weights).result_
    for n_jobs, block_size in ((2, None), (3, 1), (5, 7), (1, 64)):
        model = flat.KNNValuation(n_jobs=n_jobs, block_size=block_size, **how).fit(X, y)
        model.update(queries[:33], targets[:33], weights[:33]).update(queries[33:], targets[33:], weights[33:])
        np.testing.assert_array_equal(model.result_.values, one.values)
        assert model.result_.full_utility == one.full_utility


def test_rows_that_wait_do_not_change_the_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    before = pivotal.value(X, y, k=3, utility="soft", semivalue="shapley").values
    monkeypatch.setattr("pivotal.engine.whole_orders._ROWS_BYTES", 8 * 300 * 5)
    monkeypatch.setattr("pivotal.engine.whole_orders._ENTRIES_AT_ONCE", 700)
    np.testing.assert_array_equal(pivotal.value(X, y, k=3, utility="soft", semivalue="shapley").values, before)


@pytest.mark.parametrize(
    "how",
    [
        {"utility": "soft-k"},
        {"utility": "hard"},
        {"utility": "plurality"},
        {"utility": "regression"},
        {"utility": Hard(other_classes="ignore")},
        {"utility": "soft-k", "metric": "cosine"},
        {"utility": "soft-k", "metric": "manhattan"},
        {"utility": "hard", "weights": "distance", "bits": 1, "k": 1, "n": 150},  # slow by its nature
        {"utility": "soft-k", "per_query": True, "max_memory": "40kB"},
    ],
    ids=str,
)
def test_memory_does_not_grow_with_the_queries(how: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """No array has an entry for every query and point: not even one of bytes."""
    rng = np.random.default_rng(16)
    n, few, many = how.get("n", 1000), 60, 460
    # What is held at once is full with the few.
    monkeypatch.setattr("pivotal.engine.whole_orders._ROWS_BYTES", 8 * 32 * n)
    monkeypatch.setattr("pivotal.engine.whole_orders._ENTRIES_AT_ONCE", 16 * n)
    monkeypatch.setattr("pivotal.engine.whole_orders._BLOCK_ENTRIES", 2**17)
    settings = {"k": 5, "semivalue": "shapley", "n_jobs": 1, **how}
    settings.pop("n", None)
    X, y = rng.normal(size=(n, 3)), rng.integers(0, 3, n)
    queries, targets = rng.normal(size=(many, 3)), rng.integers(0, 3, many)
    peaks = []
    for count in (few, few, many):  # the first compiles
        model = flat.KNNValuation(**settings).fit(X, y)
        tracemalloc.start()
        model.update(queries[:count], targets[:count])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] - peaks[1] < n * (many - few) // 2


def test_who_goes_by_lists() -> None:
    rng = np.random.default_rng(6)
    X, labels = rng.normal(size=(50, 2)), rng.integers(0, 2, 50).astype(np.int32)

    def engine(game: Any, semivalue: Any = Shapley(), **more: Any) -> Engine:  # noqa: B008
        spec = Spec.of(k=3, utility=game, semivalue=semivalue, tol=more.get("tol", 1e-16))
        return Engine(spec, labels, GameShape(50, 2, 50, more.get("largest_vote")))

    def goes(engine: Engine, index: Any) -> bool:
        spec = Spec.of(k=3, utility=Hard(), semivalue=Shapley())
        return WholeOrders.of(engine, index, NeighborVotes(engine, spec, n_players=50), 1) is not None

    index = BruteIndex(X)
    for game in (Hard(), Soft(), Plurality()):
        assert goes(engine(game), index)
        assert goes(engine(game), BruteIndex(X, "manhattan"))
    assert goes(engine(Hard(), largest_vote=7), index)
    assert goes(engine(Hard(), tol=0.2), index)
    assert not goes(engine(Hard(), tol=0.9), index)
    assert not goes(engine(Hard()), pivotal.neighbors.TreeIndex(X, "kd_tree", "euclidean"))
    assert Regression().task == "regression"
