"""Hard votes with integer weights: the tables equal enumeration, to the last digits, with little memory."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from fractions import Fraction
from itertools import accumulate, product
from math import comb, isqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.legendre import leggauss
from numpy.testing import assert_allclose, assert_array_equal

import reference
from effort import examples
from pivotal.kernels._signed_rows import SignedRows, lay_out, span, table_size
from pivotal.kernels._vote_tables import FEWEST_SLOTS, blend, choose_stride, count_slots, settle, total
from pivotal.kernels.weighted import hard_scratch, hard_weighted, list_players
from strategies import SmallGame, small_games

CHANCES = st.sampled_from([0.0, 0.25, 0.5, 0.8, 1.0]) | st.floats(0.0, 1.0, allow_subnormal=False)
FEWEST_TABLES = 3 + FEWEST_SLOTS
Values = np.ndarray[Any, np.dtype[np.float64]]


def run(
    codes: Any,
    votes: Any,
    targets: Any,
    n_classes: int,
    k: int,
    nodes: list[tuple[float, float]],
    *,
    ranks: int | None = None,
    ties_win: bool = False,
    absent: bool = False,
    tables: int | None = None,
) -> Values:
    """Call the kernel for each (p, weight), with scratch full of rubbish."""
    codes, votes = np.atleast_2d(codes).astype(np.int32), np.atleast_2d(votes).astype(np.int32)
    targets = np.atleast_1d(targets).astype(np.int32)
    ranks = codes.shape[1] if ranks is None else ranks
    n_reals, n_integers = hard_scratch(k, int(votes.max()), ranks, n_classes)
    if tables is not None:
        n_reals = tables * table_size(min(k, ranks), int(votes.max()), int(votes.max()))
    reals, integers = np.full(n_reals, np.nan), np.full(n_integers, -(2**40))
    out = np.zeros(codes.shape)
    for p, weight in nodes:
        hard_weighted(codes, votes, targets, n_classes, k, p, weight, ranks, ties_win, absent, reals, integers, out)
    return out


def run_game(game: SmallGame, p: float, **options: Any) -> Values:
    """Values of a small game, the mean over its wrong classes."""
    n_classes = len(game.classes)
    weight = 1.0 / max(1, n_classes - 1)
    values: Values = run(game.labels, game.votes, game.target, n_classes, game.k, [(p, weight)], **options)[0]
    return values


def enumerate_game(game: SmallGame, p: float, players: list[int], classes: list[int], **options: Any) -> list[Fraction]:
    """The same by definition, for a game restricted to some players; the others are worth nothing."""
    labels, votes = [game.labels[i] for i in players], [game.votes[i] for i in players]
    values = [Fraction(0)] * game.n
    answer = reference.semivalues(labels, game.target, game.k, "hard", ("banzhaf", p), votes, classes, **options)
    for i, value in zip(players, answer, strict=True):
        values[i] = value
    return values


def exact_values(signed: list[int], k: int, p: Fraction) -> list[Fraction]:
    """The values of a long two-class game in integers: chances are counts over powers of p's denominator."""
    n, join, stay = len(signed), p.numerator, p.denominator - p.numerator

    def turn(old: list[dict[int, int]], w: int) -> list[dict[int, int]]:
        new: list[dict[int, int]] = [defaultdict(int) for _ in old]
        for t, sums in enumerate(old):
            for x, count in sums.items():
                new[t][x] += stay * count
                if t + 1 < len(old):
                    new[t + 1][x + w] += join * count
        return new

    def fall_in(old: list[dict[int, int]], w: int) -> list[dict[int, int]]:
        new: list[dict[int, int]] = [defaultdict(int) for _ in old]
        new[0][0] = (join + stay) * old[0][0]
        for t in range(1, len(old)):
            for x, count in old[t].items():
                new[t][x] += stay * count
            for x, count in old[t - 1].items():
                new[t][x + w] += join * count
        return new

    behind = [[{0: 1} for _ in range(k + 1)]]  # sums of the nearest t who joined, for each t
    for w in reversed(signed[1:]):
        behind.append(fall_in(behind[-1], w))
    forward: list[dict[int, int]] = [{0: 1}] + [{} for _ in range(k - 1)]
    values = []
    for w in signed:
        tails = []
        for sums in behind.pop():
            xs = sorted(sums, reverse=True)
            tails.append(([-x for x in xs], [0, *accumulate(sums[x] for x in xs)]))

        def chance(t: int, x: int, tails: list[tuple[list[int], list[int]]] = tails) -> int:
            negated, counts = tails[t]
            return counts[bisect_right(negated, -x - 1)]  # sums above x

        gain = 0
        for s, sums in enumerate(forward):
            for u, count in sums.items():
                gain += count * (chance(k - s - 1, -w - u) - chance(k - s, -u))
        values.append(Fraction(gain, p.denominator ** (n - 1)))
        forward = turn(forward, w)
    return values


def reach(i: int, k: int, p: Fraction) -> Fraction:
    """Chance that fewer than k of i points joined."""
    return sum((comb(i, s) * p**s * (1 - p) ** (i - s) for s in range(min(k, i + 1))), Fraction(0))


def signed_lists(signed: list[int]) -> tuple[list[int], list[int]]:
    """Class codes, 1 for the right class, and votes."""
    return [int(w >= 0) for w in signed], [abs(w) for w in signed]


# ---- equality with the definition


@pytest.mark.kernels
@given(
    game=small_games(max_n=7),
    p=CHANCES,
    tie=st.sampled_from(["lose", "win"]),
    other_classes=st.sampled_from(["count", "ignore"]),
)
@examples(150)
def test_values_equal_enumeration(game: SmallGame, p: float, tie: str, other_classes: str) -> None:
    players = list(range(game.n))
    expected = enumerate_game(game, p, players, game.classes, tie=tie, other_classes=other_classes)
    values = run_game(game, p, ties_win=tie == "win", absent=other_classes == "ignore")
    assert_allclose(values, [float(value) for value in expected], rtol=0, atol=2e-14)


@pytest.mark.kernels
@given(game=small_games(max_n=7, max_classes=2, weighted=True), tie=st.sampled_from(["lose", "win"]))
@settings(deadline=None)
def test_leave_one_out_is_exact(game: SmallGame, tie: str) -> None:
    expected = enumerate_game(game, 1.0, list(range(game.n)), game.classes, tie=tie)
    assert_array_equal(run_game(game, 1.0, ties_win=tie == "win"), [float(value) for value in expected])


@pytest.mark.kernels
@given(game=small_games(max_n=7), p=CHANCES, tie=st.sampled_from(["lose", "win"]), ranks=st.integers(1, 8))
@settings(deadline=None)
def test_only_the_first_ranks_play(game: SmallGame, p: float, tie: str, ranks: int) -> None:
    players = list(range(min(ranks, game.n)))
    expected = enumerate_game(game, p, players, game.classes, tie=tie)
    values = run_game(game, p, ranks=ranks, ties_win=tie == "win")
    assert_allclose(values, [float(value) for value in expected], rtol=0, atol=2e-14)


@pytest.mark.kernels
@given(game=small_games(max_n=7), p=CHANCES, tie=st.sampled_from(["lose", "win"]), ranks=st.integers(1, 8))
@settings(deadline=None)
def test_absent_points_do_not_count_towards_the_ranks(game: SmallGame, p: float, tie: str, ranks: int) -> None:
    expected = np.zeros(game.n)
    rivals = [c for c in game.classes if c != game.target] or [-1]
    for rival in rivals:
        players = [i for i in range(game.n) if game.labels[i] in (game.target, rival)][:ranks]
        answer = enumerate_game(game, p, players, [game.target, rival], tie=tie)
        expected += [float(value) / len(rivals) for value in answer]
    values = run_game(game, p, ranks=ranks, ties_win=tie == "win", absent=True)
    assert_allclose(values, expected, rtol=0, atol=2e-14)


@pytest.mark.kernels
def test_a_class_first_met_beyond_the_ranks_plays_where_the_others_are_absent() -> None:
    # Only the first of each two-class list plays: once a wrong point, once the right one against nobody.
    values = run([2, 1, 0], [1, 1, 1], 0, 4, 1, [(0.5, 1.0)], ranks=1, absent=True)[0]
    assert_array_equal(values, [0.0, 0.0, 1.0])
    values = run([2, 1, 0], [1, 1, 1], 0, 4, 1, [(0.5, 1.0)], ranks=1, absent=True, ties_win=True)[0]
    assert_array_equal(values, [0.0, 0.0, 1.0])


@pytest.mark.kernels
def test_nobody_plays() -> None:
    assert_array_equal(run([1, 0], [2, 1], 1, 2, 1, [(0.5, 1.0)], ranks=0, ties_win=True), [[0.0, 0.0]])


@pytest.mark.kernels
def test_players_are_listed_with_the_smallest_votes_that_will_do() -> None:
    code, vote = np.array([1, 0, 2, 1, 0], dtype=np.int32), np.array([8, 4, 1, 0, 12], dtype=np.int32)
    signed, member = np.empty(4, dtype=np.int64), np.empty(4, dtype=np.int64)
    assert list_players(code, vote, 1, 0, False, True, signed, member) == 4
    assert signed.tolist() == [2, -1, 0, -3]
    assert member.tolist() == [0, 1, 3, 4]
    assert list_players(code, vote, 1, 0, True, False, signed, member) == 4
    assert signed.tolist() == [-2, 1, 0, 0]
    assert member.tolist() == [0, 1, 2, 3]


@pytest.mark.kernels
def test_recorded_games_of_every_semivalue() -> None:
    points, weights = leggauss(16)  # exact up to degree 31: n <= 9 points, densities of degree <= 15
    points, weights = (points + 1) / 2, weights / 2
    checked = 0
    for vector in reference.load_vectors():
        given_ = vector["arguments"]
        kind, *parameters = given_["semivalue"]
        if given_["utility"] == "hard_binary":
            codes, votes = signed_lists(given_["votes"])
            target, n_classes = 1, 2
        elif given_["utility"] == "hard":
            codes, votes = given_["labels"], given_["votes"]
            target, n_classes = given_["target"], len(given_["classes"])
        else:
            continue
        nodes = [(float(Fraction(parameters[0])) if kind == "banzhaf" else 1.0, 1.0)]
        if kind in ("shapley", "beta"):
            a, b = parameters or (1, 1)
            density = points ** (b - 1) * (1 - points) ** (a - 1) * (a + b - 1) * comb(a + b - 2, a - 1)
            nodes = list(zip(points.tolist(), (weights * density).tolist(), strict=True))
        nodes = [(p, weight / max(1, n_classes - 1)) for p, weight in nodes]
        values = run(codes, votes, target, n_classes, given_["k"], nodes)[0]
        assert_allclose(values, [float(value) for value in vector["values"]], rtol=0, atol=1e-13, err_msg=str(given_))
        checked += 1
    assert checked > 100


def test_sixteen_bits() -> None:
    labels, votes = [1, 0, 1, 1, 0, 0], [65535, 65521, 60000, 40009, 33331, 7]
    expected = reference.semivalues(labels, 1, 4, "hard", ("banzhaf",), votes)
    values = run(labels, votes, 1, 2, 4, [(0.5, 1.0)])[0]
    assert_allclose(values, [float(value) for value in expected], rtol=0, atol=1e-15)


# ---- accuracy


@pytest.mark.parametrize(("p", "n"), [(0.5, 75), (0.03, 60), (0.3, 60), (0.9, 60), (0.99, 30)])
def test_errors_are_far_below_the_chance_to_be_reached(p: float, n: int) -> None:
    rng = np.random.default_rng(7)
    votes = np.sort(rng.integers(0, 128, n))[::-1]
    signed = (votes * rng.choice([-1, 1], n)).tolist()
    exact = exact_values(signed, 5, Fraction(p))
    values = run(*signed_lists(signed), 1, 2, 5, [(p, 1.0)])[0]
    errors = [abs(Fraction(value) - answer) for value, answer in zip(values.tolist(), exact, strict=True)]
    worst = max(float(error / reach(i, 5, Fraction(p))) for i, error in enumerate(errors))
    assert worst < 1e-15


def test_rounding_does_not_build_up_over_many_ranks() -> None:
    rng = np.random.default_rng(8)
    signed = rng.integers(-3, 4, 400).tolist()
    p = 0.0007  # 1 - p is rounded by 3e-17, which would count 400 times
    exact = exact_values(signed, 2, Fraction(p))
    values = run(*signed_lists(signed), 1, 2, 2, [(p, 1.0)])[0]
    bounds = [4e-15 * float(reach(i, 2, Fraction(p))) for i in range(400)]
    assert np.all(np.abs(values - [float(value) for value in exact]) < bounds)


def test_a_blend_of_equals_is_exact() -> None:
    for p, x in np.random.default_rng(9).random((100, 2)).tolist():
        assert blend(p, x, x) == x


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.1, 0.5, 0.7, 0.999, 1.0])
def test_a_blend_is_exact_at_its_ends(p: float) -> None:
    assert blend(p, 1.0, 0.0) == p
    assert blend(p, 0.0, 1.0) == 1.0 - p


@pytest.mark.parametrize("size", [0, 1, 2, 7, 8, 9, 17, 1000, 1023])
def test_total_sums_everything(size: int) -> None:
    assert total(np.arange(float(size))) == size * (size - 1) / 2


# ---- memory


@pytest.mark.kernels
def test_values_do_not_depend_on_how_many_tables_are_kept() -> None:
    rng = np.random.default_rng(3)
    n = 23
    codes, votes = rng.integers(0, 3, (2, n)), rng.integers(0, 4, (2, n))
    nodes = [(0.3, 1.0)]
    best = run(codes, votes, [0, 2], 3, 3, nodes)
    for tables in [*range(FEWEST_TABLES, FEWEST_TABLES + 12), 40]:
        assert_array_equal(run(codes, votes, [0, 2], 3, 3, nodes, tables=tables), best)


@pytest.mark.kernels
def test_queries_share_scratch_without_traces() -> None:
    rng = np.random.default_rng(4)
    n_queries, n = 6, 12
    codes, targets = rng.integers(0, 4, (n_queries, n)), rng.integers(0, 4, n_queries)
    votes = rng.integers(0, 5, (n_queries, n))
    votes[1], votes[3], codes[4] = 0, 5, 2
    for absent, ties_win in product([False, True], repeat=2):
        options: dict[str, Any] = {"absent": absent, "ties_win": ties_win, "ranks": 10}
        together = run(codes, votes, targets, 4, 3, [(0.4, 1.0)], **options)
        for q in range(n_queries):
            alone = run(codes[q], votes[q], targets[q], 4, 3, [(0.4, 1.0)], **options)
            assert_array_equal(together[q], alone[0])


@pytest.mark.kernels
def test_values_are_added_to_what_is_there() -> None:
    codes, votes = [1, 0, 0, 1], [3, 2, 2, 1]
    parts = run(codes, votes, 1, 2, 2, [(0.5, 0.25)]) + run(codes, votes, 1, 2, 2, [(0.9, -2.0)])
    assert_allclose(run(codes, votes, 1, 2, 2, [(0.5, 0.25), (0.9, -2.0)]), parts, rtol=0, atol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 5, 30, 61])
def test_every_table_is_at_hand_when_it_is_wanted(n: int) -> None:
    for slots in range(FEWEST_SLOTS, n + 3):
        slot, position = np.arange(slots), np.full(slots, -1)
        content = np.full(slots, -1)  # rank of the table in each slot
        content[0] = position[0] = n
        top = built = 0
        for i in range(n):
            base = position[top]
            stride = choose_stride(base - i - 1, slots - 1 - top)
            while position[top] > i + 1:
                assert content[slot[top]] == position[top]
                content[slot[top + 1]] = position[top] - 1
                built += 1
                top = settle(slot, position, top, base, i + 1, stride)
            assert content[slot[top]] == i + 1
            top -= 1
        if slots >= n + 1:
            assert built == n - 1
        elif slots >= 2 * isqrt(n) + 2:
            assert built <= 2 * n


def test_scratch_is_bounded() -> None:
    n_reals, _ = hard_scratch(5, 127, 75, 2)
    assert n_reals * 8 < 1.0e6  # a table for every rank: nothing is built twice
    assert count_slots(table_size(5, 127, 127), 75) == 77
    n_reals, _ = hard_scratch(5, 127, 100_000, 2)
    assert n_reals * 8 < 8.0e6
    n_reals, _ = hard_scratch(5, 65535, 75, 2)
    assert n_reals * 8 < 100e6


# ---- which sums are needed


@pytest.mark.kernels
@given(signed=st.lists(st.integers(-4, 5), min_size=1, max_size=7), k=st.integers(1, 5))
@examples(60)
def test_rows_cover_every_sum_that_matters(signed: list[int], k: int) -> None:
    n, k = len(signed), min(k, len(signed))
    rows = SignedRows(k, np.empty(k + 2, dtype=np.int64), np.empty((n + 1, 2), dtype=np.int64))
    size = lay_out(np.array(signed), rows)
    if max(signed) <= 0:
        assert size == 0
        return
    assert size == table_size(k, max(signed), max(0, -min(signed)))
    assert size <= table_size(k, 5, 5)

    joins = list(product([False, True], repeat=n))

    def exceeds(i: int, t: int, x: int) -> int:
        picks = ([w for w, joined in zip(signed[i:], pattern[i:], strict=True) if joined] for pattern in joins)
        return sum(sum(pick[:t]) > x for pick in picks)

    for i in range(n):
        sums = {(sum(part), -sum(signed[j] for j in range(i) if part[j])) for part in product([0, 1], repeat=i)}
        for t in range(max(1, k - i), k + 1):
            low, high = span(rows, t, i)
            for x in range(-5 * k - 1, 5 * k + 2):
                if low <= x <= high:
                    continue
                changes = exceeds(i + 1, t - 1, x - signed[i]) != exceeds(i + 1, t, x)
                assert not (changes and (k - t, x) in sums)
