"""Owners as players where all points within a radius vote: the definition enumerated, and what must follow from it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import NearestNeighbors

import flat
import reference
from effort import examples
from pivotal import Measure, Values
from pivotal.core.games import Threshold
from pivotal.core.semivalues import Semivalue, Shapley
from strategies import measures, semivalues

EMPTY = st.sampled_from([None, Fraction(0), Fraction(1), Fraction(-3, 2)])
CLASSES = [0, 1, 2]
both = pytest.mark.parametrize("method", ["coalitions", "permutations"])


def make_data(n: int = 40, n_queries: int = 6, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Points on a grid: many at the radius exactly, many duplicates."""
    rng = np.random.default_rng(seed)
    X, queries = (rng.integers(0, 5, (size, 2)).astype(float) for size in (n, n_queries))
    return X, rng.integers(0, 3, n), queries, rng.integers(0, 3, n_queries)


Balls = tuple[list[int], list[int], list[list[int]], list[int]]


@st.composite
def owned_balls(draw: st.DrawFn) -> Balls:
    """Owners and labels of a few points, and the balls and classes of a few queries; balls may be empty or full."""
    n, n_queries = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    owners = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    labels = draw(st.lists(st.sampled_from(CLASSES), min_size=n, max_size=n))
    balls = [draw(st.lists(st.integers(0, n - 1), unique=True)) for _ in range(n_queries)]
    return owners, labels, balls, draw(st.lists(st.sampled_from(CLASSES), min_size=n_queries, max_size=n_queries))


def enumerated(case: Balls, law: tuple[Any, ...], empty: Fraction | None) -> np.ndarray:
    """The definition: every coalition of all owners, with all their points in the ball."""
    owners, labels, balls, targets = case
    names = list(dict.fromkeys(owners))
    totals = [Fraction(0)] * len(names)
    for ball, target in zip(balls, targets, strict=True):

        def earned(members: tuple[int, ...], ball: list[int] = ball, target: int = target) -> Fraction:
            near = [labels[i] for i in ball if owners[i] in {names[m] for m in members}]
            if not near:
                return Fraction(1, len(CLASSES)) if empty is None else empty
            return Fraction(near.count(target), len(near))

        exact = reference.enumerate_values(len(names), earned, law)
        totals = [total + one for total, one in zip(totals, exact, strict=True)]
    return np.array([float(total / len(balls)) for total in totals])


def play(case: Balls, semivalue: str | Semivalue, empty: Fraction | None = None, **more: Any) -> Values:
    owners, labels, balls, targets = case
    return flat.value_owners_from_neighbors(
        balls,
        owners,
        labels,
        targets,
        utility=Threshold(1.0, empty),
        semivalue=semivalue,
        classes=CLASSES,
        n_jobs=1,
        **more,
    )


@pytest.mark.kernels
@given(case=owned_balls(), semivalue=semivalues(), empty=EMPTY)
@examples(60, derandomize=True)
def test_values_equal_the_definition(case: Balls, semivalue: tuple[str, Any], empty: Fraction | None) -> None:
    values = play(case, semivalue[0], empty)
    assert values.error_bound < 1e-13
    assert_allclose(values.values, enumerated(case, semivalue[1], empty), rtol=0, atol=values.error_bound)
    owners, _, balls, _ = case
    never_near = [name not in {owners[i] for ball in balls for i in ball} for name in values.ids]
    assert not values.values[never_near].any()


@given(case=owned_balls(), measure=measures())
@examples(30, derandomize=True)
def test_any_measure_equals_its_definition(case: Balls, measure: tuple[Any, Any]) -> None:
    values = play(case, Measure(*measure[0]))
    assert_allclose(values.values, enumerated(case, measure[1], None), rtol=0, atol=values.error_bound)


@pytest.mark.kernels
@both
@given(case=owned_balls(), semivalue=semivalues(), empty=EMPTY, seed=st.integers(0, 2**32))
@examples(30, derandomize=True)
def test_values_are_estimated(
    method: str, case: Balls, semivalue: tuple[str, Any], empty: Fraction | None, seed: int
) -> None:
    values = play(case, semivalue[0], empty, method=method, n_samples=200, random_state=seed)
    assert values.details["method"] == method
    # Six errors: hypothesis looks for the worst of many seeds.
    far = np.abs(values.values - enumerated(case, semivalue[1], empty))
    assert (far <= 6.0 * values.standard_error + 1e-12).all()


@pytest.mark.parametrize("semivalue", ["banzhaf", "banzhaf(0.3)", "shapley", "beta(4,1)", "loo"])
def test_one_point_each_is_the_game_of_points(semivalue: str) -> None:
    data = make_data(n=16)
    how: dict[str, Any] = {"utility": "threshold(1.0)", "semivalue": semivalue, "n_jobs": 1}
    points, owners = flat.value(*data, **how), flat.value_owners(*data, np.arange(16), **how)
    assert_allclose(owners.values, points.values, rtol=0, atol=points.error_bound + owners.error_bound)
    assert (owners.full_utility, owners.empty_utility) == (points.full_utility, points.empty_utility)


def test_everybody_in_the_ball_is_the_soft_game_of_all_points() -> None:
    data, owners = make_data(), np.arange(40) % 6
    ball = flat.value_owners(*data, owners, utility=Threshold(100.0), n_jobs=1)
    soft = flat.value_owners(*data, owners, utility="soft", k=40, n_jobs=1)
    assert_allclose(ball.values, soft.values, rtol=0, atol=ball.error_bound + soft.error_bound)
    assert ball.full_utility == soft.full_utility
    assert ball.details["largest_ball"] == 40


@pytest.mark.parametrize("method", ["exact", "coalitions", "permutations"])
def test_empty_balls_are_worth_nothing(method: str) -> None:
    data = ([[0.0], [1.0]], ["a", "b"], [[5.0], [9.0]], ["a", "b"])
    values = flat.value_owners(*data, ["ann", "bob"], utility=Threshold(0.0), method=method)
    assert_array_equal(values.values, [0.0, 0.0])
    assert values.full_utility == values.empty_utility == 0.5
    assert values.details["n_empty_balls"] == 2


def test_an_owner_out_of_every_ball_is_worth_nothing() -> None:
    # Those who are never near make no difference to the others either, though the semivalue counts them.
    X, y, queries, targets = make_data()
    owners = np.array(["ann", "bob", "cat"])[np.arange(40) % 3]
    far = (np.vstack([X, X + 100.0]), np.append(y, y), queries, targets)
    how: dict[str, Any] = {"utility": Threshold(1.0), "semivalue": "shapley", "n_jobs": 1}
    alone = flat.value_owners(X, y, queries, targets, owners, **how)
    more = flat.value_owners(*far, np.append(owners, np.arange(40).astype(str)), **how)
    assert more.details["method"] == "exact"
    assert_array_equal(more.values[:3], alone.values)
    assert not more.values[3:].any()


def test_shapley_values_share_out_everything() -> None:
    values = flat.value_owners(*make_data(), np.arange(40) % 5, utility=Threshold(1.0, empty=0.2), semivalue="shapley")
    assert values.values.sum() == pytest.approx(values.full_utility - values.empty_utility, abs=1e-14)


def test_lists_found_elsewhere_give_the_same_values() -> None:
    X, y, queries, targets = make_data()
    owners, how = np.arange(40) % 7, {"utility": Threshold(1.0), "n_jobs": 1}
    expected = flat.value_owners(X, y, queries, targets, owners, **how)
    peer = NearestNeighbors(radius=1.0).fit(X)
    for lists in (peer.radius_neighbors(queries, return_distance=False), peer.radius_neighbors_graph(queries)):
        found = flat.value_owners_from_neighbors(lists, owners, y, targets, **how)
        assert_array_equal(found.values, expected.values)
    for neighbors in ("kd_tree", peer):
        found = flat.value_owners(X, y, queries, targets, owners, neighbors=neighbors, **how)
        assert_array_equal(found.values, expected.values)


@pytest.mark.parametrize("method", ["exact", "coalitions"])
def test_a_query_that_weighs_twice_counts_twice(method: str) -> None:
    X, y, queries, targets = make_data(n_queries=3)
    owners, how = np.arange(40) % 4, {"utility": Threshold(1.0), "method": method, "random_state": 0, "n_jobs": 1}
    weighted = flat.value_owners(X, y, queries, targets, owners, query_weights=[0.0, 2.0, 1.0], **how)
    twice = flat.value_owners(X, y, queries[[1, 1, 2]], targets[[1, 1, 2]], owners, classes=CLASSES, **how)
    errors = 0.0 if method == "exact" else 5.0 * (weighted.standard_error + twice.standard_error)
    assert (np.abs(weighted.values - twice.values) <= errors + 1e-14).all()


@pytest.mark.parametrize("method", ["exact", "coalitions", "permutations"])
def test_threads_and_blocks_make_no_difference(method: str) -> None:
    data, how = make_data(n_queries=9), {"utility": Threshold(1.0), "method": method, "random_state": 1}
    one, two = (
        flat.value_owners(*data, np.arange(40) % 15, n_jobs=jobs, block_size=size, **how)
        for jobs, size in ((1, 9), (2, 2))
    )
    assert one.equals(two)


@both
def test_crowded_balls_are_sampled(method: str) -> None:
    data = make_data(n=60)
    how: dict[str, Any] = {"utility": Threshold(9.0), "semivalue": "shapley", "n_jobs": 1}
    exact = flat.value(*data, **how).values
    values = flat.value_owners(*data, np.arange(60), method=method, n_samples=400, random_state=1, **how)
    z = (values.values - exact) / values.standard_error
    assert np.abs(z).max() < 5.0
    assert 0.3 < z.std() < 1.7


def test_auto_goes_by_the_owners_in_the_balls() -> None:
    data = make_data(n=60)
    few = flat.value_owners(*data, np.arange(60), utility=Threshold(0.0), random_state=0)
    many = flat.value_owners(*data, np.arange(60), utility=Threshold(9.0), n_samples=20, random_state=0)
    assert few.details["method"] == "exact"
    assert few.details["depth"] == few.details["largest_ball"] <= 20
    assert many.details["method"] == "coalitions"
    assert many.standard_error is not None

    class Mine(Semivalue):
        name = "mine"
        joined, mass = Shapley().joined, Shapley().mass

    mine = flat.value_owners(
        *data, np.arange(60), utility=Threshold(9.0), semivalue=Mine(), n_samples=20, random_state=0
    )
    assert mine.details["method"] == "permutations"


def test_the_result_says_what_was_played() -> None:
    values = flat.value_owners(*make_data(), np.repeat(["ann", "bob"], [30, 10]), utility=Threshold(1.0), k=3)
    told = {**values.settings, **values.details}
    assert (told["utility"], told["k"], told["weights"]) == ("threshold(1.0)", None, "uniform")
    assert (told["players"], told["n_players"], told["points"]) == ("groups", 2, (30, 10))
    assert told["n_classes"] == 3
    assert told["mean_ball"] <= told["largest_ball"]
    assert values.ids.tolist() == ["ann", "bob"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": "distance"}, "takes unweighted votes within a radius; got weighted votes"),
        ({"method": "coalition"}, "method must name a method; got 'coalition'. Did you mean 'coalitions'"),
        ({"n_samples": 1}, "n_samples must be an integer of at least 2"),
        ({"method": "exact", "target_se": 0.1}, "target_se is for sampling"),
        ({"query_weights": [1.0]}, "query_weights"),
        ({"owners": ["ann"]}, r"groups must have one entry per training point, shape \(40,\)"),
        ({"utility": "threshold(-1)"}, "radius must be a finite number of at least 0"),
        (
            {"owners": np.arange(40), "utility": Threshold(9.0), "method": "exact"},
            r"at most 16777216 cases per query; 40 owners with points in one ball make 2\^40",
        ),
    ],
    ids=str,
)
def test_bad_input_is_explained(changes: dict[str, Any], message: str) -> None:
    names = ("X_train", "y_train", "X_test", "y_test")
    good = {**dict(zip(names, make_data(), strict=True)), "owners": np.arange(40) % 3, "utility": Threshold(1.0)}
    with pytest.raises(ValueError, match=message):
        flat.value_owners(**{**good, **changes})


def test_an_index_that_may_miss_points_is_refused() -> None:
    pytest.importorskip("hnswlib")
    with pytest.raises(ValueError, match=r"needs every point within the radius, and neighbors='hnswlib' may miss some"):
        flat.value_owners(*make_data(), np.arange(40) % 3, utility=Threshold(1.0), neighbors="hnswlib")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indices": [[0], [1]]}, "a list for each of the 1 queries; got 2 lists"),
        ({"indices": [[0, 3]]}, "indices must lie between 0 and 1"),
        ({"indices": [[0, 0]]}, "at most once per query"),
        ({"votes": [[1, 2]]}, "takes unweighted votes within a radius"),
    ],
    ids=str,
)
def test_bad_lists_are_explained(changes: dict[str, Any], message: str) -> None:
    good = {"indices": [[0, 1]], "owners": ["a", "b"], "y_train": [0, 1], "y_test": [1], "utility": Threshold(1.0)}
    with pytest.raises(ValueError, match=message):
        flat.value_owners_from_neighbors(**{**good, **changes})
