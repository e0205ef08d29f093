"""Selections: what was asked for is kept, the objective rises, and what is said of them is true."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import flat
import pivotal
from pivotal.analysis.selection import _confirmation, _exchange_search, _likeness, _surroundings
from pivotal.analysis.selection._select import METHODS
from pivotal.analysis.selection._wishes import as_number, class_quotas
from pivotal.core.config import Resources

QUICK = {"n_trees": 10, "n_jobs": 1}


@pytest.fixture(scope="module")
def noisy():
    """Three clusters, one label in eight wrong."""
    X, y = make_blobs(160, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    rng = np.random.default_rng(1)
    wrong = rng.choice(160, 20, replace=False)
    given = y.copy()
    given[wrong] = (given[wrong] + 1) % 3
    return X, given, y, wrong


def test_a_selection_of_any_size_has_that_size(noisy):
    X, y, _, _ = noisy
    for size, n in ((7, 7), (0.1, 16), ("25%", 40), (160, 160), (1.0, 160)):
        found = pivotal.select(X, y, size, **QUICK)
        assert len(found) == n == found.mask.sum()
        assert (np.diff(found.indices) > 0).all()
        assert found.n_rows == 160
        assert found.share == n / 160


def test_wrong_labels_are_not_selected_and_unseen_rows_are_predicted(noisy):
    X, given, _, wrong = noisy
    found = pivotal.select(X, given, 12, **QUICK)
    assert not np.isin(found.indices, wrong).any()
    fresh, labels = make_blobs(300, centers=[[0, 0], [6, 0], [0, 6]], random_state=7)
    model = KNeighborsClassifier(3).fit(X[found.indices], given[found.indices])
    assert model.score(fresh, labels) > 0.97


def test_the_objective_rises_and_is_what_it_says(noisy):
    X, y, _, _ = noisy
    found = pivotal.select(X, y, 15, n_trees=0, n_jobs=1, passes=5)
    facts = found.facts
    before = facts["utility_at_start"] - facts["discrepancy_at_start"]
    assert facts["utility"] - facts["discrepancy"] >= before
    assert facts["exchanges"] > 0
    # The utility by hand: the soft vote of the nearest selected others, averaged over one to five of them.
    apart = np.linalg.norm(X[:, np.newaxis] - X[found.indices], axis=2)
    apart[found.indices, np.arange(15)] = np.inf
    right = (y[found.indices][np.argsort(apart, axis=1)[:, :5]] == y[:, np.newaxis]).astype(float)
    by_hand = np.mean([right[:, :k].mean(axis=1) for k in range(1, 6)])
    assert facts["utility"] == pytest.approx(by_hand, abs=1e-12)


def test_the_same_seed_selects_the_same_and_threads_do_not_matter(noisy):
    X, y, _, _ = noisy
    one = pivotal.select(X, y, 20, n_trees=10, n_jobs=1, random_state=3)
    two = pivotal.select(X, y, 20, n_trees=10, n_jobs=2, random_state=3)
    assert one == two
    assert one != pivotal.select(X, y, 21, **QUICK)
    assert one != "a selection"


def test_rows_that_must_be_in_and_rows_that_must_not(noisy):
    X, y, _, wrong = noisy
    free = pivotal.select(X, y, 12, **QUICK).indices
    found = pivotal.select(X, y, 12, include=wrong[:3], exclude=free[:4], **QUICK).indices
    assert np.isin(wrong[:3], found).all()
    assert not np.isin(free[:4], found).any()
    assert len(found) == 12
    mask = np.zeros(160, bool)
    mask[free[:4]] = True
    np.testing.assert_array_equal(pivotal.select(X, y, 12, include=wrong[:3], exclude=mask, **QUICK).indices, found)
    all_five = pivotal.select(X, y, 5, include=np.arange(5), **QUICK).indices
    np.testing.assert_array_equal(all_five, np.arange(5))


@pytest.mark.parametrize(
    ("quotas", "counts"),
    [("data", [16, 8]), ("balanced", [12, 12]), ({"b": 3, "a": 1}, [6, 18]), ({"a": 1.0}, [24, 0])],
)
def test_quotas_are_kept(quotas, counts):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.array(["a"] * 60 + ["b"] * 30)
    found = pivotal.select(X, y, 24, quotas=quotas, **QUICK)
    assert [int((y[found.indices] == label).sum()) for label in "ab"] == counts
    drawn = pivotal.select(X, y, 24, quotas=quotas, method="random")
    assert [int((y[drawn.indices] == label).sum()) for label in "ab"] == counts


def test_rare_rows_that_stand_together_are_kept():
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(size=(190, 2)), rng.normal(loc=7.0, scale=0.4, size=(10, 2))])
    y = np.repeat([0, 1], [190, 10])
    for size in (10, 40):
        assert (y[pivotal.select(X, y, size, **QUICK).indices] == 1).sum() >= 1


def test_queries_may_be_test_data_and_may_have_weights(noisy):
    X, y, _, _ = noisy
    here = X[:, 0] > 3.0  # only one cluster is asked about
    asked, truth = X[here][:20], np.full(20, 1)
    found = pivotal.select(X, y, 10, X_test=asked, y_test=truth, **QUICK)
    assert found.settings["queries"] == "test data"
    assert found.facts["n_queries"] == 20
    assert found.expected.n_judged == 20
    heavy = pivotal.select(X, y, 9, query_weights=np.where(y == 2, 50.0, 1.0), likeness=0.0, **QUICK)
    even = pivotal.select(X, y, 9, class_weight={2: 50.0}, likeness=0.0, **QUICK)
    np.testing.assert_array_equal(heavy.indices, even.indices)
    pivotal.select(X, y, 9, class_weight="balanced", **QUICK)


def test_a_query_of_a_class_that_no_row_has_is_lost(noisy):
    X, y, _, _ = noisy
    labels = np.where(np.arange(30) < 28, y[:30], 9)
    found = pivotal.select(X, y, 10, X_test=X[:30], y_test=labels, **QUICK)
    assert len(found) == 10


def test_groups_are_chosen_whole_and_fit(noisy):
    X, y, _, wrong = noisy
    rng = np.random.default_rng(0)
    groups = rng.integers(20, size=160)
    groups[wrong] = 20  # one owner whose labels are all wrong
    found = pivotal.select(X, y, 50, groups=groups, **QUICK)
    chosen = np.unique(groups[found.indices])
    np.testing.assert_array_equal(found.indices, np.flatnonzero(np.isin(groups, chosen)))
    assert len(found) <= 50
    assert found.facts["n_groups"] == len(chosen)
    assert 20 not in chosen
    forced = pivotal.select(
        X, y, 60, groups=groups, include=wrong[:1], exclude=np.flatnonzero(groups == 3)[:1], **QUICK
    )
    assert np.isin(wrong, forced.indices).all()
    assert not (groups[forced.indices] == 3).any()
    assert found.expect(n_folds=3, n_draws=2).n_judged == 160


def test_prices_keep_to_the_budget_and_dear_rows_are_avoided(noisy):
    X, y, _, wrong = noisy
    prices = np.where(np.arange(160) % 2 == 0, 1.0, 25.0)
    found = pivotal.select(X, y, prices=prices, budget=20.0, **QUICK)
    assert prices[found.indices].sum() <= 20.0
    assert found.facts["spent"] == pytest.approx(prices[found.indices].sum())
    assert (found.indices % 2 == 0).all()
    assert not np.isin(found.indices, wrong).any()
    some = pivotal.select(X, y, prices=prices, budget=60.0, include=[1], groups=np.arange(160) // 2, **QUICK)
    assert {0, 1} <= set(some.indices.tolist())
    assert prices[some.indices].sum() <= 60.0


def test_what_groups_add_is_exact(noisy):
    """The search believes what a trial says: it must be the change of the objective."""
    from pivotal.analysis.selection._budget_search import _make_budget
    from pivotal.analysis.selection._select import ExchangeMethod
    from pivotal.analysis.selection._selection_data import SelectionData
    from pivotal.analysis.selection._wishes import Wishes
    from pivotal.core.query_weights import ALIKE

    X, y, _, _ = noisy
    data = SelectionData.of(X, y, test=(None, None), weights=ALIKE, resources=Resources(n_jobs=1))
    around = _surroundings.Surroundings(data, 3, 0, 0, False)
    search = _exchange_search.ExchangeSearch(around, 1.0, 1, 0)
    wishes = Wishes.of(data, 40, groups=np.arange(160) // 8)
    budget = _make_budget(search, wishes)
    for unit in (2, 5):
        budget.enter(unit)

    def objective():
        weights = np.zeros(160)
        weights[budget.coalition.members] = 1.0 / budget.like.size
        pairs = search.means.pairs
        likeness = weights @ pairs @ weights - 2 * weights @ budget.like.pull
        return budget.coalition.utility - budget.like.scale * likeness

    for unit in (0, 7, 11):
        before, gain = objective(), budget.gain(unit)
        budget.enter(unit)
        assert objective() - before == pytest.approx(gain, abs=1e-4)
        budget.leave(unit)
    assert ExchangeMethod(3, 0, 1.0, 1, 0, progress=False).name == "exchange"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_selects_what_was_asked_for(method, noisy, monkeypatch):
    X, y, _, _ = noisy
    if method == "facility-location":  # apricot compiles loops anew in every call, which takes far longer than they do
        monkeypatch.setattr("apricot.functions.facilityLocation.njit", lambda *_, **__: lambda loop: loop)
    found = pivotal.select(X, y, 30, method=method, include=[0, 1], exclude=[2, 3], n_trees=5)
    assert found.method == method
    assert len(found) == 30
    assert {0, 1} <= set(found.indices.tolist())
    assert not {2, 3} & set(found.indices.tolist())


def test_a_ranking_by_value_takes_the_highest(noisy):
    X, y, _, _ = noisy
    values = pivotal.value(X, y, utility="soft", k=5)
    top = np.sort(values.order()[:25])
    np.testing.assert_array_equal(pivotal.select(X, y, 25, method="value").indices, top)
    found = pivotal.select(X, y, 25, method=values)
    np.testing.assert_array_equal(found.indices, top)
    with pytest.raises(ValueError, match="cannot be cross-validated"):
        found.expected  # noqa: B018


def test_nash_maximises_the_sum_over_queries_step_by_step(noisy):
    X, y, _, _ = noisy
    X, y = X[:40], y[:40]
    table = flat.value(X, y, utility="soft", semivalue="shapley", per_query=True).queries.matrix.toarray()
    for method, factor in (("nash", 2.0), ("nash-scaled", 2.0 * 40 / 6)):
        chosen: list[int] = []
        for _ in range(6):
            gains = {
                i: (1 - np.exp(-factor * table[:, [*chosen, i]].sum(axis=1))).sum() for i in set(range(40)) - {*chosen}
            }
            chosen.append(max(gains, key=gains.get))
        np.testing.assert_array_equal(pivotal.select(X, y, 6, method=method).indices, sorted(chosen))


def test_k_center_is_farthest_first():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [4.5]])
    assert pivotal.select(X, [0, 1, 0, 1, 0], 3, method="k-center").indices.tolist() == [0, 3, 4]


def test_many_rows_are_selected_with_features_and_sampled_queries(noisy, monkeypatch):
    X, given, _, wrong = noisy
    monkeypatch.setattr(_likeness, "_ALL_PAIRS", 50)
    monkeypatch.setattr(_surroundings, "_ALL_ENTRIES", 4000)
    monkeypatch.setattr(_surroundings, "_ENTRIES", 4000)
    monkeypatch.setattr(_surroundings, "_ENTRIES_PER_ROW", 0)
    monkeypatch.setattr(_confirmation, "_PAIRS", 0)
    monkeypatch.setattr(_confirmation, "_FEWEST_VOTERS", 120)
    monkeypatch.setattr(_surroundings, "_FEWEST_QUERIES", 30)
    found = pivotal.select(X, given, 40, **QUICK)
    assert found.facts["kernel"] == "random features"
    assert not found.facts["whole_lists"]
    assert found.facts["n_queries"] < 160
    assert len(found) == 40
    assert np.isin(found.indices, wrong).sum() <= 1
    groups = pivotal.select(X, given, 40, groups=np.arange(160) // 4, **QUICK)
    assert 1 <= len(groups) <= 40


@pytest.mark.parametrize("of_others", [False, True], ids=["rows as queries", "test data"])
def test_all_of_very_many_rows_vote_and_are_asked_with_neighbours_from_clusters(noisy, monkeypatch, of_others):
    X, given, clean, _ = noisy
    test = {"X_test": X[::-1] + 0.01, "y_test": clean[::-1]} if of_others else {}
    monkeypatch.setattr(_surroundings, "_ALL_ENTRIES", 0)
    cut = pivotal.select(X, given, 40, **QUICK, **test)
    monkeypatch.setattr(_surroundings, "_COMPARED_WITH_ALL", 100)
    monkeypatch.setattr(_confirmation, "_PAIRS", 0)
    monkeypatch.setattr(_confirmation, "_FEWEST_VOTERS", 80)
    found = pivotal.select(X, given, 40, **QUICK, **test)
    assert cut.facts["exact_neighbors"]
    assert not found.facts["exact_neighbors"]
    # One cluster has all of so few rows: neighbours are the true ones, in another order where they are asked for.
    assert found.facts["n_queries"] == 160
    assert found.facts["utility"] == pytest.approx(cut.facts["utility"], abs=1e-12)
    np.testing.assert_array_equal(found.indices, cut.indices)
    # Another index than the default is the user's choice: the few that vote are drawn, and neighbours exact.
    exact = pivotal.select(X, given, 40, neighbors="brute", **QUICK, **test)
    assert exact.facts["exact_neighbors"]
    assert exact.facts["n_confirmed"] != found.facts["n_confirmed"]


def test_lists_are_shorter_before_queries_are_sampled(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(2, size=300)
    monkeypatch.setattr(_surroundings, "_ALL_ENTRIES", 0)
    monkeypatch.setattr(_surroundings, "_MORE", 4)
    monkeypatch.setattr(_surroundings, "_FEWEST_QUERIES", 10)
    monkeypatch.setattr(_surroundings, "_ENTRIES_PER_ROW", 0)
    seen = []
    for entries in (300 * 204, 300 * 100, 300 * 29, 150 * 29, 0):
        monkeypatch.setattr(_surroundings, "_ENTRIES", entries)
        facts = pivotal.select(X, y, 30, k=5, **QUICK).facts
        seen.append((facts["n_queries"], facts["list_length"]))
    assert seen == [(300, 204), (300, 100), (300, 29), (150, 29), (10, 29)]


def test_all_candidates_are_tried_where_places_are_few(monkeypatch):
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(_likeness.draw_tries(500, 20, 2, rng), [np.arange(500)] * 2)
    monkeypatch.setattr(_likeness, "_TRIES", 20 * 300)
    some = _likeness.draw_tries(500, 20, 2, rng)
    assert some.shape == (2, 300)
    assert 0 <= some.min() <= some.max() < 500
    assert _likeness.draw_tries(10**6, 10**5, 3, rng).shape == (3, 256)


def test_random_features_are_near_the_kernel():
    from pivotal.analysis.selection._likeness import KernelMeans
    from pivotal.analysis.selection._selection_data import SelectionData
    from pivotal.core.query_weights import ALIKE

    X = np.random.default_rng(0).normal(size=(60, 4))
    data = SelectionData.of(X, np.zeros(60, int), test=(None, None), weights=ALIKE, resources=Resources())
    means = KernelMeans(data, 0)
    near = means.features @ means.features.T
    np.testing.assert_allclose(np.diag(near), 1.0, rtol=1e-5)
    assert np.abs(near - means.pairs).mean() < 0.1
    apart = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    width = np.median(apart[np.triu_indices(60, 1)]) / 4
    np.testing.assert_allclose(means.pairs, np.exp(-apart / width), atol=1e-5)


@pytest.mark.parametrize("kind", ["sparse", "frame", "precomputed", "cosine", "manhattan", "text labels", "one class"])
def test_data_of_any_kind(kind, noisy):
    X, y, _, _ = noisy
    how: dict = dict(QUICK)
    given, labels = X, y
    if kind == "sparse":
        given = sparse.csr_array(X)
    elif kind == "frame":
        given = pd.DataFrame(X, index=[f"r{i}" for i in range(160)])
    elif kind == "precomputed":
        given = np.linalg.norm(X[:, np.newaxis] - X, axis=2)
        how["metric"] = "precomputed"
    elif kind in ("cosine", "manhattan"):
        how["metric"] = kind
    elif kind == "text labels":
        labels = np.array(["x", "yy", "zzz"])[y]
    else:
        labels = np.zeros(160, int)
    found = pivotal.select(given, labels, 12, **how)
    assert len(found) == 12
    if kind == "frame":
        assert found.ids[0].startswith("r")
    expected = found.expect(n_folds=2, n_draws=2)
    assert 0.3 < expected.accuracy <= 1.0


def test_duplicates_and_tiny_data():
    found = pivotal.select(np.zeros((12, 2)), [0, 1] * 6, 4, **QUICK)
    assert len(found) == 4
    assert len(pivotal.select([[0.0], [1.0]], [0, 1], 1, **QUICK)) == 1


def test_what_is_expected_is_measured_on_rows_that_took_no_part(noisy):
    X, _, true, _ = noisy
    found = pivotal.select(X, true, 12, **QUICK)
    expected = found.expected
    assert expected is found.expected
    assert found.estimates == (expected,)
    assert expected.n_judged == 160
    assert expected.accuracy > 0.95
    assert expected.gain == pytest.approx(expected.accuracy - expected.random)
    assert 0.0 <= expected.gain_error < 0.1
    frame = expected.to_frame()
    assert frame.loc["everything", "accuracy"] == expected.everything
    assert f"{100 * expected.accuracy:.1f}" in str(expected)
    assert str(expected) in repr(found)
    other = found.expect(LogisticRegression(), n_folds=3, n_draws=2)
    assert other.model == "LogisticRegression"
    assert len(found.estimates) == 2


def test_random_selections_are_bound_by_the_same_wishes(noisy):
    X, y, _, _ = noisy
    groups, prices = np.arange(160) // 8, np.where(np.arange(160) % 2 == 0, 1.0, 25.0)
    rng = np.random.default_rng(0)
    drawn = pivotal.select(X, y, 30, groups=groups, include=[0], exclude=[9], **QUICK).estimation.wishes.draw(rng)
    np.testing.assert_array_equal(drawn, np.flatnonzero(np.isin(groups, groups[drawn])))
    assert 22 < len(drawn) <= 30
    assert {0, 7} <= set(drawn.tolist())
    assert not set(range(8, 16)) & set(drawn.tolist())
    drawn = pivotal.select(X, y, prices=prices, budget=60.0, include=[1], **QUICK).estimation.wishes.draw(rng)
    assert 1 in drawn
    assert 35.0 < prices[drawn].sum() <= 60.0
    few = pivotal.select(X, y, 20, include=[3, 4], **QUICK).estimation.wishes.draw(rng)
    assert len(np.unique(few)) == 20
    assert {3, 4} <= set(few.tolist())


def test_the_smallest_group_can_be_estimated_and_kept(noisy):
    """Of a fold's rows a smaller share would not hold any group."""
    X, _, true, _ = noisy
    groups = np.arange(160) // 8
    found = pivotal.select(X, true, 8, groups=groups, **QUICK)
    assert len(found) == 8
    assert found.expect(n_folds=2, n_draws=1).n_judged == 160
    kept = pivotal.select(X, true, keep=0.9, groups=groups // 2, **QUICK)
    assert len(kept) % 16 == 0
    dear = pivotal.select(X, true, prices=np.ones(160), budget=8.0, groups=groups, **QUICK)
    assert dear.expect(n_folds=2, n_draws=1).n_judged == 160


def test_labels_without_any_structure_promise_nothing():
    """Where nothing can be learned, no selection may look better than it is."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(2, size=300)
    expected = pivotal.select(X, y, 40, **QUICK).expected
    assert abs(expected.accuracy - 0.5) < 4 * expected.accuracy_error
    assert abs(expected.gain) < 4 * expected.gain_error


def test_the_curve_has_a_line_for_each_size(noisy):
    X, _, true, _ = noisy
    found = pivotal.select(X, true, 12, **QUICK)
    curve = found.curve([24, 0.1, 0.5], n_folds=3, n_draws=2)
    assert curve["size"].tolist() == [16, 24, 80]
    assert (curve["accuracy"] > 0.9).all()
    assert curve["share"].tolist() == [0.1, 24 / 160, 0.5]
    ax = found.plot(curve)
    assert [line.get_label() for line in ax.get_lines()][:3] == ["selected", "random", "everything"]
    assert found.curve(n_folds=2, n_draws=1)["size"].min() == 6  # two of each class at least


def test_the_smallest_size_that_keeps_the_accuracy(noisy):
    X, _, true, _ = noisy
    found = pivotal.select(X, true, keep=0.95, **QUICK)
    assert len(found) == found.expected.size <= 16
    assert found.expected.accuracy >= 0.95 * found.expected.everything
    rng = np.random.default_rng(0)
    hopeless = pivotal.select(rng.normal(size=(60, 3)), rng.integers(2, size=60), keep=0.999, method="random")
    assert 2 <= len(hopeless) <= 60


def test_a_selection_is_saved_and_pickled(noisy, tmp_path):
    X, y, _, _ = noisy
    found = pivotal.select(X, y, 12, ids=[f"row {i}" for i in range(160)], **QUICK)
    found.expect(n_folds=2, n_draws=1)
    found.save(tmp_path / "chosen.parquet")
    loaded = pivotal.Selection.load(tmp_path / "chosen.parquet")
    assert loaded == found
    assert loaded.ids[0].startswith("row ")
    assert loaded.expected == found.expected
    with pytest.raises(ValueError, match="without the data"):
        loaded.curve()
    assert pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(ValueError, match="read-only"):
        found.indices[0] = 5
    values = pivotal.value(X, y)
    values.save(tmp_path / "values.parquet")
    with pytest.raises(ValueError, match="holds no selection"):
        pivotal.Selection.load(tmp_path / "values.parquet")
    assert found.to_frame()["row"].tolist() == found.indices.tolist()


def interrupt_exchanges(monkeypatch, call):
    """Press Ctrl-C in one of the calls of the kernel that exchanges rows."""
    from pivotal.kernels import exchange as kernels

    calls = []
    done = kernels.exchange

    def stop(*arguments):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return done(*arguments)

    monkeypatch.setattr(kernels, "exchange", stop)
    monkeypatch.setattr(_exchange_search, "_AT_ONCE", 4)


def test_an_interrupted_estimate_is_none(noisy, monkeypatch):
    X, y, _, _ = noisy
    found = pivotal.select(X, y, 20, **QUICK)
    interrupt_exchanges(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        found.expect()
    assert found.estimates == ()


def test_what_is_expected_is_of_nearest_neighbours_whatever_was_estimated_before(noisy):
    from sklearn.linear_model import LogisticRegression

    X, y, _, _ = noisy
    found = pivotal.select(X, y, 20, **QUICK)
    other = found.expect(LogisticRegression(), n_folds=2, n_draws=1)
    assert other.model == "LogisticRegression"
    assert found.expected.model == "5 nearest neighbours"
    assert found.expected is found.estimates[1]


def test_an_interruption_keeps_what_is_reached(noisy, monkeypatch):
    X, y, _, _ = noisy
    interrupt_exchanges(monkeypatch, 2)
    found = pivotal.select(X, y, 20, **QUICK)
    assert found.facts["interrupted"]
    assert len(found) == 20
    assert "interrupted" in repr(found)
    assert found.facts["utility"] >= found.facts["utility_at_start"] - found.facts["discrepancy_at_start"]
    assert found.facts["exchanges"] > 0
    assert found.facts["passes"] == 0


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "say how much to select"),
        ({"size": 0}, "size must be"),
        ({"size": 161}, "size must be"),
        ({"size": 1.5}, "size must be"),
        ({"size": "many"}, "size must be"),
        ({"size": "x%"}, "size must be"),
        ({"size": True}, "size must be"),
        ({"size": 5, "method": "best"}, "method must be one of exchange"),
        ({"size": 5, "keep": 0.9}, "got two of them"),
        ({"keep": 1.0}, "keep must be"),
        ({"size": 5, "include": [200]}, "positions from 0 to 159"),
        ({"size": 5, "include": [0.5]}, "positions of rows or a mask"),
        ({"size": 5, "include": np.zeros(3, bool)}, "as a mask"),
        ({"size": 5, "include": [1], "exclude": [1]}, "both in include and in exclude"),
        ({"size": 5, "include": range(6)}, "include has 6 rows"),
        ({"size": 50, "exclude": range(150)}, "at most 10"),
        ({"size": 5, "quotas": "even"}, "quotas must be"),
        ({"size": 5, "quotas": {7: 1.0}}, "got 7, which no row has"),
        ({"size": 5, "quotas": {0: "x"}}, "classes to numbers"),
        ({"size": 5, "quotas": {0: -1.0}}, "at least 0"),
        ({"size": 5, "groups": [1, 2]}, "group of each of the 160"),
        ({"size": 5, "groups": [None] * 160}, "every row"),
        ({"size": 3, "groups": np.arange(160) // 8}, "nothing fits"),
        ({"size": 5, "groups": np.arange(160) // 8, "quotas": "data"}, "quotas go with single rows"),
        ({"size": 30, "groups": np.arange(160) // 8, "include": [0], "exclude": [1]}, "chosen whole"),
        ({"size": 5, "prices": np.ones(160)}, "prices without budget"),
        ({"size": 5, "prices": np.ones(160), "budget": 5.0}, "got both"),
        ({"prices": np.ones(3), "budget": 5.0}, "a number for each"),
        ({"prices": np.zeros(160), "budget": 5.0}, "above 0"),
        ({"prices": np.ones(160), "budget": 0.5}, "buys no row"),
        ({"prices": np.ones(160), "budget": -1}, "budget must be"),
        ({"prices": np.ones(160), "budget": 2.0, "include": range(5)}, "more than the budget"),
        ({"size": 20, "method": "random", "groups": np.arange(160) // 8}, 'groups need method="exchange"'),
        ({"method": "random", "prices": np.ones(160), "budget": 9.0}, 'prices need method="exchange"'),
        ({"size": 5, "likeness": -1.0}, "likeness must be"),
        ({"size": 5, "likeness": float("nan")}, "likeness must be"),
        ({"size": 5, "passes": -1}, "passes must be"),
        ({"size": 5, "n_trees": -1}, "n_trees must be"),
        ({"size": 5, "k": 0}, "k must be"),
        ({"size": 5, "X_test": [[0.0, 0.0]]}, "X_test without y_test"),
        ({"size": 5, "metric": "precomputed"}, "every pair of rows"),
        ({"size": 5, "query_weights": [1.0]}, "query_weights must"),
        ({"size": 5, "class_weight": "even"}, 'must be "balanced", a mapping of classes'),
    ],
)
def test_what_cannot_be_asked_for_is_said(how, message, noisy):
    X, y, _, _ = noisy
    with pytest.raises(ValueError, match=message):
        pivotal.select(X, y, **{"n_trees": 0, **how})


def test_one_row_and_models_that_are_none_are_refused(noisy):
    X, y, _, _ = noisy
    with pytest.raises(ValueError, match="at least two rows"):
        pivotal.select([[1.0]], [0], 1)
    found = pivotal.select(X, y, 10, method="random")
    with pytest.raises(TypeError, match="a class"):
        found.expect(LogisticRegression)
    with pytest.raises(TypeError, match="got KNeighborsRegressor, which predicts numbers"):
        found.expect(KNeighborsRegressor())
    with pytest.raises(ValueError, match="n_folds"):
        found.expect(n_folds=1)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.arange(40) / 7.0, r"amounts such as 0.142.*pandas.qcut.*utility=\"regression\""),
        (np.arange(18, 58), "amounts such as 18"),
        (np.eye(2)[np.arange(40) % 2], "one label per row; got several"),
        ([["cat"], ["cat", "dog"]] * 20, "one label per row; got several"),
        (pd.Series([["cat"], ["cat", "dog"]] * 20), "one label per row; got several"),
        (np.zeros((40, 1)), r"Use y.ravel\(\)"),
    ],
)
@pytest.mark.parametrize("call", [lambda X, y: pivotal.select(X, y, 5, n_trees=0), pivotal.remove_harmful])
def test_labels_of_other_tasks_are_refused_with_what_to_do(y, message, call):
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match=message):
        call(X, y)


def test_texts_are_turned_into_vectors_first():
    for texts in (["a cat", "a dog"] * 20, pd.Series(["a cat", "a dog"] * 20, index=range(5, 45))):
        with pytest.raises(ValueError, match=r"got texts.*pivotal.embed"):
            pivotal.select(texts, [0, 1] * 20, 5)


def test_numbers_and_quotas():
    assert [as_number(size, 40) for size in (3, 0.1, "5%", 1.0, np.int64(4))] == [3, 4, 2, 40, 4]
    assert class_quotas(np.array([8.0, 1.0, 1.0]), np.array([50, 50, 50]), 10).tolist() == [8, 1, 1]
    assert class_quotas(np.array([98.0, 1.0, 1.0]), np.array([50, 50, 50]), 10).sum() == 10
    assert class_quotas(np.array([98.0, 1.0, 1.0]), np.array([50, 50, 50]), 10).min() == 1
    assert class_quotas(np.array([1.0, 1.0]), np.array([2, 50]), 10).tolist() == [2, 8]
    assert class_quotas(np.array([1.0, 1.0, 1.0]), np.array([5, 5, 5]), 2).sum() == 2
