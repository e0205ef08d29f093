"""Owners as players: the definition enumerated, and everything that must follow from it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import flat
import reference
from effort import examples
from pivotal import Values, value
from pivotal.analysis import owner_table
from pivotal.core.games import Game, Hard, Plurality, Regression, Soft
from pivotal.core.semivalues import Banzhaf, BetaShapley, LeaveOneOut, Measure, Semivalue, Shapley, as_semivalue
from pivotal.engine.owners.owner_game import chance_table
from strategies import SmallGame, build_game, measures, semivalues, small_games, small_regressions, utilities

both = pytest.mark.parametrize("method", ["coalitions", "permutations"])


def owners_of(n: int, code: int, n_owners: int = 4) -> list[int]:
    """Any assignment of n points to owners, as one number."""
    return [code // n_owners**i % n_owners for i in range(n)]


def play(
    game: SmallGame, owners: list[int], utility: Game, semivalue: str | Semivalue, depth: int | None = None, **more: Any
) -> Values:
    depth = game.n if depth is None else depth
    return flat.value_owners_from_neighbors(
        [range(depth)],
        owners,
        game.labels,
        [game.target],
        k=game.k,
        votes=None if set(game.votes) == {1} else [game.votes[:depth]],
        classes=game.classes or None,
        utility=utility,
        semivalue=semivalue,
        n_jobs=1,
        **more,
    )


def enumerate_owners(
    game: SmallGame, owners: list[int], name: str, law: tuple, options: dict | None = None
) -> np.ndarray:
    """The definition: every coalition of owners, with all their points."""
    names = list(dict.fromkeys(owners))

    def earned(members: tuple[int, ...]) -> Fraction:
        points = [i for i in range(game.n) if owners[i] in {names[m] for m in members}]
        labels, votes = [game.labels[i] for i in points], [game.votes[i] for i in points]
        return reference.earnings(labels, votes, game.target, game.classes, game.k, name, **(options or {}))

    return np.array([float(v) for v in reference.enumerate_values(len(names), earned, law)])


def with_unit_votes(game: SmallGame) -> SmallGame:
    return SmallGame(game.labels, [1] * game.n, game.target, game.classes, game.k)


codes = st.integers(0, 4**9 - 1)


@pytest.mark.kernels
@given(game=small_games(), code=codes, utility=utilities(), semivalue=semivalues())
@examples(100, derandomize=True)
@example(SmallGame([0], [1], 0, [0], 3), 0, ("hard", {}), ("banzhaf", ("banzhaf",)))
@example(SmallGame([1, 1, 1], [0, 0, 0], 0, [0, 1], 2), 4, ("soft", {}), ("shapley", ("shapley",)))
def test_every_game_equals_its_definition(game: SmallGame, code: int, utility: tuple, semivalue: tuple) -> None:
    name, options = utility
    game = with_unit_votes(game) if name == "soft-k" else game
    owners = owners_of(game.n, code)
    values = play(game, owners, build_game(name, options), semivalue[0])
    exact = enumerate_owners(game, owners, name, semivalue[1], options)
    assert values.error_bound < 1e-12
    assert np.abs(values.values - exact).max() <= values.error_bound
    assert values.ids.tolist() == list(dict.fromkeys(owners))


@pytest.mark.kernels
@given(game=small_regressions(), code=codes, semivalue=semivalues())
@examples(40, derandomize=True)
def test_regression_equals_its_definition(game: SmallGame, code: int, semivalue: tuple) -> None:
    owners = owners_of(game.n, code)
    values = play(game, owners, Regression(), semivalue[0])
    assert np.abs(values.values - enumerate_owners(game, owners, "regression", semivalue[1])).max() <= (
        values.error_bound + 1e-300
    )


@pytest.mark.kernels
@given(game=small_games(), code=codes, measure=measures())
@examples(40, derandomize=True)
@example(SmallGame([0, 1, 0], [1, 1, 1], 0, [0, 1], 3), 0 + 4 + 32, (([0.0], [1.0]), ("nodes", [(0, 1)])))
def test_any_measure_equals_its_definition(game: SmallGame, code: int, measure: tuple) -> None:
    owners = owners_of(game.n, code)
    values = play(game, owners, Hard(), Measure(*measure[0]))
    assert np.abs(values.values - enumerate_owners(game, owners, "hard", measure[1])).max() <= values.error_bound


@pytest.mark.kernels
@both
@given(game=small_games(max_n=7), code=codes, utility=utilities(), semivalue=semivalues(), seed=st.integers(0, 2**32))
@examples(40, derandomize=True)
def test_every_game_is_estimated(
    method: str, game: SmallGame, code: int, utility: tuple, semivalue: tuple, seed: int
) -> None:
    name, options = utility
    game = with_unit_votes(game) if name == "soft-k" else game
    owners = owners_of(game.n, code)
    values = play(
        game, owners, build_game(name, options), semivalue[0], method=method, n_samples=200, random_state=seed
    )
    exact = enumerate_owners(game, owners, name, semivalue[1], options)
    # Six errors: hypothesis looks for the worst of many seeds.
    assert (np.abs(values.values - exact) <= 6.0 * values.standard_error + 1e-12).all()


@pytest.mark.kernels
@given(game=small_games(max_n=8), code=codes, utility=utilities(), semivalue=semivalues(), data=st.data())
@examples(80, derandomize=True)
def test_the_error_bound_covers_lists_that_are_too_short(
    game: SmallGame, code: int, utility: tuple, semivalue: tuple, data: st.DataObject
) -> None:
    name, options = utility
    game = with_unit_votes(game) if name == "soft-k" else game
    owners = owners_of(game.n, code)
    values = play(game, owners, build_game(name, options), semivalue[0], depth=data.draw(st.integers(1, game.n)))
    exact = enumerate_owners(game, owners, name, semivalue[1], options)
    assert np.abs(values.values - exact).max() <= values.error_bound


def test_the_error_bound_knows_that_an_owner_is_not_among_the_others() -> None:
    # The list shows one owner, who is needed as far as it tells; the other, beyond it, would do as well.
    game = SmallGame([1, 1], [1, 1], 1, [0, 1], 1)
    short, whole = (play(game, [0, 1], Hard(), "loo", depth=depth) for depth in (1, 2))
    assert short.values.tolist() == [1.0, 0.0]
    assert whole.values.tolist() == [0.0, 0.0]
    assert short.error_bound >= 1.0


def test_lists_with_k_points_of_every_owner_are_enough() -> None:
    owners = [0, 0, 0, 1, 1, 0, 1, 1, 0]
    game = SmallGame([1, 0, 1, 1, 0, 1, 0, 0, 1], [1] * 9, 1, [0, 1], 2)
    short, whole = (play(game, owners, Hard(), "shapley", depth=depth) for depth in (5, 9))
    assert short.error_bound == whole.error_bound < 1e-13
    assert short.values.tolist() == whole.values.tolist()


def make_data(seed: int, n: int = 30, n_queries: int = 5, n_classes: int = 3) -> tuple[np.ndarray, ...]:
    """Points on a grid: many equal distances, many duplicates."""
    rng = np.random.default_rng(seed)
    X, queries = (rng.integers(0, 4, (size, 2)).astype(float) for size in (n, n_queries))
    return X, rng.integers(0, n_classes, n), queries, rng.integers(0, n_classes, n_queries)


GAMES = [
    Hard(), Hard(tie="win"), Hard(other_classes="ignore"), Hard(other_classes="ignore", scale="sum"), Plurality(),
    Soft(), Soft(divide_by="k"), Regression(),
]  # fmt: skip
SEMIVALUES = [Banzhaf(), Banzhaf(0.3), Shapley(), BetaShapley(4.0, 1.0), LeaveOneOut()]


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_one_point_each_is_the_game_of_points(game: Game) -> None:
    data = make_data(0, n=12)
    for semivalue in SEMIVALUES:
        points = value(*data, k=3, utility=game, semivalue=semivalue, n_jobs=1)
        owners = flat.value_owners(*data, np.arange(12), k=3, utility=game, semivalue=semivalue, n_jobs=1)
        assert np.abs(points.values - owners.values).max() <= points.error_bound + owners.error_bound
        assert owners.full_utility == pytest.approx(points.full_utility, abs=1e-14)
        assert owners.empty_utility == pytest.approx(points.empty_utility, abs=1e-14)


class _Sorted:
    """A search of the user's own."""

    exact = True

    def __init__(self, X: np.ndarray) -> None:
        self.X = X

    def search(self, queries: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
        far = np.sqrt(((queries[:, np.newaxis] - self.X) ** 2).sum(axis=2))
        order = np.argsort(far, axis=1, kind="stable")[:, :depth]
        return order, np.take_along_axis(far, order, 1)


@pytest.mark.parametrize("weights", ["uniform", "distance", "rbf", "linear", lambda d: 1.0 / (1.0 + d)])
@pytest.mark.parametrize("game", [Hard(), Hard(other_classes="ignore"), Soft()], ids=repr)
def test_owner_by_owner_is_searched_as_all_at_once(game: Game, weights: Any) -> None:
    X, y, queries, targets = make_data(1)
    owners = np.random.default_rng(1).integers(0, 4, 30)
    how: dict[str, Any] = {"k": 3, "utility": game, "weights": weights, "n_jobs": 1}
    apart = flat.value_owners(X, y, queries, targets, owners, **how)
    together = flat.value_owners(X, y, queries, targets, owners, neighbors=_Sorted(X), **how)
    assert together.values.tolist() == apart.values.tolist()
    assert together.error_bound == apart.error_bound < 1e-12


def test_points_come_from_anywhere(tmp_path: Path) -> None:
    X, y, queries, targets = make_data(2)
    owners = np.arange(30) % 3
    expected = flat.value_owners(X, y, queries, targets, owners, k=3).values.tolist()
    np.save(tmp_path / "points.npy", X)
    distances = [np.sqrt(((a[:, np.newaxis] - X) ** 2).sum(axis=2)) for a in (X, queries)]
    for found in (
        flat.value_owners(tmp_path / "points.npy", y, queries, targets, owners, k=3),
        flat.value_owners(X, y, queries, targets, owners, k=3, neighbors="kd_tree"),
        flat.value_owners(csr_matrix(X), y, csr_matrix(queries), targets, owners, k=3),
        flat.value_owners(pd.DataFrame(X), pd.Series(y), queries, targets, pd.Series(owners), k=3),
        flat.value_owners(distances[0], y, distances[1], targets, owners, k=3, metric="precomputed"),
    ):
        assert found.values.tolist() == expected


def test_an_approximate_search_measures_its_recall() -> None:
    pytest.importorskip("faiss")
    data = make_data(2)
    values = flat.value_owners(*data, np.arange(30) % 3, k=3, neighbors="faiss-hnsw")
    assert values.recall is not None
    assert flat.value_owners(*data, np.arange(30) % 3, k=3, neighbors="faiss-flat").recall is None


def test_many_owners_are_looked_at_only_as_far_as_they_matter() -> None:
    data = make_data(3, n=120, n_queries=3)
    points = value(*data, k=1, n_jobs=1)
    owners = flat.value_owners(*data, np.arange(120), k=1, n_jobs=1)
    assert owners.details["method"] == "exact"
    assert owners.details["depth"] < 60
    assert np.abs(points.values - owners.values).max() <= points.error_bound + owners.error_bound
    rough = flat.value_owners(*data, np.arange(120), k=3, tol=1e-3, n_jobs=1)
    points = value(*data, k=3, n_jobs=1)
    assert rough.details["depth"] < 25
    assert 1e-6 < rough.error_bound < 2.1e-3
    assert 0.0 < np.abs(points.values - rough.values).max() <= rough.error_bound


def test_shapley_values_of_many_owners_are_exact_when_k_is_small() -> None:
    data = make_data(4, n=60, n_queries=2)
    points = value(*data, k=2, semivalue="shapley", n_jobs=1)
    owners = flat.value_owners(*data, np.arange(60), k=2, semivalue="shapley", n_jobs=1)
    assert owners.details["method"] == "exact"
    assert np.abs(points.values - owners.values).max() <= points.error_bound + owners.error_bound


@both
def test_many_owners_are_sampled(method: str) -> None:
    data = make_data(5, n=60)
    exact = value(*data, k=3, semivalue="shapley", n_jobs=1).values
    how: dict[str, Any] = {"k": 3, "semivalue": "shapley", "n_samples": 400, "random_state": 1}
    values = flat.value_owners(*data, np.arange(60), method=method, n_jobs=1, **how)
    assert values.details["method"] == method
    assert values.details["random_state"] == 1
    z = (values.values - exact) / values.standard_error
    assert np.abs(z).max() < 5.0
    assert 0.3 < z.std() < 1.5
    again = flat.value_owners(*data, np.arange(60), method=method, n_jobs=2, block_size=2, **how)
    assert again.values.tolist() == values.values.tolist()
    assert again.standard_error.tolist() == values.standard_error.tolist()
    other = flat.value_owners(*data, np.arange(60), method=method, n_jobs=1, **{**how, "random_state": 2})
    assert other.values.tolist() != values.values.tolist()


def test_sampling_ends_when_it_is_good_enough() -> None:
    data = make_data(6)
    owners = np.arange(30) % 6
    rough = flat.value_owners(*data, owners, k=3, target_se=0.01, random_state=0)
    assert rough.details["method"] == "coalitions"
    assert rough.standard_error.max() <= 0.01
    quick = flat.value_owners(*data, owners, k=3, max_time=0.001, random_state=0)
    assert quick.details["n_samples"][0] >= 256


def test_auto_samples_what_cannot_be_enumerated() -> None:
    data = make_data(7, n=40)
    few, many = (flat.value_owners(*data, np.arange(40) % n, k=9, random_state=0, n_jobs=1) for n in (8, 40))
    assert few.details["method"] == "exact"
    assert few.standard_error is None
    assert many.details["method"] == "coalitions"
    assert many.details["n_samples"] == (1000, 1000)

    class Mine(Semivalue):
        name = "mine"
        joined, mass = Shapley().joined, Shapley().mass

    mine = flat.value_owners(*data, np.arange(40), k=9, semivalue=Mine(), random_state=0, n_samples=50, n_jobs=1)
    assert mine.details["method"] == "permutations"


def test_threads_and_blocks_make_no_difference() -> None:
    data = make_data(8, n_queries=9)
    owners = np.arange(30) % 7
    one, two = (flat.value_owners(*data, owners, k=4, n_jobs=jobs, block_size=size) for jobs, size in ((1, 9), (2, 2)))
    assert one.equals(two)


@pytest.mark.parametrize("method", ["exact", "coalitions"])
def test_a_query_that_weighs_twice_counts_twice(method: str) -> None:
    X, y, queries, targets = make_data(15, n_queries=3)
    owners, how = np.arange(30) % 4, {"k": 3, "method": method, "random_state": 0, "n_jobs": 1}
    weighted = flat.value_owners(X, y, queries, targets, owners, query_weights=[0.0, 2.0, 1.0], **how)
    twice = flat.value_owners(X, y, queries[[1, 1, 2]], targets[[1, 1, 2]], owners, **how)
    errors = 0.0 if method == "exact" else 5.0 * (weighted.standard_error + twice.standard_error)
    assert (np.abs(weighted.values - twice.values) <= errors + 1e-14).all()
    with pytest.raises(ValueError, match="query_weights"):
        flat.value_owners(X, y, queries, targets, owners, query_weights=[1.0], **how)


def test_shapley_values_share_out_everything() -> None:
    data = make_data(9)
    for game in GAMES:
        values = flat.value_owners(*data, np.arange(30) % 5, k=4, utility=game, semivalue="shapley", n_jobs=1)
        assert values.values.sum() == pytest.approx(values.full_utility - values.empty_utility, abs=1e-12)


def test_a_single_owner_is_worth_everything() -> None:
    data = make_data(10)
    for semivalue in ["banzhaf", "shapley", "loo"]:
        values = flat.value_owners(*data, ["ann"] * 30, semivalue=semivalue, utility="soft", n_jobs=1)
        assert values.values == pytest.approx([values.full_utility - values.empty_utility])
        assert values.ids.tolist() == ["ann"]


def test_an_owner_who_is_never_near_is_worth_little_under_leave_one_out() -> None:
    X = [[0.0], [0.1], [0.2], [0.3], [9.0], [9.1]]
    values = flat.value_owners(X, [1, 1, 1, 0, 0, 1], [[0.0]], [1], list("aabbcc"), k=2, semivalue="loo")
    assert values.values[2] == 0.0
    # But where both others stay away, the far points decide.
    assert flat.value_owners(X, [1, 1, 1, 0, 0, 1], [[0.0]], [1], list("aabbcc"), k=1).values[2] == 0.0
    assert flat.value_owners(X, [1, 1, 1, 0, 1, 1], [[0.0]], [1], list("aabbcc"), k=1).values[2] == 0.25


def test_owners_with_the_same_points_are_worth_the_same() -> None:
    X, y, queries, targets = make_data(11, n=10)
    twice = np.concatenate([X, X, X[:4]])
    labels = np.concatenate([y, y, y[:4]])
    owners = ["ann"] * 10 + ["bob"] * 10 + ["cat"] * 4
    for game in [Soft(), Hard()]:
        ann, bob, _ = flat.value_owners(twice, labels, queries, targets, owners, k=3, utility=game, n_jobs=1).values
        # With fewer than k copies in sight the two differ by who is asked first, and no prediction does.
        assert ann == pytest.approx(bob, abs=1e-14)


def test_a_game_is_not_a_sum() -> None:
    # Two owners of copies: each point by itself is worth something, an owner is only needed once.
    X, y = [[0.0], [0.0], [5.0], [5.0]], [1, 1, 0, 0]
    data = (X, y, [[0.0]], [1])
    owners = ["ann", "ann", "bob", "bob"]
    players = flat.value_owners(*data, owners, k=1)
    sums = value(*data, k=1).by_owner(owners)
    assert players.values.tolist() == [1.0, 0.0]
    assert sums["ann"] == 1.0
    data = (X, y, [[0.0]], [1])
    assert flat.value_owners(*data, ["ann", "bob", "cat", "cat"], k=1).values.tolist() == [0.5, 0.5, 0.0]


def test_the_chances_are_those_of_the_semivalue() -> None:
    for semivalue in [*SEMIVALUES, Measure([0.0, 0.7], [0.5, 0.5])]:
        table = chance_table(semivalue, 4, 30)
        expected = [[semivalue.mass(a, b) for b in range(31)] for a in range(5)]
        np.testing.assert_allclose(table, expected, rtol=1e-12)
    assert chance_table(Shapley(), 2, 40)[2, 38] == pytest.approx(float(reference.mass(("shapley",), 2, 38)), rel=1e-14)


def test_the_result_says_who_plays(tmp_path: Path) -> None:
    data = make_data(12)
    values = flat.value_owners(*data, np.repeat(["ann", "bob"], [20, 10]), k=3)
    assert values.ids.tolist() == ["ann", "bob"]
    assert values.details["points"] == (20, 10)
    assert values.details["players"] == "groups"
    assert values.details["n_players"] == 2
    values.save(tmp_path / "owners.parquet")
    assert Values.load(tmp_path / "owners.parquet").equals(values)
    assert flat.value_owners(*data, [1, "a", *[2] * 28], k=3).ids.tolist() == [1, "a", 2]


def test_both_accounts_stand_side_by_side() -> None:
    data = make_data(13, n_classes=2)
    owners = np.array(["ann", "bob", "cat"])[np.arange(30) % 3]
    points = value(*data, k=3, semivalue="shapley", utility="soft", n_jobs=1)
    players = flat.value_owners(*data, owners, k=3, semivalue="shapley", utility="soft", n_jobs=1)
    table = owner_table(points, players, owners, budget=90, non_negative=True, decimals=2)
    assert table.columns.tolist() == ["points", "sum", "player", "payout_by_sum", "payout_by_player"]
    assert table["points"].tolist() == [10, 10, 10]
    assert table["player"].is_monotonic_decreasing
    assert table["payout_by_sum"].sum() == table["payout_by_player"].sum() == 90
    assert table["sum"].sum() == pytest.approx(table["player"].sum())
    for name, value_ in zip(players.ids, players.values, strict=True):
        assert table.loc[name, "player"] == value_
        assert table.loc[name, "sum"] == pytest.approx(points.by_owner(owners)[name])
    with pytest.raises(TypeError, match=r"owner_values must be what .* returns; got ndarray"):
        owner_table(points, players.values, owners)
    with pytest.raises(ValueError, match="a value for each of the 2 owners; got 3"):
        owner_table(points, players, np.arange(30) % 2)


def test_unit_votes_in_other_words() -> None:
    lists = {"indices": [[0, 1]], "owners": ["a", "b"], "y_train": [0, 1], "y_test": [1], "k": 1}
    plain = flat.value_owners_from_neighbors(**lists)
    assert flat.value_owners_from_neighbors(**lists, votes=[[1, 1]]).equals(plain)
    assert as_semivalue(plain.settings["semivalue"]) == Banzhaf()
