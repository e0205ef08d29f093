"""The paper's algorithms against an enumeration written here, against each other, and against the axioms."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import combinations
from math import factorial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from effort import examples
from pivotal import paper
from pivotal.research.paper import ALGORITHMS, brute_force, fast_dp, one_vs_one, shapley_dp, unweighted_dp

GAMES = json.loads((Path(__file__).parent / "data" / "games.json").read_text())
BANZHAF = ["bf", "bv", "bv-fast", "bv-uw"]
SHAPLEY = ["sv", "sv-uw"]
UNIT_ONLY = {"bv-uw", "sv-uw"}

weighted_votes = st.lists(st.integers(-6, 6), min_size=1, max_size=7)
unit_votes = st.lists(st.integers(-1, 1), min_size=1, max_size=7)
beyond = st.integers(1, 10)  # k from 1 to n + 3 and more


def enumerate_values(votes: Sequence[int], k: int, semivalue: str) -> list[Fraction]:
    """Follow the definition with sets of ranks; shares nothing with the package."""
    n = len(votes)

    def utility(coalition: set[int]) -> int:
        return 1 if sum(votes[rank] for rank in sorted(coalition)[:k]) > 0 else 0

    values = []
    for i in range(n):
        value = Fraction(0)
        others = [j for j in range(n) if j != i]
        for size in range(n):
            chance = (
                Fraction(1, 2 ** (n - 1))
                if semivalue == "banzhaf"
                else Fraction(factorial(size) * factorial(n - 1 - size), factorial(n))
            )
            for members in combinations(others, size):
                value += chance * (utility({*members, i}) - utility(set(members)))
        values.append(value)
    return values


@examples(150)
@given(votes=weighted_votes, k=beyond)
@example(votes=[0], k=1)
@example(votes=[2], k=4)
@example(votes=[1, -1, 6], k=2)  # votes grow with the rank: z_1 is right and breaks the win of {z_2, z_3}
@example(votes=[0, 0, 1, -1], k=2)  # z_1 is of a third class: it breaks the win of {z_2, z_3} and the tie of {z_3, z_4}
def test_weighted_algorithms_equal_enumeration(votes: list[int], k: int) -> None:
    expected = enumerate_values(votes, k, "banzhaf")
    for name in ("bf", "bv", "bv-fast"):
        assert ALGORITHMS[name](votes, k) == expected, name
    expected = enumerate_values(votes, k, "shapley")
    assert shapley_dp(votes, k) == expected
    assert brute_force(votes, k, "shapley") == expected


@examples(150)
@given(votes=unit_votes, k=beyond)
@example(votes=[1], k=1)
@example(votes=[-1, 1], k=3)
@example(votes=[-1, 0, 1, 0, -1, 1, 1], k=3)
def test_unweighted_algorithms_equal_enumeration(votes: list[int], k: int) -> None:
    expected = enumerate_values(votes, k, "banzhaf")
    for name in BANZHAF:
        assert ALGORITHMS[name](votes, k) == expected, name
    expected = enumerate_values(votes, k, "shapley")
    for name in SHAPLEY:
        assert ALGORITHMS[name](votes, k) == expected, name


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_small_game_of_unit_votes(n: int, k: int) -> None:
    for code in range(3**n):
        votes = [code // 3**i % 3 - 1 for i in range(n)]
        assert unweighted_dp(votes, k) == enumerate_values(votes, k, "banzhaf")
        assert ALGORITHMS["sv-uw"](votes, k) == enumerate_values(votes, k, "shapley")


@pytest.mark.parametrize(("n", "k", "high"), [(12, 3, 9), (16, 1, 4), (20, 5, 3), (25, 4, 3)])
@pytest.mark.parametrize("sort", [True, False])
def test_weighted_algorithms_agree_beyond_enumeration(n: int, k: int, high: int, sort: bool) -> None:
    votes = np.random.default_rng(n).integers(-high, high + 1, size=n).tolist()
    if sort:
        votes.sort(key=abs, reverse=True)
    fast = fast_dp(votes, k)
    assert ALGORITHMS["bv"](votes, k) == fast
    assert any(fast)
    if n == 12:
        assert brute_force(votes, k) == fast
        assert brute_force(votes, k, "shapley") == shapley_dp(votes, k)


@pytest.mark.parametrize(("n", "k"), [(14, 2), (25, 5), (40, 7)])
@pytest.mark.parametrize("low", [0, -1])
def test_unweighted_agrees_with_weighted_beyond_enumeration(n: int, k: int, low: int) -> None:
    draw = np.random.default_rng(n + low).choice([-1, 1] if low == 0 else [-1, 0, 1], size=n)
    votes = draw.tolist()
    assert unweighted_dp(votes, k) == fast_dp(votes, k)


def test_scaling_all_votes_changes_nothing() -> None:
    votes = [3, 0, -2, 2, 1, -1, -1, 1]
    assert fast_dp([vote * 10**30 for vote in votes], 3) == fast_dp(votes, 3)
    assert shapley_dp([vote * 10**30 for vote in votes], 3) == shapley_dp(votes, 3)


# ---- stored games -------------------------------------------------------------------------------------------------


def stored(utility: str) -> list[Any]:
    names = {("banzhaf", "1/2"): BANZHAF, ("shapley",): SHAPLEY}
    found = [
        (game, names[key])
        for game in GAMES
        if game["utility"] == utility and (key := tuple(game["semivalue"])) in names
    ]
    assert found
    return found


def applicable(names: list[str], votes: Sequence[int]) -> list[str]:
    return [name for name in names if name not in UNIT_ONLY or all(abs(vote) <= 1 for vote in votes)]


@pytest.mark.parametrize(("game", "names"), stored("hard_binary"))
def test_stored_two_class_games(game: dict[str, Any], names: list[str]) -> None:
    for name in applicable(names, game["w"]):
        assert ALGORITHMS[name](game["w"], game["k"]) == [Fraction(value) for value in game["values"]], name


@pytest.mark.parametrize(("game", "names"), stored("one_vs_one"))
def test_stored_multiclass_games(game: dict[str, Any], names: list[str]) -> None:
    for name in applicable(names, game["w"]):
        values = one_vs_one(ALGORITHMS[name], game["y"], game["y_test"], game["classes"], game["k"], game["w"])
        assert values == [Fraction(value) for value in game["values"]], name


# ---- many classes -------------------------------------------------------------------------------------------------


@examples(60)
@given(
    points=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), min_size=1, max_size=6),
    k=st.integers(1, 8),
    semivalue=st.sampled_from(["banzhaf", "shapley"]),
)
def test_one_vs_one_equals_enumeration_of_the_averaged_game(
    points: list[tuple[str, int]], k: int, semivalue: str
) -> None:
    labels = [label for label, _ in points]
    votes = [vote for _, vote in points]
    classes = "abcd"  # nobody is a d
    wanted = [Fraction(0)] * len(points)
    for wrong in "bcd":
        signed = [{"a": 1, wrong: -1}.get(label, 0) * vote for label, vote in points]
        wanted = [
            total + value / 3 for total, value in zip(wanted, enumerate_values(signed, k, semivalue), strict=True)
        ]
    function = fast_dp if semivalue == "banzhaf" else shapley_dp
    assert one_vs_one(function, labels, "a", classes, k, votes) == wanted


def test_one_vs_one_solves_the_game_against_absent_classes_once() -> None:
    solved: list[Sequence[int]] = []

    def counting(votes: Sequence[int], k: int) -> list[Fraction]:
        solved.append(votes)
        return fast_dp(votes, k)

    labels = [0, 1, 0, 7]
    values = one_vs_one(counting, labels, 0, range(100), k=3)
    assert len(solved) == 3  # against 1, against 7, against the 97 others
    assert values == one_vs_one(unweighted_dp, labels, 0, range(100), k=3)


def test_one_vs_one_defaults_to_one_vote_each() -> None:
    labels = [2, 0, 1, 1, 2, 0]
    assert one_vs_one(fast_dp, labels, 1, [0, 1, 2], 3) == one_vs_one(unweighted_dp, labels, 1, [0, 1, 2], 3, [1] * 6)


def test_one_vs_one_with_two_classes_is_the_two_class_game() -> None:
    assert one_vs_one(fast_dp, ["x", "y", "x"], "y", ["x", "y"], 2, [3, 2, 2]) == fast_dp([-3, 2, -2], 2)


def test_one_vs_one_with_a_single_class_plays_against_nobody() -> None:
    assert one_vs_one(fast_dp, [5, 5], 5, [5], 1) == fast_dp([1, 1], 1)


def test_third_class_points_push_out_votes_of_either_sign() -> None:
    assert (
        fast_dp([0, 1], 1)[0] == unweighted_dp([0, 1], 1)[0] == Fraction(-1, 2)
    )  # {z_2} wins until z_1 takes its place
    assert (
        fast_dp([1, 0, -1], 2)[1] == unweighted_dp([1, 0, -1], 2)[1] == Fraction(1, 4)
    )  # {z_1, z_3} ties until z_2 joins


# ---- axioms -------------------------------------------------------------------------------------------------------


@examples(80)
@given(votes=weighted_votes, k=beyond)
def test_shapley_is_efficient(votes: list[int], k: int) -> None:
    assert sum(shapley_dp(votes, k)) == int(sum(votes[:k]) > 0)


@examples(80)
@given(votes=weighted_votes, k=beyond, data=st.data())
def test_adjacent_points_with_equal_votes_are_worth_the_same(votes: list[int], k: int, data: st.DataObject) -> None:
    # Two adjacent points with the same vote are interchangeable in every top-k: symmetric players.
    i = data.draw(st.integers(0, len(votes) - 1))
    twins = [*votes[: i + 1], *votes[i:]]
    for function in (fast_dp, shapley_dp):
        values = function(twins, k)
        assert values[i] == values[i + 1]


@examples(80)
@given(votes=weighted_votes, k=beyond, zeros=st.integers(1, 3))
def test_zeros_beyond_all_others_are_null_players(votes: list[int], k: int, zeros: int) -> None:
    # The farthest points push nobody out, and a vote of zero adds nothing. Others' values do not notice them.
    for function in (fast_dp, shapley_dp):
        assert function([*votes, *[0] * zeros], k) == function(votes, k) + [Fraction(0)] * zeros


@examples(80)
@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=7), signs=st.data(), k=beyond)
def test_lemma_pivotal_outcomes_where_it_holds(sizes: list[int], signs: st.DataObject, k: int) -> None:
    votes = [signs.draw(st.sampled_from([-1, 1])) * size for size in sorted(sizes, reverse=True)]
    for function in (fast_dp, shapley_dp):
        assert all(value * vote >= 0 for value, vote in zip(function(votes, k), votes, strict=True))


# ---- inputs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_numpy_integers_give_plain_fractions(name: str) -> None:
    votes = np.array([1, -1, 1, 0], dtype=np.int8)
    values = ALGORITHMS[name](cast(Sequence[int], votes), cast(int, np.int64(2)))
    assert values == ALGORITHMS[name]([1, -1, 1, 0], 2)
    assert all(type(value) is Fraction and type(value.numerator) is int for value in values)


def test_small_integer_types_do_not_overflow() -> None:
    votes = np.array([127, 127, -127, -127, 127], dtype=np.int8)
    assert fast_dp(cast(Sequence[int], votes), 3) == fast_dp([1, 1, -1, -1, 1], 3)


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
@pytest.mark.parametrize(
    ("votes", "k", "error", "message"),
    [
        ([], 1, ValueError, "votes must hold at least one vote; got none"),
        ([1, 0.5], 1, TypeError, r"every vote must be an integer; got 0\.5"),
        ([1, 1.0], 1, TypeError, r"every vote must be an integer; got 1\.0"),
        ([True, False], 1, TypeError, "every vote must be an integer; got True"),
        (["1"], 1, TypeError, "every vote must be an integer; got '1'"),
        ([1], 0, ValueError, "k must be at least 1; got k=0"),
        ([1], -2, ValueError, "k must be at least 1; got k=-2"),
        ([1], 1.5, TypeError, r"k must be an integer; got 1\.5"),
        ([1], True, TypeError, "k must be an integer; got True"),
        ([1], None, TypeError, "k must be an integer; got None"),
    ],
)
def test_bad_input_is_refused(name: str, votes: Any, k: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ALGORITHMS[name](votes, k)


@pytest.mark.parametrize(("name", "instead"), [("bv-uw", "fast_dp"), ("sv-uw", "shapley_dp")])
def test_unweighted_algorithms_name_the_weighted_one(name: str, instead: str) -> None:
    with pytest.raises(ValueError, match=rf"votes of -1, 0 or \+1; got 3\. Use {instead} for weighted votes"):
        ALGORITHMS[name]([1, 3, -1], 2)


def test_brute_force_refuses_an_unknown_semivalue() -> None:
    with pytest.raises(ValueError, match="semivalue must be 'banzhaf' or 'shapley'; got 'beta'"):
        brute_force([1], 1, "beta")


@pytest.mark.parametrize(
    ("labels", "target", "classes", "votes", "error", "message"),
    [
        ([0, 1], 0, [0, 1, 0], None, ValueError, r"classes must name each class once; got \[0, 1, 0\]"),
        ([0, 1], 2, [0, 1], None, ValueError, r"target must be one of the classes \[0, 1\]; got 2"),
        ([0, 2], 0, [0, 1], None, ValueError, r"every label must be one of the classes \[0, 1\]; got 2"),
        ([0, 1], 0, [0, 1], [1], ValueError, "votes and labels must have the same length; got 1 and 2"),
        ([0, 1], 0, [0, 1], [1, -1], ValueError, "votes must not be negative, as labels carry the sign; got -1"),
        ([0, 1], 0, [0, 1], [1, 0.5], TypeError, r"every vote must be an integer; got 0\.5"),
        ([], 0, [0, 1], None, ValueError, "votes must hold at least one vote"),
    ],
)
def test_one_vs_one_refuses_bad_input(
    labels: list[Hashable],
    target: Hashable,
    classes: list[Hashable],
    votes: Any,
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        one_vs_one(fast_dp, labels, target, classes, 1, votes)


def test_public_names() -> None:
    assert list(ALGORITHMS) == ["bf", "bv", "bv-fast", "bv-uw", "sv", "sv-uw"]
    functions = {name: getattr(paper, name) for name in paper.__all__ if name != "ALGORITHMS"}
    assert all(callable(function) and function.__name__ == name for name, function in functions.items())
    assert set(ALGORITHMS.values()) == set(functions.values()) - {one_vs_one, paper.naive_sampling}
