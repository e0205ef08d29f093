"""Games: the reference reproduces the recorded answers, and every game has the utility that the reference defines."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import reference
from effort import examples
from pivotal.core.games import Game, Hard, Plurality, Regression, Soft, as_game
from pivotal.core.semivalues import as_semivalue
from strategies import SmallGame, build_game, semivalues, small_games, small_regressions, utilities


def coalitions(game: SmallGame) -> list[list[int]]:
    return [list(members) for size in range(game.n + 1) for members in combinations(range(game.n), size)]


def pick(items: list[Any], members: list[int]) -> list[Any]:
    return [items[i] for i in members]


# ---- the reference itself


def test_reference_reproduces_every_recorded_game() -> None:
    vectors = reference.load_vectors()
    assert len(vectors) == 360
    wrong = [vector for vector in vectors if reference.semivalues(**vector["arguments"]) != vector["values"]]
    assert wrong == []


def test_reference_counts_chances_that_sum_to_one() -> None:
    nodes = ("nodes", [(Fraction(1, 3), Fraction(1, 4)), (Fraction(1), Fraction(3, 4))])
    for semivalue in [("banzhaf",), ("banzhaf", "1/5"), ("shapley",), ("beta", 4, 1), ("beta", 2, 3), ("loo",), nodes]:
        sizes = [1, 5, 10, 10, 5, 1]
        assert sum(count * reference.mass(semivalue, s, 5 - s) for s, count in enumerate(sizes)) == 1
    assert reference.mass(("beta", 1, 1), 2, 3) == reference.mass(("shapley",), 2, 3)


def test_reference_puts_the_beta_weight_where_kwon_and_zou_do() -> None:
    # A large alpha favours small coalitions.
    assert reference.mass(("beta", 4, 1), 0, 3) > reference.mass(("beta", 4, 1), 3, 0)


# ---- utility


@settings(deadline=None)
@given(game=small_games(max_n=6), utility=utilities())
def test_every_coalition_earns_what_the_reference_says(game: SmallGame, utility: tuple[str, dict[str, Any]]) -> None:
    name, options = utility
    votes = [1] * game.n if name == "soft-k" else game.votes
    built = build_game(name, options)
    for members in coalitions(game):
        ours = built.utility(pick(game.labels, members), pick(votes, members), game.target, game.classes, game.k)
        theirs = reference.earnings(
            pick(game.labels, members), pick(votes, members), game.target, game.classes, game.k, name, **options
        )
        assert isinstance(ours, Fraction)
        assert ours == theirs


@settings(deadline=None)
@given(game=small_regressions(max_n=6))
def test_every_coalition_of_a_regression_earns_what_the_reference_says(game: SmallGame) -> None:
    for members in coalitions(game):
        labels, votes = pick(game.labels, members), pick(game.votes, members)
        ours = Regression().utility(labels, votes, game.target, (), game.k)
        assert ours == reference.earnings(labels, votes, game.target, (), game.k, "regression")


@pytest.mark.parametrize("game", [Hard(), Hard(tie="win"), Plurality(), Soft(), Regression()])
def test_votes_are_one_each_when_none(game: Game) -> None:
    assert game.utility([1, 0, 1], None, 1, [0, 1], 3) == game.utility([1, 0, 1], [1, 1, 1], 1, [0, 1], 3)


def test_labels_may_be_any_hashable_and_numbers_of_any_type() -> None:
    assert Hard().utility([("a", 1), None], None, ("a", 1), [("a", 1), None], 1) == 1
    assert Regression().utility([np.int64(2**40), np.float32(0.5)], [1, 0], np.int32(0), (), 2) == -(2**80)


def test_the_only_class_plays_against_a_class_without_members() -> None:
    assert Hard().utility(["a"], None, "a", ["a"], 1) == 1
    assert Hard().utility(["a"], [0], "a", ["a"], 1) == 0
    assert Hard(tie="win").utility(["a"], [0], "a", ["a"], 1) == 1
    assert Hard(tie="win").utility([], [], "a", ["a"], 1) == 0
    assert Plurality().utility([], [], "a", ["a"], 1) == 0


def test_third_classes_occupy_places_or_are_absent() -> None:
    labels, classes = ["c", "a", "b"], ["a", "b", "c"]
    # k = 2 sees c and a: a beats b (1 : 0) and ties with c.
    assert Hard().utility(labels, None, "a", classes, 2) == Fraction(1, 2)
    # Against b, c is taken out and b comes into view: a tie.
    assert Hard(other_classes="ignore").utility(labels, None, "a", classes, 2) == 0
    # Nobody of the two classes a and b: no tie to win, against c a loss.
    assert Hard(tie="win", other_classes="ignore").utility(["c"], None, "a", classes, 2) == 0
    assert Hard(tie="win").utility(["c"], None, "a", classes, 2) == Fraction(1, 2)


# ---- what the engine asks for


@settings(deadline=None)
@given(game=small_games(max_n=6), utility=utilities())
def test_arrays_earn_what_single_coalitions_earn(game: SmallGame, utility: tuple[str, dict[str, Any]]) -> None:
    name, options = utility
    built, n_classes = build_game(name, options), len(game.classes)
    targets = np.array(game.classes, dtype=np.int32)  # every class in turn is the true one, in one block
    empty_utility = built.empty_utility(targets, n_classes)
    earned = [empty_utility]
    for members in coalitions(game):
        labels = np.tile(np.array(pick(game.labels, members), dtype=np.int32), (n_classes, 1))
        ballots = np.tile(np.array(pick(game.votes, members), dtype=np.int32), (n_classes, 1))
        votes = None if name == "soft-k" or game.votes == [1] * game.n else ballots
        ours = built.full_utility(labels, votes, targets, n_classes, game.k)
        exact = [
            built.utility(labels[0].tolist(), None if votes is None else votes[0].tolist(), t, game.classes, game.k)
            for t in game.classes
        ]
        assert ours.dtype == np.float64
        assert_allclose(ours, [float(value) for value in exact], rtol=1e-15)
        earned.append(ours)
    assert_array_equal(earned[1], empty_utility)  # the first coalition is the empty one
    assert np.ptp(earned, axis=0).max() <= built.utility_range(n_classes)


@settings(deadline=None)
@given(game=small_regressions(max_n=6))
def test_arrays_earn_what_single_coalitions_earn_in_regressions(game: SmallGame) -> None:
    targets = np.array([game.target, -1.5])
    earned = [Regression().empty_utility(targets, 0)]
    assert earned[0].tolist() == [-(game.target**2), -2.25]
    for members in coalitions(game):
        labels, votes = pick(game.labels, members), pick(game.votes, members)
        ours = Regression().full_utility(
            np.array([labels, labels]), np.array([votes, votes], dtype=np.int32), targets, 0, game.k
        )
        exact = [Regression().utility(labels, votes, target, (), game.k) for target in targets]
        assert_allclose(ours, [float(value) for value in exact], rtol=1e-13, atol=1e-13)
        earned.append(ours)
    utility_range = Regression().utility_range(0, np.array(game.labels), targets)
    assert np.ptp(earned, axis=0).max() <= utility_range * (1 + 1e-12)


def test_only_the_first_k_columns_count_unless_third_classes_are_absent() -> None:
    labels = np.array([[2, 2, 0, 1, 1]], dtype=np.int32)
    targets = np.array([1], dtype=np.int32)
    assert Hard().full_utility(labels, None, targets, 3, 2) == Hard().full_utility(labels[:, :2], None, targets, 3, 2)
    absent = Hard(other_classes="ignore", scale="sum")
    assert absent.full_utility(labels, None, targets, 3, 3) == 1.0  # 1 beats 0 by two votes, 2 ties at two
    assert absent.full_utility(labels[:, :3], None, targets, 3, 3) == 0.0
    assert Hard().sees_only_top_k(3)
    assert Plurality().sees_only_top_k(3)
    assert absent.sees_only_top_k(2)
    assert not absent.sees_only_top_k(3)


@pytest.mark.parametrize(
    ("game", "n_classes", "utility_range"),
    [
        (Hard(), 5, 1.0),
        (Hard(scale="sum"), 5, 4.0),
        (Hard(scale="sum"), 1, 1.0),
        (Plurality(), 5, 1.0),
        (Soft(), 5, 1.0),
        (Soft(empty=-0.5), 5, 1.5),
        (Soft(empty=3), 5, 3.0),
        (Soft(divide_by="k"), 5, 1.0),
    ],
)
def test_spread(game: Game, n_classes: int, utility_range: float) -> None:
    assert game.utility_range(n_classes) == utility_range


def test_spread_of_a_regression_is_that_of_the_worst_query() -> None:
    assert Regression().utility_range(0, np.array([1.0, 4.0]), np.array([2.0, 3.0])) == 9.0  # predicting 0 for 3
    assert Regression().utility_range(0, np.array([-5.0, 4.0]), np.array([2.0, 3.0])) == 64.0


def sign_changes(game: Game, small: SmallGame) -> bool:
    """Whether some point helps one coalition and hurts another."""
    for i in range(small.n):
        signs = set()
        for members in coalitions(small):
            if i not in members:
                earned = [
                    game.utility(pick(small.labels, m), pick(small.votes, m), small.target, small.classes, small.k)
                    for m in (members, sorted([*members, i]))
                ]
                signs.add((earned[1] > earned[0]) - (earned[1] < earned[0]))
        if {-1, 1} <= signs:
            return True
    return False


@examples(60)
@given(small=small_games(max_n=6, max_classes=2, falling=True))
def test_factor_one_is_claimed_only_where_points_help_or_hurt(small: SmallGame) -> None:
    for game in (Hard(), Hard(tie="win"), Hard(other_classes="ignore"), Plurality()):
        assert game.truncation_factor(len(small.classes)) == 1.0
        assert not sign_changes(game, small)


def test_factor_two_where_a_point_may_do_both() -> None:
    third = SmallGame(labels=[1, 0, 0, 2], votes=[1, 1, 1, 1], target=1, classes=[0, 1, 2], k=3)
    assert sign_changes(Hard(), third)
    assert Hard().truncation_factor(3) == 2.0
    growing = SmallGame(labels=[1, 0, 1], votes=[1, 2, 3], target=1, classes=[0, 1], k=2)
    assert sign_changes(Hard(), growing)
    assert Hard().truncation_factor(2, votes_fall=False) == 2.0
    assert Plurality().truncation_factor(2, votes_fall=False) == 2.0
    assert Plurality().truncation_factor(3) == 2.0
    assert Soft().truncation_factor(2) == 2.0
    assert Regression().truncation_factor(0) == 2.0


@settings(deadline=None)
@given(small=small_games(max_n=7), utility=utilities(), semivalue=semivalues(), data=st.data())
def test_leaving_out_far_points_moves_values_within_the_bound(
    small: SmallGame, utility: tuple[str, dict[str, Any]], semivalue: tuple[str, tuple[Any, ...]], data: st.DataObject
) -> None:
    name, options = utility
    game, n_classes = build_game(name, options), len(small.classes)
    votes = [1] * small.n if name == "soft-k" else small.votes
    depth = data.draw(st.integers(1, small.n))
    full, near = (
        reference.semivalues(
            small.labels[:n], small.target, small.k, name, semivalue[1], votes[:n], small.classes, **options
        )
        for n in (small.n, depth)
    )
    if game.sees_only_top_k(n_classes):
        reach = as_semivalue(semivalue[0]).reach(small.k, small.n + 1) * game.utility_range(n_classes)
        factor = game.truncation_factor(n_classes, votes_fall=votes == sorted(votes, reverse=True))
        moved = max(abs(float(a - b)) for a, b in zip(full, near, strict=False))
        assert moved <= factor * reach[depth - 1] + 1e-12
        assert all(abs(float(value)) <= bound + 1e-12 for value, bound in zip(full, reach, strict=False))


def test_taking_third_classes_out_brings_far_points_into_view() -> None:
    # With k = 1 the last point is out of sight behind three others, but not in the game of classes 0 and 1 alone.
    values = reference.semivalues([2, 2, 2, 1], 1, 1, semivalue=("loo",), classes=[0, 1, 2], other_classes="ignore")
    assert values[-1] == Fraction(1, 2)
    assert not Hard(other_classes="ignore").sees_only_top_k(3)
    assert as_semivalue("loo").reach(1, 4)[3] == 0.0


# ---- names, options, errors


def test_names() -> None:
    assert as_game("hard") == Hard()
    assert as_game("plurality") == Plurality()
    assert as_game("soft") == Soft()
    assert as_game("soft-k") == Soft(divide_by="k")
    assert as_game("regression") == Regression()
    mine = Hard(tie="win")
    assert as_game(mine) is mine


def test_games_are_values() -> None:
    assert len({Hard(), Hard(), Hard(tie="win"), Soft(), Plurality(), Plurality()}) == 4
    assert repr(Hard(tie="win")) == "Hard(tie='win', other_classes='count', scale='mean')"
    assert [as_game(name).task for name in ("hard", "plurality", "soft", "soft-k")] == ["classification"] * 4
    assert Regression().task == "regression"
    with pytest.raises(AttributeError):
        Hard().tie = "win"  # type: ignore[misc]


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=r"must name a game; got 'hrad'\. Use one of hard, plurality, soft, soft-k, regr"
    ):
        as_game("hrad")
    with pytest.raises(ValueError, match=r"a convention \(zhang2026, jia2019, .*\), or an object such as Hard\(\)"):
        as_game("hrad")
    with pytest.raises(TypeError, match=r"utility must be a name or a Game; got 3\. Use one of hard,"):
        as_game(3)


@pytest.mark.parametrize(
    ("build_wrong", "message"),
    [
        (lambda: Hard(tie="draw"), r"Hard: tie must be 'lose' or 'win'; got 'draw'\."),  # type: ignore[arg-type]
        (lambda: Hard(other_classes=None), r"other_classes must be 'count' or 'ignore'; got None"),  # type: ignore[arg-type]
        (lambda: Hard(scale="max"), r"scale must be 'mean' or 'sum'; got 'max'"),  # type: ignore[arg-type]
        (lambda: Soft(divide_by="n"), r"Soft: divide_by must be 'size' or 'k'; got 'n'"),  # type: ignore[arg-type]
        (lambda: Soft(empty=float("nan")), r"Soft: empty must be a finite number or None; got nan"),
        (lambda: Soft(empty="0"), r"Soft: empty must be a finite number or None; got '0'"),  # type: ignore[arg-type]
        (lambda: Regression().utility_range(0), r"Regression: the range depends on the responses; got none"),
    ],
)
def test_wrong_options(build_wrong: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_wrong()


def test_dividing_by_k_counts_points() -> None:
    soft_k = Soft(divide_by="k")
    with pytest.raises(ValueError, match=r"counts points, so every vote must be 1; got a vote of 2\. Use uniform"):
        soft_k.utility([1, 1], [1, 2], 1, [0, 1], 2)
    with pytest.raises(ValueError, match=r"every vote must be 1; got a vote of 0"):
        soft_k.full_utility(np.array([[1, 0]]), np.array([[1, 0]]), np.array([1]), 2, 2)


def test_labels_and_votes_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        Hard().utility([1, 0], [1], 1, [0, 1], 1)
