"""Samplers on games whose every utility is known: right on average, and as far off as they say."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import reference
from effort import examples
from pivotal.baselines.retraining_samplers import SAMPLERS, Reuse, Sampler, SamplerPlan, size_chances
from pivotal.core.semivalues import Measure, Semivalue, as_semivalue
from pivotal.core.types import FloatArray

SEMIVALUES: list[tuple[Semivalue, Sequence[Any]]] = [
    (as_semivalue("shapley"), ("shapley",)),
    (as_semivalue("banzhaf"), ("banzhaf",)),
    (as_semivalue("banzhaf(0.25)"), ("banzhaf", Fraction(1, 4))),
    (as_semivalue("beta(4,1)"), ("beta", 4, 1)),
    (as_semivalue("beta(1,4)"), ("beta", 1, 4)),
    (
        Measure([0.25, 0.75], [0.5, 0.5]),
        ("nodes", [(Fraction(1, 4), Fraction(1, 2)), (Fraction(3, 4), Fraction(1, 2))]),
    ),
]
LEAVE_ONE_OUT = (as_semivalue("loo"), ("loo",))
every_semivalue = pytest.mark.parametrize("semivalue", SEMIVALUES, ids=lambda pair: str(pair[0]))
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS)


class OfMyOwn(Semivalue):
    """Shapley's, known by nothing but its laws."""

    @property
    def name(self) -> str:
        return "mine"

    def joined(self, n: Any, s: int) -> FloatArray:
        return as_semivalue("shapley").joined(n, s)

    def mass(self, a: int, b: int) -> float:
        return as_semivalue("shapley").mass(a, b)


def random_game(n: int, seed: int = 0) -> FloatArray:
    """Utility of each coalition, at the index whose bits are its members; far from 0, to try the digits."""
    return 100.0 + np.random.default_rng(seed).normal(size=2**n)


def exact_values(earned: FloatArray, semivalue: Sequence[Any]) -> FloatArray:
    n = int(np.log2(len(earned)))
    values = reference.enumerate_values(n, lambda members: Fraction(earned[sum(1 << i for i in members)]), semivalue)
    return np.array([float(value) for value in values])


def play(earned: FloatArray, plan: SamplerPlan) -> FloatArray:
    bits = 1 << np.arange(int(np.log2(len(earned))))
    return np.array([earned[bits[mask].sum()] for mask in plan.coalitions()])


def run(name: str, semivalue: Semivalue, earned: FloatArray, n_samples: int, seed: int) -> Sampler:
    n = int(np.log2(len(earned)))
    sampler, rng = SAMPLERS[name](semivalue, n), np.random.default_rng(seed)
    for _ in range(n_samples):
        plan = sampler.draw(rng)
        sampler.add(plan, play(earned, plan))
    return sampler


@every_semivalue
@every_sampler
def test_right_on_average_and_as_far_off_as_they_say(sampler: str, semivalue: tuple[Semivalue, Sequence[Any]]) -> None:
    earned = random_game(4)
    exact = exact_values(earned, semivalue[1])
    runs = [run(sampler, semivalue[0], earned, 80, seed) for seed in range(40)]
    values, errors = np.array([one.values() for one in runs]), np.array([one.errors() for one in runs])
    deviation = (values.mean(axis=0) - exact) / (values.std(axis=0, ddof=1) / np.sqrt(len(runs)))
    assert np.abs(deviation).max() < 5.0
    # The standard errors that the runs report are those that the runs show.
    assert_allclose(np.sqrt((errors**2).mean()), np.sqrt(((values - exact) ** 2).mean()), rtol=0.25)
    covered = (np.abs(values - exact) <= 1.96 * errors).mean()
    assert 0.89 < covered < 0.99


@pytest.mark.parametrize(("sampler", "n_samples"), [("permutations", 10), ("coalitions", 24)])
def test_points_whose_gains_were_not_seen_are_not_certain(sampler: str, n_samples: int) -> None:
    # Five points earn something together and nothing apart, so that most samples show no gain of theirs.
    masks = np.arange(2**6)
    earned = (masks & 31 == 31).astype(float)
    exact = exact_values(earned, ("banzhaf",))
    runs = [run(sampler, as_semivalue("banzhaf"), earned, n_samples, seed) for seed in range(100)]
    values, errors = np.array([one.values() for one in runs]), np.array([one.errors() for one in runs])
    somebody = (values != 0.0).any(axis=1)
    assert (values[:, :5] == 0.0).mean() > 0.05
    assert (errors[somebody] > 0.0).all()
    assert (np.abs(values - exact) <= 1.96 * errors)[:, :5].mean() > 0.9


@pytest.mark.parametrize("sampler", ["permutations", "coalitions"])
def test_leave_one_out(sampler: str) -> None:
    earned = random_game(4)
    runs = np.array([run(sampler, LEAVE_ONE_OUT[0], earned, 200, seed).values() for seed in range(20)])
    assert_allclose(runs.mean(axis=0), exact_values(earned, LEAVE_ONE_OUT[1]), atol=0.25)


def test_leave_one_out_by_coalitions_is_exact() -> None:
    earned = random_game(5)
    sampler = run("coalitions", LEAVE_ONE_OUT[0], earned, 2, 0)
    assert_allclose(sampler.values(), exact_values(earned, LEAVE_ONE_OUT[1]), rtol=1e-12)
    assert sampler.errors().max() == 0.0


def test_leave_one_out_by_permutations_plays_the_last_step_only() -> None:
    sampler = SAMPLERS["permutations"](LEAVE_ONE_OUT[0], 6)
    plan = sampler.draw(np.random.default_rng(0))
    assert [int(mask.sum()) for mask in plan.coalitions()] == [5, 6]


def test_reuse_needs_coalitions_with_and_without_a_point() -> None:
    with pytest.raises(ValueError, match="with and without every point; loo draws one coalition"):
        Reuse(LEAVE_ONE_OUT[0], 4)


def test_reuse_is_the_difference_of_two_means() -> None:
    earned = random_game(3)
    sampler, rng = SAMPLERS["msr"](as_semivalue("banzhaf(0.4)"), 3), np.random.default_rng(0)
    masks, utilities = [], []
    for _ in range(40):
        plan = sampler.draw(rng)
        sampler.add(plan, play(earned, plan))
        masks.append(plan.start)
        utilities.append(play(earned, plan)[0])
    members, v = np.array(masks), np.array(utilities)
    for i in range(3):
        inside, outside = v[members[:, i]], v[~members[:, i]]
        assert sampler.values()[i] == pytest.approx(inside.mean() - outside.mean(), rel=1e-9)
        error = np.sqrt(inside.var(ddof=1) / len(inside) + outside.var(ddof=1) / len(outside))
        assert sampler.errors()[i] == pytest.approx(error, rel=1e-9)


@every_sampler
def test_a_single_sample_has_no_standard_error(sampler: str) -> None:
    assert np.isinf(run(sampler, as_semivalue("shapley"), random_game(3), 1, 0).errors()).all()


@every_sampler
def test_one_player(sampler: str) -> None:
    one = run(sampler, as_semivalue("banzhaf"), np.array([0.5, 0.8]), 60, 0)
    assert_allclose(one.values(), [0.3])
    assert_allclose(one.errors(), [0.0], atol=1e-7)


def test_each_point_leaves_or_joins() -> None:
    plan = SAMPLERS["coalitions"](as_semivalue("banzhaf"), 5).draw(np.random.default_rng(0))
    masks = [mask.copy() for mask in plan.coalitions()]
    assert len(masks) == len(plan) == 6
    for i, mask in enumerate(masks[1:]):
        assert np.flatnonzero(mask != masks[0]).tolist() == [i]


def test_points_join_one_by_one() -> None:
    plan = SAMPLERS["permutations"](as_semivalue("shapley"), 5).draw(np.random.default_rng(0))
    masks = [mask.copy() for mask in plan.coalitions()]
    assert [int(mask.sum()) for mask in masks] == [0, 1, 2, 3, 4, 5]
    assert all((masks[t] <= masks[t + 1]).all() for t in range(5))


def test_what_a_truncation_spares_counts_as_nothing() -> None:
    sampler = SAMPLERS["permutations"](as_semivalue("shapley"), 3)
    plan = sampler.draw(np.random.default_rng(0))
    sampler.add(plan, np.array([0.0, 0.5, np.nan, np.nan]))
    assert sampler.values()[plan.order].tolist() == [0.5, 0.0, 0.0]


@examples(60)
@given(n=st.integers(0, 12), semivalue=st.sampled_from([*SEMIVALUES, LEAVE_ONE_OUT]))
def test_size_chances(n: int, semivalue: tuple[Semivalue, Sequence[Any]]) -> None:
    exact = [float(comb(n, s) * reference.mass(semivalue[1], s, n - s)) for s in range(n + 1)]
    assert_allclose(size_chances(semivalue[0], n), exact, rtol=1e-11, atol=1e-300)


def test_size_chances_of_a_semivalue_of_ones_own() -> None:
    assert_allclose(size_chances(OfMyOwn(), 7), np.full(8, 1 / 8))


@pytest.mark.parametrize("semivalue", [*SEMIVALUES, LEAVE_ONE_OUT], ids=lambda pair: str(pair[0]))
def test_size_chances_of_many_points_neither_overflow_nor_vanish(semivalue: tuple[Semivalue, Sequence[Any]]) -> None:
    assert size_chances(semivalue[0], 20_000).sum() == pytest.approx(1.0, rel=1e-9)
