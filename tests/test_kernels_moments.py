"""Weighted soft label and regression: the tables equal enumeration, to the last digits, with little memory."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.legendre import leggauss
from numpy.testing import assert_allclose, assert_array_equal

import reference
from effort import examples
from pivotal.kernels.moments import (
    place_votes,
    regression_scratch,
    regression_weighted,
    soft_scratch,
    soft_weighted,
    table_size,
)
from strategies import SmallGame, small_games, small_regressions

CHANCES = st.sampled_from([0.0, 0.25, 0.5, 0.8, 1.0]) | st.floats(0.0, 1.0, allow_subnormal=False)
Values = np.ndarray[Any, np.dtype[np.float64]]


def run(
    degree: int,
    labels: Any,
    votes: Any,
    empty: Any,
    k: int,
    nodes: list[tuple[float, float]],
    *,
    ranks: int | None = None,
    slots: int | None = None,
) -> Values:
    """Call the kernel, soft for degree 1 and regression for degree 2, with scratch full of rubbish."""
    votes = np.atleast_2d(votes).astype(np.int32)
    labels = np.atleast_2d(labels).astype(bool if degree == 1 else np.float64)
    empty = np.atleast_1d(empty).astype(np.float64)
    ranks = votes.shape[1] if ranks is None else ranks
    largest = int(votes.max())
    n_reals, n_integers = (soft_scratch if degree == 1 else regression_scratch)(k, largest, ranks)
    if slots is not None:
        least = min(k, ranks)
        beside = ranks + (degree + 2) * (least * largest + 1)
        n_reals = beside + (slots + 2) * (degree + 1) * table_size(least, largest)
    reals, integers = np.full(n_reals, np.nan), np.full(n_integers, -(2**40))
    out = np.zeros(votes.shape)
    for p, weight in nodes:
        kernel = soft_weighted if degree == 1 else regression_weighted
        kernel(labels, votes, empty, k, p, weight, ranks, reals, integers, out)
    return out


def run_soft(game: SmallGame, nodes: list[tuple[float, float]], empty: float, **options: Any) -> Values:
    right = [label == game.target for label in game.labels]
    values: Values = run(1, right, game.votes, empty, game.k, nodes, **options)[0]
    return values


def run_regression(game: SmallGame, nodes: list[tuple[float, float]], **options: Any) -> Values:
    residuals = [label - game.target for label in game.labels]
    values: Values = run(2, residuals, game.votes, -(game.target**2), game.k, nodes, **options)[0]
    return values


def enumerate_game(game: SmallGame, utility: str, p: float, ranks: int | None = None, **options: Any) -> list[float]:
    """The same by definition, for the first `ranks` players; the others are worth nothing."""
    ranks = game.n if ranks is None else min(ranks, game.n)
    labels, votes = game.labels[:ranks], game.votes[:ranks]
    classes = game.classes or None
    answer = reference.semivalues(labels, game.target, game.k, utility, ("banzhaf", p), votes, classes, **options)
    return [float(value) for value in answer] + [0.0] * (game.n - ranks)


def exact_values(degree: int, marks: list[int], votes: list[int], empty: int, k: int, p: Fraction) -> list[Fraction]:
    """The values of a long game, by going through all (places left, votes so far, marks so far) in fractions."""
    n = len(votes)
    behind: list[dict[tuple[int, int, int], Fraction]] = [{} for _ in range(n + 1)]

    def expect(i: int, t: int, u: int, a: int) -> Fraction:
        if i == n or t == 0:
            return Fraction(a, u) ** degree if u else Fraction(empty)
        state = (t, u, a)
        if state not in behind[i]:
            stays, joins = expect(i + 1, t, u, a), expect(i + 1, t - 1, u + votes[i], a + marks[i])
            behind[i][state] = stays + p * (joins - stays)
        return behind[i][state]

    nearer = {(k, 0, 0): Fraction(1)}
    values = []
    for i in range(n):
        value = Fraction(0)
        following: dict[tuple[int, int, int], Fraction] = {}
        for (t, u, a), chance in nearer.items():
            joined = (t - 1, u + votes[i], a + marks[i])
            value += chance * (expect(i + 1, *joined) - expect(i + 1, t, u, a))
            following[t, u, a] = following.get((t, u, a), Fraction(0)) + (1 - p) * chance
            if t > 1:
                following[joined] = following.get(joined, Fraction(0)) + p * chance
        values.append(value)
        nearer = following
    return values


# ---- equality with the definition


@pytest.mark.kernels
@given(game=small_games(max_n=7), p=CHANCES, empty=st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(-3, 2)]))
@examples(150)
def test_soft_values_equal_enumeration(game: SmallGame, p: float, empty: Fraction) -> None:
    values = run_soft(game, [(p, 1.0)], float(empty))
    assert_allclose(values, enumerate_game(game, "soft", p, empty=empty), rtol=0, atol=2e-14)


@pytest.mark.kernels
@given(game=small_regressions(max_n=7), p=CHANCES)
@examples(150)
def test_regression_values_equal_enumeration(game: SmallGame, p: float) -> None:
    values = run_regression(game, [(p, 1.0)])
    assert_allclose(values, enumerate_game(game, "regression", p), rtol=0, atol=256 * 2e-14)


@pytest.mark.kernels
@given(soft=small_games(max_n=7), regression=small_regressions(max_n=7), p=CHANCES, ranks=st.integers(1, 8))
@settings(deadline=None)
def test_only_the_first_ranks_play(soft: SmallGame, regression: SmallGame, p: float, ranks: int) -> None:
    expected = enumerate_game(soft, "soft", p, ranks, empty=Fraction(1, 2))
    assert_allclose(run_soft(soft, [(p, 1.0)], 0.5, ranks=ranks), expected, rtol=0, atol=2e-14)
    expected = enumerate_game(regression, "regression", p, ranks)
    assert_allclose(run_regression(regression, [(p, 1.0)], ranks=ranks), expected, rtol=0, atol=256 * 2e-14)


@pytest.mark.kernels
def test_recorded_games_of_every_semivalue() -> None:
    points, weights = leggauss(16)  # exact up to degree 31: n <= 9 points, densities of degree <= 15
    points, weights = (points + 1) / 2, weights / 2
    checked = {"soft": 0, "regression": 0}
    for vector in reference.load_vectors():
        given_ = vector["arguments"]
        kind, *parameters = given_["semivalue"]
        if given_["utility"] not in checked:
            continue
        nodes = [(float(Fraction(parameters[0])) if kind == "banzhaf" else 1.0, 1.0)]
        if kind in ("shapley", "beta"):
            a, b = parameters or (1, 1)
            density = points ** (b - 1) * (1 - points) ** (a - 1) * (a + b - 1) * comb(a + b - 2, a - 1)
            nodes = list(zip(points.tolist(), (weights * density).tolist(), strict=True))
        game = SmallGame(given_["labels"], given_["votes"], given_["target"], given_["classes"] or [], given_["k"])
        soft = given_["utility"] == "soft"
        values = run_soft(game, nodes, 1 / len(game.classes)) if soft else run_regression(game, nodes)
        expected = [float(value) for value in vector["values"]]
        assert_allclose(values, expected, rtol=1e-13, atol=1e-12, err_msg=str(given_))
        checked[given_["utility"]] += 1
    assert min(checked.values()) > 30


@pytest.mark.kernels
@pytest.mark.parametrize("degree", [1, 2])
def test_nobody_plays(degree: int) -> None:
    assert_array_equal(run(degree, [1, 0], [2, 1], 0.5, 1, [(0.5, 1.0)], ranks=0), [[0.0, 0.0]])


@pytest.mark.kernels
def test_right_may_be_given_as_bytes() -> None:
    right, votes = np.array([[1, 0, 1]], dtype=np.uint8), np.array([[3, 2, 2]], dtype=np.int32)
    n_reals, n_integers = soft_scratch(2, 3, 3)
    scratch = np.empty(n_reals), np.empty(n_integers, dtype=np.int64)
    out = np.zeros((1, 3))
    soft_weighted(right, votes, np.array([0.5]), 2, 0.5, 1.0, 3, *scratch, out)
    assert_array_equal(out, run(1, right, votes, 0.5, 2, [(0.5, 1.0)]))


@pytest.mark.parametrize("degree", [1, 2])
def test_sixteen_bits(degree: int) -> None:
    votes, labels = [65535, 65521, 60000, 40009, 33331, 0], [1, 0, 1, 1, 0, 1]
    utility = "soft" if degree == 1 else "regression"
    expected = reference.semivalues(labels, 1, 3, utility, ("banzhaf",), votes)
    given_labels = labels if degree == 1 else [label - 1 for label in labels]
    values = run(degree, given_labels, votes, 0.5 if degree == 1 else -1.0, 3, [(0.5, 1.0)])[0]
    assert_allclose(values, [float(value) for value in expected], rtol=0, atol=1e-15)


# ---- accuracy


@pytest.mark.parametrize("p", [0.03, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("degree", [1, 2])
def test_errors_are_far_below_the_chance_to_be_reached(degree: int, p: float) -> None:
    rng = np.random.default_rng(5)
    n, k = 40, 3
    votes = np.sort(rng.integers(0, 8, n))[::-1].tolist()
    labels = rng.integers(0, 2, n).tolist() if degree == 1 else rng.integers(-1, 3, n).tolist()
    marks = [vote * label for vote, label in zip(votes, labels, strict=True)]
    exact = exact_values(degree, marks, votes, 2, k, Fraction(p))
    sign, largest = (1, 1) if degree == 1 else (-1, 4)
    values = sign * run(degree, labels, votes, sign * 2.0, k, [(p, 1.0)])[0]
    for i, (value, answer) in enumerate(zip(values.tolist(), exact, strict=True)):
        reach = sum(comb(i, s) * Fraction(p) ** s * (1 - Fraction(p)) ** (i - s) for s in range(min(k, i + 1)))
        assert abs(Fraction(value) - answer) < Fraction(1, 10**15) * reach * largest


def test_equal_marks_of_long_lists_earn_alike() -> None:
    # Everybody is right: whoever comes first lifts the coalition from `empty` to 1, whatever the votes.
    n, p = 3000, 0.0007  # 1 - p is rounded by 3e-17, which would count 3000 times
    votes = np.random.default_rng(6).integers(1, 9, n)
    values = run(1, np.ones(n), votes, 0.25, 4, [(p, 1.0)])[0]
    assert_allclose(values, 0.75 * np.exp((n - 1) * np.log1p(-p)), rtol=0, atol=1e-14)


# ---- memory


@pytest.mark.kernels
@pytest.mark.parametrize("degree", [1, 2])
def test_values_do_not_depend_on_how_many_tables_are_kept(degree: int) -> None:
    rng = np.random.default_rng(3)
    n = 19
    labels, votes = rng.integers(0, 2, n), rng.integers(0, 4, n)
    best = run(degree, labels, votes, 0.5, 3, [(0.3, 1.0)])
    for slots in [*range(3, 13), 40]:
        assert_array_equal(run(degree, labels, votes, 0.5, 3, [(0.3, 1.0)], slots=slots), best)


@pytest.mark.kernels
@pytest.mark.parametrize("degree", [1, 2])
def test_queries_share_scratch_without_traces(degree: int) -> None:
    rng = np.random.default_rng(4)
    n_queries, n = 6, 12
    labels, empty = rng.integers(0, 2, (n_queries, n)), rng.normal(size=n_queries)
    votes = rng.integers(0, 5, (n_queries, n))
    votes[1], votes[3], votes[4] = 0, 5, rng.integers(3, 6, n)
    together = run(degree, labels, votes, empty, 3, [(0.4, 1.0)], ranks=10)
    for q in range(n_queries):
        alone = run(degree, labels[q], votes[q], empty[q], 3, [(0.4, 1.0)], ranks=10)
        assert_array_equal(together[q], alone[0])


@pytest.mark.kernels
@pytest.mark.parametrize("degree", [1, 2])
def test_values_are_added_to_what_is_there(degree: int) -> None:
    labels, votes = [1, 0, 0, 1], [3, 2, 2, 1]
    nodes = [(0.5, 0.25), (0.9, -2.0)]
    parts = sum(run(degree, labels, votes, 0.5, 2, [node]) for node in nodes)
    assert_allclose(run(degree, labels, votes, 0.5, 2, nodes), parts, rtol=0, atol=1e-15)


def test_scratch_is_bounded() -> None:
    assert soft_scratch(5, 127, 75)[0] * 8 < 2e6
    assert regression_scratch(5, 127, 100_000)[0] * 8 < 25e6
    assert soft_scratch(5, 65535, 75)[0] * 8 < 120e6
    assert regression_scratch(5, 65535, 100_000)[0] * 8 < 200e6


# ---- which sums are needed


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("votes", "least", "grain", "offsets"),
    [
        ([7, 7, 7], 7, 1, [0, 0, 0]),
        ([0, 0], 0, 1, [0, 0]),
        ([127, 107, 117], 107, 10, [2, 0, 1]),
        ([0, 6, 4], 0, 2, [0, 3, 2]),
        ([5], 5, 1, [0]),
    ],
)
def test_votes_are_placed_as_closely_as_they_can(votes: list[int], least: int, grain: int, offsets: list[int]) -> None:
    n = len(votes)
    offset, band = np.empty(n, dtype=np.int64), np.empty((n + 1, 2), dtype=np.int64)
    assert place_votes(np.array(votes, dtype=np.int32), offset, band) == (least, grain)
    assert offset.tolist() == offsets
    assert band[1:].tolist() == [[min(offsets[: i + 1]), max(offsets[: i + 1])] for i in range(n)]
