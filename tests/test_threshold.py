"""Games of all points within a radius: against enumeration, against exact fractions, and around the edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import comb, lcm
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

import flat
import pivotal
import reference
from effort import examples
from pivotal.core.games import Threshold, as_game
from pivotal.core.semivalues import Semivalue
from pivotal.core.spec import Spec
from pivotal.engine.game_shape import GameShape
from pivotal.engine.radius import RadiusEngine
from pivotal.neighbors import Balls, as_balls, as_index
from pivotal.neighbors._balls import find_balls
from strategies import SmallGame, measures, semivalues, small_games

EMPTY = st.sampled_from([None, Fraction(0), Fraction(1), Fraction(-3, 2)])


def points(n: int = 120, n_queries: int = 40, seed: int = 0) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    X, X_test = rng.normal(size=(n, 2)), rng.normal(size=(n_queries, 2))
    return X, rng.integers(0, 3, n), X_test, rng.integers(0, 3, n_queries)


def values_of(game: SmallGame, semivalue: str | Semivalue, empty: Fraction | None = None) -> pivotal.Values:
    """Values of points that are all within the radius."""
    nearest_first = [list(range(game.n))]
    utility = Threshold(1.0, empty)
    return pivotal.value_from_neighbors(
        nearest_first, game.labels, [game.target], utility=utility, semivalue=semivalue, classes=game.classes
    )


def enumerated(game: SmallGame, semivalue: tuple[Any, ...], empty: Fraction | None) -> list[float]:
    options = {"classes": game.classes, "empty": empty}
    exact = reference.semivalues(game.labels, game.target, game.n, "soft", semivalue, **options)
    return [float(value) for value in exact]


@pytest.mark.kernels
@given(game=small_games(8, weighted=False), semivalue=semivalues(), empty=EMPTY)
@examples(60)
def test_values_equal_enumeration(game: SmallGame, semivalue: tuple[str, Any], empty: Fraction | None) -> None:
    values = values_of(game, semivalue[0], empty)
    assert_allclose(values.values, enumerated(game, semivalue[1], empty), rtol=0, atol=values.error_bound)
    n_right = game.labels.count(game.target)
    assert values.full_utility == n_right / game.n
    assert_allclose(values.empty_utility, 1 / len(game.classes) if empty is None else float(empty), rtol=1e-15)


@given(game=small_games(7, weighted=False), measure=measures())
@examples(30)
def test_values_equal_enumeration_for_any_measure(game: SmallGame, measure: tuple[Any, Any]) -> None:
    values = values_of(game, pivotal.Measure(*measure[0]))
    assert_allclose(values.values, enumerated(game, measure[1], None), rtol=0, atol=values.error_bound)


@st.composite
def lines(draw: st.DrawFn) -> tuple[list[int], list[int], list[int], list[int], int]:
    """Points and queries at integers, so that many are at the same place or at the radius exactly."""
    places, labels = st.integers(-4, 4), st.integers(0, 2)
    n, n_queries = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    train = draw(st.lists(places, min_size=n, max_size=n)), draw(st.lists(labels, min_size=n, max_size=n))
    test = (
        draw(st.lists(places, min_size=n_queries, max_size=n_queries)),
        draw(st.lists(labels, min_size=n_queries, max_size=n_queries)),
    )
    return *train, *test, draw(st.integers(0, 5))


@given(line=lines(), semivalue=semivalues())
@examples(60)
def test_points_outside_are_worth_nothing_and_those_at_the_radius_vote(
    line: tuple[list[int], list[int], list[int], list[int], int], semivalue: tuple[str, Any]
) -> None:
    places, labels, queries, targets, radius = line
    X, X_test = np.array(places, float)[:, np.newaxis], np.array(queries, float)[:, np.newaxis]
    classes = [0, 1, 2]
    values = pivotal.value(
        X, labels, X_test, targets, utility=Threshold(radius), semivalue=semivalue[0], classes=classes, n_jobs=1
    )
    exact = np.zeros(len(places))
    for query, target in zip(queries, targets, strict=True):

        def earned(members: tuple[int, ...], query: int = query, target: int = target) -> Fraction:
            near = [labels[i] for i in members if abs(places[i] - query) <= radius]
            return Fraction(near.count(target), len(near)) if near else Fraction(1, 3)

        exact += [float(value) for value in reference.enumerate_values(len(places), earned, semivalue[1])]
    assert_allclose(values.values, exact / len(queries), rtol=0, atol=values.error_bound)
    never_near = [min(abs(place - query) for query in queries) > radius for place in places]
    assert not values.values[never_near].any()


# What shapiq's ThresholdNNExplainer gives, from the classes of points at 1, ..., 6 and a query of class 1 at 0.
PEER = {
    ("two classes", 3.5): [0.444444, -0.305556, -0.305556, 0, 0, 0],
    ("two classes", 4.0): [0.305556, -0.305556, -0.305556, 0.305556, 0, 0],
    ("two classes", 10.0): [0.228333, -0.228333, -0.228333, 0.228333, 0.228333, -0.228333],
    ("three classes", 3.5): [0.5, -0.25, -0.25, 0, 0, 0],
    ("three classes", 4.0): [0.347222, -0.263889, -0.263889, 0.347222, 0, 0],
    ("three classes", 10.0): [0.304444, -0.152222, -0.152222, 0.304444, -0.152222, -0.152222],
}


@pytest.mark.parametrize(("classes", "radius"), PEER)
def test_shapley_values_are_those_of_a_peer(classes: str, radius: float) -> None:
    labels = [1, 0, 0, 1, 1, 0] if classes == "two classes" else [1, 0, 2, 1, 2, 0]
    X = np.arange(1.0, 7.0)[:, np.newaxis]
    values = pivotal.value(X, labels, [[0.0]], [1], utility=Threshold(radius), semivalue="shapley")
    assert_allclose(values.values, PEER[classes, radius], rtol=0, atol=5e-7)


def binomial(one_in: int) -> Callable[[int], list[int]]:
    return lambda n: [comb(n, s) * (one_in - 1) ** (n - s) for s in range(n + 1)]


# How likely it is that 0, 1, ..., n of n others joined, as integers in proportion.
CHANCES: dict[str, Callable[[int], list[int]]] = {
    "shapley": lambda n: [1] * (n + 1),
    "banzhaf": binomial(2),
    "banzhaf(0.0009765625)": binomial(1024),
    "loo": lambda n: [0] * n + [1],
}


@pytest.mark.parametrize("semivalue", CHANCES)
def test_values_are_exact_where_binomials_overflow(semivalue: str) -> None:
    n, n_right, classes = 3000, 1234, 3
    labels = np.zeros(n, int)
    labels[n_right:] = 1
    values = pivotal.value_from_neighbors(
        [np.arange(n)], labels, [0], utility=Threshold(1.0), semivalue=semivalue, classes=range(classes)
    )
    chances, empty, divisible = CHANCES[semivalue](n - 1), Fraction(1, classes), lcm(*range(1, n + 1))
    alone = Fraction(chances[0], sum(chances))
    # Joining s others, a point has 1 / (s + 1) of the vote and takes it from them.
    joining = sum(chance * (divisible // (s + 1)) for s, chance in enumerate(chances) if s > 0)
    per_other = Fraction(joining, divisible * sum(chances) * (n - 1))
    right = alone * (1 - empty) + per_other * (n - n_right)
    wrong = -alone * empty - per_other * n_right
    assert_allclose(values.values[:n_right], float(right), rtol=1e-13)
    assert_allclose(values.values[n_right:], float(wrong), rtol=1e-13)


def test_shapley_values_of_a_huge_ball_add_up() -> None:
    labels = (np.arange(200_000) % 7 == 0).astype(int)
    values = pivotal.value_from_neighbors(
        [np.arange(200_000)], labels, [1], utility=Threshold(1.0), semivalue="shapley"
    )
    assert_allclose(values.values.sum(), values.full_utility - values.empty_utility, rtol=1e-12)


@pytest.mark.parametrize("semivalue", ["shapley", "banzhaf", "beta(4,1)"])
def test_verify_plays_the_ball(semivalue: str) -> None:
    labels = ["cat", "dog", "cat", "fox"]
    utility = Threshold(0.5)
    values = pivotal.value_from_neighbors([range(4)], labels, ["cat"], utility=utility, semivalue=semivalue).values
    report = pivotal.verify(labels, "cat", k=1, utility=utility, semivalue=semivalue, values=values)
    report.raise_if_wrong()
    assert report.axioms["symmetry"]


# Finding who is within the radius


@given(
    seed=st.integers(0, 1000),
    n_train=st.integers(1, 400),
    n_queries=st.integers(1, 80),
    radius=st.integers(0, 30),
    at_once=st.integers(1, 70),
)
@examples(40)
def test_balls_hold_everyone_within_the_radius(
    seed: int, n_train: int, n_queries: int, radius: int, at_once: int
) -> None:
    # Queries differ in how crowded their surroundings are, so that lists of several lengths are needed.
    rng = np.random.default_rng(seed)
    distances = rng.integers(0, rng.integers(1, 200, size=(n_queries, 1)), size=(n_queries, n_train)).astype(float)
    order = np.argsort(distances, axis=1, kind="stable")
    longest = []

    def nearest(queries: Any, depth: int) -> tuple[Any, Any]:
        assert len(queries) <= max(at_once, 32)
        longest.append(depth)
        rows = order[queries, :depth]
        return rows, np.take_along_axis(distances[queries], rows, 1)

    found = list(find_balls(nearest, lambda _: at_once, n_queries, n_train, float(radius)))
    inside = distances <= radius
    assert_array_equal(np.concatenate([balls.sizes for balls in found]), inside.sum(axis=1))
    for query, members in enumerate(members for balls in found for members in each(balls)):
        assert_array_equal(np.sort(members), np.flatnonzero(inside[query]))
    assert max(longest) <= max(64, 4 * inside.sum(axis=1).max())


def test_lists_are_short_where_balls_are_small_and_asked_for_again_where_they_are_not() -> None:
    sizes = np.ones(3000, np.int64)  # a ball holds the nearest points, as many as said here
    sizes[900:1200] = 100
    asked = []

    def nearest(queries: Any, depth: int) -> tuple[Any, Any]:
        asked.append((depth, len(queries)))
        gaps = np.broadcast_to(np.arange(depth), (len(queries), depth))
        return gaps, np.where(gaps < sizes[queries, np.newaxis], 0.0, 1.0)

    found = np.concatenate([balls.sizes for balls in find_balls(nearest, lambda _: 512, 3000, 3000, 0.5)])
    assert_array_equal(found, sizes)
    assert asked[:2] == [(64, 32), (8, 512)]
    assert (64, 156) in asked  # those of a block whose lists ended within the ball
    assert asked[-1][0] == 8  # as before the large balls


def each(balls: Balls) -> Iterator[Any]:
    return (balls.members[start:stop] for start, stop in zip(balls.starts[:-1], balls.starts[1:], strict=True))


def sets(found: Iterator[Balls]) -> list[set[int]]:
    return [set(members.tolist()) for balls in found for members in each(balls)]


@pytest.mark.parametrize(
    ("neighbors", "metric"),
    [("auto", "euclidean"), ("auto", "manhattan"), ("brute", "cosine"), ("kd_tree", "euclidean")],
)
def test_every_exact_index_finds_the_balls_of_scikit_learn(neighbors: str, metric: str) -> None:
    X, _, X_test, _ = points(300)
    index = as_index(neighbors, X, metric=metric, n_jobs=1)
    peer = NearestNeighbors(metric=metric, algorithm="brute").fit(X)
    for radius in (0.01, 0.5, 5.0):
        theirs = [set(row.tolist()) for row in peer.radius_neighbors(X_test, radius, return_distance=False)]
        assert sets(index.search_radius(X_test, radius, max_memory=20_000)) == theirs


def test_sparse_points_and_files_have_the_same_balls(tmp_path: Path) -> None:
    X, _, X_test, _ = points(200)
    X[np.abs(X) < 0.3] = 0.0
    expected = sets(as_index("brute", X, n_jobs=1).search_radius(X_test, 1.0))
    assert sets(as_index("brute", sparse.csr_array(X), n_jobs=1).search_radius(X_test, 1.0)) == expected
    np.save(tmp_path / "X.npy", X)
    assert sets(as_index("auto", tmp_path / "X.npy", n_jobs=1).search_radius(X_test, 1.0)) == expected


# The estimator


@pytest.mark.parametrize(
    "changes",
    [{"n_jobs": 2}, {"block_size": 1}, {"block_size": 7}, {"max_memory": 30_000}, {"neighbors": "kd_tree"}],
    ids=str,
)
def test_results_depend_on_neither_threads_nor_blocks(changes: dict[str, Any]) -> None:
    data = points()
    once = pivotal.value(*data, utility=Threshold(0.8), n_jobs=1)
    again = flat.value(*data, utility=Threshold(0.8), **({"n_jobs": 1} | changes))
    assert_array_equal(again.values, once.values)
    assert (again.full_utility, again.error_bound) == (once.full_utility, once.error_bound)


def test_batches_add_up_to_one_call() -> None:
    X, y, X_test, y_test = points()
    model = pivotal.KNNValuation(utility="threshold(0.8)", semivalue="shapley").fit(X, y)
    model.update(X_test[:15], y_test[:15]).update(X_test[15:], y_test[15:])
    once = pivotal.value(X, y, X_test, y_test, utility=Threshold(0.8), semivalue="shapley")
    assert_array_equal(model.values_, once.values)


def test_points_that_value_each_other_are_not_in_their_own_balls() -> None:
    X, y, _, _ = points(50)
    X[1] = X[0]  # a duplicate is another point
    values = pivotal.value(X, y, utility=Threshold(0.6), semivalue="shapley")
    total = np.zeros(50)
    for i in range(50):
        others = np.arange(50) != i
        total[others] += pivotal.value(
            X[others],
            y[others],
            X[i : i + 1],
            y[i : i + 1],
            utility=Threshold(0.6),
            semivalue="shapley",
            classes=[0, 1, 2],
        ).values
    assert_allclose(values.values, total / 50, rtol=0, atol=1e-15)
    assert values.details["n_players"] == 49
    assert_allclose(values.values.sum(), values.full_utility - values.empty_utility, rtol=1e-12)


def test_an_estimator_or_a_matrix_of_distances_may_find_the_balls() -> None:
    X, y, X_test, y_test = points()
    expected = pivotal.value(X, y, X_test, y_test, utility=Threshold(0.8)).values
    fitted = NearestNeighbors().fit(X)
    assert_array_equal(pivotal.value(X, y, X_test, y_test, utility=Threshold(0.8), neighbors=fitted).values, expected)
    among, towards = pairwise_distances(X), pairwise_distances(X_test, X)
    matrix = {"utility": Threshold(0.8), "metric": "precomputed"}
    assert_array_equal(flat.value(among, y, towards, y_test, **matrix).values, expected)
    assert_array_equal(flat.value(among, y, **matrix).values, pivotal.value(X, y, utility=Threshold(0.8)).values)


def test_a_query_of_weight_two_counts_twice() -> None:
    X, y, X_test, y_test = points(60, 5)
    counts = np.array([2, 0, 1, 3, 1])
    weighted = pivotal.value(X, y, X_test, y_test, utility=Threshold(0.8), query_weights=counts)
    repeated = pivotal.value(X, y, X_test.repeat(counts, 0), y_test.repeat(counts), utility=Threshold(0.8))
    assert_allclose(weighted.values, repeated.values, rtol=0, atol=1e-15)
    assert_allclose(weighted.full_utility, repeated.full_utility, rtol=1e-14)


def test_lists_found_elsewhere_give_the_same_values() -> None:
    X, y, X_test, y_test = points()
    peer = NearestNeighbors(radius=0.8).fit(X)
    expected = pivotal.value(X, y, X_test, y_test, utility=Threshold(0.8)).values
    graph = peer.radius_neighbors_graph(X_test)
    for lists in (peer.radius_neighbors(X_test, return_distance=False), graph, graph.tocoo()):
        values = pivotal.value_from_neighbors(lists, y, y_test, utility=Threshold(0.8))
        assert_array_equal(values.values, expected)
    assert values.details["neighbors"] == "precomputed"
    own = peer.radius_neighbors(return_distance=False)  # of the training points, without themselves
    assert_array_equal(
        pivotal.value_from_neighbors(own, y, utility=Threshold(0.8)).values,
        pivotal.value(X, y, utility=Threshold(0.8)).values,
    )


def test_the_result_says_what_was_played() -> None:
    X, y, X_test, y_test = points()
    values = pivotal.value(X, y, X_test, y_test, utility=Threshold(0.3), k=3)
    sizes = [len(row) for row in NearestNeighbors(radius=0.3).fit(X).radius_neighbors(X_test, return_distance=False)]
    told = {**values.settings, **values.details}
    assert as_game(told["utility"]) == Threshold(0.3)
    assert told["k"] is None
    assert told["method"] == "exact"
    assert (told["mean_ball"], told["largest_ball"]) == (np.mean(sizes), max(sizes))
    assert told["n_empty_balls"] == sizes.count(0) > 0
    assert values.error_bound == 1e-14
    assert values.standard_error is None


def test_nobody_near_is_worth_nothing() -> None:
    values = pivotal.value([[0.0], [1.0]], ["a", "b"], [[5.0], [9.0]], ["a", "b"], utility=Threshold(0.0))
    assert_array_equal(values.values, [0.0, 0.0])
    assert values.full_utility == values.empty_utility == 0.5
    assert values.details["n_empty_balls"] == 2


def test_one_point_alone_earns_what_it_adds_to_nothing() -> None:
    for semivalue in ("shapley", "banzhaf", "loo", "beta(4,1)"):
        values = pivotal.value(
            [[1.0]], ["a"], [[1.0]], ["a"], utility=Threshold(0, empty=0.25), semivalue=semivalue, classes=["a", "b"]
        )
        assert_array_equal(values.values, [0.75])


def test_a_block_that_is_interrupted_does_not_count() -> None:
    engine = RadiusEngine(Spec.of(utility=Threshold(1.0)), np.zeros(3, np.int32), GameShape(3, 2, 3))
    ball = Balls.of(np.array([2]), np.array([0, 1]))

    def interrupted() -> Iterator[Balls]:
        yield ball
        raise KeyboardInterrupt

    engine.add([ball], None, np.zeros(1, np.int32))
    before = engine.values().copy()
    with pytest.raises(KeyboardInterrupt):
        engine.add(interrupted(), None, np.zeros(2, np.int32))
    assert engine.n_queries == 1
    assert_array_equal(engine.values(), before)


# What is refused


@pytest.mark.parametrize("radius", [-1.0, float("nan"), float("inf"), None, "wide", True])
def test_a_radius_is_a_finite_number_of_at_least_zero(radius: Any) -> None:
    with pytest.raises(ValueError, match=r"radius must be a finite number of at least 0; got"):
        Threshold(radius)


def test_a_radius_must_be_given() -> None:
    with pytest.raises(TypeError, match="radius"):
        Threshold()  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["threshold(-1)", "threshold(nan)", "threshold(inf)", "threshold()", "threshold(x)"])
def test_a_bad_radius_in_a_name_is_said(name: str) -> None:
    with pytest.raises(ValueError, match=r"radius must be a finite number of at least 0; got"):
        as_game(name)


def test_names_and_numbers_of_any_kind_make_the_same_game() -> None:
    assert as_game("threshold(0.5)") == Threshold(np.float32(0.5)) == Threshold(Fraction(1, 2))
    assert str(Threshold(2)) == "threshold(2.0)"
    assert str(Threshold(2, empty=0)) == "Threshold(radius=2.0, empty=0)"
    assert hash(Threshold(2)) == hash(Threshold(2.0))


LISTS: list[tuple[Any, dict[str, Any], str]] = [
    ([[0], [1]], {}, r"indices must have a list for each of the 1 queries; got 2 lists"),
    ([[0, 3]], {}, r"indices must lie between 0 and 2, the last training point; got 3"),
    ([[-1]], {}, r"indices must lie between 0 and 2, the last training point; got -1"),
    ([[1, 0, 1]], {}, r"indices must name each training point at most once per query; query 0 does not"),
    ([[0.5]], {}, r"indices must be integers; got dtype float64"),
    ([3], {}, r"indices must be a list of training points for each query; got an entry 3"),
    (sparse.csr_array((1, 2)), {}, r"shape \(1, 3\); got \(1, 2\)"),
    ([[0]], {"votes": [[2]]}, r"threshold\(1.0\) takes unweighted votes within a radius"),
    ([[0]], {"method": "coalitions"}, r"threshold\(1.0\) has closed forms at any size and is not sampled; got method="),
]


@pytest.mark.parametrize(("lists", "changes", "message"), LISTS)
def test_bad_lists_are_refused(lists: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flat.value_from_neighbors(lists, [0, 1, 1], [1], utility=Threshold(1.0), **changes)


def test_a_point_in_its_own_list_is_refused() -> None:
    with pytest.raises(ValueError, match=r"among its own neighbours; point 1 is"):
        pivotal.value_from_neighbors([[1], [0, 1]], [0, 1], utility=Threshold(1.0))


def test_lists_may_be_empty() -> None:
    assert as_balls([[], [2, 0]], 3, 2).sizes.tolist() == [0, 2]
    assert pivotal.value_from_neighbors([[]], [0, 1], [1], utility=Threshold(1.0)).values.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": "distance"}, r"takes unweighted votes within a radius; got weighted votes"),
        ({"method": "permutations"}, r"is not sampled; got method='permutations'"),
        ({"method": "bf"}, r"enumeration plays games of the k nearest; got threshold\(0.5\)"),
        ({"neighbors": "hnswlib"}, r"needs every point within the radius, and neighbors='hnswlib' may miss some"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_within_a_radius_are_refused(changes: dict[str, str], message: str) -> None:
    if "neighbors" in changes:
        pytest.importorskip("hnswlib")
    X, y, X_test, y_test = points(12, 2)
    with pytest.raises(ValueError, match=message):
        flat.value(X, y, X_test, y_test, utility=Threshold(0.5), **changes)  # type: ignore[arg-type]


def test_votes_other_than_one_are_refused_by_the_definition() -> None:
    with pytest.raises(ValueError, match=r"Threshold counts points, so every vote must be 1; got a vote of 2"):
        Threshold(1.0).utility(["a"], [2], "a", ["a"], 1)
