"""A bound says what it takes for granted: the neighbours, chance, rounding. Sources that lie are found out."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

import flat
import pivotal
from pivotal import KNNValuation, Values, value, value_from_neighbors
from pivotal.cli._work import describe
from pivotal.neighbors import BruteIndex, NeighborAudit, as_index
from pivotal.report._facts import guarantees
from pivotal.results.bounds import Bound, scaled_bound
from specimens import make

RNG = np.random.default_rng(7)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] + 0.4 * RNG.normal(size=80) > 0).astype(int)
Q = RNG.normal(size=(25, 3))
T = (Q[:, 0] > 0).astype(int)
OWNERS = np.arange(80) % 4
CALLS = [(Q, T), ()]  # a test set, and self-valuation


class Shuffled:
    """Returns training points at random, and distances that grow."""

    def search(self, queries: Any, depth: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(len(queries))
        lists = np.array([rng.permutation(len(X))[:depth] for _ in range(len(queries))])
        return lists, np.tile(np.linspace(0.1, 2.0, depth), (len(queries), 1))


class Sorted:
    """Sorts all points by a metric, and multiplies the distances by a factor."""

    def __init__(self, metric: str = "euclidean", factor: float = 1.0, exact: Any = None) -> None:
        self.index, self.factor = BruteIndex(X, metric), factor
        if exact is not None:
            self.exact = exact

    def search(self, queries: Any, depth: int) -> tuple[np.ndarray, np.ndarray]:
        indices, distances = self.index.search(queries, depth)
        return indices, distances * self.factor


class LastFirst(Sorted):
    """Finds the right points of a list and returns them in the wrong order, with the right distances."""

    def search(self, queries: Any, depth: int) -> tuple[np.ndarray, np.ndarray]:
        indices, distances = super().search(queries, depth)
        return indices[:, ::-1], distances


def claims_nothing(values: Values) -> None:
    """Whatever is printed of values with such neighbours, nobody takes the bound for that of the values."""
    assert values.error_bound is None
    assert values.neighbors_exact is not True
    text = repr(values)
    assert "error_bound=" not in text
    if values.standard_error is None:
        assert values.bound_given_neighbors is not None
        assert values.bound_given_neighbors > 0
        assert "bound_given_neighbors=" in text
    assert "recall=" in text
    told = guarantees(values)
    assert not any("certified" in (item["title"] + item["text"]).lower() for item in told)
    assert not any(item["ok"] for item in told if "rror" in item["title"] and "Efficiency" not in item["title"])
    assert any("Neighbours" in item["title"] or "neighbours" in item["title"] for item in told)
    sentence = describe(values, by_test=True)
    assert "; no value is off" not in sentence
    assert "true neighbours" in sentence
    assert "certified" not in values._repr_html_().lower()
    with pytest.raises(ValueError, match=r"an interval needs exact neighbours; .* Use neighbors=\"auto\", or given"):
        values.interval()
    with pytest.raises(ValueError, match="an interval needs exact neighbours"):
        values.to_frame(level=0.9)
    low, high = values.interval(given_neighbors=True)
    assert (low <= values.values).all()
    assert (values.values <= high).all()
    assert {"low", "high"} <= set(values.to_frame(level=0.9, given_neighbors=True))


# ---------------------------------------------------------------------------- sources that say nothing


@pytest.mark.parametrize("queries", CALLS)
@pytest.mark.parametrize("utility", ["hard", "soft"])
def test_random_neighbours_have_no_error_bound(queries: Any, utility: str) -> None:
    values = value(X, Y, *queries, neighbors=Shuffled(), utility=utility)
    claims_nothing(values)
    assert values.neighbors_exact is False
    assert values.recall is not None
    assert values.recall < 0.5
    exact = value(X, Y, *queries, utility=utility)
    assert np.abs(values.values - exact.values).max() > 1e3 * (exact.error_bound or 0.0)


@pytest.mark.parametrize("queries", CALLS)
def test_a_source_that_says_nothing_is_not_known_to_be_exact(queries: Any) -> None:
    for source in (Sorted(), NearestNeighbors().fit(X)):
        values = value(X, Y, *queries, neighbors=source)
        claims_nothing(values)
        assert (values.neighbors_exact, values.recall) == (None, 1.0)
        np.testing.assert_allclose(values.values, value(X, Y, *queries).values, atol=1e-13)


@pytest.mark.parametrize("queries", CALLS)
def test_neighbours_by_another_metric_are_found_out(queries: Any) -> None:
    fitted = NearestNeighbors(metric="chebyshev").fit(X)
    for source in (Sorted("manhattan"), fitted):
        values = value(X, Y, *queries, neighbors=source)
        claims_nothing(values)
        assert values.neighbors_exact is False
        assert 0.3 < (values.recall or 0.0) < 1.0
    assert value(X, Y, *queries, neighbors=fitted, metric="chebyshev").recall == 1.0


@pytest.mark.parametrize("queries", CALLS)
def test_right_points_in_the_wrong_order_are_found_out(queries: Any) -> None:
    # With lists of all points every neighbour is "found"; the order is what is wrong.
    values = value(X, Y, *queries, neighbors=LastFirst(), tol=0, semivalue="shapley")
    claims_nothing(values)
    assert values.neighbors_exact is False
    assert (values.recall or 0.0) < 0.3


def test_an_approximate_index_is_not_exact() -> None:
    pytest.importorskip("faiss")
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(4000, 8)), rng.integers(0, 2, 4000)
    settings = pivotal.neighbors.FaissIVF(n_lists=60, n_probes=1)
    values = value(points, labels, points[:50] + 0.01, labels[:50], neighbors=settings)
    claims_nothing(values)
    assert values.neighbors_exact is False
    assert 0.0 < (values.recall or 0.0) < 1.0
    flat = value(points, labels, points[:50] + 0.01, labels[:50], neighbors="faiss-flat")
    assert flat.neighbors_exact is True
    assert flat.error_bound is not None


# --------------------------------------------------------------------- sources that say they are exact


@pytest.mark.parametrize("queries", CALLS)
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_an_honest_claim_is_believed(queries: Any, weights: str) -> None:
    values = value(X, Y, *queries, neighbors=Sorted(exact=True), weights=weights)
    assert (values.neighbors_exact, values.recall) == (True, 1.0)
    assert values.error_bound == value(X, Y, *queries, weights=weights).error_bound
    assert value(X, Y, *queries, neighbors=Sorted(exact=False)).neighbors_exact is False
    assert value(X, Y, *queries, neighbors=Sorted(exact="yes")).neighbors_exact is None


@pytest.mark.parametrize("queries", CALLS)
def test_a_claim_that_the_sample_refutes_is_not_believed(queries: Any) -> None:
    liar = Shuffled()
    liar.exact = True  # type: ignore[attr-defined]
    sources = (liar, Sorted("manhattan", exact=True), LastFirst(exact=np.True_), BruteIndex(X, "manhattan"))
    for source in sources:
        with pytest.warns(
            UserWarning, match=r"neighbors says exact = True; got \w+, whose lists differ .* metric eucl"
        ):
            values = value(X, Y, *queries, neighbors=source)
        claims_nothing(values)
        assert values.neighbors_exact is False


def test_a_warning_points_to_the_line_of_the_caller() -> None:
    with pytest.warns(UserWarning, match="exact = True") as caught:
        value(X, Y, Q, T, neighbors=LastFirst(exact=True))
    assert [Path(one.filename).name for one in caught] == [Path(__file__).name]


def test_a_claim_is_judged_once_and_said_once() -> None:
    model = KNNValuation(neighbors=LastFirst(exact=True)).fit(X, Y)
    with pytest.warns(UserWarning, match="exact = True"):
        model.update(Q[:5], T[:5])
    model.update(Q[5:], T[5:])  # warnings are errors here
    claims_nothing(model.result_)


def test_ties_are_not_misses() -> None:
    grid = np.array([[i, j] for i in range(6) for j in range(6)], dtype=float)

    class LastOfEquals:
        exact = True

        def search(self, queries: Any, depth: int) -> tuple[np.ndarray, np.ndarray]:
            far = np.sqrt(((queries[:, np.newaxis] - grid) ** 2).sum(axis=2))
            order = np.lexsort((-np.arange(36) * np.ones_like(far), far), axis=1)[:, :depth]
            return order, np.take_along_axis(far, order, 1)

    for queries in ((grid[:9], np.arange(9) % 2), ()):
        values = value(grid, np.arange(36) % 2, *queries, neighbors=LastOfEquals(), k=2, tol=1e-3)
        assert (values.neighbors_exact, values.recall) == (True, 1.0)


@pytest.mark.parametrize("queries", CALLS)
def test_distances_that_lie_are_found_out_where_they_become_votes(queries: Any) -> None:
    source = Sorted(factor=3.0, exact=True)
    assert value(X, Y, *queries, neighbors=source).neighbors_exact is True  # unweighted: not looked at
    with pytest.warns(UserWarning, match="weights need the distances of the metric euclidean; got Sorted"):
        values = value(X, Y, *queries, neighbors=source, weights="rbf")
    claims_nothing(values)
    with pytest.warns(UserWarning, match="weights need the distances"):
        value(X, Y, *queries, neighbors=Sorted(factor=3.0), weights="rbf")
    single = Sorted(factor=1.0 + 1e-7)  # as single precision has them: nothing to warn of, and nothing is claimed
    claims_nothing(value(X, Y, *queries, neighbors=single, weights="rbf"))


def test_what_cannot_be_measured_is_not_claimed() -> None:
    class Words:
        exact = True

        def search(self, queries: Any, depth: int) -> tuple[np.ndarray, np.ndarray]:
            n = len(queries)
            return np.tile(np.arange(depth), (n, 1)), np.zeros((n, depth))

    words = np.array(["a", "b", "c", "d"])
    index = as_index(Words(), words)
    audit = NeighborAudit(Words(), index, words, metric="euclidean", metric_params=None, n_jobs=1)
    audit.check_lists(words[:2], 2, 3, weighted=False)
    assert audit.verdict(1, weighted=False) == (None, None)
    claims_nothing(replace(make(error_bound=1e-9), neighbors_exact=None))
    unknown = value(X, Y, Q, T, neighbors=Sorted(exact=True), metric="a metric of nobody's")
    assert (unknown.neighbors_exact, unknown.recall) == (None, None)
    claims_nothing(unknown)


def test_points_in_a_file_are_sampled_too(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    for queries in CALLS:
        with pytest.warns(UserWarning, match="exact = True"):
            claims_nothing(value(tmp_path / "x.npy", Y, *queries, neighbors=Sorted("manhattan", exact=True)))


@pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean", "cosine", "precomputed"])
def test_every_metric_can_be_sampled(metric: str) -> None:
    points, queries = X, Q
    if metric == "precomputed":
        points, queries = (np.abs(rows[:, np.newaxis] - X).sum(axis=2) for rows in (X, Q))
    honest, lying = BruteIndex(points, metric), Shuffled()
    assert value(points, Y, queries, T, metric=metric, neighbors=honest).neighbors_exact is True
    assert value(points, Y, queries, T, metric=metric, neighbors=lying).neighbors_exact is False
    assert value(points, Y, metric=metric, neighbors=lying).neighbors_exact is False


def test_many_small_batches_do_not_each_cost_an_exhaustive_search() -> None:
    class Counted(Sorted):
        asked = 0

        def search(self, queries: Any, depth: int) -> tuple[np.ndarray, np.ndarray]:
            self.asked += len(queries)
            return super().search(queries, depth)

    source = Counted()
    model = KNNValuation(neighbors=source, n_jobs=1).fit(X, Y)
    rng = np.random.default_rng(0)
    for _ in range(1500):
        model.update(rng.normal(size=(1, 3)), [0])
    assert 1500 + 200 <= source.asked < 1500 + 1000
    assert model.result_.recall == 1.0


# ----------------------------------------------------------------------------- other games and callers


def test_owners() -> None:
    args = X, Y, Q, T, OWNERS
    claims_nothing(flat.value_owners(*args, neighbors=Shuffled()))
    claims_nothing(flat.value_owners(*args, neighbors=NearestNeighbors().fit(X)))
    with pytest.warns(UserWarning, match="exact = True"):
        claims_nothing(flat.value_owners(*args, neighbors=Sorted("manhattan", exact=True)))
    honest = flat.value_owners(*args, neighbors=Sorted(exact=True))
    assert honest.error_bound == flat.value_owners(*args).error_bound
    with pytest.warns(UserWarning, match="weights need"):
        claims_nothing(flat.value_owners(*args, neighbors=Sorted(factor=2.0, exact=True), weights="rbf"))


@pytest.mark.parametrize("queries", CALLS)
def test_balls(queries: Any) -> None:
    how: dict[str, Any] = {"utility": "threshold(1.2)"}
    exact = flat.value(X, Y, *queries, **how)
    honest = flat.value(X, Y, *queries, neighbors=Sorted(exact=True), **how)
    assert (honest.neighbors_exact, honest.recall, honest.error_bound) == (True, 1.0, exact.error_bound)
    unknown = flat.value(X, Y, *queries, neighbors=Sorted(), **how)
    assert (unknown.neighbors_exact, unknown.recall) == (None, 1.0)
    claims_nothing(unknown)
    for factor in (0.5, 2.0):  # too many in the ball, and too few
        with pytest.warns(UserWarning, match="exact = True"):
            values = flat.value(X, Y, *queries, neighbors=Sorted(factor=factor, exact=True), **how)
        claims_nothing(values)
        assert (values.recall or 0.0) < 0.7
        assert np.abs(values.values - exact.values).max() > 1e-4


def test_balls_of_owners() -> None:
    how: dict[str, Any] = {"utility": "threshold(1.2)"}
    claims_nothing(flat.value_owners(X, Y, Q, T, OWNERS, neighbors=Sorted(factor=2.0), **how))
    assert flat.value_owners(X, Y, Q, T, OWNERS, neighbors=Sorted(exact=True), **how).neighbors_exact is True


def test_points_on_the_rim_may_be_on_either_side() -> None:
    line = np.arange(20.0)[:, np.newaxis]

    class Wider:
        exact = True

        def search(self, queries: Any, depth: int) -> tuple[np.ndarray, np.ndarray]:
            indices, distances = BruteIndex(line).search(queries, depth)
            return indices, distances * (1 + 1e-13)

    values = value(
        line, np.arange(20) % 2, line[:5] * 1.0, np.arange(5) % 2, neighbors=Wider(), utility="threshold(2.0)"
    )
    assert (values.neighbors_exact, values.recall) == (True, 1.0)


def test_a_sweep_says_it_of_every_setting() -> None:
    with pytest.warns(UserWarning, match="weights need the distances"):
        swept = pivotal.sweep(
            X, Y, Q, T, k=[1, 3], weights=["uniform", "rbf"], neighbors=Sorted(factor=2.0, exact=True)
        )
    for setting, values in swept.results.items():
        assert values.neighbors_exact is (setting.weights == "uniform"), setting
    for values in pivotal.sweep(X, Y, k=[1, 3], neighbors=Shuffled()).results.values():
        claims_nothing(values)


def test_many_labels_per_point() -> None:
    claims_nothing(value(X, np.eye(2, dtype=int)[Y], Q, np.eye(2, dtype=int)[T], neighbors=Shuffled()))


def test_enumeration_and_label_errors() -> None:
    class Few(Shuffled):
        def search(self, queries: Any, depth: int) -> tuple[np.ndarray, np.ndarray]:
            return np.tile(np.arange(depth)[::-1], (len(queries), 1)), np.zeros((len(queries), depth))

    values = value(X[:6], Y[:6], Q, T, method="bf", neighbors=Few())
    claims_nothing(values)
    errors = pivotal.find_label_errors(X, Y, k=5, n_trees=0, neighbors=Shuffled())
    assert errors.settings["neighbors_exact"] is False
    assert (errors.settings["recall"] or 0.0) < 0.5
    assert pivotal.find_label_errors(X, Y, k=5, n_trees=0).settings["neighbors_exact"] is True


@pytest.mark.parametrize("method", ["coalitions", "permutations"])
def test_sampled_values_show_no_bound_as_their_error(method: str) -> None:
    how: dict[str, Any] = {"method": method, "n_samples": 50, "random_state": 0}
    for values in (
        flat.value(X, Y, Q, T, **how),
        flat.value(X, Y, **how),
        flat.value_owners(X, Y, Q, T, OWNERS, **how),
    ):
        assert values.error_bound is values.bound_given_neighbors is None
        assert values.neighbors_exact is True
        assert "bound" not in repr(values)
        assert "standard_error<=" in repr(values)
        assert "off by more" not in describe(values, by_test=True)
        assert "certified" not in str(guarantees(values)).lower()
    claims_nothing(flat.value(X, Y, Q, T, neighbors=Shuffled(), **how))


def test_the_bias_of_truncation_is_in_the_interval() -> None:
    rough = flat.value(X, Y, Q, T, method="coalitions", n_samples=2000, random_state=0, tol=0.05, k=3)
    assert rough.bias_bound is not None
    assert rough.bias_bound > 0.01
    assert f"bias_bound={rough.bias_bound:.2g}" in repr(rough)
    low, high = rough.interval(0.5)
    assert (high - low >= 2 * rough.bias_bound).all()


def test_retraining() -> None:
    from sklearn.naive_bayes import GaussianNB

    from pivotal.baselines.retraining import value_by_retraining

    values = value_by_retraining(GaussianNB(), X[:8], Y[:8], Q, T, n_samples=20, random_state=0, n_jobs=1)
    assert values.error_bound is values.bound_given_neighbors is None
    assert "error_bound" not in repr(values)
    exact = value_by_retraining(GaussianNB(), X[:8], Y[:8], Q, T, sampler="exact", n_jobs=1)
    assert exact.error_bound == exact.rounding_allowance > 0.0


def test_given_lists_are_the_input() -> None:
    lists = BruteIndex(X).search(Q, 80)[0]
    values = value_from_neighbors(lists, Y, T)
    assert values.error_bound is not None
    assert values.neighbors_exact is True
    assert f"error_bound={values.error_bound:.2g} given these neighbours" in repr(values)
    assert guarantees(values)[0]["title"] == "Bounded error, given these neighbours"
    assert "certified" not in str(guarantees(values)).lower()
    values.interval()


# ------------------------------------------------------------------------------------ parts of a bound


def test_which_part_is_proved() -> None:
    for tol in (0, 1e-16, 1e-3):
        values = value(X, Y, Q, T, k=3, tol=tol)
        assert values.rounding_allowance == 1e-14
        assert values.error_bound == values.proved_bound + values.rounding_allowance
    assert 1e-6 < (values.proved_bound or 0.0) <= 2e-3
    assert value(X, Y, Q, T, k=3, tol=0).proved_bound == 0.0
    owners = flat.value_owners(X, Y, Q, T, OWNERS)
    assert (owners.proved_bound, owners.error_bound) == (0.0, owners.rounding_allowance)
    assert "rounding_allowance=1e-14" in repr(values)
    told = guarantees(values)[0]
    assert (told["title"], told["ok"]) == ("Bounded error", True)
    assert "certified, by proof; 1 × 10⁻¹⁴ is a tested allowance for rounding" in told["text"]
    assert f"({values.proved_bound:.1e} proved, 1.0e-14 allowed for rounding)" in describe(values, by_test=True)


def test_parts_are_scaled_apart() -> None:
    values = make([0.2, 0.3, 0.4], proved_bound=1e-3, rounding_allowance=1e-6, full_utility=1.0, empty_utility=0.0)
    scaled = values.normalized()
    whole = scaled_bound(Bound(1e-3 + 1e-6, 0.0), values.values, total=0.9, gain=1.0)
    assert scaled.proved_bound + scaled.rounding_allowance == pytest.approx(whole.total, rel=1e-12)
    assert scaled.proved_bound > 900 * scaled.rounding_allowance
    # Truth at the edge of the bound, in fractions.
    true = [Fraction(0.2) + Fraction(1, 1000), Fraction(0.3) - Fraction(1, 1000), Fraction(0.4) - Fraction(1, 1000)]
    for got, exact in zip(scaled.values, true, strict=True):
        assert abs(Fraction(got) - exact / sum(true)) <= scaled.error_bound
    unknown = replace(values, neighbors_exact=None, recall=1.0).normalized()
    assert (unknown.error_bound, unknown.neighbors_exact, unknown.recall) == (None, None, 1.0)
    assert unknown.bound_given_neighbors == scaled.error_bound


@pytest.mark.parametrize("exact", [True, False, None])
def test_what_is_known_of_the_neighbours_is_kept(tmp_path: Path, exact: bool | None) -> None:
    values = replace(value(X, Y, Q, T, k=3, tol=1e-3), neighbors_exact=exact, recall=1.0)
    values.save(tmp_path / "v.parquet")
    loaded = Values.load(tmp_path / "v.parquet")
    for other in (loaded, pickle.loads(pickle.dumps(values)), copy.deepcopy(values), replace(values)):
        assert other.equals(values)
        assert (other.neighbors_exact, other.error_bound) == (exact, values.error_bound)
        assert other.bound_given_neighbors == values.bound_given_neighbors
    assert replace(values, error_bound=0.5).bound_given_neighbors == 0.5
    assert not values.equals(replace(values, neighbors_exact=False if exact is None else None))


def test_a_recall_below_one_is_not_exact() -> None:
    assert make(recall=0.99).neighbors_exact is False
    assert make(recall=0.0).neighbors_exact is False
    assert make(recall=1.0).neighbors_exact is True
    with pytest.raises(ValueError, match="neighbors_exact must be True, False or None; got 1"):
        make(neighbors_exact=1)


def test_the_bound_holds_for_honest_sources() -> None:
    """The control: where a bound is claimed, it holds against full precision."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for neighbors in ("auto", "brute", "kd_tree", Sorted(exact=True)):
            cut = value(X, Y, Q, T, k=3, tol=1e-2, neighbors=neighbors)
            whole = value(X, Y, Q, T, k=3, tol=0)
            assert 0 < np.abs(cut.values - whole.values).max() <= cut.error_bound


# -------------------------------------------------------------------------------------- pages and the command line


def test_a_page_of_unknown_neighbours_certifies_nothing(tmp_path: Path) -> None:
    page = value(X, Y, Q, T, neighbors=Shuffled()).report(tmp_path / "page.html", X=X, y=Y, suspects=False)
    data = page.read_text(encoding="utf-8").split('<script id="data"')[1].split("</script>")[0].lower()
    assert "certif" not in data
    assert "given the lists of neighbours" in data
    assert "% of the true neighbours were found" in data
    good = value(X, Y, Q, T).report(tmp_path / "good.html", suspects=False).read_text(encoding="utf-8")
    assert "certified, by proof" in good


def test_the_command_line_says_what_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("faiss")
    from pivotal.cli import main

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 8))
    lines = ["a,b,c,d,e,f,g,h,label", *(",".join(map(str, row)) + f",{int(row[0] > 0)}" for row in rows)]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    told = {}
    for neighbors in ("auto", "faiss-ivf"):
        out = tmp_path / f"{neighbors}.csv"
        call = ["value", str(tmp_path / "t.csv"), "--label", "label", "--neighbors", neighbors, "-o", str(out)]
        assert main(call) == 0
        told[neighbors] = capsys.readouterr().out, out.read_text(encoding="utf-8").splitlines()[0]
    assert "(method = exact, " in told["auto"][0]
    assert "; no value is off by more than 1.0e-14 (" in told["auto"][0]
    assert "allowed for rounding" in told["auto"][0]
    assert "error_bound" in told["auto"][1].split(",")
    assert "(method = exact given these neighbours, " in told["faiss-ivf"][0]
    assert "given these neighbours, no value is off by more than" in told["faiss-ivf"][0]
    assert "of the true neighbours found on a sample of the queries" in told["faiss-ivf"][0]
    assert "bound_given_neighbors" in told["faiss-ivf"][1].split(",")
