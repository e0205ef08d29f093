"""Sizes at which naive binomials overflow and running sums lose their digits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pivotal.core.games import Game, Hard, Regression, Soft
from pivotal.core.semivalues import Banzhaf, BetaShapley, Semivalue, Shapley
from pivotal.engine.solver import Block
from pivotal.engine.solvers import make_solver

N = 1_000_000  # binomials overflow from 1,030 on


def solve(game: Game, semivalue: Semivalue, block: Block, k: int, n_classes: int) -> np.ndarray:
    solver = make_solver(game, semivalue, k, block.labels.shape[1], n_classes)
    out = np.empty(block.labels.shape)
    solver.solve(block, solver.scratch(), out)
    return out[0]


@pytest.fixture(scope="module")
def block() -> Block:
    labels = np.random.default_rng(0).integers(0, 2, (1, N), dtype=np.int32)
    return Block(labels, None, np.zeros(1, dtype=np.int32))


@pytest.mark.parametrize("k", [5, 200])
@pytest.mark.parametrize("game", [Hard(), Soft()], ids=str)
def test_shapley_values_of_many_points_share_out_the_utility(game: Game, k: int, block: Block) -> None:
    values = solve(game, Shapley(), block, k, 2)
    gain = game.full_utility(block.labels[:, :k], None, block.targets, 2, k) - game.empty_utility(block.targets, 2)
    assert math.fsum(values.tolist()) == pytest.approx(gain.item(), abs=1e-12)
    right = block.labels[0] == 0
    assert (values[right] >= 0).all()
    assert (values[~right] <= 0).all()


def test_banzhaf_values_of_many_points_fade_to_nothing_without_overflow(block: Block) -> None:
    values = solve(Hard(), Banzhaf(), block, 200, 2)
    assert not values[20_000:].any()  # below the smallest double
    near = solve(Hard(), Banzhaf(), Block(block.labels[:, :3000], None, block.targets), 200, 2)
    np.testing.assert_allclose(values[:400], near[:400], rtol=1e-11)


def test_regression_values_of_many_points_share_out_the_utility() -> None:
    responses = np.random.default_rng(1).normal(3.0, 1.0, (1, N))
    targets = np.array([2.5])
    values = solve(Regression(), Shapley(), Block(responses, None, targets), 5, 0)
    gain = Regression().full_utility(responses[:, :5], None, targets, 0, 5) - Regression().empty_utility(targets, 0)
    assert math.fsum(values.tolist()) == pytest.approx(gain.item(), abs=1e-9)


def test_many_classes_share_out_the_utility() -> None:
    labels = np.random.default_rng(2).integers(0, 10, (1, 50_000), dtype=np.int32)
    block = Block(labels, None, np.array([3], dtype=np.int32))
    values = solve(Hard(), Shapley(), block, 7, 12)
    gain = Hard().full_utility(labels, None, block.targets, 12, 7)
    assert math.fsum(values) == pytest.approx(gain.item(), abs=1e-12)


def test_values_that_favour_small_coalitions_are_those_of_their_closed_form() -> None:
    n, rank = 50_000, np.arange(50_000)
    right = np.random.default_rng(3).integers(0, 2, n) == 0
    block = Block(np.where(right, 0, 1)[np.newaxis].astype(np.int32), None, np.zeros(1, np.int32))
    values = solve(Hard(), BetaShapley(16, 1), block, 1, 2)
    # With k = 1 a point matters if nobody nearer is there, and turns the vote of the next one who is, or of nobody.
    # p is Beta(1, 16), so a given one is there and given j others are not with chance 16 / ((16 + j) (17 + j)).
    next_one = 16.0 / ((15.0 + rank) * (16.0 + rank))
    for i in (0, 1, 2, 10, 100, 1000, n - 2, n - 1):
        turned = next_one[i + 1 :][right[i + 1 :] != right[i]].sum() + (16.0 / (15.0 + n) if right[i] else 0.0)
        assert values[i] == pytest.approx(turned if right[i] else -turned, rel=1e-12)
