"""Sizes at which naive binomials overflow and running sums lose their digits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pivotal.games import Game, Hard, Regression, Soft
from pivotal.semivalues import Banzhaf, BetaShapley, Semivalue, Shapley
from pivotal.solvers import Block, make_solver

N = 10_000_000


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
def test_ten_million_shapley_values_share_out_the_utility(game: Game, k: int, block: Block) -> None:
    values = solve(game, Shapley(), block, k, 2)
    gain = game.everyone(block.labels[:, :k], None, block.targets, 2, k) - game.nobody(block.targets, 2)
    assert math.fsum(values) == pytest.approx(gain.item(), abs=1e-12)
    right = block.labels[0] == 0
    assert (values[right] >= 0).all()
    assert (values[~right] <= 0).all()


def test_ten_million_banzhaf_values_fade_to_nothing_without_overflow(block: Block) -> None:
    values = solve(Hard(), Banzhaf(), block, 200, 2)
    assert np.isfinite(values).all()
    assert not values[20_000:].any()  # below the smallest double
    near = solve(Hard(), Banzhaf(), Block(block.labels[:, :3000], None, block.targets), 200, 2)
    np.testing.assert_allclose(values[:400], near[:400], rtol=1e-11)


def test_ten_million_regression_values_share_out_the_utility() -> None:
    responses = np.random.default_rng(1).normal(3.0, 1.0, (1, N))
    targets = np.array([2.5])
    values = solve(Regression(), Shapley(), Block(responses, None, targets), 5, 0)
    gain = Regression().everyone(responses[:, :5], None, targets, 0, 5) - Regression().nobody(targets, 0)
    assert math.fsum(values) == pytest.approx(gain.item(), abs=1e-9)


def test_many_classes_share_out_the_utility() -> None:
    labels = np.random.default_rng(2).integers(0, 10, (1, 50_000), dtype=np.int32)
    block = Block(labels, None, np.array([3], dtype=np.int32))
    values = solve(Hard(), Shapley(), block, 7, 12)
    gain = Hard().everyone(labels, None, block.targets, 12, 7)
    assert math.fsum(values) == pytest.approx(gain.item(), abs=1e-12)
    favouring_small = solve(Hard(), BetaShapley(16, 1), block, 7, 12)
    assert np.isfinite(favouring_small).all()
