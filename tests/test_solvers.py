"""Every game with every semivalue against full enumeration, and against exact fractions at moderate n."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import reference
from effort import examples
from pivotal import paper
from pivotal.core.games import Game, Hard, Plurality, Regression, Soft
from pivotal.core.semivalues import Banzhaf, BetaShapley, LeaveOneOut, Measure, Semivalue, Shapley, as_semivalue
from pivotal.engine.solver import Block
from pivotal.engine.solvers import make_solver
from strategies import SmallGame, build_game, measures, semivalues, small_games, small_regressions, utilities


def solve(
    game: Game, semivalue: Semivalue, labels: list, target: float, k: int, n_classes: int, votes: list | None = None
) -> np.ndarray:
    """Values of one query, by way of a block of two equal ones: scratch must not leak from one to the next."""
    dtype = np.float64 if game.task == "regression" else np.int32
    block = Block(
        np.array([labels, labels], dtype=dtype),
        None if votes is None else np.array([votes, votes], dtype=np.int32),
        np.array([target, target], dtype=dtype),
    )
    largest = None if votes is None else max(1, *votes)
    solver = make_solver(game, semivalue, k, len(labels), n_classes, largest)
    out = np.full((2, len(labels)), np.nan)
    solver.solve(block, solver.scratch(), out)
    np.testing.assert_array_equal(out[0], out[1])
    return out[0]


def exactly(values: list[Fraction]) -> np.ndarray:
    return np.array([float(v) for v in values])


@pytest.mark.kernels
@given(small_games(weighted=False), utilities(), semivalues())
@examples(300)
def test_one_vote_each_equals_enumeration(game: SmallGame, utility: tuple, semivalue: tuple) -> None:
    name, options = utility
    exact = reference.semivalues(game.labels, game.target, game.k, name, semivalue[1], classes=game.classes, **options)
    got = solve(
        build_game(name, options), as_semivalue(semivalue[0]), game.labels, game.target, game.k, len(game.classes)
    )
    np.testing.assert_allclose(got, exactly(exact), rtol=1e-12, atol=1e-15)


@pytest.mark.kernels
@given(small_games(max_n=7, weighted=True), utilities(), semivalues())
@examples(200)
def test_votes_equal_enumeration(game: SmallGame, utility: tuple, semivalue: tuple) -> None:
    name, options = utility
    if name in ("plurality", "soft-k"):
        name, options = "soft", {}
    exact = reference.semivalues(
        game.labels, game.target, game.k, name, semivalue[1], votes=game.votes, classes=game.classes, **options
    )
    got = solve(
        build_game(name, options),
        as_semivalue(semivalue[0]),
        game.labels,
        game.target,
        game.k,
        len(game.classes),
        game.votes,
    )
    np.testing.assert_allclose(got, exactly(exact), rtol=0, atol=1e-14 * (len(game.classes) or 1))


@pytest.mark.kernels
@given(small_regressions(max_n=8), semivalues(), st.booleans())
@examples(200)
def test_regression_equals_enumeration(game: SmallGame, semivalue: tuple, weighted: bool) -> None:
    votes = game.votes if weighted else None
    exact = reference.semivalues(game.labels, game.target, game.k, "regression", semivalue[1], votes=votes)
    got = solve(Regression(), as_semivalue(semivalue[0]), game.labels, game.target, game.k, 0, votes)
    np.testing.assert_allclose(got, exactly(exact), atol=1e-14 * 16**2)  # residuals of up to 16


@pytest.mark.kernels
@given(small_games(max_n=7), measures())
@examples(60)
def test_any_measure_equals_enumeration(game: SmallGame, measure: tuple) -> None:
    spoken, law = measure
    exact = reference.semivalues(game.labels, game.target, game.k, "hard", law, votes=game.votes, classes=game.classes)
    got = solve(Hard(), Measure(*spoken), game.labels, game.target, game.k, len(game.classes), game.votes)
    np.testing.assert_allclose(got, exactly(exact), atol=1e-14)


@pytest.mark.kernels
@pytest.mark.parametrize("vector", reference.load_vectors(), ids=lambda v: v["arguments"]["utility"])
def test_stored_vectors(vector: dict) -> None:
    told = vector["arguments"]
    law, utility, votes, k = told["semivalue"], told["utility"], told["votes"], told["k"]
    semivalue = as_semivalue(f"{law[0]}({','.join(str(float(Fraction(a))) for a in law[1:])})")
    if utility == "hard_binary":  # votes with a sign
        labels, target, n_classes, game = [0 if v > 0 else 1 for v in votes], 0, 2, Hard()
        votes = [abs(v) for v in votes]
    elif utility == "regression":
        labels, target, n_classes, game = told["labels"], told["target"], 0, Regression()
    else:
        code = {label: i for i, label in enumerate(told["classes"])}
        labels, target, n_classes = [code[y] for y in told["labels"]], code[told["target"]], len(code)
        game = build_game(utility, {})
    if all(v == 1 for v in votes):
        votes = None
    elif utility == "plurality":
        with pytest.raises(ValueError, match=r'"plurality" takes unweighted.*"hard"'):
            make_solver(game, semivalue, k, len(labels), n_classes, max(votes))
        return
    got = solve(game, semivalue, labels, target, k, n_classes, votes)
    exact = exactly(vector["values"])
    np.testing.assert_allclose(got, exact, atol=1e-13 * max(1.0, np.abs(exact).max()))


# --- axioms ---------------------------------------------------------------------------------------------------------


@pytest.mark.kernels
@given(small_games(max_n=30, weighted=False), utilities(), st.sampled_from([Shapley(), Banzhaf(), BetaShapley(4, 1)]))
def test_axioms(game: SmallGame, utility: tuple, semivalue: Semivalue) -> None:
    name, options = utility
    rules = build_game(name, options)
    n_classes = len(game.classes)
    values = solve(rules, semivalue, game.labels, game.target, game.k, n_classes)
    if isinstance(semivalue, Shapley):
        labels, targets = np.array([game.labels], dtype=np.int32), np.array([game.target], dtype=np.int32)
        gain = rules.full_utility(labels, None, targets, n_classes, game.k) - rules.empty_utility(targets, n_classes)
        assert math.fsum(values) == pytest.approx(gain.item(), abs=1e-12)
    # Neighbours in rank of one class are interchangeable.
    for i in range(game.n - 1):
        if game.labels[i] == game.labels[i + 1]:
            assert values[i] == pytest.approx(values[i + 1], rel=1e-13, abs=1e-15)


@given(small_games(max_n=12, weighted=True, max_vote=5), st.sampled_from([Shapley(), Banzhaf(0.3)]))
@examples(50)
def test_weighted_efficiency_and_null_players(game: SmallGame, semivalue: Semivalue) -> None:
    n_classes = len(game.classes)
    k = max(game.k, game.n)  # nobody is pushed out: a point without a vote is a null player
    values = solve(Hard(), semivalue, game.labels, game.target, k, n_classes, game.votes)
    assert all(
        value == pytest.approx(0.0, abs=1e-15) for value, vote in zip(values, game.votes, strict=True) if vote == 0
    )
    if isinstance(semivalue, Shapley):
        labels, targets = np.array([game.labels]), np.array([game.target])
        gain = Hard().full_utility(labels, np.array([game.votes]), targets, n_classes, k)
        assert math.fsum(values) == pytest.approx(gain.item(), abs=1e-12)


def test_linearity_over_p() -> None:
    labels = list(np.random.default_rng(3).integers(0, 3, 25))
    for game in (Hard(), Plurality(), Soft(), Soft(divide_by="k")):
        mixed = solve(game, Measure([0.2, 0.7], [0.25, 0.75]), labels, 1, 4, 3)
        parts = 0.25 * solve(game, Banzhaf(0.2), labels, 1, 4, 3) + 0.75 * solve(game, Banzhaf(0.7), labels, 1, 4, 3)
        np.testing.assert_allclose(mixed, parts, rtol=1e-12)


@pytest.mark.parametrize("game", [Hard(), Hard(tie="win"), Hard(other_classes="ignore"), Soft()], ids=str)
@pytest.mark.parametrize("semivalue", [Banzhaf(), Shapley(), BetaShapley(2.5, 0.7), LeaveOneOut()], ids=str)
@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_tables_with_unit_votes_equal_closed_forms(game: Game, semivalue: Semivalue, n_classes: int) -> None:
    # Two independent algorithms; votes of 3 each are divided away or cancel.
    labels = list(np.random.default_rng(5).integers(0, n_classes, 60))
    closed = solve(game, semivalue, labels, 0, 5, n_classes)
    tables = solve(game, semivalue, labels, 0, 5, n_classes, [3] * 60)
    np.testing.assert_allclose(tables, closed, atol=3e-14)


def test_regression_tables_with_unit_votes_equal_closed_forms() -> None:
    responses = list(np.random.default_rng(6).normal(2.0, 1.0, 50))
    for semivalue in (Banzhaf(), Shapley(), BetaShapley(2.5, 0.7)):
        closed = solve(Regression(), semivalue, responses, 1.5, 4, 0)
        tables = solve(Regression(), semivalue, responses, 1.5, 4, 0, [2] * 50)
        np.testing.assert_allclose(tables, closed, atol=1e-12)


# --- digits ---------------------------------------------------------------------------------------------------------


def exact_two_class(right: list[bool], k: int, law: tuple) -> list[Fraction]:
    """The push-out identity in integers, for two classes and unweighted."""
    n = len(right)
    plus = sum(right)

    def small(own: bool) -> Fraction:
        a, b = plus - own, n - plus - (not own)
        total = reference.mass(law, 0, n - 1) if own else Fraction(0)
        for s in range(1, min(k, n)):
            if own and s % 2 == 0:
                ways = math.comb(a, s // 2) * math.comb(b, s // 2)
            elif not own and s % 2 == 1:
                ways = -math.comb(a, (s + 1) // 2) * math.comb(b, (s - 1) // 2)
            else:
                ways = 0
            total += reference.mass(law, s, n - 1 - s) * ways
        return total

    running = {True: small(True), False: small(False)}
    values = [Fraction(0)] * n
    nearer = plus
    for m in range(n, 0, -1):
        own = right[m - 1]
        values[m - 1] = running[own]
        nearer -= own
        if m > k:
            pusher = not own
            a, b = nearer - pusher, (m - 1 - nearer) - (not pusher)
            ways = math.comb(a, k // 2) * math.comb(b, k - 1 - k // 2) if a >= 0 and b >= 0 else 0
            running[pusher] += (1 if pusher else -1) * reference.mass(law, k, m - 1 - k) * ways
    return values


@pytest.mark.parametrize(("n", "k"), [(1100, 5), (1100, 6), (700, 1), (900, 60), (600, 200)])
@pytest.mark.parametrize(
    "law", [("banzhaf", Fraction(1, 2)), ("banzhaf", Fraction(1, 8)), ("shapley",), ("beta", 4, 1)], ids=str
)
@pytest.mark.parametrize("share", [0.5, 0.03])
def test_unweighted_values_keep_twelve_digits_down_to_the_smallest(n: int, k: int, law: tuple, share: float) -> None:
    right = list(np.random.default_rng(k).random(n) < share)
    spoken = {"banzhaf": lambda: Banzhaf(float(law[1])), "shapley": Shapley, "beta": lambda: BetaShapley(4, 1)}[
        law[0]
    ]()
    got = solve(Hard(), spoken, [0 if r else 1 for r in right], 0, k, 2)
    checked = 0
    for value, exact in zip(got, exact_two_class(right, k, law), strict=True):
        if abs(exact) > Fraction(1, 10**290):
            assert abs(Fraction(value) / exact - 1) < Fraction(1, 10**12)
            checked += 1
        else:
            assert abs(value) < 1e-289
    assert checked > n // 4


def test_exact_two_class_is_right() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        right = list(rng.random(rng.integers(1, 9)) < 0.5)
        k = int(rng.integers(1, 12))
        votes = [1 if r else -1 for r in right]
        assert exact_two_class(right, k, ("banzhaf", Fraction(1, 2))) == paper.brute_force(votes, k)
        assert exact_two_class(right, k, ("shapley",)) == paper.brute_force(votes, k, "shapley")


@pytest.mark.parametrize("k", [1, 4, 5])
def test_weighted_values_keep_fourteen_digits_of_their_reach(k: int) -> None:
    rng = np.random.default_rng(k)
    n = 40
    labels, votes = rng.integers(0, 2, n), np.sort(rng.integers(0, 32, n))[::-1]
    signed = [int(v) if label == 0 else -int(v) for v, label in zip(votes, labels, strict=True)]
    got = solve(Hard(), Banzhaf(), list(labels), 0, k, 2, list(votes))
    reach = Banzhaf().reach(k, n)
    for i, exact in enumerate(paper.fast_dp(signed, k)):
        assert abs(got[i] - float(exact)) <= 1e-14 * reach[i]
    shapley = solve(Hard(), Shapley(), list(labels), 0, k, 2, list(votes))
    np.testing.assert_allclose(shapley, exactly(paper.shapley_dp(signed, k)), atol=2e-14)


@pytest.mark.parametrize("k", [1, 5, 8])
def test_unweighted_against_the_papers_algorithm(k: int) -> None:
    labels = np.random.default_rng(k).integers(0, 2, 300)
    votes = [1 if label == 0 else -1 for label in labels]
    got = solve(Hard(), Banzhaf(), list(labels), 0, k, 2)
    np.testing.assert_allclose(got, exactly(paper.unweighted_dp(votes, k)), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("game", [Hard(), Plurality()], ids=str)
def test_many_classes_at_moderate_n_against_the_papers_algorithm(game: Game) -> None:
    labels = list(np.random.default_rng(8).integers(0, 5, 60))
    got = solve(Hard(), Banzhaf(), labels, 2, 4, 6)
    exact = paper.one_vs_one(paper.fast_dp, [int(v) for v in labels], 2, range(6), 4)
    np.testing.assert_allclose(got, exactly(exact), rtol=1e-12, atol=1e-18)
    # With two classes the plurality game is the hard game: two kernels, one answer.
    two = [int(v) % 2 for v in labels]
    np.testing.assert_allclose(solve(game, Shapley(), two, 0, 4, 2), solve(Hard(), Shapley(), two, 0, 4, 2), rtol=1e-12)


@pytest.mark.parametrize("k", [30, 200])
def test_plurality_does_not_overflow(k: int) -> None:
    labels = list(np.random.default_rng(k).integers(0, 2, 400))
    np.testing.assert_allclose(
        solve(Plurality(), Shapley(), labels, 0, k, 2), solve(Hard(), Shapley(), labels, 0, k, 2), rtol=1e-11
    )


@example(threshold="lose")
@given(st.sampled_from(["lose", "win"]))
@examples(2)
def test_classes_without_members_count(threshold: str) -> None:
    labels = [0, 1, 0, 2, 0]
    law = ("shapley",)
    exact = reference.semivalues(labels, 0, 2, "hard", law, classes=range(40), tie=threshold)
    got = solve(Hard(tie=threshold), Shapley(), labels, 0, 2, 40)  # type: ignore[arg-type]
    np.testing.assert_allclose(got, exactly(exact), rtol=1e-12)
