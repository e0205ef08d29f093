"""Training points that change: after any edits the values are those of a fresh computation."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import flat
import pivotal
from effort import examples
from pivotal.engine.editing.neighbor_lists import NeighborLists

LABELS = ["ant", "bee", "cow"]


class Mirror:
    """A model that is edited, and beside it the bare points, to be valued afresh."""

    def __init__(self, X: Any, y: Any, queries: Any, targets: Any, **how: Any) -> None:
        self.how = how
        self.X, self.y = np.asarray(X, dtype=float), list(y)
        self.queries = None if queries is None else np.asarray(queries, dtype=float)
        self.targets = None if targets is None else list(targets)
        self.model = flat.KNNValuation(editable=True, n_jobs=1, **how).fit(self.X, self.y)
        if self.queries is None:
            self.model.update()
        else:
            self.model.update(self.queries, self.targets)

    def relabel(self, point: int, label: Any) -> None:
        self.y[point] = label
        self.model.relabel(point, label)

    def add(self, X: Any, y: Any) -> None:
        self.X, self.y = np.concatenate([self.X, X]), self.y + list(y)
        self.model.add(X, y)

    def remove(self, points: list[int]) -> None:
        self.X = np.delete(self.X, points, axis=0)
        self.y = [label for i, label in enumerate(self.y) if i not in points]
        self.model.remove(points)

    def ask(self, queries: Any, targets: Any) -> None:
        self.queries = np.concatenate([self.queries, queries])
        self.targets += list(targets)
        self.model.update(queries, targets)

    def drop(self, queries: list[int]) -> None:
        self.queries = np.delete(self.queries, queries, axis=0)
        self.targets = [label for i, label in enumerate(self.targets) if i not in queries]
        self.model.drop_queries(queries)

    def check(self) -> None:
        if self.queries is not None and len(self.queries) == 0:
            with pytest.raises(AttributeError, match="no values before the first query"):
                self.model.values_  # noqa: B018
            return
        asked = () if self.queries is None else (self.queries, self.targets)
        classes = self.how.get("utility") != "regression"
        if classes and asked and len(self.y) >= 10 and not set(self.y) & set(self.targets):
            # Edits may lead here step by step; a new call with such a test set is a mistake more often than not.
            with pytest.raises(ValueError, match="none of them is known"):
                flat.value(self.X, self.y, *asked, n_jobs=1, **self.how)
            return
        fresh = flat.value(self.X, self.y, *asked, n_jobs=1, **self.how)
        edited = self.model.result_
        spread = 1.0 if self.how.get("utility") != "regression" else 1000.0
        np.testing.assert_allclose(edited.values, fresh.values, rtol=0, atol=1e-12 * spread)
        np.testing.assert_allclose(edited.values, self.model.values_, rtol=0, atol=0)
        assert edited.full_utility == pytest.approx(fresh.full_utility, abs=1e-12 * spread)
        assert edited.empty_utility == pytest.approx(fresh.empty_utility, abs=1e-12 * spread)
        assert edited.error_bound == pytest.approx(fresh.error_bound, rel=1e-9)
        assert edited.n_queries == fresh.n_queries
        told = {"n_players", "n_classes", "self_valuation"}
        assert edited.settings == fresh.settings
        assert {name: edited.details[name] for name in told} == {name: fresh.details[name] for name in told}
        if edited.queries is not None and fresh.queries is not None:
            np.testing.assert_allclose(edited.per_query.toarray(), fresh.per_query.toarray(), rtol=0, atol=1e-12)


# --------------------------------------------------------------------------------------------- random edits

# Few places, so that duplicates and equal distances are common.
PLACES = st.lists(st.integers(0, 4), min_size=2, max_size=2)
SETTINGS: list[dict[str, Any]] = [
    {"k": 1},
    {"k": 2, "tol": 1e-2},
    {"k": 3, "tol": 1e-1, "utility": "soft"},
    {"k": 2, "utility": "plurality", "semivalue": "shapley"},
    {"k": 2, "tol": 0.2, "weights": "rbf"},
    {"k": 1, "weights": "distance", "utility": "soft", "bits": 3},
    {"k": 2, "utility": pivotal.Hard(other_classes="ignore"), "tol": 0.1},
    {"k": 1, "classes": [*LABELS, "dog"], "tol": 0.1},
    {"k": 2, "metric": "manhattan", "tol": 0.1},
    {"k": 2, "metric": "cosine", "tol": 0.1},
    {"k": 1, "per_query": True, "tol": 0.1},
]


@st.composite
def edits(draw: st.DrawFn, mirror: Mirror, n_steps: int) -> None:
    """Play some edits, comparing after each."""
    for _ in range(n_steps):
        kinds = ["relabel", "add", "remove"] + ([] if mirror.queries is None else ["ask", "drop"])
        kind = draw(st.sampled_from(kinds))
        labels = st.sampled_from(LABELS)
        n = len(mirror.y)
        if kind == "relabel":
            mirror.relabel(draw(st.integers(0, n - 1)), draw(labels))
        elif kind == "add":
            rows = draw(st.lists(PLACES, min_size=1, max_size=3))
            mirror.add(np.array(rows, dtype=float), [draw(labels) for _ in rows])
        elif kind == "remove" and n > 3:
            mirror.remove(draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n - 2, unique=True)))
        elif kind == "ask":
            known = sorted(set(mirror.y) | set(mirror.targets))
            rows = draw(st.lists(PLACES, min_size=1, max_size=3))
            mirror.ask(np.array(rows, dtype=float), [draw(st.sampled_from(known)) for _ in rows])
        elif kind == "drop" and mirror.targets:
            m = len(mirror.targets)
            mirror.drop(draw(st.lists(st.integers(0, m - 1), min_size=1, max_size=m, unique=True)))
        mirror.check()


@pytest.mark.parametrize("how", SETTINGS, ids=str)
@examples(12)
@given(data=st.data())
def test_edits_are_a_fresh_computation(how: dict[str, Any], data: st.DataObject) -> None:
    n, m = data.draw(st.integers(3, 40)), data.draw(st.integers(0, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    X, y = rng.integers(0, 5, (n, 2)), rng.choice(LABELS, n)
    asked = (rng.integers(0, 5, (m, 2)), rng.choice(np.unique(y), m)) if m else (None, None)
    mirror = Mirror(X, y, *asked, **how)
    mirror.check()
    data.draw(edits(mirror, 4))


def test_regression_after_edits() -> None:
    rng = np.random.default_rng(0)
    how = {"utility": "regression", "k": 2, "tol": 0.01}
    mirror = Mirror(rng.normal(size=(30, 2)), rng.normal(size=30), rng.normal(size=(5, 2)), rng.normal(size=5), **how)
    mirror.relabel(3, 9.0)
    mirror.check()
    mirror.add(rng.normal(size=(4, 2)), [1.0, -20.0, 3.0, 0.0])
    mirror.check()
    mirror.remove([3, 31])
    mirror.check()


@pytest.mark.parametrize("utility", ["hard", "soft", "plurality"])
def test_a_class_that_comes_and_goes_changes_every_query(utility: str) -> None:
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(60, 2)), rng.choice(LABELS, 60)
    mirror = Mirror(X, y, rng.normal(size=(9, 2)), rng.choice(LABELS, 9), k=1, tol=1e-2, utility=utility)
    assert mirror.model.result_.details["depth"] < 20  # so that most queries do not reach the point
    mirror.relabel(5, "dog")
    mirror.check()
    mirror.add(rng.normal(size=(1, 2)), ["elk"])
    mirror.check()
    mirror.remove([5])
    mirror.check()
    mirror.relabel(59, "ant")
    mirror.check()
    assert mirror.model.result_.details["n_classes"] == 3


def test_many_edits_do_not_drift() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(120, 2)), rng.choice(LABELS, 120)
    mirror = Mirror(X, y, rng.normal(size=(20, 2)), rng.choice(LABELS, 20), k=2, tol=1e-3)
    for step in range(150):
        mirror.relabel(int(rng.integers(len(mirror.y))), rng.choice(LABELS))
        if step % 3 == 0:
            mirror.add(rng.normal(size=(1, 2)), rng.choice(LABELS, 1))
            mirror.remove([int(rng.integers(len(mirror.y)))])
    mirror.check()


def test_a_metric_that_is_estimated_from_the_points() -> None:
    rng = np.random.default_rng(10)
    how = {"metric": "seuclidean", "weights": "distance", "k": 1, "bits": 3, "tol": 1e-2}
    X, y = rng.normal(size=(40, 2)), rng.choice(LABELS, 40)
    mirror = Mirror(X, y, rng.normal(size=(5, 2)), rng.choice(LABELS, 5), **how)
    mirror.add([[50.0, 0.0]], ["ant"])
    mirror.check()
    mirror.remove([40])
    mirror.check()


def test_sparse_points_are_edited_alike() -> None:
    rng = np.random.default_rng(2)
    X, y = sparse.random(40, 6, density=0.4, random_state=3, format="csr"), rng.choice(LABELS, 40)
    model = flat.KNNValuation(k=2, tol=1e-2, editable=True, n_jobs=1).fit(X[:35], y[:35])
    model.update(X[:9], y[:9]).add(X[35:].toarray(), y[35:]).remove([0, 7])
    kept = np.setdiff1d(np.arange(40), [0, 7])
    fresh = pivotal.value(X[kept], y[kept], X[:9], y[:9], k=2, tol=1e-2, n_jobs=1)
    np.testing.assert_allclose(model.values_, fresh.values, rtol=0, atol=1e-12)


def test_weights_of_queries_stay_with_them() -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(50, 2)), rng.choice(LABELS, 50)
    queries, targets, loud = rng.normal(size=(6, 2)), rng.choice(LABELS, 6), np.arange(1.0, 7.0)
    model = flat.KNNValuation(k=2, tol=1e-2, editable=True, n_jobs=1).fit(X, y)
    model.update(queries, targets, query_weights=loud).relabel(4, "cow").drop_queries([1])
    y[4] = "cow"
    others = [0, 2, 3, 4, 5]
    fresh = pivotal.KNNValuation(k=2, tol=1e-2, n_jobs=1).fit(X, y)
    fresh.update(queries[others], targets[others], query_weights=loud[others])
    np.testing.assert_allclose(model.values_, fresh.values_, rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------------ only what must be done


class Falling:
    """Weights of the user's that know how many queries asked for them, and that can be told to fail."""

    def __init__(self) -> None:
        self.n_asked, self.fails = 0, False

    def __call__(self, distances: Any) -> Any:
        if self.fails:
            raise KeyboardInterrupt
        self.n_asked += len(distances)
        return 1.0 / (1.0 + distances)


def test_only_queries_that_reach_the_point_are_valued_again() -> None:
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 1000.0])
    y, queries, targets = rng.choice(LABELS, 200), X[::4] + 0.1, rng.choice(LABELS, 50)
    falling = Falling()
    model = flat.KNNValuation(k=1, tol=1e-6, weights=falling, bits=2, editable=True, n_jobs=1).fit(X, y)
    before = model.update(queries, targets).values_
    assert falling.n_asked == 51  # one query twice, the second time alone, which must make no difference
    model.relabel(150, "cow" if y[150] != "cow" else "ant")
    assert 51 < falling.n_asked <= 77
    np.testing.assert_array_equal(before[:100], model.values_[:100])
    falling.n_asked = 0
    model.add([[5000.0, 5000.0]], ["ant"]).remove(200)
    assert falling.n_asked == 0


def test_lists_that_run_short_are_searched_again() -> None:
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(90, 2)), rng.choice(LABELS, 90)
    mirror = Mirror(X, y, rng.normal(size=(3, 2)), ["ant", "bee", "cow"], k=1, tol=1e-3)
    nearest = np.argsort(((X - mirror.queries[0]) ** 2).sum(axis=1))
    mirror.remove(nearest[:40].tolist())
    mirror.check()


def test_an_interruption_loses_no_edit() -> None:
    rng, falling = np.random.default_rng(8), Falling()
    X, y = rng.normal(size=(60, 2)), list(rng.choice(LABELS, 60))
    how = {"k": 1, "tol": 1e-2, "weights": falling, "bits": 2}
    mirror = Mirror(X, y, rng.normal(size=(8, 2)), rng.choice(LABELS, 8), **how)
    for edit in (
        lambda: mirror.relabel(5, "dog"),
        lambda: mirror.add(rng.normal(size=(2, 2)), ["bee", "elk"]),
        lambda: mirror.remove([60, 3]),
        lambda: mirror.ask(rng.normal(size=(3, 2)), ["bee", "ant", "dog"]),
    ):
        falling.fails = True
        with pytest.raises(KeyboardInterrupt):
            edit()
        falling.fails = False
        mirror.check()


class Flaky:
    """A metric that fails once it is told to."""

    def __init__(self) -> None:
        self.calls_left = 10**9

    def __call__(self, one: Any, other: Any) -> float:
        self.calls_left -= 1
        if self.calls_left < 0:
            raise KeyboardInterrupt
        return float(np.abs(one - other).sum())


def test_blocks_that_were_searched_before_an_interruption_stay() -> None:
    rng, metric = np.random.default_rng(11), Flaky()
    X, y = rng.normal(size=(20, 2)), rng.choice(LABELS, 20)
    queries, targets = rng.normal(size=(6, 2)), rng.choice(LABELS, 6)
    model = flat.KNNValuation(k=1, metric=metric, editable=True, block_size=2, n_jobs=1).fit(X, y)
    metric.calls_left = 20 * 4 + 5
    with pytest.raises(KeyboardInterrupt):
        model.update(queries, targets)
    metric.calls_left = 10**9
    assert model.n_queries_ == 4
    fresh = pivotal.value(X, y, queries[:4], targets[:4], k=1, metric="manhattan", n_jobs=1)
    np.testing.assert_allclose(model.values_, fresh.values, rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------------------------ ids and names


def test_one_label_serves_many_points() -> None:
    X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"]
    model = flat.KNNValuation(k=1, editable=True).fit(X, y).update([[0.2]], ["a"]).relabel([0, 2], "b")
    fresh = pivotal.value(X, ["b"] * 4, [[0.2]], ["a"], k=1)
    np.testing.assert_allclose(model.values_, fresh.values, rtol=0, atol=1e-15)


def test_ids_stay_with_their_points() -> None:
    X, y = [[0.0], [1.0], [2.0]], ["a", "b", "a"]
    model = flat.KNNValuation(k=1, editable=True).fit(X, y).update([[0.2]], ["a"])
    model.remove(0).add([[3.0], [4.0]], ["a", "b"])
    assert model.result_.ids.tolist() == [1, 2, 3, 4]
    model.remove([2]).add([[9.0]], ["a"])
    assert model.result_.ids.tolist() == [1, 2, 4, 5]


def test_named_points_are_joined_by_named_points() -> None:
    import pandas as pd

    X = pd.DataFrame({"x": [0.0, 1.0]}, index=["p", "q"])
    model = flat.KNNValuation(k=1, editable=True).fit(X, ["a", "b"]).update(X, ["a", "b"])
    model.add(pd.DataFrame({"x": [2.0]}, index=["r"]), ["b"])
    assert model.result_.ids.tolist() == ["p", "q", "r"]
    model = flat.KNNValuation(k=1, editable=True).fit([[0.0], [1.0]], ["a", "b"], ids=["p", "q"])
    with pytest.raises(ValueError, match=r"new points need ids.*got none"):
        model.update([[0.0]], ["a"]).add([[2.0]], ["b"])


def test_the_model_can_be_pickled() -> None:
    model = flat.KNNValuation(k=1, editable=True).fit([[0.0], [1.0], [2.0]], [0, 1, 1]).update()
    again = pickle.loads(pickle.dumps(model))
    again.relabel(2, 0)
    model.relabel(2, 0)
    np.testing.assert_array_equal(again.values_, model.values_)


# --------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda m: m.relabel(9, "a"), r"points must be training indices from 0 to 2; got 9"),
        (lambda m: m.relabel([0, 0], ["a", "b"]), "each training index once; got 0 twice"),
        (lambda m: m.relabel([], []), "at least one; got shape"),
        (lambda m: m.relabel(0.5, "a"), "got shape .* and dtype float64"),
        (lambda m: m.relabel([0, 1], ["a"]), "must have the same length; got 2 rows and 1 labels"),
        (lambda m: m.relabel(0, None), "must have a label for every point"),
        (lambda m: m.add([[1.0, 2.0]], ["a"]), "2 features"),
        (lambda m: m.add([[1.0]], ["a", "b"]), "must have the same length"),
        (lambda m: m.add([[float("nan")]], ["a"]), "NaN"),
        (lambda m: m.add([[1.0]], ["a"], ids=["x", "y"]), "ids must have one entry per training point"),
        (lambda m: m.remove([0, 1, 2]), "at least 1 training point must stay; got 3 of 3"),
        (lambda m: m.remove(-1), "from 0 to 2; got -1"),
        (lambda m: m.drop_queries(7), "queries must be query indices from 0 to 0; got 7"),
        (lambda m: m.update(), "queries once"),
    ],
)
def test_edits_that_make_no_sense(edit: Any, message: str) -> None:
    model = flat.KNNValuation(k=1, editable=True).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"]).update([[0.2]], ["a"])
    before = model.values_
    with pytest.raises(ValueError, match=message):
        edit(model)
    np.testing.assert_array_equal(model.values_, before)


def test_a_label_set_that_is_fixed_takes_no_new_label() -> None:
    model = flat.KNNValuation(k=1, editable=True, classes=["a", "b"]).fit([[0.0], [1.0]], ["a", "b"])
    model.update([[0.2]], ["a"])
    with pytest.raises(ValueError, match="labels known from training; got 'c'"):
        model.relabel(0, "c")


def test_edits_must_be_asked_for_in_time() -> None:
    with pytest.raises(ValueError, match=r"add changes .* got no queries yet"):
        flat.KNNValuation(k=1, editable=True).fit([[0.0], [1.0]], ["a", "b"]).add([[2.0]], ["a"])


def test_points_that_query_each_other() -> None:
    model = flat.KNNValuation(k=1, editable=True).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"]).update()
    with pytest.raises(ValueError, match="drop_queries is for queries of a test set"):
        model.drop_queries(0)
    with pytest.raises(ValueError, match="queries once"):
        model.update()
    with pytest.raises(ValueError, match="at least 2 training points must stay; got 2 of 3"):
        model.remove([0, 1])
    with pytest.raises(ValueError, match="count the same; got weights"):
        flat.KNNValuation(k=1, editable=True).fit([[0.0], [1.0]], ["a", "b"]).update(query_weights=[1.0, 2.0])
    with pytest.raises(ValueError, match="at least two points; got 1"):
        flat.KNNValuation(k=1, editable=True).fit([[0.0]], ["a"]).update()


@pytest.mark.parametrize(
    ("how", "received"),
    [
        ({"method": "coalitions"}, "method='coalitions'"),
        ({"utility": "threshold(1.0)"}, "utility='threshold"),
        ({"metric": "precomputed"}, "metric='precomputed'"),
        ({"neighbors": pivotal.neighbors.BruteIndex([[0.0, 1.0], [1.0, 0.0]])}, "neighbors="),
    ],
)
def test_what_cannot_be_edited(how: dict[str, Any], received: str) -> None:
    with pytest.raises(ValueError, match=f"EditableKNNValuation needs .*{received}"):
        flat.KNNValuation(k=1, editable=True, **how).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])


# ------------------------------------------------------------------------------------------------------- lists


@pytest.mark.kernels
@examples(30)
@given(data=st.data())
def test_lists_follow_points_that_come_and_go(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(2, 9)), data.draw(st.integers(1, 4))
    rows = np.array(data.draw(st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=m, max_size=m)))
    length = data.draw(st.integers(1, n))

    def nearest(distances: Any, count: int) -> tuple[Any, Any]:
        order = np.argsort(distances, axis=1, kind="stable")[:, :count]
        return order, np.take_along_axis(distances, order, 1).astype(float)

    near = NeighborLists.of(*nearest(rows, length))
    new = np.array(data.draw(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), min_size=m, max_size=m)))
    order, distances = nearest(new, 2)
    near = near.joined_by(order + n, distances, n, length + 1)
    rows = np.concatenate([rows, new], axis=1)
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=n + 2, max_size=n + 2)))
    near, rows = near.without(gone), rows[:, ~gone]
    for query in range(m):
        known = near.lengths[query]
        indices, distances = nearest(rows[query : query + 1], known)
        np.testing.assert_array_equal(near.indices[query, :known], indices[0])
        np.testing.assert_array_equal(near.distances[query, :known], distances[0])
        assert (near.indices[query, known:] == -1).all()
        assert np.isinf(near.distances[query, known:]).all()
